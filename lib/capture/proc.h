/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CAPTURE_PROC_H
#define CAPTURE_PROC_H

#include <signal.h>
#include <sys/types.h>

/* State of a thread as /proc/PID/stat has it: 'R', 'S', 'T' (stopped), 'Z', 'X', ...; 0 = not known. */
char ht_proc_state(pid_t tid);

/* Did our process group get this signal, too, and not we alone?  For use in a handler. */
int ht_proc_shares_signal(int sig, const siginfo_t *info);

#endif
