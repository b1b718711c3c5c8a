/* SPDX-License-Identifier: BSD-2-Clause */
/* build: -O1 -g -static
 *
 * Calls what stands in the vsyscall page, which the kernel does itself; the
 * instruction that it returns to changes the stack.  Prints what it finds; "none"
 * where the kernel has no such page.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

static sigjmp_buf none;

static void
on_fault(int sig)
{
	siglongjmp(none, sig);
}

static __attribute__((noinline)) long
call(void)
{
	long now;

	__asm__ volatile("xor %%edi, %%edi; mov $0xffffffffff600400, %%rax; call *%%rax; push %%rax; pop %%rcx"
	                 : "=a"(now) : : "rcx", "rdi", "r11", "memory");
	return now;
}

int
main(void)
{
	signal(SIGSEGV, on_fault);
	if (sigsetjmp(none, 1)) {
		puts("none");
		return 0;
	}
	for (int i = 0; i < 3; i++)
		puts(call() > 1000000000 ? "time" : "no time");
	return 0;
}
