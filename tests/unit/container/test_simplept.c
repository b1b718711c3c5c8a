/* SPDX-License-Identifier: BSD-2-Clause */
/* simple-pt's sideband from texts made here, as its script writes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "container/reader.h"
#include "container/scratch.h"

static char folder[64], sideband[96];

static int
make_folder(void **state)
{
	(void)state;
	if (scratch_make(folder, "simplept") < 0)
		return -1;
	snprintf(sideband, sizeof(sideband), "%s/a.b.sideband", folder);
	return 0;
}

static int
remove_folder(void **state)
{
	(void)state;
	return scratch_remove(folder);
}

static int
open_text(const char *text, size_t n, struct ht_container **c, struct ht_diag *diag)
{
	*c = NULL;
	memset(diag, 0, sizeof(*diag));
	scratch_put(folder, "a.b.sideband", text, n);
	return ht_container_open(sideband, NULL, c, diag);
}

/* The next record, which is a mapping. */
static void
maps(struct ht_container *c, int32_t pid, uint64_t addr, uint64_t len, uint64_t off,
     const char *path)
{
	struct ht_record r;

	assert_int_equal(ht_container_next(c, &r), 1);
	assert_int_equal(r.kind, HT_REC_MMAP);
	assert_int_equal(r.pid, pid);
	assert_int_equal(r.time, 0);
	assert_int_equal(r.u.map.flags, HT_MAP_EXEC);
	assert_int_equal(r.u.map.addr, addr);
	assert_int_equal(r.u.map.len, len);
	assert_int_equal(r.u.map.pgoff, off);
	assert_string_equal(r.u.map.path, path);
}

static void
context(struct ht_container *c, int32_t pid, uint64_t cr3)
{
	struct ht_record r;

	assert_int_equal(ht_container_next(c, &r), 1);
	assert_int_equal(r.kind, HT_REC_CONTEXT);
	assert_int_equal(r.pid, pid);
	assert_int_equal(r.u.context.cr3, cr3);
}

static const char whole[] = "meta family 6\n"
			    "meta model 142\n"
			    "meta stepping 10\n"
			    "meta tsc_ratio 2 216\n"
			    "meta nom_freq 25\n"
			    "meta mtc_freq 4\n"
			    "meta new_thing 1\n"
			    "12.500000 8 2000 7f0000001000 8192 3000\t/usr/lib/a lib.so\n"
			    "12.600000 8 2000 7f0000004000 0 1000\t/bin/b\n"
			    "12.700000 8 2000 7f0000005000 a000 1000\t/bin/b\r\n"
			    "\n"
			    "0.0 7 1234a000 55550000 0001b000 8192 \t/bin/p\n"
			    "0.0 7 1234a000 55560000 00000000 1a000 \t/bin/q:/tmp/code\n";

static void
all_of_it(void **state)
{
	struct ht_container *c;
	struct ht_carried code;
	struct ht_diag diag;
	struct ht_record r;
	const struct ht_capture_info *info;
	const struct ht_stream *s;

	(void)state;
	scratch_put(folder, "a.b.10", "xyz", 3);
	scratch_put(folder, "a.b.2", "ab", 2);
	scratch_put(folder, "a.b.3", "", 0);
	scratch_put(folder, "a.b.x1", "no", 2);
	scratch_put(folder, "a.4", "no", 2);
	scratch_put(folder, "a.b.", "no", 2);
	assert_int_equal(open_text(whole, sizeof(whole) - 1, &c, &diag), 0);
	info = ht_container_info(c);
	assert_string_equal(info->format, "simple-pt");
	assert_int_equal(info->per_cpu, 1);
	assert_true(info->cpu.vendor_intel && info->cpu.family == 6 && info->cpu.model == 142 &&
	            info->cpu.stepping == 10 && info->cpu.nom_freq == 25);
	assert_int_equal(info->cpu.mtc_freq, 3); /* 0 is off there, so all are one more */
	assert_int_equal(info->cpu.tsc_ctc_den, 2);
	assert_int_equal(info->cpu.tsc_ctc_num, 216);
	/* 2.5 GHz */
	assert_in_range(ht_clock_tsc_to_ns(&info->clock, 2500000000u), 999999990u, 1000000000u);
	assert_int_equal(ht_container_stream_count(c), 2);
	s = ht_container_stream(c, 0);
	assert_true(s->cpu == 2 && s->bytes == 2 && s->pid == -1);
	assert_memory_equal(s->chunks[0].data, "ab", 2);
	s = ht_container_stream(c, 1);
	assert_true(s->cpu == 10 && s->bytes == 3);
	for (int pass = 0; pass < 2; pass++) {
		context(c, 7, 0x1234a000);
		maps(c, 7, 0x55550000, 8192, 0x1b000, "/bin/p");
		maps(c, 7, 0x55560000, 0x1a000, 0, "/bin/q");
		context(c, 8, 0x2000);
		maps(c, 8, 0x7f0000001000, 0x3000, 8192, "/usr/lib/a lib.so");
		maps(c, 8, 0x7f0000004000, 0x1000, 0, "/bin/b");
		maps(c, 8, 0x7f0000005000, 0x1000, 0xa000, "/bin/b");
		assert_int_equal(ht_container_next(c, &r), 0);
		ht_container_rewind(c);
	}
	assert_int_equal(ht_container_file(c, "/bin/q", NULL, 0, &code), 1);
	assert_string_equal(code.path, "/tmp/code");
	assert_int_equal(ht_container_file(c, "/bin/p", NULL, 0, &code), 0);
	ht_container_close(c);
}

