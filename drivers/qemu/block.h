/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Translation blocks as the trace unit sees them.  A descriptor is made when
 * QEMU translates a block, found again when it translates the same block anew,
 * and never freed: translated code that holds its address can run at any time.
 */
#ifndef QEMU_BLOCK_H
#define QEMU_BLOCK_H

#include <stdint.h>

#include "qemu/insn.h"
#include "qemu/qemu_api.h"

/* Reasons to look twice when a block is entered or left. */
#define HT_BLOCK_HANDLER 0x01u /* starts at the address of a signal handler */
#define HT_BLOCK_SINGLE  0x02u /* one instruction, which is no branch: may finish an interrupted block */
#define HT_BLOCK_CODE    0x04u /* code that is no clean file mapping: its bytes are in the sideband */
#define HT_BLOCK_OUTSIDE 0x08u /* the filter leaves it out */
#define HT_BLOCK_START   0x10u /* no block: the state before the first one */
#define HT_BLOCK_MUTE    0x20u /* no block: this thread is not traced */
#define HT_BLOCK_HIGH    0x80u /* its address needs more than 47 bits */
#define HT_BLOCK_OFF     0x40u /* no block: packet generation is off, as in a system call */

struct ht_block {
	/* The hot path reads these. */
	_Atomic uint8_t slow; /* HT_BLOCK_* */
	uint8_t  special; /* more than an outcome comes of its end, or it is no block of recorded code */
	uint8_t  bits;    /* outcomes of its last instruction: 1 for COND, else 0 */
	uint8_t  kind;    /* enum ht_insn_kind of the last instruction */
	uint16_t n;       /* instructions */
	uint8_t  push;    /* it pushes a return address that PT returns can be compressed with */
	uint8_t  back;    /* JMP or CALL to an address not above its own */
	uint64_t start;
	uint64_t target;  /* of COND, JMP and CALL; else equal to `end` */
	uint64_t other;   /* where else it leads: `end` for COND, else equal to `target` */

	uint64_t end;     /* behind the last instruction */
	uint64_t last;    /* the last instruction */
	uint32_t generation; /* of HT_BLOCK_CODE: ht_sideband_generation() when its bytes were last told */
	uint32_t hash;       /* of the bytes, for HT_BLOCK_CODE */
	struct ht_block *next; /* in the table */
};

_Static_assert(sizeof(struct ht_block) == 64, "a block is one cache line");

/* The descriptor of a block being translated; NULL without memory. */
struct ht_block *ht_block_translate(const struct qemu_plugin_tb *tb);

/* Blocks that start at `addr`, now or later, may be entered as signal handlers. */
void ht_block_add_handler(uint64_t addr);
int ht_block_is_handler(uint64_t addr);

/* Would `addr` follow `b` when `b` runs to its end? Unknown for indirect branches: those say yes. */
int ht_block_leads_to(const struct ht_block *b, uint64_t addr);

/* In the child of a fork: other threads, and the locks they held, are gone. */
void ht_block_after_fork(void);

#endif
