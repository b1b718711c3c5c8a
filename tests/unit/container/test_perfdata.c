/* SPDX-License-Identifier: BSD-2-Clause */
/* Records, layouts and metadata of perf.data, from files made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <linux/perf_event.h>

#include "container/perf_build.h"
#include "container/reader.h"

#define LAYOUT (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

static const struct pb_attr one[1] = {
	{ .type = 8, .sample_type = LAYOUT, .sample_id_all = 1, .id = 5 }
};
static const struct pb_id who = {
	.pid = 100, .tid = 101, .time = 5000, .id = 5, .stream_id = 7, .cpu = 3
};

/* The only record of the file in `b`. */
static void
open_one(struct pb *b, struct pb_open *o, struct ht_record *r)
{
	struct ht_record more;

	pb_finish(b);
	pb_open(o, b->at, b->n);
	assert_int_equal(o->rc, 0);
	assert_int_equal(ht_container_info(o->c)->truncated, 0);
	assert_int_equal(ht_container_next(o->c, r), 1);
	assert_int_equal(ht_container_next(o->c, &more), 0);
	ht_container_rewind(o->c);
	assert_int_equal(ht_container_next(o->c, r), 1);
	assert_int_equal(r->file_offset, b->data);
}

static void
close_one(struct pb *b, struct pb_open *o)
{
	pb_close(o);
	pb_free(b);
}

static void
expect_who(const struct ht_record *r, int32_t pid, int32_t tid)
{
	assert_int_equal(r->pid, pid);
	assert_int_equal(r->tid, tid);
	assert_int_equal(r->time, 5000);
	assert_int_equal(r->cpu, 3);
}

/* -- kinds --------------------------------------------------------------------------- */

static void
test_mmap(void **state)
{
	struct pb b;
	struct pb_open o;
	struct ht_record r;

	(void)state;
	pb_begin(&b, one, 1);
	pb_record(&b, PERF_RECORD_MMAP, PERF_RECORD_MISC_MMAP_DATA);
	pb_u32(&b, 200);
	pb_u32(&b, 201);
	pb_u64(&b, 0x7000);
	pb_u64(&b, 0x3000);
	pb_u64(&b, 0x1000);
	pb_text(&b, "/lib/x.so");
	pb_end(&b, 0, &who);
	open_one(&b, &o, &r);
	assert_int_equal(r.kind, HT_REC_MMAP);
	assert_int_equal(r.raw_type, PERF_RECORD_MMAP);
	expect_who(&r, 200, 201);
	assert_int_equal(r.u.map.addr, 0x7000);
	assert_int_equal(r.u.map.len, 0x3000);
	assert_int_equal(r.u.map.pgoff, 0x1000);
	assert_int_equal(r.u.map.flags, 0);
	assert_string_equal(r.u.map.path, "/lib/x.so");
	assert_int_equal(r.raw_size, 40 + 16 + 32);
	assert_int_equal(r.misc, PERF_RECORD_MISC_MMAP_DATA);
	close_one(&b, &o);
}

static void
test_kernel_mmap(void **state)
{
	struct pb b;
	struct pb_open o;
	struct ht_record r;

	(void)state;
	pb_begin(&b, one, 1);
	pb_record(&b, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL);
	pb_u32(&b, UINT32_MAX);
	pb_u32(&b, 0);
	pb_u64(&b, 0xffffffff81000000);
	pb_u64(&b, 0x1000000);
	pb_u64(&b, 0xffffffff81000000);
	pb_text(&b, "[kernel.kallsyms]_text");
	pb_end(&b, 0, &who);
	open_one(&b, &o, &r);
	assert_int_equal(r.pid, -1);
	assert_int_equal(r.u.map.flags, HT_MAP_EXEC | HT_MAP_KERNEL);
	assert_true(r.u.map.addr == 0xffffffff81000000);
	close_one(&b, &o);
}

