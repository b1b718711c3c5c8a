/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Traces of random programs, cut and damaged, in heap blocks of exactly their
 * size.  A trace that is cut tells a part of the truth and nothing else.  On a
 * damaged one both engines account for each byte, and agree as long as neither
 * has told a gap.  HT_DAMAGE=N tries N times more; HT_DAMAGE_SEED=S damages the
 * trace of that seed alone, HT_DAMAGE_DUMP=FILE keeps it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "known.h"
#include <hwtrace/flow.h>

#include "model.h"

#define LIMIT (1u << 20) /* items of one run: what repeats is not kept for ever */

static const char *const engines[] = { "libipt", "native" };

struct trial {
	struct model *m;
	struct fake   fake;
	uint8_t      *bytes;
	size_t        size;
	uint64_t      seed;
};

static unsigned
more(void)
{
	const char *n = getenv("HT_DAMAGE");

	return n ? (unsigned)strtoul(n, NULL, 0) : 0;
}

static struct trial *
trial_new(uint64_t seed, const struct model_options *o)
{
	struct trial *t = calloc(1, sizeof(*t));

	t->m = malloc(sizeof(*t->m));
	t->seed = seed;
	model_make(t->m, seed, o);
	return t;
}

static void
trial_free(struct trial *t)
{
	model_free(t->m);
	free(t->m);
	free(t->bytes);
	free(t);
}

/* Bytes [from, from+size) of the trace. */
static void
trial_take(struct trial *t, size_t from, size_t size)
{
	free(t->bytes);
	t->bytes = malloc(size ? size : 1);
	memcpy(t->bytes, t->m->trace.at + from, size);
	t->size = size;
}

static void
trial_decode(struct trial *t, const char *engine, struct told *told)
{
	struct ht_session *s;
	char text[160];

	model_fake(t->m, &t->fake, 0);
	fake_trace(&t->fake, 1, 1, t->bytes, t->size);
	s = fake_session(&t->fake, NULL);
	told_decode(told, s, engine, HT_BATCH, LIMIT);
	ht_session_close(s);
	if (told->wrong)
		fail_msg("seed %llu, %zu bytes, %s: %s, behind %s", (unsigned long long)t->seed, t->size, engine,
		         told->wrong, told_text(told, told->n - 1, text, sizeof(text)));
	if (told->n < LIMIT && !told->nonsense && told->gap_bytes != told->stats.bytes_skipped)
		fail_msg("seed %llu, %s: gaps of %llu bytes, %llu skipped", (unsigned long long)t->seed, engine,
		         (unsigned long long)told->gap_bytes, (unsigned long long)told->stats.bytes_skipped);
	if (told->stats.bytes != t->size || told->stats.bytes_decoded + told->stats.bytes_skipped != t->size)
		fail_msg("seed %llu, %s: %llu bytes decoded and %llu skipped of %zu", (unsigned long long)t->seed,
		         engine, (unsigned long long)told->stats.bytes_decoded,
		         (unsigned long long)told->stats.bytes_skipped, t->size);
}

/* The next instruction of `t` from `*i` on; NULL at the end. */
static const struct told_item *
next_insn(const struct told *t, size_t *i, size_t end)
{
	for (; *i < end; (*i)++)
		if (t->at[*i].kind == TOLD_INSN)
			return &t->at[(*i)++];
	return NULL;
}

/* -- cuts ----------------------------------------------------------------------- */

static void
check_start(struct trial *t, const char *engine)
{
	struct told told;
	size_t i = 0, k = 0;
	const struct told_item *got, *want;

	if (!ht_engine_can(engine, HT_SOURCE_INTEL_PT))
		return;
	trial_decode(t, engine, &told);
	while ((got = next_insn(&told, &k, told.n)) != NULL) {
		want = next_insn(&t->m->truth, &i, t->m->truth.n);
		if (!want || want->a != got->a || want->insn != got->insn)
			fail_msg("seed %llu, first %zu bytes, %s: item %zu: %llx ran, %llx told",
			         (unsigned long long)t->seed, t->size, engine, k,
			         want ? (unsigned long long)want->a : 0, (unsigned long long)got->a);
	}
	for (k = 0; k < told.n; k++)
		if (told.at[k].kind == TOLD_GAP && told.at[k].insn != HT_GAP_CUT && told.at[k].insn != HT_GAP_SYNC)
			fail_msg("seed %llu, first %zu bytes, %s: a gap: %s", (unsigned long long)t->seed, t->size,
			         engine, ht_gap_kind_name(told.at[k].insn));
	told_free(&told);
}

