/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/cursor.h"

static void
test_numbers(void **state)
{
	static const uint8_t data[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
	struct ht_cursor c = ht_cursor_make(data, sizeof(data));

	(void)state;
	assert_int_equal(ht_cursor_u8(&c), 1);
	assert_int_equal(ht_cursor_u16(&c), 0x0302);
	assert_int_equal(ht_cursor_u32(&c), 0x07060504);
	assert_true(ht_cursor_u64(&c) == 0x0f0e0d0c0b0a0908);
	assert_int_equal(ht_cursor_left(&c), 0);
	assert_int_equal(c.failed, 0);
}

/* Each read of each size at each distance from the end, in a block that ends where the data ends.
 */
static void
test_no_overrun(void **state)
{
	(void)state;
	for (size_t size = 0; size < 20; size++) {
		uint8_t *block = malloc(size ? size : 1);

		for (size_t i = 0; i < size; i++)
			block[i] = 0xff;
		for (size_t pos = 0; pos <= size; pos++)
			for (unsigned n = 0; n <= 8; n++) {
				struct ht_cursor c = ht_cursor_make(block, size);
				uint64_t v;

				assert_int_equal(ht_cursor_seek(&c, pos), 0);
				v = ht_cursor_uint(&c, n);
				if (n <= size - pos) {
					assert_int_equal(c.failed, 0);
					assert_int_equal(c.pos, pos + n);
					assert_true(v ==
					            (n == 8 ? UINT64_MAX : (1ull << (8 * n)) - 1));
				} else {
					assert_int_equal(c.failed, 1);
					assert_int_equal(c.pos, pos);
					assert_true(v == 0);
				}
			}
		free(block);
	}
}

static void
test_huge_sizes(void **state)
{
	static const uint8_t data[4] = { 1, 2, 3, 4 };
	const size_t huge[] = { 5, SIZE_MAX / 2, SIZE_MAX - 2, SIZE_MAX };

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct ht_cursor c = ht_cursor_make(data, sizeof(data));

		ht_cursor_u8(&c);
		assert_null(ht_cursor_take(&c, huge[i]));
		assert_int_equal(c.failed, 1);
		assert_int_equal(c.pos, 1);
		assert_null(ht_cursor_take(&c, 1)); /* it stays failed */
	}
}

static void
test_seek(void **state)
{
	static const uint8_t data[4] = { 1, 2, 3, 4 };
	struct ht_cursor c = ht_cursor_make(data, sizeof(data));

	(void)state;
	assert_int_equal(ht_cursor_seek(&c, 4), 0);
	assert_int_equal(ht_cursor_left(&c), 0);
	assert_int_equal(ht_cursor_seek(&c, 5), -1);
	assert_int_equal(c.failed, 1);
	assert_int_equal(c.pos, 4);
	c = ht_cursor_make(data, sizeof(data));
	assert_int_equal(ht_cursor_seek(&c, UINT64_MAX), -1);
}

static void
test_strings(void **state)
{
	static const char data[] = { 'a', 'b', 0, 'x', 'c', 'd' };
	struct ht_cursor c = ht_cursor_make(data, sizeof(data));

	(void)state;
	assert_string_equal(ht_cursor_str(&c, 4), "ab");
	assert_int_equal(c.pos, 4);
	assert_null(ht_cursor_str(&c, 2)); /* no NUL */
	assert_int_equal(c.failed, 1);
	c = ht_cursor_make(data, sizeof(data));
	assert_null(ht_cursor_str(&c, 0));
	c = ht_cursor_make(data, sizeof(data));
	assert_null(ht_cursor_str(&c, 7)); /* more than there is */
	assert_int_equal(c.failed, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_no_overrun),
		cmocka_unit_test(test_huge_sizes),
		cmocka_unit_test(test_seek),
		cmocka_unit_test(test_strings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