static void
test_mmap2(void **state)
{
	struct pb b;
	struct pb_open o;
	struct ht_record r;

	(void)state;
	pb_begin(&b, one, 1);
	pb_mmap2(&b, 0, &who, 0x401000, 0x2000, 0x1000, 1 | 2 | 4, "/bin/thing");
	open_one(&b, &o, &r);
	assert_int_equal(r.kind, HT_REC_MMAP);
	expect_who(&r, 100, 101);
	assert_int_equal(r.u.map.flags, HT_MAP_EXEC | HT_MAP_WRITE);
	assert_int_equal(r.u.map.prot, 7);
	assert_int_equal(r.u.map.maj, 8);
	assert_int_equal(r.u.map.min, 1);
	assert_int_equal(r.u.map.ino, 4711);
	assert_int_equal(r.u.map.ino_generation, 42);
	assert_int_equal(r.u.map.build_id_size, 0);
	assert_string_equal(r.u.map.path, "/bin/thing");
	/* the path is in the file itself: it lives as long as the container */
	assert_true((const uint8_t *)r.u.map.path > o.block &&
	            (const uint8_t *)r.u.map.path < o.block + b.n);
	close_one(&b, &o);
}

static void
test_mmap2_build_id(void **state)
{
	struct pb b;
	struct pb_open o;
	struct ht_record r;

	(void)state;
	pb_begin(&b, one, 1);
	pb_record(&b, PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID);
	pb_u64(&b, 0);
	pb_u64(&b, 0x1000);
	pb_u64(&b, 0x1000);
	pb_u64(&b, 0);
	pb_bytes(&b, "\x10\0\0\0" "0123456789abcdef....", 24);
	pb_u32(&b, 4);
	pb_u32(&b, 1);
	pb_text(&b, "/bin/x");
	pb_end(&b, 0, &who);
	open_one(&b, &o, &r);
	assert_int_equal(r.u.map.build_id_size, 16);
	assert_memory_equal(r.u.map.build_id, "0123456789abcdef\0\0\0\0", 20);
	assert_int_equal(r.u.map.ino, 0);
	assert_int_equal(r.u.map.flags, HT_MAP_EXEC | HT_MAP_SHARED);
	close_one(&b, &o);
}

static void
test_comm(void **state)
{
	struct pb b;
	struct pb_open o;
	struct ht_record r;

	(void)state;
	for (int exec = 0; exec < 2; exec++) {
		pb_begin(&b, one, 1);
		pb_record(&b, PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0);
		pb_u32(&b, 100);
		pb_u32(&b, 102);
		pb_text(&b, "a name");
		pb_end(&b, 0, &who);
		open_one(&b, &o, &r);
		assert_int_equal(r.kind, HT_REC_COMM);
		expect_who(&r, 100, 102);
		assert_string_equal(r.u.comm.comm, "a name");
		assert_int_equal(r.u.comm.exec, exec);
		close_one(&b, &o);
	}
}

static void
test_fork_exit(void **state)
{
	struct pb b;
	struct pb_open o;
	struct ht_record r;

	(void)state;
	for (int i = 0; i < 2; i++) {
		pb_begin(&b, one, 1);
		pb_record(&b, i ? PERF_RECORD_EXIT : PERF_RECORD_FORK, 0);
		pb_u32(&b, 300);
		pb_u32(&b, 100);
		pb_u32(&b, 301);
		pb_u32(&b, 101);
		pb_u64(&b, 4999);
		pb_end(&b, 0, &who);
		open_one(&b, &o, &r);
		assert_int_equal(r.kind, i ? HT_REC_EXIT : HT_REC_FORK);
		expect_who(&r, 300, 301);
		assert_int_equal(i ? r.u.exit.ppid : r.u.fork.ppid, 100);
		assert_int_equal(i ? r.u.exit.ptid : r.u.fork.ptid, 101);
		close_one(&b, &o);
	}
}

