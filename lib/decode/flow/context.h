/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Contexts: strings of return addresses, each held once.
 *
 * A context is a number; 0 is the empty string.  It names its newest address and
 * the context below, so that pushing and popping make no copies and two equal
 * strings have equal numbers.  Contexts hold addresses only: they survive a
 * change of the code.
 *
 * The return stack is a ring of contexts.
 */
#ifndef DECODE_FLOW_CONTEXT_H
#define DECODE_FLOW_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

/*
 * The processor keeps 64 entries for return compression.  A ring of 128 holds
 * all of them, and has a slot to spare in front of the newest: pushing writes
 * there in any case, so that "nothing to push" needs no branch.
 */
#define HT_CONTEXT_STACK 128

struct ht_context {
	uint64_t addr;   /* the newest return address */
	uint32_t below;  /* context */
	uint32_t depth;  /* addresses in all */
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

struct ht_return_stack {
	uint32_t item[HT_CONTEXT_STACK]; /* contexts; 0 = nothing there */
	unsigned top;
};

/* 0 = nothing to push. */
static inline void
ht_return_stack_push(struct ht_return_stack *s, uint32_t context)
{
	s->item[(s->top + 1) % HT_CONTEXT_STACK] = context;
	s->top = (s->top + (context != 0)) % HT_CONTEXT_STACK;
}

/* The newest item, or 0. */
static inline uint32_t
ht_return_stack_pop(struct ht_return_stack *s)
{
	uint32_t context = s->item[s->top];

	s->item[s->top] = 0;
	s->top = (s->top + HT_CONTEXT_STACK - 1) % HT_CONTEXT_STACK;
	return context;
}

/* Take the newest address off, if there is one. */
static inline void
ht_return_stack_drop(struct ht_return_stack *s, const struct ht_contexts *c)
{
	uint32_t below = c->at[s->item[s->top]].below;

	s->item[s->top] = below;
	s->top = (s->top + HT_CONTEXT_STACK - (below == 0)) % HT_CONTEXT_STACK;
}

#endif
