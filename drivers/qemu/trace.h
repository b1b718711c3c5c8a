/* SPDX-License-Identifier: BSD-2-Clause */
/* From the sequence of blocks that a thread enters to packets. */
#ifndef QEMU_TRACE_H
#define QEMU_TRACE_H

#include <stdint.h>

#include "qemu/unit.h"

/* The callback at each block, for this processor; its argument is the block. */
ht_qemu_exec_cb ht_trace_callback(void);

/*
 * What ends or interrupts the block entered last.  Each of these may find that
 * tracing is over and mute the unit.
 */

/* It ran to its end and led to `ip`. */
void ht_trace_finish(struct ht_unit *u, uint64_t ip);
/* Interrupted before `ip`: packet generation goes off. */
void ht_trace_async(struct ht_unit *u, uint64_t ip);
/* Signal `sig` was taken at `ip`: what ran of the block before, and the interruption. */
void ht_trace_signal(struct ht_unit *u, uint64_t ip, int sig);
/* It ended in a system call or an interrupt instruction: off. */
void ht_trace_far(struct ht_unit *u);
/* The thread ends; frees u. */
void ht_trace_end(struct ht_unit *u, int whole_process);

#endif
