/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "container/overlap.h"

#define PSB_SIZE 16
#define TAIL_MIN 64 /* less may look the same by chance */

static const uint8_t psb[PSB_SIZE] = { 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82 };

/* Position of the last PSB; `n` when there is none. */
static size_t
last_psb(const uint8_t *a, size_t n)
{
	for (size_t i = n < PSB_SIZE ? 0 : n - PSB_SIZE + 1; i > 0; i--)
		if (a[i - 1] == psb[0] && !memcmp(a + i - 1, psb, PSB_SIZE))
			return i - 1;
	return n;
}

int
ht_overlap(const uint8_t *a, size_t na, const uint8_t *b, size_t nb, size_t *skip)
{
	size_t from, n;
	const uint8_t *at;

	/* Nothing was traced in between, or the second one took less. */
	if (nb <= na && nb >= TAIL_MIN && !memcmp(a + (na - nb), b, nb)) {
		*skip = nb;
		return 1;
	}
	from = last_psb(a, na);
	if (na - from < TAIL_MIN)
		from = na > TAIL_MIN ? na - TAIL_MIN : 0;
	n = na - from;
	if (n < TAIL_MIN || n > nb || !(at = memmem(b, nb, a + from, n)))
		return 0;
	*skip = (size_t)(at - b) + n;
	/* The same bytes twice: nothing tells which of them are the ones. */
	return !memmem(at + 1, nb - (size_t)(at - b) - 1, a + from, n);
}
