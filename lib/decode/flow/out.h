/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where events go: into the caller's batch as long as they fit, so that they are
 * written once, else into a buffer of our own, from which they are handed out.
 */
#ifndef DECODE_FLOW_OUT_H
#define DECODE_FLOW_OUT_H

#include <stddef.h>

#include <hwtrace/event.h>

struct ht_out {
	struct ht_event *at;
	size_t           n, cap;
	struct ht_event *own;
	size_t           n_own;  /* there is room for so many in it */
	size_t           handed; /* so many of those in it were handed out */
};

#define HT_OUT_CHUNK 8u /* events that ht_out_copy() copies at a time */

void ht_out_fini(struct ht_out *o);
/* Nothing waits: events go to `ev`, which has room for `n`, until ht_out_take(). */
void ht_out_lend(struct ht_out *o, struct ht_event *ev, size_t n);
/* How many events are in `ev` then, at most `n`; others wait. */
size_t ht_out_take(struct ht_out *o, struct ht_event *ev, size_t n);
/* Room for `n` more where there is none. 0, or -HT_ENOMEM. */
int  ht_out_grow(struct ht_out *o, size_t n);

static inline struct ht_event *
ht_out_push(struct ht_out *o)
{
	if (o->n == o->cap && ht_out_grow(o, 1) < 0)
		return NULL;
	return &o->at[o->n++];
}

/*
 * Add `n` events; up to HT_OUT_CHUNK - 1 behind them are read, too.  NULL when out
 * of memory, else where they are now.
 */
static inline struct ht_event *
ht_out_copy(struct ht_out *o, const struct ht_event *from, size_t n)
{
	struct ht_event *to;

	if (__builtin_expect(o->cap - o->n < n + HT_OUT_CHUNK, 0) && ht_out_grow(o, n + HT_OUT_CHUNK) < 0)
		return NULL;
	to = &o->at[o->n];
	o->n += n;
	/* Most are short: a copy of fixed size needs no look at how long they are. */
	for (size_t i = 0; i < n; i += HT_OUT_CHUNK)
		__builtin_memcpy(&to[i], &from[i], HT_OUT_CHUNK * sizeof(*to));
	return to;
}

#endif
