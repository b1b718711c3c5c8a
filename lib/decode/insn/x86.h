/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * x86 instructions as far as control flow is concerned: length, class, direct
 * target.  Nothing here disassembles.
 */
#ifndef DECODE_INSN_X86_H
#define DECODE_INSN_X86_H

#include <stddef.h>
#include <stdint.h>

#include <hwtrace/event.h>

#define HT_X86_MAX 15 /* bytes of the longest instruction, [SDM2 2.3.11 "Instruction length"] */

#define HT_X86_REP     0x01u /* string instruction with a repeat prefix: may be interrupted in its middle */
#define HT_X86_PTWRITE 0x02u
#define HT_X86_CR3     0x04u /* MOV to CR3: a PIP packet belongs to it */
#define HT_X86_VMENTRY 0x08u /* VMLAUNCH, VMRESUME: class FAR */
#define HT_X86_VMPTRLD 0x10u
#define HT_X86_XBEGIN  0x20u /* target is where an abort goes */
#define HT_X86_LOOP    0x40u /* LOOP, LOOPE, LOOPNE, JCXZ: class COND */

struct ht_x86_insn {
	uint64_t target; /* of COND, JUMP, CALL and XBEGIN; else 0 */
	uint8_t  size;
	uint8_t  insn;   /* enum ht_insn_class */
	uint8_t  flags;  /* HT_X86_* */
};

/*
 * The instruction at `bytes`, which lies at address `ip` and runs in `mode`
 * (16, 32 or 64).  Returns its length, 0 when it goes on past `len`, or
 * -HT_EFORMAT when no instruction begins like this, -HT_EINVAL for another mode.
 * *out is written on success only.
 *
 * Near branches with a 66H prefix in 64-bit code are taken as Intel processors
 * do (the prefix is ignored).  INT3, INT1 and INT n are SYSCALL, but INTO, which
 * may fall through without a packet, is OTHER.
 */
int ht_x86_decode(const uint8_t *bytes, size_t len, uint64_t ip, unsigned mode, struct ht_x86_insn *out);

#endif
