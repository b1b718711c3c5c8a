/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One object a line.  Addresses are strings of hex digits, since a JSON number
 * does not hold 64 bits everywhere; what is not known is left out.
 */
#include <string.h>

#include <hwtrace/disasm.h>

#include "sink/script_impl.h"

static void
json_key(struct ht_text *t, const char *key)
{
	if (t->at[t->used - 1] != '{')
		ht_text_char(t, ',');
	ht_text_char(t, '"');
	ht_text_put(t, key, strlen(key));
	ht_text_put(t, "\":", 2);
}

static void
json_hex(struct ht_text *t, const char *key, uint64_t v)
{
	json_key(t, key);
	ht_text_put(t, "\"0x", 3);
	ht_text_hex(t, v);
	ht_text_char(t, '"');
}

static void
json_number(struct ht_text *t, const char *key, int64_t v)
{
	json_key(t, key);
	ht_text_int(t, v, 0);
}

static void
json_string(struct ht_text *t, const char *key, const char *v)
{
	json_key(t, key);
	ht_text_json(t, v);
	ht_text_room(t, 1024);
}

/* An address and what is known of it, keys "ip", "sym", "symoff", "dso" or "addr", "addr_sym", ... */
static void
json_place(struct ht_script *s, const struct ht_lane *lane, uint64_t space, int target, uint64_t addr)
{
	struct ht_text *t = s->out;
	const struct place *p;

	json_hex(t, target ? "addr" : "ip", addr);
	if (!(s->config.fields & (HT_FIELD_SYM | HT_FIELD_DSO)) || !addr)
		return;
	p = place_get(s->places, lane->view, space, addr);
	if (s->config.fields & HT_FIELD_SYM && p->sym) {
		json_string(t, target ? "addr_sym" : "sym", p->sym);
		if (s->config.fields & HT_FIELD_SYMOFF)
			json_number(t, target ? "addr_symoff" : "symoff", (int64_t)p->offset);
	}
	if (s->config.fields & HT_FIELD_DSO && p->dso)
		json_string(t, target ? "addr_dso" : "dso", p->dso);
}

static void
json_flags(struct ht_text *t, unsigned flags)
{
	char words[HT_SAMPLE_FLAGS_TEXT];
	size_t n = strlen(ht_sample_flags_text(flags, words));

	while (n && words[n - 1] == ' ')
		words[--n] = 0;
	json_string(t, "flags", words);
}

static void
json_bytes(struct ht_text *t, const struct ht_lane *lane, const struct ht_sample *x)
{
	uint8_t bytes[HT_INSN_MAX];
	char text[2 * HT_INSN_MAX + 1];
	size_t want = x->size < HT_INSN_MAX ? x->size : HT_INSN_MAX;
	size_t n = lane->view ? ht_view_read(lane->view, x->ip, bytes, want) : 0;

	for (size_t i = 0; i < n; i++)
		memcpy(text + 2 * i, ht_text_hex_pairs[bytes[i]], 2);
	text[2 * n] = 0;
	json_string(t, "insn", text);
}

static void
json_head(struct ht_script *s, const struct ht_sample *x, const struct ht_lane *lane)
{
	static const char *const types[] = {
		[HT_SAMPLE_INSN] = "instruction", [HT_SAMPLE_BRANCH] = "branch", [HT_SAMPLE_TX] = "transaction",
		[HT_SAMPLE_PTW] = "ptwrite", [HT_SAMPLE_GAP] = "gap",
	};
	struct ht_text *t = s->out;
	uint32_t f = s->config.fields;
	uint64_t ns = script_time(s, x->tsc);

	ht_text_room(t, 1024);
	ht_text_char(t, '{');
	json_string(t, "type", types[x->kind]);
	if (f & HT_FIELD_COMM)
		json_string(t, "comm", ht_session_comm(s->session, lane->tid, ns));
	if (f & HT_FIELD_PID)
		json_number(t, "pid", lane->pid);
	if (f & HT_FIELD_TID)
		json_number(t, "tid", lane->tid);
	if (f & HT_FIELD_CPU && lane->cpu >= 0)
		json_number(t, "cpu", lane->cpu);
	if (f & HT_FIELD_TIME)
		json_number(t, s->clock.valid ? "time_ns" : "time_ticks", (int64_t)ns);
}

void
script_json_gap(struct ht_script *s, const struct ht_sample *x, const struct ht_lane *lane)
{
	const struct ht_gap *g = ht_decoder_gap(lane->decoder, (uint32_t)x->addr);
	struct ht_text *t = s->out;

	if (!g)
		return;
	json_head(s, x, lane);
	json_string(t, "kind", ht_gap_kind_name(g->kind));
	json_number(t, "stream", g->stream);
	json_number(t, "offset", (int64_t)g->offset);
	json_number(t, "bytes", (int64_t)g->bytes);
	json_hex(t, "ip", g->ip);
	json_string(t, "why", g->why ? g->why : "");
	ht_text_put(t, "}\n", 2);
}

void
script_json_sample(struct ht_script *s, const struct ht_sample *x, const struct ht_lane *lane, uint64_t space)
{
	struct ht_text *t = s->out;
	uint32_t f = s->config.fields;

	json_head(s, x, lane);
	if (f & HT_FIELD_PERIOD)
		json_number(t, "period", x->period);
	if (f & HT_FIELD_FLAGS)
		json_flags(t, x->flags);
	if (f & HT_FIELD_IP)
		json_place(s, lane, space, 0, x->ip);
	if (f & HT_FIELD_ADDR && (x->kind == HT_SAMPLE_BRANCH || (x->addr && !s->config.branch_addr)))
		json_place(s, lane, space, 1, x->addr);
	if (f & HT_FIELD_INSNLEN)
		json_number(t, "insnlen", x->size);
	if (f & HT_FIELD_INSN && x->ip)
		json_bytes(t, lane, x);
	if (f & HT_FIELD_DISASM && x->ip)
		json_string(t, "disasm", place_text(s->places, lane->view, x->ip));
	ht_text_put(t, "}\n", 2);
}
