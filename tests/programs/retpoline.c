/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Retpolines: indirect calls and jumps made by a return that goes elsewhere than
 * its call says, among calls and returns that do match.
 * build: -O1 -fcf-protection=none -mindirect-branch=thunk-inline
 */
#include <stdio.h>

static unsigned twice(unsigned x) { return x * 2; }
static unsigned third(unsigned x) { return x / 3 + 7; }

static unsigned
choose(unsigned x)
{
	switch (x % 7) { /* by a table */
	case 0: return x + 11;
	case 1: return x ^ 0x55;
	case 2: return x << 1;
	case 3: return x - 13;
	case 4: return ~x;
	case 5: return x >> 2;
	default: return 3;
	}
}

static unsigned (*const table[])(unsigned) = { twice, third, choose };

static unsigned __attribute__((noinline))
deep(unsigned x, unsigned n)
{
	return n ? deep(table[n % 3](x), n - 1) + 1 : x;
}

int
main(void)
{
	unsigned x = 1;

	for (unsigned i = 0; i < 200; i++)
		x = deep(x, i % 9) ^ i;
	printf("%u\n", x);
	return 0;
}
