/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams of perf.data: which bytes belong to whom, in what order, and what was lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <linux/perf_event.h>

#include "container/perf_build.h"

#define NONE UINT32_MAX

static const struct pb_attr attr[1] = { { .type = 8,
	                                  .config = 0x2401,
	                                  .id = 5,
	                                  .sample_id_all = 1,
	                                  .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
	                                                 PERF_SAMPLE_CPU |
	                                                 PERF_SAMPLE_IDENTIFIER } };
static const uint64_t words[18] = { 8, 10, 512, 0, 1, 1 << 10, 1 << 11 };
static const uint8_t bytes[64] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.,";

/* What a test builds, and the container that reads it. */
struct capture {
	struct pb      b;
	struct pb_open o;
	int            open;
};

static int
setup(void **state)
{
	static struct capture x;

	x = (struct capture){ 0 };
	*state = &x;
	return 0;
}

static void
end(struct capture *x)
{
	if (x->open)
		pb_close(&x->o);
	x->open = 0;
	pb_free(&x->b);
}

static int
teardown(void **state)
{
	end(*state);
	return 0;
}

static void
begin(struct pb *b)
{
	pb_begin(b, attr, 1);
	pb_auxtrace_info(b, 1, words, 18);
}

/* What was built is read, and has so many streams: the first of them, if there is one. */
static const struct ht_stream *
finish(struct capture *x, uint32_t n_streams)
{
	pb_finish(&x->b);
	pb_open(&x->o, x->b.at, x->b.n);
	x->open = 1;
	assert_int_equal(x->o.rc, 0);
	assert_int_equal(ht_container_stream_count(x->o.c), n_streams);
	assert_null(ht_container_stream(x->o.c, n_streams));
	return ht_container_stream(x->o.c, 0);
}

static void
aux(struct pb *b, uint32_t tid, uint32_t cpu, uint64_t offset, uint64_t size, uint64_t flags)
{
	const struct pb_id id = {
		.pid = tid == NONE ? NONE : 100, .tid = tid, .time = 5, .id = 5, .cpu = cpu
	};

	pb_aux(b, 0, &id, offset, size, flags);
}

static void
expect_chunk(const struct ht_stream *s, uint32_t i, uint64_t offset, const char *data, int lost)
{
	assert_true(i < s->n_chunks);
	assert_int_equal(s->chunks[i].stream_offset, offset);
	assert_int_equal(s->chunks[i].size, strlen(data));
	if (*data)
		assert_memory_equal(s->chunks[i].data, data, strlen(data));
	assert_int_equal(s->chunks[i].lost_before, lost);
}

static void
test_per_thread(void **state)
{
	struct capture *x = *state;
	struct pb *b = &x->b;
	const struct ht_stream *s;

	begin(b);
	aux(b, 101, 0, 0, 8, 0);
	pb_auxtrace(b, 0, 101, NONE, 0, bytes, 8);
	aux(b, 102, 0, 0, 8, 0);
	pb_auxtrace(b, 1, 102, NONE, 0, bytes + 10, 8);
	aux(b, 101, 0, 8, 8, 0);
	pb_auxtrace(b, 0, 101, NONE, 8, bytes + 20, 8);
	finish(x, 2);
	assert_int_equal(ht_container_info(x->o.c)->per_cpu, 0);
	s = ht_container_stream(x->o.c, 0);
	assert_int_equal(s->index, 0);
	assert_int_equal(s->source, HT_SOURCE_INTEL_PT);
	assert_int_equal(s->pid, 100);
	assert_int_equal(s->tid, 101);
	assert_int_equal(s->cpu, -1);
	assert_int_equal(s->bytes, 16);
	assert_int_equal(s->n_chunks, 2);
	expect_chunk(s, 0, 0, "01234567", 0);
	expect_chunk(s, 1, 8, "klmnopqr", 0);
	assert_int_equal(s->chunks[0].ref, 0x1234);
	assert_memory_equal(b->at + s->chunks[1].file_offset, "klmnopqr", 8);
	s = ht_container_stream(x->o.c, 1);
	assert_int_equal(s->tid, 102);
	assert_int_equal(s->n_chunks, 1);
	expect_chunk(s, 0, 0, "abcdefgh", 0);
}

