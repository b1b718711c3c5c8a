/* SPDX-License-Identifier: BSD-2-Clause */
/* The clock: exact at both ends, rising, and near the kernel's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <time.h>

#include "capture/tsc.h"

static void
fits_both_ends(void **state)
{
	static const uint64_t hz[] = { 24000000, 100000000, 999999999, 2100000000, 2995000000u, 5200000000u };

	(void)state;
	for (size_t i = 0; i < sizeof(hz) / sizeof(hz[0]); i++) {
		struct ht_clock c;
		uint64_t tsc0 = 0x123456789abcdull, ns0 = 987654321012ull;

		ht_tsc_clock_from(&c, tsc0, ns0, tsc0 + hz[i], ns0 + 1000000000);
		assert_true(c.valid);
		assert_in_range(ht_clock_tsc_to_ns(&c, tsc0), ns0 - 1, ns0 + 1);
		assert_in_range(ht_clock_tsc_to_ns(&c, tsc0 + hz[i]), ns0 + 999999990, ns0 + 1000000010);
		assert_in_range(ht_tsc_hz(&c), hz[i] - hz[i] / 1000000 - 1, hz[i] + hz[i] / 1000000 + 1);
	}
}

/* An hour after the calibration, and before it. */
static void
rises_without_a_jump(void **state)
{
	struct ht_clock c;
	uint64_t tsc0 = 1ull << 50, last = 0;

	(void)state;
	ht_tsc_clock_from(&c, tsc0, 5000000000000ull, tsc0 + 2994999000u, 5001000000000ull);
	for (uint64_t t = tsc0 - (1ull << 43); t < tsc0 + (1ull << 43); t += 1ull << 31) {
		uint64_t ns = ht_clock_tsc_to_ns(&c, t), next = ht_clock_tsc_to_ns(&c, t + 3);

		assert_true(ns > last && next >= ns && next <= ns + 2);
		last = ns;
	}
}

static void
agrees_with_the_system(void **state)
{
	struct ht_clock c;
	struct timespec a, b, pause = { .tv_nsec = 20000000 };
	uint64_t t0, t1, ns, mine;

	(void)state;
	ht_tsc_clock(&c);
	clock_gettime(CLOCK_MONOTONIC_RAW, &a);
	t0 = ht_tsc_read();
	nanosleep(&pause, NULL);
	t1 = ht_tsc_read();
	clock_gettime(CLOCK_MONOTONIC_RAW, &b);
	ns = (uint64_t)(b.tv_sec - a.tv_sec) * 1000000000u + (uint64_t)b.tv_nsec - (uint64_t)a.tv_nsec;
	mine = ht_clock_tsc_to_ns(&c, t1) - ht_clock_tsc_to_ns(&c, t0);
	/* Between the two readings of either clock the program may lose the processor. */
	assert_true(mine >= 20000000 - 200000 && mine <= ns + ns / 1000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fits_both_ends),
		cmocka_unit_test(rises_without_a_jump),
		cmocka_unit_test(agrees_with_the_system),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
