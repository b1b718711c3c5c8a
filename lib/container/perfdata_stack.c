/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Branch stacks as streams: one a thread, one chunk a sample.  The samples of a
 * thread lie in the buffers of all the CPUs that it ran on, so the chunks are
 * put in order of time.
 */
#include <stdlib.h>
#include <string.h>

#include "container/perfdata_impl.h"

#define BLOCK_SIZE (1u << 20)

struct ht_perf_stack {
	int32_t         pid, tid;
	uint8_t         gapless;
	uint32_t        order;
	struct ht_chunk chunk;
};

const uint8_t *
ht_perf_keep(struct ht_perfdata *p, const uint8_t *at, size_t n)
{
	struct ht_perf_block *b = p->blocks.n ? &p->blocks.at[p->blocks.n - 1] : NULL;
	uint8_t *copy;

	if (!b || BLOCK_SIZE - b->used < n) {
		b = ht_vec_push(&p->blocks);
		if (!b)
			return NULL;
		*b = (struct ht_perf_block){ .at = malloc(BLOCK_SIZE) };
		if (!b->at) {
			p->blocks.n--;
			return NULL;
		}
	}
	copy = b->at + b->used;
	memcpy(copy, at, n);
	b->used += n;
	return copy;
}

int
ht_perf_stack_add(struct ht_container *c, const struct ht_perf_raw *raw)
{
	struct ht_perfdata *p = c->state;
	const struct ht_perf_event *e = ht_perfdata_event(p, raw);
	struct ht_perf_stack *s;
	struct ht_record rec;
	const uint8_t *data;

	/* A record that is damaged is told of by next(). */
	if (!e || !(e->attr.sample_type & PERF_SAMPLE_BRANCH_STACK) ||
	    ht_perfdata_parse(c, raw, &rec) <= 0 || !rec.u.sample.n_branches)
		return 0;
	if (p->stacks.n >= UINT32_MAX)
		return -HT_ENOMEM;
	data = rec.u.sample.branches;
	if (!raw->mapped)
		data = ht_perf_keep(p, data, rec.u.sample.n_branches * HT_BRANCH_ENTRY_SIZE);
	s = data ? ht_vec_push(&p->stacks) : NULL;
	if (!s)
		return -HT_ENOMEM;
	*s = (struct ht_perf_stack){
		.pid = rec.pid, .tid = rec.tid, .order = (uint32_t)p->stacks.n,
		.gapless = !!(e->attr.branch_sample_type & PERF_SAMPLE_BRANCH_ANY) &&
		           !(e->attr.branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK),
		.chunk = { .data = data, .size = rec.u.sample.n_branches * HT_BRANCH_ENTRY_SIZE,
		           .ref = rec.time, .file_offset = raw->offset },
	};
	if (raw->mapped)
		s->chunk.file_offset += (uint64_t)(data - raw->at);
	return 0;
}

static int
by_thread(const void *a, const void *b)
{
	const struct ht_perf_stack *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->chunk.ref != y->chunk.ref)
		return x->chunk.ref < y->chunk.ref ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static int
same_thread(const struct ht_perf_stack *a, const struct ht_perf_stack *b)
{
	return a->pid == b->pid && a->tid == b->tid;
}

int
ht_perf_stack_build(struct ht_container *c)
{
	struct ht_perfdata *p = c->state;
	uint32_t n_streams = 0;
	struct ht_stream *s = NULL;

	if (!p->stacks.n)
		return 0;
	qsort(p->stacks.at, p->stacks.n, sizeof(*p->stacks.at), by_thread);
	for (size_t i = 0; i < p->stacks.n; i++)
		n_streams += !i || !same_thread(&p->stacks.at[i - 1], &p->stacks.at[i]);
	p->chunks = calloc(p->stacks.n, sizeof(*p->chunks));
	c->streams = calloc(n_streams, sizeof(*c->streams));
	if (!p->chunks || !c->streams)
		return -HT_ENOMEM;
	for (size_t i = 0; i < p->stacks.n; i++) {
		const struct ht_perf_stack *x = &p->stacks.at[i];

		if (!s || !same_thread(x - 1, x)) {
			s = &c->streams[c->n_streams];
			*s = (struct ht_stream){ .index = c->n_streams++, .source = HT_SOURCE_BRANCH_STACK,
				                 .pid = x->pid, .tid = x->tid, .cpu = -1,
				                 .chunks = p->chunks + i, .gapless = 1 };
		}
		p->chunks[i] = x->chunk;
		p->chunks[i].stream_offset = s->bytes;
		s->bytes += x->chunk.size;
		s->n_chunks++;
		s->gapless &= x->gapless;
	}
	return 0;
}

void
ht_perf_stack_fini(struct ht_perfdata *p)
{
	for (size_t i = 0; i < p->blocks.n; i++)
		free(p->blocks.at[i].at);
	ht_vec_free(&p->blocks);
	ht_vec_free(&p->stacks);
}
