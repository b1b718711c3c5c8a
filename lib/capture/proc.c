/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
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

/*
 * What the terminal sends (si_code > 0) goes to the whole foreground group, but a
 * hangup to the leader of the session alone.
 */
int
ht_proc_shares_signal(int sig, const siginfo_t *info)
{
	return info->si_code > 0 && !(sig == SIGHUP && getsid(0) == getpid());
}
