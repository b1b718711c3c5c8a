/* SPDX-License-Identifier: BSD-2-Clause */
/* Archives: what is put in comes out, and nothing that is damaged does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "container/manifest.h"
#include "container/perf_build.h"
#include "container/reader.h"

struct made {
	struct pb capture;
	uint8_t  *bytes; /* the archive */
	size_t    n;
};

static const struct ht_archive_part parts[] = {
	{ .path = "/bin/a\nb\\c", .build_id = { 1, 2, 3 }, .build_id_size = 3, .data = "content", .size = 7 },
	{ .path = "/lib/none", .build_id = { 9 }, .build_id_size = 1 },
	{ .path = "/lib/no id", .data = "x", .size = 1 },
	{ .path = HT_ARCHIVE_DEBUG, .build_id = { 1, 2, 3 }, .build_id_size = 3, .data = "debug", .size = 5 },
};

static void
make(struct made *m)
{
	char path[] = "/tmp/hwtrace-archive.XXXXXX";
	struct ht_diag diag = { 0 };
	struct pb_open o;
	FILE *f;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	pb_sample_file(&m->capture, 0);
	pb_open(&o, m->capture.at, m->capture.n);
	assert_int_equal(ht_archive_write(path, o.c, parts, 4, &diag), 0);
	pb_close(&o);
	f = fopen(path, "rb");
	assert_non_null(f);
	m->bytes = malloc(1 << 20);
	m->n = fread(m->bytes, 1, 1 << 20, f);
	assert_true(m->n > 100 && m->n < 1 << 20);
	fclose(f);
	unlink(path);
}

static void
unmake(struct made *m)
{
	pb_free(&m->capture);
	free(m->bytes);
}

static void
expect_file(struct ht_container *c, const char *path, const char *id, unsigned n, const char *want)
{
	struct ht_carried out;
	int got = ht_container_file(c, path, (const uint8_t *)id, n, &out);

	assert_int_equal(got, want != NULL);
	if (!want)
		return;
	assert_int_equal(out.size, strlen(want));
	assert_memory_equal(out.data, want, out.size);
}

static void
test_round_trip(void **state)
{
	static const char padded[HT_BUILD_ID_MAX] = { 1, 2, 3 };
	struct made m, again;
	struct pb_open o, plain;
	size_t n;

	(void)state;
	make(&m);
	make(&again);
	assert_int_equal(m.n, again.n);
	assert_memory_equal(m.bytes, again.bytes, m.n);
	pb_open(&o, m.bytes, m.n);
	assert_int_equal(o.rc, 0);
	assert_string_equal(ht_container_info(o.c)->format, "archive of perf.data");
	assert_string_equal(ht_container_info(o.c)->hostname, "host");
	pb_open(&plain, m.capture.at, m.capture.n);
	assert_int_equal(pb_drain(&o), pb_drain(&plain));
	assert_int_equal(ht_container_stream(o.c, 0)->bytes, ht_container_stream(plain.c, 0)->bytes);
	assert_memory_equal(ht_container_bytes(o.c, &n), m.capture.at, m.capture.n);
	pb_close(&plain);
	/* by build-id, by name where one of the two has none; not by name against a build-id */
	expect_file(o.c, "/other/name", "\1\2\3", 3, "content");
	expect_file(o.c, "/other/name", padded, 20, "content");
	expect_file(o.c, "/bin/a\nb\\c", NULL, 0, "content");
	expect_file(o.c, "/bin/a\nb\\c", "\1\2\4", 3, NULL);
	expect_file(o.c, "/lib/no id", "\7", 1, "x");
	expect_file(o.c, "/lib/none", "\11", 1, NULL);
	expect_file(o.c, HT_ARCHIVE_DEBUG, "\1\2\3", 3, "debug");
	expect_file(o.c, HT_ARCHIVE_DEBUG, NULL, 0, NULL);
	pb_close(&o);
	unmake(&m);
	unmake(&again);
}

