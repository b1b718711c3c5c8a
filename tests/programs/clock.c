/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls mark() again and again, and prints what the clock showed in front of and behind each.
 * build: -O1 */
#include <stdio.h>
#include <time.h>

static long long
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

__attribute__((noinline)) void
mark(void)
{
	__asm__ volatile("" ::: "memory");
}

int
main(void)
{
	long long before[40], after[40];

	for (int i = 0; i < 40; i++) {
		struct timespec pause = { .tv_nsec = i % 4 ? 0 : 5000000 };

		nanosleep(&pause, NULL);
		before[i] = now();
		mark();
		after[i] = now();
	}
	for (int i = 0; i < 40; i++)
		printf("%lld %lld\n", before[i], after[i]);
	return 0;
}
