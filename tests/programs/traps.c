/* SPDX-License-Identifier: BSD-2-Clause */
/* build: -O1 -g -static
 *
 * A program that uses SIGTRAP and the trap flag itself, and prints what it
 * finds.  It must print the same whoever watches.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define TF 0x100

static volatile int count, last_code, last_tf;

static void
handler(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *u = context;

	(void)sig;
	count++;
	last_code = info->si_code;
	last_tf = !!(u->uc_mcontext.gregs[REG_EFL] & TF);
}

static void
stop_stepping(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	(void)sig;
	last_code = info->si_code;
	if (++count == 4)
		u->uc_mcontext.gregs[REG_EFL] &= ~TF;
}

static void
use(void (*f)(int, siginfo_t *, void *), int flags)
{
	struct sigaction sa = { .sa_sigaction = f, .sa_flags = SA_SIGINFO | flags };

	sigaction(SIGTRAP, &sa, NULL);
	count = last_code = last_tf = 0;
}

static int
flag_pushed(void)
{
	unsigned long f;

	__asm__ volatile("pushfq; pop %0" : "=r"(f));
	return !!(f & TF);
}

static int
blocked(void)
{
	sigset_t now;

	sigprocmask(SIG_SETMASK, NULL, &now);
	return sigismember(&now, SIGTRAP);
}

static const char *
action(void)
{
	struct sigaction sa;

	sigaction(SIGTRAP, NULL, &sa);
	return sa.sa_handler == SIG_IGN ? "ignored" : sa.sa_handler == SIG_DFL ? "default" : "handled";
}

static void
breakpoints(void)
{
	use(handler, 0);
	__asm__ volatile("int3; nop; int3");
	printf("int3: %d times, code %d, flag %d, %s\n", count, last_code, last_tf, action());
	use(handler, 0);
	__asm__ volatile(".byte 0xf1; nop");
	printf("int1: %d times, code %d\n", count, last_code);
}

static void
flags(void)
{
	unsigned long f = 0, r11;

	printf("trap flag: pushed %d\n", flag_pushed());
	__asm__ volatile("mov $39, %%eax; syscall; mov %%r11, %0" : "=r"(r11) : : "rax", "rcx", "r11", "memory");
	printf("trap flag: in r11 %d\n", !!(r11 & TF));
	__asm__ volatile("mov %%ss, %%eax; mov %%eax, %%ss; pushfq; pop %0" : "=r"(f) : : "rax");
	printf("trap flag: behind mov ss %d\n", !!(f & TF));
	use(stop_stepping, 0);
	__asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq; nop; nop; nop; nop; nop" : : : "memory", "cc");
	printf("own stepping: %d steps, code %d, then %d\n", count, last_code, flag_pushed());
}

static void
masks(void)
{
	sigset_t all, old, pending;
	char buf[2];
	int p[2];

	use(handler, 0);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	printf("blocked: %d, %s\n", blocked(), action());
	raise(SIGTRAP);
	sigpending(&pending);
	printf("pending: %d, %d times\n", sigismember(&pending, SIGTRAP), count);
	if (pipe(p) == 0 && fork() == 0) {
		buf[0] = (char)('0' + blocked());
		_exit(write(p[1], buf, 1) != 1);
	}
	if (read(p[0], buf, 1) == 1)
		printf("blocked in a child: %c\n", buf[0]);
	wait(NULL);
	sigprocmask(SIG_SETMASK, &old, NULL);
	printf("unblocked: %d times, code %d, blocked %d, %s\n", count, last_code, blocked(), action());

	use(handler, 0);
	sigprocmask(SIG_SETMASK, &all, &old);
	kill(getpid(), SIGTRAP);
	for (int i = 0; i < 100; i++)
		count += 0;
	printf("sent while blocked: %d times\n", count);
	printf("waited for: %d\n", sigwaitinfo(&all, NULL));
	sigprocmask(SIG_SETMASK, &old, NULL);
	printf("after waiting: %d times\n", count);
}

static void
ignoring(void)
{
	signal(SIGTRAP, SIG_IGN);
	printf("%s\n", action());
	kill(getpid(), SIGTRAP);
	raise(SIGTRAP);
	printf("still there, %s\n", action());
	if (fork() == 0) {
		printf("child: %s\n", action());
		fflush(stdout);
		_exit(0);
	}
	wait(NULL);
	signal(SIGTRAP, SIG_DFL);
	printf("%s\n", action());
}

int
main(void)
{
	int status = 0;

	setvbuf(stdout, NULL, _IONBF, 0);
	breakpoints();
	flags();
	masks();
	ignoring();
	if (fork() == 0) {
		__asm__ volatile("int3");
		_exit(0);
	}
	wait(&status);
	printf("int3 in a child: killed by %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	return 0;
}
