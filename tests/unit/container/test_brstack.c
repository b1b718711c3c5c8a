/* SPDX-License-Identifier: BSD-2-Clause */
/* Branch stacks as perf script writes them: each column, what is damaged, every prefix. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "container/perf_build.h"

static const char whole[] =
    "# a comment\n"
    "prog 70/71 [002] 1.000000: PERF_RECORD_MMAP2 70/71: [0x400000(0x2000) @ 0x1000 fe:01 12 34]: "
    "r-xp /bin/a b\n"
    "swapper 0/0 0.000000: PERF_RECORD_MMAP -1/0: [0xffffffff81000000(0xa000) @ "
    "0xffffffff81000000]: x [kernel.kallsyms]_text\n"
    "prog 70/71 1.000000: PERF_RECORD_MMAP2 70/71: [0x500000(0x1000) @ 0 <0a1b2c>]: rw-p //anon\n"
    "my prog 70/71 [003] 12.345678: 1000 branches:u: 40012c "
    "0x400010/0x400020/M/X/A/12/COND/SPEC_CORRECT_PATH  0x0/0x0/-/-/-/0   \n"
    "prog    72 12.000000005:   40012c 0x400030/0x400040/P/-/-/0\n"
    "prog 70/71 13.000000:\n"
    "\t          400100 main+0x1 (/bin/a)\n"
    " 0x400050/0x400060/P/-/-/7/FAULT_ALGN/-\n";

struct want {
	int32_t pid, tid, cpu;
	uint64_t time, ip;
	unsigned n;
	struct ht_branch_entry e[2];
};

static const struct want samples[] = {
	{ 70,
	  71,
	  3,
	  12345678000,
	  0x40012c,
	  2,
	  { { .from = 0x400010,
	      .to = 0x400020,
	      .cycles = 12,
	      .mispred = 1,
	      .in_tx = 1,
	      .abort = 1,
	      .type = 1,
	      .spec = HT_SPEC_RIGHT },
	    { 0 } } },
	{ 70,
	  72,
	  -1,
	  12000000005,
	  0x40012c,
	  1,
	  { { .from = 0x400030, .to = 0x400040, .predicted = 1 } } },
	{ 70,
	  71,
	  -1,
	  13000000000,
	  0,
	  1,
	  { { .from = 0x400050,
	      .to = 0x400060,
	      .predicted = 1,
	      .cycles = 7,
	      .type = 15,
	      .new_type = 0 } } },
};

static void
is_sample(const struct ht_record *r, const struct want *w)
{
	assert_int_equal(r->kind, HT_REC_SAMPLE);
	assert_int_equal(r->pid, w->pid);
	assert_int_equal(r->tid, w->tid);
	assert_int_equal(r->cpu, w->cpu);
	assert_int_equal(r->time, w->time);
	assert_int_equal(r->u.sample.ip, w->ip);
	assert_int_equal(r->u.sample.n_branches, w->n);
	for (unsigned i = 0; i < w->n; i++) {
		struct ht_branch_entry e;

		ht_branch_entry_read(r->u.sample.branches + i * HT_BRANCH_ENTRY_SIZE, &e);
		assert_int_equal(e.from, w->e[i].from);
		assert_int_equal(e.to, w->e[i].to);
		assert_int_equal(e.cycles, w->e[i].cycles);
		assert_int_equal(e.mispred, w->e[i].mispred);
		assert_int_equal(e.predicted, w->e[i].predicted);
		assert_int_equal(e.in_tx, w->e[i].in_tx);
		assert_int_equal(e.abort, w->e[i].abort);
		assert_int_equal(e.type, w->e[i].type);
		assert_int_equal(e.spec, w->e[i].spec);
	}
}

static void
test_columns(void **state)
{
	const struct ht_stream *s;
	struct pb_open o;
	struct ht_record r;

	(void)state;
	pb_open(&o, whole, strlen(whole));
	assert_int_equal(o.rc, 0);
	assert_string_equal(ht_container_info(o.c)->format, "perf script text");
	assert_int_equal(ht_container_info(o.c)->sampled, 1);
	assert_int_equal(ht_container_next(o.c, &r), 1);
	assert_int_equal(r.kind, HT_REC_MMAP);
	assert_int_equal(r.pid, 70);
	assert_int_equal(r.tid, 71);
	assert_int_equal(r.time, 1000000000);
	assert_int_equal(r.u.map.addr, 0x400000);
	assert_int_equal(r.u.map.len, 0x2000);
	assert_int_equal(r.u.map.pgoff, 0x1000);
	assert_int_equal(r.u.map.flags, HT_MAP_EXEC);
	assert_string_equal(r.u.map.path, "/bin/a b");
	assert_int_equal(ht_container_next(o.c, &r), 1);
	assert_int_equal(r.pid, -1);
	assert_int_equal(r.u.map.flags, HT_MAP_EXEC | HT_MAP_KERNEL);
	assert_int_equal(ht_container_next(o.c, &r), 1);
	assert_int_equal(r.u.map.flags, HT_MAP_WRITE);
	assert_int_equal(r.u.map.build_id_size, 3);
	assert_memory_equal(r.u.map.build_id, "\x0a\x1b\x2c", 3);
	for (size_t i = 0; i < sizeof(samples) / sizeof(*samples); i++) {
		assert_int_equal(ht_container_next(o.c, &r), 1);
		is_sample(&r, &samples[i]);
	}
	assert_int_equal(ht_container_next(o.c, &r), 0);
	/* Streams: a thread each, in order of time. */
	assert_int_equal(ht_container_stream_count(o.c), 2);
	s = ht_container_stream(o.c, 0);
	assert_int_equal(s->tid, 71);
	assert_int_equal(s->source, HT_SOURCE_BRANCH_STACK);
	assert_int_equal(s->n_chunks, 2);
	assert_int_equal(s->chunks[0].ref, 12345678000);
	assert_int_equal(s->chunks[0].size, 2 * HT_BRANCH_ENTRY_SIZE);
	assert_int_equal(s->chunks[1].stream_offset, 2 * HT_BRANCH_ENTRY_SIZE);
	assert_int_equal(s->bytes, 3 * HT_BRANCH_ENTRY_SIZE);
	pb_close(&o);
}

