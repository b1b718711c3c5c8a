/* SPDX-License-Identifier: BSD-2-Clause */
/* What each stop of a traced thread means for its stream, and how it goes on. */
#include <errno.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hwtrace/event.h>

#include "capture/proc.h"
#include "capture/ptrace.h"

#define CS_64    0x33                  /* selector of 64-bit user code */
#define VSYSCALL 0xffffffffff600000ull /* the page of calls that came before the vdso */

/* si_code of the stop at a handler's first instruction, which is no signal: the kernel gives SIGTRAP itself. */
#define CODE_HANDLER SIGTRAP

/* -- instructions --------------------------------------------------------- */

static void
set_mode(struct ht_pthread *t, uint64_t cs)
{
	t->mode = cs == CS_64 ? 64 : 32;
	ht_step_mode(&t->step, t->mode);
}

/* The instruction at t->ip is going to be encoded: trace must be on if it is wanted, and the code known. */
static void
prepare(struct ht_ptrace *r, struct ht_pthread *t)
{
	if (!t->step.on) {
		if (r->filter_size && !ht_pfilter_wants(r, t->proc, t->ip))
			return;
		ht_step_enable(&t->step, t->ip, ht_ptrace_stamp(r));
	} else if (t->generation != t->proc->generation) {
		ht_step_resync(&t->step, t->ip, ht_ptrace_stamp(r));
	} else {
		return;
	}
	t->generation = t->proc->generation;
}

static void
lost(struct ht_ptrace *r, struct ht_pthread *t, uint64_t next)
{
	ht_step_lost(&t->step);
	if (r->told_lost)
		return;
	r->told_lost = 1;
	ht_ptrace_note(r, "thread %d: the instruction at 0x%llx does not lead to 0x%llx, where it came to; "
	               "there is a gap in its trace", (int)t->tid, (unsigned long long)t->ip,
	               (unsigned long long)next);
}

static void
encode(struct ht_ptrace *r, struct ht_pthread *t, uint64_t next)
{
	const struct ht_x86_insn *insn = &t->insn.x86;
	int rc;

	prepare(r, t);
	if (!t->step.on)
		return;
	if (!insn->size)
		rc = -1;
	else if (insn->insn == HT_INSN_SYSCALL) /* INT3 and the like: a trap */
		rc = 0, ht_step_syscall(&t->step, t->ip);
	else if (r->filter_size && !ht_pfilter_wants(r, t->proc, next))
		rc = ht_step_leave(&t->step, t->ip, insn, next, r->now);
	else
		rc = ht_step_insn(&t->step, t->ip, insn, next, r->now);
	if (rc < 0 && insn->size && insn->flags & HT_X86_XBEGIN && next == insn->target) {
		/* A transaction cannot be stepped: it is aborted as it begins. */
		ht_step_insn(&t->step, t->ip, insn, t->ip + insn->size, r->now);
		ht_step_async(&t->step, t->ip + insn->size);
		rc = 0;
	}
	if (rc < 0)
		lost(r, t, next);
}

/* What stands there the kernel does itself, and returns to the caller. */
static int
in_vsyscall(uint64_t ip)
{
	return ip >= VSYSCALL && ip - VSYSCALL < HT_PAGE;
}

/* Go to `ip` and see what stands there. */
static void
arrive(struct ht_ptrace *r, struct ht_pthread *t, uint64_t ip)
{
	unsigned generation = t->proc->generation;

	t->ip = ip;
	if (in_vsyscall(ip))
		ht_pproc_read(t->proc, HT_PREG(t, rsp), &t->back, sizeof(t->back));
	ht_pproc_fetch(r, t);
	/* The packets that led here were made with what was known before. */
	if (t->generation == generation && generation != t->proc->generation && t->step.on) {
		ht_step_resync(&t->step, t->ip, ht_ptrace_stamp(r));
		t->generation = t->proc->generation;
	}
}

