/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memo: outcomes taken in groups.
 *
 * An *entry* says where a group of outcomes leads from a state: the state
 * behind it, the return addresses that were pushed on the way as one context,
 * and how often that happened.  Calls and returns inside a group cancel out
 * while the entry is built.  It ends early, with outcomes left, at a return that
 * goes below what the group itself pushed (then the return stack is popped, and
 * an entry for (state, outcomes left, popped context) goes on), and at an
 * indirect branch, whose target is told behind the outcomes (a deferred TIP).
 * Targets have a table of their own: (state, target, outcomes left in the group).
 *
 * Counts are folded into the blocks when they are asked for, by walking each
 * entry once more with its count as the weight.  With events wanted, an entry
 * holds its events instead, made once.
 *
 * Whatever has no plain answer (code missing, a trace that does not fit) makes
 * no entry: the walker takes those outcomes one by one and finds the reason.
 */
#ifndef DECODE_FLOW_MEMO_H
#define DECODE_FLOW_MEMO_H

#include "decode/flow/state.h"

/*
 * key: the outcomes under a stop bit, 0 = free slot; to go on after a return,
 * the outcomes left, the popped context and HT_MEMO_POPPED.  end: the context to
 * push, and if the group is not used up the outcomes left, with HT_MEMO_RETURNS
 * at a return.
 */
#define HT_MEMO_CONTEXT_BITS 20
#define HT_MEMO_CONTEXT_MAX  ((1u << HT_MEMO_CONTEXT_BITS) - 1)
#define HT_MEMO_GROUP        10 /* outcomes at most */
#define HT_MEMO_POPPED       0x80000000u
#define HT_MEMO_RETURNS      0x80000000u

struct ht_memo_entry {
	uint32_t state, key;
	uint32_t next;
	uint32_t end;
};

/*
 * An indirect branch of `state` goes to `ip`, and the outcomes `bits` follow.
 * `drops`: it is a return whose call stands in front of the state.
 */
struct ht_memo_target {
	uint64_t ip;
	uint32_t state;      /* 0 = free slot */
	uint16_t bits, drops;
	uint32_t next, end, count, run;
};

struct ht_memo {
	struct ht_walk        *walk;
	struct ht_memo_entry  *entries;
	uint32_t              *counts;   /* of the entries, by slot */
	uint32_t              *run_of;   /* likewise: run of events, 0 = none; NULL when counting */
	struct ht_memo_target *targets;
	size_t                 entry_mask, target_mask, n_entries, n_targets;
	struct ht_states       states;
	struct ht_runs         runs;
	uint64_t               since_fold; /* counted since the counts were folded, at most */
};

int  ht_memo_init(struct ht_memo *m, struct ht_walk *w);
void ht_memo_fini(struct ht_memo *m);

/* Put the return addresses that `state` holds on the stack: the state without them. */
static inline uint32_t
ht_memo_bare(struct ht_memo *m, uint32_t state)
{
	const struct ht_state *s = ht_state_named(&m->states, state);

	if (s->context)
		ht_return_stack_push_all(&m->walk->stack, &m->walk->contexts, s->context);
	return s->bare;
}

/* State of the walker's place; 0 when it has none (out of memory). */
uint32_t ht_memo_enter(struct ht_memo *m);
/* Put the walker at `state`. */
void ht_memo_leave(struct ht_memo *m, uint32_t state);

/* What a key adds to the hash; apart from the state, so that it is ready before the state is. */
static inline uint32_t
ht_memo_key_hash(uint32_t key)
{
	return (key ^ key >> 17) * 0x9e3779b1u >> 7;
}

/* Behind an entry that has an end, or where there is no entry in the home slot: as below. */
int ht_memo_go_on(struct ht_memo *m, uint32_t *state, uint32_t *bits, size_t slot, int hit);

/*
 * Take the outcomes *bits (under a stop bit, at most HT_MEMO_GROUP) from *state.
 * 1: done.  2: the state is in front of an indirect branch; its target comes
 * first, then the outcomes *bits.  0: let the walker take *bits from *state.
 * -HT_ENOMEM.
 */
static inline int
ht_memo_outcomes(struct ht_memo *m, uint32_t *state, uint32_t *bits)
{
	size_t slot = (*state ^ ht_memo_key_hash(*bits)) & m->entry_mask;
	const struct ht_memo_entry *e = &m->entries[slot];
	int hit = e->state == *state && e->key == *bits;

	if (__builtin_expect(hit && !e->end && !m->run_of, 1)) {
		m->counts[slot]++;
		*state = e->next;
		return 1;
	}
	return ht_memo_go_on(m, state, bits, slot, hit);
}

/*
 * Short TNT packets (the byte: outcomes, stop bit, 0) from `p` on, as long as
 * each has a plain entry in its home slot.  Returns where it stopped.
 */
static inline const uint8_t *
ht_memo_short(struct ht_memo *m, uint32_t *state, const uint8_t *p, const uint8_t *end)
{
	const struct ht_memo_entry *entries = m->entries;
	uint32_t *counts = m->counts;
	size_t mask = m->entry_mask;
	uint32_t at = *state;

	if (m->run_of)
		return p;
	for (; p < end; p++) {
		uint32_t key = *p >> 1;
		size_t slot = (at ^ ht_memo_key_hash(key)) & mask;
		const struct ht_memo_entry *e = &entries[slot];

		/* No key is 0 or 1: PAD and the lead byte 02 find nothing. */
		if (*p & 1 || e->state != at || e->key != key || e->end || key < 2)
			break;
		counts[slot]++;
		at = e->next;
	}
	*state = at;
	return p;
}

/*
 * Outcomes *bits (*n of them, the oldest in bit 63) in groups, with the calls and
 * returns among them, as far as there are entries in their home slots or behind.
 * Returns 1 when a branch with a target is next, else 0: what is left is for
 * ht_memo_outcomes().  -HT_ENOMEM.
 */
int ht_memo_groups(struct ht_memo *m, uint32_t *state, uint64_t *bits, unsigned *n);

/*
 * Take an indirect target from *state, and then the outcomes *bits (1 = none):
 * as ht_memo_outcomes(); but where 0 is returned with the target not taken,
 * *bits and *state are what they were, and *taken is 0.
 */
int ht_memo_target(struct ht_memo *m, uint32_t *state, uint64_t ip, uint32_t *bits, int *taken);

/* Add all counts to the walker's edges and blocks, and start them at 0. */
int ht_memo_fold(struct ht_memo *m);
/* The code changed: forget everything.  Counts must have been folded. */
int ht_memo_reset(struct ht_memo *m);

/* So large that it is better to begin anew: memory must not grow with the trace. */
static inline int
ht_memo_is_full(const struct ht_memo *m)
{
	return m->n_entries > 1u << 22 || m->n_targets > 1u << 21 || m->runs.n > 1u << 23;
}

#endif
