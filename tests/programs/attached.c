/* SPDX-License-Identifier: BSD-2-Clause */
/* build: -O1 -g -static -pthread
 *
 * To be attached to: one thread computes, one sleeps in short turns, one waits
 * for the end of its input; then it says how far the others came.
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static volatile long turns, naps;

static void *
compute(void *arg)
{
	for (;;)
		turns++;
	return arg;
}

static void *
doze(void *arg)
{
	for (;; naps++)
		usleep(5000);
	return arg;
}

int
main(void)
{
	pthread_t t;
	long before, naps_before;
	char c;

	pthread_create(&t, NULL, compute, NULL);
	pthread_create(&t, NULL, doze, NULL);
	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) == 1)
		;
	before = turns;
	naps_before = naps;
	for (int i = 0; i < 6000 && (turns == before || naps == naps_before); i++)
		usleep(10000);
	puts(turns > before && naps > naps_before ? "alive" : "stuck");
	return 6;
}
