/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The walker: a place in the code that flow operations move, and the events that
 * come of it.
 *
 * A place is always in front of an instruction that was not told yet.  The walk
 * is lazy: it never goes further than what the operation asks for, so that an
 * asynchronous event in straight-line code is found exactly where it was, and
 * code that changes at a time stamp is not looked at too early.
 */
#ifndef DECODE_FLOW_WALK_H
#define DECODE_FLOW_WALK_H

#include <hwtrace/decoder.h>

#include "decode/flow/context.h"
#include "decode/flow/edges.h"
#include "decode/flow/graph.h"
#include "decode/flow/out.h"

/* Result of an operation that the code does not allow: see fail_kind, why. */
#define HT_WALK_MISFIT (-1000)

struct ht_walk {
	struct ht_graph  graph;
	struct ht_block *block;  /* of the place; NULL = to be looked up */
	uint64_t         ip;     /* the place */
	unsigned         mode;
	uint8_t          branch_flags; /* HT_BR_IN_TX */
	unsigned         want;
	struct ht_edges *edges;  /* not NULL: count into it and into the blocks, tell nothing */

	/* Of some processors, see decode/pt/errata.h */
	int                     fup_behind; /* an event at an indirect branch may name the place behind it */
	/* Is `addr` traced?  A direct branch to where it is not may disable without a target; NULL: none. */
	int (*traced)(void *arg, uint64_t addr);

	struct ht_contexts     contexts;
	struct ht_return_stack stack;
	int unsure; /* there were calls before the begin that the stack does not have ... */
	int missed; /* ... and a compressed return needed one */

	struct ht_out    out;
	int              no_memory;
	uint64_t         instructions, branches;
	unsigned         fail_kind; /* enum ht_gap_kind */
	const char      *why;
};

/* 0, or -HT_ENOMEM; ht_walk_fini() is due in any case. */
int  ht_walk_init(struct ht_walk *w, unsigned want, ht_code_read *read, void *arg);
void ht_walk_fini(struct ht_walk *w);

void ht_walk_set(struct ht_walk *w, uint64_t ip, unsigned mode);
/* The code at the place is of this mode, as it turns out. */
void ht_walk_mode(struct ht_walk *w, unsigned mode);
void ht_walk_clear_stack(struct ht_walk *w);

/* Add an event if `mask` (HT_DECODE_*; 0 = always) is wanted. */
void ht_walk_emit(struct ht_walk *w, unsigned mask, const struct ht_event *ev);

/* One conditional branch or compressed return.  1: it was used; 0: an indirect
 * branch stands here, whose target comes first; HT_WALK_MISFIT; -HT_ENOMEM. */
int ht_walk_outcome(struct ht_walk *w, int taken);
/* The next branch that needs a target goes to `ip`; `mode` is that of the target. */
int ht_walk_target(struct ht_walk *w, uint64_t ip, unsigned mode);
/* 1 when the code leads from the place to the instruction at `ip` without a branch that
 * needs trace (or into missing code first), else 0; nothing moves. -HT_ENOMEM. */
int ht_walk_leads_to(struct ht_walk *w, uint64_t ip);
/* Up to the instruction at `ip`, without any branch that needs trace. */
int ht_walk_to(struct ht_walk *w, uint64_t ip);
/*
 * Tracing was disabled by the next branch that can do so.  `has_ip`: it went to
 * `ip`.  *from gets its address, *resume where execution may go on.
 */
int ht_walk_disable(struct ht_walk *w, int has_ip, uint64_t ip, uint64_t *from, uint64_t *resume);

#endif