/* The instruction at t->ip ran and the next is at `next`. */
static void
advance(struct ht_ptrace *r, struct ht_pthread *t, uint64_t next)
{
	unsigned kind, insn;
	int shadowed = 0;

	/* The step ends behind the instruction that the kernel returned to. */
	if (in_vsyscall(t->ip) && next != t->ip) {
		ht_step_async(&t->step, t->ip);
		arrive(r, t, t->back);
	}
	kind = t->insn.kind;
	insn = t->insn.x86.insn;
	if (t->insn.x86.flags & HT_X86_REP && next == t->ip)
		return; /* between two turns of a string instruction */
	if (kind & HT_PI_SS && next != t->ip + t->insn.x86.size) {
		encode(r, t, t->ip + t->insn.x86.size);
		arrive(r, t, t->ip + t->insn.x86.size);
		kind = t->insn.kind;
		insn = t->insn.x86.insn;
		shadowed = 1;
	}
	if (insn == HT_INSN_FAR || insn == HT_INSN_SYSRET)
		set_mode(t, HT_PREG(t, cs));
	encode(r, t, next);
	if (kind & HT_PI_PUSHF)
		ht_pflag_pushed(t);
	if (kind & HT_PI_POPF)
		ht_pflag_popped(t, shadowed);
	arrive(r, t, next);
	ht_pthread_flush(r, t, 0);
}

/* An instruction may have run although the stop is about something else. */
static void
catch_up(struct ht_ptrace *r, struct ht_pthread *t)
{
	uint64_t ip;

	if (t->state != HT_PS_USER || t->restart)
		return;
	ip = HT_PREG(t, rip);
	if (ip != t->ip)
		advance(r, t, ip);
}

/* -- system calls --------------------------------------------------------- */

/* Will the kernel make the call again? [errno values that never reach the program] */
static int
is_restart(const struct user_regs_struct *regs)
{
	int64_t result = (int64_t)regs->rax;

	return (int64_t)regs->orig_rax >= 0 &&
	       (result == -512 || result == -513 || result == -514 || result == -516);
}

/*
 * epoll_pwait() and io_pgetevents() end with EINTR and with a mask that is only
 * put back once the signal was taken: setting the mask now would undo that.
 * */
static int
mask_is_late(const struct ht_pthread *t, const struct user_regs_struct *regs)
{
	if ((int32_t)regs->rax != -4)
		return 0;
	return t->call32 ? t->call == 319 || t->call == 385 || t->call == 416 || t->call == 441
	                 : t->call == 281 || t->call == 333 || t->call == 441;
}

/* Argument 3 of the system call. */
static void
set_argument_3(const struct ht_pthread *t, uint64_t value)
{
	if (t->call32)
		HT_PREG_SET(t, rsi, value);
	else
		HT_PREG_SET(t, r10, value);
}

/* Wait for the rest of the time alone; the register gets its value back in the end. */
static void
shorten(struct ht_ptrace *r, struct ht_pthread *t)
{
	int32_t ms = (int32_t)(t->call32 ? HT_PREG(t, rsi) : HT_PREG(t, r10));
	uint64_t passed = t->call_began ? (ht_ptrace_stamp(r) - t->call_began) / 1000000 : 0;

	if (ms <= 0)
		return;
	if (!t->shortened)
		t->time_to_wait = t->call32 ? HT_PREG(t, rsi) : HT_PREG(t, r10);
	t->shortened = 1;
	set_argument_3(t, passed < (uint64_t)ms ? (uint64_t)ms - passed : 0);
}

static void
unshorten(struct ht_pthread *t)
{
	if (t->shortened)
		set_argument_3(t, t->time_to_wait);
	t->shortened = 0;
}

/* A call that waits ended with EINTR: whether it would have without us is seen at the next stop. */
static void
look_broken(struct ht_pthread *t, const struct user_regs_struct *regs)
{
	int ms;

	t->broken = (int32_t)regs->rax == -EINTR && (int64_t)regs->orig_rax >= 0 && ht_pcall_waits(t, &ms)
	            ? HT_PB_EINTR : 0;
}

/* It was for us, or for a signal that is ignored: the call is made again. */
static void
redo(struct ht_ptrace *r, struct ht_pthread *t)
{
	int ms = 0;

	if (t->broken != HT_PB_EINTR)
		return;
	t->broken = HT_PB_REDO;
	t->late = 0;
	ht_psignal_remask(t);
	if (ht_pcall_waits(t, &ms) && ms)
		shorten(r, t);
	HT_PREG_SET(t, rax, (uint64_t)t->call);
	HT_PREG_SET(t, rip, t->ip - 2);
	t->restart = 1;
	arrive(r, t, t->ip - 2);
}

