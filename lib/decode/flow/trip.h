/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A trip: a walk over the code apart from the walker's place, with outcomes in
 * hand.  It is made to learn where they lead, to make the events of it, or to
 * count its branches with a weight.
 *
 * A run is what a trip has told as events: a header, whose n says how many
 * events follow, a how many instructions and b how many branches are in them.
 */
#ifndef DECODE_FLOW_TRIP_H
#define DECODE_FLOW_TRIP_H

#include "decode/flow/walk.h"

enum ht_telling { HT_TELL_NOTHING, HT_TELL_EVENTS, HT_TELL_COUNTS };

struct ht_runs { struct ht_event *at; size_t n, cap; }; /* [0] is not used */

struct ht_trip {
	struct ht_walk  *walk;    /* its code, contexts and counters */
	struct ht_runs  *runs;
	enum ht_telling  telling;
	uint64_t         weight;
	struct ht_block *block;   /* in front of it */
	uint32_t         bits;    /* outcomes left, under a stop bit */
	uint32_t         context; /* pushed and not popped */
	int              stopped; /* in front of a return that goes below, or an indirect branch */
	int              drops;   /* a return to a told target took what is below off the stack */
	int              no_memory;
};

/* All: 0, or -1 when there is no plain way: code is missing, the trace does not fit, no memory. */

/* Over direct jumps and calls, to a block that needs trace. */
int ht_trip_chain(struct ht_trip *t);
/* All outcomes, or as far as the trip gets (t->stopped). */
int ht_trip_outcomes(struct ht_trip *t);
/* Over direct jumps and calls, and the indirect branch behind them, to `ip`. */
int ht_trip_target(struct ht_trip *t, uint64_t ip);

/* Begin and end of the run that a trip tells; 0 when nothing is told. */
uint32_t ht_trip_begin_run(struct ht_trip *t);
void     ht_trip_end_run(struct ht_trip *t, uint32_t run, int failed);
/* Give the events of a run to the walker. 0, or -HT_ENOMEM. */
int      ht_run_give(const struct ht_runs *runs, uint32_t run, struct ht_walk *w);

#endif
