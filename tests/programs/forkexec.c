/* SPDX-License-Identifier: BSD-2-Clause */
/* Children: one that works and exits, one that executes this program again, one by vfork.
 * build: -O1 -g */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static __attribute__((noinline)) int
work(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += i % 3 ? i : -i;
	return sum;
}

int
main(int argc, char **argv)
{
	int status, total = 0;
	pid_t pid;

	if (argc > 1)
		return work(atoi(argv[1])) & 63;
	pid = fork();
	if (pid == 0)
		_exit(work(100) & 63);
	waitpid(pid, &status, 0);
	total += WEXITSTATUS(status);
	pid = fork();
	if (pid == 0) {
		execl("/proc/self/exe", "again", "200", (char *)NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	total += WEXITSTATUS(status);
	pid = vfork();
	if (pid == 0) {
		execl(argv[0], argv[0], "300", (char *)NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	total += WEXITSTATUS(status);
	printf("%d\n", total);
	return 0;
}
