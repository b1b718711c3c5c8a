/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <sys/ptrace.h>

#include "capture/ptrace.h"

uint64_t
ht_preg_get(const struct ht_pthread *t, size_t offset)
{
	return (uint64_t)ptrace(PTRACE_PEEKUSER, t->tid, offset, 0);
}

void
ht_preg_set(const struct ht_pthread *t, size_t offset, uint64_t value)
{
	ptrace(PTRACE_POKEUSER, t->tid, offset, value);
}

void
ht_pflag_pushed(struct ht_pthread *t)
{
	uint64_t sp = HT_PREG(t, rsp);
	uint16_t flags;

	if (t->own_tf || ht_pproc_read(t->proc, sp, &flags, sizeof(flags)) != sizeof(flags) ||
	    !(flags & HT_TRAP_FLAG))
		return;
	flags &= (uint16_t)~HT_TRAP_FLAG;
	ht_pproc_write(t->proc, sp, &flags, sizeof(flags));
}

/* The flags register as the program is to have it. */
static void
set_own(const struct ht_pthread *t)
{
	uint64_t flags = HT_PREG(t, eflags), own = t->own_tf ? HT_TRAP_FLAG : 0;

	if ((flags & HT_TRAP_FLAG) != own)
		HT_PREG_SET(t, eflags, (flags & ~(uint64_t)HT_TRAP_FLAG) | own);
}

/* What POPF took from the stack has not been written over. */
static int
popped_flag(const struct ht_pthread *t)
{
	const struct ht_pinsn *insn = &t->insn;
	size_t size = memchr(insn->bytes, 0x66, insn->x86.size) ? 2 : t->mode / 8;
	uint16_t flags = 0;

	ht_pproc_read(t->proc, HT_PREG(t, rsp) - size, &flags, sizeof(flags));
	return !!(flags & HT_TRAP_FLAG);
}

void
ht_pflag_popped(struct ht_pthread *t, int shadowed)
{
	int ours = !t->own_tf;

	t->own_tf = !!(HT_PREG(t, eflags) & HT_TRAP_FLAG);
	if (!shadowed)
		return;
	/* The kernel saw the first instruction alone, and goes on as it was: it hides the flag, or not. */
	t->tf_unsure = !ours;
	if (ours && t->insn.bytes[t->insn.x86.size - 1u] == 0x9d) {
		t->own_tf = popped_flag(t);
		set_own(t);
	}
}

void
ht_pflag_step(struct ht_pthread *t, int sig)
{
	int pops = !!(t->insn.kind & HT_PI_POPF);

	if (t->stepped) {
		/* The signal comes next; a step would have the kernel look at the instruction behind. */
		t->stepped = 0;
		ptrace(PTRACE_CONT, t->tid, 0, (long)sig);
		return;
	}
	if (!t->tf_unsure && !(sig && pops)) {
		t->tf_unsure = pops;
		ptrace(PTRACE_SINGLESTEP, t->tid, 0, (long)sig);
		return;
	}
	ht_pflag_settle(t);
	t->settling = 1;
	t->settling_sp = HT_PREG(t, rsp);
	ptrace(PTRACE_INTERRUPT, t->tid, 0, 0);
	ptrace(PTRACE_CONT, t->tid, 0, (long)sig);
}

void
ht_pflag_settle(struct ht_pthread *t)
{
	if (t->tf_unsure)
		set_own(t);
	t->tf_unsure = 0;
}

int
ht_pflag_stopped(struct ht_pthread *t)
{
	int settling = t->settling, moved = HT_PREG(t, rip) != t->ip;

	t->settling = 0;
	t->stepped = moved && !settling && ht_psignal_step_pending(t);
	return settling && (moved || HT_PREG(t, rsp) != t->settling_sp);
}
