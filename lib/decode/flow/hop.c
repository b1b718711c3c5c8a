/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include <hwtrace/error.h>

#include "base/pages.h"
#include "decode/flow/hop.h"

#define FIRST_HOPS 1024u
#define INDEX_PER_HOP 8u
#define WAITS_MAX 63u

/* -- tables ---------------------------------------------------------------- */

static size_t
hash(const struct ht_hop *x)
{
	uint64_t v = x->from ^ x->to << 17 ^ (uint64_t)x->bits << 31 ^ x->n;

	for (unsigned i = 0; i < HT_HOP_ITEMS; i++)
		v = (v ^ x->pop[i]) * 0x9e3779b97f4a7c15ull;
	return (size_t)(v >> 24);
}

/* Do both say the same? */
static int
same(const struct ht_hop *a, const struct ht_hop *b)
{
	return a->from == b->from && a->to == b->to && a->bits == b->bits && a->n == b->n &&
	       a->n_pop == b->n_pop && !memcmp(a->pop, b->pop, sizeof(a->pop));
}

static uint32_t *
known_slot(const struct ht_hops *h, const struct ht_hop *x)
{
	size_t at;

	for (at = hash(x) & h->known_mask; h->known[at]; at = (at + 1) & h->known_mask)
		if (same(&h->at[h->known[at]], x))
			break;
	return &h->known[at];
}

/* The index is forgotten: it fills up again from the hops that are known. */
static int
grow(struct ht_hops *h)
{
	size_t cap = h->cap ? h->cap * 2 : FIRST_HOPS;
	struct ht_hop *at = ht_pages_alloc(cap * sizeof(*at));
	uint32_t *index = ht_pages_alloc(cap * INDEX_PER_HOP * sizeof(*index));
	uint32_t *known = ht_pages_alloc(cap * 2 * sizeof(*known));
	uint32_t *last = ht_pages_alloc(cap * sizeof(*last));

	if (!at || !index || !known || !last) {
		ht_pages_free(at, cap * sizeof(*at));
		ht_pages_free(index, cap * INDEX_PER_HOP * sizeof(*index));
		ht_pages_free(known, cap * 2 * sizeof(*known));
		ht_pages_free(last, cap * sizeof(*last));
		return -HT_ENOMEM;
	}
	if (h->at) {
		memcpy(at, h->at, h->n * sizeof(*at));
		memcpy(last, h->last, h->n * sizeof(*last));
	}
	ht_pages_free(h->at, h->cap * sizeof(*h->at));
	ht_pages_free(h->index, h->cap * INDEX_PER_HOP * sizeof(*h->index));
	ht_pages_free(h->known, h->cap * 2 * sizeof(*h->known));
	ht_pages_free(h->last, h->cap * sizeof(*h->last));
	at[HT_HOP_NONE].from = at[HT_HOP_NEVER].from = HT_HOP_NOWHERE;
	h->at = at;
	h->index = index;
	h->known = known;
	h->last = last;
	h->cap = cap;
	h->index_mask = cap * INDEX_PER_HOP - 1;
	h->known_mask = cap * 2 - 1;
	for (size_t i = 2; i < h->n; i++)
		*known_slot(h, &h->at[i]) = (uint32_t)i;
	return 0;
}

int
ht_hops_init(struct ht_hops *h, struct ht_memo *m)
{
	memset(h, 0, sizeof(*h));
	h->memo = m;
	h->n = 2;
	h->log = ht_pages_alloc(HT_HOP_LOG * sizeof(*h->log));
	return h->log ? grow(h) : -HT_ENOMEM;
}

void
ht_hops_fini(struct ht_hops *h)
{
	ht_pages_free(h->at, h->cap * sizeof(*h->at));
	ht_pages_free(h->index, h->cap * INDEX_PER_HOP * sizeof(*h->index));
	ht_pages_free(h->known, h->cap * 2 * sizeof(*h->known));
	ht_pages_free(h->last, h->cap * sizeof(*h->last));
	ht_pages_free(h->log, HT_HOP_LOG * sizeof(*h->log));
	memset(h, 0, sizeof(*h));
}

int
ht_hops_reset(struct ht_hops *h)
{
	struct ht_memo *m = h->memo;

	ht_hops_fini(h);
	return ht_hops_init(h, m);
}

/* -- walking --------------------------------------------------------------- */

/* What a hop's returns may take off the stack: the newest at items[0], then downwards. */
struct below {
	const uint32_t *items;
	unsigned        n;
};

/*
 * Up to the indirect branch in front of `to`.  0; or -1: there is none within the
 * outcomes, or no plain way.
 */
static int
walk(struct ht_trip *t, struct below *below)
{
	for (;;) {
		if (ht_trip_outcomes(t) < 0)
			return -1;
		if (!t->stopped)
			return ht_trip_chain(t) < 0 || t->block->insn == HT_INSN_COND ? -1 : 0;
		if (t->block->insn != HT_INSN_RET)
			return 0;
		if (below->n == HT_HOP_ITEMS || below->items[-(int)below->n] == 0)
			return -1;
		t->context = below->items[-(int)below->n++];
		t->stopped = 0;
	}
}

