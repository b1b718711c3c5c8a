/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter.h"

#define TICKS_A_NS 64              /* processors are slower */
#define WHOLE      100000000000ull /* 100 per cent, as filter_end has it */

/* -- --time -------------------------------------------------------------- */

/* "12.5", "+3", "10%" or nothing. */
static int
parse_end(const char *text, size_t len, struct filter_end *end)
{
	end->kind = END_OPEN;
	if (!len)
		return 0;
	if (text[len - 1] == '%') {
		end->kind = END_PERCENT;
		return seconds_parse(text, len - 1, &end->value) < 0 || end->value > WHOLE ? -1 : 0;
	}
	end->kind = *text == '+' ? END_RELATIVE : END_ABSOLUTE;
	if (*text == '+') {
		text++;
		len--;
	}
	return seconds_parse(text, len, &end->value);
}

static int
parse_time(struct filter *f, const char *text)
{
	const char *comma = text ? strchr(text, ',') : NULL;
	size_t len = comma ? (size_t)(comma - text) : text ? strlen(text) : 0;
	struct filter_end *a = &f->ends[0], *b = &f->ends[1];

	f->timed = text != NULL;
	if (!text)
		return 0;
	if (parse_end(text, len, a) < 0 ||
	    parse_end(comma ? comma + 1 : "", comma ? strlen(comma + 1) : 0, b) < 0 ||
	    (a->kind == END_OPEN && b->kind == END_OPEN) ||
	    (a->kind == b->kind && a->value > b->value)) {
		tool_error("--time takes START,STOP: seconds as the time column shows them, "
		           "+SECONDS from the start "
		           "of the trace, or PERCENT%% of it; either may be left out; '%s' is no "
		           "such range",
		           text);
		return -1;
	}
	return 0;
}

static int
needs_span(const struct filter *f)
{
	for (int i = 0; i < 2; i++)
		if (f->ends[i].kind == END_RELATIVE || f->ends[i].kind == END_PERCENT)
			return 1;
	return 0;
}

/* Part of `span`, rounded down, without a product that does not fit. */
static uint64_t
part_of(uint64_t span, uint64_t part)
{
	return (uint64_t)((unsigned __int128)span * part / WHOLE);
}

/* The time that an end stands for; `bound` where it is open. */
static uint64_t
end_ns(const struct filter_end *end, uint64_t first, uint64_t last, uint64_t bound)
{
	switch (end->kind) {
	case END_ABSOLUTE:
		return end->value;
	case END_RELATIVE:
		return end->value > UINT64_MAX - first ? UINT64_MAX : first + end->value;
	case END_PERCENT:
		/* What the trace tells before its first time and after its last is part of it. */
		if (end->value == 0)
			return 0;
		return end->value == WHOLE ? UINT64_MAX : first + part_of(last - first, end->value);
	default:
		return bound;
	}
}

/* Times are ns where the capture gives a conversion. */
static uint64_t
to_ns(const struct filter *f, uint64_t tsc)
{
	const struct ht_clock *clock = &f->in->info->clock;

	return clock->valid ? ht_clock_tsc_to_ns(clock, tsc) : tsc;
}

static uint64_t
to_tsc(const struct filter *f, uint64_t ns)
{
	const struct ht_clock *clock = &f->in->info->clock;

	return clock->valid ? ht_clock_ns_to_tsc(clock, ns) : ns;
}

static int
find_times(struct filter *f)
{
	uint64_t first = 0, last = 0;
	struct ht_diag diag = { 0 };
	uint32_t n = ht_container_stream_count(f->in->container);

	if (ht_seek_open(f->in->container, HT_SEEK_LONG, &f->seek, &diag) < 0)
		return tool_fail(&diag);
	if (ht_seek_span(f->seek, &first, &last) < 0 && needs_span(f))
		return tool_error("%s: its trace tells no time: --time cannot count from its start "
		                  "or in per cent",
		                  f->in->path);
	first = to_ns(f, first);
	last = to_ns(f, last);
	f->from = end_ns(&f->ends[0], first, last, 0);
	f->to = end_ns(&f->ends[1], first, last, UINT64_MAX);
	for (uint32_t i = 0; f->from && i < n; i++)
		f->start[i] = ht_seek_start(f->seek, i, to_tsc(f, f->from));
	return EXIT_OK;
}

uint64_t
filter_tsc_end(const struct filter *f)
{
	uint64_t tsc;

	if (!f->timed || f->to == UINT64_MAX)
		return 0;
	/* The conversion back rounds down: on to the first tick behind this ns, which is near. */
	tsc = to_tsc(f, f->to);
	for (int i = 0; i < TICKS_A_NS && to_ns(f, tsc) <= f->to; i++)
		tsc++;
	return to_ns(f, tsc) > f->to ? tsc : 0;
}

/* -- the whole ----------------------------------------------------------- */

int
filter_parse(struct filter *f, const struct filter_opts *o)
{
	f->opts = o;
	f->active = o->tids || o->pids || o->cpus || o->time || o->comms.n;
	return id_list_parse("--tid", o->tids, &f->tids) < 0 ||
	               id_list_parse("--pid", o->pids, &f->pids) < 0 ||
	               id_list_parse("--cpu", o->cpus, &f->cpus) < 0 || parse_time(f, o->time) < 0
	           ? EXIT_USAGE
	           : EXIT_OK;
}

