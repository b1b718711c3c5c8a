/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include <hwtrace/demangle.h>

static const struct row {
	const char *mangled, *plain, *params;
} rows[] = {
	{ "_ZN4shop4TillD2Ev", "shop::Till::~Till", "shop::Till::~Till()" },
	{ "_ZNK4shop4TillclEiPKc", "shop::Till::operator()", "shop::Till::operator()(int, char const*) const" },
	{ "_Z3fooi.cold", "foo", "foo(int) [clone .cold]" },
	{ "_ZTV3Foo", "vtable for Foo", "vtable for Foo" },
	/* Rust: the old form, whose hash is no part of the name, and the new one */
	{ "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt",
	  "core::fmt::Write::write_fmt" },
	{ "_RNvCs1234_7mycrate3foo", "mycrate::foo", "mycrate::foo" },
	{ "_RNvXCs1234_7mycrateNtB2_3FooNtB2_3Bar3baz", "<mycrate::Foo as mycrate::Bar>::baz",
	  "<mycrate::Foo as mycrate::Bar>::baz" },
};

static void
test_names(void **state)
{
	char buf[HT_DEMANGLE_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(ht_demangle(rows[i].mangled, 0, buf), strlen(rows[i].plain));
		assert_string_equal(buf, rows[i].plain);
		assert_int_equal(ht_demangle(rows[i].mangled, HT_DEMANGLE_PARAMS, buf), strlen(rows[i].params));
		assert_string_equal(buf, rows[i].params);
	}
}

static void
test_names_that_are_plain(void **state)
{
	static const char *const plain[] = { "", "_", "main", "_start", "__libc_start_main", "_Z", "_R", "_Zebra",
		"main.main", "runtime.(*mheap).alloc", "_Z3fooiXXX", "_ZN4core", "__" };
	char buf[HT_DEMANGLE_MAX] = "untouched";

	(void)state;
	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		assert_int_equal(ht_demangle(plain[i], HT_DEMANGLE_PARAMS, buf), 0);
	assert_string_equal(buf, "untouched");
}

/* Each level doubles the text: 2^60 bytes, were they written. */
static void
test_names_that_explode(void **state)
{
	char mangled[1024] = "_Z1fI", buf[HT_DEMANGLE_MAX] = "untouched";
	size_t n = strlen(mangled);

	(void)state;
	memcpy(mangled + n, "1aIiiE", 6);
	n += 6;
	for (int i = 0; i < 60; i++) {
		static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
		int k = 2 * i + 1; /* each level is two substitutions: a name and its instance */

		memcpy(mangled + n, "1aIS", 4);
		n += 4;
		if (k >= 36)
			mangled[n++] = digits[k / 36];
		mangled[n++] = digits[k % 36];
		mangled[n++] = '_';
		mangled[n++] = 'S';
		if (k >= 36)
			mangled[n++] = digits[k / 36];
		mangled[n++] = digits[k % 36];
		mangled[n++] = '_';
		mangled[n++] = 'E';
	}
	memcpy(mangled + n, "Evv", 4);
	assert_int_equal(ht_demangle(mangled, HT_DEMANGLE_PARAMS, buf), 0);
	assert_string_equal(buf, "untouched");
	/* and one that is long, but not too long */
	memset(mangled, 0, sizeof(mangled));
	strcpy(mangled, "_Z900");
	memset(mangled + 5, 'x', 900);
	mangled[905] = 'v';
	assert_int_equal(ht_demangle(mangled, 0, buf), 900);
}

/* Every beginning of a symbol, in a block of its size. */
static void
test_every_prefix(void **state)
{
	char buf[HT_DEMANGLE_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		for (size_t n = 0; n <= strlen(rows[i].mangled); n++) {
			char *cut = strndup(rows[i].mangled, n);
			size_t len = ht_demangle(cut, HT_DEMANGLE_PARAMS, buf);

			assert_true(!len || strlen(buf) == len);
			free(cut);
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_names_that_are_plain),
		cmocka_unit_test(test_names_that_explode),
		cmocka_unit_test(test_every_prefix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
