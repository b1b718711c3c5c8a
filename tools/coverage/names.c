/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"

static size_t
slot_of(const struct names *n, const char *name)
{
	uint64_t h = 0xcbf29ce484222325u;
	size_t i;

	for (const char *s = name; *s; s++)
		h = (h ^ (uint8_t)*s) * 0x100000001b3u;
	for (i = (size_t)(h ^ h >> 32) & (n->size - 1); n->slots[i] && strcmp(n->slots[i], name);)
		i = (i + 1) & (n->size - 1);
	return i;
}

static int
grow(struct names *n)
{
	struct names bigger = { NULL, n->size ? n->size * 2 : 64, n->used };

	bigger.slots = calloc(bigger.size, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -1;
	for (size_t i = 0; i < n->size; i++)
		if (n->slots[i])
			bigger.slots[slot_of(&bigger, n->slots[i])] = n->slots[i];
	free(n->slots);
	*n = bigger;
	return 0;
}

int
names_add(struct names *n, const char *name)
{
	size_t i;

	if (n->used * 2 >= n->size && grow(n) < 0)
		return 1;
	i = slot_of(n, name);
	if (n->slots[i])
		return 1;
	n->slots[i] = name;
	n->used++;
	return 0;
}

void
names_clear(struct names *n)
{
	if (n->used)
		memset(n->slots, 0, n->size * sizeof(*n->slots));
	n->used = 0;
}

void
names_fini(struct names *n)
{
	free(n->slots);
	memset(n, 0, sizeof(*n));
}
