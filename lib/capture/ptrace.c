/* SPDX-License-Identifier: BSD-2-Clause */
/* Single-step: no trace unit at all, exact and slow.  Starts or attaches, waits for stops, ends. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/filter.h"
#include "capture/gate.h"
#include "capture/proc.h"
#include "capture/ptrace.h"

#define TICK_US 200000 /* a wait ends at the latest after this, to look around */

uint64_t
ht_ptrace_stamp(struct ht_ptrace *r)
{
	struct timespec ts;
	uint64_t now;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	r->now = now > r->now ? now : r->now + 1;
	return r->now;
}

void
ht_ptrace_note(struct ht_ptrace *r, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	if (!r->config->note)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	r->config->note(r->config->note_arg, text);
}

void
ht_ptrace_fail(struct ht_ptrace *r, int rc, const struct ht_diag *diag)
{
	char line[1024];

	if (r->failed)
		return;
	r->failed = rc;
	if (r->diag && diag)
		*r->diag = *diag;
	else
		ht_fail(r->diag, -rc, r->config->output, HT_NO_OFFSET, NULL, "%s", ht_strerror(rc));
	ht_ptrace_note(r, "%s", ht_diag_line(r->diag, line, sizeof(line)));
	ht_ptrace_note(r, "recording has ended; the program runs on");
	r->stopping = 1;
}

void
ht_ptrace_record(struct ht_ptrace *r, struct ht_record *rec)
{
	struct ht_diag diag = { 0 };

	ht_filter_meet(r->config, rec, &r->met);
	/* A mapping: there is a program, and the file is one. */
	if (!r->settled && rec->kind == HT_REC_MMAP) {
		r->settled = 1;
		if (ht_output_settle(r->config, &diag) < 0)
			ht_ptrace_fail(r, -diag.error, &diag);
	}
	if (!r->failed && ht_perf_writer_record(r->writer, rec) < 0)
		ht_ptrace_fail(r, -HT_EIO, ht_perf_writer_diag(r->writer));
}

/* -- signals that we get -------------------------------------------------- */

static const int handled[] = {
	SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGUSR1, SIGUSR2, /* passed on, or the end of an attachment */
	SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGALRM, SIGPIPE, SIGXFSZ
};

#define N_HANDLED (sizeof(handled) / sizeof(handled[0]))

struct signals {
	struct sigaction old[N_HANDLED];
	struct itimerval old_timer;
	sigset_t         old_mask;
};

/* For the handler. */
static _Atomic pid_t pass_to;        /* the program that we started */
static _Atomic int   quit;           /* asked to end */
static _Atomic int   terminal_stop;  /* the terminal stopped us all */

/* What the program has not got already is passed on. */
static void
on_signal(int sig, siginfo_t *info, void *context)
{
	int saved = errno;
	pid_t pid = atomic_load(&pass_to);

	(void)context;
	switch (sig) {
	case SIGINT:
	case SIGQUIT:
	case SIGHUP:
	case SIGTERM:
		if (!pid)
			atomic_store(&quit, 1);
		/* fall through */
	case SIGUSR1:
	case SIGUSR2:
		if (pid && !ht_proc_shares_signal(sig, info))
			kill(pid, sig);
		break;
	case SIGTSTP:
		atomic_store(&terminal_stop, 1);
		break;
	default:
		break;
	}
	errno = saved;
}

/* They wait until signals_let(): by then it is known whom they are for. */
static void
signals_install(struct signals *s)
{
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	struct itimerval tick = { { 0, TICK_US }, { 0, TICK_US } };

	atomic_store(&pass_to, 0);
	atomic_store(&quit, 0);
	atomic_store(&terminal_stop, 0);
	sigfillset(&sa.sa_mask);
	sigprocmask(SIG_SETMASK, &sa.sa_mask, &s->old_mask);
	for (size_t i = 0; i < N_HANDLED; i++) {
		sigaction(handled[i], NULL, &s->old[i]);
		/* What was ignored stays so (nohup), but for what we live by. */
		if (s->old[i].sa_handler != SIG_IGN || handled[i] == SIGALRM || handled[i] == SIGXFSZ)
			sigaction(handled[i], &sa, NULL);
	}
	setitimer(ITIMER_REAL, &tick, &s->old_timer);
}

