/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CAPTURE_PROC_H
#define CAPTURE_PROC_H

#include <signal.h>
#include <sys/types.h>

/* State of a thread as /proc/PID/stat has it: 'R', 'S', 'T' (stopped), 'Z', 'X', ...; 0 = not known. */
char ht_proc_state(pid_t tid);

/* ns that processes which outlive the command are still recorded, if they live that long */
#define HT_PROC_LINGER 1000000000ull

/* Has the process a thread that has not ended? */
int ht_proc_runs(pid_t pid);
/* The sentence for a process that goes on as the recording ends, with `whom`. */
void ht_proc_outlived(pid_t pid, const char *name, const char *whom, char *buf, size_t size);
/* So many are told by name, ... */
#define HT_PROC_NAMED 4
/* ... and this is told of the rest, `n` of them. */
void ht_proc_outlived_rest(unsigned n, char *buf, size_t size);

/* Did our process group get this signal, too, and not we alone?  For use in a handler. */
int ht_proc_shares_signal(int sig, const siginfo_t *info);

#endif
