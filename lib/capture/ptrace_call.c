/* SPDX-License-Identifier: BSD-2-Clause */
/* System calls that change what a recording must know: mappings, names, signal actions, CPU masks. */
#include <sys/prctl.h>
#include <sys/mman.h>

#include "capture/ptrace.h"

enum effect {
	NONE,
	MAP,      /* makes a mapping: argument 2 is its protection */
	REMAP,    /* changes mappings at (argument 0, argument 1) */
	ATTACH,   /* may change any mapping */
	NAME,     /* prctl() */
	ACTION,   /* sigaction() */
	GETCPUS,
	SETCPUS,
	FORK
};

/* The same call by its two numbers, -1 = none. */
static const struct { int n64, n32; enum effect effect; } calls[] = {
	{ 9, 192, MAP },      /* mmap, mmap2 */
	{ -1, 90, ATTACH },   /* old mmap, with its arguments in memory */
	{ 10, 125, MAP },     /* mprotect */
	{ 329, 380, MAP },    /* pkey_mprotect */
	{ 11, 91, REMAP },    /* munmap */
	{ 25, 163, REMAP },   /* mremap */
	{ 30, 397, ATTACH },  /* shmat */
	{ 67, 398, ATTACH },  /* shmdt */
	{ -1, 117, ATTACH },  /* ipc */
	{ 216, 257, ATTACH }, /* remap_file_pages */
	{ 158, 384, ATTACH }, /* arch_prctl: may map a vdso */
	{ 157, 172, NAME },
	{ 13, 174, ACTION },  /* rt_sigaction */
	{ -1, 67, ACTION },   /* sigaction */
	{ 204, 242, GETCPUS },
	{ 203, 241, SETCPUS },
	{ 56, 120, FORK },    /* clone */
	{ 57, 2, FORK },      /* fork */
	{ 58, 190, FORK },    /* vfork */
	{ 435, 435, FORK },   /* clone3 */
};

/*
 * Calls that any signal ends with EINTR, be it ignored, since a traced thread is
 * woken for each: they are made again then.  `ms`: argument 3 is a time to wait.
 */
static const struct { int n64, n32, ms; } waits[] = {
	{ 232, 256, 1 }, /* epoll_wait */
	{ 281, 319, 1 }, /* epoll_pwait */
	{ 441, 441, 0 }, /* epoll_pwait2 */
	{ 65, -1, 0 },   /* semop */
	{ 220, 420, 0 }, /* semtimedop */
	{ 128, 177, 0 }, /* rt_sigtimedwait */
	{ -1, 421, 0 },  /* ... with the longer time */
	{ 208, 247, 0 }, /* io_getevents */
	{ 333, 385, 0 }, /* io_pgetevents */
	{ -1, 416, 0 },  /* ... with the longer time */
	{ 426, 426, 0 }, /* io_uring_enter */
	{ 43, -1, 0 },   /* accept, and what follows: of sockets with a time limit */
	{ 288, 364, 0 }, /* accept4 */
	{ 45, 371, 0 },  /* recvfrom */
	{ 47, 372, 0 },  /* recvmsg */
};

int
ht_pcall_waits(const struct ht_pthread *t, int *ms)
{
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
		if ((t->call32 ? waits[i].n32 : waits[i].n64) == t->call) {
			*ms = waits[i].ms;
			return 1;
		}
	return 0;
}

static enum effect
effect_of(const struct ht_pthread *t)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if ((t->call32 ? calls[i].n32 : calls[i].n64) == t->call)
			return calls[i].effect;
	return NONE;
}

static int
touches_code(const struct ht_pthread *t)
{
	uint64_t start = t->arg[0], end = start + t->arg[1];

	for (size_t i = 0; i < t->proc->maps.n; i++)
		if (t->proc->maps.at[i].start < end && start < t->proc->maps.at[i].end)
			return 1;
	return 0;
}

void
ht_pcall_enter(struct ht_ptrace *r, struct ht_pthread *t, const struct user_regs_struct *regs)
{
	t->call = (long)regs->orig_rax;
	/* INT 80H and SYSENTER mean the i386 table in 64-bit code too. */
	t->call32 = t->mode == 32 || t->insn.bytes[t->insn.x86.size - 1u] != 0x05;
	t->arg[0] = t->call32 ? (uint32_t)regs->rbx : regs->rdi;
	t->arg[1] = t->call32 ? (uint32_t)regs->rcx : regs->rsi;
	t->arg[2] = t->call32 ? (uint32_t)regs->rdx : regs->rdx;
	/* A child that is not followed keeps the mask that it is born with. */
	if (r->config->flags & HT_CAPTURE_NO_INHERIT && effect_of(t) == FORK)
		ht_ppin_release(r, t);
}

void
ht_pcall_leave(struct ht_ptrace *r, struct ht_pthread *t, const struct user_regs_struct *regs)
{
	int64_t result = t->call32 ? (int32_t)regs->rax : (int64_t)regs->rax;

	switch (effect_of(t)) {
	case MAP:
		if (t->arg[2] & PROT_EXEC || touches_code(t))
			ht_pproc_scan(r, t->proc, t->tid, 0);
		break;
	case REMAP:
		if (touches_code(t))
			ht_pproc_scan(r, t->proc, t->tid, 0);
		break;
	case ATTACH:
		ht_pproc_scan(r, t->proc, t->tid, 0);
		break;
	case NAME:
		if (t->arg[0] == PR_SET_NAME && !result)
			ht_pthread_rename(r, t, 0);
		break;
	case ACTION:
		if (t->arg[0] == SIGTRAP && !result)
			ht_psignal_action(t);
		break;
	case GETCPUS:
		ht_ppin_get(r, t, result);
		break;
	case SETCPUS:
		ht_ppin_set(r, t, result);
		break;
	case FORK:
		if (r->config->flags & HT_CAPTURE_NO_INHERIT)
			ht_ppin_hold(r, t);
		break;
	case NONE:
		break;
	}
}