static void
signals_let(const struct signals *s, pid_t program)
{
	atomic_store(&pass_to, program);
	sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
}

/* What the program starts with. */
static void
signals_inherit(const struct signals *s)
{
	for (size_t i = 0; i < N_HANDLED; i++)
		sigaction(handled[i], &s->old[i], NULL);
	sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
}

static void
signals_restore(const struct signals *s)
{
	atomic_store(&pass_to, 0);
	setitimer(ITIMER_REAL, &s->old_timer, NULL);
	signals_inherit(s);
}

/*
 * Stopped by the terminal we stop as well, and the shell takes over.  Stopped by
 * somebody else's SIGSTOP the program is alone, and so will be its SIGCONT.
 */
void
ht_ptrace_stop_along(struct ht_ptrace *r, int sig)
{
	siginfo_t info;

	if (r->config->pid || getpgid(r->main_pid) != getpgrp() ||
	    (sig == SIGSTOP && !atomic_load(&terminal_stop)))
		return;
	atomic_store(&terminal_stop, 0);
	kill(getpid(), SIGSTOP);
	/* A shell continues the whole job; somebody else perhaps us alone: then the program is to be told. */
	for (int i = 0; i < 20; i++) {
		info.si_pid = 0;
		if (ht_psignal_pending(r->main_pid, SIGCONT) ||
		    waitid(P_PID, (id_t)r->main_pid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) < 0 ||
		    info.si_pid)
			return;
		usleep(1000);
	}
	kill(r->main_pid, SIGCONT);
}

/* -- starting and attaching ----------------------------------------------- */

static void
run_program(const struct ht_capture_config *config, const struct signals *signals, int go, int report)
{
	char byte;
	int err;

	signals_inherit(signals);
	while (read(go, &byte, 1) < 0 && errno == EINTR)
		;
	execvp(config->argv[0], config->argv);
	err = errno;
	while (write(report, &err, sizeof(err)) < 0 && errno == EINTR)
		;
	_exit(127);
}

/* Fork a child that runs the program once it is let; *report tells why it could not. */
static int
start(struct ht_ptrace *r, const struct signals *signals, int *report, struct ht_diag *diag)
{
	int go[2], tell[2], rc = 0;

	if (pipe2(go, O_CLOEXEC) < 0)
		return ht_fail(diag, HT_EIO, NULL, HT_NO_OFFSET, "pipe", "%s%s", strerror(errno),
		               ht_limit_hint(errno));
	if (pipe2(tell, O_CLOEXEC) < 0) {
		close(go[0]);
		close(go[1]);
		return ht_fail(diag, HT_EIO, NULL, HT_NO_OFFSET, "pipe", "%s%s", strerror(errno),
		               ht_limit_hint(errno));
	}
	r->main_pid = fork();
	if (r->main_pid == 0) {
		close(go[1]);
		run_program(r->config, signals, go[0], tell[1]);
	}
	close(go[0]);
	close(tell[1]);
	*report = tell[0];
	if (r->main_pid < 0) {
		rc = ht_fail(diag, HT_ENOMEM, NULL, HT_NO_OFFSET, "fork", "%s", strerror(errno));
	} else if (ptrace(PTRACE_SEIZE, r->main_pid, 0, r->options) < 0) {
		rc = ht_fail(diag, HT_EPERM, NULL, HT_NO_OFFSET, "ptrace", "cannot trace a child: %s",
		             strerror(errno));
		kill(r->main_pid, SIGKILL);
		waitpid(r->main_pid, NULL, 0);
	} else if (!ht_pthread_add(r, r->main_pid, NULL)) {
		rc = ht_fail(diag, HT_ENOMEM, NULL, HT_NO_OFFSET, NULL, "for the first thread");
		kill(r->main_pid, SIGKILL);
	}
	close(go[1]);
	return rc;
}

/* Seize the threads that are not ours yet; returns how many. */
static int
seize_threads(struct ht_ptrace *r, int *err)
{
	char name[48];
	struct dirent *e;
	int n = 0;
	DIR *dir;

	snprintf(name, sizeof(name), "/proc/%d/task", (int)r->main_pid);
	dir = opendir(name);
	if (!dir) {
		*err = errno;
		return 0;
	}
	while ((e = readdir(dir))) {
		pid_t tid = (pid_t)atoi(e->d_name);

		if (tid <= 0 || ht_pthread_find(r, tid))
			continue;
		if (ptrace(PTRACE_SEIZE, tid, 0, r->options) < 0) {
			*err = errno; /* it may have ended meanwhile, or been followed from its creator */
			continue;
		}
		ptrace(PTRACE_INTERRUPT, tid, 0, 0);
		if (ht_pthread_add(r, tid, NULL))
			n++;
	}
	closedir(dir);
	return n;
}

