/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/error.h>

#include "base/radix.h"

struct key {
	uint64_t number;
	size_t item;
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

int
ht_radix_sort(void *items, size_t n, size_t size)
{
	struct key *a, *b, *both;
	uint64_t differ = 0, last;
	int sorted = 1;
	char *copy;

	if (n < 2)
		return 0;
	both = malloc(n * 2 * sizeof(*both));
	copy = malloc(n * size);
	if (!both || !copy) {
		free(both);
		free(copy);
		return -HT_ENOMEM;
	}
	a = both;
	b = both + n;
	last = number_at(items, 0, size);
	for (size_t i = 0; i < n; i++) {
		a[i] = (struct key){ number_at(items, i, size), i };
		differ |= a[i].number ^ a[0].number;
		sorted &= last <= a[i].number;
		last = a[i].number;
	}
	for (unsigned shift = 0; !sorted && shift < 64; shift += 8)
		if (differ >> shift & 0xff && pass(a, b, n, shift)) {
			struct key *t = a;

			a = b;
			b = t;
		}
	if (!sorted) {
		memcpy(copy, items, n * size);
		for (size_t i = 0; i < n; i++)
			memcpy((char *)items + i * size, copy + a[i].item * size, size);
	}
	free(both);
	free(copy);
	return 0;
}
