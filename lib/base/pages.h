/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Zeroed memory for large tables that are visited at random: in huge pages where
 * the system has them, since page faults and address translation cost more than
 * the visits themselves.
 */
#ifndef BASE_PAGES_H
#define BASE_PAGES_H

#include <stddef.h>

/* NULL when out of memory (or `size` is 0). */
void *ht_pages_alloc(size_t size);
/* `size` as allocated; NULL is fine. */
void ht_pages_free(void *p, size_t size);

#endif
