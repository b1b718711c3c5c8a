/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"

#define BLOCK 65536

struct block {
	struct block *next;
	size_t        used, size;
	char          text[];
};

struct entry {
	uint64_t    hash;
	const char *text; /* NULL = free */
	size_t      size;
};

struct ht_intern {
	struct entry *table; /* open addressing, at most half full */
	size_t        mask, n;
	struct block *blocks;
};

static uint64_t
hash_text(const char *p, size_t n)
{
	uint64_t h = 1469598103934665603ull;

	while (n--)
		h = (h ^ (uint8_t)*p++) * 1099511628211ull;
	return h ^ h >> 29;
}

struct ht_intern *
ht_intern_new(void)
{
	struct ht_intern *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->mask = 255;
	s->table = calloc(s->mask + 1, sizeof(*s->table));
	if (!s->table) {
		free(s);
		return NULL;
	}
	return s;
}

void
ht_intern_free(struct ht_intern *s)
{
	if (!s)
		return;
	while (s->blocks) {
		struct block *b = s->blocks;

		s->blocks = b->next;
		free(b);
	}
	free(s->table);
	free(s);
}

static struct entry *
find(const struct ht_intern *s, uint64_t hash, const char *text, size_t size)
{
	size_t i = hash & s->mask;

	while (s->table[i].text && (s->table[i].hash != hash || s->table[i].size != size ||
	                            memcmp(s->table[i].text, text, size)))
		i = (i + 1) & s->mask;
	return &s->table[i];
}

static int
grow(struct ht_intern *s)
{
	struct ht_intern wide = { .mask = s->mask * 2 + 1 };

	wide.table = calloc(wide.mask + 1, sizeof(*wide.table));
	if (!wide.table)
		return -1;
	for (size_t i = 0; i <= s->mask; i++)
		if (s->table[i].text)
			*find(&wide, s->table[i].hash, s->table[i].text, s->table[i].size) =
			    s->table[i];
	free(s->table);
	s->table = wide.table;
	s->mask = wide.mask;
	return 0;
}

static char *
store(struct ht_intern *s, const char *text, size_t size)
{
	struct block *b = s->blocks;
	char *p;

	if (!b || size >= b->size - b->used) {
		size_t want = size + 1 > BLOCK ? size + 1 : BLOCK;

		b = malloc(sizeof(*b) + want);
		if (!b)
			return NULL;
		*b = (struct block){ .next = s->blocks, .size = want };
		s->blocks = b;
	}
	p = b->text + b->used;
	memcpy(p, text, size);
	p[size] = 0;
	b->used += size + 1;
	return p;
}

const char *
ht_intern(struct ht_intern *s, const char *text, size_t size)
{
	uint64_t hash = hash_text(text, size);
	struct entry *e = find(s, hash, text, size);

	if (e->text)
		return e->text;
	if ((s->n + 1) * 2 > s->mask) {
		if (grow(s) < 0)
			return NULL;
		e = find(s, hash, text, size);
	}
	e->text = store(s, text, size);
	if (!e->text)
		return NULL;
	e->hash = hash;
	e->size = size;
	s->n++;
	return e->text;
}
