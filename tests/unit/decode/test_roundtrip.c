/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * decode(encode(x)) == x: what random programs executed, against what each
 * engine tells.  HT_ROUNDTRIP=N runs N programs more, HT_ROUNDTRIP_SEED=S the
 * one of that seed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <hwtrace/flow.h>

#include "model.h"

static const char *const engines[] = {"libipt", "native"};

static void
fail_at(const struct model *m, const struct told *t, size_t i, size_t k, uint64_t seed,
	const char *engine)
{
	char want[160], got[160];

	for (size_t n = 8; n > 0; n--)
		if (i >= n && k >= n)
			print_error("  %s | %s\n", told_text(&m->truth, i - n, want, sizeof(want)),
				    told_text(t, k - n, got, sizeof(got)));
	print_error("  %s | %s\n", told_text(&m->truth, i, want, sizeof(want)),
		    told_text(t, k, got, sizeof(got)));
	for (size_t n = 1; n < 4; n++)
		print_error("  %s | %s\n", told_text(&m->truth, i + n, want, sizeof(want)),
			    told_text(t, k + n, got, sizeof(got)));
	fail_msg("seed %llu, %s, item %zu of %zu (told %zu of %zu): %s ran, %s told",
		 (unsigned long long)seed, engine, i, m->truth.n, k, t->n,
		 told_text(&m->truth, i, want, sizeof(want)), told_text(t, k, got, sizeof(got)));
}

/* Marks of enabling and disabling are the trace's own: the step encoder adds some. */
static int
is_mark(const struct told_item *i)
{
	return i->kind == TOLD_ENABLE || i->kind == TOLD_DISABLE;
}

static int
same(const struct told_item *want, const struct told_item *got)
{
	if (want->kind != got->kind || want->a != got->a)
		return 0;
	switch (want->kind) {
	case TOLD_INSN:
		if (want->insn != got->insn)
			return 0;
		if (!want->branch || want->maybe)
			return 1;
		/* A conditional jump to the next instruction looks the same either way. */
		return got->branch && want->b == got->b;
	case TOLD_GAP:
		return want->insn == got->insn && want->b == got->b;
	case TOLD_ASYNC:
		return want->b == got->b;
	default:
		return 1;
	}
}

static void
compare(const struct model *m, const struct told *t, uint64_t seed, const char *engine)
{
	size_t i = 0, k = 0;

	if (t->nonsense)
		fail_msg("seed %llu, %s: a block of bytes that are no instruction", (unsigned long long)seed, engine);
	if (t->wrong)
		fail_msg("seed %llu, %s: %s", (unsigned long long)seed, engine, t->wrong);
	while (i < m->truth.n || k < t->n) {
		const struct told_item *want = &m->truth.at[i], *got = &t->at[k];

		if (m->o.step && i < m->truth.n && is_mark(want))
			i++;
		else if (m->o.step && k < t->n && is_mark(got))
			k++;
		else if (i < m->truth.n && k < t->n && same(want, got))
			i++, k++;
		else if (k < t->n && got->kind == TOLD_ENABLE && k && t->at[k - 1].kind == TOLD_GAP)
			k++; /* the end of the loss, said twice */
		else if (i < m->truth.n && want->maybe)
			i++;
		else
			fail_at(m, t, i, k, seed, engine);
	}
	if (t->stats.bytes_decoded != m->trace.n || t->stats.bytes_skipped ||
	    t->stats.bytes != m->trace.n)
		fail_msg("seed %llu, %s: %llu bytes decoded and %llu skipped of %zu",
			 (unsigned long long)seed, engine,
			 (unsigned long long)t->stats.bytes_decoded,
			 (unsigned long long)t->stats.bytes_skipped, m->trace.n);
}

/* Counting finds the same as many events. */
static void
compare_counts(struct ht_session *s, const struct told *t, uint64_t seed)
{
	struct ht_decoder_config config = {.size = sizeof(config), .engine = "native"};
	uint64_t insns = 0, branches = 0;
	struct ht_decoder *d;
	struct ht_counts c;

	assert_int_equal(ht_decoder_new(s, 0, &config, &d, NULL), 0);
	while (ht_decoder_count(d, &c) == 1) {
		for (size_t i = 0; i < c.n_runs; i++)
			insns += c.runs[i].count * c.runs[i].insns;
		for (size_t i = 0; i < c.n_edges; i++)
			branches += c.edges[i].count;
		ht_counts_free(&c);
	}
	if (insns != t->stats.instructions || branches != t->stats.branches ||
	    ht_decoder_stats(d)->gaps != t->stats.gaps ||
	    ht_decoder_stats(d)->bytes_decoded != t->stats.bytes_decoded)
		fail_msg(
		    "seed %llu: %llu instructions and %llu branches counted, %llu and %llu told",
		    (unsigned long long)seed, (unsigned long long)insns,
		    (unsigned long long)branches, (unsigned long long)t->stats.instructions,
		    (unsigned long long)t->stats.branches);
	ht_decoder_free(d);
}

static void
check(uint64_t seed, const struct model_options *o)
{
	struct model *m = malloc(sizeof(*m));
	struct fake *fake = malloc(sizeof(*fake));
	struct ht_session *s;
	struct told t;

	model_make(m, seed, o);
	model_fake(m, fake, 1 + seed % 4);
	s = fake_session(fake, NULL);
	for (unsigned i = o->mispredict ? 1 : 0; i < 2; i++) {
		if (!ht_engine_can(engines[i], HT_SOURCE_INTEL_PT))
			continue;
		told_decode(&t, s, engines[i], seed % 2 ? HT_BATCH : 64, SIZE_MAX);
		compare(m, &t, seed, engines[i]);
		if (i == 1)
			compare_counts(s, &t, seed);
		told_free(&t);
	}
	ht_session_close(s);
	model_free(m);
	free(fake);
	free(m);
}

