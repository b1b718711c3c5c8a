/* SPDX-License-Identifier: BSD-2-Clause */
/* build: -O1 -nostdlib -static -fno-pic -fno-stack-protector -fno-asynchronous-unwind-tables -mno-red-zone
 *
 * A program that sets the trap flag itself, by every instruction that can, and
 * prints which traps it got and where.  It has no C library, so that
 * trapflag32.c is the same in 32-bit code.
 */
#define TF 0x100

#define SIGTRAP 5
#define SIGUSR1 10
#define SIGALRM 14

#ifdef __x86_64__
enum {
	WRITE = 1,
	SIGACTION = 13,
	SIGPROCMASK = 14,
	SETITIMER = 38,
	GETPID = 39,
	FORK = 57,
	EXIT = 60,
	WAIT4 = 61,
	KILL = 62
};
#define SP       "%%rsp"
#define PUSHF    "pushfq; "
#define POPF     "popfq; "
#define LEA      "lea 2f(%%rip), %%rax; "
#define AX       "%%rax"
#define ADDR_AT  2  /* si_addr in siginfo, in words */
#define FLAGS_AT 22 /* of the context, in words: flags, link, stack, 17 registers */
__asm__(".globl restore\nrestore: mov $15, %eax\nsyscall\n");
#else
enum {
	WRITE = 4,
	SIGACTION = 174,
	SIGPROCMASK = 175,
	SETITIMER = 104,
	GETPID = 20,
	FORK = 2,
	EXIT = 1,
	WAIT4 = 114,
	KILL = 37
};
#define SP       "%%esp"
#define PUSHF    "pushf; "
#define POPF     "popf; "
#define LEA      "lea 2f, %%eax; "
#define AX       "%%eax"
#define ADDR_AT  3
#define FLAGS_AT 21
__asm__(".globl restore\nrestore: mov $173, %eax\nint $0x80\n");
#endif

#define SET       PUSHF "orl $0x100, (" SP "); " POPF
#define CLEAR     PUSHF "andl $~0x100, (" SP "); " POPF
#define RUN(code) __asm__ volatile("1: " code : : : "memory", "cc", "rax", "rcx")

extern void restore(void);

struct action {
	void (*handler)(int, long *, long *);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long long mask;
};

#ifdef __x86_64__
static long
call(long n, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	long r;

	__asm__ volatile("syscall"
	                 : "=a"(r)
	                 : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10)
	                 : "rcx", "r11", "memory");
	return r;
}
#else
static long
call(long n, long a, long b, long c, long d)
{
	long r;

	__asm__ volatile("int $0x80" : "=a"(r) : "a"(n), "b"(a), "c"(b), "d"(c), "S"(d) : "memory");
	return r;
}
#endif

/* -- what is printed ------------------------------------------------------------ */

static char line[1024];
static unsigned at;

static void
text(const char *s)
{
	while (*s && at < sizeof(line))
		line[at++] = *s++;
}

