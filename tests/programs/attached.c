/* SPDX-License-Identifier: BSD-2-Clause */
/* build: -O1 -g -static -pthread
 *
 * To be attached to: one thread computes, one sleeps in short turns, one waits
 * for the end of its input; then it says how far the others came, and whether
 * its waiting was ever disturbed.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
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
	struct epoll_event ev = { .events = EPOLLIN };
	int e = epoll_create1(0);
	pthread_t t;
	long before, naps_before;
	char c;

	pthread_create(&t, NULL, compute, NULL);
	pthread_create(&t, NULL, doze, NULL);
	puts("ready");
	fflush(stdout);
	epoll_ctl(e, EPOLL_CTL_ADD, 0, &ev);
	do {
		if (epoll_wait(e, &ev, 1, -1) < 0)
			printf("disturbed: %s\n", strerror(errno));
	} while (read(0, &c, 1) == 1);
	before = turns;
	naps_before = naps;
	for (int i = 0; i < 6000 && (turns == before || naps == naps_before); i++)
		usleep(10000);
	puts(turns > before && naps > naps_before ? "alive" : "stuck");
	return 6;
}
