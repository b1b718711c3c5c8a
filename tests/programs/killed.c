/* SPDX-License-Identifier: BSD-2-Clause */
/* build: -O1 -g -pthread
 *
 * killed HOW: a process whose child is killed by another, at a moment that is sure:
 *	run    while it counts, without a system call
 *	wait   while it waits in a system call
 *	circle while it counts in a circle of direct jumps, of which no packet tells
 *
 * or whose child ends beside a thread of its own which counts (beside-run-...) or waits
 * (beside-wait-...): ...-exit, by exit(); ...-fault, by a fault; ...-term, by SIGTERM.
 *
 * When all is over, the process prints how far its child counted, and ends as it did.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define ENOUGH 100000

static volatile unsigned long *count; /* in memory that outlives the process */
static int never[2];
static volatile pid_t tid; /* of the other thread */

__attribute__((noinline)) static void
run(unsigned long end)
{
	while (*count < end)
		*count += 1; /* counted */
}

__attribute__((noinline)) static void
circle(void)
{
	for (;;)
		__asm__ volatile("incq %0" : "+m"(*count)); /* turned */
}

static void
halt(void)
{
	char c;

	*count = 1;
	if (read(never[0], &c, 1) < 0)
		perror("read");
}

/* Does thread `who` sleep, and still does a moment later? */
static int
sleeps(pid_t who)
{
	char name[64], state = 0;
	int seen = 0;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/stat", who);
	for (int i = 0; i < 2; i++, usleep(20000)) {
		f = fopen(name, "r");
		if (f && fscanf(f, "%*d (%*[^)]) %c", &state) == 1)
			seen += state == 'S';
		if (f)
			fclose(f);
	}
	return seen == 2;
}

static void
await(int running, const volatile pid_t *who)
{
	while (running ? *count < ENOUGH : !*count || !sleeps(*who))
		usleep(1000);
}

/*
 * The end of file comes when the last thread of `pid` is gone.  Prints how far it
 * counted, and ends as it did, the last of all.
 */
static int
follow(pid_t pid)
{
	int status;
	char c;

	close(never[1]);
	if (read(never[0], &c, 1) == 0)
		printf("counted %lu\n", *count);
	fflush(stdout);
	if (waitpid(pid, &status, 0) != pid)
		return 1;
	while (wait(NULL) > 0)
		;
	if (WIFSIGNALED(status))
		raise(WTERMSIG(status));
	return WEXITSTATUS(status);
}

static void *
beside(void *arg)
{
	tid = gettid();
	if (strstr(arg, "-run-"))
		run(-1ul);
	halt();
	return NULL;
}

static int
work(const char *how)
{
	pthread_t other;

	if (!strcmp(how, "run"))
		run(-1ul);
	if (!strcmp(how, "circle"))
		circle();
	if (strncmp(how, "beside-", 7)) {
		halt();
		return 1;
	}
	if (pthread_create(&other, NULL, beside, (void *)how))
		return 1;
	await(strstr(how, "-run-") != NULL, &tid);
	if (strstr(how, "-fault"))
		*(volatile int *)16 = 0;
	if (strstr(how, "-term"))
		raise(SIGTERM);
	return 0;
}

int
main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "run";
	pid_t worker;

	count = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (count == MAP_FAILED || pipe(never) < 0)
		return 1;
	worker = fork();
	if (worker == 0)
		return work(how);
	if (strncmp(how, "beside-", 7) && fork() == 0) {
		close(never[1]);
		await(strcmp(how, "wait") != 0, &worker);
		kill(worker, SIGKILL);
		return 0;
	}
	return follow(worker);
}
