/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include <hwtrace/error.h>

#include "base/radix.h"
#include "base/vec.h"
#include "decode/flow/edges.h"

struct edge_vec { struct ht_edge *at; size_t n, cap; };
struct run_vec { struct ht_run *at; size_t n, cap; };

void
ht_edges_fini(struct ht_edges *e)
{
	free(e->slots);
	memset(e, 0, sizeof(*e));
}

static size_t
hash(const struct ht_edge_slot *k)
{
	uint64_t h = (uint64_t)(uintptr_t)k->block ^ k->start * 0xff51afd7ed558ccdull ^ k->to;

	return (size_t)(h * 0x9e3779b97f4a7c15ull >> 24) + k->flags;
}

static int
same(const struct ht_edge_slot *a, const struct ht_edge_slot *b)
{
	return a->to == b->to && a->block == b->block && a->start == b->start && a->flags == b->flags;
}

static int
grow(struct ht_edges *e)
{
	size_t n = e->n_slots ? e->n_slots * 4 : 1024;
	struct ht_edge_slot *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return -HT_ENOMEM;
	for (size_t i = 0; i < e->n_slots; i++) {
		size_t at;

		if (!e->slots[i].count)
			continue;
		for (at = hash(&e->slots[i]) & (n - 1); slots[at].count; at = (at + 1) & (n - 1))
			;
		slots[at] = e->slots[i];
	}
	free(e->slots);
	e->slots = slots;
	e->n_slots = n;
	return 0;
}

static int
add(struct ht_edges *e, const struct ht_edge_slot *key)
{
	size_t at;

	if (key->count == 0)
		return 0;
	if (e->used * 2 >= e->n_slots && grow(e) < 0)
		return -HT_ENOMEM;
	for (at = hash(key) & (e->n_slots - 1); e->slots[at].count; at = (at + 1) & (e->n_slots - 1))
		if (same(&e->slots[at], key)) {
			e->slots[at].count += key->count;
			return 0;
		}
	e->slots[at] = *key;
	e->used++;
	return 0;
}

int
ht_edges_branch(struct ht_edges *e, struct ht_block *b, uint64_t to, unsigned flags, uint64_t count)
{
	struct ht_edge_slot key = { .block = b, .to = to, .count = count,
		                    .flags = (uint8_t)(flags & (HT_BR_TAKEN | HT_BR_TRACE_OFF)) };

	if (!(flags & HT_BR_TRACE_OFF) && b->insn <= HT_INSN_CALL) {
		*(flags & HT_BR_TAKEN ? &b->taken : &b->passed) += count;
		return 0;
	}
	return add(e, &key);
}

int
ht_edges_add_part(struct ht_edges *e, const struct ht_event *block, uint64_t count)
{
	struct ht_edge_slot key = { .start = block->a, .to = block->b, .insns = block->n,
		                    .last_size = block->size, .count = count };

	return add(e, &key);
}

static int
edge_order(const void *x, const void *y)
{
	const struct ht_edge *a = x, *b = y;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	return (int)a->flags - (int)b->flags;
}

static int
run_order(const void *x, const void *y)
{
	const struct ht_run *a = x, *b = y;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->last < b->last ? -1 : a->last > b->last;
}

/* By the number that each begins with, then by `order`. 0, or -HT_ENOMEM. */
static int
sort(void *items, size_t n, size_t size, int (*order)(const void *, const void *))
{
	char *at = items;
	int rc = ht_radix_sort(items, n, size);

	for (size_t i = 0, next; rc == 0 && i < n; i = next) {
		for (next = i + 1; next < n && !memcmp(at + next * size, at + i * size, sizeof(uint64_t)); next++)
			;
		if (next > i + 1)
			qsort(at + i * size, next - i, size, order);
	}
	return rc;
}

