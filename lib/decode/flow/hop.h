/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hops: from the target of one indirect branch to that of the next, in one step.
 *
 * A hop begins where an indirect branch has led, takes the outcomes up to the
 * next indirect branch, the compressed returns among them too, and that branch's
 * target.  It is known by what the trace says (both targets, the outcomes) and by
 * what the returns took off the return stack, so that one compare of all of
 * these proves that it is what a walk would give, whichever way it was found.
 *
 * What follows a hop is looked for first where the log says that it was taken
 * before: as long as the trace goes on as it did then, nothing is looked up, and
 * since the log is read in order, no look-up has to wait for the one before it.
 * Otherwise an index without chains has it, or it is made.
 *
 * Counts are kept in the hop and handed to the blocks when they are asked for,
 * as with the memo; with events wanted a hop has its run of them instead.
 */
#ifndef DECODE_FLOW_HOP_H
#define DECODE_FLOW_HOP_H

#include "decode/flow/memo.h"

#define HT_HOP_MAX   31 /* outcomes */
#define HT_HOP_ITEMS 4  /* of the return stack, taken off or put on */

struct ht_hop {
	uint64_t from, to;
	uint32_t bits;               /* the outcomes, the oldest in bit 31 */
	uint32_t state;              /* of the memo: at `to` */
	uint32_t pop[HT_HOP_ITEMS];  /* the newest last */
	uint32_t push[HT_HOP_ITEMS]; /* the oldest first, then zeros */
	uint32_t count;              /* with events: the run */
	uint8_t  n;
	uint8_t  shape;              /* of HT_HOP_RETURNS and those below it */
	uint8_t  n_pop, n_push;
};

#define HT_HOP_RETURNS   0x1u /* it ends with a return that is told: no outcome may be left */
#define HT_HOP_POPS      0x2u /* n_pop is not 0 */
#define HT_HOP_PUSHES    0x4u
/* That return takes the newest item off, if there is one; then n_push is 0. */
#define HT_HOP_DROPS     0x8u

_Static_assert(sizeof(struct ht_hop) == 64, "a hop is a cache line");

struct ht_hops {
	struct ht_memo *memo;
	struct ht_hop  *at;      /* [0] and [1] are none: they lead from nowhere */
	uint32_t       *index;   /* hops, HT_HOP_NONE or HT_HOP_NEVER */
	uint32_t       *known;   /* hops by what they are; open addressing */
	uint32_t       *last;    /* of each hop, where in the log it stands last */
	uint32_t       *log;     /* the hops taken, in their order, round and round */
	uint32_t        now;     /* how many of them; where the next one goes */
	size_t          n, cap, index_mask, known_mask;
	unsigned        wait, waits; /* so many times no hop is made; next time so many */
	int             credit;      /* what the log foresaw, less what had to be looked up */
	unsigned        rest;        /* so many targets are left to the memo */
};

/* Where little is foreseen, the memo is faster. */
#define HT_HOP_CREDIT 128
#define HT_HOP_REST   4096u

#define HT_HOP_LOG     (1u << 16)
#define HT_HOP_NOWHERE 0x8000000000000001u /* no address in a trace is like this */

#define HT_HOP_NONE  0u
#define HT_HOP_NEVER 1u /* there is no hop for what led here */

/* What the trace has in hand where a hop may begin. */
struct ht_hop_key {
	uint64_t from;    /* the walk is there, in front of its block */
	uint64_t bits;    /* outcomes, the oldest in bit 63, zeros behind the last */
	unsigned n;       /* how many */
	unsigned hold;    /* that many at least come before the target */
	uint64_t to;      /* the target */
};

/* 0, or -HT_ENOMEM; ht_hops_fini() is due in any case. */
int  ht_hops_init(struct ht_hops *h, struct ht_memo *m);
void ht_hops_fini(struct ht_hops *h);
/* The code changed: forget everything. Counts must have been folded. */
int  ht_hops_reset(struct ht_hops *h);
/* Add all counts to the walker's edges and blocks, and start them at 0. */
int  ht_hops_fold(struct ht_hops *h);

static inline uint32_t *
ht_hop_slot(const struct ht_hops *h, const struct ht_hop_key *k)
{
	uint64_t known = (k->from ^ k->to << 24 ^ k->to >> 40) * 0x9e3779b97f4a7c15ull >> 32;

	return &h->index[(known ^ k->bits >> 54) & h->index_mask];
}

/* A second place, for what shares the first one: all outcomes and a return count here. */
static inline uint32_t *
ht_hop_second_slot(const struct ht_hops *h, const struct ht_hop_key *k,
                   const struct ht_return_stack *s)
{
	uint64_t known = k->from ^ k->to << 24 ^ k->to >> 40 ^ k->bits >> 33;

	known = (known * 0x9e3779b97f4a7c15ull) ^ s->item[s->top];
	return &h->index[(known * 0x9e3779b97f4a7c15ull >> 32) & h->index_mask];
}

/* Do the returns of `x` lead where its own did? */
static inline int
ht_hop_fits_stack(const struct ht_hop *x, const struct ht_return_stack *s)
{
	const uint32_t *item = &s->item[s->top];

	for (unsigned i = 0; i < x->n_pop; i++)
		if (item[-(int)i] != x->pop[HT_HOP_ITEMS - 1 - i])
			return 0;
	return 1;
}

/* Are the first outcomes in `bits` those of `x`? */
static inline int
ht_hop_fits_bits(const struct ht_hop *x, uint64_t bits)
{
	return (bits >> 32 ^ x->bits) >> (32 - x->n) == 0;
}

/* Is `x` what comes next? */
static inline int
ht_hop_fits(const struct ht_hop *x, const struct ht_hop_key *k, const struct ht_return_stack *s)
{
	return x->from == k->from && x->to == k->to && x->n <= k->n && x->n >= k->hold &&
	       (!(x->shape & HT_HOP_RETURNS) || x->n == k->n) && ht_hop_fits_bits(x, k->bits) &&
	       ht_hop_fits_stack(x, s);
}

/* Put the return stack where the hop leaves it. */
static inline void
ht_hop_take(const struct ht_hop *x, struct ht_return_stack *s)
{
	unsigned top = s->top - x->n_pop;

	if (x->shape & HT_HOP_DROPS) {
		s->top = top - (s->item[top] != 0);
		return;
	}
	__builtin_memcpy(&s->item[top + 1], x->push, sizeof(x->push));
	s->top = top + x->n_push;
}

/*
 * The hop that comes next, where the first slot has another one; NULL with *rc 0:
 * there is none, or -HT_ENOMEM.
 */
struct ht_hop *ht_hop_find(struct ht_hops *h, const struct ht_hop_key *k, int *rc);

/* What was looked up was followed by `foreseen` hops. */
static inline void
ht_hops_judge(struct ht_hops *h, uint32_t foreseen)
{
	h->credit += foreseen < 2 * HT_HOP_CREDIT ? (int)foreseen - 1 : 2 * HT_HOP_CREDIT;
	if (h->credit > HT_HOP_CREDIT)
		h->credit = HT_HOP_CREDIT;
	if (h->credit < -HT_HOP_CREDIT) {
		h->credit = 0;
		h->rest = HT_HOP_REST;
	}
}

static inline int
ht_hops_are_full(const struct ht_hops *h)
{
	return h->n > 1u << 20;
}

#endif
