/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "sink/script_impl.h"

#define NAME_MAX_SHOWN 2000u /* longer names of commands and events are cut */

static const char *const field_names[] = {
#define FIELD_NAME(field, name) name,
	HT_FIELDS(FIELD_NAME)
#undef FIELD_NAME
};

uint32_t
ht_field_by_name(const char *name, size_t len)
{
	for (unsigned i = 0; i < HT_FIELD_COUNT; i++)
		if (strlen(field_names[i]) == len && !memcmp(field_names[i], name, len))
			return 1u << i;
	return 0;
}

const char *
ht_field_name(unsigned index)
{
	return index < HT_FIELD_COUNT ? field_names[index] : NULL;
}

int
ht_script_new(struct ht_session *session, const struct ht_script_config *config, struct ht_text *out,
              struct ht_script **script)
{
	struct ht_script *s;

	if (config->size < sizeof(*config))
		return -HT_EINVAL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -HT_ENOMEM;
	s->config = *config;
	s->filtered = config->dsos || config->syms;
	s->session = session;
	s->clock = ht_container_info(ht_session_container(session))->clock;
	s->out = out;
	s->places = places_new(config);
	s->calls = calls_new();
	if (!s->places || !s->calls || ht_text_init(&s->prefix.text, -1) < 0) {
		ht_script_free(s);
		return -HT_ENOMEM;
	}
	*script = s;
	return 0;
}

void
ht_script_free(struct ht_script *s)
{
	if (!s)
		return;
	places_free(s->places);
	calls_free(s->calls);
	ht_text_fini(&s->prefix.text);
	free(s);
}

int
ht_script_saw(const struct ht_script *s, size_t i)
{
	return places_saw(s->places, i);
}

static const char *
kind_name(unsigned kind)
{
	static const char *const names[] = {
		[HT_SAMPLE_INSN] = "instructions:u",
		[HT_SAMPLE_BRANCH] = "branches:u",
		[HT_SAMPLE_TX] = "transactions:u",
		[HT_SAMPLE_PTW] = "ptwrite",
		[HT_SAMPLE_GAP] = "gap",
	};

	return kind < sizeof(names) / sizeof(*names) ? names[kind] : "unknown";
}

/* -- text ---------------------------------------------------------------- */

static void
put_padded(struct ht_text *t, const char *name, size_t width)
{
	size_t n = strnlen(name, NAME_MAX_SHOWN);

	for (size_t i = n; i < width; i++)
		ht_text_char(t, ' ');
	ht_text_put(t, name, n);
}

static void
put_threads(struct ht_text *t, uint32_t fields, const struct ht_lane *lane)
{
	if (fields & HT_FIELD_PID) {
		ht_text_int(t, lane->pid, 5);
		if (fields & HT_FIELD_TID) {
			unsigned at = (unsigned)t->used;

			ht_text_char(t, '/');
			ht_text_int(t, lane->tid, 0);
			while (t->used - at < 6)
				ht_text_char(t, ' ');
		}
		ht_text_char(t, ' ');
	} else if (fields & HT_FIELD_TID) {
		ht_text_int(t, lane->tid, 5);
		ht_text_char(t, ' ');
	}
}

static void
put_time(struct ht_text *t, uint64_t ns, int nanoseconds)
{
	if (ns == SCRIPT_NO_TIME) {
		put_padded(t, "-", nanoseconds ? 15 : 12);
		ht_text_put(t, ": ", 2);
		return;
	}
	ht_text_dec(t, ns / 1000000000u, 5, ' ');
	ht_text_char(t, '.');
	if (nanoseconds)
		ht_text_dec(t, ns % 1000000000u, 9, '0');
	else
		ht_text_dec(t, ns % 1000000000u / 1000, 6, '0');
	ht_text_put(t, ": ", 2);
}

