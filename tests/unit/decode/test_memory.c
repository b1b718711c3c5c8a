/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A long trace needs no more memory than a short one of the same code.  The
 * stream is one trace again and again: its chunks are the same bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <hwtrace/flow.h>

#include "encode/pt.h"
#include "random_program.h"
#include "session/fake.h"

#define LONG_BYTES (24ull << 20)

/* Anonymous memory of this process in kB. */
static long
anonymous(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long kb = -1;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "RssAnon: %ld", &kb) == 1)
			break;
	if (f)
		fclose(f);
	assert_true(kb > 0);
	return kb;
}

struct job {
	struct rp         *rp;
	uint8_t           *trace;  /* of the program, which ends as tracing goes off; and on at its begin */
	size_t             size;
	struct fake       *fake;
	struct ht_chunk   *chunks;
	struct ht_session *s;
	struct ht_decoder *d;
	uint32_t           times;
};

static void
begin(struct job *j, uint64_t bytes)
{
	const struct rp_options o = { .blocks = 40000, .compress = 1, .psb_bytes = 4000, .cyc = 1, .async = 50 };
	uint8_t *p;

	j->rp = calloc(1, sizeof(*j->rp));
	j->fake = calloc(1, sizeof(*j->fake));
	rp_make(j->rp, 7, &o);
	j->trace = malloc(j->rp->trace_size + HT_PT_PACKET_MAX);
	memcpy(j->trace, j->rp->trace, j->rp->trace_size);
	p = ht_pt_ip(j->trace + j->rp->trace_size, HT_PT_TIP_PGE, j->rp->ran[0], HT_PT_NO_BASE);
	j->size = (size_t)(p - j->trace);
	fake_init(j->fake);
	fake_code(j->fake, 0, 1, RP_BASE, j->rp->code, (uint32_t)j->rp->code_size);
	fake_trace(j->fake, 1, 1, j->trace, j->size);
	j->times = (uint32_t)(bytes / j->size) + 1;
	j->chunks = calloc(j->times, sizeof(*j->chunks));
	for (uint32_t i = 0; i < j->times; i++) {
		j->chunks[i] = j->fake->chunks[0];
		j->chunks[i].stream_offset = (uint64_t)i * j->size;
	}
	j->fake->stream.chunks = j->chunks;
	j->fake->stream.n_chunks = j->times;
	j->fake->stream.bytes = j->times * (uint64_t)j->size;
	j->s = fake_session(j->fake, NULL);
	assert_int_equal(ht_decoder_new(j->s, 0, NULL, &j->d, NULL), 0);
}

static void
end(struct job *j)
{
	ht_decoder_free(j->d);
	ht_session_close(j->s);
	free(j->chunks);
	free(j->trace);
	free(j->fake);
	rp_free(j->rp);
	free(j->rp);
}

static uint64_t
count(struct job *j)
{
	struct ht_counts counts = { 0 };

	assert_int_equal(ht_decoder_count(j->d, &counts), 1);
	ht_counts_free(&counts);
	assert_int_equal(ht_decoder_stats(j->d)->gaps, 0);
	return ht_decoder_stats(j->d)->instructions;
}

/* Instructions of the trace once. */
static uint64_t
once(void)
{
	struct job j;
	uint64_t n;

	begin(&j, 0);
	n = count(&j);
	assert_int_equal(n, j.rp->n_ran);
	end(&j);
	return n;
}

static void
test_events(void **state)
{
	static struct ht_event ev[HT_BATCH];
	const struct ht_decoder_stats *st;
	struct job j;
	long early = 0;
	int n;

	(void)state;
	begin(&j, LONG_BYTES);
	st = ht_decoder_stats(j.d);
	while ((n = ht_decoder_next(j.d, ev, HT_BATCH)) > 0)
		if (!early && st->bytes_decoded > LONG_BYTES / 50)
			early = anonymous();
	assert_int_equal(n, 0);
	assert_true(early > 0);
	print_message("%ld kB after a fiftieth, %ld kB at the end\n", early, anonymous());
	assert_true(anonymous() <= early + early / 10);
	assert_int_equal(st->gaps, 0);
	assert_int_equal(st->instructions, j.times * once());
	end(&j);
}

static void
test_counts(void **state)
{
	uint64_t want = once();
	struct job j;
	long before, more[2];

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		begin(&j, i ? LONG_BYTES : LONG_BYTES / 50);
		before = anonymous();
		assert_int_equal(count(&j), j.times * want);
		more[i] = anonymous() - before;
		end(&j);
	}
	print_message("%ld kB for a fiftieth, %ld kB for the whole\n", more[0], more[1]);
	assert_true(more[1] <= more[0] + 512);
}

/* A trace that is all losses: their number is not what memory is for. */
static void
test_gaps(void **state)
{
	static struct ht_event ev[HT_BATCH];
	static uint8_t trace[1 << 16];
	static struct ht_chunk chunks[LONG_BYTES / sizeof(trace)];
	const uint32_t times = sizeof(chunks) / sizeof(*chunks);
	struct fake *fake = calloc(1, sizeof(*fake));
	uint64_t each = 0, told = 0;
	uint8_t *p = trace;
	struct ht_session *s;
	struct ht_decoder *d;
	long early = 0;
	int n;

	(void)state;
	p = ht_pt_psb(p);
	p = ht_pt_psbend(p);
	for (; p + 16 <= trace + sizeof(trace); each++)
		p = ht_pt_ip(ht_pt_ovf(p), HT_PT_FUP, RP_BASE, HT_PT_NO_BASE);
	fake_init(fake);
	fake_code(fake, 0, 1, RP_BASE, (const uint8_t[]){ 0x90, 0xc3 }, 2);
	fake_trace(fake, 1, 1, trace, (size_t)(p - trace));
	for (uint32_t i = 0; i < times; i++) {
		chunks[i] = fake->chunks[0];
		chunks[i].stream_offset = i * chunks[i].size;
	}
	fake->stream.chunks = chunks;
	fake->stream.n_chunks = times;
	fake->stream.bytes = times * (uint64_t)(p - trace);
	s = fake_session(fake, NULL);
	assert_int_equal(ht_decoder_new(s, 0, NULL, &d, NULL), 0);
	while ((n = ht_decoder_next(d, ev, HT_BATCH)) > 0) {
		for (int i = 0; i < n; i++) {
			const struct ht_gap *gap = ev[i].kind == HT_EV_GAP ? ht_decoder_gap(d, ev[i].n) : NULL;

			if (ev[i].kind != HT_EV_GAP)
				continue;
			assert_non_null(gap);
			assert_int_equal(gap->offset, ev[i].a);
			told++;
		}
		if (!early && told > 10000)
			early = anonymous();
	}
	assert_int_equal(n, 0);
	assert_int_equal(told, times * each);
	assert_int_equal(ht_decoder_stats(d)->gaps, told);
	assert_null(ht_decoder_gap(d, 0));
	assert_non_null(ht_decoder_gap(d, (uint32_t)told - 1));
	assert_null(ht_decoder_gap(d, (uint32_t)told));
	print_message("%ld kB at 10000 gaps, %ld kB at %llu\n", early, anonymous(), (unsigned long long)told);
	assert_true(anonymous() <= early + early / 10);
	ht_decoder_free(d);
	ht_session_close(s);
	free(fake);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_gaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
