/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/ptrace.h"

#define BIT(sig) (1ull << ((sig) - 1))

/* One of the signal masks in /proc/TID/status; 0 when it cannot be read. */
static uint64_t
status_mask(pid_t tid, const char *field)
{
	char name[48], line[256];
	uint64_t mask = 0;
	size_t n = strlen(field);
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/status", (int)tid);
	f = fopen(name, "re");
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, field, n) && line[n] == ':') {
			sscanf(line + n + 1, "%" SCNx64, &mask);
			break;
		}
	fclose(f);
	return mask;
}

int
ht_psignal_pending(pid_t pid, int sig)
{
	return !!(status_mask(pid, "ShdPnd") & BIT(sig));
}

int
ht_psignal_ignored(const struct ht_pthread *t, int sig)
{
	static const uint64_t by_default = BIT(SIGCHLD) | BIT(SIGCONT) | BIT(SIGURG) | BIT(SIGWINCH);

	return !t->caught && (BIT(sig) & (by_default | status_mask(t->tid, "SigIgn")));
}

int
ht_psignal_to_come(const struct ht_pthread *t)
{
	uint64_t queued = status_mask(t->tid, "SigPnd") | status_mask(t->tid, "ShdPnd");

	return !!(queued & ~status_mask(t->tid, "SigBlk") & status_mask(t->tid, "SigCgt"));
}

static void
set_mask(const struct ht_pthread *t, uint64_t mask)
{
	ptrace(PTRACE_SETSIGMASK, t->tid, sizeof(mask), &mask);
}

void
ht_psignal_begin(struct ht_pthread *t)
{
	t->proc->trap_ignored = !!(status_mask(t->tid, "SigIgn") & BIT(SIGTRAP));
}

void
ht_psignal_unmask(struct ht_pthread *t)
{
	uint64_t mask = 0;

	t->unblocked = t->late = 0;
	if (ptrace(PTRACE_GETSIGMASK, t->tid, sizeof(mask), &mask) < 0)
		return;
	t->mask = mask;
	if (!(mask & BIT(SIGTRAP)))
		return;
	set_mask(t, mask & ~BIT(SIGTRAP));
	t->unblocked = 1;
}

void
ht_psignal_late(struct ht_pthread *t)
{
	t->late = ptrace(PTRACE_GETSIGMASK, t->tid, sizeof(t->mask), &t->mask) == 0;
}

/* The mask was put back with no handler in between; the signal has forced its way through. */
void
ht_psignal_stepped(struct ht_pthread *t)
{
	if (t->late)
		t->unblocked = !!(t->mask & BIT(SIGTRAP));
	t->late = 0;
}

/* A signal that we hold goes to the kernel's queue, where system calls can see it. */
static void
queue_held(struct ht_pthread *t)
{
	siginfo_t info = { .si_signo = SIGTRAP, .si_code = SI_QUEUE };

	info.si_pid = getpid();
	info.si_ptr = t;
	if (syscall(SYS_rt_tgsigqueueinfo, t->proc->pid, t->tid, SIGTRAP, &info) == 0)
		t->held = HT_PH_QUEUED;
}

void
ht_psignal_remask(struct ht_pthread *t)
{
	if (t->unblocked)
		set_mask(t, t->mask);
	t->unblocked = 0;
	if (t->held == HT_PH_OURS)
		queue_held(t);
}

/* Returns 1 when the SIGTRAP is not to be delivered now. */
static int
keep_trap(struct ht_pthread *t, const siginfo_t *info)
{
	siginfo_t own = *info;
	int forced;

	if (t->held == HT_PH_QUEUED && info->si_code == SI_QUEUE && info->si_ptr == t) {
		own = t->held_info;
		t->held = 0;
		ptrace(PTRACE_SETSIGINFO, t->tid, 0, &own);
	}
	forced = own.si_code > 0; /* by an instruction of the program: cannot wait */
	if (forced)
		return 0;
	if (t->unblocked) {
		t->held = HT_PH_OURS;
		t->held_info = own;
		return 1;
	}
	return t->proc->trap_ignored;
}

void
ht_psignal_take(struct ht_pthread *t, int sig, const siginfo_t *info)
{
	t->signal = 0;
	t->caught = 0;
	if (sig == SIGTRAP && keep_trap(t, info))
		return;
	t->signal = sig;
	t->caught = !!(status_mask(t->tid, "SigCgt") & BIT(sig));
	/* The handler's frame holds the mask to come back to. */
	if (t->caught && t->unblocked) {
		set_mask(t, t->mask);
		t->unblocked = 0;
	}
}

/*
 * sigaction(SIGTRAP, new, old).  That it was ignored the kernel forgets with the
 * next step, so that it is we who remember.
 */
void
ht_psignal_action(struct ht_pthread *t)
{
	uint64_t handler = 0, ignore = (uint64_t)(uintptr_t)SIG_IGN;
	size_t size = t->call32 ? 4 : 8;

	if (t->proc->trap_ignored && t->arg[2])
		ht_pproc_write(t->proc, t->arg[2], &ignore, size);
	if (t->arg[1] && ht_pproc_read(t->proc, t->arg[1], &handler, size) == size)
		t->proc->trap_ignored = handler == ignore;
}

int
ht_psignal_step_pending(const struct ht_pthread *t)
{
	struct __ptrace_peeksiginfo_args which = { .off = 0, .flags = 0, .nr = 32 };
	siginfo_t info[32];
	long n = ptrace(PTRACE_PEEKSIGINFO, t->tid, &which, info);

	for (long i = 0; i < n; i++)
		if (info[i].si_signo == SIGTRAP && (info[i].si_code == TRAP_TRACE || info[i].si_code == TRAP_BRKPT))
			return 1;
	return 0;
}
