/* SPDX-License-Identifier: BSD-2-Clause */
/* Signals: where they interrupted the program, from the frame that its kernel has made. */
#ifndef QEMU_SIGNALS_H
#define QEMU_SIGNALS_H

#include "qemu/trace.h"

/*
 * The thread enters a block that starts at the address of a handler.  When a
 * signal brought it there the interruption is traced, packet generation is
 * off, and 1 is returned.
 */
int ht_signal_entered(struct ht_thread *t);

/* Catch the moment when QEMU is about to die of the program's signal. */
void ht_signal_init(void);

#endif
