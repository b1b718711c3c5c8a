/* SPDX-License-Identifier: BSD-2-Clause */
/* build: -O1 -g -static
 *
 * Signals in all the ways that a watcher could disturb; prints what it finds.
 * "signals self" keeps to what the program alone decides: its instructions are
 * the same in each run.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile int seen, order[16], values[16];
static sigjmp_buf back;

static void
note(int sig, siginfo_t *info, void *context)
{
	(void)context;
	if (seen < 16) {
		order[seen] = sig;
		values[seen] = info->si_code == SI_QUEUE ? info->si_value.sival_int : info->si_code;
	}
	seen++;
}

static void
jump(int sig, siginfo_t *info, void *context)
{
	(void)context;
	values[0] = info->si_code;
	siglongjmp(back, sig);
}

static void
handle(int sig, void (*f)(int, siginfo_t *, void *), int flags)
{
	struct sigaction sa = { .sa_sigaction = f, .sa_flags = SA_SIGINFO | flags };

	sigfillset(&sa.sa_mask); /* SIGTRAP too */
	sigaction(sig, &sa, NULL);
	seen = 0;
}

static void
show(const char *what)
{
	printf("%s: %d", what, seen);
	for (int i = 0; i < seen && i < 16; i++)
		printf(" %d/%d", order[i], values[i]);
	printf("\n");
	seen = 0;
}

static void
own(void)
{
	char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigset_t all, old;

	handle(SIGUSR1, note, 0);
	raise(SIGUSR1);
	show("raised");
	handle(SIGRTMIN, note, 0);
	handle(SIGRTMIN + 1, note, 0);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	for (int i = 0; i < 6; i++)
		sigqueue(getpid(), SIGRTMIN + (i & 1), (union sigval){ .sival_int = i });
	raise(SIGUSR1);
	show("blocked");
	sigprocmask(SIG_SETMASK, &old, NULL);
	show("unblocked");
	handle(SIGSEGV, jump, SA_NODEFER);
	for (int i = 0; i < 3; i++)
		if (!sigsetjmp(back, 1))
			page[i] = 1;
	printf("fault: code %d\n", values[0]);
	handle(SIGFPE, jump, 0);
	if (!sigsetjmp(back, 1))
		__asm__ volatile("xor %%ecx, %%ecx; idiv %%ecx" : : : "rax", "rcx", "rdx");
	printf("division: code %d\n", values[0]);
	handle(SIGILL, jump, 0);
	if (!sigsetjmp(back, 1))
		__asm__ volatile("ud2");
	printf("ud2: code %d\n", values[0]);
	if (!sigsetjmp(back, 1)) {
		char *from = page - 4096, *to = page + 4000;

		mprotect(page, 4096, PROT_READ | PROT_WRITE);
		handle(SIGSEGV, jump, SA_NODEFER);
		from = page;
		__asm__ volatile("rep movsb" : "+S"(from), "+D"(to) : "c"(2000L * 3) : "memory");
	}
	printf("fault in rep movsb: code %d\n", values[0]);
}

/* Wait until a process sleeps, as it does in a call that blocks: three looks in a row say so. */
static void
wait_asleep(pid_t pid)
{
	char name[32], text[512], *end;
	int looks = 0;

	snprintf(name, sizeof(name), "/proc/%d/stat", (int)pid);
	while (looks < 3) {
		int fd = open(name, O_RDONLY);
		ssize_t n;

		if (fd < 0)
			return;
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
		text[n > 0 ? n : 0] = 0;
		end = strrchr(text, ')');
		looks = end && end[2] == 'S' ? looks + 1 : 0;
		usleep(10000);
	}
}

/* A child that sends us `sig` in the call that comes next. */
static void
once_asleep(int sig)
{
	if (fork() == 0) {
		wait_asleep(getppid());
		kill(getppid(), sig);
		_exit(0);
	}
}

/* SIGCHLD, where it is blocked, must not end the next call. */
static void
reap(void)
{
	struct timespec now = { 0, 0 };
	sigset_t child;

	while (wait(NULL) > 0 || errno == EINTR)
		;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigtimedwait(&child, NULL, &now);
}

