/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>

#include <hwtrace/error.h>

#include "base/vec.h"

int
ht_vec_grow(void **at, size_t *cap, size_t want, size_t item)
{
	size_t n = *cap;
	void *p;

	if (want <= n)
		return 0;
	if (want > SIZE_MAX / 2 / item)
		return -HT_ENOMEM;
	n = n ? n * 2 : 8;
	if (n < want)
		n = want;
	p = realloc(*at, n * item);
	if (!p)
		return -HT_ENOMEM;
	*at = p;
	*cap = n;
	return 0;
}
