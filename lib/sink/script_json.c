/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One object a line.  Addresses are strings of hex digits, since a JSON number
 * does not hold 64 bits everywhere; what is not known is left out.
 */
#include <string.h>

#include <hwtrace/disasm.h>

#include "sink/script_impl.h"

static void
json_key(struct ht_script *s, const char *key)
{
	struct ht_text *t = s->out;

	ht_text_room(t, 256);
	if (s->json_started)
		ht_text_char(t, ',');
	s->json_started = 1;
	ht_text_char(t, '"');
	ht_text_put(t, key, strlen(key));
	ht_text_put(t, "\":", 2);
}

static void
json_hex(struct ht_script *s, const char *key, uint64_t v)
{
	struct ht_text *t = s->out;

	json_key(s, key);
	ht_text_put(t, "\"0x", 3);
	ht_text_hex(t, v);
	ht_text_char(t, '"');
}

static void
json_number(struct ht_script *s, const char *key, int64_t v)
{
	struct ht_text *t = s->out;

	json_key(s, key);
	ht_text_int(t, v, 0);
}

static void
json_string(struct ht_script *s, const char *key, const char *v)
{
	struct ht_text *t = s->out;

	json_key(s, key);
	ht_text_json(t, v);
	ht_text_room(t, 256);
}

/* An address and what is known of it: the members that place.c has written. */
static void
json_place(struct ht_script *s, const struct ht_lane *lane, uint64_t space, int target, uint64_t addr)
{
	const struct place *p;

	json_hex(s, target ? "addr" : "ip", addr);
	if (!(s->config.fields & (HT_FIELD_SYM | HT_FIELD_DSO)) || !addr)
		return;
	p = place_get(s->places, lane->view, space, addr);
	ht_text_room(s->out, HT_TEXT_ROOM);
	if (target)
		ht_text_put(s->out, p->target, p->target_len);
	else
		ht_text_put(s->out, p->text, p->text_len);
	ht_text_room(s->out, 256);
}

static void
json_flags(struct ht_script *s, unsigned flags)
{
	flags &= HT_SF_COUNT - 1;
	if (!s->flags_len[flags]) {
		char words[HT_SAMPLE_FLAGS_TEXT];
		size_t n = strlen(ht_sample_flags_text(flags, words));

		while (n && words[n - 1] == ' ')
			n--;
		memcpy(s->flags[flags], words, n);
		s->flags_len[flags] = (uint8_t)(n + 1);
	}
	json_key(s, "flags");
	ht_text_char(s->out, '"');
	ht_text_put(s->out, s->flags[flags], s->flags_len[flags] - 1u);
	ht_text_char(s->out, '"');
}

static void
json_bytes(struct ht_script *s, const struct ht_lane *lane, const struct ht_sample *x)
{
	uint8_t bytes[HT_INSN_MAX];
	char text[2 * HT_INSN_MAX + 1];
	size_t want = x->size < HT_INSN_MAX ? x->size : HT_INSN_MAX;
	size_t n = lane->view ? ht_view_read(lane->view, x->ip, bytes, want) : 0;

	for (size_t i = 0; i < n; i++)
		memcpy(text + 2 * i, ht_text_hex_pairs[bytes[i]], 2);
	text[2 * n] = 0;
	json_string(s, "insn", text);
}

/* The members that many lines in a row have in common. */
static void
make_head(struct ht_script *s, const struct ht_sample *x, const struct ht_lane *lane)
{
	static const char *const types[] = {
		[HT_SAMPLE_INSN] = "instruction", [HT_SAMPLE_BRANCH] = "branch", [HT_SAMPLE_TX] = "transaction",
		[HT_SAMPLE_PTW] = "ptwrite", [HT_SAMPLE_GAP] = "gap",
	};
	struct ht_text *t = s->out;
	uint32_t f = s->config.fields;
	uint64_t ns = script_time(s, x->tsc);

	ht_text_room(t, 256);
	ht_text_char(t, '{');
	s->json_started = 0;
	json_string(s, "type", types[x->kind]);
	if (f & HT_FIELD_COMM)
		json_string(s, "comm", ht_session_comm(s->session, lane->tid, ns));
	if (f & HT_FIELD_PID)
		json_number(s, "pid", lane->pid);
	if (f & HT_FIELD_TID)
		json_number(s, "tid", lane->tid);
	if (f & HT_FIELD_CPU && lane->cpu >= 0)
		json_number(s, "cpu", lane->cpu);
	if (f & HT_FIELD_TIME && ns != SCRIPT_NO_TIME)
		json_number(s, s->clock.valid ? "time_ns" : "time_ticks", (int64_t)ns);
}

static void
json_head(struct ht_script *s, const struct ht_sample *x, const struct ht_lane *lane)
{
	struct ht_text *t = s->out, *kept = &s->prefix.text;
	size_t start;

	ht_text_room(t, HT_TEXT_ROOM);
	if (!script_prefix_fits(s, x, lane)) {
		start = t->used;
		make_head(s, x, lane);
		kept->used = 0;
		ht_text_put(kept, t->at + start, t->used - start);
		script_prefix_set(s, x, lane);
	} else {
		ht_text_put(t, kept->at, kept->used);
	}
	s->json_started = 1;
}

void
script_json_gap(struct ht_script *s, const struct ht_sample *x, const struct ht_lane *lane)
{
	const struct ht_gap *g = ht_decoder_gap(lane->decoder, (uint32_t)x->addr);
	struct ht_text *t = s->out;

	if (!g)
		return;
	json_head(s, x, lane);
	json_string(s, "kind", ht_gap_kind_name(g->kind));
	json_number(s, "stream", g->stream);
	json_number(s, "offset", (int64_t)g->offset);
	json_number(s, "bytes", (int64_t)g->bytes);
	json_hex(s, "ip", g->ip);
	json_string(s, "why", g->why ? g->why : "");
	ht_text_put(t, "}\n", 2);
}

void
script_json_session_gap(struct ht_script *s, const struct ht_sample *x, const struct ht_lane *lane,
                        const struct ht_gap *g)
{
	json_head(s, x, lane);
	json_string(s, "kind", ht_gap_kind_name(g->kind));
	if (g->records)
		json_number(s, "records", (int64_t)g->records);
	json_string(s, "why", g->why ? g->why : "");
	ht_text_put(s->out, "}\n", 2);
}

void
script_json_sample(struct ht_script *s, const struct ht_sample *x, const struct ht_lane *lane, uint64_t space)
{
	struct ht_text *t = s->out;
	uint32_t f = s->config.fields;

	json_head(s, x, lane);
	if (f & HT_FIELD_PERIOD)
		json_number(s, "period", x->period);
	if (f & HT_FIELD_FLAGS)
		json_flags(s, x->flags);
	if (f & HT_FIELD_IP)
		json_place(s, lane, space, 0, x->ip);
	if (f & HT_FIELD_ADDR && (x->kind == HT_SAMPLE_BRANCH || (x->addr && !s->config.branch_addr)))
		json_place(s, lane, space, 1, x->addr);
	if (f & HT_FIELD_INSNLEN)
		json_number(s, "insnlen", x->size);
	if (f & HT_FIELD_INSN && x->ip)
		json_bytes(s, lane, x);
	if (f & HT_FIELD_DISASM && x->ip)
		json_string(s, "disasm", place_text(s->places, lane->view, x->ip));
	ht_text_put(t, "}\n", 2);
}
