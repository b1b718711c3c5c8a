/* SPDX-License-Identifier: BSD-2-Clause */
/* Die: by abort(3), or as argv[1] says: "segv", "jump", "ill", "trap", "div", "self"; or go on for ever: "spin".
 * build: -O1 -g */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static __attribute__((noinline)) unsigned
odd(unsigned n)
{
	return n & 4 ? 3 * n + 1 : n >> 1;
}

static __attribute__((noinline)) unsigned
even(unsigned n)
{
	return n & 8 ? n + 5 : odd(n) ^ 9;
}

static unsigned (*volatile const steps[2])(unsigned) = { even, odd };

int
main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "abort";
	volatile int zero = 0;

	if (!strcmp(how, "segv"))
		*(volatile int *)24 = zero;
	if (!strcmp(how, "jump"))
		((void (*)(void))(long)zero)();
	if (!strcmp(how, "ill"))
		__asm__ volatile("nop; ud2");
	if (!strcmp(how, "trap"))
		__asm__ volatile("nop; int3");
	if (!strcmp(how, "div"))
		zero = 7 / zero;
	if (!strcmp(how, "self"))
		kill(getpid(), SIGTERM);
	if (!strcmp(how, "spin"))
		for (unsigned n = 1;;)
			n = steps[n & 1](n) * 2654435761u >> 3;
	abort();
}