static void
test_per_cpu(void **state)
{
	struct capture *x = *state;
	struct pb *b = &x->b;

	begin(b);
	pb_auxtrace(b, 3, 101, 7, 0, bytes, 8);
	pb_auxtrace(b, 1, 101, 5, 0, bytes + 8, 4);
	finish(x, 2);
	assert_int_equal(ht_container_info(x->o.c)->per_cpu, 1);
	assert_int_equal(ht_container_stream(x->o.c, 0)->cpu, 7);
	assert_int_equal(ht_container_stream(x->o.c, 0)->tid, -1);
	assert_int_equal(ht_container_stream(x->o.c, 1)->cpu, 5);
}

static void
test_gap_in_offsets(void **state)
{
	struct capture *x = *state;
	struct pb *b = &x->b;
	const struct ht_stream *s;

	begin(b);
	pb_auxtrace(b, 0, 101, NONE, 16, bytes, 4);     /* the beginning is missing */
	pb_auxtrace(b, 0, 101, NONE, 20, bytes + 4, 4);
	pb_auxtrace(b, 0, 101, NONE, 100, bytes + 8, 4); /* a hole */
	pb_auxtrace(b, 0, 101, NONE, 50, bytes + 12, 4); /* going back: never before what was */
	pb_auxtrace(b, 0, 101, NONE, UINT64_MAX - 1, bytes + 16, 4);
	s = finish(x, 1);
	assert_int_equal(s->n_chunks, 5);
	expect_chunk(s, 0, 16, "0123", 1);
	expect_chunk(s, 1, 20, "4567", 0);
	expect_chunk(s, 2, 100, "89ab", 1);
	expect_chunk(s, 3, 104, "cdef", 1);
	expect_chunk(s, 4, 108, "ghij", 1);
}

/* One AUXTRACE may bring the bytes of several AUX records; the loss is where the AUX record says.
 */
static void
test_truncated_inside(void **state)
{
	struct capture *x = *state;
	struct pb *b = &x->b;
	const struct ht_stream *s;

	begin(b);
	aux(b, 101, 0, 0, 4, PERF_AUX_FLAG_TRUNCATED);
	aux(b, 101, 0, 4, 6, 0);
	aux(b, 101, 0, 10, 6, PERF_AUX_FLAG_PARTIAL); /* gaps somewhere in it */
	pb_auxtrace(b, 0, 101, NONE, 0, bytes, 16);
	aux(b, 101, 0, 16, 8, PERF_AUX_FLAG_TRUNCATED); /* exactly at the end of a chunk */
	pb_auxtrace(b, 0, 101, NONE, 16, bytes + 16, 8);
	pb_auxtrace(b, 0, 101, NONE, 24, bytes + 24, 8);
	s = finish(x, 1);
	assert_int_equal(s->n_chunks, 5);
	expect_chunk(s, 0, 0, "0123", 0);
	expect_chunk(s, 1, 4, "456789", HT_LOST_TRUNCATED);
	expect_chunk(s, 2, 10, "abcdef", 1);
	expect_chunk(s, 3, 16, "ghijklmn", 0);
	expect_chunk(s, 4, 24, "opqrstuv", HT_LOST_TRUNCATED);
	assert_memory_equal(b->at + s->chunks[2].file_offset, "abcdef", 6);
	assert_int_equal(s->bytes, 32);
}

static void
test_truncated_at_end(void **state)
{
	struct capture *x = *state;
	struct pb *b = &x->b;
	const struct ht_stream *s;

	begin(b);
	aux(b, 101, 0, 0, 8, PERF_AUX_FLAG_TRUNCATED);
	pb_auxtrace(b, 0, 101, NONE, 0, bytes, 8);
	s = finish(x, 1);
	assert_int_equal(s->n_chunks, 2);
	expect_chunk(s, 0, 0, "01234567", 0);
	expect_chunk(s, 1, 8, "", HT_LOST_TRUNCATED);
	assert_int_equal(s->bytes, 8);
}

