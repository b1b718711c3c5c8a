/* SPDX-License-Identifier: BSD-2-Clause */
/* Following a program into what it executes: QEMU runs that too, with this plugin. */
#ifndef QEMU_EXEC_H
#define QEMU_EXEC_H

#include <stdint.h>

/* Remember how QEMU was started. */
void ht_exec_init(void);

/*
 * The program is about to execute (`dirfd`, path, argv, envp: guest addresses).
 * Returns when QEMU shall go on with it: because it must fail, cannot be
 * followed, or shall be made again after a signal.
 */
void ht_exec_follow(int dirfd, uint64_t path, uint64_t argv, uint64_t envp, int flags);

#endif
