/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that are cut, changed or compressed.  Every prefix of small files in an
 * exact heap block: under ASan a read of one byte too far ends the test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <linux/perf_event.h>
#include <zstd.h>

#include "container/perf_build.h"
#include "container/reader.h"

static uint64_t seed;

static uint32_t
rnd(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33);
}

static void
test_every_prefix(void **state)
{
	(void)state;
	for (unsigned flavour = 0; flavour < PB_FLAVOURS; flavour++) {
		unsigned long last = 0, all;
		struct pb b;
		struct pb_open o;

		pb_sample_file(&b, flavour);
		pb_open(&o, b.at, b.n);
		assert_int_equal(o.rc, 0);
		assert_int_equal(ht_container_info(o.c)->truncated, 0);
		all = pb_drain(&o);
		assert_true(all >= 10);
		pb_close(&o);
		for (size_t n = 0; n < b.n; n++) {
			unsigned long got;

			pb_open(&o, b.at, n);
			got = pb_drain(&o);
			if (o.rc)
				assert_true(o.diag.error && o.diag.text[0]);
			else if (!b.pipe) /* a pipe may end behind any record */
				assert_int_equal(ht_container_info(o.c)->truncated, 1);
			assert_true(got >= last &&
			            got <= all); /* a longer prefix never gives less */
			last = got;
			pb_close(&o);
		}
		pb_free(&b);
	}
}

static void
test_changed_bytes(void **state)
{
	(void)state;
	seed = 20240607;
	for (unsigned round = 0; round < 6000; round++) {
		static const uint8_t nasty[] = { 0, 1, 7, 8, 0x7f, 0x80, 0xff };
		struct pb b;
		struct pb_open o;

		pb_sample_file(&b, round % PB_FLAVOURS);
		for (uint32_t n = 1 + rnd() % 4; n; n--)
			b.at[rnd() % b.n] =
			    rnd() % 2 ? nasty[rnd() % sizeof(nasty)] : (uint8_t)rnd();
		pb_open(&o, b.at, b.n);
		pb_drain(&o);
		pb_close(&o);
		pb_free(&b);
	}
}

static const struct pb_attr attr[1] = {
	{ .type = 8, .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME, .sample_id_all = 1 }
};
static const struct pb_id who = { .pid = 100, .tid = 101, .time = 5000 };

/* 200,000 mappings: each path is in the file, none was copied. */
static void
test_many_mappings(void **state)
{
	struct pb b;
	struct pb_open o;
	struct ht_record r;
	uint64_t n = 0;

	(void)state;
	pb_begin(&b, attr, 1);
	for (uint64_t i = 0; i < 200000; i++)
		pb_mmap2(&b, 0, &who, i << 12, 0x1000, 0, 5, "/usr/lib/x86_64-linux-gnu/libc.so.6");
	pb_finish(&b);
	pb_open(&o, b.at, b.n);
	while (ht_container_next(o.c, &r) == 1) {
		assert_true(r.u.map.addr == n << 12);
		assert_true((const uint8_t *)r.u.map.path == o.block + r.file_offset + 72);
		n++;
	}
	assert_int_equal(n, 200000);
	pb_close(&o);
	pb_free(&b);
}

/* A larger file, cut at 2,000 places. */
static void
test_seeded_cuts(void **state)
{
	uint8_t trace[256];
	struct pb b;
	struct pb_open o;

	(void)state;
	seed = 77;
	memset(trace, 0x5a, sizeof(trace));
	pb_begin(&b, attr, 1);
	for (unsigned i = 0; i < 400; i++) {
		pb_mmap2(&b, 0, &who, i << 12, 0x1000, 0, 5, "/usr/lib/x86_64-linux-gnu/libm.so.6");
		pb_aux(&b, 0, &who, i / 4 * 128, 128, i % 9 == 0);
		pb_auxtrace(&b, i % 4, 100 + i % 4, UINT32_MAX, i / 4 * 128, trace, 128);
	}
	pb_feature_text(&b, 3, "host");
	pb_finish(&b);
	for (unsigned i = 0; i < 2000; i++) {
		pb_open(&o, b.at, rnd() % b.n);
		if (!o.rc)
			assert_int_equal(ht_container_info(o.c)->truncated, 1);
		pb_drain(&o);
		pb_close(&o);
	}
	pb_free(&b);
}

/* -- compressed ------------------------------------------------------------------------ */

/*
 * The records of `plain` (its data section) as one zstd stream in COMPRESSED
 * records of `step` bytes, which cut records and even headers in two.
 */
static void
compress_into(struct pb *b, const struct pb *plain, size_t step)
{
	size_t n = plain->n - plain->data, bound = ZSTD_compressBound(n);
	uint8_t *out = malloc(bound);

	assert_non_null(out);
	n = ZSTD_compress(out, bound, plain->at + plain->data, n, 1);
	assert_false(ZSTD_isError(n));
	for (size_t at = 0; at < n; at += step) {
		pb_record(b, 81, 0);
		pb_bytes(b, out + at, n - at < step ? n - at : step);
		pb_end(b, 0, NULL);
	}
	free(out);
}

static void
make_plain(struct pb *plain, unsigned n)
{
	char path[64];

	pb_begin(plain, attr, 1);
	for (unsigned i = 0; i < n; i++) {
		memset(path, 'a' + (int)(i % 26), 40);
		path[0] = '/';
		path[20 + i % 20] = 0;
		pb_mmap2(plain, 0, &who, i << 12, 0x1000, 0, 5, path);
		if (i % 7 == 0)
			pb_aux(plain, 0, &who, i, 0, 0);
	}
}

