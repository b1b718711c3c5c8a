/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include <hwtrace/error.h>

#include "base/vec.h"
#include "decode/flow/walk.h"
#include "decode/insn/x86.h"

int
ht_walk_init(struct ht_walk *w, unsigned want, ht_code_read *read, void *arg)
{
	memset(w, 0, sizeof(*w));
	w->want = want;
	w->mode = 64;
	ht_return_stack_clear(&w->stack);
	ht_graph_init(&w->graph, read, arg);
	return ht_contexts_init(&w->contexts);
}

void
ht_walk_fini(struct ht_walk *w)
{
	ht_graph_fini(&w->graph);
	ht_contexts_fini(&w->contexts);
	ht_out_fini(&w->out);
}

void
ht_walk_set(struct ht_walk *w, uint64_t ip, unsigned mode)
{
	w->ip = mode == 64 ? ip : ip & 0xffffffffu;
	w->mode = mode;
	w->block = NULL;
}

void
ht_walk_mode(struct ht_walk *w, unsigned mode)
{
	if (mode != w->mode)
		ht_walk_set(w, w->ip, mode);
}

void
ht_walk_clear_stack(struct ht_walk *w)
{
	ht_return_stack_clear(&w->stack);
	w->unsure = 0;
}

void
ht_walk_emit(struct ht_walk *w, unsigned mask, const struct ht_event *ev)
{
	struct ht_event *e;

	if (mask && !(w->want & mask))
		return;
	e = ht_out_push(&w->out);
	if (e)
		*e = *ev;
	else
		w->no_memory = 1;
}

static int
misfit(struct ht_walk *w, unsigned kind, const char *why)
{
	w->fail_kind = kind;
	w->why = why;
	return HT_WALK_MISFIT;
}

/* Block at the place; NULL when out of memory. */
static inline struct ht_block *
here(struct ht_walk *w)
{
	if (!w->block || w->block->end == HT_END_DEAD)
		w->block = ht_graph_block(&w->graph, w->ip, w->mode);
	return w->block;
}

static struct ht_event
block_event(const struct ht_block *b)
{
	return (struct ht_event){ .a = b->start, .b = b->last, .n = b->insns, .kind = HT_EV_BLOCK,
		                  .insn = b->insn, .size = b->last_size };
}

/* In front of tell_branch(), which counts the block too. */
static void
tell_block(struct ht_walk *w, const struct ht_block *b)
{
	struct ht_event ev = block_event(b);

	if (w->edges || b->insns == 0)
		return;
	w->instructions += b->insns;
	ht_walk_emit(w, HT_DECODE_BLOCKS, &ev);
}

/* Instructions that no branch follows. */
static void
tell_part(struct ht_walk *w, const struct ht_event *ev)
{
	if (ev->n == 0)
		return;
	if (w->edges) {
		w->no_memory |= ht_edges_add_part(w->edges, ev, 1) < 0;
		return;
	}
	w->instructions += ev->n;
	ht_walk_emit(w, HT_DECODE_BLOCKS, ev);
}

static void
tell_lone_block(struct ht_walk *w, const struct ht_block *b)
{
	struct ht_event ev = block_event(b);

	tell_part(w, &ev);
}

static void
tell_branch(struct ht_walk *w, struct ht_block *b, uint64_t to, unsigned flags)
{
	struct ht_event ev = { .a = b->last, .b = to, .kind = HT_EV_BRANCH, .insn = b->insn,
		               .flags = (uint8_t)(flags | w->branch_flags), .size = b->last_size };

	if (w->edges) {
		w->no_memory |= ht_edges_branch(w->edges, b, to, ev.flags, 1) < 0;
		return;
	}
	w->branches++;
	ht_walk_emit(w, HT_DECODE_BRANCHES, &ev);
}

static void
push(struct ht_walk *w, const struct ht_block *b)
{
	uint32_t context;

	/* [PT 33.4.2.2]: a call of the next instruction only asks for its own address. */
	if (b->insn == HT_INSN_CALL && b->target == b->next)
		return;
	context = ht_context_push(&w->contexts, 0, b->next);
	if (!context)
		w->no_memory = 1;
	ht_return_stack_push(&w->stack, context);
}

/* A branch that was told a target, or took trace off, and the return stack. */
static void
note_branch(struct ht_walk *w, const struct ht_block *b)
{
	if (b->insn == HT_INSN_CALL || b->insn == HT_INSN_CALL_IND)
		push(w, b);
	/* [PT 33.4.2.2]: each near return takes its call off, one that is not compressed too. */
	if (b->insn == HT_INSN_RET)
		ht_return_stack_pop(&w->stack);
}

