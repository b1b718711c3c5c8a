/* SPDX-License-Identifier: BSD-2-Clause */
/* A block of more than 65,535 bytes, at a fixed address; build: -O0 -g -no-pie */
int
main(void)
{
	__asm__ volatile(".rept 14000\n\tleaq 8(%%rax,%%rax,1), %%rax\n\t.endr" ::: "rax");
	return 0;
}