/* Without its first `from` bytes, a trace tells the end of the truth. */
static void
check_end(struct trial *t, size_t from, const char *engine)
{
	struct told told, *truth = &t->m->truth;
	size_t i = truth->n, k;

	if (!ht_engine_can(engine, HT_SOURCE_INTEL_PT))
		return;
	trial_decode(t, engine, &told);
	for (k = told.n; k-- > 0;) {
		if (told.at[k].kind != TOLD_INSN)
			continue;
		while (i > 0 && (truth->at[i - 1].kind != TOLD_INSN ||
		                 (truth->at[i - 1].maybe && truth->at[i - 1].a != told.at[k].a)))
			i--;
		if (i == 0 || truth->at[i - 1].a != told.at[k].a)
			fail_msg("seed %llu, from byte %zu, %s: item %zu: %llx ran, %llx told",
			         (unsigned long long)t->seed, from, engine, k,
			         i ? (unsigned long long)truth->at[i - 1].a : 0,
			         (unsigned long long)told.at[k].a);
		i--;
	}
	for (k = 0; k < told.n; k++)
		if (told.at[k].kind == TOLD_GAP && told.at[k].insn != HT_GAP_SYNC)
			fail_msg("seed %llu, from byte %zu, %s: a gap: %s", (unsigned long long)t->seed, from, engine,
			         ht_gap_kind_name(told.at[k].insn));
	told_free(&told);
}

static void
lossless(struct model_options *o, unsigned insns)
{
	o->ovf = 0;
	o->insns = insns;
	o->bare_end = 0;
	if (!o->psb_bytes || o->psb_bytes > 512)
		o->psb_bytes = 256;
}

static void
test_every_prefix(void **state)
{
	struct model_options o;
	struct trial *t;

	(void)state;
	for (uint64_t seed = 1; seed <= 4 + more() / 100; seed++) {
		model_options(seed, &o);
		lossless(&o, 500);
		t = trial_new(seed, &o);
		for (size_t n = 0; n <= t->m->trace.n && n <= 16384; n++) {
			trial_take(t, 0, n);
			check_start(t, engines[0]);
			check_start(t, engines[1]);
		}
		trial_free(t);
	}
}

static void
cut(uint64_t first, uint64_t last, int returns)
{
	struct model_options o;
	struct trial *t;

	for (uint64_t seed = first; seed <= last; seed++) {
		model_options(seed, &o);
		lossless(&o, 3000);
		if (returns) {
			o.compress = 1;
			o.step = seed % 2 && !o.kernel && !o.ptw && !o.tsx && !o.power;
			o.async = o.patch = o.filter = o.circles = 0;
		}
		t = trial_new(seed, &o);
		for (unsigned i = 0; i < 50; i++) {
			size_t at = (size_t)model_rnd(t->m) % (t->m->trace.n + 1);

			trial_take(t, 0, at);
			check_start(t, engines[i % 2]);
			trial_take(t, at, t->m->trace.n - at);
			check_end(t, at, engines[i % 2]);
		}
		trial_free(t);
	}
}

static void
test_cuts(void **state)
{
	(void)state;
	cut(101, 120 + more() / 100, 0);
}

/* What was called in front of a PSB is not returned to by compression behind it. */
static void
test_cuts_between_calls_and_returns(void **state)
{
	(void)state;
	cut(201, 220 + more() / 100, 1);
}

/* -- damage --------------------------------------------------------------------- */

static void
resize(struct trial *t, size_t at, size_t drop, const uint8_t *put, size_t n)
{
	uint8_t *b = malloc(t->size - drop + n + 1), *exact;

	memcpy(b, t->bytes, at);
	if (n)
		memcpy(b + at, put, n);
	memcpy(b + at + n, t->bytes + at + drop, t->size - at - drop);
	t->size += n - drop;
	exact = malloc(t->size ? t->size : 1);
	memcpy(exact, b, t->size);
	free(b);
	free(t->bytes);
	t->bytes = exact;
}

static void
damage(struct trial *t)
{
	struct model *m = t->m;
	size_t at = (size_t)model_rnd(m) % (t->size + 1), n = 1 + (size_t)model_rnd(m) % 24;
	uint8_t junk[24];

	if (n > t->size - at)
		n = t->size - at;
	for (size_t i = 0; i < sizeof(junk); i++)
		junk[i] = (uint8_t)model_rnd(m);
	switch (model_rnd(m) % 7) {
	case 0:
		if (at < t->size)
			t->bytes[at] ^= (uint8_t)(1u << model_rnd(m) % 8);
		break;
	case 1:
		resize(t, at, n, NULL, 0);
		break;
	case 2:
		resize(t, at, 0, junk, 1 + (size_t)model_rnd(m) % sizeof(junk));
		break;
	case 3:
		memcpy(junk, t->bytes + at, n);
		resize(t, at, 0, junk, n);
		break;
	case 4:
		resize(t, at, t->size - at, NULL, 0);
		break;
	case 5:
		memset(t->bytes + at, 0, n);
		break;
	default:
		memcpy(t->bytes + at, junk, n);
	}
}

