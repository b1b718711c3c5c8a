/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What several threads decode, put together in the order of the stream, is event
 * by event what one decoder tells: of random programs whose code changes, with
 * overflows, cuts and damage, in chunks between which bytes are missing.
 * HT_PARALLEL=N tries N times more.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include <hwtrace/parallel.h>

#include "base/vec.h"
#include "decode/engine.h"
#include "model.h"
#include "random_program.h"

#define WANT (HT_DECODE_BLOCKS | HT_DECODE_BRANCHES | HT_DECODE_OTHER)

/* The events of a stretch; `n` of a GAP is a number in `gaps`. */
struct part {
	struct {
		struct ht_event *at;
		size_t n, cap;
	} events;
	struct {
		struct ht_gap *at;
		size_t n, cap;
	} gaps;
	/* When counting, instead: */
	struct {
		struct ht_edge *at;
		size_t n, cap;
	} edges;
	struct {
		struct ht_run *at;
		size_t n, cap;
	} runs;
	int ended;
};

static atomic_uint opened; /* parts */
static atomic_int patience; /* moments that are waited for a second one */
static struct part *whole; /* what done() was given */
static unsigned dones;

static void *
part_open(void)
{
	opened++;
	return calloc(1, sizeof(struct part));
}

static void
part_close(void *arg)
{
	struct part *p = arg;

	if (p) {
		ht_vec_free(&p->events);
		ht_vec_free(&p->gaps);
		ht_vec_free(&p->edges);
		ht_vec_free(&p->runs);
	}
	free(p);
}

static void
add(struct part *p, const struct ht_event *ev, const struct ht_gap *gap)
{
	struct ht_event *e = ht_vec_push(&p->events);
	struct ht_gap *g = gap ? ht_vec_push(&p->gaps) : NULL;

	*e = *ev;
	if (gap) {
		e->n = (uint32_t)p->gaps.n - 1;
		*g = *gap;
		g->ns_from = g->ns_to = 0; /* where no code changes any more, clocks may differ */
	}
}

static int
part_events(void *arg, struct ht_decoder *d, const struct ht_event *ev, int n)
{
	const struct timespec a_moment = { 0, 20000 };
	struct part *p = arg;

	assert_false(p->ended);
	for (int i = 0; i < n; i++)
		add(p, &ev[i], ev[i].kind == HT_EV_GAP ? ht_decoder_gap(d, ev[i].n) : NULL);
	/* For others to find work. */
	do
		nanosleep(&a_moment, NULL);
	while (opened < 2 && atomic_load(&patience) > 0 && atomic_fetch_sub(&patience, 1) > 0);
	return 0;
}

static void
add_counts(struct part *p, const struct ht_edge *edges, size_t n_edges, const struct ht_run *runs,
           size_t n_runs)
{
	for (size_t i = 0; i < n_edges; i++)
		*(struct ht_edge *)ht_vec_push(&p->edges) = edges[i];
	for (size_t i = 0; i < n_runs; i++)
		*(struct ht_run *)ht_vec_push(&p->runs) = runs[i];
}

static int
part_counts(void *arg, struct ht_decoder *d, const struct ht_counts *c)
{
	const struct timespec a_moment = { 0, 20000 };

	(void)d;
	add_counts(arg, c->edges, c->n_edges, c->runs, c->n_runs);
	nanosleep(&a_moment, NULL);
	return 0;
}

static void
part_forget(void *arg)
{
	struct part *p = arg;

	p->events.n = p->gaps.n = p->edges.n = p->runs.n = 0;
}

static int
part_end(void *arg)
{
	struct part *p = arg;

	assert_false(p->ended);
	p->ended = 1;
	return 0;
}

static int
part_merge(void *into, const void *from)
{
	const struct part *p = from;

	assert_true(p->ended && ((struct part *)into)->ended);
	for (size_t i = 0; i < p->events.n; i++) {
		const struct ht_event *ev = &p->events.at[i];

		add(into, ev, ev->kind == HT_EV_GAP ? &p->gaps.at[ev->n] : NULL);
	}
	add_counts(into, p->edges.at, p->edges.n, p->runs.at, p->runs.n);
	return 0;
}

