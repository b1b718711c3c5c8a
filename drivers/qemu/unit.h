/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trace unit of one guest thread: what it knows, and its life.  Nothing
 * here is shared between threads.
 */
#ifndef QEMU_UNIT_H
#define QEMU_UNIT_H

#include <stdint.h>

#include "core/shm.h"
#include "qemu/block.h"

#define HT_CALL_DEPTH 64 /* as the hardware's */

struct ht_unit {
	_Alignas(64) uint64_t
	    tags[2]; /* bits 48-63 of the two words of `live`, and turn bit, as last committed */
	uint64_t tnt;    /* pending outcomes below a stop bit; 1 = none */
	uint8_t *hole;   /* where their packet goes; what lies before it is whole */
	uint8_t *p;      /* behind the hole and the deferred TIP packets in it */
	uint8_t *limit;  /* `p` at or behind it: see to the ring first */
	const struct ht_block *prev; /* the block entered last, or one of the three below */
	struct ht_shm_live *live;
	uint64_t turn_bit;   /* to be committed with the next block */
	uint64_t last_ip;    /* that the next IP packet is compressed against */
	uint32_t generation; /* of the sideband at the last TSC packet */
	uint8_t  retc, cyc;  /* HT_SHM_F_RETC, HT_SHM_F_CYC */
	uint8_t  depth, top; /* of calls[]: entries, index of the next free one */
	uint64_t calls[HT_CALL_DEPTH];
	uint64_t cycles;     /* instructions since the last CYC packet */

	struct ht_shm_slot *slot; /* NULL = not traced */
	uint8_t *ring;       /* mapped twice in a row */
	uint64_t lap;        /* offset of ring[0] in this lap */
	uint64_t psb_due;    /* offset */
	uint64_t args[3];    /* the first ones of the system call being made */
};

/* In the place of `prev`: before the first block, while packet generation is off, not traced. */
extern const struct ht_block ht_block_start, ht_block_off, ht_block_mute;

/* The unit of the thread that runs; never NULL.  Only unit.c changes it. */
extern __thread struct ht_unit *ht_unit_self;

/* Is this thread's stream on: a slot is held, tracing was not stopped? */
int ht_unit_traced(const struct ht_unit *u);
/* Was this thread to be traced, and there was no stream for it? */
int ht_unit_refused(const struct ht_unit *u);
/* Is packet generation on? */
int ht_unit_enabled(const struct ht_unit *u);

/*
 * The calling thread gets a unit and a slot, and what was told of its birth goes
 * into the sideband.  NULL when there is none to be had: it is not traced then.
 */
struct ht_unit *ht_unit_begin(unsigned vcpu);
/* The thread ends, its stream is complete; frees u. */
void ht_unit_end(struct ht_unit *u);
/* Nothing more of this thread is traced.  The unit stays, for those who still look at it. */
void ht_unit_mute(struct ht_unit *u);

/* In the child of a fork: its thread has no slot yet. `mute`: and gets none. */
void ht_unit_after_fork(int parent_pid, int parent_tid, int mute);
/* Thread `parent_tid` has made virtual CPU `vcpu`. */
void ht_unit_thread_made(unsigned vcpu, int parent_tid);
/* The calling thread ends. */
void ht_unit_thread_gone(void);
/* Threads of this process, traced or not. */
unsigned ht_unit_threads(void);

#endif
