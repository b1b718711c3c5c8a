/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "sink/calls.h"

#define DEPTH_MAX 4096 /* deeper frames are counted out at the bottom */

struct stack {
	int32_t tid;  /* of a thread's */
	uint64_t *at; /* return addresses */
	size_t    n, cap;
};

struct calls {
	struct {
		struct stack *at;
		size_t n, cap;
	} stacks; /* by stream */
	struct {
		struct stack *at;
		size_t n, cap;
	} threads;   /* of CPUs' streams */
	size_t last; /* of threads: the one asked for last */
};

struct calls *
calls_new(void)
{
	return calloc(1, sizeof(struct calls));
}

void
calls_free(struct calls *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->stacks.n; i++)
		ht_vec_free(&c->stacks.at[i]);
	ht_vec_free(&c->stacks);
	for (size_t i = 0; i < c->threads.n; i++)
		ht_vec_free(&c->threads.at[i]);
	ht_vec_free(&c->threads);
	free(c);
}

static struct stack *
stack_of_thread(struct calls *c, int32_t tid)
{
	struct stack *s;

	if (c->last < c->threads.n && c->threads.at[c->last].tid == tid)
		return &c->threads.at[c->last];
	for (c->last = 0; c->last < c->threads.n; c->last++)
		if (c->threads.at[c->last].tid == tid)
			return &c->threads.at[c->last];
	s = ht_vec_push(&c->threads);
	if (s)
		*s = (struct stack){ .tid = tid };
	return s;
}

static struct stack *
stack_of(struct calls *c, const struct calls_of *of)
{
	uint32_t stream = of->stream;

	if (of->cpu >= 0 && of->tid > 0)
		return stack_of_thread(c, of->tid);
	while (c->stacks.n <= stream) {
		struct stack *s = ht_vec_push(&c->stacks);

		if (!s)
			return NULL;
		memset(s, 0, sizeof(*s));
	}
	return &c->stacks.at[stream];
}

/* A return goes back to the nearest frame that expects it; one that none expects changes nothing. */
static void
unwind(struct stack *s, uint64_t to)
{
	for (size_t i = s->n; i-- > 0;)
		if (s->at[i] == to) {
			s->n = i;
			return;
		}
}

void
calls_gap(struct calls *c, const struct calls_of *of)
{
	if (of->stream < c->stacks.n)
		c->stacks.at[of->stream].n = 0;
	for (size_t i = 0; of->cpu >= 0 && i < c->threads.n; i++)
		c->threads.at[i].n = 0;
}

int
calls_step(struct calls *c, const struct calls_of *of, const struct ht_sample *x)
{
	unsigned kind = x->flags & (HT_SF_CALL | HT_SF_RETURN | HT_SF_SYSCALL | HT_SF_INT);
	struct stack *s;
	uint64_t *top;

	if (x->kind != HT_SAMPLE_BRANCH || (kind != HT_SF_CALL && kind != HT_SF_RETURN) ||
	    !(s = stack_of(c, of)))
		return -1;
	if (kind == HT_SF_RETURN) {
		unwind(s, x->addr);
		return -1;
	}
	/* call +0 only asks for its own address */
	if (x->addr == x->ip + x->size)
		return -1;
	if (s->n == DEPTH_MAX) {
		memmove(s->at, s->at + DEPTH_MAX / 2, (DEPTH_MAX / 2) * sizeof(*s->at));
		s->n = DEPTH_MAX / 2;
	}
	top = ht_vec_push(s);
	if (!top)
		return -1;
	*top = x->ip + x->size;
	return (int)s->n - 1;
}
