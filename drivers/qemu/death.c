/* SPDX-License-Identifier: BSD-2-Clause */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
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

/*
 * QEMU tells on the program's own stderr that a signal kills it.  That is the
 * shell's to say: the line is left out, and all else that QEMU says stays.
 */
static int
is_death_notice(const char *fmt)
{
	static const char notice[] = "qemu: uncaught target signal ";

	return !strncmp(fmt, notice, sizeof(notice) - 1);
}

/* Both stand in for what the compiler makes of fprintf() in QEMU. */
static int
hooked_fprintf(FILE *f, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (is_death_notice(fmt))
		return 0;
	va_start(ap, fmt);
	n = vfprintf(f, fmt, ap);
	va_end(ap);
	return n;
}

static int
hooked_fprintf_chk(FILE *f, int flag, const char *fmt, ...)
{
	va_list ap;
	int n;

	(void)flag;
	if (is_death_notice(fmt))
		return 0;
	va_start(ap, fmt);
	n = vfprintf(f, fmt, ap);
	va_end(ap);
	return n;
}

void
ht_death_init(void)
{
	/* Where neither is there, the line is: no harm beyond that. */
	ht_hook("__fprintf_chk", (void *)(uintptr_t)hooked_fprintf_chk);
	ht_hook("fprintf", (void *)(uintptr_t)hooked_fprintf);
	if (!ht_hook("kill", (void *)(uintptr_t)hooked_kill))
		ht_sideband_note("the end of a program that a signal kills is exact to the block only");
	if (!ht_guest_has_regs())
		ht_sideband_note("signal-exact tracing is not to be had: this qemu-x86_64 shows no registers");
}
