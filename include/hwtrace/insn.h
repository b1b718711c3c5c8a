/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Instructions, one at a time: how long, which class, where a direct branch
 * goes.  For consumers that walk code; a decode engine has its own fast path.
 */
#ifndef HWTRACE_INSN_H
#define HWTRACE_INSN_H

#include <stddef.h>
#include <stdint.h>

#include <hwtrace/container.h>
#include <hwtrace/event.h>

/* Bytes that the longest instruction has, [SDM2 2.3.11 "AVX Instruction Length"]. */
#define HT_INSN_MAX 15

struct ht_insn {
	uint64_t target;   /* of direct jumps and calls, taken; else 0 */
	uint8_t  size;     /* bytes */
	uint8_t  insn;     /* enum ht_insn_class */
	uint8_t  filler;   /* no effect (NOP) or a trap (INT3): padding where nothing leads to it */
	uint8_t  no_next;  /* control never goes on to the next instruction (JMP, RET, UD2, HLT) */
};

/*
 * Decode the instruction at `bytes`, of which `n` are there, as code at the address
 * `addr`.  Returns 0 with *out filled in, or -HT_E...: HT_EFORMAT (no instruction,
 * or cut off by `n`), HT_EUNSUPPORTED (architecture).
 */
int ht_insn_decode(enum ht_arch arch, const uint8_t *bytes, size_t n, uint64_t addr, struct ht_insn *out);

#endif
