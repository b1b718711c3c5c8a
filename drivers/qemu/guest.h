/* SPDX-License-Identifier: BSD-2-Clause */
/* Registers and memory of the running guest thread. */
#ifndef QEMU_GUEST_H
#define QEMU_GUEST_H

#include <stddef.h>
#include <stdint.h>

/* As the emulator numbers them. */
enum ht_guest_reg { HT_REG_RDX = 3, HT_REG_RSI = 4, HT_REG_RDI = 5, HT_REG_RSP = 7, HT_REG_RIP = 16 };

/* Are registers to be had in this build of QEMU? */
int ht_guest_has_regs(void);
/* Read `n` registers of the calling thread; -1 when they are not to be had. */
int ht_guest_regs(const enum ht_guest_reg *regs, uint64_t *values, unsigned n);

/* Read guest memory; -1 when any of it cannot be read. Never faults. */
int ht_guest_read(uint64_t addr, void *buf, size_t size);
/* A string, cut to fit; its length, or -1. */
long ht_guest_string(uint64_t addr, char *buf, size_t size);

/* Host address of guest address 0. */
uint64_t ht_guest_base(void);

#endif
