/* SPDX-License-Identifier: BSD-2-Clause */
/* State of a thread as /proc/PID/stat has it: 'R', 'S', 'T' (stopped), 'Z', 'X', ...; 0 = not known. */
#ifndef CAPTURE_PROC_H
#define CAPTURE_PROC_H

#include <sys/types.h>

char ht_proc_state(pid_t tid);

#endif
