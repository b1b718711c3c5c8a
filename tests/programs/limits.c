/* SPDX-License-Identifier: BSD-2-Clause */
/* build: -O1
 *
 * What the software unit does unlike the kernel, one line each.  Deletes its own file.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int shared;
static char stack[65536] __attribute__((aligned(16)));

static int
child(void *arg)
{
	(void)arg;
	shared = 1;
	return 0;
}

static void
try_clone(const char *name, int flags)
{
	pid_t pid;

	shared = 0;
	pid = clone(child, stack + sizeof(stack), flags | SIGCHLD, NULL);
	if (pid < 0) {
		printf("%s: %s\n", name, strerror(errno));
		return;
	}
	waitpid(pid, NULL, 0);
	printf("%s: %s\n", name, shared ? "shares memory" : "copies memory");
}

static void
try_signal(int sig)
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(syscall(SYS_kill, getpid(), sig) < 0 ? errno : 0);
	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status))
		printf("signal %d: killed by %d\n", sig, WTERMSIG(status));
	else
		printf("signal %d: %s\n", sig, strerror(WEXITSTATUS(status)));
}

int
main(int argc, char **argv)
{
	char path[4096];
	ssize_t n;

	(void)argc;
	for (int sig = 62; sig <= 64; sig++)
		try_signal(sig);
	try_clone("clone, VM", CLONE_VM);
	try_clone("clone, VM and VFORK", CLONE_VM | CLONE_VFORK);
	unlink(argv[0]);
	n = readlink("/proc/self/exe", path, sizeof(path));
	printf("deleted: %s\n", n < 0 ? strerror(errno) : "has a name");
	fflush(stdout);
	syscall(SYS_kill, getpid(), 34);
	return 0;
}
