/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include <hwtrace/error.h>

#include "base/vec.h"
#include "decode/flow/context.h"

#define FIRST_SLOTS 1024

int
ht_contexts_init(struct ht_contexts *c)
{
	struct ht_context *empty;

	memset(c, 0, sizeof(*c));
	empty = ht_vec_push(c);
	c->slots = calloc(FIRST_SLOTS, sizeof(*c->slots));
	c->n_slots = FIRST_SLOTS;
	if (!empty || !c->slots)
		return -HT_ENOMEM;
	memset(empty, 0, sizeof(*empty));
	return 0;
}

void
ht_contexts_fini(struct ht_contexts *c)
{
	free(c->slots);
	ht_vec_free(c);
	memset(c, 0, sizeof(*c));
}

static size_t
hash(uint32_t below, uint64_t addr)
{
	return (size_t)((addr ^ (uint64_t)below * 0xff51afd7ed558ccdull) * 0x9e3779b97f4a7c15ull >> 24);
}

static int
grow(struct ht_contexts *c)
{
	size_t n = c->n_slots * 4;
	uint32_t *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return -1;
	for (size_t i = 1; i < c->n; i++) {
		size_t at;

		for (at = hash(c->at[i].below, c->at[i].addr) & (n - 1); slots[at]; at = (at + 1) & (n - 1))
			;
		slots[at] = (uint32_t)i;
	}
	free(c->slots);
	c->slots = slots;
	c->n_slots = n;
	return 0;
}

static uint32_t
push(struct ht_contexts *c, uint32_t below, uint64_t addr, uint32_t single)
{
	struct ht_context *x;
	size_t at;

	if (c->n * 2 >= c->n_slots && grow(c) < 0)
		return 0;
	for (at = hash(below, addr) & (c->n_slots - 1); c->slots[at]; at = (at + 1) & (c->n_slots - 1)) {
		x = &c->at[c->slots[at]];
		if (x->addr == addr && x->below == below)
			return c->slots[at];
	}
	x = c->n < UINT32_MAX ? ht_vec_push(c) : NULL;
	if (!x)
		return 0;
	c->slots[at] = (uint32_t)(c->n - 1);
	*x = (struct ht_context){ .addr = addr, .below = below, .depth = c->at[below].depth + 1,
		                  .single = single ? single : c->slots[at] };
	return c->slots[at];
}

uint32_t
ht_context_push_single(struct ht_contexts *c, uint32_t below, uint32_t single)
{
	return below ? push(c, below, c->at[single].addr, single) : single;
}

uint32_t
ht_context_push(struct ht_contexts *c, uint32_t below, uint64_t addr)
{
	uint32_t single = push(c, 0, addr, 0);

	return single ? ht_context_push_single(c, below, single) : 0;
}

void
ht_return_stack_clear(struct ht_return_stack *s)
{
	memset(s->item, 0, HT_RETURN_STACK_BASE * sizeof(*s->item));
	s->top = HT_RETURN_STACK_BASE - 1;
}

void
ht_return_stack_shift(struct ht_return_stack *s)
{
	unsigned from = s->top + 1 - HT_RETURN_STACK_KEEP;

	memmove(&s->item[HT_RETURN_STACK_BASE], &s->item[from],
	        HT_RETURN_STACK_KEEP * sizeof(*s->item));
	s->top = HT_RETURN_STACK_BASE - 1 + HT_RETURN_STACK_KEEP;
}

void
ht_return_stack_push_many(struct ht_return_stack *s, const struct ht_contexts *c,
                          uint32_t context)
{
	uint32_t n = c->at[context].depth;

	if (!ht_return_stack_has_room(s, n))
		ht_return_stack_shift(s);
	for (uint32_t i = n; i > 0; i--, context = c->at[context].below)
		s->item[s->top + i] = c->at[context].single;
	s->top += n;
}
