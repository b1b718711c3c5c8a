/* SPDX-License-Identifier: BSD-2-Clause */
/* What an x86-64 instruction does to the flow of control: as much as a trace unit must know. */
#ifndef QEMU_INSN_H
#define QEMU_INSN_H

#include <stddef.h>
#include <stdint.h>

enum ht_insn_kind {
	HT_INSN_NEXT,  /* goes on with the next instruction */
	HT_INSN_REP,   /* string instruction with a repeat prefix: the emulator repeats it */
	HT_INSN_COND,  /* to the next one or to the target */
	HT_INSN_JMP,   /* to the target */
	HT_INSN_CALL,  /* to the target */
	HT_INSN_JMP_IND,
	HT_INSN_CALL_IND,
	HT_INSN_RET,
	HT_INSN_FAR_IND, /* IRET, far JMP, CALL and RET: an indirect branch that the return stack does not see */
	HT_INSN_FAR,     /* SYSCALL, INT n: leaves user mode */
	HT_INSN_VSYSCALL, /* the page that the kernel emulates */
	HT_INSN_CUT      /* a branch whose bytes are not all there */
};

/* Classify the instruction of `size` bytes at `addr`; `*target` is set for COND, JMP and CALL. */
enum ht_insn_kind ht_insn_classify(const uint8_t *p, size_t size, uint64_t addr, uint64_t *target);

#endif
