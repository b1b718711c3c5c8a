/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include <hwtrace/error.h>

#include "base/pages.h"
#include "base/vec.h"
#include "decode/flow/memo.h"

#define FIRST_ENTRIES 8192u
#define FIRST_TARGETS 1024u
#define WHOLE_DEPTH   4u  /* a popped context no deeper goes into an entry whole */
#define CHAIN_MAX     256u /* direct branches in a row that an entry may pass */
#define ODD           2654435761u /* multiplying by it is one-to-one modulo 2^32 ... */
#define ODD_INVERSE   244002641u  /* ... and this undoes it */

/* -- states --------------------------------------------------------------- */

static uint32_t
name_of(size_t number)
{
	return (uint32_t)number * ODD;
}

static struct ht_block *
block_of(const struct ht_memo *m, uint32_t name)
{
	return m->states.at[name * ODD_INVERSE];
}

/* The state in front of `block`; 0 when out of memory. */
static uint32_t
state_of(struct ht_memo *m, struct ht_block *block)
{
	struct ht_block **s;

	if (!block->state) {
		s = m->states.n < UINT32_MAX ? ht_vec_push(&m->states) : NULL;
		if (!s)
			return 0;
		*s = block;
		block->state = name_of(m->states.n - 1);
	}
	return block->state;
}

/* -- walking an entry ------------------------------------------------------ */

enum telling { TELL_NOTHING, TELL_EVENTS, TELL_COUNTS };

/* A walk over an entry, to build it, to make its events, or to count it. */
struct trip {
	struct ht_memo  *m;
	enum telling     telling;
	uint64_t         weight;
	struct ht_block *block;
	uint32_t         bits;    /* outcomes left, under a stop bit */
	uint32_t         context; /* pushed and not popped */
	int              stopped; /* in front of a return that goes below, or an indirect branch */
	int              drops;   /* began with a return to a told target, below what was pushed */
	int              no_memory;
};

static void
tell(struct trip *t, struct ht_block *b, uint64_t to, unsigned flags)
{
	struct ht_walk *w = t->m->walk;
	struct ht_event *ev;

	if (t->telling == TELL_COUNTS) {
		t->no_memory |= ht_edges_branch(w->edges, b, to, flags, t->weight) < 0;
		return;
	}
	if (w->want & HT_DECODE_BLOCKS) {
		ev = ht_vec_push(&t->m->runs);
		if (ev)
			*ev = (struct ht_event){ .a = b->start, .b = b->last, .n = b->insns,
				                 .kind = HT_EV_BLOCK, .insn = b->insn, .size = b->last_size };
		t->no_memory |= !ev;
	}
	if (w->want & HT_DECODE_BRANCHES && b->insn != HT_INSN_OTHER) {
		ev = ht_vec_push(&t->m->runs);
		if (ev)
			*ev = (struct ht_event){ .a = b->last, .b = to, .kind = HT_EV_BRANCH, .insn = b->insn,
				                 .flags = (uint8_t)flags, .size = b->last_size };
		t->no_memory |= !ev;
	}
}

static inline void
maybe_tell(struct trip *t, struct ht_block *b, uint64_t to, unsigned flags)
{
	if (t->telling != TELL_NOTHING)
		tell(t, b, to, flags);
}

static void
push(struct trip *t, const struct ht_block *b)
{
	if (b->insn == HT_INSN_CALL && b->target == b->next)
		return;
	t->context = ht_context_push(&t->m->walk->contexts, t->context, b->next);
	t->no_memory |= !t->context;
}