static void
number(long v)
{
	char digits[24];
	int n = 0;

	text(v < 0 ? " -" : " ");
	if (v < 0)
		v = -v;
	do {
		digits[n++] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	while (n && at < sizeof(line))
		line[at++] = digits[--n];
}

static void
end(void)
{
	text("\n");
	call(WRITE, 1, (long)line, (long)at, 0);
	at = 0;
}

/* -- handlers ----------------------------------------------------------------- */

static volatile long traps, code, flagged, calls, where[64], clear_after;

static void
on_trap(int sig, long *info, long *context)
{
	(void)sig;
	if (traps < 64)
		where[traps] = info[ADDR_AT];
	traps++;
	code = ((int *)info)[2];
	flagged += !!(context[FLAGS_AT] & TF);
	if (traps == clear_after)
		context[FLAGS_AT] &= ~(long)TF;
}

static void
on_call(int sig, long *info, long *context)
{
	(void)sig, (void)info;
	calls++;
	flagged += !!(context[FLAGS_AT] & TF);
}

static void
set_flag(int sig, long *info, long *context)
{
	(void)sig, (void)info;
	context[FLAGS_AT] |= TF;
}

static void
alarm_in(long us)
{
	long timer[4] = { 0, 0, 0, us };

	call(SETITIMER, 0, (long)timer, 0, 0);
}

static void
on_alarm(int sig, long *info, long *context)
{
	on_call(sig, info, context);
	alarm_in(1500);
}

static void
use(int sig, void (*handler)(int, long *, long *))
{
	struct action act = { handler, 0x04000004, restore, 0 }; /* SA_RESTORER, SA_SIGINFO */

	call(SIGACTION, sig, (long)&act, 0, 8);
}

static void
block(int how)
{
	unsigned long long mask = 1ull << (SIGTRAP - 1);

	call(SIGPROCMASK, how, (long)&mask, 0, 8);
}

static long
flag(void)
{
	long f;

	__asm__ volatile(PUSHF "pop %0" : "=r"(f));
	return !!(f & TF);
}

static void
start(void)
{
	use(SIGTRAP, on_trap);
	traps = code = flagged = calls = clear_after = 0;
}

static void
told(const char *name)
{
	long n = traps, now = flag();

	text(name);
	text(":");
	number(n);
	text(" traps,");
	number(flagged);
	text(" with the flag, code");
	number(code);
	text(", then");
	number(now);
	text(", at");
	for (long i = 0; i < n && i < 64; i++)
		number(i ? where[i] - where[0] : 0);
	end();
}

/* -- cases ------------------------------------------------------------------- */

static void
popped(void)
{
	start();
	RUN(SET "nop; nop; " CLEAR);
	for (volatile int i = 0; i < 20; i++)
		;
	told("popf");
	start();
	RUN(PUSHF POPF "nop; nop");
	call(KILL, call(GETPID, 0, 0, 0, 0), SIGUSR1, 0, 0);
	told("popf without");
	start();
	RUN(SET "nop; pushf; pop " AX "; nop; " CLEAR CLEAR SET CLEAR);
	told("popf thrice");
	/* In the shadow of a load of SS. */
	start();
	RUN("mov %%ss, %%eax; " PUSHF "orl $0x100, (" SP "); mov %%eax, %%ss; " POPF
	    "nop; nop; " CLEAR "nop");
	told("popf behind mov ss");
	start();
	RUN("mov %%ss, %%eax; " SET "nop; mov %%eax, %%ss; nop; nop; " PUSHF "andl $~0x100, (" SP
	    "); mov %%eax, %%ss; " POPF "nop; nop");
	told("mov ss");
	start();
	RUN("pushfw; orw $0x100, (" SP "); popfw; nop; pushfw; andw $~0x100, (" SP
	    "); popfw; nop; nop");
	told("popfw");
	start();
	RUN("mov %%ss, %%eax; pushfw; orw $0x100, (" SP "); mov %%eax, %%ss; popfw; nop; " CLEAR
	    "nop");
	told("popfw behind mov ss");
}

static void
returned(void)
{
	start();
#ifdef __x86_64__
	RUN("mov %%rsp, %%rcx; mov %%ss, %%eax; push %%rax; push %%rcx; pushfq; orl $0x100, "
	    "(%%rsp); mov %%cs, %%eax; "
	    "push %%rax; " LEA "push %%rax; iretq; 2: nop; nop; " CLEAR);
#else
	RUN("pushf; orl $0x100, (%%esp); mov %%cs, %%eax; push %%eax; " LEA
	    "push %%eax; iret; 2: nop; nop; " CLEAR);
#endif
	told("iret");
	start();
	clear_after = 4;
	use(SIGUSR1, set_flag);
	call(KILL, call(GETPID, 0, 0, 0, 0), SIGUSR1, 0, 0);
	RUN("nop; nop; nop; nop; nop; nop; nop");
	text("sigreturn:");
	number(traps);
	end();
	told("sigreturn");
	use(SIGUSR1, on_call);
}

static void
around(void)
{
	static char from[8], to[8];

	start();
	RUN(SET);
	call(GETPID, 0, 0, 0, 0);
	RUN(CLEAR);
	told("system call");
	start();
	RUN(SET);
	__asm__ volatile("rep movsb" : : "S"(from), "D"(to), "c"(sizeof(to)) : "memory");
	RUN(CLEAR);
	told("rep movsb");
	start();
	RUN(SET "nop; int3; nop; .byte 0xcd, 3; nop; .byte 0xf1; nop; " CLEAR);
	told("breakpoints");
	start();
	RUN(SET);
	call(KILL, call(GETPID, 0, 0, 0, 0), SIGUSR1, 0, 0);
	RUN(CLEAR);
	told("another signal");
	number(calls);
	end();
}

static void
blocked(void)
{
	start();
	RUN(SET "nop; nop; " CLEAR);
	block(0);
	call(KILL, call(GETPID, 0, 0, 0, 0), SIGTRAP, 0, 0);
	RUN(PUSHF POPF "nop");
	call(GETPID, 0, 0, 0, 0);
	number(traps);
	text(" before it is unblocked,");
	block(1);
	number(traps);
	text(" after");
	end();
}

/* A child: what ends it, or the traps that it got. */
#define CHILD(name, ...)                                 \
	do {                                             \
		long pid_;                               \
		int status_ = 0;                         \
		start();                                 \
		pid_ = call(FORK, 0, 0, 0, 0);           \
		if (!pid_) {                             \
			__VA_ARGS__;                     \
			call(EXIT, traps, 0, 0, 0);      \
		}                                        \
		call(WAIT4, pid_, (long)&status_, 0, 0); \
		text(name ":");                          \
		number(status_ & 0x7f);                  \
		number(status_ >> 8);                    \
		end();                                   \
	} while (0)

static void
children(void)
{
	long pid;
	int status = 0;

	CHILD("int3", RUN("int3; int3"));
	CHILD("int3 blocked", block(0); RUN("nop; int3; nop"));
	CHILD("int 3 blocked", block(0); RUN("nop; .byte 0xcd, 3; nop"));
	CHILD("int1 blocked", block(0); RUN("nop; .byte 0xf1; nop"));
	CHILD("int3 ignored", use(SIGTRAP, (void (*)(int, long *, long *))1);
	      RUN("nop; int3; nop"));
	CHILD("popf blocked", block(0); RUN(SET "nop; " CLEAR));
	CHILD("popf ignored", use(SIGTRAP, (void (*)(int, long *, long *))1);
	      RUN(SET "nop; " CLEAR));
	CHILD("popf by default", use(SIGTRAP, 0); RUN(SET "nop; " CLEAR));
	/* Born with the flag. */
	start();
	RUN(SET);
	pid = call(FORK, 0, 0, 0, 0);
	RUN(CLEAR);
	if (!pid)
		call(EXIT, traps, 0, 0, 0);
	call(WAIT4, pid, (long)&status, 0, 0);
	text("fork:");
	number(traps);
	number(status);
	end();
}

/* Signals that come at any moment find no flag, and no trap comes. */
static void
interrupted(void)
{
	start();
	use(SIGALRM, on_alarm);
	alarm_in(1500);
	for (int i = 0; i < 1000; i++)
		RUN(PUSHF POPF PUSHF POPF);
	while (!calls)
		;
	alarm_in(0);
	told("interrupted");
}

void _start(void) __attribute__((noreturn));

void
_start(void)
{
	use(SIGUSR1, on_call);
	popped();
	returned();
	around();
	blocked();
	children();
	interrupted();
	for (;;)
		call(EXIT, 3, 0, 0, 0);
}