static int
go(struct ht_walk *w, struct ht_block *to)
{
	if (!to)
		return -HT_ENOMEM;
	w->block = to;
	w->ip = to->start;
	return 0;
}

/* Walk over block `b`, which ends in a direct jump or call, or was cut for length. */
static int
pass(struct ht_walk *w, struct ht_block *b)
{
	if (b->insn == HT_INSN_OTHER) {
		tell_lone_block(w, b);
		return go(w, ht_graph_next(&w->graph, b));
	}
	tell_block(w, b);
	tell_branch(w, b, b->target, HT_BR_TAKEN);
	if (b->insn == HT_INSN_CALL)
		push(w, b);
	return go(w, ht_graph_target(&w->graph, b));
}

static int
passes(const struct ht_block *b)
{
	return b->insn == HT_INSN_JUMP || b->insn == HT_INSN_CALL || b->end == HT_END_LONG;
}

static int
no_code(struct ht_walk *w, const struct ht_block *b)
{
	tell_lone_block(w, b); /* what is known did run */
	ht_walk_set(w, b->next, w->mode);
	if (b->end == HT_END_NO_CODE)
		return misfit(w, HT_GAP_NO_CODE, NULL);
	return misfit(w, HT_GAP_MISMATCH, "the bytes where the trace leads are no instruction");
}

/* Finds a walk that goes round for ever: the mark moves up at each power of two steps. */
struct ring {
	const struct ht_block *mark;
	uint32_t steps, limit;
};

static int
goes_round(struct ring *r, const struct ht_block *b)
{
	if (r->mark == b)
		return 1;
	if (r->steps++ == r->limit) {
		r->mark = b;
		r->limit = r->limit * 2 + 1;
		r->steps = 0;
	}
	return 0;
}

#define ENDLESS "the code runs in a circle where the trace has a branch"

/* Up to the block whose last instruction needs trace: *out. */
static inline int
to_query(struct ht_walk *w, struct ht_block **out)
{
	struct ring ring = { 0 };
	struct ht_block *b;
	int rc;

	while ((b = here(w))) {
		if (!passes(b)) {
			*out = b;
			return b->end == HT_END_BRANCH ? 0 : no_code(w, b);
		}
		if (goes_round(&ring, b))
			return misfit(w, HT_GAP_MISMATCH, ENDLESS);
		rc = pass(w, b);
		if (rc < 0)
			return rc;
	}
	return -HT_ENOMEM;
}

static int
compressed_return(struct ht_walk *w, struct ht_block *b, int taken)
{
	const struct ht_context *top;
	uint64_t to;

	if (!taken) {
		tell_lone_block(w, b);
		return misfit(w, HT_GAP_MISMATCH, "the trace has a branch not taken where the code returns");
	}
	top = &w->contexts.at[ht_return_stack_pop(&w->stack)];
	if (top->depth == 0) {
		w->missed |= w->unsure;
		tell_lone_block(w, b);
		return misfit(w, HT_GAP_MISMATCH, "a compressed return without a call before it");
	}
	to = top->addr;
	tell_block(w, b);
	tell_branch(w, b, to, HT_BR_TAKEN);
	ht_walk_set(w, to, w->mode);
	return 1;
}

int
ht_walk_outcome(struct ht_walk *w, int taken)
{
	struct ht_block *b;
	int rc = to_query(w, &b);

	if (rc < 0)
		return rc;
	if (b->insn == HT_INSN_RET)
		return compressed_return(w, b, taken);
	if (b->insn != HT_INSN_COND)
		return 0;
	tell_block(w, b);
	tell_branch(w, b, taken ? b->target : b->next, taken ? HT_BR_TAKEN : 0);
	rc = go(w, taken ? ht_graph_target(&w->graph, b) : ht_graph_next(&w->graph, b));
	return rc < 0 ? rc : 1;
}

int
ht_walk_target(struct ht_walk *w, uint64_t ip, unsigned mode)
{
	struct ht_block *b;
	int rc = to_query(w, &b);

	if (rc < 0)
		return rc;
	if (b->insn == HT_INSN_COND) {
		tell_lone_block(w, b);
		return misfit(w, HT_GAP_MISMATCH, "the trace has a target where the code branches on a condition");
	}
	tell_block(w, b);
	tell_branch(w, b, ip, HT_BR_TAKEN);
	note_branch(w, b);
	ht_walk_set(w, ip, mode);
	return 0;
}

/* The instructions of `b` before the one at `ip`: 1 when there is one at `ip`, else 0. */
static int
part(struct ht_walk *w, const struct ht_block *b, uint64_t ip)
{
	struct ht_event ev = { .a = b->start, .kind = HT_EV_BLOCK };
	int64_t n = ht_graph_split(&w->graph, b, ip, &ev.b, &ev.size);

	if (n < 0)
		return 0;
	if (n > 0) {
		ev.n = (uint32_t)n;
		tell_part(w, &ev);
	}
	ht_walk_set(w, ip, w->mode);
	return 1;
}

