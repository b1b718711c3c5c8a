/* SPDX-License-Identifier: BSD-2-Clause */
/* Returns that never come, and a return to where no call came from.
 * build: -O0 -g */
#include <setjmp.h>
#include <stdio.h>

static jmp_buf out;

static void
descend(int n)
{
	if (!n)
		longjmp(out, 1);
	descend(n - 1);
}

static void
skip_a_frame(int n)
{
	if (n)
		skip_a_frame(n - 1);
}

int
main(void)
{
	for (volatile int i = 0; i < 20; i++) {
		if (!setjmp(out))
			descend(i * 5);
		skip_a_frame(i);
	}
	puts("done");
	return 0;
}