/* AUX says that bytes were written, no AUXTRACE brings them. */
static void
test_aux_without_bytes(void **state)
{
	struct capture *x = *state;
	struct pb *b = &x->b;
	const struct ht_stream *s;

	begin(b);
	aux(b, 101, 0, 0, 8, 0);
	pb_auxtrace(b, 0, 101, NONE, 0, bytes, 8);
	aux(b, 101, 0, 8, 100, 0);
	aux(b, 103, 0, 0, 0, 0);
	aux(b, 103, 0, 0, 100, 0); /* a thread of which there is nothing at all */
	aux(b, 103, 0, 100, 100, 0);
	aux(b, 104, 0, 0, 0, 0);   /* nothing was written: nothing is missing */
	s = finish(x, 2);
	assert_int_equal(s->n_chunks, 2);
	expect_chunk(s, 1, 8, "", 1);
	s = ht_container_stream(x->o.c, 1);
	assert_int_equal(s->tid, 103);
	assert_int_equal(s->pid, 100);
	assert_int_equal(s->bytes, 0);
	assert_int_equal(s->n_chunks, 1);
	expect_chunk(s, 0, 0, "", 1);
}

/* A thread that calls exec has two streams under one tid: each loss belongs to one of them. */
static void
test_two_streams_of_a_thread(void **state)
{
	struct capture *x = *state;
	struct pb *b = &x->b;
	const struct ht_stream *s;

	begin(b);
	aux(b, 101, 0, 0, 8, 0);
	pb_auxtrace(b, 0, 101, NONE, 0, bytes, 8);
	aux(b, 101, 0, 40, 0,
	    PERF_AUX_FLAG_TRUNCATED); /* the second one's beginning was overwritten */
	aux(b, 101, 0, 40, 16, 0);
	pb_auxtrace(b, 1, 101, NONE, 40, bytes, 16);
	aux(b, 101, 0, 56, 0, PERF_AUX_FLAG_TRUNCATED); /* and its end */
	s = finish(x, 2);
	assert_int_equal(s->n_chunks, 1);
	expect_chunk(s, 0, 0, "01234567", 0);
	s = ht_container_stream(x->o.c, 1);
	assert_int_equal(s->n_chunks, 2);
	expect_chunk(s, 0, 40, "0123456789abcdef", 1);
	expect_chunk(s, 1, 56, "", HT_LOST_TRUNCATED);
}

/* In a snapshot the AUX records speak of a ring that was overwritten many times. */
static void
test_snapshot(void **state)
{
	struct capture *x = *state;
	struct pb *b = &x->b;
	const struct ht_stream *s;

	begin(b);
	for (int i = 0; i < 9; i++)
		aux(b, 101, 0, (uint64_t)i * 4096, 4096, PERF_AUX_FLAG_OVERWRITE);
	pb_auxtrace(b, 0, 101, NONE, 4096, bytes, 8);
	aux(b, 102, 0, 0, 4096, PERF_AUX_FLAG_OVERWRITE); /* no snapshot was taken of this one */
	s = finish(x, 1);
	assert_int_equal(s->n_chunks, 1);
	expect_chunk(s, 0, 4096, "01234567", 1);
}

#define PSB "\2\x82\2\x82\2\x82\2\x82\2\x82\2\x82\2\x82\2\x82"

/* Trace of 400 bytes that never repeats, with a PSB at 0, 100, 200 and 300. */
static void
make_trace(uint8_t out[400])
{
	uint32_t seed = 7;

	for (unsigned i = 0; i < 400; i++) {
		seed = seed * 1103515245 + 12345;
		out[i] = (uint8_t)(seed >> 16);
	}
	for (unsigned i = 0; i < 400; i += 100)
		memcpy(out + i, PSB, 16);
}

struct part { unsigned from, to; };

