/* SPDX-License-Identifier: BSD-2-Clause */
/* Circles of direct jumps and calls that only a signal ends: no packet counts their turns.
 * build: -O1 -g -fno-optimize-sibling-calls */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

static volatile unsigned n;
static sigjmp_buf out;

static void
handler(int sig)
{
	siglongjmp(out, sig);
}

static void
arm(void)
{
	struct itimerval in_a_moment = { { 0, 0 }, { 0, 3000 } };

	setitimer(ITIMER_REAL, &in_a_moment, NULL);
}

int
main(void)
{
	signal(SIGALRM, handler);
	if (!sigsetjmp(out, 1)) {
		arm();
		for (;;)
			n++;
	}
	if (!sigsetjmp(out, 1)) {
		arm();
		/* a circle with two jumps back, entered in its middle */
		__asm__ volatile("	jmp 2f\n"
		                 "1:	nop\n"
		                 "	jmp 3f\n"
		                 "2:	lea 1(%rax), %rax\n"
		                 "	jmp 1b\n"
		                 "3:	nop\n"
		                 "	jmp 2b\n");
	}
	if (!sigsetjmp(out, 1)) {
		arm();
		__asm__ volatile("1:	jmp 1b");
	}
	puts(n ? "out again" : "never in");
	return 0;
}
