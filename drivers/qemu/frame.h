/* SPDX-License-Identifier: BSD-2-Clause */
/* Signals: where they interrupted the program, from the frame that its kernel has made. */
#ifndef QEMU_FRAME_H
#define QEMU_FRAME_H

#include <stdint.h>

#include "qemu/block.h"

/*
 * The calling thread stands at the address of a handler; `prev` is the block
 * before.  When a signal brought it there: 1, the address that was interrupted
 * and the signal.
 */
int ht_frame_signal(const struct ht_block *prev, uint64_t *ip, int *sig);

#endif