/* Parts of the trace as snapshots (-S) or with samples; `want`: chunks, a '|' in front of those with a loss. */
static void
expect_stitched(const struct part *parts, unsigned n, int sampled, const struct part *chunks, unsigned n_chunks,
                const char *lost)
{
	struct capture x0 = { 0 }, *x = &x0;
	struct pb *b = &x->b;
	static const struct pb_attr with_aux = { .type = 8, .id = 5, .sample_id_all = 1,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_CPU | PERF_SAMPLE_AUX };
	uint64_t info[18];
	uint8_t trace[400];
	const struct ht_stream *s;
	uint64_t sum = 0;

	make_trace(trace);
	memcpy(info, words, sizeof(info));
	info[8] = !sampled; /* snapshot mode */
	pb_begin(b, sampled ? &with_aux : attr, 1);
	pb_auxtrace_info(b, 1, info, 18);
	for (unsigned i = 0; i < n; i++) {
		unsigned size = parts[i].to - parts[i].from;

		if (!sampled) {
			pb_auxtrace(b, 0, 101, NONE, 4096, trace + parts[i].from, size);
			continue;
		}
		pb_record(b, PERF_RECORD_SAMPLE, 0);
		pb_u64(b, 101ull << 32 | 100);
		pb_u64(b, 3);
		pb_u64(b, size);
		pb_bytes(b, trace + parts[i].from, size);
		pb_end(b, 0, NULL);
	}
	s = finish(x, 1);
	assert_int_equal(s->source, HT_SOURCE_INTEL_PT);
	assert_int_equal(s->cpu, sampled ? 3 : -1);
	assert_int_equal(s->n_chunks, n_chunks);
	for (unsigned i = 0; i < n_chunks; i++) {
		unsigned size = chunks[i].to - chunks[i].from;

		assert_int_equal(s->chunks[i].size, size);
		assert_memory_equal(s->chunks[i].data, trace + chunks[i].from, size);
		assert_memory_equal(x->o.block + s->chunks[i].file_offset, s->chunks[i].data, size);
		assert_int_equal(s->chunks[i].lost_before, i || !sampled ? lost[i] == '|' : 0);
		sum += size;
	}
	assert_int_equal(s->bytes, sum);
	end(x);
}

/* What two snapshots have in common comes once; where they do not meet something is lost. */
static void
test_stitched(void **state)
{
	static const struct part twice[] = { { 0, 240 }, { 80, 360 } }, once[] = { { 0, 240 }, { 240, 360 } };
	static const struct part apart[] = { { 0, 150 }, { 200, 400 } };
	static const struct part same[] = { { 0, 240 }, { 0, 240 }, { 100, 240 }, { 100, 400 } };
	static const struct part same_want[] = { { 0, 240 }, { 240, 400 } };

	(void)state;
	for (int sampled = 0; sampled < 2; sampled++) {
		expect_stitched(twice, 2, sampled, once, 2, "| ");
		expect_stitched(apart, 2, sampled, apart, 2, "||");
		expect_stitched(same, 4, sampled, same_want, 2, "| ");
	}
}

/* The same bytes twice: which of them are the ones is not known, so nothing is taken away. */
static void
test_not_clear(void **state)
{
	struct capture *x = *state;
	struct pb *b = &x->b;
	static uint8_t trace[600];
	uint64_t info[18];
	const struct ht_stream *s;

	memset(trace, 6, sizeof(trace));
	memcpy(info, words, sizeof(info));
	info[8] = 1;
	pb_begin(b, attr, 1);
	pb_auxtrace_info(b, 1, info, 18);
	pb_auxtrace(b, 0, 101, NONE, 0, trace, 200);
	pb_auxtrace(b, 0, 101, NONE, 4096, trace, 600);
	s = finish(x, 1);
	assert_int_equal(s->n_chunks, 2);
	assert_int_equal(s->chunks[1].size, 600);
	assert_int_equal(s->chunks[1].lost_before, 1);
}

/* Each kind of AUX data has its name. */
static void
test_sources(void **state)
{
	struct capture *x = *state;
	struct pb *b = &x->b;
	static const enum ht_trace_source sources[] = { HT_SOURCE_OTHER, HT_SOURCE_INTEL_PT, HT_SOURCE_INTEL_BTS,
		HT_SOURCE_CORESIGHT, HT_SOURCE_ARM_SPE, HT_SOURCE_S390_CPUMSF, HT_SOURCE_HISI_PTT, HT_SOURCE_OTHER };

	for (uint32_t type = 0; type < sizeof(sources) / sizeof(sources[0]); type++) {
		pb_begin(b, attr, 1);
		pb_auxtrace_info(b, type, words, 18);
		pb_auxtrace(b, 0, 101, NONE, 0, bytes, 48);
		finish(x, 1);
		assert_int_equal(ht_container_stream(x->o.c, 0)->source, sources[type]);
		assert_int_equal(ht_container_stream(x->o.c, 0)->gapless, type == 2);
		assert_int_equal(ht_container_info(x->o.c)->clock.mult, type == 1 || type == 2 ? 512 : 0);
		end(x);
	}
}

/* The text stands in place of the words behind its length. */
static void
with_filter(struct capture *x, const char *text, uint64_t size)
{
	struct pb *b = &x->b;
	uint64_t info[18 + 16] = { 0 };

	memcpy(info, words, 17 * sizeof(*info));
	info[16] = size;
	strcpy((char *)&info[17], text);
	pb_begin(b, attr, 1);
	pb_auxtrace_info(b, 1, info, 17 + (unsigned)(strlen(text) + 8) / 8);
	pb_auxtrace(b, 0, 101, NONE, 0, bytes, 48);
	finish(x, 1);
}