static int
done(void *arg, uint32_t stream, const void *part, const struct ht_diag *diag)
{
	(void)arg;
	assert_int_equal(stream, 0);
	assert_int_equal(diag->error, 0);
	whole = part_open();
	whole->ended = 1;
	dones++;
	return part_merge(whole, part);
}

static const struct ht_parallel_sink sink = {
	.open = part_open,
	.events = part_events,
	.forget = part_forget,
	.end = part_end,
	.merge = part_merge,
	.close = part_close,
	.done = done,
};

static struct ht_decoder *
decoder(struct ht_session *s)
{
	struct ht_decoder_config config = { .size = sizeof(config),
		                            .engine = "native",
		                            .want = WANT };
	struct ht_decoder *d;

	assert_int_equal(ht_decoder_new(s, 0, &config, &d, NULL), 0);
	return d;
}

/* All that comes until the decoder stops. */
static struct part *
drain(struct ht_decoder *d)
{
	struct part *p = part_open();
	struct ht_event ev[HT_BATCH];
	int n;

	while ((n = ht_decoder_next(d, ev, HT_BATCH)) > 0)
		for (int i = 0; i < n; i++)
			add(p, &ev[i], ev[i].kind == HT_EV_GAP ? ht_decoder_gap(d, ev[i].n) : NULL);
	assert_int_equal(n, 0);
	return p;
}

/* The same by one decoder. */
static struct part *
alone(struct ht_session *s)
{
	struct ht_decoder *d = decoder(s);
	struct part *p = drain(d);

	ht_decoder_free(d);
	return p;
}

static int
same_gap(const struct ht_gap *a, const struct ht_gap *b)
{
	return a->kind == b->kind && a->offset == b->offset && a->bytes == b->bytes &&
	       a->ip == b->ip && !strcmp(a->why, b->why);
}

static void
compare(const struct part *want, const struct part *got, uint64_t seed, unsigned jobs)
{
	for (size_t i = 0; i < want->events.n && i < got->events.n; i++) {
		const struct ht_event *a = &want->events.at[i], *b = &got->events.at[i];

		if (memcmp(a, b, sizeof(*a)) ||
		    (a->kind == HT_EV_GAP && !same_gap(&want->gaps.at[a->n], &got->gaps.at[b->n])))
			fail_msg("seed %llu, %u threads: event %zu of %zu: kind %u %llx %llx %u, "
			         "not %u %llx %llx %u",
			         (unsigned long long)seed, jobs, i, want->events.n, b->kind,
			         (unsigned long long)b->a, (unsigned long long)b->b, b->n, a->kind,
			         (unsigned long long)a->a, (unsigned long long)a->b, a->n);
	}
	if (want->events.n != got->events.n)
		fail_msg("seed %llu, %u threads: %zu events, not %zu", (unsigned long long)seed,
		         jobs, got->events.n, want->events.n);
}

static int
edge_order(const void *x, const void *y)
{
	const struct ht_edge *a = x, *b = y;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	return a->flags != b->flags ? a->flags - b->flags : a->insn - b->insn;
}

static int
run_order(const void *x, const void *y)
{
	const struct ht_run *a = x, *b = y;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->last != b->last ? (a->last < b->last ? -1 : 1) : (int)a->insns - (int)b->insns;
}

/* Each edge and run once. */
static void
sum_up(struct part *p)
{
	size_t k = 0;

	if (p->edges.n)
		qsort(p->edges.at, p->edges.n, sizeof(*p->edges.at), edge_order);
	for (size_t i = 0; i < p->edges.n; i++)
		if (k && edge_order(&p->edges.at[k - 1], &p->edges.at[i]) == 0)
			p->edges.at[k - 1].count += p->edges.at[i].count;
		else
			p->edges.at[k++] = p->edges.at[i];
	p->edges.n = k;
	k = 0;
	if (p->runs.n)
		qsort(p->runs.at, p->runs.n, sizeof(*p->runs.at), run_order);
	for (size_t i = 0; i < p->runs.n; i++)
		if (k && run_order(&p->runs.at[k - 1], &p->runs.at[i]) == 0)
			p->runs.at[k - 1].count += p->runs.at[i].count;
		else
			p->runs.at[k++] = p->runs.at[i];
	p->runs.n = k;
}

