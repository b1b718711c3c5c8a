/* SPDX-License-Identifier: BSD-2-Clause */
/* build: -O1 -g -static -pthread
 *
 * Threads that work while one waits, end in all ways, and at last one that is
 * not the first becomes another program.  Prints what it finds.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long total;
static int end[2];
static char **args;

static void *
work(void *arg)
{
	prctl(PR_SET_NAME, "worker");
	for (long i = 0; i < (long)arg; i++) {
		pthread_mutex_lock(&lock);
		total += i;
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

static void *
block(void *arg)
{
	char c;

	return read(end[0], &c, 1) == 1 ? arg : NULL;
}

static void *
vanish(void *arg)
{
	(void)arg;
	syscall(SYS_exit, 0);
	return NULL;
}

static void *
become(void *arg)
{
	(void)arg;
	if (args[1])
		execv(args[1], args + 1);
	exit(3);
}

static void *
spin(void *arg)
{
	for (volatile long i = 0;; i++)
		;
	return arg;
}

int
main(int argc, char **argv)
{
	pthread_t blocked, t[4], other;
	cpu_set_t cpus;
	int status;
	void *got;

	(void)argc;
	args = argv;
	setvbuf(stdout, NULL, _IONBF, 0);
	if (pipe(end) < 0)
		return 1;
	pthread_create(&blocked, NULL, block, &total);
	for (long i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, work, (void *)(50 + i));
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	printf("total %ld\n", total);
	if (write(end[1], "x", 1) != 1)
		return 1;
	pthread_join(blocked, &got);
	printf("blocked %d\n", got == &total);
	pthread_create(&other, NULL, vanish, NULL);
	pthread_join(other, NULL);
	sched_getaffinity(0, sizeof(cpus), &cpus);
	printf("cpus %d\n", CPU_COUNT(&cpus) > 1);
	if (fork() == 0) { /* threads that are still there when the process is killed */
		pthread_create(&other, NULL, spin, NULL);
		pthread_create(&other, NULL, block, NULL);
		usleep(20000);
		kill(getpid(), SIGKILL);
	}
	wait(&status);
	printf("child %x\n", status);
	if (vfork() == 0)
		_exit(9);
	wait(&status);
	printf("vfork %x\n", status);
	pthread_create(&other, NULL, spin, NULL);
	pthread_create(&other, NULL, become, NULL);
	pthread_join(other, NULL);
	return 2;
}
