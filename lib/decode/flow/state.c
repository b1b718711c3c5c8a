/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include <hwtrace/error.h>

#include "base/vec.h"
#include "decode/flow/state.h"

#define FIRST_SLOTS 1024u
#define KEEP_MAX    3u

static uint32_t
name_of(size_t number)
{
	return (uint32_t)number * HT_STATE_ODD;
}

int
ht_states_init(struct ht_states *s)
{
	memset(s, 0, sizeof(*s));
	if (ht_vec_reserve(s, 1) < 0)
		return -HT_ENOMEM;
	s->at[0] = (struct ht_state){ 0 };
	s->n = 1;
	return 0;
}

void
ht_states_fini(struct ht_states *s)
{
	ht_vec_free(s);
	free(s->deep);
	memset(s, 0, sizeof(*s));
}

void
ht_states_leave_blocks(struct ht_states *s)
{
	for (size_t i = 1; i < s->n; i++)
		s->at[i].block->state = 0;
}

/* The number of a new state, or 0. */
static size_t
add(struct ht_states *s, struct ht_block *block, uint32_t context)
{
	struct ht_state *x = s->n < UINT32_MAX ? ht_vec_push(s) : NULL;

	if (!x)
		return 0;
	*x = (struct ht_state){ .block = block, .context = context, .bare = block->state };
	return s->n - 1;
}

static uint32_t
bare(struct ht_states *s, struct ht_block *block)
{
	size_t i;

	if (block->state)
		return block->state;
	i = add(s, block, 0);
	if (i)
		block->state = s->at[i].bare = name_of(i);
	return block->state;
}

/* The slot of that state, or the free one where it belongs. */
static uint32_t *
deep_slot(const struct ht_states *s, uint32_t name, uint32_t context)
{
	uint64_t known = ((uint64_t)name << 32 | context) * 0x9e3779b97f4a7c15ull >> 32;
	size_t at;

	for (at = known & s->deep_mask; s->deep[at]; at = (at + 1) & s->deep_mask)
		if (s->at[s->deep[at]].bare == name && s->at[s->deep[at]].context == context)
			break;
	return &s->deep[at];
}

static int
grow(struct ht_states *s)
{
	size_t n = s->deep ? (s->deep_mask + 1) * 4 : FIRST_SLOTS;
	uint32_t *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return -1;
	free(s->deep);
	s->deep = slots;
	s->deep_mask = n - 1;
	for (size_t i = 1; i < s->n; i++)
		if (s->at[i].context)
			*deep_slot(s, s->at[i].bare, s->at[i].context) = (uint32_t)i;
	return 0;
}

uint32_t
ht_state_of(struct ht_states *s, struct ht_block *block, uint32_t context)
{
	uint32_t name = bare(s, block), *slot;
	size_t i;

	if (!name || !context)
		return name;
	if (s->n_deep * 2 >= s->deep_mask && grow(s) < 0)
		return 0;
	slot = deep_slot(s, name, context);
	if (!*slot) {
		i = add(s, block, context);
		if (!i)
			return 0;
		*slot = (uint32_t)i;
		s->n_deep++;
	}
	return name_of(*slot);
}

/*
 * Where a function is called from few places, its states with a context are about
 * as many as those without; where from many, they would fill the memo with what
 * is used once.
 */
static unsigned
keep(const struct ht_states *s)
{
	size_t plain = s->n - s->n_deep;

	return s->n_deep < plain ? KEEP_MAX : s->n_deep < plain + plain / 2 ? 1 : 0;
}

uint32_t
ht_state_behind(struct ht_states *s, struct ht_trip *t)
{
	struct ht_contexts *c = &t->walk->contexts;
	uint32_t single[KEEP_MAX];
	uint32_t kept = 0;
	unsigned n = 0, most = keep(s);

	if (c->at[t->context].depth <= most) {
		kept = t->context;
		t->context = 0;
	}
	for (; n < most && t->context; t->context = c->at[t->context].below)
		single[n++] = c->at[t->context].single;
	while (n > 0) {
		kept = ht_context_push_single(c, kept, single[--n]);
		if (!kept)
			return 0;
	}
	return ht_state_of(s, t->block, kept);
}