/* Blocks overlap, so that an edge may come from several of them. 0, or -HT_ENOMEM. */
static int
merge(struct edge_vec *edges, struct run_vec *runs)
{
	size_t n = 0;
	int rc = sort(edges->at, edges->n, sizeof(*edges->at), edge_order);

	if (rc == 0)
		rc = sort(runs->at, runs->n, sizeof(*runs->at), run_order);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < edges->n; i++) {
		if (n && edge_order(&edges->at[n - 1], &edges->at[i]) == 0)
			edges->at[n - 1].count += edges->at[i].count;
		else
			edges->at[n++] = edges->at[i];
	}
	edges->n = n;
	n = 0;
	for (size_t i = 0; i < runs->n; i++) {
		if (n && run_order(&runs->at[n - 1], &runs->at[i]) == 0)
			runs->at[n - 1].count += runs->at[i].count;
		else
			runs->at[n++] = runs->at[i];
	}
	runs->n = n;
	return 0;
}

static int
take_edge(struct edge_vec *v, const struct ht_block *b, uint64_t to, unsigned flags, uint64_t count)
{
	struct ht_edge *e;

	if (!count)
		return 0;
	e = ht_vec_push(v);
	if (!e)
		return -HT_ENOMEM;
	*e = (struct ht_edge){ .from = b->last, .to = to, .count = count, .insn = b->insn,
		               .flags = (uint8_t)flags };
	return 0;
}

static int
take_run(struct run_vec *v, const struct ht_run *run)
{
	struct ht_run *r;

	if (!run->count)
		return 0;
	r = ht_vec_push(v);
	if (!r)
		return -HT_ENOMEM;
	*r = *run;
	return 0;
}

static int
take_block(struct ht_block *b, struct edge_vec *edges, struct run_vec *runs)
{
	struct ht_run run = { .start = b->start, .last = b->last, .insns = b->insns,
		              .last_size = b->last_size, .count = b->taken + b->passed };
	int rc = take_run(runs, &run);

	if (rc == 0)
		rc = take_edge(edges, b, b->target, HT_BR_TAKEN, b->taken);
	if (rc == 0 && b->insn == HT_INSN_COND)
		rc = take_edge(edges, b, b->next, 0, b->passed);
	b->taken = b->passed = 0;
	return rc;
}

static int
take_slot(const struct ht_edge_slot *s, struct edge_vec *edges, struct run_vec *runs)
{
	const struct ht_block *b = s->block;
	struct ht_run run = { .start = s->start, .last = s->to, .insns = s->insns,
		              .last_size = s->last_size, .count = s->count };
	int rc = 0;

	if (b) {
		rc = take_edge(edges, b, s->to, s->flags, s->count);
		run.start = b->start;
		run.last = b->last;
		run.insns = b->insns;
		run.last_size = b->last_size;
	}
	return rc < 0 ? rc : take_run(runs, &run);
}

int
ht_edges_take(struct ht_edges *e, struct ht_graph *g, struct ht_counts *out, uint64_t *instructions,
              uint64_t *branches)
{
	struct edge_vec edges = { 0 };
	struct run_vec runs = { 0 };
	int rc = 0;

	for (uint32_t i = 0; i < g->n_blocks && rc == 0; i++)
		rc = take_block(ht_graph_at(g, i), &edges, &runs);
	for (size_t i = 0; i < e->n_slots && rc == 0; i++)
		rc = take_slot(&e->slots[i], &edges, &runs);
	if (rc == 0)
		rc = merge(&edges, &runs);
	if (rc < 0) {
		ht_vec_free(&edges);
		ht_vec_free(&runs);
		return rc;
	}
	if (e->slots)
		memset(e->slots, 0, e->n_slots * sizeof(*e->slots));
	e->used = 0;
	for (size_t i = 0; i < runs.n; i++)
		*instructions += runs.at[i].count * runs.at[i].insns;
	for (size_t i = 0; i < edges.n; i++)
		*branches += edges.at[i].count;
	*out = (struct ht_counts){ .edges = edges.at, .n_edges = edges.n, .runs = runs.at, .n_runs = runs.n };
	return 0;
}

void
ht_counts_free(struct ht_counts *c)
{
	free(c->edges);
	free(c->runs);
	memset(c, 0, sizeof(*c));
}