static void
compare_counts(const struct part *want, const struct part *got, uint64_t seed, unsigned jobs)
{
	if (want->edges.n != got->edges.n || want->runs.n != got->runs.n)
		fail_msg("seed %llu, %u threads: %zu edges and %zu runs, not %zu and %zu",
		         (unsigned long long)seed, jobs, got->edges.n, got->runs.n, want->edges.n,
		         want->runs.n);
	for (size_t i = 0; i < want->edges.n; i++)
		if (edge_order(&want->edges.at[i], &got->edges.at[i]) ||
		    want->edges.at[i].count != got->edges.at[i].count)
			fail_msg("seed %llu, %u threads: edge %zu", (unsigned long long)seed, jobs, i);
	for (size_t i = 0; i < want->runs.n; i++)
		if (run_order(&want->runs.at[i], &got->runs.at[i]) ||
		    want->runs.at[i].count != got->runs.at[i].count)
			fail_msg("seed %llu, %u threads: run %zu", (unsigned long long)seed, jobs, i);
}

/* Counts of threads against those of one decoder. */
static void
check_counts(struct ht_session *s, const struct ht_parallel_config *config, uint64_t seed)
{
	struct ht_parallel_sink counting = sink;
	struct ht_decoder *d = decoder(s);
	struct part *want = part_open();
	struct ht_counts c;

	while (ht_decoder_count(d, &c) == 1) {
		add_counts(want, c.edges, c.n_edges, c.runs, c.n_runs);
		ht_counts_free(&c);
	}
	ht_decoder_free(d);
	counting.counts = part_counts;
	assert_int_equal(ht_parallel_decode(s, config, &counting, NULL), 0);
	sum_up(want);
	sum_up(whole);
	compare_counts(want, whole, seed, config->jobs);
	part_close(want);
	part_close(whole);
}

/* Returns how many stretches were begun beyond the first ones. */
static unsigned
check(struct ht_session *s, uint64_t seed, int patient)
{
	static const unsigned jobs[] = { 1, 2, 3, 7 };
	struct part *want = alone(s);
	unsigned cuts = 0;

	for (unsigned i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
		struct ht_parallel_config config = { .size = sizeof(config),
			                             .engine = "native",
			                             .want = WANT,
			                             .jobs = jobs[i],
			                             .piece = 200 + seed % 5 * 300 };

		opened = dones = 0;
		patience = jobs[i] > 1 ? patient : 0;
		assert_int_equal(ht_parallel_decode(s, &config, &sink, NULL), 0);
		assert_int_equal(dones, 1);
		cuts += opened - 2;
		compare(want, whole, seed, jobs[i]);
		part_close(whole);
		if (jobs[i] == 1)
			assert_int_equal(cuts, 0);
		check_counts(s, &config, seed);
	}
	part_close(want);
	return cuts;
}

/*
 * From every place where a stretch may begin: where it meets what comes from
 * before, and misses nothing, it goes on like it.  Returns how often it did.
 */
static unsigned
check_places(struct ht_session *s, uint64_t seed)
{
	const struct ht_engine_stretch *way = ht_engine_native.stretch;
	const struct ht_stream *st = ht_container_stream(ht_session_container(s), 0);
	uint64_t warm, begin;
	unsigned met = 0;

	for (uint64_t from = 0; way->find(st, from, &warm, &begin); from = warm + 1) {
		struct ht_decoder *before = decoder(s), *after = decoder(s);
		struct part *want, *got;

		way->stop(before, begin);
		part_close(drain(before));
		way->begin(after, warm);
		way->stop(after, begin);
		part_close(drain(after));
		way->note(after);
		if (way->meets(before, after)) {
			way->stop(before, UINT64_MAX);
			way->stop(after, UINT64_MAX);
			want = drain(before);
			got = drain(after);
			if (!way->missed(after)) {
				met++;
				compare(want, got, seed, 0);
			}
			part_close(want);
			part_close(got);
		}
		ht_decoder_free(before);
		ht_decoder_free(after);
	}
	return met;
}