static void
test_switch(void **state)
{
	const uint16_t out = PERF_RECORD_MISC_SWITCH_OUT, pre = PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
	const uint16_t misc[] = { 0, out, (uint16_t)(out | pre) };
	struct pb b;
	struct pb_open o;
	struct ht_record r;

	(void)state;
	for (int wide = 0; wide < 2; wide++)
		for (int i = 0; i < 3; i++) {
			pb_begin(&b, one, 1);
			pb_record(&b, wide ? PERF_RECORD_SWITCH_CPU_WIDE : PERF_RECORD_SWITCH,
			          misc[i]);
			if (wide) {
				pb_u32(&b, 77);
				pb_u32(&b, 78);
			}
			pb_end(&b, 0, &who);
			open_one(&b, &o, &r);
			assert_int_equal(r.kind, HT_REC_SWITCH);
			expect_who(&r, 100, 101);
			assert_int_equal(r.u.sw.out, i > 0);
			assert_int_equal(r.u.sw.preempt, i == 2);
			assert_int_equal(r.u.sw.next_prev_pid, wide ? 77 : -1);
			assert_int_equal(r.u.sw.next_prev_tid, wide ? 78 : -1);
			close_one(&b, &o);
		}
}

static void
test_itrace_start_aux_lost(void **state)
{
	struct pb b;
	struct pb_open o;
	struct ht_record r;

	(void)state;
	pb_begin(&b, one, 1);
	pb_record(&b, PERF_RECORD_ITRACE_START, 0);
	pb_u32(&b, 400);
	pb_u32(&b, 401);
	pb_end(&b, 0, &who);
	pb_aux(&b, 0, &who, 0x100, 0x200, PERF_AUX_FLAG_PARTIAL);
	pb_record(&b, PERF_RECORD_LOST, 0);
	pb_u64(&b, 5);
	pb_u64(&b, 99);
	pb_end(&b, 0, &who);
	pb_record(&b, PERF_RECORD_LOST_SAMPLES, 0);
	pb_u64(&b, 98);
	pb_end(&b, 0, &who);
	pb_finish(&b);
	pb_open(&o, b.at, b.n);
	assert_int_equal(ht_container_next(o.c, &r), 1);
	assert_int_equal(r.kind, HT_REC_ITRACE_START);
	expect_who(&r, 400, 401);
	assert_int_equal(ht_container_next(o.c, &r), 1);
	assert_int_equal(r.kind, HT_REC_AUX);
	expect_who(&r, 100, 101);
	assert_int_equal(r.u.aux.offset, 0x100);
	assert_int_equal(r.u.aux.size, 0x200);
	assert_int_equal(r.u.aux.flags, PERF_AUX_FLAG_PARTIAL);
	assert_int_equal(ht_container_next(o.c, &r), 1);
	assert_int_equal(r.kind, HT_REC_LOST);
	assert_int_equal(r.u.lost.id, 5);
	assert_int_equal(r.u.lost.lost, 99);
	assert_int_equal(ht_container_next(o.c, &r), 1);
	assert_int_equal(r.kind, HT_REC_LOST);
	assert_int_equal(r.u.lost.lost, 98);
	close_one(&b, &o);
}

static void
test_text_poke(void **state)
{
	struct pb b;
	struct pb_open o;
	struct ht_record r;

	(void)state;
	pb_begin(&b, one, 1);
	pb_record(&b, PERF_RECORD_TEXT_POKE, PERF_RECORD_MISC_USER);
	pb_u64(&b, 0x401100);
	pb_u16(&b, 5);
	pb_u16(&b, 7);
	pb_bytes(&b, "olden" "newcode", 12);
	pb_end(&b, 0, &who);
	open_one(&b, &o, &r);
	assert_int_equal(r.kind, HT_REC_CODE);
	expect_who(&r, 100, 101);
	assert_int_equal(r.u.code.addr, 0x401100);
	assert_int_equal(r.u.code.old_len, 5);
	assert_int_equal(r.u.code.len, 7);
	assert_memory_equal(r.u.code.bytes, "newcode", 7);
	close_one(&b, &o);
}

