/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The time stamp counter and its relation to ns: the kernel's own figures when
 * it gives them (then our times are on perf's clock), else calibrated here
 * against CLOCK_MONOTONIC_RAW.  One relation is used for a whole recording.
 */
#ifndef CAPTURE_TSC_H
#define CAPTURE_TSC_H

#include <stdint.h>

#include <hwtrace/container.h>

static inline uint64_t
ht_tsc_read(void)
{
	uint32_t lo, hi;

	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return (uint64_t)hi << 32 | lo;
}

void ht_tsc_clock(struct ht_clock *out);
/* Ticks a second by `clock`. */
uint64_t ht_tsc_hz(const struct ht_clock *clock);
/* The clock of a counter that ran from (tsc0, ns0) to (tsc1, ns1). */
void ht_tsc_clock_from(struct ht_clock *out, uint64_t tsc0, uint64_t ns0, uint64_t tsc1, uint64_t ns1);

#endif
