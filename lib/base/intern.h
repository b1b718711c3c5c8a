/* SPDX-License-Identifier: BSD-2-Clause */
/* A set of strings: each text is kept once, and its pointer lives until the set is freed. */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H

#include <stddef.h>

struct ht_intern;

struct ht_intern *ht_intern_new(void); /* NULL: out of memory */
void ht_intern_free(struct ht_intern *set);
/* The set's own copy of `text` (`size` bytes, no NUL needed behind); NULL: out of memory. */
const char *ht_intern(struct ht_intern *set, const char *text, size_t size);

#endif