static int
is_indirect(const struct ht_block *b)
{
	return b->insn == HT_INSN_JUMP_IND || b->insn == HT_INSN_CALL_IND || b->insn == HT_INSN_RET;
}

/* Is the last instruction of `b` an INT3, INT1, INTO or INT n, and no system call? */
static int
interrupts(const struct ht_walk *w, const struct ht_block *b)
{
	uint8_t bytes[HT_X86_MAX];
	unsigned n = b->last_size;

	if (n == 0 || n > sizeof(bytes) || w->graph.read(w->graph.arg, b->last, bytes, n) < n)
		return 0;
	return bytes[n - 1] == 0xcc || bytes[n - 1] == 0xce || bytes[n - 1] == 0xf1 ||
	       (n > 1 && bytes[n - 2] == 0xcd);
}

int
ht_walk_to(struct ht_walk *w, uint64_t ip)
{
	struct ring ring = { 0 };
	struct ht_block *b;
	int rc;

	while (w->ip != ip) {
		b = here(w);
		if (!b)
			return -HT_ENOMEM;
		if (part(w, b, ip))
			return 0;
		if (b->insn == HT_INSN_SYSCALL && b->next == ip && interrupts(w, b)) {
			tell_lone_block(w, b); /* the event names the place behind it */
			ht_walk_set(w, ip, w->mode);
			return 0;
		}
		if (b->end == HT_END_NO_CODE || b->end == HT_END_BAD_CODE)
			return no_code(w, b);
		if (w->fup_behind && b->next == ip && is_indirect(b)) {
			part(w, b, b->last);
			return 0;
		}
		if (!passes(b)) {
			tell_lone_block(w, b);
			return misfit(w, HT_GAP_MISMATCH, "the code does not lead where an event says it happened");
		}
		if (goes_round(&ring, b))
			return misfit(w, HT_GAP_MISMATCH, ENDLESS);
		rc = pass(w, b);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int
ht_walk_leads_to(struct ht_walk *w, uint64_t ip)
{
	struct ring ring = { 0 };
	struct ht_block *b = here(w);
	uint64_t last;
	uint8_t size;

	while (b && b->start != ip && ht_graph_split(&w->graph, b, ip, &last, &size) < 0) {
		if (b->end == HT_END_NO_CODE)
			return 1;
		if (!passes(b) || goes_round(&ring, b))
			return 0;
		b = b->insn == HT_INSN_OTHER ? ht_graph_next(&w->graph, b) : ht_graph_target(&w->graph, b);
	}
	return b ? 1 : -HT_ENOMEM;
}

/* Does the direct branch at the end of `b` go where nothing is traced? */
static int
leaves_filters(const struct ht_walk *w, const struct ht_block *b)
{
	return w->traced && b->insn != HT_INSN_OTHER && !w->traced(w->graph.arg, b->target);
}

int
ht_walk_disable(struct ht_walk *w, int has_ip, uint64_t ip, uint64_t *from, uint64_t *resume)
{
	struct ring ring = { 0 };
	struct ht_block *b;
	int rc;

	for (;;) {
		b = here(w);
		if (!b)
			return -HT_ENOMEM;
		if (b->end != HT_END_BRANCH && b->end != HT_END_LONG)
			return no_code(w, b);
		if (!passes(b) || (has_ip ? b->insn != HT_INSN_OTHER && b->target == ip
		                          : leaves_filters(w, b)))
			break;
		if (goes_round(&ring, b))
			return misfit(w, HT_GAP_MISMATCH, ENDLESS);
		rc = pass(w, b);
		if (rc < 0)
			return rc;
	}
	if (!has_ip && passes(b)) {
		has_ip = 1;
		ip = b->target;
	}
	if (has_ip && b->insn == HT_INSN_COND && ip != b->target && ip != b->next) {
		tell_lone_block(w, b);
		return misfit(w, HT_GAP_MISMATCH,
		              "tracing is disabled by a branch that does not go where it says");
	}
	*from = b->last;
	*resume = has_ip ? ip : b->next;
	if (b->insn == HT_INSN_COND && !has_ip) {
		tell_lone_block(w, b); /* which way it went is not known */
	} else {
		tell_block(w, b);
		tell_branch(w, b, has_ip ? ip : 0,
		            HT_BR_TRACE_OFF | (b->insn == HT_INSN_COND && ip == b->next ? 0 : HT_BR_TAKEN));
	}
	note_branch(w, b);
	return 0;
}