static void
test_other(void **state)
{
	const uint32_t types[] = { 16, 17, 18, 19, 40, 63 };
	struct pb b;
	struct pb_open o;
	struct ht_record r;

	(void)state;
	for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		pb_begin(&b, one, 1);
		pb_record(&b, types[i], 7);
		pb_u64(&b, 1);
		pb_end(&b, 0, &who);
		open_one(&b, &o, &r);
		assert_int_equal(r.kind, HT_REC_OTHER);
		assert_int_equal(r.raw_type, types[i]);
		expect_who(&r, 100, 101);
		assert_int_equal(r.raw_size, 8 + 8 + 32);
		assert_memory_equal(r.raw, b.at + b.data, r.raw_size);
		close_one(&b, &o);
	}
	pb_begin(&b, one, 1); /* one of perf's own: no trailer */
	pb_record(&b, 68, 0);
	pb_end(&b, 0, NULL);
	open_one(&b, &o, &r);
	assert_int_equal(r.kind, HT_REC_OTHER);
	assert_int_equal(r.pid, -1);
	assert_int_equal(r.time, 0);
	close_one(&b, &o);
}

/* -- layouts -------------------------------------------------------------------------- */

static const uint64_t trailer_bits[6] = {
	PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_ID, PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,
	PERF_SAMPLE_IDENTIFIER
};

/* Every choice of trailer fields, with and without sample_id_all. */
static void
test_every_trailer(void **state)
{
	(void)state;
	for (unsigned pick = 0; pick < 128; pick++) {
		struct pb_attr a = { .type = 1, .sample_id_all = pick >> 6, .id = 5 };
		uint64_t t = 0;
		struct pb b;
		struct pb_open o;
		struct ht_record r;
		int all = a.sample_id_all;

		for (unsigned i = 0; i < 6; i++)
			t |= pick >> i & 1 ? trailer_bits[i] : 0;
		a.sample_type = t;
		pb_begin(&b, &a, 1);
		pb_aux(&b, 0, &who, 1, 2, 0);
		open_one(&b, &o, &r);
		assert_int_equal(r.kind, HT_REC_AUX);
		assert_int_equal(r.u.aux.offset, 1);
		assert_int_equal(r.u.aux.size, 2);
		assert_int_equal(r.pid, all && t & PERF_SAMPLE_TID ? 100 : -1);
		assert_int_equal(r.tid, all && t & PERF_SAMPLE_TID ? 101 : -1);
		assert_int_equal(r.time, all && t & PERF_SAMPLE_TIME ? 5000 : 0);
		assert_int_equal(r.cpu, all && t & PERF_SAMPLE_CPU ? 3 : -1);
		close_one(&b, &o);
	}
}

/* Every choice of the fixed fields of a sample. */
static void
test_every_sample(void **state)
{
	const uint64_t bits[9] = { PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP,   PERF_SAMPLE_TID,
		                   PERF_SAMPLE_TIME,       PERF_SAMPLE_ADDR, PERF_SAMPLE_ID,
		                   PERF_SAMPLE_STREAM_ID,  PERF_SAMPLE_CPU,  PERF_SAMPLE_PERIOD };
	const uint64_t value[9] = { 5, 0x401234, 101ull << 32 | 100, 5000, 0xadd7, 5, 7, 3, 4000 };

	(void)state;
	for (unsigned pick = 0; pick < 512; pick++) {
		struct pb_attr a = { .type = 1, .sample_id_all = 1, .id = 5 };
		struct pb b;
		struct pb_open o;
		struct ht_record r;

		for (unsigned i = 0; i < 9; i++)
			a.sample_type |= pick >> i & 1 ? bits[i] : 0;
		pb_begin(&b, &a, 1);
		pb_record(&b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
		for (unsigned i = 0; i < 9; i++)
			if (pick >> i & 1)
				pb_u64(&b, value[i]);
		pb_end(&b, 0, NULL);
		open_one(&b, &o, &r);
		assert_int_equal(r.kind, HT_REC_SAMPLE);
		assert_int_equal(r.u.sample.id,
		                 a.sample_type & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER) ? 5 : 0);
		assert_int_equal(r.u.sample.ip, a.sample_type & PERF_SAMPLE_IP ? 0x401234 : 0);
		assert_int_equal(r.u.sample.addr, a.sample_type & PERF_SAMPLE_ADDR ? 0xadd7 : 0);
		assert_int_equal(r.u.sample.period, a.sample_type & PERF_SAMPLE_PERIOD ? 4000 : 0);
		assert_int_equal(r.pid, a.sample_type & PERF_SAMPLE_TID ? 100 : -1);
		assert_int_equal(r.time, a.sample_type & PERF_SAMPLE_TIME ? 5000 : 0);
		assert_int_equal(r.cpu, a.sample_type & PERF_SAMPLE_CPU ? 3 : -1);
		close_one(&b, &o);
	}
}

