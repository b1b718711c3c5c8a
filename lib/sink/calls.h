/* SPDX-License-Identifier: BSD-2-Clause */
/* Call depth of each stream, from branch samples. Survives longjmp, exceptions and calls that never return. */
#ifndef SINK_CALLS_H
#define SINK_CALLS_H

#include <hwtrace/sample.h>

struct calls;

struct calls *calls_new(void);
void calls_free(struct calls *c);
/* Depth at which to show the call that `x` is (0 = outermost), or -1 when it is none. */
int calls_step(struct calls *c, uint32_t stream, const struct ht_sample *x);
/* What was called in a gap, and what returned, is not known: depth begins anew. */
void calls_gap(struct calls *c, uint32_t stream);

#endif
