/* SPDX-License-Identifier: BSD-2-Clause */
/* A set of names, for formats in which each may stand once. */
#ifndef COVERAGE_NAMES_H
#define COVERAGE_NAMES_H

#include <stddef.h>

struct names {
	const char **slots; /* borrowed texts; NULL = free */
	size_t       size, used;
};

/* 1 = it was there before.  Without memory a name counts as there. */
int names_add(struct names *n, const char *name);
void names_clear(struct names *n);
void names_fini(struct names *n);

#endif
