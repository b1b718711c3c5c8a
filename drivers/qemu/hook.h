/* SPDX-License-Identifier: BSD-2-Clause */
/* A function of ours in the place of one that QEMU calls in another library. */
#ifndef QEMU_HOOK_H
#define QEMU_HOOK_H

/*
 * From now on QEMU's own calls of `name` go to `to`.  Returns how many entries of its tables were
 * changed: 0 when it does not call such a function, or its tables cannot be written.  To be called
 * before there are threads.
 */
unsigned ht_hook(const char *name, void *to);

#endif
