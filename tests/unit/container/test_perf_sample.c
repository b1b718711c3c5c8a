/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples in every layout: what stands in front of a branch stack and of AUX data does not hide them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <linux/perf_event.h>

#include "container/perf_build.h"
#include "container/reader.h"

#define STACK   PERF_SAMPLE_BRANCH_STACK
#define ANY     PERF_SAMPLE_BRANCH_ANY
#define HW_IDX  PERF_SAMPLE_BRANCH_HW_INDEX
#define COUNTER (1u << 19)

/* Fields of variable length in front of and behind the stack, by bit: how each is written. */
struct part {
	uint64_t bit;
	uint64_t words[12];
	unsigned n;
};

/* In the order of the format. */
static const struct part parts[] = {
	{ PERF_SAMPLE_IDENTIFIER, { 5 }, 1 },
	{ PERF_SAMPLE_IP, { 0x401234 }, 1 },
	{ PERF_SAMPLE_TID, { 101ull << 32 | 100 }, 1 },
	{ PERF_SAMPLE_TIME, { 5000 }, 1 },
	{ PERF_SAMPLE_ADDR, { 0xadd7 }, 1 },
	{ PERF_SAMPLE_ID, { 5 }, 1 },
	{ PERF_SAMPLE_STREAM_ID, { 9 }, 1 },
	{ PERF_SAMPLE_CPU, { 3 }, 1 },
	{ PERF_SAMPLE_PERIOD, { 4000 }, 1 },
	{ PERF_SAMPLE_READ, { 2, 11, 12, 1, 5, 0, 2, 6, 0 }, 9 }, /* group of 2: times, value, id, lost */
	{ PERF_SAMPLE_CALLCHAIN, { 3, 0x10, 0x20, 0x30 }, 4 },
	{ PERF_SAMPLE_RAW, { 4ull | 0xabcdull << 32 }, 1 },
	{ STACK, { 0 }, 0 },
	{ PERF_SAMPLE_REGS_USER, { 2, 1, 2, 3 }, 4 },
	{ PERF_SAMPLE_STACK_USER, { 16, 7, 7, 16 }, 4 },
	{ PERF_SAMPLE_WEIGHT, { 1 }, 1 },
	{ PERF_SAMPLE_DATA_SRC, { 2 }, 1 },
	{ PERF_SAMPLE_TRANSACTION, { 3 }, 1 },
	{ PERF_SAMPLE_REGS_INTR, { 2, 4 }, 2 },
	{ PERF_SAMPLE_PHYS_ADDR, { 5 }, 1 },
	{ PERF_SAMPLE_CGROUP, { 6 }, 1 },
	{ PERF_SAMPLE_DATA_PAGE_SIZE, { 4096 }, 1 },
	{ PERF_SAMPLE_CODE_PAGE_SIZE, { 4096 }, 1 },
	{ PERF_SAMPLE_AUX, { 8, 0x0807060504030201 }, 2 },
};

#define N_PARTS (sizeof(parts) / sizeof(parts[0]))

static const uint64_t entries[2][3] = {
	/* mispredicted, 7 cycles, a conditional jump, right speculation, user */
	{ 0x401010, 0x401000, 1 | 7 << 4 | 1 << 20 | 3 << 24 | 1 << 30 },
	/* predicted, in a transaction, aborted, extended kind 1 (data fault) */
	{ 0x401000, 0x401008, 2 | 4 | 8 | 15 << 20 | 1 << 26 },
};

static struct pb_attr
attr_of(uint64_t type, uint64_t branch_type)
{
	return (struct pb_attr){ .type = 4, .sample_type = type, .sample_id_all = 1, .id = 5,
		                 .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_LOST |
		                                PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		                 .branch_sample_type = branch_type, .regs_user = 0x15, .regs_intr = 0x80 };
}

static void
put_stack(struct pb *b, uint64_t branch_type)
{
	pb_u64(b, 2);
	if (branch_type & HW_IDX)
		pb_u64(b, 31);
	pb_bytes(b, entries, sizeof(entries));
	if (branch_type & COUNTER)
		pb_bytes(b, "\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20", 16);
}

