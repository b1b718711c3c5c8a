/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include <hwtrace/error.h>

#include "decode/flow/out.h"

#define FIRST_ROOM 2048u

void
ht_out_fini(struct ht_out *o)
{
	free(o->own);
	memset(o, 0, sizeof(*o));
}

void
ht_out_lend(struct ht_out *o, struct ht_event *ev, size_t n)
{
	o->at = ev;
	o->cap = n;
}

size_t
ht_out_take(struct ht_out *o, struct ht_event *ev, size_t n)
{
	size_t left = o->n - o->handed;

	if (o->at == ev) {
		o->at = o->own;
		o->cap = o->n_own;
		o->n = 0;
		return left;
	}
	if (left > n)
		left = n;
	if (left)
		memcpy(ev, o->at + o->handed, left * sizeof(*ev));
	o->handed += left;
	if (o->handed == o->n)
		o->handed = o->n = 0;
	return left;
}

int
ht_out_grow(struct ht_out *o, size_t n)
{
	size_t room = o->n_own ? o->n_own : FIRST_ROOM;
	struct ht_event *own;

	while (room < o->n + n)
		room *= 2;
	own = room > o->n_own ? realloc(o->own, room * sizeof(*own)) : o->own;
	if (!own)
		return -HT_ENOMEM;
	if (o->at != o->own && o->n)
		memcpy(own, o->at, o->n * sizeof(*own));
	o->own = o->at = own;
	o->n_own = o->cap = room;
	return 0;
}