/* As it was written before there were sizes. */
static void
without_sizes(void **state)
{
	static const char text[] = "0.0 7 1000 55550000 0\t/nonexistent\n";
	struct ht_container *c;
	struct ht_diag diag;

	(void)state;
	scratch_put(folder, "a.b.0", "ab", 2);
	assert_int_equal(open_text(text, sizeof(text) - 1, &c, &diag), 0);
	context(c, 7, 0x1000);
	maps(c, 7, 0x55550000, 4096, 0, "/nonexistent");
	ht_container_close(c);
}

static void
bad_lines(void **state)
{
	static const char *const lines[] = {
		"meta family x",
		"meta model 256",
		"meta tsc_ratio 2",
		"1.0.0 7 1000 2000 0 1000 /a",
		"x 7 1000 2000 0 1000 /a",
		"1.0 2147483648 1000 2000 0 1000 /a",
		"1.0 7 g 2000 0 1000 /a",
		"1.0 7 1000 11112222333344445 0 1000 /a",
		"1.0 7 1000 2000 0 z /a",
		"1.0 7 1000 2000 0 1000 a",
		"1.0 7 1000 2000 0 1000",
		"1.0 7 1000 2000 0 ffffffffffffff00 /a",
		"1.0",
	};
	char text[256];

	(void)state;
	scratch_put(folder, "a.b.0", "ab", 2);
	for (unsigned i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct ht_container *c;
		struct ht_diag diag;
		struct ht_record r;

		snprintf(text, sizeof(text), "meta family 6\n%s\n1.0 7 1000 2000 0 1000 /a\n",
		         lines[i]);
		assert_int_equal(open_text(text, strlen(text), &c, &diag), 0);
		assert_int_equal(ht_container_next(c, &r), -HT_EFORMAT);
		assert_int_equal(ht_container_diag(c)->offset, 14);
		assert_non_null(strstr(ht_container_diag(c)->text, "line 2"));
		context(c, 7, 0x1000);
		maps(c, 7, 0x2000, 0x1000, 0, "/a");
		assert_int_equal(ht_container_next(c, &r), 0);
		ht_container_close(c);
	}
}

static void
every_prefix(void **state)
{
	unsigned opened = 0;

	(void)state;
	scratch_put(folder, "a.b.0", "ab", 2);
	for (size_t n = 0; n < sizeof(whole); n++) {
		struct ht_container *c;
		struct ht_diag diag;
		struct ht_record r;
		unsigned records = 0;
		char *exact = malloc(n ? n : 1);

		/* In a block of its size, where no file can be beside it. */
		memcpy(exact, whole, n);
		assert_int_not_equal(ht_container_open_memory(exact, n, NULL, &c, &diag), 0);
		free(exact);
		if (open_text(whole, n, &c, &diag) != 0) {
			assert_true(diag.error && diag.text[0]);
			continue;
		}
		opened++;
		while (ht_container_next(c, &r) != 0)
			records++;
		assert_true(records <= 8);
		ht_container_close(c);
	}
	/* All but the empty file and what is not yet the word "meta". */
	assert_int_equal(opened, sizeof(whole) - 4);
}

static void
no_trace(void **state)
{
	struct ht_container *c;
	struct ht_diag diag;

	(void)state;
	assert_int_equal(open_text(whole, sizeof(whole) - 1, &c, &diag), -HT_EFORMAT);
	assert_non_null(strstr(diag.text, "a.b.0"));
	assert_int_equal(ht_container_open_memory(whole, sizeof(whole) - 1, NULL, &c, &diag),
	                 -HT_EFORMAT);
	assert_non_null(strstr(diag.text, "PREFIX.sideband"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_of_it, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(without_sizes, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(bad_lines, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(every_prefix, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(no_trace, make_folder, remove_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