static void
put_sample(struct pb *b, uint64_t type, uint64_t branch_type)
{
	pb_record(b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	for (unsigned i = 0; i < N_PARTS; i++) {
		if (!(type & parts[i].bit))
			continue;
		if (parts[i].bit == STACK)
			put_stack(b, branch_type);
		pb_bytes(b, parts[i].words, parts[i].n * 8);
	}
	pb_end(b, 0, NULL);
}

static void
check_sample(const struct ht_record *r, uint64_t type, uint64_t branch_type)
{
	struct ht_branch_entry e;

	assert_int_equal(r->kind, HT_REC_SAMPLE);
	assert_int_equal(r->u.sample.ip, type & PERF_SAMPLE_IP ? 0x401234 : 0);
	assert_int_equal(r->time, type & PERF_SAMPLE_TIME ? 5000 : 0);
	assert_int_equal(r->u.sample.period, type & PERF_SAMPLE_PERIOD ? 4000 : 0);
	assert_int_equal(r->u.sample.n_branches, type & STACK ? 2 : 0);
	assert_int_equal(r->u.sample.aux_size, type & PERF_SAMPLE_AUX ? 8 : 0);
	if (type & PERF_SAMPLE_AUX)
		assert_memory_equal(r->u.sample.aux, "\1\2\3\4\5\6\7\10", 8);
	if (!(type & STACK))
		return;
	assert_int_equal(r->u.sample.hw_idx, branch_type & HW_IDX ? 31 : 0);
	if (branch_type & COUNTER)
		assert_memory_equal(r->u.sample.counters, "\1\2\3\4\5\6\7\10\11", 9);
	else
		assert_null(r->u.sample.counters);
	ht_branch_entry_read(r->u.sample.branches, &e);
	assert_int_equal(e.from, 0x401010);
	assert_int_equal(e.to, 0x401000);
	assert_int_equal(e.cycles, 7);
	assert_true(e.mispred && !e.predicted && !e.in_tx && !e.abort);
	assert_string_equal(ht_branch_type_name(&e), "COND");
	assert_string_equal(ht_branch_spec_name(&e), "SPEC_CORRECT_PATH");
	assert_int_equal(e.priv, PERF_BR_PRIV_USER);
	ht_branch_entry_read(r->u.sample.branches + HT_BRANCH_ENTRY_SIZE, &e);
	assert_true(!e.mispred && e.predicted && e.in_tx && e.abort && !e.cycles);
	assert_string_equal(ht_branch_type_name(&e), "FAULT_DATA");
	assert_string_equal(ht_branch_spec_name(&e), "");
}

static void
one_layout(uint64_t type, uint64_t branch_type)
{
	struct pb_attr attr = attr_of(type, branch_type);
	struct pb_open o;
	struct ht_record r;
	struct pb b;

	pb_begin(&b, &attr, 1);
	put_sample(&b, type, branch_type);
	pb_finish(&b);
	pb_open(&o, b.at, b.n);
	assert_int_equal(o.rc, 0);
	assert_int_equal(ht_container_next(o.c, &r), 1);
	check_sample(&r, type, branch_type);
	assert_int_equal(ht_container_stream_count(o.c), type & STACK ? 1 : 0);
	pb_close(&o);
	pb_free(&b);
}

/* Each field alone, all but each, and random sets of them, before a stack and AUX data. */
static void
test_layouts(void **state)
{
	static const uint64_t branch_types[] = { ANY, ANY | HW_IDX, ANY | COUNTER, ANY | HW_IDX | COUNTER };
	uint64_t all = 0, seed = 1;

	(void)state;
	for (unsigned i = 0; i < N_PARTS; i++)
		all |= parts[i].bit;
	for (unsigned i = 0; i < N_PARTS; i++)
		for (unsigned k = 0; k < 4; k++) {
			one_layout(parts[i].bit, branch_types[k]);
			one_layout(parts[i].bit | STACK | PERF_SAMPLE_AUX, branch_types[k]);
			one_layout(all & ~parts[i].bit, branch_types[k]);
		}
	one_layout(all, ANY);
	for (unsigned i = 0; i < 300; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		one_layout(seed >> 20 & all, branch_types[i % 4]);
	}
}

/* A sample that is cut inside of any field is an error of its own, never read beyond. */
static void
test_cut_sample(void **state)
{
	uint64_t type = 0, branch_type = ANY | HW_IDX | COUNTER;
	struct pb_attr attr;
	struct pb_open o;
	struct ht_record r;
	struct pb b;
	uint16_t whole;
	size_t at;

	(void)state;
	for (unsigned i = 0; i < N_PARTS; i++)
		type |= parts[i].bit;
	attr = attr_of(type, branch_type);
	pb_begin(&b, &attr, 1);
	put_sample(&b, type, branch_type);
	at = b.record;
	memcpy(&whole, b.at + at + 6, 2);
	pb_finish(&b);
	for (uint16_t size = 8; size < whole; size += 4) {
		size_t n = at + size;
		uint64_t data = size;

		memcpy(b.at + at + 6, &size, 2);
		memcpy(b.at + 48, &data, 8);
		pb_open(&o, b.at, n);
		assert_int_equal(o.rc, 0);
		assert_int_equal(ht_container_next(o.c, &r), -HT_EFORMAT);
		assert_string_equal(ht_container_diag(o.c)->field, "PERF_RECORD_SAMPLE");
		assert_int_equal(ht_container_next(o.c, &r), 0);
		assert_int_equal(ht_container_stream_count(o.c), 0);
		pb_close(&o);
	}
	pb_free(&b);
}

/* A count that no record can hold must not be multiplied into a small one. */
static void
test_huge_count(void **state)
{
	static const uint64_t counts[] = { 3, 8192, 1ull << 60, UINT64_MAX, 0xaaaaaaaaaaaaaaab };
	struct pb_attr attr = attr_of(STACK, ANY);
	struct pb_open o;
	struct ht_record r;
	struct pb b;

	(void)state;
	for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		pb_begin(&b, &attr, 1);
		pb_record(&b, PERF_RECORD_SAMPLE, 0);
		pb_u64(&b, counts[i]);
		pb_bytes(&b, entries, sizeof(entries));
		pb_end(&b, 0, NULL);
		pb_finish(&b);
		pb_open(&o, b.at, b.n);
		assert_int_equal(ht_container_next(o.c, &r), -HT_EFORMAT);
		pb_close(&o);
		pb_free(&b);
	}
}

