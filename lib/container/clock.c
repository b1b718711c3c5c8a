/* SPDX-License-Identifier: BSD-2-Clause */
/* TSC and ns, as perf converts them. */
#include <hwtrace/container.h>

uint64_t
ht_clock_tsc_to_ns(const struct ht_clock *clock, uint64_t tsc)
{
	unsigned shift = clock->shift & 63;
	uint64_t rest = tsc & ((1ull << shift) - 1);

	return clock->zero + (tsc >> shift) * clock->mult + ((rest * clock->mult) >> shift);
}

/* Rounded down, so that a stamp made from a TSC never comes back later than that TSC. */
uint64_t
ht_clock_ns_to_tsc(const struct ht_clock *clock, uint64_t ns)
{
	unsigned shift = clock->shift & 63;
	uint64_t t = ns - clock->zero;

	if (!clock->mult)
		return 0;
	return ((t / clock->mult) << shift) + ((t % clock->mult) << shift) / clock->mult;
}