/* Everything in front of the addresses. */
static void
make_prefix(struct ht_script *s, const struct ht_sample *x, const struct ht_lane *lane)
{
	struct ht_text *t = &s->prefix.text;
	uint32_t f = s->config.fields;
	uint64_t ns = script_time(s, x->tsc);

	t->used = 0;
	if (f & HT_FIELD_COMM) {
		const char *comm = ht_session_comm(s->session, lane->tid, ns);

		put_padded(t, comm[0] ? comm : ":-1", 16);
		ht_text_char(t, ' ');
	}
	put_threads(t, f, lane);
	if (f & HT_FIELD_CPU) {
		ht_text_char(t, '[');
		if (lane->cpu < 0)
			ht_text_put(t, "-01", 3);
		else
			ht_text_dec(t, (uint64_t)lane->cpu, 3, '0');
		ht_text_put(t, "] ", 2);
	}
	if (f & HT_FIELD_TIME)
		put_time(t, ns, s->config.nanoseconds);
	script_prefix_set(s, x, lane);
}

static inline void
put_prefix(struct ht_script *s, const struct ht_sample *x, const struct ht_lane *lane)
{
	if (!script_prefix_fits(s, x, lane))
		make_prefix(s, x, lane);
	ht_text_room(s->out, HT_TEXT_ROOM);
	ht_text_put(s->out, s->prefix.text.at, s->prefix.text.used);
	if (s->config.fields & (HT_FIELD_PERIOD | HT_FIELD_EVENT)) {
		if (s->config.fields & HT_FIELD_PERIOD) {
			ht_text_dec(s->out, x->period, 10, ' ');
			ht_text_char(s->out, ' ');
		}
		if (s->config.fields & HT_FIELD_EVENT) {
			put_padded(s->out, kind_name(x->kind), s->config.event_width);
			ht_text_put(s->out, ": ", 2);
		}
	}
}

static void
make_flags(struct ht_script *s, unsigned flags)
{
	char words[HT_SAMPLE_FLAGS_TEXT];
	size_t n = strlen(ht_sample_flags_text(flags, words));
	char *at = s->flags[flags];

	memset(at, ' ', HT_SAMPLE_FLAGS_TEXT);
	memcpy(at + 2, words, n);
	s->flags_len[flags] = (uint8_t)((n < 21 ? 21 : n) + 3);
}

static inline void
put_flags(struct ht_script *s, unsigned flags)
{
	flags &= HT_SF_COUNT - 1;
	if (!s->flags_len[flags])
		make_flags(s, flags);
	memcpy(s->out->at + s->out->used, s->flags[flags], HT_SAMPLE_FLAGS_TEXT);
	s->out->used += s->flags_len[flags];
}

static inline void
put_address(struct ht_script *s, const struct ht_lane *lane, uint64_t space, uint64_t addr)
{
	ht_text_hex16(s->out, addr);
	if (s->config.fields & (HT_FIELD_SYM | HT_FIELD_DSO)) {
		const struct place *p = place_get(s->places, lane->view, space, addr);

		ht_text_put(s->out, p->text, p->text_len);
	}
}

static inline void
put_sample(struct ht_script *s, const struct ht_sample *x, const struct ht_lane *lane, uint64_t space)
{
	struct ht_text *t = s->out;
	uint32_t f = s->config.fields;
	int branch = x->kind == HT_SAMPLE_BRANCH;

	put_prefix(s, x, lane);
	if (f & HT_FIELD_FLAGS)
		put_flags(s, x->flags);
	/* An instruction's target stands in front and bare, a branch's behind. */
	if (f & HT_FIELD_ADDR && !branch && !s->config.branch_addr)
		ht_text_hex16(t, x->addr);
	if (f & HT_FIELD_IP) {
		ht_text_char(t, ' ');
		put_address(s, lane, space, x->ip);
	}
	if (f & HT_FIELD_ADDR && branch) {
		ht_text_put(t, " => ", 4);
		put_address(s, lane, space, x->addr);
	}
	if (f & (HT_FIELD_INSN | HT_FIELD_INSNLEN | HT_FIELD_DISASM) && x->ip) {
		const struct place *p = place_insn(s->places, lane->view, space, x->ip, x->size);

		if (p->insn)
			ht_text_put(t, p->insn, p->insn_len);
	}
	ht_text_char(t, '\n');
}

static void
put_session_gap(struct ht_script *s, const struct ht_sample *x, const struct ht_lane *lane,
                const struct ht_gap *g)
{
	struct ht_text *t = s->out;

	put_prefix(s, x, lane);
	ht_text_str(t, " lost: ");
	ht_text_str(t, ht_gap_kind_name(g->kind));
	if (g->why && g->why[0]) {
		ht_text_str(t, ": ");
		ht_text_str(t, g->why);
	}
	ht_text_room(t, 1);
	ht_text_char(t, '\n');
}