static void
test_random_programs(void **state)
{
	const char *more = getenv("HT_ROUNDTRIP"), *one = getenv("HT_ROUNDTRIP_SEED");
	uint64_t first = one ? strtoull(one, NULL, 0) : 1;
	uint64_t last = one ? first : 1000 + (more ? strtoull(more, NULL, 0) : 0);
	struct model_options o;

	(void)state;
	for (uint64_t seed = first; seed <= last; seed++) {
		model_options(seed, &o);
		check(seed, &o);
	}
}

/* -- one liberty at a time, over what else the seed draws --------------------- */

static void
check_some(void (*force)(struct model_options *o), unsigned n)
{
	struct model_options o;

	for (uint64_t seed = 5001; seed <= 5000 + n; seed++) {
		model_options(seed, &o);
		force(&o);
		check(seed, &o);
	}
}

static void
circles(struct model_options *o)
{
	o->step = o->circles = 1;
	o->ptw = o->tsx = o->power = o->kernel = o->filter = 0;
	o->async = 30;
}

/* Loops of direct jumps make no packets: the step encoder must make each turn countable. */
static void
test_circles_of_jumps(void **state)
{
	(void)state;
	check_some(circles, 600);
}

static void
deferred(struct model_options *o)
{
	o->step = o->circles = 0;
	o->defer = 1;
	o->tnt_max = 47;
	o->tsc = 3;
}

/* A time stamp may stand between outcomes and the target that they overtook. */
static void
test_deferred_targets_with_times_between(void **state)
{
	(void)state;
	check_some(deferred, 150);
}

static void
overflows(struct model_options *o)
{
	o->ovf = 30;
	o->patch = 0;
}

/* What the trace tells in front of a loss is told, the outcome of the last branch too. */
static void
test_overflows(void **state)
{
	(void)state;
	check_some(overflows, 150);
}

static void
changes(struct model_options *o)
{
	o->patch = 20;
	o->cyc = 2;
	o->tsc = 0;
}

/* Cycles of unknown length do not move the time past a change of the code. */
static void
test_changing_code_with_cycles(void **state)
{
	(void)state;
	check_some(changes, 150);
}

static void
deep(struct model_options *o)
{
	o->compress = o->keep = 1;
	o->insns = 6000;
	o->async = o->ovf = o->patch = 0;
	o->psb_bytes = 0;
	o->filter = 0;
}

static void
test_deep_recursion(void **state)
{
	(void)state;
	check_some(deep, 100);
}

/* Nothing but the program. */
static void
plain(struct model_options *o)
{
	*o = (struct model_options){ .insns = o->insns, .mode = 64, .tnt_max = 6 };
}

static void
long_tnt(struct model_options *o)
{
	plain(o);
	o->tnt_max = 47;
	o->compress = 1;
}

static void
often_psb(struct model_options *o)
{
	plain(o);
	o->psb_bytes = 256;
	o->compress = 1;
}

static void
any_ip(struct model_options *o)
{
	plain(o);
	o->any_ip = 1;
	o->far = 1;
}

static void
timed(struct model_options *o)
{
	plain(o);
	o->cyc = o->mtc = o->tsc = 2;
	o->cbr = 5;
}

static void
padded(struct model_options *o)
{
	plain(o);
	o->pad = 1;
}

static void
stopped(struct model_options *o)
{
	plain(o);
	o->filter = 1;
	o->stop = 1;
}

static void
everything(struct model_options *o)
{
	unsigned mode = o->mode;

	timed(o);
	o->mode = mode;
	o->tnt_max = 47;
	o->psb_bytes = 256;
	o->any_ip = o->pad = 2;
	o->compress = o->kernel = o->far = o->filter = o->ptw = 1;
	o->stop = 2;
	o->async = 12;
	o->ovf = 60;
	o->tsx = 15;
	o->power = 20;
}

static void
events_only(struct model_options *o)
{
	everything(o);
	o->async = 1;
}

/* Each thing that a trace may have by itself, then all of them, then an event in front of each instruction. */
static void
test_each_option(void **state)
{
	static void (*const force[])(struct model_options *) = {
		plain, long_tnt, often_psb, any_ip, timed, padded, stopped, everything, events_only,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(force) / sizeof(*force); i++)
		check_some(force[i], 40);
}

/* The same run again and again, with one event: in front of its first instruction, its second ... */
static void
test_an_event_at_every_instruction(void **state)
{
	struct model_options o;

	(void)state;
	for (uint64_t seed = 7001; seed <= 7003; seed++) {
		for (unsigned at = 1; at <= 250; at++) {
			model_options(seed, &o);
			o.insns = 250;
			o.async = o.ovf = o.patch = 0;
			o.async_at = at;
			check(seed, &o);
		}
	}
}

static void
mispredicted(struct model_options *o)
{
	o->compress = 1;
	o->mispredict = 3;
	o->step = 0;
	o->async = 0;
}

/* A return that goes elsewhere than its call says, or is told all the same, takes its call off. */
static void
test_mispredicted_returns(void **state)
{
	(void)state;
	check_some(mispredicted, 150);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_programs),
		cmocka_unit_test(test_circles_of_jumps),
		cmocka_unit_test(test_deferred_targets_with_times_between),
		cmocka_unit_test(test_overflows),
		cmocka_unit_test(test_changing_code_with_cycles),
		cmocka_unit_test(test_deep_recursion),
		cmocka_unit_test(test_mispredicted_returns),
		cmocka_unit_test(test_each_option),
		cmocka_unit_test(test_an_event_at_every_instruction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