static unsigned
more(void)
{
	const char *n = getenv("HT_PARALLEL");

	return n ? (unsigned)strtoul(n, NULL, 0) : 0;
}

static void
test_plain(void **state)
{
	const struct rp_options o = { .blocks = 30000, .compress = 1, .psb_bytes = 700 };
	unsigned cuts = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 6 + more() / 10; seed++) {
		struct rp *rp = malloc(sizeof(*rp));
		struct fake *fake = calloc(1, sizeof(*fake));
		struct ht_session *s;

		rp_make(rp, seed, &o);
		fake_init(fake);
		fake_code(fake, 0, 1, RP_BASE, rp->code, (uint32_t)rp->code_size);
		fake_trace(fake, 1, 1, rp->trace, rp->trace_size / 3);
		fake_trace(fake, 1, 1, rp->trace + rp->trace_size / 3,
		           rp->trace_size - rp->trace_size / 3);
		s = fake_session(fake, NULL);
		cuts += check(s, seed, 5000);
		ht_session_close(s);
		free(fake);
		rp_free(rp);
		free(rp);
	}
	assert_true(cuts > 0);
}

/* Some bytes wrong, or none. */
static void
damage(struct model *m, uint8_t *bytes, size_t n)
{
	for (unsigned k = (unsigned)(model_rnd(m) % 4); n && k > 0; k--) {
		size_t at = (size_t)model_rnd(m) % n, size = 1 + (size_t)model_rnd(m) % 24;

		for (; size > 0 && at < n; size--, at++)
			bytes[at] = k == 1 ? 0 : (uint8_t)model_rnd(m);
	}
}

static unsigned places; /* where a stretch met what came from before */

static void
check_model(uint64_t seed, const struct model_options *o)
{
	struct model *m = malloc(sizeof(*m));
	struct fake *fake = calloc(1, sizeof(*fake));
	struct ht_session *s;
	size_t third;

	model_make(m, seed, o);
	if (seed % 3)
		damage(m, m->trace.at, m->trace.n);
	third = m->trace.n / 3;
	model_fake(m, fake, 0);
	fake_trace(fake, 1, 1, m->trace.at, third);
	fake_trace(fake, 1, 1, m->trace.at + third, m->trace.n - third);
	if (seed % 4 == 0) {
		/* ... of which some never came to the file. */
		fake->chunks[1].lost_before = 1;
		fake->chunks[1].stream_offset += 1000;
	}
	s = fake_session(fake, NULL);
	check(s, seed, 0);
	places += check_places(s, seed);
	ht_session_close(s);
	free(fake);
	model_free(m);
	free(m);
}

static void
test_damage(void **state)
{
	struct model_options o;

	(void)state;
	for (uint64_t seed = 1; seed <= 120 + more(); seed++) {
		model_options(seed, &o);
		o.insns *= 4;
		if (!o.psb_bytes || o.psb_bytes > 512)
			o.psb_bytes = 256;
		check_model(seed, &o);
	}
	assert_true(places > 300);
}

/* Returns to calls in front of the last PSB, which no processor compresses: nothing may be lost. */
static void
test_returns_beyond_a_psb(void **state)
{
	struct model_options o;

	(void)state;
	for (uint64_t seed = 1001; seed <= 1020 + more() / 10; seed++) {
		model_options(seed, &o);
		o.compress = o.keep = o.beyond = 1;
		o.step = o.ovf = o.stop = 0;
		o.insns = 10000;
		o.psb_bytes = 128;
		check_model(seed, &o);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_returns_beyond_a_psb),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
