/* SPDX-License-Identifier: BSD-2-Clause */
/* Code that is made and changed while it runs: by others, and by itself in its own block.
 * build: -O1 -g */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

int
main(void)
{
	/* mov eax, imm; ret */
	static const uint8_t constant[] = { 0xb8, 0, 0, 0, 0, 0xc3 };
	/* xor eax,eax; 2: inc eax; mov byte [rip+4], imm (changes the add below); add eax, imm8; dec ecx; jnz 2; ret */
	static const uint8_t self[] = {
		0x31, 0xc0, 0xff, 0xc0, 0x88, 0x0d, 2, 0, 0, 0, 0x83, 0xc0, 1, 0xff, 0xc9, 0x75, 0xf1, 0xc3,
	};
	uint8_t *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int (*f)(void) = (int (*)(void))page;
	int total = 0, got;

	if (page == MAP_FAILED)
		return 1;
	for (int i = 0; i < 50; i++) {
		memcpy(page, constant, sizeof(constant));
		page[1] = (uint8_t)i;
		if (i % 3 == 0)
			page[0] = 0xbb - 1; /* another register: eax stays */
		__asm__ volatile("push %%rbx; push %%rdx; mov %2, %%eax; call *%1; pop %%rdx; pop %%rbx"
		                 : "=&a"(got) : "r"(f), "i"(1000) : "memory", "cc");
		total += got;
	}
	memcpy(page + 64, self, sizeof(self));
	__asm__ volatile("call *%1" : "=&a"(got) : "r"(page + 64), "c"(20) : "memory", "cc");
	printf("%d %d\n", total, got);
	/* Data behind read-only code again: written, protected, run. */
	mprotect(page, 8192, PROT_READ | PROT_WRITE);
	memcpy(page, constant, sizeof(constant));
	page[1] = 99;
	mprotect(page, 8192, PROT_READ | PROT_EXEC);
	printf("%d\n", f());
	munmap(page, 8192);
	return 0;
}
