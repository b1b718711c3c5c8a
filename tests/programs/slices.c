/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two threads and a child, each with work whose outcomes follow no pattern, so that
 * the trace is long, and with a system call now and then, so that it has times.
 * build: -O1 -g -pthread
 */
#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static uint32_t
odd(uint32_t x)
{
	return x * 3 + 1;
}

static uint32_t
even(uint32_t x)
{
	return x / 2 + 7;
}

static void *
work(void *arg)
{
	uint32_t (*volatile step[2])(uint32_t) = { even, odd };
	uint32_t x = *(uint32_t *)arg;

	for (int i = 0; i < 24; i++) {
		for (int k = 0; k < 1000; k++) {
			x = x * 1103515245 + 12345;
			x ^= step[x >> 16 & 1](x);
		}
		syscall(SYS_getppid);
	}
	*(uint32_t *)arg = x;
	return NULL;
}

int
main(void)
{
	uint32_t seed[3] = { 1, 2, 3 };
	pthread_t thread;
	pid_t child = fork();

	if (child == 0) {
		work(&seed[0]);
		_exit(0);
	}
	if (child < 0 || pthread_create(&thread, NULL, work, &seed[1]))
		return 1;
	work(&seed[2]);
	pthread_join(thread, NULL);
	waitpid(child, NULL, 0);
	return (seed[1] ^ seed[2]) == 0;
}
