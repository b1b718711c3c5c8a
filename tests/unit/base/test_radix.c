/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/radix.h"

struct item {
	uint64_t number;
	uint32_t place, rest;
};

static int
order(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

/* As qsort does that looks at the places of equal ones. */
static void
as_qsort(void **state)
{
	static struct item mine[3000], theirs[3000];
	uint64_t x = 88172645463325252u;

	(void)state;
	for (unsigned mode = 0; mode < 6; mode++)
		for (size_t n = 0; n < 3000; n = n * 3 + 1) {
			for (size_t i = 0; i < n; i++) {
				x ^= x << 13;
				x ^= x >> 7;
				x ^= x << 17;
				mine[i].number = mode == 0 ? x : mode == 1 ? x % 50 : mode == 2 ? i : mode == 3 ? n - i :
				    mode == 4 ? (x & 0xff00ff) << 20 : 7;
				mine[i].place = (uint32_t)i;
				theirs[i] = mine[i];
			}
			assert_int_equal(ht_radix_sort(mine, n, sizeof(*mine)), 0);
			qsort(theirs, n, sizeof(*theirs), order);
			for (size_t i = 0; i < n; i++) {
				assert_true(mine[i].number == theirs[i].number);
				assert_int_equal(mine[i].place, theirs[i].place);
			}
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(as_qsort) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
