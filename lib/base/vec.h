/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A growing array of plain values:
 *	struct { struct thing *at; size_t n, cap; } things = { 0 };
 *	struct thing *t = ht_vec_push(&things);   (NULL: out of memory)
 *	ht_vec_free(&things);
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stddef.h>
#include <stdlib.h>

int ht_vec_grow(void **at, size_t *cap, size_t want, size_t item);

/* Make room for `want` items in all; 0 or -HT_ENOMEM. */
#define ht_vec_reserve(v, want) ht_vec_grow((void **)&(v)->at, &(v)->cap, (want), sizeof(*(v)->at))
/* Pointer to a new last item, not initialised; NULL when out of memory. */
#define ht_vec_push(v) (ht_vec_reserve((v), (v)->n + 1) < 0 ? NULL : &(v)->at[(v)->n++])
#define ht_vec_free(v) (free((v)->at), (v)->at = NULL, (v)->n = (v)->cap = 0)

#endif