/*
 * Returns 1 when they part at a compressed return: they do not agree on what a
 * call leaves on the stack with which the trace goes off, and no trace that is
 * whole depends on it.
 */
static unsigned
compare_engines(struct trial *t, const struct told *a, const struct told *b)
{
	uint64_t last = HT_INSN_OTHER;
	size_t i = 0, k = 0, n = 0;
	const struct told_item *x, *y;

	for (; (x = next_insn(a, &i, a->first_gap)) && (y = next_insn(b, &k, b->first_gap)); n++) {
		if (last == HT_INSN_RET && x->a != y->a)
			return 1;
		last = x->insn;
		/* In 32-bit code one keeps the upper half of a target that is damaged. */
		if (x->a == y->a && x->insn == HT_INSN_RET && y->insn == HT_INSN_RET)
			continue;
		if (x->a != y->a || x->insn != y->insn || (x->branch && y->branch && x->b && y->b && (uint32_t)x->b != (uint32_t)y->b))
			fail_msg("seed %llu, damaged: instruction %zu: libipt %llx -> %llx, native %llx -> %llx",
			         (unsigned long long)t->seed, n, (unsigned long long)x->a, (unsigned long long)x->b,
			         (unsigned long long)y->a, (unsigned long long)y->b);
	}
	return 0;
}

static void
dump(const struct trial *t)
{
	const char *path = getenv("HT_DAMAGE_DUMP");
	FILE *f = path ? fopen(path, "wb") : NULL;

	if (!f)
		return;
	fwrite(t->bytes, 1, t->size, f);
	fclose(f);
}

static void
try(uint64_t first, uint64_t last, int circles)
{
	const char *one = getenv("HT_DAMAGE_SEED");
	int reference = ht_engine_can(engines[0], HT_SOURCE_INTEL_PT);
	struct model_options o;
	unsigned parted = 0;
	struct told told[2];
	struct trial *t;

	for (uint64_t seed = first; seed <= last; seed++) {
		if (one && seed != strtoull(one, NULL, 0))
			continue;
		model_options(seed, &o);
		o.insns = 600;
		o.patch = 0;
		if (circles) {
			o.step = o.circles = 1;
			o.ptw = o.tsx = o.power = o.kernel = o.filter = 0;
		}
		if (o.psb_bytes > 512)
			o.psb_bytes = 512;
		t = trial_new(seed, &o);
		trial_take(t, 0, t->m->trace.n);
		for (unsigned n = 1 + (unsigned)(model_rnd(t->m) % 3); n > 0; n--)
			damage(t);
		dump(t);
		alarm(300); /* neither engine may hang */
		memset(&told[0], 0, sizeof(told[0]));
		if (reference)
			trial_decode(t, engines[0], &told[0]);
		trial_decode(t, engines[1], &told[1]);
		alarm(0);
		if (reference && !known_difference(t->bytes, t->size))
			parted += compare_engines(t, &told[0], &told[1]);
		told_free(&told[0]);
		told_free(&told[1]);
		trial_free(t);
	}
	assert_true(parted <= 2 + (last - first) / 1000);
}

/* -- short cuts ------------------------------------------------------------------- */

/* What one decode comes to: in order, and as a sum that counts have too. */
struct sum {
	uint64_t ordered, edges, branches, insns, gaps, skipped;
};

static uint64_t
edge_value(uint64_t from, uint64_t to, unsigned flags)
{
	uint64_t v = (from * 0x9e3779b97f4a7c15ull) ^ (to * 0xff51afd7ed558ccdull);

	return v ^ (flags & (HT_BR_TAKEN | HT_BR_TRACE_OFF));
}

static struct ht_decoder *
sum_decoder(struct ht_session *s, unsigned want)
{
	struct ht_decoder_config config = { .size = sizeof(config), .engine = "native",
		                            .want = want };
	struct ht_decoder *d;

	assert_int_equal(ht_decoder_new(s, 0, &config, &d, NULL), 0);
	return d;
}

