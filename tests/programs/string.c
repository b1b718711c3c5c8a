/* SPDX-License-Identifier: BSD-2-Clause */
/* Repeated string instructions: long, short, none, compared, backwards; LOOP and JRCXZ to themselves.
 * build: -O1 -g */
#include <stdio.h>
#include <string.h>

static char a[5000], b[5000];

static void
copy(unsigned long n)
{
	void *s = a, *d = b;

	__asm__ volatile("rep movsb" : "+S"(s), "+D"(d), "+c"(n) : : "memory");
}

int
main(void)
{
	unsigned long n;
	void *s = a, *d = b;

	memset(a, 'x', sizeof(a));
	a[40] = 'y';
	for (unsigned long i = 0; i < 4; i++)
		copy(i);
	copy(sizeof(a));
	b[77] = 'z';
	n = sizeof(a);
	__asm__ volatile("repe cmpsb" : "+S"(s), "+D"(d), "+c"(n) : : "memory", "cc");
	printf("%lu\n", n);
	d = a;
	n = sizeof(a);
	__asm__ volatile("mov $0x79, %%eax; repne scasb" : "+D"(d), "+c"(n) : : "memory", "cc", "eax");
	printf("%lu\n", n);
	d = b;
	n = 600;
	__asm__ volatile("rep stosq; mov $9, %%ecx; 1: loop 1b; 2: jrcxz 3f; jmp 2b; 3:"
	                 : "+D"(d), "+c"(n) : "a"(0ul) : "memory", "cc");
	return 0;
}