/* It was for what ends such a call always: it has ended. */
static void
give_up(struct ht_ptrace *r, struct ht_pthread *t)
{
	if (t->broken == HT_PB_REDO) {
		HT_PREG_SET(t, rax, (uint64_t)-EINTR);
		HT_PREG_SET(t, rip, t->ip + 2);
		t->restart = 0;
		arrive(r, t, t->ip + 2);
	}
	if (t->broken)
		unshorten(t);
	t->broken = 0;
}

/* In user mode by these registers, or about to be. */
static void
to_user(struct ht_ptrace *r, struct ht_pthread *t, const struct user_regs_struct *regs)
{
	t->state = HT_PS_USER;
	t->restart = is_restart(regs);
	t->own_tf = !!(regs->eflags & HT_TRAP_FLAG);
	set_mode(t, regs->cs);
	/* SYSCALL, SYSENTER and INT 80H have two bytes each. */
	arrive(r, t, t->restart ? regs->rip - 2 : regs->rip);
}

static void
enter_call(struct ht_ptrace *r, struct ht_pthread *t, const struct user_regs_struct *regs)
{
	prepare(r, t);
	ht_step_syscall(&t->step, t->ip);
	t->state = HT_PS_SYSCALL;
	t->restart = 0;
	t->broken = 0;
	t->call_began = ht_ptrace_stamp(r);
	ht_pcall_enter(r, t, regs);
}

static void
leave_call(struct ht_ptrace *r, struct ht_pthread *t, const struct user_regs_struct *regs)
{
	if (!is_restart(regs))
		ht_pcall_leave(r, t, regs);
	to_user(r, t, regs);
	look_broken(t, regs);
	if (!t->restart && !t->broken)
		unshorten(t);
	if (t->restart)
		;
	else if (mask_is_late(t, regs))
		ht_psignal_late(t);
	else
		ht_psignal_unmask(t);
	ht_pthread_flush(r, t, 0);
}

static void
on_call(struct ht_ptrace *r, struct ht_pthread *t)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, t->tid, 0, &regs) < 0)
		return;
	if (t->state == HT_PS_USER)
		enter_call(r, t, &regs);
	else
		leave_call(r, t, &regs);
}

/* A system call was single-stepped: the signal that was to come first found no handler any more. */
static void
on_stepped_call(struct ht_ptrace *r, struct ht_pthread *t)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, t->tid, 0, &regs) < 0)
		return;
	enter_call(r, t, &regs);
	leave_call(r, t, &regs);
}

/* -- signals -------------------------------------------------------------- */

static void
on_handler(struct ht_ptrace *r, struct ht_pthread *t)
{
	ht_step_async(&t->step, t->ip);
	t->state = HT_PS_USER;
	t->restart = 0;
	t->broken = 0;
	t->own_tf = 0;
	set_mode(t, HT_PREG(t, cs));
	ht_psignal_unmask(t);
	arrive(r, t, HT_PREG(t, rip));
}

/*
 * The signal of a step.  Its code says so, but for virtual machines that now and
 * then lose the step bit of DR6: the kernel takes it for an INT1 then.
 */
static int
is_step(const struct ht_pthread *t, const siginfo_t *info)
{
	return t->state == HT_PS_USER && !t->restart &&
	       (info->si_code == TRAP_TRACE || (info->si_code == TRAP_BRKPT && !(t->insn.kind & HT_PI_INT1)));
}

static void
on_trap(struct ht_ptrace *r, struct ht_pthread *t, const siginfo_t *info)
{
	int own = t->own_tf || t->insn.kind & HT_PI_INT1;

	if (info->si_code == CODE_HANDLER && t->injected) {
		on_handler(r, t);
		return;
	}
	if (t->state == HT_PS_USER && info->si_code == TRAP_BRKPT && t->insn.kind & HT_PI_SYSCALL) {
		on_stepped_call(r, t);
		return;
	}
	if (is_step(t, info)) {
		ht_psignal_stepped(t);
		give_up(r, t);
		advance(r, t, HT_PREG(t, rip));
		if (!own)
			return;
	}
	catch_up(r, t);
	ht_psignal_take(t, SIGTRAP, info);
}

static void
on_signal(struct ht_ptrace *r, struct ht_pthread *t, int sig)
{
	siginfo_t info = { 0 };

	if (ptrace(PTRACE_GETSIGINFO, t->tid, 0, &info) < 0)
		return; /* killed meanwhile */
	if (t->state == HT_PS_NEW) {
		t->signal = sig;
	} else if (sig == SIGTRAP) {
		on_trap(r, t, &info);
	} else {
		catch_up(r, t);
		ht_psignal_take(t, sig, &info);
		if (ht_psignal_ignored(t, sig))
			redo(r, t);
		else
			give_up(r, t);
	}
}