static struct ht_trip
set_out(struct ht_hops *h, uint64_t from, uint32_t bits, enum ht_telling telling)
{
	struct ht_walk *w = h->memo->walk;

	return (struct ht_trip){ .walk = w, .runs = &h->memo->runs, .telling = telling, .bits = bits,
		                 .block = ht_graph_block(&w->graph, from, 64) };
}

static int
fold_one(struct ht_hops *h, struct ht_hop *x)
{
	uint32_t bits = (uint32_t)((1ull << 32 | x->bits) >> (32 - x->n));
	struct ht_trip t = set_out(h, x->from, bits, HT_TELL_COUNTS);
	struct below below = { &x->pop[HT_HOP_ITEMS - 1], 0 };

	if (!t.block)
		return -HT_ENOMEM;
	t.weight = x->count;
	x->count = 0;
	return walk(&t, &below) < 0 || ht_trip_target(&t, x->to) < 0 || t.no_memory ? -HT_ENOMEM : 0;
}

int
ht_hops_fold(struct ht_hops *h)
{
	for (size_t i = 2; h->memo->walk->edges && i < h->n; i++)
		if (h->at[i].count && fold_one(h, &h->at[i]) < 0)
			return -HT_ENOMEM;
	return 0;
}

/* -- making ---------------------------------------------------------------- */

/* What the trip pushed; 0 when that is too much. */
static int
take_pushed(struct ht_hop *x, const struct ht_contexts *c, uint32_t context)
{
	uint32_t n = c->at[context].depth;

	if (n > HT_HOP_ITEMS)
		return 0;
	x->n_push = (uint8_t)n;
	for (; n > 0; context = c->at[context].below)
		x->push[--n] = c->at[context].single;
	return 1;
}

/* A trip to where the key leads; 0 with *x written, or -1. */
static int
explore(struct ht_hops *h, struct ht_trip *t, const struct ht_hop_key *k, struct ht_hop *x)
{
	unsigned given = k->n < HT_HOP_MAX ? k->n : HT_HOP_MAX;
	struct ht_walk *w = h->memo->walk;
	struct below below = { &w->stack.item[w->stack.top], 0 };
	int at_return;

	*t = set_out(h, k->from, (uint32_t)((1ull << 32 | k->bits >> 32) >> (32 - given)),
	             w->edges ? HT_TELL_NOTHING : HT_TELL_EVENTS);
	x->count = ht_trip_begin_run(t);
	if (!t->block || walk(t, &below) < 0)
		return -1;
	x->n = (uint8_t)(given - (31 - (unsigned)__builtin_clz(t->bits)));
	at_return = t->block->insn == HT_INSN_RET;
	if (x->n < k->hold || (at_return && x->n < k->n) || ht_trip_target(t, k->to) < 0 ||
	    !take_pushed(x, &w->contexts, t->context))
		return -1;
	x->from = k->from;
	x->to = k->to;
	x->bits = (uint32_t)(k->bits >> 32 & ~(0xffffffffull >> x->n));
	x->n_pop = (uint8_t)below.n;
	for (unsigned i = 0; i < below.n; i++)
		x->pop[HT_HOP_ITEMS - 1 - i] = below.items[-(int)i];
	x->shape = (uint8_t)((at_return ? HT_HOP_RETURNS : 0) | (x->n_pop ? HT_HOP_POPS : 0) |
	                     (x->n_push ? HT_HOP_PUSHES : 0) | (t->drops ? HT_HOP_DROPS : 0));
	x->state = ht_state_of(&h->memo->states, t->block, 0);
	t->no_memory |= !x->state;
	return 0;
}

/* Explore where the key leads: number of the hop; 0 with *rc 0: there is none, or -HT_ENOMEM. */
static uint32_t
make(struct ht_hops *h, const struct ht_hop_key *k, int *rc)
{
	struct ht_hop x = { 0 };
	struct ht_trip t;
	int failed = explore(h, &t, k, &x) < 0;
	uint32_t *known;

	*rc = t.no_memory || !t.block ? -HT_ENOMEM : 0;
	if (failed || *rc < 0) {
		ht_trip_end_run(&t, x.count, 1);
		return 0;
	}
	known = known_slot(h, &x);
	ht_trip_end_run(&t, x.count, *known != 0);
	if (!*known) {
		if (h->n == h->cap) {
			*rc = grow(h);
			if (*rc < 0)
				return 0;
			known = known_slot(h, &x);
		}
		h->at[h->n] = x;
		*known = (uint32_t)h->n++;
	}
	return *known;
}

struct ht_hop *
ht_hop_find(struct ht_hops *h, const struct ht_hop_key *k, int *rc)
{
	const struct ht_return_stack *stack = &h->memo->walk->stack;
	uint32_t i = *ht_hop_second_slot(h, k, stack);

	*rc = 0;
	if (i == HT_HOP_NEVER)
		return NULL;
	if (!ht_hop_fits(&h->at[i], k, stack)) {
		if (h->wait) {
			h->wait--;
			return NULL;
		}
		i = make(h, k, rc);
		/* Where there are none for the most part, trying costs more than it gains. */
		h->waits = i ? h->waits / 2 : h->waits < WAITS_MAX ? h->waits * 2 + 1 : h->waits;
		h->wait = i ? 0 : h->waits;
		*ht_hop_second_slot(h, k, stack) = i ? i : HT_HOP_NEVER;
		if (!i)
			return NULL;
	}
	*ht_hop_slot(h, k) = i;
	return &h->at[i];
}