static void
test_address_filter(void **state)
{
	static const char two[] = "filter 0x1000/0x200@/bin/ls,filter 0xffffffff81000000/0x1000";
	static const char *const unknown[] = { "tracestop 0x1000/0x200@/bin/ls", "filter 0x1000@/bin/ls",
		"filter 0x1000/0", "filter 0xffffffffffffffff/2", "filter 0x1000/2@", "filter main" };
	struct capture *x = *state;
	const struct ht_capture_info *info;

	with_filter(x, two, (sizeof(two) + 7) & ~7ull);
	info = ht_container_info(x->o.c);
	assert_string_equal(info->filter, two);
	assert_int_equal(info->n_limits, 2);
	assert_int_equal(info->limits[0].kind, HT_LIMIT_FILE);
	assert_int_equal(info->limits[0].start, 0x1000);
	assert_int_equal(info->limits[0].end, 0x1200);
	assert_string_equal(info->limits[0].name, "/bin/ls");
	assert_int_equal(info->limits[1].kind, HT_LIMIT_ADDRESS);
	assert_int_equal(info->limits[1].start, 0xffffffff81000000);
	assert_int_equal(info->limits[1].end, 0xffffffff81001000);
	end(x);
	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++) {
		with_filter(x, unknown[i], (strlen(unknown[i]) + 8) & ~7ull);
		info = ht_container_info(x->o.c);
		assert_string_equal(info->filter, unknown[i]);
		assert_int_equal(info->n_limits, 0);
		end(x);
	}
	/* A length that the record does not have */
	with_filter(x, two, UINT64_MAX);
	assert_int_equal(ht_container_info(x->o.c)->n_limits, 2);
	end(x);
}

/* The file ends inside the bytes of an AUXTRACE record. */
static void
test_cut_in_bytes(void **state)
{
	struct capture *x = *state;
	struct pb *b = &x->b;
	const struct ht_stream *s;

	for (int with_aux = 0; with_aux < 2; with_aux++) {
		begin(b);
		if (with_aux)
			aux(b, 101, 0, 0, 16, 0);
		pb_auxtrace(b, 0, 101, NONE, 0, bytes, 16);
		pb_finish(b);
		pb_open(&x->o, b->at, b->n - 5);
		x->open = 1;
		assert_int_equal(x->o.rc, 0);
		assert_int_equal(ht_container_info(x->o.c)->truncated, 1);
		assert_int_equal(ht_container_info(x->o.c)->truncated_at, b->n - 5);
		s = ht_container_stream(x->o.c, 0);
		assert_int_equal(s->bytes, 11);
		expect_chunk(s, 0, 0, "0123456789a", 0);
		expect_chunk(s, 1, 11, "", 1);
		end(x);
	}
}

/* Many streams, and indexes that are far apart. */
static void
test_many_streams(void **state)
{
	struct capture *x = *state;
	struct pb *b = &x->b;

	begin(b);
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 1000; i++)
			pb_auxtrace(b, i << 22, 5000 + i, NONE, round * 4, bytes + i % 60, 4);
	finish(x, 1000);
	for (uint32_t i = 0; i < 1000; i++) {
		const struct ht_stream *s = ht_container_stream(x->o.c, i);

		assert_int_equal(s->tid, 5000 + i);
		assert_int_equal(s->n_chunks, 2);
		assert_memory_equal(s->chunks[1].data, bytes + i % 60, 4);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_per_thread, setup, teardown),
		cmocka_unit_test_setup_teardown(test_per_cpu, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gap_in_offsets, setup, teardown),
		cmocka_unit_test_setup_teardown(test_truncated_inside, setup, teardown),
		cmocka_unit_test_setup_teardown(test_truncated_at_end, setup, teardown),
		cmocka_unit_test_setup_teardown(test_aux_without_bytes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_two_streams_of_a_thread, setup, teardown),
		cmocka_unit_test_setup_teardown(test_snapshot, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stitched, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_clear, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sources, setup, teardown),
		cmocka_unit_test_setup_teardown(test_address_filter, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cut_in_bytes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_streams, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
