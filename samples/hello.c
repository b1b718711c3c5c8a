/* SPDX-License-Identifier: BSD-2-Clause */
/* The smallest program worth tracing.
 * build: -O0 -g */
#include <stdio.h>

int
main(int argc, char **argv)
{
	if (argc > 1)
		printf("hello, %s\n", argv[1]);
	else
		puts("hello, world");
	return 0;
}
