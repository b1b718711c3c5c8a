/* SPDX-License-Identifier: BSD-2-Clause */
/* Instructions as text, and where each ends.  For people, not for decoding: see decoder.h. */
#ifndef HWTRACE_DISASM_H
#define HWTRACE_DISASM_H

#include <stddef.h>
#include <stdint.h>

#include <hwtrace/container.h>
#include <hwtrace/insn.h>

struct ht_disasm;

#define HT_DISASM_TEXT 192 /* a buffer that every text fits */

/* Starts in the widest mode of `arch`.  Errors: HT_EUNSUPPORTED (no disassembler for it), HT_ENOMEM. */
int  ht_disasm_new(enum ht_arch arch, struct ht_disasm **out);
void ht_disasm_free(struct ht_disasm *d);
/* 16, 32 or 64: what the code runs in from here on (x86). */
void ht_disasm_mode(struct ht_disasm *d, unsigned bits);

/*
 * Text of the instruction at `bytes`, AT&T syntax, as "mov %rsp,%rdi"; what no
 * disassembler knows is given as ".byte 0x..". Returns the instruction's size
 * in bytes, 0 when it is not valid or cut.
 */
unsigned ht_disasm_text(struct ht_disasm *d, uint64_t address, const uint8_t *bytes, size_t size,
                        char text[HT_DISASM_TEXT]);
/* Its size alone, a tenth of the cost. 0 when it is not valid or cut. */
unsigned ht_disasm_length(struct ht_disasm *d, const uint8_t *bytes, size_t size);

#endif
