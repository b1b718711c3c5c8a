/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include <hwtrace/error.h>

#include "session/session.h"

static size_t
slot_of(const struct ht_index *x, uint64_t key)
{
	size_t i = (size_t)((key ^ (key >> 29)) * 0x9e3779b97f4a7c15ull >> 20) & (x->cap - 1);

	/* value 0 marks a free slot; at most half of them are used. */
	while (x->at[i].value && x->at[i].key != key)
		i = (i + 1) & (x->cap - 1);
	return i;
}

static int
index_grow(struct ht_index *x)
{
	struct ht_index y = { .cap = x->cap ? x->cap * 2 : 64, .n = x->n };

	y.at = calloc(y.cap, sizeof(*y.at));
	if (!y.at)
		return -HT_ENOMEM;
	for (size_t i = 0; i < x->cap; i++)
		if (x->at[i].value)
			y.at[slot_of(&y, x->at[i].key)] = x->at[i];
	free(x->at);
	*x = y;
	return 0;
}

int
ht_index_set(struct ht_index *x, uint64_t key, uint32_t value)
{
	size_t i;

	if (2 * (x->n + 1) > x->cap && index_grow(x) < 0)
		return -HT_ENOMEM;
	i = slot_of(x, key);
	x->n += x->at[i].value == 0;
	x->at[i].key = key;
	x->at[i].value = value + 1;
	return 0;
}

uint32_t
ht_index_get(const struct ht_index *x, uint64_t key)
{
	return x->cap ? x->at[slot_of(x, key)].value - 1 : UINT32_MAX;
}

void
ht_index_fini(struct ht_index *x)
{
	free(x->at);
	*x = (struct ht_index){ 0 };
}
