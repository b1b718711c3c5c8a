/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "decode/flow/graph.h"
#include "decode/insn/x86.h"

#define PAGE_SHIFT 10
#define PAGE       (1u << PAGE_SHIFT)
#define INSNS_MAX  4096u /* then a block is cut */
#define WINDOW     256   /* bytes asked for at a time */

void
ht_graph_init(struct ht_graph *g, ht_code_read *read, void *arg)
{
	memset(g, 0, sizeof(*g));
	g->read = read;
	g->arg = arg;
}

void
ht_graph_fini(struct ht_graph *g)
{
	for (uint32_t i = 0; i < g->n_pages; i++)
		free(g->pages[i]);
	free(g->pages);
	free(g->slots);
	memset(g, 0, sizeof(*g));
}

static size_t
hash(uint64_t ip, unsigned mode)
{
	return (size_t)((ip ^ (uint64_t)mode << 56) * 0x9e3779b97f4a7c15ull >> 20);
}

static int
grow_slots(struct ht_graph *g)
{
	size_t n = g->n_slots ? g->n_slots * 4 : 1024;
	struct ht_graph_slot *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return -1;
	for (size_t i = 0; i < g->n_slots; i++) {
		struct ht_block *b = g->slots[i].block;
		size_t at;

		if (!b)
			continue;
		for (at = hash(b->start, b->mode) & (n - 1); slots[at].block; at = (at + 1) & (n - 1))
			;
		slots[at] = (struct ht_graph_slot){ b->start, b };
	}
	free(g->slots);
	g->slots = slots;
	g->n_slots = n;
	return 0;
}

static struct ht_block *
new_block(struct ht_graph *g)
{
	if (g->n_blocks >> PAGE_SHIFT == g->n_pages) {
		struct ht_block **pages = realloc(g->pages, (g->n_pages + 1) * sizeof(*pages));

		if (!pages)
			return NULL;
		g->pages = pages;
		pages[g->n_pages] = calloc(PAGE, sizeof(**pages));
		if (!pages[g->n_pages])
			return NULL;
		g->n_pages++;
	}
	return &g->pages[g->n_blocks >> PAGE_SHIFT][g->n_blocks % PAGE];
}

static uint64_t
wrap(uint64_t ip, unsigned mode)
{
	return mode == 64 ? ip : ip & 0xffffffffu;
}

/* Code bytes around an address that moves forward. */
struct window {
	uint64_t start;
	size_t   size;
	uint8_t  bytes[WINDOW];
};

/* The instruction at `ip`: as ht_x86_decode(), 0 when its bytes are missing. */
static int
decode_at(struct ht_graph *g, struct window *w, uint64_t ip, unsigned mode, struct ht_x86_insn *x)
{
	size_t at = (size_t)(ip - w->start);
	int rc = 0;

	if (ip - w->start < w->size)
		rc = ht_x86_decode(w->bytes + at, w->size - at, ip, mode, x);
	if (rc == 0) {
		w->start = ip;
		w->size = g->read(g->arg, ip, w->bytes, sizeof(w->bytes));
		rc = ht_x86_decode(w->bytes, w->size, ip, mode, x);
	}
	return rc;
}

static void
decode_block(struct ht_graph *g, struct ht_block *b)
{
	struct window w = { 0 };
	struct ht_x86_insn x;
	uint64_t ip = b->start;

	b->end = HT_END_LONG;
	while (b->insns < INSNS_MAX) {
		int rc = decode_at(g, &w, ip, b->mode, &x);

		if (rc <= 0) {
			b->end = rc < 0 ? HT_END_BAD_CODE : HT_END_NO_CODE;
			break;
		}
		b->last = ip;
		b->last_size = x.size;
		b->insns++;
		ip = wrap(ip + x.size, b->mode);
		if (x.insn != HT_INSN_OTHER) {
			b->insn = x.insn;
			b->target = x.target;
			b->end = HT_END_BRANCH;
			break;
		}
	}
	b->next = ip;
}

