/* SPDX-License-Identifier: BSD-2-Clause */
#include <signal.h>
#include <unistd.h>

#include "qemu/guest.h"
#include "qemu/hook.h"
#include "qemu/sideband.h"
#include "qemu/signals.h"

/* Offsets in the x86-64 ucontext of a signal frame. */
#define UC_RDI 104
#define UC_RDX 136
#define UC_RSP 160
#define UC_RIP 168
#define NESTED_MAX 64

static int
is_fault(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL || sig == SIGTRAP;
}

/* Signal `sig` was taken at `ip`: trace what ran of the block before, and the interruption. */
static void
interrupt(struct ht_thread *t, uint64_t ip, int sig)
{
	const struct ht_block *prev = t->prev;

	/*
	 * A fault stops inside the block.  Other signals, and a fault in
	 * fetching what follows, come between blocks.
	 */
	if (!(is_fault(sig) && ip >= prev->start && ip < prev->end))
		ht_trace_finish(t, ip);
	if (ht_thread_enabled(t))
		ht_trace_async(t, ip);
}

int
ht_signal_entered(struct ht_thread *t)
{
	static const enum ht_guest_reg regs[] = { HT_REG_RSP, HT_REG_RDX, HT_REG_RSI, HT_REG_RDI };
	uint64_t v[4], rsp, rdx, ip;
	int sig;

	if (ht_guest_regs(regs, v, 4) < 0)
		return 0;
	rsp = v[0];
	rdx = v[1];
	sig = (int)v[3];
	if (rdx != rsp + 8 || v[2] <= rdx || v[2] - rdx > 65536 || sig < 1 || sig > 64)
		return 0;
	/* Several signals at once: their frames lie on top of each other, no handler but the last has begun. */
	for (int depth = 0; depth < NESTED_MAX; depth++) {
		uint64_t outer_rsp, outer_rdx, outer_rdi;

		if (ht_guest_read(rdx + UC_RIP, &ip, 8) < 0)
			return 0;
		if (!ht_block_is_handler(ip) || ht_guest_read(rdx + UC_RSP, &outer_rsp, 8) < 0 ||
		    ht_guest_read(rdx + UC_RDX, &outer_rdx, 8) < 0 || outer_rdx != outer_rsp + 8 ||
		    ht_guest_read(rdx + UC_RDI, &outer_rdi, 8) < 0 ||
		    (t->prev->kind <= HT_INSN_CALL && ht_block_leads_to(t->prev, ip)))
			break;
		rdx = outer_rdx;
		sig = (int)outer_rdi;
	}
	interrupt(t, ip, sig);
	return 1;
}

/* -- death ---------------------------------------------------------------------- */

/* Stands in for kill(2) in QEMU, which ends a program that a signal kills by kill(getpid(), sig). */
static int
hooked_kill(pid_t pid, int sig)
{
	struct ht_thread *t = ht_thread_self();

	if (pid == getpid() && sig != SIGSTOP && ht_thread_traced(t)) {
		static const enum ht_guest_reg reg = HT_REG_RIP;
		uint64_t ip;

		if (ht_thread_enabled(t) && ht_guest_regs(&reg, &ip, 1) == 0)
			interrupt(t, ip, sig);
		if (!ht_thread_enabled(t))
			ht_trace_end(t, 1);
	}
	return kill(pid, sig); /* our own table still has the real one */
}

void
ht_signal_init(void)
{
	if (!ht_hook("kill", (void *)(uintptr_t)hooked_kill))
		ht_sideband_note("the end of a program that a signal kills is exact to the block only");
	if (!ht_guest_has_regs())
		ht_sideband_note("signal-exact tracing is not to be had: this qemu-x86_64 shows no registers");
}