/* -- events --------------------------------------------------------------- */

/* The first stop of a thread that is to be traced from here on. */
static void
begin(struct ht_ptrace *r, struct ht_pthread *t)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, t->tid, 0, &regs) < 0)
		return;
	ht_pthread_start(r, t);
	to_user(r, t, &regs);
	t->call = (long)regs.orig_rax;
	t->call32 = t->mode == 32;
	look_broken(t, &regs);
	if (!t->restart)
		ht_psignal_unmask(t);
}

static void
on_child(struct ht_ptrace *r, struct ht_pthread *t)
{
	unsigned long tid = 0;

	if (ptrace(PTRACE_GETEVENTMSG, t->tid, 0, &tid) == 0 && !ht_pthread_find(r, (pid_t)tid))
		ht_pthread_add(r, (pid_t)tid, t);
}

static void
tell_set_id(struct ht_ptrace *r, pid_t pid)
{
	char name[48];
	struct stat st;

	snprintf(name, sizeof(name), "/proc/%d/exe", (int)pid);
	if (r->told_set_id || stat(name, &st) < 0 || !(st.st_mode & (S_ISUID | S_ISGID)) || geteuid() == 0)
		return;
	r->told_set_id = 1;
	ht_ptrace_note(r, "process %d runs a set-user-id or set-group-id program, which has no such rights "
	               "while it is traced", (int)pid);
}

static struct ht_pthread *
on_exec(struct ht_ptrace *r, struct ht_pthread *t)
{
	struct ht_pthread *from;
	unsigned long former = 0;

	/* Made by another thread than the first: that one takes over its number. */
	if (ptrace(PTRACE_GETEVENTMSG, t->tid, 0, &former) == 0 && (pid_t)former != t->tid &&
	    (from = ht_pthread_find(r, (pid_t)former))) {
		ht_step_async(&t->step, t->ip);
		t->held = from->held;
		t->held_info = from->held_info;
		t->affinity = from->affinity;
		t->has_affinity = from->has_affinity;
		ht_pthread_end(r, from);
	}
	ht_pproc_exec(r, t->proc);
	ht_pthread_rename(r, t, 1);
	ht_pproc_scan(r, t->proc, t->tid, 0);
	ht_pthread_start(r, t);
	if (t->state == HT_PS_NEW)
		ht_psignal_begin(t);
	tell_set_id(r, t->tid);
	t->state = HT_PS_SYSCALL;
	t->call = -1;
	t->unblocked = 0;
	return t;
}

static void
on_exit(struct ht_ptrace *r, struct ht_pthread *t)
{
	catch_up(r, t);
	ht_step_async(&t->step, t->ip);
	t->state = HT_PS_ENDED;
}

static void
on_gone(struct ht_ptrace *r, struct ht_pthread *t, int status)
{
	ht_step_async(&t->step, t->ip);
	if (t->tid == r->main_pid) {
		r->main_ended = 1;
		r->result->wait_status = r->config->pid ? 0 : status;
	}
	ht_pthread_end(r, t);
}

/* -- going on ------------------------------------------------------------- */

static void
resume(struct ht_ptrace *r, struct ht_pthread *t)
{
	int sig = t->signal, caught = sig && t->caught;
	enum __ptrace_request how = PTRACE_SINGLESTEP;

	(void)r;
	if (t->state == HT_PS_NEW || t->state == HT_PS_ENDED) {
		how = PTRACE_CONT;
	} else if (!caught && (t->state == HT_PS_SYSCALL || t->restart || t->insn.kind & HT_PI_SYSCALL)) {
		how = PTRACE_SYSCALL;
		if (t->state == HT_PS_USER && !t->restart)
			ht_psignal_remask(t);
	} else if (!caught && (t->own_tf || t->insn.kind & (HT_PI_INT1 | HT_PI_INT3))) {
		/* What it forces is the program's: blocked, it ends it. */
		ht_psignal_remask(t);
	}
	t->signal = 0;
	t->injected = sig != 0;
	if (how == PTRACE_SINGLESTEP) {
		ht_pflag_step(t, sig);
		return;
	}
	ht_pflag_settle(t);
	ptrace(how, t->tid, 0, (long)sig);
}

