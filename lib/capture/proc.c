/* SPDX-License-Identifier: BSD-2-Clause */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/proc.h"

char
ht_proc_state(pid_t tid)
{
	char path[64], stat[256], *p;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)tid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fread(stat, 1, sizeof(stat) - 1, f);
	fclose(f);
	stat[n] = 0;
	p = strrchr(stat, ')'); /* the name before it may hold anything */
	return p && p[1] ? p[2] : 0;
}

int
ht_proc_runs(pid_t pid)
{
	char path[64], state;
	struct dirent *e;
	int runs = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return 0;
	while (!runs && (e = readdir(dir))) {
		pid_t tid = (pid_t)atoi(e->d_name);

		state = tid > 0 ? ht_proc_state(tid) : 0;
		runs = state && state != 'Z' && state != 'X';
	}
	closedir(dir);
	return runs;
}

void
ht_proc_outlived(pid_t pid, const char *name, const char *whom, char *buf, size_t size)
{
	snprintf(buf, size, "process %d (%s) goes on untraced: recording ended with %s", (int)pid,
	         name, whom);
}

void
ht_proc_outlived_rest(unsigned n, char *buf, size_t size)
{
	snprintf(buf, size, "%u more %s on untraced; hwtrace info --losses names %s", n,
	         n == 1 ? "process goes" : "processes go", n == 1 ? "it" : "each");
}

/*
 * What the terminal sends (si_code > 0) goes to the whole foreground group, but a
 * hangup to the leader of the session alone.
 */
int
ht_proc_shares_signal(int sig, const siginfo_t *info)
{
	return info->si_code > 0 && !(sig == SIGHUP && getsid(0) == getpid());
}