/* Streams of threads that are not asked for are not decoded at all. */
static int
choose_streams(struct filter *f)
{
	uint32_t n = ht_container_stream_count(f->in->container), taken = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct ht_stream *s = ht_container_stream(f->in->container, i);

		if (f->opts->cpus && s->cpu < 0)
			return tool_error(
			    "%s: its streams are of threads, not of CPUs; leave out --cpu",
			    f->in->path);
		f->skip[i] = (s->tid >= 0 && !id_list_has(&f->tids, s->tid)) ||
		             (s->pid >= 0 && !id_list_has(&f->pids, s->pid)) ||
		             (s->cpu >= 0 && !id_list_has(&f->cpus, s->cpu));
		taken += !f->skip[i];
	}
	if (n && !taken)
		return tool_error(
		    "%s: %s of a thread or CPU that was asked for; hwtrace info lists them",
		    f->in->path, n == 1 ? "its one stream is not" : "none of its streams is");
	return EXIT_OK;
}

int
filter_open(struct filter *f, const struct input *in, int records)
{
	uint32_t n = ht_container_stream_count(in->container);
	int status;

	f->in = in;
	f->from = 0;
	f->to = UINT64_MAX;
	f->skip = calloc(n + 1, 1);
	f->start = calloc(n + 1, sizeof(*f->start));
	f->comm_seen = calloc(f->opts->comms.n + 1, 1);
	if (!f->skip || !f->start || !f->comm_seen)
		return tool_error("out of memory");
	if (!records && (status = choose_streams(f)) != EXIT_OK)
		return status;
	return f->timed ? find_times(f) : EXIT_OK;
}

void
filter_close(struct filter *f)
{
	ht_seek_close(f->seek);
	id_list_free(&f->tids);
	id_list_free(&f->pids);
	id_list_free(&f->cpus);
	free(f->skip);
	free(f->start);
	free(f->comm_seen);
	memset(f, 0, sizeof(*f));
}

int
filter_fork(struct filter *copy, const struct filter *f)
{
	*copy = *f;
	copy->comm_seen = calloc(f->opts->comms.n + 1, 1);
	return copy->comm_seen ? 0 : -HT_ENOMEM;
}

void
filter_join(struct filter *f, struct filter *copy)
{
	for (size_t i = 0; copy->comm_seen && i < f->opts->comms.n; i++)
		f->comm_seen[i] |= copy->comm_seen[i];
	free(copy->comm_seen);
	copy->comm_seen = NULL;
}

/* -- what passes --------------------------------------------------------- */

static int
comm_wanted(struct filter *f, int32_t tid, uint64_t ns)
{
	const struct opt_list *comms = &f->opts->comms;
	const char *comm = comms->n ? ht_session_comm(f->in->session, tid, ns) : "";

	for (size_t i = 0; i < comms->n; i++)
		if (!strcmp(comms->at[i], comm)) {
			f->comm_seen[i] = 1;
			return 1;
		}
	return !comms->n;
}

int
filter_wants(struct filter *f, int32_t pid, int32_t tid, uint64_t ns)
{
	return ns >= f->from && ns <= f->to && id_list_has(&f->tids, tid) &&
	       id_list_has(&f->pids, pid) && comm_wanted(f, tid, ns);
}

int
filter_wants_gap(const struct filter *f, const struct ht_gap *gap)
{
	return (!gap->ns_to || gap->ns_to >= f->from) && (!gap->ns_from || gap->ns_from <= f->to);
}

void
filter_stream(struct filter *f)
{
	f->now = 0;
	f->pair = f->over = 0;
}

/* Does the event at hand pass?  BLOCK and the BRANCH that ends it go together. */
static int
passes(struct filter *f, const struct ht_decoder *d, const struct ht_event *ev)
{
	const struct ht_gap *gap;

	switch (ev->kind) {
	case HT_EV_TIME:
		f->now = f->in->info->clock.valid ? ev->a : ev->b;
		if (f->now > f->to &&
		    ht_container_info(f->in->container)->source == HT_SOURCE_INTEL_PT)
			f->over = !f->pair;
		return 1;
	case HT_EV_BLOCK:
		f->pair_kept = filter_wants(f, ht_decoder_pid(d), ht_decoder_tid(d), f->now);
		f->pair = ev->insn != HT_INSN_OTHER;
		return f->pair_kept;
	case HT_EV_BRANCH:
		if (!f->pair)
			f->pair_kept =
			    filter_wants(f, ht_decoder_pid(d), ht_decoder_tid(d), f->now);
		f->pair = 0;
		return f->pair_kept;
	case HT_EV_GAP:
		f->pair = 0;
		return !(gap = ht_decoder_gap(d, ev->n)) || filter_wants_gap(f, gap);
	default:
		return 1;
	}
}

int
filter_events(struct filter *f, const struct ht_decoder *d, struct ht_event *ev, int n)
{
	int kept = 0;

	if (!f->active)
		return n;
	for (int i = 0; i < n; i++)
		if (passes(f, d, &ev[i]))
			ev[kept++] = ev[i];
	return kept;
}

void
filter_tell_unmatched(const struct filter *f)
{
	for (size_t i = 0; i < f->opts->comms.n; i++)
		if (!f->comm_seen[i])
			tool_warn("--comm %s: no thread of this name in what was decoded",
			          f->opts->comms.at[i]);
}
