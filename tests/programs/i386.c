/* SPDX-License-Identifier: BSD-2-Clause */
/* build: -m32 -O1 -nostdlib -static -fno-pic -fno-stack-protector -fno-asynchronous-unwind-tables
 *
 * 32-bit code without a C library: calls, a jump table, a signal handler, a
 * child, and a visit to 64-bit code by a far call.  Ends with status 7.
 */
#define SIGUSR1 10

static long
call(long n, long a, long b, long c)
{
	long r;

	__asm__ volatile("int $0x80" : "=a"(r) : "a"(n), "b"(a), "c"(b), "d"(c) : "memory");
	return r;
}

static volatile int hits, table_hits;

static void
handler(int sig)
{
	hits += sig;
}

__asm__(
	".globl restore\n"
	"restore:\n"
	"	mov $119, %eax\n" /* sigreturn pops the signal number itself */
	"	pop %edx\n"
	"	int $0x80\n"
	".globl wide\n"
	"wide:\n"               /* 64-bit code */
	"	.code64\n"
	"	mov $0x100000001, %rax\n"
	"	shr $32, %rax\n"
	"	lretl\n"
	"	.code32\n");

extern void restore(void);
extern char wide[];

struct action {
	void (*handler)(int);
	unsigned long mask, flags;
	void (*restorer)(void);
};

static int __attribute__((noinline))
recurse(int n)
{
	return n < 2 ? n : recurse(n - 1) + recurse(n - 2);
}

static int __attribute__((noinline))
pick(int n)
{
	switch (n) {
	case 0: return table_hits += 3;
	case 1: return table_hits ^= 5;
	case 2: return table_hits -= 7;
	case 3: return table_hits *= 9;
	case 4: return table_hits |= 0x10;
	default: return 0;
	}
}

static long
far_call(void)
{
	struct { char *ip; unsigned short cs; } __attribute__((packed)) to = { wide, 0x33 };
	long r;

	__asm__ volatile("lcall *%1" : "=a"(r) : "m"(to) : "memory");
	return r;
}

void _start(void) __attribute__((noreturn));

void
_start(void)
{
	struct action act = { handler, 0, 0x04000000, restore };
	char text[] = "hits 0 far 0\n";
	long pid;
	int status;

	recurse(9);
	for (int i = 0; i < 20; i++)
		pick(i % 6);
	call(67, SIGUSR1, (long)&act, 0);
	call(37, call(20, 0, 0, 0), SIGUSR1, 0);
	pid = call(2, 0, 0, 0);
	if (pid == 0)
		call(1, 3, 0, 0);
	call(7, pid, (long)&status, 0);
	text[5] += (char)(hits == SIGUSR1);
	text[11] += (char)far_call();
	call(4, 1, (long)text, sizeof(text) - 1);
	for (;;)
		call(1, 4 + (status >> 8), 0, 0);
}
