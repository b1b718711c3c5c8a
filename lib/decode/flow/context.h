/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Contexts: strings of return addresses, each held once.
 *
 * A context is a number; 0 is the empty string.  It names its newest address and
 * the context below, so that pushing and popping make no copies and two equal
 * strings have equal numbers.  Contexts hold addresses only: they survive a
 * change of the code.
 *
 * The return stack holds one address an item, as the context of that address
 * alone: what lies on it can be compared item by item.
 */
#ifndef DECODE_FLOW_CONTEXT_H
#define DECODE_FLOW_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

/*
 * The processor keeps 64 entries for return compression, and forgets the oldest.
 * Here the oldest go where the room ends: never less than KEEP are there.
 */
#define HT_RETURN_STACK_ROOM 1024
#define HT_RETURN_STACK_KEEP 256
#define HT_RETURN_STACK_BASE 8 /* slots that stay 0: a look below the oldest finds nothing */

/* More return addresses than this are pushed one by one. */
#define HT_CONTEXT_DEPTH 64

struct ht_context {
	uint64_t addr;   /* the newest return address */
	uint32_t below;  /* context */
	uint32_t depth;  /* addresses in all */
	uint32_t single; /* context of `addr` alone */
	struct ht_block *block; /* that was found at `addr` last, or NULL */
};

struct ht_contexts {
	struct ht_context *at;  /* [0] is the empty one */
	size_t             n, cap;
	uint32_t          *slots;
	size_t             n_slots;
};

/* 0, or -HT_ENOMEM. */
int  ht_contexts_init(struct ht_contexts *c);
void ht_contexts_fini(struct ht_contexts *c);
/* `addr` on top of `below`: its number, 0 when out of memory. */
uint32_t ht_context_push(struct ht_contexts *c, uint32_t below, uint64_t addr);
/* Likewise; `single` is `addr` alone. */
uint32_t ht_context_push_single(struct ht_contexts *c, uint32_t below, uint32_t single);

struct ht_return_stack {
	uint32_t item[HT_RETURN_STACK_ROOM]; /* contexts of one address; 0 = nothing there */
	unsigned top;                        /* of the newest; HT_RETURN_STACK_BASE - 1: empty */
};

void ht_return_stack_clear(struct ht_return_stack *s);
/* Drop the oldest where there is no room for another `n` items. */
void ht_return_stack_shift(struct ht_return_stack *s);

static inline int
ht_return_stack_has_room(const struct ht_return_stack *s, unsigned n)
{
	return s->top + n < HT_RETURN_STACK_ROOM;
}

/* `context` is of one address. */
static inline void
ht_return_stack_push(struct ht_return_stack *s, uint32_t context)
{
	if (__builtin_expect(!ht_return_stack_has_room(s, 1), 0))
		ht_return_stack_shift(s);
	s->item[++s->top] = context;
}

/* The newest item, or 0. */
static inline uint32_t
ht_return_stack_pop(struct ht_return_stack *s)
{
	uint32_t context = s->item[s->top];

	s->top -= context != 0;
	return context;
}

void ht_return_stack_push_many(struct ht_return_stack *s, const struct ht_contexts *c,
                               uint32_t context);

/* All addresses of `context`, the oldest first; at most HT_CONTEXT_DEPTH. */
static inline void
ht_return_stack_push_all(struct ht_return_stack *s, const struct ht_contexts *c,
                         uint32_t context)
{
	if (c->at[context].below)
		ht_return_stack_push_many(s, c, context);
	else
		ht_return_stack_push(s, context);
}

#endif