/* Events of different layouts, told by IDENTIFIER, then by ID. */
static void
test_layout_by_id(void **state)
{
	(void)state;
	for (int ident = 0; ident < 2; ident++) {
		uint64_t common = ident ? PERF_SAMPLE_IDENTIFIER : PERF_SAMPLE_ID;
		/* without IDENTIFIER the id must stand at one distance from the end */
		const struct pb_attr two[2] = {
			{ .type = 8,
			  .sample_type = common | PERF_SAMPLE_TID,
			  .sample_id_all = 1,
			  .id = 50 },
			{ .type = 1,
			  .sample_type = common | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			                 (ident ? PERF_SAMPLE_CPU : 0),
			  .sample_id_all = 1,
			  .id = 9 },
		};
		struct pb_id first = who, second = who, none = who;
		struct pb b;
		struct pb_open o;
		struct ht_record r;

		first.id = 50;
		second.id = 9;
		none.id = 0; /* as in records that perf makes itself: first layout */
		pb_begin(&b, two, 2);
		pb_mmap2(&b, 1, &second, 1, 1, 0, 5, "/a");
		pb_mmap2(&b, 0, &first, 2, 1, 0, 5, "/b");
		pb_mmap2(&b, 0, &none, 3, 1, 0, 5, "/c");
		pb_finish(&b);
		pb_open(&o, b.at, b.n);
		assert_int_equal(ht_container_next(o.c, &r), 1);
		assert_string_equal(r.u.map.path, "/a");
		assert_int_equal(r.time, 5000);
		assert_int_equal(r.cpu, ident ? 3 : -1);
		assert_int_equal(ht_container_next(o.c, &r), 1);
		assert_string_equal(r.u.map.path, "/b");
		assert_int_equal(r.time, 0);
		assert_int_equal(ht_container_next(o.c, &r), 1);
		assert_string_equal(r.u.map.path, "/c");
		assert_int_equal(r.time, 0);
		close_one(&b, &o);
	}
}

/* -- metadata -------------------------------------------------------------------------- */

static void
expect_info(const struct pb_open *o)
{
	const struct ht_capture_info *i = ht_container_info(o->c);
	uint8_t id[HT_BUILD_ID_MAX];

	assert_string_equal(i->format, "perf.data");
	assert_int_equal(i->source, HT_SOURCE_INTEL_PT);
	assert_int_equal(i->arch, HT_ARCH_X86_64);
	assert_string_equal(i->hostname, "host");
	assert_string_equal(i->cpuid, "GenuineIntel,6,85,4");
	assert_int_equal(i->cpu.vendor_intel, 1);
	assert_int_equal(i->cpu.family, 6);
	assert_int_equal(i->cpu.model, 85);
	assert_int_equal(i->cpu.stepping, 4);
	assert_int_equal(i->cpu.nom_freq, 37);
	assert_int_equal(i->cpu.tsc_ctc_num, 2);
	assert_int_equal(i->cpu.tsc_ctc_den, 308);
	assert_int_equal(i->ret_compression, 1);
	assert_int_equal(i->software, 0);
	assert_int_equal(i->clock.valid, 1);
	assert_int_equal(i->clock.shift, 31);
	assert_int_equal(i->clock.mult, 581029125);
	assert_int_equal(i->clock.zero, 1000);
	assert_int_equal(ht_container_build_id(o->c, "/bin/thing", id), 20);
	assert_memory_equal(id, "abcdefghijklmnopqrst", 20);
	assert_int_equal(ht_container_build_id(o->c, "/bin/thin", id), 0);
}

