/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"

static void
test_same_text_same_pointer(void **state)
{
	struct ht_intern *s = ht_intern_new();
	const char *a = ht_intern(s, "path", 4), *b = ht_intern(s, "pathology", 9);

	(void)state;
	assert_string_equal(a, "path");
	assert_string_equal(b, "pathology");
	assert_ptr_equal(ht_intern(s, "pathos", 4), a);
	assert_string_equal(ht_intern(s, "", 0), "");
	ht_intern_free(s);
}

/* Pointers stay when the set grows; texts larger than a block are kept too. */
static void
test_many(void **state)
{
	enum { N = 20000 };
	struct ht_intern *s = ht_intern_new();
	const char **at = calloc(N, sizeof(*at));
	char *large = malloc(100000), text[32];

	(void)state;
	memset(large, 'x', 100000);
	for (int i = 0; i < N; i++) {
		snprintf(text, sizeof(text), "name %d", i);
		at[i] = ht_intern(s, text, strlen(text));
	}
	assert_int_equal(strlen(ht_intern(s, large, 100000)), 100000);
	for (int i = 0; i < N; i++) {
		snprintf(text, sizeof(text), "name %d", i);
		assert_string_equal(at[i], text);
		assert_ptr_equal(ht_intern(s, text, strlen(text)), at[i]);
	}
	ht_intern_free(s);
	free(at);
	free(large);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_text_same_pointer),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
