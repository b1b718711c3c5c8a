/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trace unit of one guest thread: from the sequence of blocks to packets.
 * Nothing here is shared between threads.
 */
#ifndef QEMU_TRACE_H
#define QEMU_TRACE_H

#include <stdint.h>

#include "core/shm.h"
#include "qemu/block.h"

#define HT_CALL_DEPTH 64 /* as the hardware's */

struct ht_thread {
	_Alignas(64) uint64_t tags[2]; /* bits 48-63 of the two words of `live`, as of the last commit() */
	uint64_t tnt;    /* pending outcomes below a stop bit; 1 = none */
	uint8_t *hole;   /* where their packet goes: offset `head` of the ring */
	uint8_t *p;      /* behind the hole and the deferred TIP packets in it */
	uint8_t *limit;  /* `p` at or behind it: see to the ring first */
	const struct ht_block *prev; /* the block entered last */
	struct ht_shm_live *live;
	uint64_t last_ip;
	uint32_t generation; /* of the sideband at the last TSC packet */
	uint8_t  retc, cyc;
	uint8_t  depth, top;  /* of calls[]: entries, index of the next free one */
	uint64_t calls[HT_CALL_DEPTH];
	uint64_t cycles;      /* instructions since the last CYC packet */

	struct ht_shm_slot *slot;
	uint8_t *ring;
	uint64_t lap;         /* offset of ring[0] in this lap */
	uint64_t psb_due;     /* offset */
	uint64_t args[6];     /* of the system call being made */
};

extern const struct ht_block ht_block_off, ht_block_mute;

/* The thread that runs; never NULL. */
struct ht_thread *ht_thread_self(void);
/* Is this thread's stream on: a slot is held, tracing was not stopped? */
int ht_thread_traced(const struct ht_thread *t);
/* Is packet generation on? */
int ht_thread_enabled(const struct ht_thread *t);

/* The callback at each block, for this processor; its argument is the block. */
ht_qemu_exec_cb ht_trace_callback(void);

/* The block entered last ran to its end and led to `ip`. */
void ht_trace_finish(struct ht_thread *t, uint64_t ip);
/* Interrupted before `ip`: packet generation goes off. */
void ht_trace_async(struct ht_thread *t, uint64_t ip);
/* The block entered last ended in a system call or an interrupt instruction: off. */
void ht_trace_far(struct ht_thread *t);
/* The thread ends. */
void ht_trace_end(struct ht_thread *t, int whole_process);
/* Nothing more of this thread is traced. */
void ht_trace_mute(struct ht_thread *t);

/* In the child of a fork: its thread has no slot yet. `mute`: and gets none. */
void ht_trace_after_fork(int parent_pid, int parent_tid, int mute);
/* Thread `parent_tid` has made virtual CPU `vcpu`. */
void ht_trace_note_parent(unsigned vcpu, int parent_tid);
unsigned ht_trace_threads(void);

#endif