static void
test_info_file_and_pipe(void **state)
{
	(void)state;
	for (unsigned flavour = 0; flavour < PB_FLAVOURS; flavour += 5) {
		struct pb b;
		struct pb_open o;

		pb_sample_file(&b, flavour);
		pb_open(&o, b.at, b.n);
		assert_int_equal(o.rc, 0);
		expect_info(&o);
		assert_int_equal(ht_container_info(o.c)->truncated, 0);
		close_one(&b, &o);
	}
}

static void
test_software_mark(void **state)
{
	uint8_t feat[4 + 2 * 68] = { 2 };
	struct pb b;
	struct pb_open o;

	(void)state;
	feat[4] = 64;
	memcpy(feat + 8, "backend=qemu", 12);
	feat[72] = 64;
	memcpy(feat + 76, "software=1", 10);
	pb_begin(&b, one, 1);
	pb_mmap2(&b, 0, &who, 1, 2, 0, 5, "/x");
	pb_feature_text(&b, 5, "6.1");
	pb_feature(&b, 250, feat, sizeof(feat));
	pb_finish(&b);
	pb_open(&o, b.at, b.n);
	assert_int_equal(o.rc, 0);
	assert_int_equal(ht_container_info(o.c)->software, 1);
	assert_string_equal(ht_container_info(o.c)->backend, "qemu");
	assert_string_equal(ht_container_info(o.c)->version, "6.1");
	close_one(&b, &o);
}

/* The clock of a capture without AUXTRACE_INFO, as old and new perf write it. */
static void
test_time_conv(void **state)
{
	(void)state;
	for (int cap = -1; cap < 2; cap++) {
		struct pb b;
		struct pb_open o;
		const struct ht_clock *k;

		pb_begin(&b, one, 1);
		pb_record(&b, 79, 0);
		pb_u64(&b, 31);
		pb_u64(&b, 581029125);
		pb_u64(&b, 77);
		if (cap >= 0) {
			pb_u64(&b, 0);
			pb_u64(&b, 0);
			pb_u64(&b, (uint64_t)cap);
		}
		pb_end(&b, 0, NULL);
		pb_finish(&b);
		pb_open(&o, b.at, b.n);
		k = &ht_container_info(o.c)->clock;
		assert_int_equal(k->valid, cap != 0);
		assert_int_equal(k->shift, 31);
		assert_int_equal(k->mult, 581029125);
		assert_int_equal(k->zero, 77);
		close_one(&b, &o);
	}
}

/* ns = zero + ticks * mult / 2^shift; a stamp never comes back later than its tick. */
static void
test_clock(void **state)
{
	const struct ht_clock k = { 1, 31, 581029125, 18444502336406842448ull };
	const uint64_t ticks[] = {
		0, 1, 3, 1000, 0x7fffffff, 0x80000000, 0x123456789abc, 0xffffffffffffff
	};

	(void)state;
	assert_true(ht_clock_tsc_to_ns(&(struct ht_clock){ 1, 10, 512, 7 }, 1000) == 507);
	assert_true(ht_clock_ns_to_tsc(&(struct ht_clock){ 1, 10, 512, 7 }, 507) == 1000);
	assert_true(ht_clock_ns_to_tsc(&(struct ht_clock){ 0 }, 507) == 0);
	for (unsigned i = 0; i < sizeof(ticks) / sizeof(ticks[0]); i++) {
		uint64_t ns = ht_clock_tsc_to_ns(&k, ticks[i]), back = ht_clock_ns_to_tsc(&k, ns);

		/* as a product of 128 bits gives it */
		assert_true(ns ==
		            k.zero + (uint64_t)((unsigned __int128)ticks[i] * k.mult >> k.shift));
		assert_true(back <= ticks[i] && ticks[i] - back < 5);
	}
}

