/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/error.h>

#include "base/radix.h"

/* Numbers count from the least one, so that most fit. */
struct key {
	uint32_t number, item;
};

static uint64_t
number_at(const char *items, size_t i, size_t size)
{
	uint64_t v;

	memcpy(&v, items + i * size, sizeof(v));
	return v;
}

/* One byte of all numbers, from `from` to `to`; 0 when it is the same in all. */
static int
pass(const struct key *from, struct key *to, size_t n, unsigned shift)
{
	size_t begin[256] = { 0 }, sum = 0;

	for (size_t i = 0; i < n; i++)
		begin[from[i].number >> shift & 0xff]++;
	if (begin[from[0].number >> shift & 0xff] == n)
		return 0;
	for (unsigned b = 0; b < 256; b++) {
		size_t here = begin[b];

		begin[b] = sum;
		sum += here;
	}
	for (size_t i = 0; i < n; i++)
		to[begin[from[i].number >> shift & 0xff]++] = from[i];
	return 1;
}

static int
is_sorted(const char *items, size_t n, size_t size, uint64_t *least, uint64_t *most)
{
	uint64_t last = number_at(items, 0, size);
	int sorted = 1;

	*least = *most = last;
	for (size_t i = 1; i < n; i++) {
		uint64_t v = number_at(items, i, size);

		sorted &= last <= v;
		*least = v < *least ? v : *least;
		*most = v > *most ? v : *most;
		last = v;
	}
	return sorted;
}

/* By 32 bits of the numbers, from bit `from` on. */
static void
sort_part(char *items, size_t n, size_t size, uint64_t least, unsigned from, struct key *keys, char *copy)
{
	struct key *a = keys, *b = keys + n;

	for (size_t i = 0; i < n; i++)
		a[i] = (struct key){ (uint32_t)((number_at(items, i, size) - least) >> from), (uint32_t)i };
	for (unsigned shift = 0; shift < 32; shift += 8)
		if (pass(a, b, n, shift)) {
			struct key *t = a;

			a = b;
			b = t;
		}
	memcpy(copy, items, n * size);
	for (size_t i = 0; i < n; i++)
		memcpy(items + i * size, copy + a[i].item * size, size);
}

int
ht_radix_sort(void *items, size_t n, size_t size)
{
	uint64_t least, most;
	struct key *keys;
	char *copy;

	if (n < 2 || is_sorted(items, n, size, &least, &most))
		return 0;
	keys = n > UINT32_MAX ? NULL : malloc(n * 2 * sizeof(*keys));
	copy = malloc(n * size);
	if (keys && copy) {
		sort_part(items, n, size, least, 0, keys, copy);
		if ((most - least) >> 32)
			sort_part(items, n, size, least, 32, keys, copy);
	}
	free(keys);
	free(copy);
	return keys && copy ? 0 : -HT_ENOMEM;
}
