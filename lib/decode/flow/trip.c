/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include <hwtrace/error.h>

#include "base/vec.h"
#include "decode/flow/trip.h"

#define CHAIN_MAX 256u /* direct branches in a row */

static void
tell(struct ht_trip *t, struct ht_block *b, uint64_t to, unsigned flags)
{
	struct ht_walk *w = t->walk;
	struct ht_event *ev;

	if (t->telling == HT_TELL_COUNTS) {
		t->no_memory |= ht_edges_branch(w->edges, b, to, flags, t->weight) < 0;
		return;
	}
	if (w->want & HT_DECODE_BLOCKS) {
		ev = ht_vec_push(t->runs);
		if (ev)
			*ev = (struct ht_event){ .kind = HT_EV_BLOCK, .a = b->start, .b = b->last,
				.n = b->insns, .insn = b->insn, .size = b->last_size };
		t->no_memory |= !ev;
	}
	if (w->want & HT_DECODE_BRANCHES && b->insn != HT_INSN_OTHER) {
		ev = ht_vec_push(t->runs);
		if (ev)
			*ev = (struct ht_event){ .kind = HT_EV_BRANCH, .a = b->last, .b = to,
				.insn = b->insn, .flags = (uint8_t)flags, .size = b->last_size };
		t->no_memory |= !ev;
	}
}

static inline void
maybe_tell(struct ht_trip *t, struct ht_block *b, uint64_t to, unsigned flags)
{
	if (t->telling != HT_TELL_NOTHING)
		tell(t, b, to, flags);
}

static void
push(struct ht_trip *t, struct ht_block *b)
{
	struct ht_contexts *c = &t->walk->contexts;

	if (b->insn == HT_INSN_CALL && b->target == b->next)
		return;
	if (!b->pushes)
		b->pushes = ht_context_push(c, 0, b->next);
	t->context = b->pushes ? ht_context_push_single(c, t->context, b->pushes) : 0;
	t->no_memory |= !t->context;
}

int
ht_trip_chain(struct ht_trip *t)
{
	struct ht_graph *g = &t->walk->graph;

	for (unsigned i = 0; t->block && i < CHAIN_MAX; i++) {
		struct ht_block *b = t->block;

		if (b->insn == HT_INSN_JUMP || b->insn == HT_INSN_CALL) {
			maybe_tell(t, b, b->target, HT_BR_TAKEN);
			if (b->insn == HT_INSN_CALL)
				push(t, b);
			t->block = ht_graph_target(g, b);
		} else if (b->end == HT_END_LONG) {
			maybe_tell(t, b, b->next, 0);
			t->block = ht_graph_next(g, b);
		} else {
			return b->end == HT_END_BRANCH ? 0 : -1;
		}
	}
	return -1;
}

/* The highest outcome of t->bits; takes it off. */
static unsigned
take_bit(struct ht_trip *t)
{
	unsigned top = 31 - (unsigned)__builtin_clz(t->bits); /* of the stop bit */
	unsigned taken = t->bits >> (top - 1) & 1;

	t->bits = (t->bits & ((1u << (top - 1)) - 1)) | 1u << (top - 1);
	return taken;
}

static void
walk_return(struct ht_trip *t)
{
	struct ht_context *c = &t->walk->contexts.at[t->context];
	unsigned mode = t->block->mode;

	t->context = c->below;
	maybe_tell(t, t->block, c->addr, HT_BR_TAKEN);
	if (!c->block || c->block->end == HT_END_DEAD || c->block->mode != mode)
		c->block = ht_graph_block(&t->walk->graph, c->addr, mode);
	t->block = c->block;
	take_bit(t);
}

/* One outcome at block t->block.  1, 0 when the trip stops here, or -1: no entry. */
static int
walk_outcome(struct ht_trip *t)
{
	struct ht_block *b = t->block;
	unsigned taken;

	switch (b->insn) {
	case HT_INSN_COND:
		taken = take_bit(t);
		maybe_tell(t, b, taken ? b->target : b->next, taken ? HT_BR_TAKEN : 0);
		t->block = taken ? ht_graph_target(&t->walk->graph, b)
		                 : ht_graph_next(&t->walk->graph, b);
		return 1;
	case HT_INSN_RET:
		if (!(t->bits << (__builtin_clz(t->bits) + 1) >> 31))
			return -1; /* a return is never not taken */
		if (!t->context)
			return 0;
		walk_return(t);
		return 1;
	default:
		return 0;
	}
}

int
ht_trip_outcomes(struct ht_trip *t)
{
	while (t->bits > 1) {
		int rc = ht_trip_chain(t);

		if (rc == 0)
			rc = walk_outcome(t);
		if (rc < 0)
			return -1;
		if (rc == 0) {
			t->stopped = 1;
			return 0;
		}
		t->no_memory |= !t->block;
		if (t->no_memory)
			return -1;
	}
	return 0;
}

int
ht_trip_target(struct ht_trip *t, uint64_t ip)
{
	struct ht_block *b;

	if (ht_trip_chain(t) < 0)
		return -1;
	b = t->block;
	if (b->insn == HT_INSN_COND)
		return -1;
	maybe_tell(t, b, ip, HT_BR_TAKEN);
	if (b->insn == HT_INSN_CALL_IND)
		push(t, b);
	if (b->insn == HT_INSN_RET) {
		t->drops = !t->context;
		t->context = t->walk->contexts.at[t->context].below;
	}
	t->block = ht_graph_block(&t->walk->graph, ip, b->mode);
	if (!t->block)
		t->no_memory = 1;
	return t->no_memory ? -1 : 0;
}

uint32_t
ht_trip_begin_run(struct ht_trip *t)
{
	struct ht_event *head;

	if (t->telling != HT_TELL_EVENTS)
		return 0;
	head = t->runs->n < UINT32_MAX - (1u << 20) ? ht_vec_push(t->runs) : NULL;
	if (!head) {
		t->no_memory = 1;
		return 0;
	}
	*head = (struct ht_event){ 0 };
	return (uint32_t)(t->runs->n - 1);
}

void
ht_trip_end_run(struct ht_trip *t, uint32_t run, int failed)
{
	struct ht_event *head;

	if (!run)
		return;
	if (failed) {
		t->runs->n = run;
		return;
	}
	/* ht_out_copy() reads as far. */
	t->no_memory |= ht_vec_reserve(t->runs, t->runs->n + HT_OUT_CHUNK) < 0;
	head = &t->runs->at[run];
	head->n = (uint32_t)(t->runs->n - run - 1);
	for (uint32_t i = 1; i <= head->n; i++) {
		if (head[i].kind == HT_EV_BLOCK)
			head->a += head[i].n;
		else
			head->b++;
	}
}

int
ht_run_give(const struct ht_runs *runs, uint32_t run, struct ht_walk *w)
{
	const struct ht_event *head = &runs->at[run];
	struct ht_event *to;

	to = ht_out_copy(&w->out, head + 1, head->n);
	if (!to)
		return -HT_ENOMEM;
	if (w->branch_flags)
		for (uint32_t i = 0; i < head->n; i++)
			if (to[i].kind == HT_EV_BRANCH)
				to[i].flags |= w->branch_flags;
	w->instructions += head->a;
	w->branches += head->b;
	return 0;
}
