/* SPDX-License-Identifier: BSD-2-Clause */
#include <signal.h>
#include <unistd.h>

#include "qemu/death.h"
#include "qemu/guest.h"
#include "qemu/hook.h"
#include "qemu/sideband.h"
#include "qemu/trace.h"

/* Stands in for kill(2) in QEMU, which ends a program that a signal kills by kill(getpid(), sig). */
static int
hooked_kill(pid_t pid, int sig)
{
	static const enum ht_guest_reg reg = HT_REG_RIP;
	struct ht_unit *u = ht_unit_self;
	uint64_t ip;

	if (pid == getpid() && sig != SIGSTOP && ht_unit_traced(u)) {
		if (ht_unit_enabled(u) && ht_guest_regs(&reg, &ip, 1) == 0)
			ht_trace_signal(u, ip, sig);
		if (!ht_unit_enabled(u))
			ht_trace_end(u, 1);
	}
	return kill(pid, sig); /* our own table still has the real one */
}

void
ht_death_init(void)
{
	if (!ht_hook("kill", (void *)(uintptr_t)hooked_kill))
		ht_sideband_note("the end of a program that a signal kills is exact to the block only");
	if (!ht_guest_has_regs())
		ht_sideband_note("signal-exact tracing is not to be had: this qemu-x86_64 shows no registers");
}
