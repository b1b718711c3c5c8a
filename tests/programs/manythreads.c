/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * manythreads N AT_ONCE ROUNDS: N threads, AT_ONCE of them at a time, each
 * ROUNDS times around a loop.  build: -O1 -g -pthread
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static long rounds;

static void *
work(void *arg)
{
	volatile unsigned long sum = 0;

	(void)arg;
	for (long i = 0; i < rounds; i++)
		sum += i % 3 ? (unsigned long)i : 1;
	return NULL;
}

int
main(int argc, char **argv)
{
	int n = argc > 3 ? atoi(argv[1]) : 1, at_once = argc > 3 ? atoi(argv[2]) : 1;
	pthread_t t[1024];

	rounds = argc > 3 ? atol(argv[3]) : 1;
	if (at_once < 1 || at_once > 1024)
		return 2;
	for (int done = 0; done < n; done += at_once) {
		for (int i = 0; i < at_once; i++)
			if (pthread_create(&t[i], NULL, work, NULL))
				return 1;
		for (int i = 0; i < at_once; i++)
			pthread_join(t[i], NULL);
	}
	puts("done");
	return 0;
}