/* The recording ends, and its process does not: told once, and kept in the file. */
static void
tell_outlived(struct ht_ptrace *r, struct ht_pproc *p)
{
	struct ht_record rec = { .kind = HT_REC_LOST, .pid = p->pid, .tid = p->pid, .cpu = -1 };
	char comm[32], why[160];

	if (!r->main_over || p->outlived || r->failed)
		return;
	p->outlived = 1;
	ht_pthread_comm(p->pid, p->pid, comm);
	ht_proc_outlived(p->pid, comm, r->config->pid ? "the process it was for" : "the command",
	                 why, sizeof(why));
	if (r->outlived++ < HT_PROC_NAMED)
		ht_ptrace_note(r, "%s", why);
	rec.time = ht_ptrace_stamp(r);
	rec.u.lost.kind = HT_GAP_UNTRACED;
	rec.u.lost.why = why;
	ht_ptrace_record(r, &rec);
}

/* End tracing the thread in its present stop; it runs on as if we had never been. */
static void
let_go(struct ht_ptrace *r, struct ht_pthread *t)
{
	if (t->state == HT_PS_USER && ht_psignal_step_pending(t)) {
		/* The signal of a step is on its way to it: take that first. */
		t->injected = 0;
		ht_pflag_step(t, 0);
		return;
	}
	/* Our asking for it to stop ended its call. */
	if (!t->signal && !ht_psignal_to_come(t))
		redo(r, t);
	ht_step_async(&t->step, t->ip);
	if (t->state == HT_PS_USER && !t->restart)
		ht_psignal_remask(t);
	ht_pflag_settle(t);
	ht_ppin_release(r, t);
	tell_outlived(r, t->proc);
	ptrace(PTRACE_DETACH, t->tid, 0, (long)t->signal);
	ht_pthread_end(r, t);
}

static void
go_on(struct ht_ptrace *r, struct ht_pthread *t)
{
	int foreign = r->config->flags & HT_CAPTURE_NO_INHERIT && t->proc->pid != r->main_pid;

	if (foreign || (r->stopping && t->state != HT_PS_ENDED))
		let_go(r, t);
	else
		resume(r, t);
}

static int
is_stop_signal(int sig)
{
	return sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;
}

/* A group stop, its end, or the first stop of a new thread. */
static void
on_stop_event(struct ht_ptrace *r, struct ht_pthread *t, int sig)
{
	if (t->state == HT_PS_NEW && !(t->tid == r->main_pid && !r->config->pid))
		begin(r, t);
	if (t->state == HT_PS_USER && !t->restart && ht_pflag_stopped(t))
		on_handler(r, t);
	else if (is_stop_signal(sig))
		give_up(r, t);
	else if (!ht_psignal_to_come(t))
		redo(r, t);
	if (!is_stop_signal(sig) || r->stopping) {
		go_on(r, t);
		return;
	}
	ptrace(PTRACE_LISTEN, t->tid, 0, 0);
	if (t->tid == r->main_pid)
		ht_ptrace_stop_along(r, sig);
}

static void
on_event(struct ht_ptrace *r, struct ht_pthread *t, int event, int sig)
{
	switch (event) {
	case PTRACE_EVENT_STOP:
		on_stop_event(r, t, sig);
		return;
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		on_child(r, t);
		break;
	case PTRACE_EVENT_EXEC:
		t = on_exec(r, t);
		break;
	case PTRACE_EVENT_EXIT:
		on_exit(r, t);
		break;
	default:
		break;
	}
	go_on(r, t);
}

void
ht_pstop_handle(struct ht_ptrace *r, pid_t tid, int status)
{
	struct ht_pthread *t = ht_pthread_find(r, tid);
	int sig = WSTOPSIG(status), event = status >> 16;

	if (!WIFSTOPPED(status)) {
		if (t)
			on_gone(r, t, status);
		return;
	}
	if (!t && !(t = ht_pthread_add(r, tid, NULL))) { /* a child that was faster than the news of it */
		ptrace(PTRACE_DETACH, tid, 0, 0);
		return;
	}
	if (event) {
		on_event(r, t, event, sig);
		return;
	}
	if (sig == (SIGTRAP | 0x80))
		on_call(r, t);
	else
		on_signal(r, t, sig);
	go_on(r, t);
}
