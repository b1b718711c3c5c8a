/* SPDX-License-Identifier: BSD-2-Clause */
/* build: -O1 -g
 *
 * daemon HOW FILE: a process that leaves a child behind, which lives in a session of its own and,
 * once FILE is there, runs late() and prints.  Until then it sleeps (sleep) or runs (run).
 * The process ends when its child has begun, or does not wait for that (now).  It leaves six of
 * them (many).
 *
 * Or the child does not wait for FILE: the process waits for its end (wait), or it runs
 * late() 0.2 seconds after it is gone (soon).
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile unsigned long turns;

__attribute__((noinline)) static void
late(void)
{
	turns += 1;
	printf("late\n");
	fflush(stdout);
}

/* Looks for the file now and then: both end when it comes. */
static void
await(const char *how, const char *file)
{
	while (access(file, F_OK) < 0)
		if (!strcmp(how, "run"))
			for (unsigned i = 0; i < 1000; i++)
				turns += 1;
		else
			usleep(20000);
}

static int
child(const char *how, const char *file, pid_t parent)
{
	if (!strcmp(how, "soon")) {
		while (getppid() == parent)
			usleep(1000);
		usleep(200000);
	} else if (strcmp(how, "wait")) {
		await(how, file);
	}
	late();
	return 0;
}

int
main(int argc, char **argv)
{
	const pid_t self = getpid();
	int ready[2], n = argc > 1 && !strcmp(argv[1], "many") ? 6 : 1;
	char c = 0;

	if (argc < 3 || pipe(ready) < 0)
		return 2;
	for (int i = 0; i < n; i++)
		if (fork() == 0) {
			setsid();
			if (write(ready[1], &c, 1) != 1)
				return 2;
			return child(argv[1], argv[2], self);
		}
	if (!strcmp(argv[1], "now"))
		_exit(0);
	for (int i = 0; i < n; i++)
		if (read(ready[0], &c, 1) != 1)
			return 2;
	if (!strcmp(argv[1], "wait"))
		wait(NULL);
	_exit(0);
}
