/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * States: where execution can be between two groups of outcomes.
 *
 * A *state* is a place in front of a block, before its direct jumps and calls are
 * walked, and the newest return addresses that are not on the return stack yet.
 * With them in the state, a call and its return take nothing on or off the stack
 * though a group of outcomes ends between them.  It is named by a number that is
 * hashed already, so that a slot of a table is found with one xor.
 *
 * How many addresses a state may hold only decides how many states there are:
 * the more, the fewer trips to the stack, and the more entries in the memo.
 * States made under different limits live side by side.
 */
#ifndef DECODE_FLOW_STATE_H
#define DECODE_FLOW_STATE_H

#include "decode/flow/trip.h"

struct ht_state {
	struct ht_block *block;
	uint32_t         context; /* the return addresses */
	uint32_t         bare;    /* name of the state of this block without any */
};

struct ht_states {
	struct ht_state *at; /* [0] is none */
	size_t           n, cap;
	uint32_t        *deep; /* numbers of those with a context; open addressing */
	size_t           n_deep, deep_mask;
};

/* 0, or -HT_ENOMEM; ht_states_fini() is due in any case. */
int  ht_states_init(struct ht_states *s);
void ht_states_fini(struct ht_states *s);
/* No block shall know its state any more: before an end that the code graph outlives. */
void ht_states_leave_blocks(struct ht_states *s);

/* Name of the state in front of `block` with `context`; 0 when out of memory. */
uint32_t ht_state_of(struct ht_states *s, struct ht_block *block, uint32_t context);
/*
 * The state where a trip has ended, with as many of its newest addresses as it is
 * well to keep; the others stay in t->context.  0 when out of memory.
 */
uint32_t ht_state_behind(struct ht_states *s, struct ht_trip *t);

#define HT_STATE_ODD         2654435761u /* multiplying by it is one-to-one modulo 2^32 ... */
#define HT_STATE_ODD_INVERSE 244002641u  /* ... and this undoes it */

static inline const struct ht_state *
ht_state_named(const struct ht_states *s, uint32_t name)
{
	return &s->at[name * HT_STATE_ODD_INVERSE];
}

#endif
