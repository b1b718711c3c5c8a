/* SPDX-License-Identifier: BSD-2-Clause */
/* Die: by abort(3), or as argv[1] says: "segv", "jump", "ill", "trap", "div", "self", "spin".
 * build: -O1 -g */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
	while (!strcmp(how, "spin"))
		zero++;
	abort();
}
