/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "container/pt_bytes.h"
#include "container/reader.h"

static char dir[64], pt[80], pages[80], map[80], elf[96];

static void
write_file(const char *path, const void *data, size_t n)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static int
set_up(void **state)
{
	static const uint8_t code[3] = { 0x90, 0x90, 0xc3 }, id[20] = { 1 };
	char zeros[0x3000] = { 0 };

	(void)state;
	strcpy(dir, "/tmp/hwtrace-raw.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(pt, sizeof(pt), "%s/pt.bin", dir);
	snprintf(pages, sizeof(pages), "%s/pages.bin", dir);
	snprintf(map, sizeof(map), "%s/pages.tsv", dir);
	snprintf(elf, sizeof(elf), "%s/a@b.elf", dir);
	write_file(pt, "\x02\x82\x02\x82", 4);
	write_file(pages, zeros, sizeof(zeros));
	elf_make(elf, 0x400000, code, sizeof(code), id);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	unlink(pt);
	unlink(pages);
	unlink(map);
	unlink(elf);
	return rmdir(dir);
}

static int
open_raw(const char *text, const char *spec, struct ht_container **c, struct ht_diag *diag)
{
	struct ht_container_config config = { .size = sizeof(config),
		                              .raw = { .pt = pt, .elf = spec } };

	if (text) {
		write_file(map, text, strlen(text));
		config.raw.pages = pages;
		config.raw.map = map;
	}
	return ht_container_open(NULL, &config, c, diag);
}

static void
expect_map(struct ht_container *c, uint64_t addr, uint64_t len, uint64_t pgoff, const char *path)
{
	struct ht_record r;

	assert_int_equal(ht_container_next(c, &r), 1);
	assert_int_equal(r.kind, HT_REC_MMAP);
	assert_int_equal(r.pid, 0);
	assert_int_equal(r.time, 0);
	assert_true(r.u.map.addr == addr);
	assert_true(r.u.map.len == len);
	assert_true(r.u.map.pgoff == pgoff);
	assert_int_equal(r.u.map.flags, HT_MAP_EXEC | (path == pages ? HT_MAP_DUMP : 0));
	assert_string_equal(r.u.map.path, path);
}

static void
test_map(void **state)
{
	struct ht_container *c;
	struct ht_diag diag;
	struct ht_record r;
	const struct ht_stream *s;

	(void)state;
	assert_int_equal(
	    open_raw("# a comment\n\n0x401000\t0x1000\t0x0\n  8192 4096 4096  # tail\r\n"
	             "0xfffffffffffff000 0xfff 0x2000",
	             NULL, &c, &diag),
	    0);
	for (int again = 0; again < 2; again++) {
		expect_map(c, 0x401000, 0x1000, 0, pages);
		expect_map(c, 8192, 4096, 4096, pages);
		expect_map(c, 0xfffffffffffff000, 0xfff, 0x2000, pages);
		assert_int_equal(ht_container_next(c, &r), 0);
		ht_container_rewind(c);
	}
	assert_int_equal(ht_container_stream_count(c), 1);
	s = ht_container_stream(c, 0);
	assert_int_equal(s->source, HT_SOURCE_INTEL_PT);
	assert_int_equal(s->pid, 0);
	assert_int_equal(s->cpu, -1);
	assert_int_equal(s->bytes, 4);
	assert_int_equal(s->n_chunks, 1);
	assert_memory_equal(s->chunks[0].data, "\x02\x82\x02\x82", 4);
	assert_string_equal(ht_container_info(c)->format, "raw");
	assert_int_equal(ht_container_info(c)->arch, HT_ARCH_X86_64);
	ht_container_close(c);
}

static void
test_bad_maps(void **state)
{
	static const struct { const char *text, *field; unsigned offset; } cases[] = {
		{ "0x1000 0x1000\n", "offset", 0 },
		{ "0x1000\n", "size", 0 },
		{ "# fine\nzz 1 1\n", "address", 7 },
		{ "0x1000 0x1000 0 0\n", "offset", 16 },
		{ "0x1000 0x1000 0x2001\n", "offset", 0 },
		{ "0x1000 0 0\n", "size", 0 },
		{ "0xffffffffffffffff 2 0\n", "size", 0 },
		{ "0x1ffffffffffffffff 2 0\n", "address", 0 },
		{ "-5 2 0\n", "address", 0 },
		{ "12q 2 0\n", "address", 0 },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ht_container *c = NULL;
		struct ht_diag diag;

		assert_int_equal(open_raw(cases[i].text, NULL, &c, &diag), -HT_EFORMAT);
		assert_null(c);
		assert_string_equal(diag.file, map);
		assert_string_equal(diag.field, cases[i].field);
		assert_int_equal(diag.offset, cases[i].offset);
	}
}

static void
test_elf(void **state)
{
	struct ht_container *c;
	struct ht_diag diag;
	char spec[128];

	(void)state;
	snprintf(spec, sizeof(spec), "%s@0x555500000000", elf);
	assert_int_equal(open_raw(NULL, spec, &c, &diag), 0);
	expect_map(c, 0x555500000000, 0x1003, 0, elf);
	ht_container_close(c);
	snprintf(spec, sizeof(spec), "%s@zz", elf);
	assert_int_equal(open_raw(NULL, spec, &c, &diag), -HT_EINVAL);
	assert_int_equal(open_raw(NULL, pages, &c, &diag), -HT_EINVAL);
	snprintf(spec, sizeof(spec), "%s@0", pages);
	assert_int_equal(open_raw(NULL, spec, &c, &diag), -HT_EFORMAT);
	assert_string_equal(diag.file, pages);
	assert_int_equal(open_raw(NULL, "/nonexistent@0", &c, &diag), -HT_EIO);
	assert_string_equal(diag.file, "/nonexistent");
}

/* An ELF file cut anywhere: an error, or the segments that its header states. */
static void
test_elf_prefixes(void **state)
{
	char spec[128], buf[0x300], cut[80];
	FILE *f = fopen(elf, "r");
	size_t n;

	(void)state;
	assert_non_null(f);
	n = fread(buf, 1, sizeof(buf), f);
	fclose(f);
	snprintf(cut, sizeof(cut), "%s/cut", dir);
	snprintf(spec, sizeof(spec), "%s@0x10000", cut);
	for (size_t i = 0; i < n; i += 3) {
		struct ht_container *c = NULL;
		struct ht_diag diag;
		int rc;

		write_file(cut, buf, i);
		rc = open_raw(NULL, spec, &c, &diag);
		assert_int_equal(rc, i < 64 + 2 * 56 ? -HT_EFORMAT : 0);
		ht_container_close(c);
	}
	unlink(cut);
}

static void
test_pages_without_map(void **state)
{
	struct ht_container_config config = { .size = sizeof(config),
		                              .raw = { .pt = pt, .pages = pages } };
	struct ht_container *c;
	struct ht_diag diag;

	(void)state;
	assert_int_equal(ht_container_open(NULL, &config, &c, &diag), -HT_EINVAL);
	config.raw.pages = NULL;
	config.raw.map = map;
	assert_int_equal(ht_container_open(NULL, &config, &c, &diag), -HT_EINVAL);
	config.raw.pt = "/nonexistent";
	assert_int_equal(ht_container_open(NULL, &config, &c, &diag), -HT_EIO);
	assert_string_equal(diag.file, "/nonexistent");
}

/* A configuration of a program that was built with another header. */
static void
test_size_of_the_configuration(void **state)
{
	struct ht_container_config config = { .size = sizeof(config) - 1 };
	struct ht_container *c = NULL;
	struct ht_diag diag = { 0 };

	(void)state;
	assert_int_equal(ht_container_open("/dev/null", &config, &c, &diag), -HT_EINVAL);
	assert_string_equal(diag.field, "config.size");
	assert_null(c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_size_of_the_configuration),
		cmocka_unit_test(test_map),
		cmocka_unit_test(test_bad_maps),
		cmocka_unit_test(test_elf),
		cmocka_unit_test(test_elf_prefixes),
		cmocka_unit_test(test_pages_without_map),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
