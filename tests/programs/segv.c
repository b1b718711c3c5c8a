/* SPDX-License-Identifier: BSD-2-Clause */
/* Faults in the middle of a block, and one in fetching the next instruction.
 * build: -O1 -g */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>

static sigjmp_buf out;
static volatile int faults;

static void
on_fault(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info, (void)context;
	faults++;
	siglongjmp(out, 1);
}

static void
on_plain(int sig)
{
	(void)sig;
	faults++;
	siglongjmp(out, 1);
}

int
main(void)
{
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	volatile int zero = 0, sum = 0;

	sigaction(SIGSEGV, &sa, NULL);
	sigaction(SIGILL, &sa, NULL);
	sigaction(SIGTRAP, &sa, NULL);
	sa.sa_flags = 0;
	sa.sa_handler = on_plain;
	sigaction(SIGFPE, &sa, NULL);
	for (volatile int i = 0; i < 6; i++) {
		if (!sigsetjmp(out, 1)) {
			sum += i;
			switch (i) {
			case 0: *(volatile int *)8 = 1; break;
			case 1: sum += *(volatile int *)16; break;
			case 2: sum = 7 / zero; break;
			case 3: __asm__ volatile("nop; ud2"); break;
			case 4: __asm__ volatile("nop; int3; nop"); break;
			case 5: ((void (*)(void))(long)zero)(); break;
			}
		}
	}
	printf("%d faults\n", faults);
	return 0;
}