static void
test_cmdline(void **state)
{
	uint8_t feat[4 + 3 * 68] = { 3 };
	const char *const args[3] = { "perf", "record", "a b" };
	struct pb b;
	struct pb_open o;

	(void)state;
	for (int i = 0; i < 3; i++) {
		feat[4 + i * 68] = 64;
		memcpy(feat + 8 + i * 68, args[i], strlen(args[i]));
	}
	pb_begin(&b, one, 1);
	pb_mmap2(&b, 0, &who, 1, 2, 0, 5, "/x");
	pb_feature(&b, 11, feat, sizeof(feat));
	pb_finish(&b);
	pb_open(&o, b.at, b.n);
	assert_string_equal(ht_container_info(o.c)->cmdline, "perf record a b");
	close_one(&b, &o);
}

/* -- damage ------------------------------------------------------------------------------ */

static void
expect_refused(const void *data, size_t size, int err, const char *field)
{
	struct pb_open o;

	pb_open(&o, data, size);
	assert_int_equal(o.rc, -err);
	assert_int_equal(o.diag.error, err);
	assert_string_equal(o.diag.field, field);
	assert_true(o.diag.text[0] != 0);
	assert_string_equal(o.diag.file, "(memory)");
	pb_close(&o);
}

static void
test_refused(void **state)
{
	struct pb b;

	(void)state;
	expect_refused("", 0, HT_EFORMAT, "");
	expect_refused("\177ELFxxxxxxxxxxxx", 16, HT_EFORMAT, "magic");
	expect_refused("2ELIFREP0000000000000000", 24, HT_EUNSUPPORTED, "magic");
	expect_refused("PERFFILE0000000000000000", 24, HT_EUNSUPPORTED, "magic");
	expect_refused("PERFILE2\x20\0\0\0\0\0\0\0"
	               "0000000000000000000000000000000000000000000000"
	               "000000000000000000000000000000000000000000000000",
	               104, HT_EUNSUPPORTED, "header.size");
	pb_begin(&b, one, 1);
	pb_finish(&b);
	expect_refused(b.at, 103, HT_EFORMAT, "header");
	expect_refused(b.at, 110, HT_EFORMAT, "attrs");
	b.at[16] = 79;
	expect_refused(b.at, b.n, HT_EFORMAT, "attr_size");
	b.at[16] = 112 + 16;
	b.at[47] = 0x7f; /* data.offset */
	expect_refused(b.at, b.n, HT_EFORMAT, "data.offset");
	pb_free(&b);
}