/* Over direct jumps and calls.  0 with t->block at a block that needs trace, or -1: no entry. */
static int
chain(struct trip *t)
{
	struct ht_graph *g = &t->m->walk->graph;

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
take_bit(struct trip *t)
{
	unsigned top = 31 - (unsigned)__builtin_clz(t->bits); /* of the stop bit */
	unsigned taken = t->bits >> (top - 1) & 1;

	t->bits = (t->bits & ((1u << (top - 1)) - 1)) | 1u << (top - 1);
	return taken;
}

static void
walk_return(struct trip *t)
{
	const struct ht_context *c = &t->m->walk->contexts.at[t->context];
	uint64_t to = c->addr;

	t->context = c->below;
	maybe_tell(t, t->block, to, HT_BR_TAKEN);
	t->block = ht_graph_block(&t->m->walk->graph, to, t->block->mode);
	take_bit(t);
}

/* One outcome at block t->block.  1, 0 when the trip stops here, or -1: no entry. */
static int
walk_outcome(struct trip *t)
{
	struct ht_block *b = t->block;
	unsigned taken;

	switch (b->insn) {
	case HT_INSN_COND:
		taken = take_bit(t);
		maybe_tell(t, b, taken ? b->target : b->next, taken ? HT_BR_TAKEN : 0);
		t->block = taken ? ht_graph_target(&t->m->walk->graph, b)
		                 : ht_graph_next(&t->m->walk->graph, b);
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

/* All outcomes, or as far as the trip gets (t->stopped).  0, or -1: no entry. */
static int
walk_outcomes(struct trip *t)
{
	while (t->bits > 1) {
		int rc = chain(t);

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

static int
walk_target(struct trip *t, uint64_t ip)
{
	struct ht_block *b;

	if (chain(t) < 0)
		return -1;
	b = t->block;
	if (b->insn == HT_INSN_COND)
		return -1;
	maybe_tell(t, b, ip, HT_BR_TAKEN);
	if (b->insn == HT_INSN_CALL_IND)
		push(t, b);
	if (b->insn == HT_INSN_RET) {
		t->drops = !t->context;
		t->context = t->m->walk->contexts.at[t->context].below;
	}
	t->block = ht_graph_block(&t->m->walk->graph, ip, b->mode);
	if (!t->block)
		t->no_memory = 1;
	return t->no_memory ? -1 : 0;
}

/* A trip from `state` by `key`. */
static struct trip
set_out(struct ht_memo *m, uint32_t state, uint32_t key, enum telling telling, uint64_t weight)
{
	struct trip t = { .m = m, .telling = telling, .weight = weight, .block = block_of(m, state),
		          .bits = key };

	if (key & HT_MEMO_POPPED) {
		t.bits = (key & ~HT_MEMO_POPPED) >> HT_MEMO_CONTEXT_BITS;
		t.context = key & HT_MEMO_CONTEXT_MAX;
	}
	return t;
}

/* -- tables ---------------------------------------------------------------- */

static size_t
entry_slot(const struct ht_memo *m, uint32_t state, uint32_t key)
{
	return (state ^ ht_memo_key_hash(key)) & m->entry_mask;
}

static size_t
target_slot(const struct ht_memo *m, uint32_t state, uint64_t ip, uint32_t bits)
{
	uint64_t key = ip ^ (uint64_t)bits << 40 ^ (uint64_t)state << 16;

	return (size_t)(key * 0x9e3779b97f4a7c15ull >> 36) & m->target_mask;
}

struct slots { struct ht_memo_entry *entries; uint32_t *counts, *run_of; };

static void
free_slots(struct slots *s, size_t n)
{
	ht_pages_free(s->entries, n * sizeof(*s->entries));
	ht_pages_free(s->counts, n * sizeof(*s->counts));
	ht_pages_free(s->run_of, n * sizeof(*s->run_of));
}

static int
grow_entries(struct ht_memo *m)
{
	size_t old = m->entry_mask + 1, n = m->entries ? old * 4 : FIRST_ENTRIES;
	struct slots was = { m->entries, m->counts, m->run_of };
	struct slots now = { ht_pages_alloc(n * sizeof(*now.entries)), ht_pages_alloc(n * sizeof(*now.counts)),
		             m->walk->edges ? NULL : ht_pages_alloc(n * sizeof(*now.run_of)) };

	if (!now.entries || !now.counts || (!m->walk->edges && !now.run_of)) {
		free_slots(&now, n);
		return -HT_ENOMEM;
	}
	m->entries = now.entries;
	m->counts = now.counts;
	m->run_of = now.run_of;
	m->entry_mask = n - 1;
	for (size_t i = 0; was.entries && i < old; i++) {
		size_t at;

		if (!was.entries[i].key)
			continue;
		for (at = entry_slot(m, was.entries[i].state, was.entries[i].key); now.entries[at].key;
		     at = (at + 1) & m->entry_mask)
			;
		now.entries[at] = was.entries[i];
		now.counts[at] = was.counts[i];
		if (now.run_of && was.run_of)
			now.run_of[at] = was.run_of[i];
	}
	free_slots(&was, old);
	return 0;
}

static int
grow_targets(struct ht_memo *m)
{
	size_t old = m->target_mask + 1, n = m->targets ? old * 4 : FIRST_TARGETS;
	struct ht_memo_target *was = m->targets, *now = ht_pages_alloc(n * sizeof(*now));

	if (!now)
		return -HT_ENOMEM;
	m->targets = now;
	m->target_mask = n - 1;
	for (size_t i = 0; was && i < old; i++) {
		size_t at;

		if (!was[i].state)
			continue;
		for (at = target_slot(m, was[i].state, was[i].ip, was[i].bits); now[at].state; at = (at + 1) & m->target_mask)
			;
		now[at] = was[i];
	}
	ht_pages_free(was, old * sizeof(*was));
	return 0;
}

/* Begin and end of the run that a trip tells; 0 when nothing is told. */
static uint32_t
begin_run(struct trip *t)
{
	struct ht_event *head;

	if (t->telling != TELL_EVENTS)
		return 0;
	head = t->m->runs.n < UINT32_MAX - (1u << 20) ? ht_vec_push(&t->m->runs) : NULL;
	if (!head) {
		t->no_memory = 1;
		return 0;
	}
	*head = (struct ht_event){ 0 };
	return (uint32_t)(t->m->runs.n - 1);
}

static void
end_run(struct trip *t, uint32_t run, int failed)
{
	struct ht_event *head;

	if (!run)
		return;
	if (failed) {
		t->m->runs.n = run;
		return;
	}
	head = &t->m->runs.at[run];
	head->n = (uint32_t)(t->m->runs.n - run - 1);
	for (uint32_t i = 1; i <= head->n; i++) {
		if (head[i].kind == HT_EV_BLOCK)
			head->a += head[i].n;
		else
			head->b++;
	}
}

static uint32_t
end_of(const struct trip *t)
{
	if (!t->stopped)
		return t->context;
	return t->context | t->bits << HT_MEMO_CONTEXT_BITS |
	       (t->block->insn == HT_INSN_RET ? HT_MEMO_RETURNS : 0);
}

/* Make the entry that is not there; its slot, or SIZE_MAX with *rc 0: none can be made, or -HT_ENOMEM. */
static size_t
build(struct ht_memo *m, uint32_t state, uint32_t key, int *rc)
{
	struct trip t = set_out(m, state, key, m->walk->edges ? TELL_NOTHING : TELL_EVENTS, 0);
	uint32_t run = begin_run(&t), next;
	int failed = walk_outcomes(&t) < 0 || t.context > HT_MEMO_CONTEXT_MAX;
	size_t at;

	end_run(&t, run, failed);
	*rc = t.no_memory ? -HT_ENOMEM : 0;
	if (failed || t.no_memory)
		return SIZE_MAX;
	next = state_of(m, t.block);
	if (!next || (m->n_entries * 2 > m->entry_mask && grow_entries(m) < 0)) {
		*rc = -HT_ENOMEM;
		return SIZE_MAX;
	}
	for (at = entry_slot(m, state, key); m->entries[at].key; at = (at + 1) & m->entry_mask)
		;
	m->entries[at] = (struct ht_memo_entry){ .state = state, .key = key, .next = next, .end = end_of(&t) };
	if (m->run_of)
		m->run_of[at] = run;
	m->n_entries++;
	return at;
}

static struct ht_memo_target *
build_target(struct ht_memo *m, uint32_t state, uint64_t ip, uint32_t bits, int *rc)
{
	struct trip t = set_out(m, state, bits, m->walk->edges ? TELL_NOTHING : TELL_EVENTS, 0);
	uint32_t run = begin_run(&t), next;
	int failed = walk_target(&t, ip) < 0 || walk_outcomes(&t) < 0 || t.context > HT_MEMO_CONTEXT_MAX;
	size_t at;

	end_run(&t, run, failed);
	*rc = t.no_memory ? -HT_ENOMEM : 0;
	if (failed || t.no_memory)
		return NULL;
	next = state_of(m, t.block);
	if (!next || (m->n_targets * 4 > m->target_mask && grow_targets(m) < 0)) {
		*rc = -HT_ENOMEM;
		return NULL;
	}
	for (at = target_slot(m, state, ip, bits); m->targets[at].state; at = (at + 1) & m->target_mask)
		;
	m->targets[at] = (struct ht_memo_target){ .ip = ip, .state = state, .bits = (uint16_t)bits,
		                                  .drops = (uint16_t)t.drops, .next = next,
		                                  .end = end_of(&t), .run = run };
	m->n_targets++;
	return &m->targets[at];
}

/* -- taking ---------------------------------------------------------------- */

static int
give_run(struct ht_memo *m, uint32_t run)
{
	const struct ht_event *head = &m->runs.at[run];
	struct ht_walk *w = m->walk;
	struct ht_event *to;

	if (ht_vec_reserve(&w->out, w->out.n + head->n) < 0)
		return -HT_ENOMEM;
	to = w->out.at + w->out.n;
	memcpy(to, head + 1, head->n * sizeof(*to));
	w->out.n += head->n;
	if (w->branch_flags)
		for (uint32_t i = 0; i < head->n; i++)
			if (to[i].kind == HT_EV_BRANCH)
				to[i].flags |= w->branch_flags;
	w->instructions += head->a;
	w->branches += head->b;
	return 0;
}

/* Pops what a return needs: a shallow context whole, else its newest address. 0: nothing there. */
static uint32_t
pop(struct ht_memo *m)
{
	struct ht_walk *w = m->walk;
	uint32_t context = ht_return_stack_pop(&w->stack);
	const struct ht_context *c = &w->contexts.at[context];

	if (c->depth <= WHOLE_DEPTH)
		return context;
	ht_return_stack_push(&w->stack, c->below);
	context = ht_context_push(&w->contexts, 0, c->addr);
	w->no_memory |= !context;
	return context;
}

/* The more used of two entries goes to the slot where it is looked for first. */
static size_t
swap_home(struct ht_memo *m, size_t home, size_t at)
{
	struct ht_memo_entry e = m->entries[home];
	uint32_t count = m->counts[home], run;

	if (m->counts[at] <= count || entry_slot(m, e.state, e.key) != home)
		return at;
	m->entries[home] = m->entries[at];
	m->entries[at] = e;
	m->counts[home] = m->counts[at];
	m->counts[at] = count;
	if (m->run_of) {
		run = m->run_of[home];
		m->run_of[home] = m->run_of[at];
		m->run_of[at] = run;
	}
	return home;
}

/* Slot of the entry, built if need be; SIZE_MAX as build(). */
static size_t
find(struct ht_memo *m, uint32_t state, uint32_t key, int *rc)
{
	size_t home = entry_slot(m, state, key), at;

	for (at = home; m->entries[at].key; at = (at + 1) & m->entry_mask)
		if (m->entries[at].state == state && m->entries[at].key == key)
			return at == home ? at : swap_home(m, home, at);
	return build(m, state, key, rc);
}

/*
 * An entry that led to *state has this end.  1 and 2 as ht_memo_outcomes(); 0: a
 * return with nothing to pop; 3: go on from *state by *key.
 */
static inline int
take_end(struct ht_memo *m, uint32_t end, uint32_t *bits, uint32_t *key)
{
	uint32_t context = end & HT_MEMO_CONTEXT_MAX;
	uint32_t left = (end & ~HT_MEMO_RETURNS) >> HT_MEMO_CONTEXT_BITS;

	ht_return_stack_push(&m->walk->stack, context);
	*bits = left ? left : 1;
	if (!left)
		return 1;
	if (!(end & HT_MEMO_RETURNS))
		return 2;
	context = pop(m);
	if (!context)
		return 0;
	if (context > HT_MEMO_CONTEXT_MAX) {
		ht_return_stack_push(&m->walk->stack, context);
		return 0;
	}
	*key = context | left << HT_MEMO_CONTEXT_BITS | HT_MEMO_POPPED;
	return 3;
}

/* On from *state by *key, until the group is used up or cannot be. */
static int
follow(struct ht_memo *m, uint32_t *state, uint32_t *bits, uint32_t key, size_t slot)
{
	int rc = 0;

	for (;; slot = SIZE_MAX) {
		if (slot == SIZE_MAX)
			slot = find(m, *state, key, &rc);
		if (slot == SIZE_MAX) {
			if (key & HT_MEMO_POPPED)
				ht_return_stack_push(&m->walk->stack, key & HT_MEMO_CONTEXT_MAX);
			return rc;
		}
		m->counts[slot]++;
		*state = m->entries[slot].next;
		if (m->run_of && m->run_of[slot] && (rc = give_run(m, m->run_of[slot])) < 0)
			return rc;
		rc = take_end(m, m->entries[slot].end, bits, &key);
		if (rc != 3)
			return rc;
		rc = 0;
	}
}

int
ht_memo_go_on(struct ht_memo *m, uint32_t *state, uint32_t *bits, size_t slot, int hit)
{
	return follow(m, state, bits, *bits, hit ? slot : SIZE_MAX);
}

int
ht_memo_target(struct ht_memo *m, uint32_t *state, uint64_t ip, uint32_t *bits, int *taken)
{
	size_t at = target_slot(m, *state, ip, *bits);
	struct ht_memo_target *e;
	uint32_t key;
	int rc = 0;

	*taken = 0;
	for (e = &m->targets[at]; e->state; at = (at + 1) & m->target_mask, e = &m->targets[at])
		if (e->state == *state && e->ip == ip && e->bits == *bits)
			break;
	if (!e->state) {
		e = build_target(m, *state, ip, *bits, &rc);
		if (!e)
			return rc;
	}
	*taken = 1;
	e->count++;
	*state = e->next;
	if (e->drops)
		ht_return_stack_drop(&m->walk->stack, &m->walk->contexts);
	if (e->run && (rc = give_run(m, e->run)) < 0)
		return rc;
	rc = take_end(m, e->end, bits, &key);
	return rc == 3 ? follow(m, state, bits, key, SIZE_MAX) : rc;
}

uint32_t
ht_memo_enter(struct ht_memo *m)
{
	struct ht_walk *w = m->walk;

	if (!w->block || w->block->end == HT_END_DEAD)
		w->block = ht_graph_block(&w->graph, w->ip, w->mode);
	return w->block ? state_of(m, w->block) : 0;
}

void
ht_memo_leave(struct ht_memo *m, uint32_t state)
{
	struct ht_block *block = block_of(m, state);

	ht_walk_set(m->walk, block->start, block->mode);
	m->walk->block = block;
}

/* -- counts ----------------------------------------------------------------- */

int
ht_memo_fold(struct ht_memo *m)
{
	struct trip t;

	for (size_t i = 0; i <= m->entry_mask; i++) {
		if (!m->counts[i])
			continue;
		t = set_out(m, m->entries[i].state, m->entries[i].key, TELL_COUNTS, m->counts[i]);
		m->counts[i] = 0;
		if (m->walk->edges && (walk_outcomes(&t) < 0 || t.no_memory))
			return -HT_ENOMEM;
	}
	for (size_t i = 0; i <= m->target_mask; i++) {
		struct ht_memo_target *e = &m->targets[i];

		if (!e->state || !e->count)
			continue;
		t = set_out(m, e->state, e->bits, TELL_COUNTS, e->count);
		e->count = 0;
		if (m->walk->edges && (walk_target(&t, e->ip) < 0 || walk_outcomes(&t) < 0 || t.no_memory))
			return -HT_ENOMEM;
	}
	return 0;
}

int
ht_memo_init(struct ht_memo *m, struct ht_walk *w)
{
	memset(m, 0, sizeof(*m));
	m->walk = w;
	/* Number 0 of both means none. */
	if (ht_vec_reserve(&m->states, 1) < 0 || ht_vec_reserve(&m->runs, 1) < 0)
		return -HT_ENOMEM;
	m->states.n = m->runs.n = 1;
	return grow_entries(m) < 0 || grow_targets(m) < 0 ? -HT_ENOMEM : 0;
}

void
ht_memo_fini(struct ht_memo *m)
{
	struct slots s = { m->entries, m->counts, m->run_of };

	free_slots(&s, m->entry_mask + 1);
	ht_pages_free(m->targets, (m->target_mask + 1) * sizeof(*m->targets));
	ht_vec_free(&m->states);
	ht_vec_free(&m->runs);
	memset(m, 0, sizeof(*m));
}

int
ht_memo_reset(struct ht_memo *m)
{
	struct ht_walk *w = m->walk;

	for (size_t i = 1; i < m->states.n; i++)
		m->states.at[i]->state = 0;
	ht_memo_fini(m);
	return ht_memo_init(m, w);
}
