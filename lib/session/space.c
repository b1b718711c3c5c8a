/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include <hwtrace/error.h>

#include "base/vec.h"
#include "session/space.h"

void
ht_space_clear(struct ht_space *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->at[i]);
	s->n = 0;
}

void
ht_space_fini(struct ht_space *s)
{
	ht_space_clear(s);
	ht_vec_free(s);
}

/* First chunk whose last entry ends after `addr`; s->n when there is none. */
static size_t
chunk_from(const struct ht_space *s, uint64_t addr)
{
	size_t lo = 0, hi = s->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct ht_space_chunk *c = s->at[mid];

		if (c->e[c->n - 1].end > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/* First entry of `c` that ends after `addr`; c->n when there is none. */
static unsigned
entry_from(const struct ht_space_chunk *c, uint64_t addr)
{
	unsigned lo = 0, hi = c->n;

	while (lo < hi) {
		unsigned mid = lo + (hi - lo) / 2;

		if (c->e[mid].end > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/* Make a chunk at position `i`; NULL when out of memory. */
static struct ht_space_chunk *
chunk_insert(struct ht_space *s, size_t i)
{
	struct ht_space_chunk *c = malloc(sizeof(*c));

	if (!c || ht_vec_reserve(s, s->n + 1) < 0) {
		free(c);
		return NULL;
	}
	memmove(&s->at[i + 1], &s->at[i], (s->n - i) * sizeof(*s->at));
	s->at[i] = c;
	s->n++;
	c->n = 0;
	return c;
}

static void
chunk_remove(struct ht_space *s, size_t i)
{
	free(s->at[i]);
	s->n--;
	memmove(&s->at[i], &s->at[i + 1], (s->n - i) * sizeof(*s->at));
}

/* Insert `e` before entry `j` of chunk `i`; a full chunk is split in two. */
static int
entry_insert(struct ht_space *s, size_t i, unsigned j, const struct ht_entry *e)
{
	struct ht_space_chunk *c = s->at[i];

	if (c->n == HT_SPACE_CHUNK) {
		struct ht_space_chunk *d = chunk_insert(s, i + 1);
		/* Ranges put in ascending order leave full chunks behind them. */
		unsigned keep = j == c->n ? c->n : c->n / 2;

		if (!d)
			return -HT_ENOMEM;
		d->n = c->n - keep;
		memcpy(d->e, c->e + keep, d->n * sizeof(*d->e));
		c->n = keep;
		if (j > keep || keep == HT_SPACE_CHUNK) {
			j -= keep;
			c = d;
		}
	}
	memmove(&c->e[j + 1], &c->e[j], (c->n - j) * sizeof(*c->e));
	c->e[j] = *e;
	c->n++;
	return 0;
}

static void
trim_front(struct ht_entry *e, uint64_t start)
{
	e->off += start - e->start;
	e->start = start;
}

/* Cut [start, end) out of chunk `i`, which may become empty.  1, 0 or -HT_ENOMEM. */
static int
chunk_cut(struct ht_space *s, size_t i, uint64_t start, uint64_t end)
{
	struct ht_space_chunk *c = s->at[i];
	unsigned j = entry_from(c, start), k;

	for (k = j; k < c->n && c->e[k].start < end; k++)
		;
	if (j == k)
		return 0;
	if (c->e[j].start < start && c->e[j].end > end) {
		struct ht_entry right = c->e[j];
		int r;

		trim_front(&right, end);
		r = entry_insert(s, i, j + 1, &right);
		if (r < 0)
			return r;
		/* A split may have moved the left part to the new chunk. */
		i = chunk_from(s, start);
		c = s->at[i];
		c->e[entry_from(c, start)].end = start;
		return 1;
	}
	if (c->e[j].start < start)
		c->e[j++].end = start;
	if (k > j && c->e[k - 1].end > end)
		trim_front(&c->e[--k], end);
	memmove(&c->e[j], &c->e[k], (c->n - k) * sizeof(*c->e));
	c->n -= k - j;
	return 1;
}

int
ht_space_cut(struct ht_space *s, uint64_t start, uint64_t end)
{
	size_t i = chunk_from(s, start);
	int changed = 0, r;

	if (start >= end)
		return 0;
	while (i < s->n && s->at[i]->e[0].start < end) {
		r = chunk_cut(s, i, start, end);
		if (r < 0)
			return r;
		changed |= r;
		if (s->at[i]->n == 0)
			chunk_remove(s, i);
		else
			i++;
	}
	return changed;
}

int
ht_space_put(struct ht_space *s, const struct ht_entry *e)
{
	size_t i;
	unsigned j;
	int r;

	if (e->start >= e->end)
		return -HT_EINVAL;
	r = ht_space_cut(s, e->start, e->end);
	if (r < 0)
		return r;
	if (!s->n) {
		struct ht_space_chunk *c = chunk_insert(s, 0);

		if (!c)
			return -HT_ENOMEM;
		c->e[0] = *e;
		c->n = 1;
		return 0;
	}
	i = chunk_from(s, e->start);
	if (i == s->n)
		i--;
	j = entry_from(s->at[i], e->start);
	/* Room at the end of the chunk before is as good as a split of this one. */
	if (j == 0 && i > 0 && s->at[i]->n == HT_SPACE_CHUNK && s->at[i - 1]->n < HT_SPACE_CHUNK) {
		i--;
		j = s->at[i]->n;
	}
	return entry_insert(s, i, j, e);
}

struct ht_entry *
ht_space_from(const struct ht_space *s, uint64_t addr)
{
	size_t i = chunk_from(s, addr);

	return i < s->n ? &s->at[i]->e[entry_from(s->at[i], addr)] : NULL;
}

struct ht_entry *
ht_space_find(const struct ht_space *s, uint64_t addr)
{
	struct ht_entry *e = ht_space_from(s, addr);

	return e && e->start <= addr ? e : NULL;
}
