/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What random programs executed, against what both engines decode and what the
 * native one counts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <hwtrace/flow.h>

#include "decode/insn/x86.h"
#include "random_program.h"
#include "session/fake.h"

struct edge_list { struct ht_edge *at; size_t n, cap; };

static int
order(const void *x, const void *y)
{
	const struct ht_edge *a = x, *b = y;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	return (int)a->flags - (int)b->flags;
}

static size_t
merge(struct ht_edge *e, size_t n)
{
	size_t k = 0;

	qsort(e, n, sizeof(*e), order);
	for (size_t i = 0; i < n; i++)
		if (k && order(&e[k - 1], &e[i]) == 0)
			e[k - 1].count++;
		else
			e[k++] = e[i];
	return k;
}

static void
fail_at(uint64_t seed, const char *what, size_t at, uint64_t want, uint64_t got)
{
	fail_msg("seed %llu: %s %zu: %llx ran, %llx decoded", (unsigned long long)seed, what, at,
	         (unsigned long long)want, (unsigned long long)got);
}

/* Instructions of a BLOCK event against what ran. */
static size_t
check_block(const struct rp *rp, uint64_t seed, size_t at, const struct ht_event *ev)
{
	uint64_t ip = ev->a;
	struct ht_x86_insn x;

	for (uint32_t k = 0; k < ev->n; k++) {
		if (at >= rp->n_ran || rp->ran[at] != ip)
			fail_at(seed, "instruction", at, at < rp->n_ran ? rp->ran[at] : 0, ip);
		if (k + 1 == ev->n)
			assert_int_equal(ip, ev->b);
		assert_true(ht_x86_decode(rp->code + (ip - RP_BASE), 15, ip, 64, &x) > 0);
		ip += x.size;
		at++;
	}
	return at;
}

static struct ht_decoder *
open_decoder(struct ht_session *s, const char *engine)
{
	struct ht_decoder_config config = { .size = sizeof(config), .engine = engine };
	struct ht_decoder *d;

	assert_int_equal(ht_decoder_new(s, 0, &config, &d, NULL), 0);
	return d;
}

static void
check_events(const struct rp *rp, struct ht_session *s, uint64_t seed, const char *engine, int batch,
             struct edge_list *edges)
{
	struct ht_decoder *d = open_decoder(s, engine);
	static struct ht_event ev[HT_BATCH];
	size_t at = 0;
	int n;

	edges->n = 0;
	while ((n = ht_decoder_next(d, ev, batch)) > 0)
		for (int i = 0; i < n; i++) {
			assert_int_not_equal(ev[i].kind, HT_EV_GAP);
			if (ev[i].kind == HT_EV_BLOCK)
				at = check_block(rp, seed, at, &ev[i]);
			if (ev[i].kind != HT_EV_BRANCH)
				continue;
			if (edges->n == edges->cap) {
				edges->cap = edges->cap * 2 + 1024;
				edges->at = realloc(edges->at, edges->cap * sizeof(*edges->at));
			}
			edges->at[edges->n++] = (struct ht_edge){ .from = ev[i].a, .to = ev[i].b, .count = 1,
				.insn = ev[i].insn, .flags = ev[i].flags };
		}
	assert_int_equal(n, 0);
	if (at != rp->n_ran)
		fail_at(seed, engine, at, rp->n_ran, at);
	assert_int_equal(ht_decoder_stats(d)->instructions, rp->n_ran);
	assert_int_equal(ht_decoder_stats(d)->branches, rp->branches);
	assert_int_equal(ht_decoder_stats(d)->bytes_decoded, rp->trace_size);
	assert_int_equal(edges->n, rp->branches);
	ht_decoder_free(d);
}

static void
check_counts(const struct rp *rp, struct ht_session *s, struct edge_list *edges)
{
	struct ht_decoder *d = open_decoder(s, "native");
	struct ht_counts c;
	uint64_t insns = 0;
	size_t n = merge(edges->at, edges->n);

	assert_int_equal(ht_decoder_count(d, &c), 1);
	assert_int_equal(c.n_edges, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(c.edges[i].from, edges->at[i].from);
		assert_int_equal(c.edges[i].to, edges->at[i].to);
		assert_int_equal(c.edges[i].count, edges->at[i].count);
		assert_int_equal(c.edges[i].insn, edges->at[i].insn);
		assert_int_equal(c.edges[i].flags, edges->at[i].flags);
	}
	for (size_t i = 0; i < c.n_runs; i++)
		insns += c.runs[i].count * c.runs[i].insns;
	assert_int_equal(insns, rp->n_ran);
	ht_counts_free(&c);
	assert_int_equal(ht_decoder_count(d, &c), 0);
	assert_int_equal(ht_decoder_stats(d)->branches, rp->branches);
	assert_int_equal(ht_decoder_stats(d)->gaps, 0);
	ht_decoder_free(d);
}

static void
check(uint64_t seed, const struct rp_options *o, int reference)
{
	struct rp *rp = malloc(sizeof(*rp));
	struct fake *fake = calloc(1, sizeof(*fake));
	struct edge_list edges = { 0 };
	struct ht_session *s;
	size_t cut;

	rp_make(rp, seed, o);
	cut = rp->trace_size / 3;
	fake_init(fake);
	fake_code(fake, 0, 1, RP_BASE, rp->code, (uint32_t)rp->code_size);
	fake_trace(fake, 1, 1, rp->trace, cut);
	fake_trace(fake, 1, 1, rp->trace + cut, 3);
	fake_trace(fake, 1, 1, rp->trace + cut + 3, rp->trace_size - cut - 3);
	s = fake_session(fake, NULL);
	if (reference && ht_engine_can("libipt", HT_SOURCE_INTEL_PT))
		check_events(rp, s, seed, "libipt", HT_BATCH, &edges);
	check_events(rp, s, seed, "native", 64, &edges);
	check_events(rp, s, seed, "native", HT_BATCH, &edges);
	check_counts(rp, s, &edges);
	ht_session_close(s);
	free(edges.at);
	free(fake);
	rp_free(rp);
	free(rp);
}

static void
test_plain(void **state)
{
	const struct rp_options o = { .blocks = 20000 };

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++)
		check(seed, &o, seed % 4 == 0);
}

static void
test_return_compression(void **state)
{
	const struct rp_options o = { .blocks = 20000, .compress = 1, .psb_bytes = 3000 };

	(void)state;
	for (uint64_t seed = 101; seed <= 130; seed++)
		check(seed, &o, seed % 4 == 0);
}

static void
test_long_packets_and_deferred_targets(void **state)
{
	const struct rp_options o = { .blocks = 20000, .compress = 1, .long_tnt = 1, .psb_bytes = 2000,
		                      .full_ip = 5 };

	(void)state;
	for (uint64_t seed = 201; seed <= 230; seed++)
		check(seed, &o, seed % 4 == 0);
}

static void
test_interrupts(void **state)
{
	const struct rp_options o = { .blocks = 8000, .compress = 1, .async = 7, .psb_bytes = 256, .pad = 4,
		                      .cyc = 1 };
	const struct rp_options every = { .blocks = 3000, .async = 1, .long_tnt = 1, .psb_bytes = 256 };

	(void)state;
	for (uint64_t seed = 301; seed <= 330; seed++) {
		check(seed, &o, seed % 4 == 0);
		check(seed, &every, seed % 4 == 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_return_compression),
		cmocka_unit_test(test_long_packets_and_deferred_targets),
		cmocka_unit_test(test_interrupts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
