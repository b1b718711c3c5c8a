/* SPDX-License-Identifier: BSD-2-Clause */
/* build: -O1 -g
 *
 * Signals that come while a program executes another one: either the old one
 * handles it or the new one dies of it.  Prints how many of both there were, and
 * how many signals neither saw.  "execsignal wait" is the new one.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 100

static void
handle(int sig)
{
	(void)sig;
	_exit(7);
}

static void
child(const char *self, int ready)
{
	signal(SIGUSR1, handle);
	if (write(ready, "x", 1) == 1)
		execl(self, self, "wait", (char *)NULL);
	_exit(1);
}

/* One more round, the signal `us` microseconds after the child has its handler; its status. */
static int
one(const char *self, unsigned us)
{
	int ready[2], status = 0;
	char c;
	pid_t pid;

	if (pipe(ready) < 0)
		return 1;
	pid = fork();
	if (pid == 0)
		child(self, ready[1]);
	if (read(ready[0], &c, 1) != 1)
		return 1;
	close(ready[0]);
	close(ready[1]);
	usleep(us);
	kill(pid, SIGUSR1);
	waitpid(pid, &status, 0);
	return status;
}

int
main(int argc, char **argv)
{
	int seen = 0, lost = 0;

	if (argc > 1 && !strcmp(argv[1], "wait")) {
		sleep(2);
		return 0;
	}
	for (unsigned i = 0; i < ROUNDS; i++) {
		int status = one(argv[0], i * 50);

		if ((WIFEXITED(status) && WEXITSTATUS(status) == 7) ||
		    (WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1))
			seen++;
		else
			lost++;
	}
	printf("%d seen, %d lost\n", seen, lost);
	return 0;
}