struct ht_block *
ht_graph_block(struct ht_graph *g, uint64_t ip, unsigned mode)
{
	struct ht_block *b;
	size_t at;

	if (g->used * 2 >= g->n_slots && grow_slots(g) < 0)
		return NULL;
	for (at = hash(ip, mode) & (g->n_slots - 1); (b = g->slots[at].block); at = (at + 1) & (g->n_slots - 1))
		if (g->slots[at].start == ip && b->mode == mode)
			return b;
	b = new_block(g);
	if (!b)
		return NULL;
	b->start = ip;
	b->mode = (uint8_t)mode;
	decode_block(g, b);
	g->n_blocks++;
	g->slots[at] = (struct ht_graph_slot){ ip, b };
	g->used++;
	return b;
}

struct ht_block *
ht_graph_next(struct ht_graph *g, struct ht_block *b)
{
	if (!b->to_next || b->to_next->end == HT_END_DEAD)
		b->to_next = ht_graph_block(g, b->next, b->mode);
	return b->to_next;
}

struct ht_block *
ht_graph_target(struct ht_graph *g, struct ht_block *b)
{
	if (!b->to_target || b->to_target->end == HT_END_DEAD)
		b->to_target = ht_graph_block(g, b->target, b->mode);
	return b->to_target;
}

int64_t
ht_graph_split(struct ht_graph *g, const struct ht_block *b, uint64_t ip, uint64_t *last, uint8_t *size)
{
	struct window w = { 0 };
	struct ht_x86_insn x;
	uint64_t at = b->start;

	if (ip == b->next && b->end != HT_END_BRANCH) {
		*last = b->last;
		*size = b->last_size;
		return b->insns;
	}
	if (b->insns == 0 || ip - b->start > b->last - b->start)
		return -1;
	for (uint32_t i = 0; i < b->insns && at != b->next; i++) {
		if (at == ip)
			return i;
		if (decode_at(g, &w, at, b->mode, &x) <= 0)
			break;
		*last = at;
		*size = x.size;
		at = wrap(at + x.size, b->mode);
	}
	return -1;
}

struct ht_block *
ht_graph_at(const struct ht_graph *g, uint32_t i)
{
	return &g->pages[i >> PAGE_SHIFT][i % PAGE];
}

static int
touches(const struct ht_block *b, const struct ht_range *ranges, uint32_t n)
{
	/* A block that stopped for want of good bytes depends on those behind it. */
	uint64_t end = b->next + (b->end == HT_END_NO_CODE || b->end == HT_END_BAD_CODE ? HT_X86_MAX : 0);

	uint32_t lo = 0, hi = n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (ranges[mid].end > b->start)
			hi = mid;
		else
			lo = mid + 1;
	}
	return n == 0 || (lo < n && end > ranges[lo].start);
}

/* Fill the slots anew from the blocks that live. */
static void
rehash(struct ht_graph *g)
{
	memset(g->slots, 0, g->n_slots * sizeof(*g->slots));
	g->used = 0;
	for (uint32_t i = 0; i < g->n_blocks; i++) {
		struct ht_block *b = ht_graph_at(g, i);
		size_t at;

		if (b->end == HT_END_DEAD)
			continue;
		for (at = hash(b->start, b->mode) & (g->n_slots - 1); g->slots[at].block; at = (at + 1) & (g->n_slots - 1))
			;
		g->slots[at] = (struct ht_graph_slot){ b->start, b };
		g->used++;
	}
}

uint32_t
ht_graph_invalidate(struct ht_graph *g, const struct ht_range *ranges, uint32_t n)
{
	uint32_t dropped = 0;

	for (uint32_t i = 0; i < g->n_blocks; i++) {
		struct ht_block *b = ht_graph_at(g, i);

		if (b->end != HT_END_DEAD && touches(b, ranges, n)) {
			b->end = HT_END_DEAD;
			dropped++;
		}
	}
	if (dropped)
		rehash(g);
	return dropped;
}
