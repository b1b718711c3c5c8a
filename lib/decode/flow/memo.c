/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include <hwtrace/error.h>

#include "base/pages.h"
#include "base/vec.h"
#include "decode/flow/memo.h"

#define FIRST_ENTRIES 8192u
#define FIRST_TARGETS 1024u

static enum ht_telling
how_to_tell(const struct ht_memo *m)
{
	return m->walk->edges ? HT_TELL_NOTHING : HT_TELL_EVENTS;
}

/* A trip from `state` by `key`. */
static struct ht_trip
set_out(struct ht_memo *m, uint32_t state, uint32_t key, enum ht_telling telling, uint64_t weight)
{
	const struct ht_state *from = ht_state_named(&m->states, state);
	struct ht_trip t = { .walk = m->walk, .runs = &m->runs, .telling = telling, .weight = weight,
		             .block = from->block, .bits = key, .context = from->context };

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

static uint32_t
end_of(const struct ht_trip *t)
{
	if (!t->stopped)
		return t->context;
	return t->context | t->bits << HT_MEMO_CONTEXT_BITS |
	       (t->block->insn == HT_INSN_RET ? HT_MEMO_RETURNS : 0);
}

static int
fits(const struct ht_trip *t)
{
	return t->context <= HT_MEMO_CONTEXT_MAX &&
	       t->walk->contexts.at[t->context].depth <= HT_CONTEXT_DEPTH;
}

/* Make the entry that is not there; its slot, or SIZE_MAX with *rc 0: none can be made, or -HT_ENOMEM. */
static size_t
build(struct ht_memo *m, uint32_t state, uint32_t key, int *rc)
{
	struct ht_trip t = set_out(m, state, key, how_to_tell(m), 0);
	uint32_t run = ht_trip_begin_run(&t), next;
	int failed = ht_trip_outcomes(&t) < 0 || !fits(&t);
	size_t at;

	ht_trip_end_run(&t, run, failed);
	*rc = t.no_memory ? -HT_ENOMEM : 0;
	if (failed || t.no_memory)
		return SIZE_MAX;
	next = ht_state_behind(&m->states, &t);
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
	struct ht_trip t = set_out(m, state, bits, how_to_tell(m), 0);
	uint32_t run = ht_trip_begin_run(&t), next;
	int failed = ht_trip_target(&t, ip) < 0 || ht_trip_outcomes(&t) < 0 || !fits(&t);
	size_t at;

	ht_trip_end_run(&t, run, failed);
	*rc = t.no_memory ? -HT_ENOMEM : 0;
	if (failed || t.no_memory)
		return NULL;
	next = ht_state_behind(&m->states, &t);
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

	if (context)
		ht_return_stack_push_all(&m->walk->stack, &m->walk->contexts, context);
	*bits = left ? left : 1;
	if (!left)
		return 1;
	if (!(end & HT_MEMO_RETURNS))
		return 2;
	context = ht_return_stack_pop(&m->walk->stack);
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
		if (m->run_of && m->run_of[slot])
			rc = ht_run_give(&m->runs, m->run_of[slot], m->walk);
		if (rc < 0)
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

/* Behind the home slot, where the entry may be; then it may change places with the one there. */
static __attribute__((noinline)) size_t
second_slot(struct ht_memo *m, size_t home, uint32_t state, uint32_t key)
{
	size_t at = (home + 1) & m->entry_mask;

	if (m->entries[at].state != state || m->entries[at].key != key)
		return at;
	return swap_home(m, home, at);
}

/* As ht_memo_groups(). */
static inline __attribute__((always_inline)) int
take_groups(struct ht_memo *m, uint32_t *state, uint64_t *bits, unsigned *n, int counting)
{
	const struct ht_memo_entry *entries = m->entries, *e;
	struct ht_return_stack *stack = &m->walk->stack;
	uint32_t at = *state, key = 0, context, left;
	uint64_t rest = *bits;
	unsigned count = *n, k;
	int rc = 0;

	for (;;) {
		size_t slot;

		if (!key) {
			if (!count)
				break;
			k = count < HT_MEMO_GROUP ? count : HT_MEMO_GROUP;
			/* cppcheck-suppress shiftTooManyBits; count is not 0 */
			key = 1u << k | (uint32_t)(rest >> (64 - k));
			rest <<= k;
			count -= k;
		}
		slot = entry_slot(m, at, key);
		e = &entries[slot];
		if (e->state != at || e->key != key) {
			slot = second_slot(m, slot, at, key);
			e = &entries[slot];
			if (e->state != at || e->key != key) {
				left = key;
				if (key & HT_MEMO_POPPED) {
					left = (key & ~HT_MEMO_POPPED) >> HT_MEMO_CONTEXT_BITS;
					ht_return_stack_push(stack, key & HT_MEMO_CONTEXT_MAX);
				}
				goto give_back;
			}
		}
		m->counts[slot]++;
		at = e->next;
		key = 0;
		rc = counting || !m->run_of[slot] ? 0 : ht_run_give(&m->runs, m->run_of[slot], m->walk);
		if (rc < 0)
			break;
		if (!e->end)
			continue;
		context = e->end & HT_MEMO_CONTEXT_MAX;
		left = (e->end & ~HT_MEMO_RETURNS) >> HT_MEMO_CONTEXT_BITS;
		if (context)
			ht_return_stack_push_all(stack, &m->walk->contexts, context);
		if (!left)
			continue;
		rc = !(e->end & HT_MEMO_RETURNS);
		context = rc ? 0 : ht_return_stack_pop(stack);
		if (!context)
			goto give_back;
		key = context | left << HT_MEMO_CONTEXT_BITS | HT_MEMO_POPPED;
	}
	*state = at;
	*bits = rest;
	*n = count;
	return rc;
give_back:
	k = 31 - (unsigned)__builtin_clz(left);
	*state = at;
	*bits = rest >> k | (uint64_t)left << (63 - k) << 1;
	*n = count + k;
	return rc;
}

int
ht_memo_groups(struct ht_memo *m, uint32_t *state, uint64_t *bits, unsigned *n)
{
	return m->run_of ? take_groups(m, state, bits, n, 0) : take_groups(m, state, bits, n, 1);
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
		ht_return_stack_pop(&m->walk->stack);
	if (e->run && (rc = ht_run_give(&m->runs, e->run, m->walk)) < 0)
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
	return w->block ? ht_state_of(&m->states, w->block, 0) : 0;
}

void
ht_memo_leave(struct ht_memo *m, uint32_t state)
{
	struct ht_block *block = ht_state_named(&m->states, ht_memo_bare(m, state))->block;

	ht_walk_set(m->walk, block->start, block->mode);
	m->walk->block = block;
}

/* -- counts ----------------------------------------------------------------- */

int
ht_memo_fold(struct ht_memo *m)
{
	struct ht_trip t;

	for (size_t i = 0; i <= m->entry_mask; i++) {
		if (!m->counts[i])
			continue;
		t = set_out(m, m->entries[i].state, m->entries[i].key, HT_TELL_COUNTS, m->counts[i]);
		m->counts[i] = 0;
		if (m->walk->edges && (ht_trip_outcomes(&t) < 0 || t.no_memory))
			return -HT_ENOMEM;
	}
	for (size_t i = 0; i <= m->target_mask; i++) {
		struct ht_memo_target *e = &m->targets[i];

		if (!e->state || !e->count)
			continue;
		t = set_out(m, e->state, e->bits, HT_TELL_COUNTS, e->count);
		e->count = 0;
		if (!m->walk->edges)
			continue;
		if (ht_trip_target(&t, e->ip) < 0 || ht_trip_outcomes(&t) < 0 || t.no_memory)
			return -HT_ENOMEM;
	}
	return 0;
}

int
ht_memo_init(struct ht_memo *m, struct ht_walk *w)
{
	memset(m, 0, sizeof(*m));
	m->walk = w;
	/* Run 0 means none. */
	if (ht_states_init(&m->states) < 0 || ht_vec_reserve(&m->runs, 1) < 0)
		return -HT_ENOMEM;
	m->runs.n = 1;
	return grow_entries(m) < 0 || grow_targets(m) < 0 ? -HT_ENOMEM : 0;
}

void
ht_memo_fini(struct ht_memo *m)
{
	struct slots s = { m->entries, m->counts, m->run_of };

	free_slots(&s, m->entry_mask + 1);
	ht_pages_free(m->targets, (m->target_mask + 1) * sizeof(*m->targets));
	ht_states_fini(&m->states);
	ht_vec_free(&m->runs);
	memset(m, 0, sizeof(*m));
}

int
ht_memo_reset(struct ht_memo *m)
{
	struct ht_walk *w = m->walk;

	ht_states_leave_blocks(&m->states);
	ht_memo_fini(m);
	return ht_memo_init(m, w);
}