/* As llvm-profgen asks for it: no times, no threads. */
static void
test_bare(void **state)
{
	static const char text[] =
	    "PERF_RECORD_MMAP2 7/7: [0x1000(0x1000) @ 0 00:1d 1 2]: r-xp /a\n"
	    "  1004 0x1010/0x1020/P/-/-/0 \n"
	    "PERF_RECORD_MMAP2 8/8: [0x1000(0x1000) @ 0 00:1d 1 2]: r-xp /b\n"
	    "  9 1004 0x1010/0x1020/P/-/-/0 \n"
	    "  abc 0x1011/0x1020/P/-/-/0 \n";
	static const int32_t pids[] = { 7, 7, 8, 8, 8 }, tids[] = { 7, 7, 8, 9, 8 };
	struct pb_open o;
	struct ht_record r;

	(void)state;
	pb_open(&o, text, strlen(text));
	assert_int_equal(o.rc, 0);
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(ht_container_next(o.c, &r), 1);
		assert_int_equal(r.pid, pids[i]);
		assert_int_equal(r.tid, tids[i]);
		assert_int_equal(r.time, i + 1); /* the order of the lines */
		if (r.kind == HT_REC_SAMPLE)
			assert_int_equal(r.u.sample.ip, i == 4 ? 0xabc : 0x1004);
	}
	assert_int_equal(ht_container_next(o.c, &r), 0);
	pb_close(&o);
}

/* A line that is damaged is told and passed over. */
static void
test_damaged(void **state)
{
	static const char *const lines[] = {
		"a 1/1 1.0: 0x1/0x2/P/-/-/0 0x1/0x2/Q/-/-/0\n",
		"a 1/1 1.0: 0x1/0x2/P/-/-/99999\n",
		"a 1/1 1.0: 0x1/0x11111111111111111/P/-/-/0\n",
		"a 1/1 1.0: 0x1/0x2/P/-/-/0 rest\n",
		"a 1/1 1.0: PERF_RECORD_MMAP2 1/1: [0x1(0x2]: r-xp /a\n",
		"a 1/1 1.0: PERF_RECORD_MMAP2 1: r-xp\n",
	};
	static const char good[] = "a 1/1 1.000000: 10 0x10/0x20/P/-/-/0\n";
	char text[256];
	struct pb_open o;
	struct ht_record r;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		snprintf(text, sizeof(text), "%s%s%s", good, lines[i], good);
		pb_open(&o, text, strlen(text));
		assert_int_equal(o.rc, 0);
		assert_int_equal(ht_container_next(o.c, &r), 1);
		assert_int_equal(ht_container_next(o.c, &r), -HT_EFORMAT);
		assert_int_equal(ht_container_diag(o.c)->offset, strlen(good));
		assert_non_null(strstr(ht_container_diag(o.c)->text, "line 2"));
		assert_int_equal(ht_container_next(o.c, &r), 1);
		assert_int_equal(ht_container_next(o.c, &r), 0);
		assert_int_equal(ht_container_stream(o.c, 0)->bytes, 2 * HT_BRANCH_ENTRY_SIZE);
		pb_close(&o);
	}
	pb_open(&o, whole, strstr(whole, "my prog") - whole);
	assert_int_equal(o.rc, -HT_EFORMAT); /* mappings alone */
	assert_non_null(strstr(o.diag.text, "no branch stacks"));
	pb_close(&o);
}

static void
test_every_prefix(void **state)
{
	unsigned opened = 0;

	(void)state;
	for (size_t n = 0; n <= strlen(whole); n++) {
		struct pb_open o;

		pb_open(&o, whole, n);
		if (o.rc == 0) {
			opened++;
			assert_true(pb_drain(&o) <= 6);
		} else {
			assert_string_not_equal(o.diag.text, "");
		}
		pb_close(&o);
	}
	assert_true(opened > 100);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_columns),
		cmocka_unit_test(test_bare),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_every_prefix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
