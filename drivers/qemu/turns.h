/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Jumps back that no packet tells of.
 *
 * Direct jumps and calls make no packets, so a circle of them (`for (;;) n++;`)
 * can turn any number of times between two packets, and an asynchronous event
 * in it, told by its address alone, would be taken for one in the first turn.
 * So the jumps back since the last packet are remembered, in shared memory for
 * who completes the stream of a thread that is killed, and told before such an
 * event, or when there are many: generation goes off and on in front of each of
 * them and at its target.  In between addresses only rise, and none is met twice.
 */
#ifndef QEMU_TURNS_H
#define QEMU_TURNS_H

#include <stdatomic.h>

#include "qemu/stream.h"

/* Tell of the jumps back since the last packet, if there are any. */
void ht_turns_put(struct ht_unit *u);

static inline uint64_t
ht_turns_offset(const struct ht_unit *u)
{
	return u->lap + (uint64_t)(u->p - u->ring);
}

/* The jump or call back at the end of `b` was taken.  The thread may be killed between any two stores. */
static inline void
ht_turns_add(struct ht_unit *u, const struct ht_block *b)
{
	struct ht_shm_turns *t = &u->slot->turns;
	uint64_t offset = ht_turns_offset(u);
	uint32_t next = atomic_load_explicit(&t->next, memory_order_relaxed);

	if (t->tnt != u->tnt || t->offset != offset) {
		atomic_store_explicit(&t->first, next, memory_order_release);
		atomic_signal_fence(memory_order_seq_cst);
		t->tnt = u->tnt;
		t->offset = offset;
	}
	t->at[next % HT_TURNS_MAX] = (struct ht_shm_turn){ b->last, b->target };
	atomic_store_explicit(&t->next, next + 1, memory_order_release);
	atomic_signal_fence(memory_order_seq_cst); /* the next commit stays behind it */
	u->turn_bit ^= HT_TURN_BIT;
	if (next + 1 - t->first == HT_TURNS_MAX)
		ht_turns_put(u);
}

#endif
