/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Call depth of each thread, from branch samples.  Survives longjmp, exceptions and calls that
 * never return.
 */
#ifndef SINK_CALLS_H
#define SINK_CALLS_H

#include <hwtrace/sample.h>

struct calls;

struct calls *calls_new(void);
void calls_free(struct calls *c);
/*
 * Whose stack it is: that of the thread that the CPU runs, where the stream is a CPU's, else
 * that of the stream.  Of the idle thread each CPU has its own.
 */
struct calls_of {
	uint32_t stream;
	int32_t cpu, tid; /* -1 = not a CPU's; not known */
};
/* Depth at which to show the call that `x` is (0 = outermost), or -1 when it is none. */
int calls_step(struct calls *c, const struct calls_of *of, const struct ht_sample *x);
/*
 * What was called in a gap, and what returned, is not known: depth begins anew.  On a CPU
 * any thread may have run meanwhile.
 */
void calls_gap(struct calls *c, const struct calls_of *of);

#endif
