/* SPDX-License-Identifier: BSD-2-Clause */
/* build: -O1 -g -pthread
 *
 * crowd N [PROGRAM]: N threads at one time, then one more.  The N end, the first thread ends too, and
 * the one that is left says so; it forks a child that runs PROGRAM, and becomes PROGRAM itself.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_barrier_t crowded, begun;
static int released[2];
static char **args;

static void *
one_of_many(void *arg)
{
	char c;

	pthread_barrier_wait(&crowded);
	return read(released[0], &c, 1) == 0 ? arg : NULL;
}

static void *
one_more(void *arg)
{
	pthread_t first = *(pthread_t *)arg;

	pthread_barrier_wait(&begun);
	pthread_join(first, NULL);
	puts("the last one is here");
	fflush(stdout);
	if (args[0] && fork() == 0) {
		puts("a child");
		fflush(stdout);
		execv(args[0], args);
	}
	wait(NULL);
	if (args[0])
		execv(args[0], args);
	return NULL;
}

int
main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t *many = calloc((size_t)n, sizeof(*many)), more;
	static pthread_t self;

	self = pthread_self();
	args = argv + (argc > 2 ? 2 : argc);
	if (!many || pipe(released) < 0 || pthread_barrier_init(&crowded, NULL, (unsigned)n + 1) ||
	    pthread_barrier_init(&begun, NULL, 2))
		return 1;
	for (int i = 0; i < n; i++)
		if (pthread_create(&many[i], NULL, one_of_many, NULL))
			return 1;
	pthread_barrier_wait(&crowded);
	/* Each of them holds a stream; there may be none left for this one. */
	if (pthread_create(&more, NULL, one_more, &self))
		return 1;
	pthread_barrier_wait(&begun);
	close(released[1]);
	for (int i = 0; i < n; i++)
		pthread_join(many[i], NULL);
	pthread_exit(NULL);
}