static int
attach(struct ht_ptrace *r, struct ht_diag *diag)
{
	struct ht_pthread *t;
	int err = 0;

	r->main_pid = r->config->pid;
	while (seize_threads(r, &err) > 0)
		;
	t = ht_pthread_find(r, r->main_pid);
	if (!r->n_threads || !t)
		return ht_fail(diag, err == ENOENT || err == ESRCH ? HT_ENOTFOUND : HT_EPERM, NULL, HT_NO_OFFSET,
		               "pid", err == ENOENT || err == ESRCH
		               ? "there is no process %d" : "process %d cannot be traced: %s%s",
		               (int)r->main_pid, strerror(err),
		               "; is it yours, is it traced already, is kernel.yama.ptrace_scope 0?");
	ht_psignal_begin(t);
	for (unsigned i = 0; i < HT_TID_BUCKETS; i++)
		for (t = r->threads[i]; t; t = t->next)
			ht_pthread_rename(r, t, 0);
	ht_pproc_scan(r, ht_pthread_find(r, r->main_pid)->proc, r->main_pid, 1);
	return 0;
}

/* -- the loop ------------------------------------------------------------- */

/* Bring all threads to a stop, in which they are let go. */
static void
interrupt_all(struct ht_ptrace *r)
{
	for (unsigned i = 0; i < HT_TID_BUCKETS; i++)
		for (struct ht_pthread *t = r->threads[i]; t; t = t->next)
			ptrace(PTRACE_INTERRUPT, t->tid, 0, 0);
}

static void
follow(struct ht_ptrace *r)
{
	uint64_t deadline = 0;
	int interrupted = 0, status;

	while (r->n_threads) {
		pid_t tid = waitpid(-1, &status, __WALL);

		if (tid > 0)
			ht_pstop_handle(r, tid, status);
		else if (errno != EINTR)
			break;
		if (r->main_ended && !deadline && r->n_threads)
			deadline = ht_ptrace_stamp(r) + HT_PROC_LINGER;
		if (deadline && !r->stopping && ht_ptrace_stamp(r) > deadline) {
			r->stopping = 1;
			r->main_over = 1;
		}
		if (atomic_load(&quit))
			r->stopping = 1;
		if (r->stopping && !interrupted) {
			interrupted = 1;
			interrupt_all(r);
		}
	}
}

/* The program never ran: why? */
static int
not_run(const struct ht_ptrace *r, int report, struct ht_diag *diag)
{
	int err = 0;

	if (read(report, &err, sizeof(err)) != (ssize_t)sizeof(err))
		return 0;
	return ht_fail(diag, HT_ECHILD, r->config->argv[0], HT_NO_OFFSET, err == ENOENT ? "127" : "126",
	               "cannot be executed: %s", strerror(err));
}

static int
open_file(struct ht_ptrace *r, struct ht_diag *diag)
{
	struct ht_perf_writer_config config = {
		.clock = { .valid = 1, .mult = 1 }, /* the TSC packets count ns */
		.monotonic = 1,
		/* One that makes the packets we make, with the fewest errata that decoders know. */
		.cpu = { .vendor_intel = 1, .family = 6, .model = 0x86, .nom_freq = 10 },
		.backend = "ptrace",
		.software = 1,
		.ret_compression = !(r->config->flags & HT_CAPTURE_NO_RETCOMP),
		.cyc = !!(r->config->flags & HT_CAPTURE_CYC),
		.filter = ht_filter_text(r->config, r->filter_text, sizeof(r->filter_text)),
		.limits = r->filter,
		.limits_size = r->filter_size,
		.argv = r->config->argv,
	};

	return ht_output_open(r->config, &config, &r->writer, diag);
}

