/* SPDX-License-Identifier: BSD-2-Clause */
/* The system calls that the trace unit must know of. */
#ifndef QEMU_SYSCALLS_H
#define QEMU_SYSCALLS_H

#include "qemu/qemu_api.h"

void ht_syscall_enter(qemu_plugin_id_t id, unsigned vcpu, int64_t nr, uint64_t a1, uint64_t a2,
                      uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8);
void ht_syscall_leave(qemu_plugin_id_t id, unsigned vcpu, int64_t nr, int64_t ret);

#endif
