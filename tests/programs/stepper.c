/* SPDX-License-Identifier: BSD-2-Clause */
/* build: -O1 -g
 *
 * The true sequence of instructions of a program with one thread: starts it
 * stopped at its first instruction, steps it and prints each address.  Turns of
 * a REP instruction are one.
 *
 *	stepper OUT PROGRAM [ARG...]
 */
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static int
is_rep(pid_t pid, unsigned long ip)
{
	unsigned long code = (unsigned long)ptrace(PTRACE_PEEKTEXT, pid, ip, 0);

	return (code & 0xff) == 0xf2 || (code & 0xff) == 0xf3;
}

int
main(int argc, char **argv)
{
	FILE *out = argc > 2 ? fopen(argv[1], "w") : NULL;
	unsigned long at = 0; /* about to run: known to have once the next step is over */
	int status;
	pid_t pid;

	if (!out)
		return 2;
	pid = fork();
	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		unsigned long ip = (unsigned long)ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user, regs.rip), 0);
		int sig = WSTOPSIG(status);
		siginfo_t info = { 0 };

		ptrace(PTRACE_GETSIGINFO, pid, 0, &info);
		if (sig == SIGTRAP && info.si_code == SIGTRAP) { /* a handler was entered instead */
			at = ip;
		} else if (sig == SIGTRAP && !(ip == at && is_rep(pid, ip))) {
			if (at)
				fprintf(out, "%lx\n", at);
			at = ip;
		}
		if (sig == SIGTRAP && info.si_code != SI_KERNEL)
			sig = 0;
		ptrace(PTRACE_SINGLESTEP, pid, 0, (long)sig);
	}
	if (WIFEXITED(status))
		fprintf(out, "%lx\n", at); /* exit_group() */
	fclose(out);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
