/* SPDX-License-Identifier: BSD-2-Clause */
/* Four threads in the same code, each on its own way through it.
 * build: -O1 -g -pthread */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

static __attribute__((noinline)) unsigned
collatz(uint64_t n)
{
	unsigned steps = 0;

	for (; n != 1; steps++)
		n = n & 1 ? 3 * n + 1 : n / 2;
	return steps;
}

static void *
work(void *arg)
{
	uintptr_t from = (uintptr_t)arg;
	uintptr_t sum = 0;

	for (uintptr_t i = 0; i < 300; i++)
		sum += collatz(from + i);
	return (void *)sum;
}

int
main(void)
{
	pthread_t t[4];
	uintptr_t total = 0;
	void *sum;

	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, work, (void *)(1 + 1000 * i));
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &sum);
		total += (uintptr_t)sum;
	}
	printf("%lu\n", (unsigned long)total);
	return 0;
}