static void
put_gap(struct ht_script *s, const struct ht_sample *x, const struct ht_lane *lane)
{
	const struct ht_gap *g = ht_decoder_gap(lane->decoder, (uint32_t)x->addr);
	struct ht_text *t = s->out;

	if (!g)
		return;
	put_prefix(s, x, lane);
	ht_text_str(t, " lost: ");
	ht_text_str(t, ht_gap_kind_name(g->kind));
	ht_text_room(t, 256);
	ht_text_put(t, ", stream ", 9);
	ht_text_dec(t, g->stream, 0, ' ');
	ht_text_put(t, " offset 0x", 10);
	ht_text_hex(t, g->offset);
	ht_text_put(t, ", ", 2);
	ht_text_dec(t, g->bytes, 0, ' ');
	ht_text_put(t, " bytes, after 0x", 16);
	ht_text_hex(t, g->ip);
	if (g->why && g->why[0]) {
		ht_text_str(t, ": ");
		ht_text_str(t, g->why);
	}
	ht_text_room(t, 1);
	ht_text_char(t, '\n');
}

void
ht_script_show_gap(struct ht_script *s, const struct ht_gap *gap)
{
	struct ht_lane lane = { .stream = gap->stream,
		                .pid = gap->pid ? gap->pid : -1,
		                .tid = gap->tid ? gap->tid : -1,
		                .cpu = -1 };
	struct ht_sample x = { .kind = HT_SAMPLE_GAP, .period = 1, .tsc = gap->ns_from };

	if (!s->config.gaps)
		return;
	if (x.tsc && s->clock.valid)
		x.tsc = ht_clock_ns_to_tsc(&s->clock, x.tsc);
	(s->config.style == HT_SCRIPT_JSON ? script_json_session_gap : put_session_gap)(s, &x,
	                                                                                &lane, gap);
}

/* A sample passes when either end lies in a wanted file and function. */
static int
wanted(struct ht_script *s, const struct ht_sample *x, const struct ht_lane *lane, uint64_t space)
{
	return place_get(s->places, lane->view, space, x->ip)->wanted ||
	       (x->addr && place_get(s->places, lane->view, space, x->addr)->wanted);
}

/* -- calls --------------------------------------------------------------- */

static void
put_call(struct ht_script *s, const struct ht_sample *x, const struct ht_lane *lane, uint64_t space)
{
	int depth =
	    calls_step(s->calls, &(struct calls_of){ lane->stream, lane->cpu, lane->tid }, x);
	const struct place *p;

	/* A call that is not shown counts for the depth of those that are. */
	if (depth < 0 || (s->filtered && !wanted(s, x, lane, space)))
		return;
	put_prefix(s, x, lane);
	ht_text_room(s->out, HT_TEXT_ROOM);
	for (int i = 0; i < depth; i++)
		ht_text_put(s->out, "    ", 4);
	p = place_get(s->places, lane->view, space, x->addr);
	ht_text_put(s->out, p->text + 1, p->text_len - 1u);
	ht_text_char(s->out, '\n');
}

/* -- all ----------------------------------------------------------------- */

void
ht_script_show(struct ht_script *s, const struct ht_sample *run, int n, const struct ht_lane *lane)
{
	uint64_t space = (uint64_t)lane->stream << 40 ^ (lane->view ? ht_view_generation(lane->view) : 0);
	int json = s->config.style == HT_SCRIPT_JSON;

	for (int i = 0; i < n; i++) {
		const struct ht_sample *x = &run[i];

		if (x->kind == HT_SAMPLE_GAP) {
			calls_gap(s->calls,
			          &(struct calls_of){ lane->stream, lane->cpu, lane->tid });
			if (s->config.gaps)
				(json ? script_json_gap : put_gap)(s, x, lane);
			continue;
		}
		if (s->config.style == HT_SCRIPT_CALLS)
			put_call(s, x, lane, space);
		else if (s->filtered && !wanted(s, x, lane, space))
			continue;
		else if (json)
			script_json_sample(s, x, lane, space);
		else
			put_sample(s, x, lane, space);
	}
}
