/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Jumps back that no packet tells of.
 *
 * Direct jumps and calls make no packets, so a circle of them (`for (;;) n++;`)
 * can turn any number of times between two packets, and an asynchronous event
 * in it, told by its address alone, would be taken for one in the first turn.
 * So the jumps back since the last packet are remembered, and told before such
 * an event, or when there are many: generation goes off and on in front of each
 * of them and at its target.  In between addresses only rise, and none is met
 * twice.
 */
#ifndef QEMU_TURNS_H
#define QEMU_TURNS_H

#include "qemu/stream.h"

/* Tell of the jumps back since the last packet, if there are any. */
void ht_turns_put(struct ht_unit *u);

/* The jump or call back at the end of `b` was taken. */
static inline void
ht_turns_add(struct ht_unit *u, const struct ht_block *b)
{
	uint64_t offset = u->lap + (uint64_t)(u->p - u->ring);

	if (u->turns_tnt != u->tnt || u->turns_offset != offset) {
		u->turns_tnt = u->tnt;
		u->turns_offset = offset;
		u->n_turns = 0;
	}
	u->turns[u->n_turns++] = b;
	if (u->n_turns == HT_TURNS_MAX)
		ht_turns_put(u);
}

#endif
