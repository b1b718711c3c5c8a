/* SPDX-License-Identifier: BSD-2-Clause */
/* Sorting by a number of 64 bits; equal ones stay in the order in which they are. */
#ifndef BASE_RADIX_H
#define BASE_RADIX_H

#include <stddef.h>

/* `n` items of `size` bytes, each of which begins with its number. 0 or -HT_ENOMEM; nothing is changed then. */
int ht_radix_sort(void *items, size_t n, size_t size);

#endif
