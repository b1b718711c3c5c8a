/* SPDX-License-Identifier: BSD-2-Clause */
/* Asynchronous signals, between any two blocks.
 * build: -O1 -g */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

static volatile sig_atomic_t hits;

static void
on_alarm(int sig)
{
	(void)sig;
	hits++;
}

int
main(void)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	struct itimerval every = { { 0, 700 }, { 0, 700 } };
	volatile unsigned long x = 1;
	char a[300], b[300];

	memset(a, 1, sizeof(a));
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	while (hits < 60) {
		for (int i = 0; i < 1000; i++)
			x = x * 3 + (x & 4 ? 1 : 5);
		memcpy(b, a, (size_t)(x % 300));
		__asm__ volatile("mov %0, %%rsi; mov %1, %%rdi; mov $300, %%rcx; rep movsb"
		                 : : "r"(a), "r"(b) : "rsi", "rdi", "rcx", "memory");
		on_alarm(0); /* a handler is a function too */
		hits--;
	}
	puts("60 alarms");
	return 0;
}