/* Cut anywhere or changed in any byte: one error, a file less, or the same as ever; never other content. */
static void
test_damage(void **state)
{
	struct made m;
	struct pb_open o;
	struct ht_carried out;
	unsigned opened = 0;

	(void)state;
	make(&m);
	for (size_t i = 0; i < 2 * m.n; i++) {
		uint8_t was = m.bytes[i / 2];

		if (i % 2)
			m.bytes[i / 2] ^= (uint8_t)(1u << i / 2 % 8);
		pb_open(&o, m.bytes, i % 2 ? m.n : i / 2);
		m.bytes[i / 2] = was;
		if (o.rc) {
			assert_true(o.diag.error && o.diag.text[0]);
		} else {
			size_t n;
			const void *capture = ht_container_bytes(o.c, &n);

			opened++;
			assert_int_equal(n, m.capture.n);
			assert_memory_equal(capture, m.capture.at, n);
			if (ht_container_file(o.c, "", (const uint8_t *)"\1\2\3", 3, &out))
				assert_memory_equal(out.data, "content", 7);
		}
		pb_close(&o);
	}
	assert_true(opened > 0 && opened < m.n);
	unmake(&m);
}

/* What unpacks to far more than an archive holds is refused, with memory bounded. */
static void
test_bomb(void **state)
{
	static const size_t size = 300u << 20;
	size_t bound = 1 << 20, n;
	uint8_t *zeros = calloc(1, size), *packed = malloc(bound);
	struct ht_container *c;
	struct ht_diag diag = { 0 };
	unsigned sum = 0;

	(void)state;
	assert_true(zeros && packed);
	/* a tar header of one file of 300 MiB */
	memcpy(zeros, "manifest", 8);
	snprintf((char *)zeros + 100, 8, "%07o", 0644);
	snprintf((char *)zeros + 124, 12, "%011o", 300u << 20);
	snprintf((char *)zeros + 136, 12, "%011o", 0);
	memcpy(zeros + 257, "ustar", 6);
	memcpy(zeros + 263, "00", 2);
	zeros[156] = '0';
	for (unsigned i = 0; i < 512; i++)
		sum += i >= 148 && i < 156 ? ' ' : zeros[i];
	snprintf((char *)zeros + 148, 8, "%06o", sum);
	n = ZSTD_compress(packed, bound, zeros, size, 1);
	free(zeros);
	assert_false(ZSTD_isError(n));
	ht_container_open_memory(packed, n, NULL, &c, &diag);
	free(packed);
	if (diag.error != HT_ELIMIT)
		fail_msg("%s", diag.text);
}

#define SUM "0123456789012345678901234567890123456789012345678901234567890123"

static void
test_manifest(void **state)
{
	static const struct { const char *text; int line; } rows[] = {
		{ "", 0 },
		{ "hwtrace-archive\t2\n", 0 },
		{ "hwtrace-archive\t1\n", 0 },
		{ "hwtrace-archive\t1\nmissing\t-\t/x\n", 0 },
		{ "hwtrace-archive\t1\ncapture\t" SUM "\t5\tc", 2 },
		{ "hwtrace-archive\t1\ncapture\t" SUM "\t5x\tc\n", 2 },
		{ "hwtrace-archive\t1\ncapture\t" SUM "1\t5\tc\n", 2 },
		{ "hwtrace-archive\t1\ncapture\t" SUM "\t99999999999999999999\tc\n", 2 },
		{ "hwtrace-archive\t1\ncapture\t" SUM "\t5\tc\nfile\t" SUM "\t5\tm\tabc\t/x\n", 3 },
		{ "hwtrace-archive\t1\ncapture\t" SUM "\t5\tc\nfile\t" SUM "\t5\tm\tab\n", 3 },
		{ "hwtrace-archive\t1\ncapture\t" SUM "\t5\tc\nfoul\t" SUM "\t5\tm\tab\t/x\n", 3 },
		{ "hwtrace-archive\t1\ncapture\t" SUM "\t5\tc\n\n", 3 },
	};
	struct ht_manifest m;
	struct ht_diag diag;
	char line[32];

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memset(&m, 0, sizeof(m));
		memset(&diag, 0, sizeof(diag));
		assert_int_equal(ht_manifest_read(&m, rows[i].text, strlen(rows[i].text), "f", &diag), -HT_EFORMAT);
		assert_string_equal(diag.field, "manifest");
		snprintf(line, sizeof(line), "line %d", rows[i].line);
		if (rows[i].line && !strstr(diag.text, line))
			fail_msg("row %u: %s", i, diag.text);
		ht_manifest_fini(&m);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_bomb),
		cmocka_unit_test(test_manifest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
