/* SPDX-License-Identifier: BSD-2-Clause */
/* Without a dynamic linker.
 * build: -O1 -g -static */
#include <stdio.h>

int
main(void)
{
	puts("hello, static world");
	return 0;
}
