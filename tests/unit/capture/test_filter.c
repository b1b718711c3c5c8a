/* SPDX-License-Identifier: BSD-2-Clause */
/* --module and --filter into the list that the plugin reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/filter.h"

static char buf[2048];

static int
build(const char *const *modules, const char *const *filters, struct ht_diag *diag)
{
	struct ht_capture_config c = { .modules = modules, .filters = filters };
	int n;

	memset(buf, 0xff, sizeof(buf));
	n = ht_filter_build(&c, NULL, buf, sizeof(buf), diag);
	if (n > 0) {
		assert_int_equal(buf[n - 1], 0);
		assert_int_equal(buf[n - 2], 0);
		/* One line for the comparison. */
		for (int i = 0; i < n - 2; i++)
			if (!buf[i])
				buf[i] = '\n';
	}
	return n;
}

static void
none(void **state)
{
	(void)state;
	assert_int_equal(build(NULL, NULL, NULL), 0);
}

static void
modules_and_ranges(void **state)
{
	const char *modules[] = { "libc.so*", "/usr/bin/*", NULL };
	const char *filters[] = { "0x401000-0x402000", "16-0x20", NULL };

	(void)state;
	assert_true(build(modules, filters, NULL) > 0);
	assert_string_equal(buf, "m libc.so*\nm /usr/bin/*\na 401000-402000\na 10-20");
}

/* By the file offset that nm and readelf would give: this test's own main(). */
static void
symbols(void **state)
{
	const char *filters[] = { "main@/proc/self/exe", "main+0x10@/proc/self/exe", NULL };
	unsigned long start, end, start2, end2;
	char path[512], path2[512];

	(void)state;
	assert_true(build(NULL, filters, NULL) > 0);
	assert_int_equal(sscanf(buf, "o %lx-%lx@%511s o %lx-%lx@%511s", &start, &end, path, &start2, &end2, path2), 6);
	assert_true(end > start);
	assert_int_equal(start2, start);
	assert_int_equal(end2, start + 0x10);
	assert_non_null(strstr(path, "test_filter"));
	assert_string_equal(path, path2);
}

static void
mistakes(void **state)
{
	static const char *const rows[] = { "x", "10-", "-10", "10-10", "0x20-0x10", "1-2x", "@", "a@", "@b", "main+@sh",
	                                    "main+0@/proc/self/exe", "main+zz@/proc/self/exe",
	                                    "main@/no/such/file", "main@no-such-library.so",
	                                    "no_such_function@/proc/self/exe", "main@/etc/passwd" };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *filters[] = { rows[i], NULL };
		struct ht_diag diag = { 0 };

		assert_true(build(NULL, filters, &diag) < 0);
		assert_string_equal(diag.field, "filter");
		assert_true(diag.text[0] != 0);
	}
}

/* The list never runs over its room, and is refused as a whole. */
static void
too_long(void **state)
{
	char *glob = malloc(3000);
	const char *modules[] = { glob, NULL };
	struct ht_capture_config c = { .modules = modules };

	(void)state;
	for (size_t n = 1; n < 2990; n++) {
		char *room = malloc(sizeof(buf));
		int rc;

		memset(glob, 'a', n);
		glob[n] = 0;
		rc = ht_filter_build(&c, NULL, room, sizeof(buf), NULL);
		assert_int_equal(rc, n + 4 <= sizeof(buf) ? (int)n + 4 : -HT_EINVAL);
		free(room);
	}
	free(glob);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(none),     cmocka_unit_test(modules_and_ranges), cmocka_unit_test(symbols),
		cmocka_unit_test(mistakes), cmocka_unit_test(too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