static void
test_compressed(void **state)
{
	static const size_t steps[] = { 1, 7, 64, 1000, 60000 };

	(void)state;
	for (unsigned k = 0; k < sizeof(steps) / sizeof(steps[0]); k++) {
		const char *first = NULL;
		struct pb plain, b;
		struct pb_open o, p;
		struct ht_record r, want;

		make_plain(&plain, 5000);
		pb_begin(&b, attr, 1);
		compress_into(&b, &plain, steps[k]);
		pb_mmap2(&b, 0, &who, 0xabc, 1, 0, 5, "/behind");
		pb_finish(&b);
		pb_finish(&plain);
		pb_open(&o, b.at, b.n);
		pb_open(&p, plain.at, plain.n);
		assert_int_equal(o.rc, 0);
		assert_int_equal(ht_container_info(o.c)->truncated, 0);
		for (int again = 0; again < 2; again++) {
			while (ht_container_next(p.c, &want) == 1) {
				assert_int_equal(ht_container_next(o.c, &r), 1);
				assert_int_equal(r.kind, want.kind);
				assert_int_equal(r.time, 5000);
				assert_int_equal(r.raw_size, want.raw_size);
				assert_memory_equal(r.raw, want.raw, want.raw_size);
				if (r.kind == HT_REC_MMAP)
					assert_string_equal(r.u.map.path, want.u.map.path);
				if (!first)
					first = r.u.map.path;
			}
			assert_int_equal(ht_container_next(o.c, &r), 1);
			assert_string_equal(r.u.map.path, "/behind");
			assert_int_equal(ht_container_next(o.c, &r), 0);
			ht_container_rewind(o.c);
			ht_container_rewind(p.c);
		}
		assert_string_equal(first,
		                    "/aaaaaaaaaaaaaaaaaaa"); /* lives as long as the container */
		pb_close(&o);
		pb_close(&p);
		pb_free(&plain);
		pb_free(&b);
	}
}

/* The zstd stream is damaged: one error, and what is not compressed is still there. */
static void
test_compressed_damage(void **state)
{
	unsigned errors = 0, behind = 0;
	struct pb plain, b;
	struct pb_open o;
	struct ht_record r;
	int rc;

	(void)state;
	make_plain(&plain, 100);
	pb_begin(&b, attr, 1);
	compress_into(&b, &plain, 64);
	memset(b.at + b.data + 72 + 8, 0xff, 64);
	pb_auxtrace(&b, 0, 101, UINT32_MAX, 0, "12345678", 8);
	pb_mmap2(&b, 0, &who, 0xabc, 1, 0, 5, "/behind");
	pb_finish(&b);
	pb_open(&o, b.at, b.n);
	assert_int_equal(o.rc, 0);
	assert_int_equal(ht_container_info(o.c)->truncated, 1);
	assert_int_equal(ht_container_stream_count(o.c), 1);
	while ((rc = ht_container_next(o.c, &r)) != 0) {
		errors += rc < 0;
		behind += rc > 0 && r.kind == HT_REC_MMAP && !strcmp(r.u.map.path, "/behind");
	}
	assert_int_equal(errors, 1);
	assert_int_equal(behind, 1);
	assert_string_equal(ht_container_diag(o.c)->field, "PERF_RECORD_COMPRESSED");
	pb_close(&o);
	pb_free(&plain);
	pb_free(&b);
}

static void
test_compressed_prefixes(void **state)
{
	struct pb plain, b;
	struct pb_open o;

	(void)state;
	make_plain(&plain, 40);
	pb_begin(&b, attr, 1);
	compress_into(&b, &plain, 100);
	pb_finish(&b);
	for (size_t n = 0; n < b.n; n++) {
		pb_open(&o, b.at, n);
		pb_drain(&o);
		pb_close(&o);
	}
	pb_free(&plain);
	pb_free(&b);
}

/* A few bytes that would become gigabytes: the limit says so. */
static void
test_compressed_bomb(void **state)
{
	const uint32_t said[5] = { 1, 1, 1, 30,
		                   1 << 20 }; /* version, type, level, ratio, mmap_len */
	size_t size = 64u << 20, bound = ZSTD_compressBound(size), n;
	uint8_t *zeros = malloc(size), *out = malloc(bound);
	unsigned errors = 0;
	struct pb b;
	struct pb_open o;
	struct ht_record r;
	int rc;

	(void)state;
	assert_true(zeros && out);
	memset(zeros, 0x20, size); /* records of 0x2020 bytes and type 0x20202020 */
	n = ZSTD_compress(out, bound, zeros, size, 1);
	assert_true(n < 60000);
	pb_begin(&b, attr, 1);
	pb_record(&b, 81, 0);
	pb_bytes(&b, out, n);
	pb_end(&b, 0, NULL);
	pb_feature(&b, 27, said, sizeof(said));
	pb_finish(&b);
	pb_open(&o, b.at, b.n);
	assert_int_equal(o.rc, 0);
	while ((rc = ht_container_next(o.c, &r)) != 0)
		errors += rc < 0;
	assert_int_equal(errors, 1);
	assert_int_equal(ht_container_diag(o.c)->error, HT_ELIMIT);
	pb_close(&o);
	pb_free(&b);
	free(zeros);
	free(out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_prefix),
		cmocka_unit_test(test_changed_bytes),
		cmocka_unit_test(test_seeded_cuts),
		cmocka_unit_test(test_many_mappings),
		cmocka_unit_test(test_compressed),
		cmocka_unit_test(test_compressed_damage),
		cmocka_unit_test(test_compressed_prefixes),
		cmocka_unit_test(test_compressed_bomb),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
