/* SPDX-License-Identifier: BSD-2-Clause */
/* Limits of a recording: what the recorder's list says, and what a damaged one does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "capture/filter.h"
#include "container/limits.h"

static char list[2048];

static size_t
build(void)
{
	const char *modules[] = { "lib c*", "/usr/*", NULL },
		   *filters[] = { "0x401000-0x402000", "16-0x20", NULL };
	struct ht_capture_config c = { .modules = modules, .filters = filters };
	int n = ht_filter_build(&c, NULL, list, sizeof(list) - 64, NULL);
	static const char more[] = "o 1f0-2ff@/bin/a @b";

	assert_true(n > 0);
	memcpy(list + n - 1, more, sizeof(more));
	list[n - 1 + (int)sizeof(more)] = 0;
	return (size_t)n + sizeof(more);
}

static void
all_kinds_are_read(void **state)
{
	struct ht_limit *l;
	uint32_t n;

	(void)state;
	assert_int_equal(ht_limits_read(list, build(), &l, &n), 0);
	assert_int_equal(n, 5);
	assert_int_equal(l[0].kind, HT_LIMIT_MODULE);
	assert_string_equal(l[0].name, "lib c*");
	assert_string_equal(l[1].name, "/usr/*");
	assert_int_equal(l[2].kind, HT_LIMIT_ADDRESS);
	assert_true(l[2].start == 0x401000 && l[2].end == 0x402000 && !l[2].name);
	assert_true(l[3].start == 0x10 && l[3].end == 0x20);
	assert_int_equal(l[4].kind, HT_LIMIT_FILE);
	assert_true(l[4].start == 0x1f0 && l[4].end == 0x2ff);
	assert_string_equal(l[4].name, "/bin/a @b");
	free(l);
}

/* No byte past the end is read (the sanitizer tells), and no limit is made up. */
static void
a_list_that_was_cut(void **state)
{
	size_t size = build();

	(void)state;
	for (size_t cut = 0; cut < size; cut++) {
		char *part = malloc(cut ? cut : 1);
		struct ht_limit *l;
		uint32_t n;

		assert_non_null(part);
		memcpy(part, list, cut);
		assert_int_equal(ht_limits_read(part, cut, &l, &n), 0);
		assert_true(n <= 5);
		if (n)
			assert_string_equal(l[0].name, "lib c*");
		free(l);
		free(part);
	}
}

static void
what_is_no_list_gives_none(void **state)
{
	static const char *const bad[] = { "x 1-2",  "a 2-1", "a 1", "a 1-2 ", "o 1-2",
		                           "o 1-2@", "o -@x", "m",   "a 1-2@x" };
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct ht_limit *l;
		uint32_t n;

		memset(text, 0, sizeof(text));
		strcpy(text, "m good");
		strcpy(text + 7, bad[i]);
		assert_int_equal(ht_limits_read(text, sizeof(text), &l, &n), 0);
		assert_int_equal(n, 0);
		free(l);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_kinds_are_read),
		cmocka_unit_test(a_list_that_was_cut),
		cmocka_unit_test(what_is_no_list_gives_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