static void
sum_up(const struct ht_decoder *d, struct sum *sum)
{
	const struct ht_decoder_stats *stats = ht_decoder_stats(d);

	sum->branches = stats->branches;
	sum->insns = stats->instructions;
	sum->gaps = stats->gaps;
	sum->skipped = stats->bytes_skipped;
}

static void
sum_events(struct ht_session *s, unsigned want, struct sum *sum)
{
	struct ht_decoder *d = sum_decoder(s, want);
	static struct ht_event ev[HT_BATCH];
	int n;

	*sum = (struct sum){ 0 };
	while ((n = ht_decoder_next(d, ev, HT_BATCH)) > 0)
		for (int i = 0; i < n; i++) {
			unsigned kind = ev[i].kind, flags = kind == HT_EV_BRANCH ? ev[i].flags : 0;
			uint64_t v = edge_value(ev[i].a, ev[i].b, flags);

			if (kind == HT_EV_BRANCH)
				sum->edges += v;
			if (kind == HT_EV_BRANCH || kind == HT_EV_BLOCK || kind == HT_EV_GAP)
				sum->ordered = sum->ordered * 31 + v + ev[i].n;
		}
	assert_int_equal(n, 0);
	sum_up(d, sum);
	ht_decoder_free(d);
}

static void
sum_counts(struct ht_session *s, struct sum *sum)
{
	struct ht_decoder *d = sum_decoder(s, 0);
	struct ht_counts c;
	int rc;

	*sum = (struct sum){ 0 };
	while ((rc = ht_decoder_count(d, &c)) > 0) {
		for (size_t i = 0; i < c.n_edges; i++) {
			const struct ht_edge *e = &c.edges[i];

			sum->edges += e->count * edge_value(e->from, e->to, e->flags);
		}
		ht_counts_free(&c);
	}
	assert_int_equal(rc, 0);
	sum_up(d, sum);
	ht_decoder_free(d);
}

static void
check_sum(const struct trial *t, const char *what, const struct sum *want, const struct sum *got)
{
	if (!memcmp(got, want, sizeof(*got)))
		return;
	fail_msg("seed %llu, %s: %llu branches, %llu instructions, %llu gaps of %llu bytes "
	         "instead of %llu, %llu, %llu of %llu", (unsigned long long)t->seed, what,
	         (unsigned long long)got->branches, (unsigned long long)got->insns,
	         (unsigned long long)got->gaps, (unsigned long long)got->skipped,
	         (unsigned long long)want->branches, (unsigned long long)want->insns,
	         (unsigned long long)want->gaps, (unsigned long long)want->skipped);
}

/* The whole trace twice, and the damaged one behind it. */
static void
repeat(struct trial *t)
{
	size_t n = t->m->trace.n;

	resize(t, 0, 0, t->m->trace.at, n);
	resize(t, 0, 0, t->m->trace.at, n);
}

/*
 * With times wanted, packets are taken one by one; without, the native engine
 * does again what it did before where the trace looks the same.  Both must come
 * to the same, on a damaged trace too whose whole one is known already.
 */
static void
test_what_came_before(void **state)
{
	struct sum want, got;
	struct ht_session *s;
	struct trial *t;

	(void)state;
	for (uint64_t seed = 200001; seed <= 200800 + more(); seed++) {
		struct model_options o;

		model_options(seed, &o);
		o.insns = 1500;
		o.patch = o.ovf = 0;
		o.cyc = o.mtc = o.tsc = 0; /* these lead to the packet reader */
		o.compress = seed % 2;
		t = trial_new(seed, &o);
		trial_take(t, 0, t->m->trace.n);
		damage(t);
		repeat(t);
		model_fake(t->m, &t->fake, 0);
		fake_trace(&t->fake, 1, 1, t->bytes, t->size);
		s = fake_session(&t->fake, NULL);
		sum_events(s, HT_DECODE_ALL, &want);
		sum_events(s, HT_DECODE_BRANCHES | HT_DECODE_BLOCKS, &got);
		check_sum(t, "events", &want, &got);
		sum_counts(s, &got);
		want.ordered = 0;
		check_sum(t, "counts", &want, &got);
		ht_session_close(s);
		trial_free(t);
	}
}

static void
test_damage(void **state)
{
	(void)state;
	try(1, 1500 + more(), 0);
}

/* Loops of direct jumps alone, in which a decoder could walk for ever. */
static void
test_damage_near_circles(void **state)
{
	(void)state;
	try(100001, 100400 + more() / 10, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_prefix),
		cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_cuts_between_calls_and_returns),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_damage_near_circles),
		cmocka_unit_test(test_what_came_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