static void
put_stack_of(struct pb *b, uint32_t pid, uint32_t tid, uint64_t time, uint64_t from)
{
	pb_record(b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	pb_u64(b, (uint64_t)tid << 32 | pid);
	pb_u64(b, time);
	pb_u64(b, 1);
	pb_u64(b, from);
	pb_u64(b, from + 1);
	pb_u64(b, 0);
	pb_end(b, 0, NULL);
}

/* One stream a thread, its samples in order of time wherever they lie in the file. */
static void
test_streams(void **state)
{
	struct pb_attr attr = attr_of(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | STACK, ANY);
	const struct ht_stream *s;
	struct pb_open o;
	struct pb b;

	(void)state;
	for (int call = 0; call < 2; call++) {
		attr.branch_sample_type = call ? PERF_SAMPLE_BRANCH_ANY_CALL : ANY;
		pb_begin(&b, &attr, 1);
		put_stack_of(&b, 7, 8, 300, 3);
		put_stack_of(&b, 7, 7, 250, 9);
		put_stack_of(&b, 7, 8, 100, 1);
		put_stack_of(&b, 7, 8, 200, 2);
		put_stack_of(&b, 7, 8, 200, 22);
		pb_finish(&b);
		pb_open(&o, b.at, b.n);
		assert_int_equal(ht_container_info(o.c)->source, HT_SOURCE_BRANCH_STACK);
		assert_int_equal(ht_container_info(o.c)->sampled, 1);
		assert_int_equal(ht_container_stream_count(o.c), 2);
		s = ht_container_stream(o.c, 1);
		assert_int_equal(s->tid, 8);
		assert_int_equal(s->pid, 7);
		assert_int_equal(s->n_chunks, 4);
		assert_int_equal(s->bytes, 4 * 24);
		assert_int_equal(s->gapless, !call);
		for (unsigned i = 0; i < 4; i++) {
			static const uint8_t want[4][2] = { { 1, 100 }, { 2, 200 }, { 22, 200 }, { 3, 44 } };

			assert_int_equal(s->chunks[i].data[0], want[i][0]);
			assert_int_equal(s->chunks[i].ref & 0xff, want[i][1]);
			assert_int_equal(s->chunks[i].stream_offset, i * 24);
			assert_memory_equal(o.block + s->chunks[i].file_offset, s->chunks[i].data, 24);
		}
		pb_close(&o);
		pb_free(&b);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_cut_sample),
		cmocka_unit_test(test_huge_count),
		cmocka_unit_test(test_streams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