static void
tell_more_outlived(struct ht_ptrace *r)
{
	char text[160];

	if (r->outlived <= HT_PROC_NAMED)
		return;
	ht_proc_outlived_rest(r->outlived - HT_PROC_NAMED, text, sizeof(text));
	ht_ptrace_note(r, "%s", text);
}

static void
forget_threads(struct ht_ptrace *r)
{
	for (unsigned i = 0; i < HT_TID_BUCKETS; i++)
		while (r->threads[i])
			ht_pthread_end(r, r->threads[i]);
}

static int
ptrace_record(const struct ht_capture_config *config, const struct ht_program *program,
              struct ht_capture_result *result, struct ht_diag *diag)
{
	struct ht_ptrace *r = calloc(1, sizeof(*r));
	struct signals signals;
	int rc, report = -1, began;

	if (!r)
		return ht_fail(diag, HT_ENOMEM, NULL, HT_NO_OFFSET, NULL, "for the recording");
	r->config = config;
	r->result = result;
	r->diag = diag;
	r->options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT;
	if (!(config->flags & HT_CAPTURE_NO_INHERIT))
		r->options |= PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
	rc = ht_pfilter_init(r, program, diag);
	if (!rc)
		rc = open_file(r, diag);
	if (rc < 0)
		goto out;
	ht_ppin_init(r);
	signals_install(&signals);
	rc = config->pid ? attach(r, diag) : start(r, &signals, &report, diag);
	began = !rc;
	signals_let(&signals, config->pid || rc ? 0 : r->main_pid);
	if (began)
		follow(r);
	tell_more_outlived(r);
	forget_threads(r);
	signals_restore(&signals);
	ht_ppin_fini(r);
	if (!rc && report >= 0 && (rc = not_run(r, report, diag)) < 0)
		began = 0;
	if (!rc)
		rc = r->failed;
	if (began)
		ht_filter_tell_unmet(config, r->met);
	if (rc < 0)
		ht_perf_writer_abort(r->writer);
	else
		rc = ht_perf_writer_finish(r->writer, diag);
	if (!began && !r->settled)
		ht_output_drop(config);
	else if (!r->settled && ht_output_settle(config, diag) < 0)
		rc = -diag->error;
out:
	if (report >= 0)
		close(report);
	free(r);
	return rc;
}

/* -- what it takes -------------------------------------------------------- */

/* Try it on a child of ours. */
static int
ptrace_probe(struct ht_backend_info *info)
{
	int end[2], err = 0;
	pid_t pid;

	if (pipe2(end, O_CLOEXEC) < 0) {
		err = errno;
		ht_gate_add(info, "ptrace", 0, "", "a child cannot be made: %s%s", strerror(err),
		            ht_limit_hint(err));
		return 0;
	}
	pid = fork();
	if (pid == 0) {
		char byte;

		close(end[1]);
		while (read(end[0], &byte, 1) < 0 && errno == EINTR)
			;
		_exit(0);
	}
	if (pid < 0 || ptrace(PTRACE_SEIZE, pid, 0, 0) < 0)
		err = errno;
	close(end[0]);
	close(end[1]);
	while (pid > 0 && waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	ht_gate_add(info, "ptrace", !err, "allow the system call ptrace (in a container: "
	            "--cap-add=SYS_PTRACE, or a seccomp profile that has it)",
	            err ? "a child cannot be traced: %s" : "a child can be traced", strerror(err));
	return !err;
}

static int
ptrace_accepts(const struct ht_program *program, struct ht_diag *diag)
{
	if (program->kind == HT_PROGRAM_FOREIGN)
		return ht_fail(diag, HT_EUNSUPPORTED, program->path, HT_NO_OFFSET, NULL,
		               "is a program for another processor, not for x86");
	if (program->set_id)
		return ht_fail(diag, HT_EUNSUPPORTED, program->path, HT_NO_OFFSET, NULL,
		               "is set-user-id or set-group-id: traced, it would run without those rights; "
		               "record as its owner, or a copy without the bit");
	return 0;
}

static int
ptrace_can_attach(void)
{
	return 1;
}

const struct ht_backend ht_backend_ptrace = {
	.name = "ptrace",
	.summary = "single-step; exact, slow, also 32-bit programs and running processes",
	.timing = "emulated",
	.probe = ptrace_probe,
	.accepts = ptrace_accepts,
	.record = ptrace_record,
	.can_attach = ptrace_can_attach,
};