/* A call that ends with EINTR for a signal that somebody takes, and for none that is ignored. */
static void
ignored(void)
{
	struct epoll_event ev = { .events = EPOLLIN };
	sigset_t usr2;
	int p[2], e = epoll_create1(0), rc;
	pid_t child;

	if (pipe(p) < 0 || epoll_ctl(e, EPOLL_CTL_ADD, p[0], &ev) < 0)
		return;
	if (fork() == 0) {
		for (int i = 0; i < 3; i++) {
			wait_asleep(getppid());
			kill(getppid(), SIGWINCH);
		}
		wait_asleep(getppid());
		_exit(write(p[1], "x", 1) != 1);
	}
	rc = epoll_wait(e, &ev, 1, 300000);
	printf("epoll_wait, ignored: %d %s\n", rc, rc < 0 ? strerror(errno) : "");
	reap();
	epoll_ctl(e, EPOLL_CTL_DEL, p[0], NULL);

	handle(SIGUSR1, note, 0);
	if (fork() == 0) {
		wait_asleep(getppid());
		kill(getppid(), SIGWINCH);
		wait_asleep(getppid());
		kill(getppid(), SIGUSR1);
		_exit(0);
	}
	rc = epoll_wait(e, &ev, 1, 300000);
	printf("epoll_wait, ignored, then taken: %d %s\n", rc, rc < 0 ? strerror(errno) : "");
	show("seen");
	reap();

	/* The time to wait does not begin anew with each. */
	child = fork();
	for (int i = 0; child == 0 && i < 10000; i++) {
		usleep(10000);
		kill(getppid(), SIGWINCH);
	}
	if (child == 0)
		_exit(0);
	rc = epoll_wait(e, &ev, 1, 300);
	printf("epoll_wait, ignored many times: %d, child ended: %d\n", rc, waitpid(child, NULL, WNOHANG) != 0);
	kill(child, SIGKILL);
	reap();

	sigemptyset(&usr2);
	sigaddset(&usr2, SIGUSR2);
	sigprocmask(SIG_BLOCK, &usr2, NULL);
	if (fork() == 0) {
		wait_asleep(getppid());
		kill(getppid(), SIGWINCH);
		wait_asleep(getppid());
		kill(getppid(), SIGUSR2);
		_exit(0);
	}
	rc = sigwaitinfo(&usr2, NULL);
	printf("sigwaitinfo, ignored: %d\n", rc == SIGUSR2);
	sigprocmask(SIG_UNBLOCK, &usr2, NULL);
	reap();
	close(p[0]);
	close(p[1]);
	close(e);
}

static void
others(void)
{
	struct timespec ts = { 300, 0 };
	struct epoll_event ev;
	sigset_t block, old, none;
	struct itimerval it = { { 0, 0 }, { 0, 30000 } };
	char c;
	int p[2], rc, e;

	handle(SIGUSR1, note, 0);
	once_asleep(SIGUSR1);
	rc = nanosleep(&ts, NULL);
	printf("nanosleep: %d %s\n", rc, strerror(errno));
	show("seen");
	reap();

	/* Blocked outside of the call, taken inside. */
	sigfillset(&block);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &block, &old);
	once_asleep(SIGUSR1);
	rc = sigsuspend(&none);
	printf("sigsuspend: %d %s\n", rc, strerror(errno));
	show("seen");
	reap();
	once_asleep(SIGUSR1);
	rc = epoll_pwait(epoll_create1(0), &ev, 1, 300000, &none);
	printf("epoll_pwait: %d %s\n", rc, strerror(errno));
	show("seen");
	reap();
	once_asleep(SIGUSR1);
	rc = ppoll(NULL, 0, &ts, &none);
	printf("ppoll: %d %s\n", rc, strerror(errno));
	show("seen");
	reap();
	once_asleep(SIGUSR1);
	printf("sigwaitinfo: %d\n", sigwaitinfo(&block, NULL) == SIGUSR1);
	sigprocmask(SIG_SETMASK, NULL, &block);
	printf("blocked still: %d %d\n", sigismember(&block, SIGTRAP), sigismember(&block, SIGUSR1));
	reap();
	sigprocmask(SIG_SETMASK, &old, NULL);

	/* Made again: by a handler that asks for it, and where there is no handler. */
	handle(SIGUSR1, note, SA_RESTART);
	if (pipe(p) < 0)
		return;
	if (fork() == 0) {
		wait_asleep(getppid());
		kill(getppid(), SIGUSR1);
		wait_asleep(getppid());
		kill(getppid(), SIGWINCH);
		wait_asleep(getppid());
		_exit(write(p[1], "x", 1) != 1);
	}
	rc = (int)read(p[0], &c, 1);
	e = seen;
	printf("read: %d %c after %d\n", rc, c, e);
	show("seen");
	reap();

	handle(SIGALRM, note, 0);
	setitimer(ITIMER_REAL, &it, NULL);
	while (!seen)
		;
	show("timer");
}

int
main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	own();
	if (argc < 2 || strcmp(argv[1], "self")) {
		others();
		ignored();
	}
	return 0;
}
