/* SPDX-License-Identifier: BSD-2-Clause */
/* Deeper than the call stack that returns are compressed with.
 * build: -O0 -g */
#include <stdio.h>

static int
down(int n)
{
	return n ? down(n - 1) + 1 : 0;
}

int
main(void)
{
	for (int n = 60; n < 70; n++)
		printf("%d\n", down(n));
	printf("%d\n", down(3000));
	return 0;
}