static void
test_bad_records(void **state)
{
	struct pb b;
	struct pb_open o;
	struct ht_record r;
	char text[96] = { 0 };

	(void)state;
	pb_begin(&b, one, 1);
	pb_record(&b, PERF_RECORD_MMAP2, 0); /* no room for its fields */
	pb_u64(&b, 0);
	pb_end(&b, 0, &who);
	pb_record(&b, PERF_RECORD_COMM, 0); /* text without end */
	pb_u64(&b, 0);
	pb_bytes(&b, "12345678", 8);
	pb_end(&b, 0, &who);
	pb_record(&b, PERF_RECORD_TEXT_POKE, 0); /* more bytes than there are */
	pb_u64(&b, 0);
	pb_u32(&b, 0x00090000);
	pb_bytes(&b, "1234", 4);
	pb_end(&b, 0, &who);
	pb_record(&b, PERF_RECORD_AUX, 0); /* shorter than its trailer */
	pb_end(&b, 0, NULL);
	pb_mmap2(&b, 0, &who, 1, 2, 0, 5, "/good");
	pb_finish(&b);
	pb_open(&o, b.at, b.n);
	assert_int_equal(o.rc, 0);
	for (int i = 0; i < 4; i++) {
		const struct ht_diag *d;

		assert_int_equal(ht_container_next(o.c, &r), -HT_EFORMAT);
		d = ht_container_diag(o.c);
		assert_int_equal(d->has_offset, 1);
		assert_true(d->offset >= b.data);
		memcpy(text, d->field, 12);
		assert_string_equal(text, "PERF_RECORD_");
	}
	assert_int_equal(ht_container_next(o.c, &r), 1);
	assert_string_equal(r.u.map.path, "/good");
	assert_int_equal(ht_container_next(o.c, &r), 0);
	close_one(&b, &o);
}

/* A record of size 0: what came before is there, the error comes once, then the end. */
static void
test_size_zero(void **state)
{
	struct pb b;
	struct pb_open o;
	struct ht_record r;

	(void)state;
	pb_begin(&b, one, 1);
	pb_mmap2(&b, 0, &who, 1, 2, 0, 5, "/good");
	pb_u64(&b, 0);
	pb_u64(&b, 0);
	pb_finish(&b);
	pb_open(&o, b.at, b.n);
	assert_int_equal(o.rc, 0);
	assert_int_equal(ht_container_info(o.c)->truncated, 1);
	assert_int_equal(ht_container_info(o.c)->truncated_at, b.n - 16);
	assert_int_equal(ht_container_next(o.c, &r), 1);
	assert_int_equal(ht_container_next(o.c, &r), -HT_EFORMAT);
	assert_string_equal(ht_container_diag(o.c)->field, "header.size");
	assert_int_equal(ht_container_next(o.c, &r), 0);
	assert_int_equal(ht_container_next(o.c, &r), 0);
	close_one(&b, &o);
}

/* data.size 0 is what an interrupted recording leaves. */
static void
test_interrupted(void **state)
{
	struct pb b;
	struct pb_open o;
	struct ht_record r;
	size_t last;

	(void)state;
	pb_begin(&b, one, 1);
	pb_mmap2(&b, 0, &who, 1, 2, 0, 5, "/good");
	last = b.n;
	pb_mmap2(&b, 0, &who, 3, 4, 0, 5, "/half");
	pb_open(&o, b.at, b.n - 9); /* never finished */
	assert_int_equal(o.rc, 0);
	assert_int_equal(ht_container_info(o.c)->truncated, 1);
	assert_int_equal(ht_container_info(o.c)->truncated_at, last);
	assert_int_equal(ht_container_next(o.c, &r), 1);
	assert_string_equal(r.u.map.path, "/good");
	assert_int_equal(ht_container_next(o.c, &r), 0);
	close_one(&b, &o);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mmap),
		cmocka_unit_test(test_kernel_mmap),
		cmocka_unit_test(test_mmap2),
		cmocka_unit_test(test_mmap2_build_id),
		cmocka_unit_test(test_comm),
		cmocka_unit_test(test_fork_exit),
		cmocka_unit_test(test_switch),
		cmocka_unit_test(test_itrace_start_aux_lost),
		cmocka_unit_test(test_text_poke),
		cmocka_unit_test(test_other),
		cmocka_unit_test(test_every_trailer),
		cmocka_unit_test(test_every_sample),
		cmocka_unit_test(test_layout_by_id),
		cmocka_unit_test(test_info_file_and_pipe),
		cmocka_unit_test(test_software_mark),
		cmocka_unit_test(test_time_conv),
		cmocka_unit_test(test_clock),
		cmocka_unit_test(test_cmdline),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_bad_records),
		cmocka_unit_test(test_size_zero),
		cmocka_unit_test(test_interrupted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
