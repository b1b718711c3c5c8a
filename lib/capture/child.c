/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/child.h"
#include "capture/proc.h"

static const int handled[] = {
	SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGUSR1, SIGUSR2, /* passed on */
	SIGTSTP, SIGCONT,                                   /* job control */
	SIGCHLD, SIGPIPE, SIGXFSZ, SIGWINCH                 /* only end a wait, or a write */
};

#define N_HANDLED (sizeof(handled) / sizeof(handled[0]))
_Static_assert(N_HANDLED == HT_CHILD_SIGNALS, "one saved action a signal");

/* For the handler. */
static _Atomic pid_t child_pid;
static _Atomic int terminal_stop; /* the terminal asked us all to stop */
static _Atomic int continued;     /* SIGCONT came */

/* What the child has not got already is passed on. */
static void
on_signal(int sig, siginfo_t *info, void *context)
{
	int saved = errno;
	pid_t pid = atomic_load(&child_pid);

	(void)context;
	if (sig == SIGTSTP)
		atomic_store(&terminal_stop, 1);
	switch (sig) {
	case SIGCHLD:
	case SIGPIPE:
	case SIGXFSZ:
	case SIGWINCH:
		break;
	case SIGCONT:
		atomic_store(&continued, 1);
		break;
	default:
		if (pid > 0 && !ht_proc_shares_signal(sig, info))
			kill(pid, sig);
		break;
	}
	errno = saved;
}

static void
install(struct ht_child *c)
{
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART };

	sigfillset(&sa.sa_mask);
	for (size_t i = 0; i < N_HANDLED; i++) {
		sigaction(handled[i], NULL, &c->old[i]);
		/* What was ignored stays so (nohup), but for what we live by. */
		if (c->old[i].sa_handler != SIG_IGN || handled[i] == SIGCHLD || handled[i] == SIGXFSZ)
			sigaction(handled[i], &sa, NULL);
	}
}

static void
restore(const struct ht_child *c)
{
	for (size_t i = 0; i < N_HANDLED; i++)
		sigaction(handled[i], &c->old[i], NULL);
	sigprocmask(SIG_SETMASK, &c->old_mask, NULL);
}

static int
run(struct ht_child *c, const char *file, char *const argv[], int report)
{
	int err;

	restore(c);
	execv(file, argv);
	err = errno;
	while (write(report, &err, sizeof(err)) < 0 && errno == EINTR)
		;
	_exit(127);
}

int
ht_child_start(struct ht_child *c, const char *file, char *const argv[], struct ht_diag *diag)
{
	sigset_t all;
	int report[2], err = 0;
	ssize_t n;

	memset(c, 0, sizeof(*c));
	if (pipe2(report, O_CLOEXEC) < 0)
		return ht_fail(diag, HT_EIO, NULL, HT_NO_OFFSET, "pipe", "%s%s", strerror(errno),
		               ht_limit_hint(errno));
	atomic_store(&child_pid, 0);
	atomic_store(&terminal_stop, 0);
	atomic_store(&continued, 0);
	/* No signal is taken between the fork and the moment that the child is known. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &c->old_mask);
	install(c);
	c->pid = fork();
	if (c->pid == 0)
		run(c, file, argv, report[1]);
	atomic_store(&child_pid, c->pid > 0 ? c->pid : 0);
	sigprocmask(SIG_SETMASK, &c->old_mask, NULL);
	close(report[1]);
	if (c->pid < 0) {
		close(report[0]);
		ht_child_fini(c);
		return ht_fail(diag, HT_ENOMEM, NULL, HT_NO_OFFSET, "fork", "%s", strerror(errno));
	}
	while ((n = read(report[0], &err, sizeof(err))) < 0 && errno == EINTR)
		;
	close(report[0]);
	if (n != (ssize_t)sizeof(err))
		return 0;
	while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
		;
	ht_child_fini(c);
	return ht_fail(diag, HT_ECHILD, file, HT_NO_OFFSET, "126", "cannot be executed: %s", strerror(err));
}

/*
 * The child stopped.  By the terminal: so do we, and the shell takes over.  By
 * a SIGSTOP of its own accord or somebody else's: we go on, since nobody would
 * tell us when it does.
 */
static void
stop_along(int sig)
{
	if (sig == SIGSTOP && !atomic_load(&terminal_stop))
		return;
	atomic_store(&terminal_stop, 0);
	kill(getpid(), SIGSTOP);
}

/* A shell continues the whole job; somebody else perhaps the recorder alone. */
static void
go_on_along(const struct ht_child *c)
{
	struct timespec moment = { .tv_nsec = 20000000 };

	nanosleep(&moment, NULL);
	if (ht_proc_state(c->pid) == 'T')
		kill(c->pid, SIGCONT);
}

int
ht_child_poll(struct ht_child *c)
{
	int status;
	pid_t pid;

	while (!c->ended) {
		if (atomic_exchange(&continued, 0))
			go_on_along(c);
		pid = waitpid(c->pid, &status, WNOHANG | WUNTRACED);
		if (pid < 0 && errno == EINTR)
			continue;
		if (pid == 0)
			break;
		if (pid == c->pid && WIFSTOPPED(status)) {
			stop_along(WSTOPSIG(status));
			continue;
		}
		c->ended = 1;
		c->wait_status = pid < 0 ? 0 : status;
		atomic_store(&child_pid, 0);
	}
	return c->ended;
}

void
ht_child_fini(struct ht_child *c)
{
	atomic_store(&child_pid, 0);
	restore(c);
}
