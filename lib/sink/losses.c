/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include <hwtrace/losses.h>

#include "base/intern.h"
#include "base/vec.h"

struct ht_losses {
	struct {
		struct ht_loss *at;
		size_t n, cap;
	} list;
	size_t max;
	uint64_t more;
	uint64_t insns; /* of the stream since its last gap */
	int open;       /* the last of the list may still grow insns_after */
	int cut;        /* a stream told that the file is cut */
	struct ht_intern *texts;
};

int
ht_losses_new(size_t max, struct ht_losses **out)
{
	struct ht_losses *l = calloc(1, sizeof(*l));

	if (l && !(l->texts = ht_intern_new())) {
		free(l);
		l = NULL;
	}
	if (!l)
		return -HT_ENOMEM;
	l->max = max;
	*out = l;
	return 0;
}

void
ht_losses_free(struct ht_losses *l)
{
	if (!l)
		return;
	ht_vec_free(&l->list);
	ht_intern_free(l->texts);
	free(l);
}

/* What ran since the last gap stands behind that one. */
static void
close_last(struct ht_losses *l)
{
	if (l->open)
		l->list.at[l->list.n - 1].insns_after = l->insns;
	l->open = 0;
}

static int
add(struct ht_losses *l, const struct ht_gap *gap)
{
	const char *why = gap->why ? gap->why : "";
	struct ht_loss *at;

	close_last(l);
	if (l->list.n == l->max) {
		l->more++;
		return 0;
	}
	why = ht_intern(l->texts, why, strlen(why));
	at = why ? ht_vec_push(&l->list) : NULL;
	if (!at)
		return -HT_ENOMEM;
	*at = (struct ht_loss){ .gap = *gap, .insns_before = l->insns };
	at->gap.why = why;
	return 0;
}

int
ht_losses_events(struct ht_losses *l, const struct ht_decoder *d, const struct ht_event *ev, int n)
{
	for (int i = 0; i < n; i++) {
		const struct ht_gap *gap;
		size_t before = l->list.n;

		if (ev[i].kind == HT_EV_BLOCK) {
			l->insns += ev[i].n;
			if (l->open && !l->list.at[l->list.n - 1].next_ip)
				l->list.at[l->list.n - 1].next_ip = ev[i].a;
		}
		if (ev[i].kind != HT_EV_GAP || !(gap = ht_decoder_gap(d, ev[i].n)))
			continue;
		l->cut |= gap->kind == HT_GAP_CUT;
		if (add(l, gap) < 0)
			return -HT_ENOMEM;
		l->open = l->list.n > before;
		l->insns = 0;
	}
	return 0;
}

void
ht_losses_end_stream(struct ht_losses *l)
{
	close_last(l);
	l->insns = 0;
}

int
ht_losses_session(struct ht_losses *l, const struct ht_session *s)
{
	const struct ht_gap *gap;

	ht_losses_end_stream(l);
	for (uint32_t i = 0; (gap = ht_session_gap(s, i)); i++)
		if (!(gap->kind == HT_GAP_CUT && l->cut) && add(l, gap) < 0)
			return -HT_ENOMEM;
	return 0;
}

size_t
ht_losses_count(const struct ht_losses *l)
{
	return l->list.n;
}

const struct ht_loss *
ht_losses_get(const struct ht_losses *l, size_t i)
{
	return i < l->list.n ? &l->list.at[i] : NULL;
}

uint64_t
ht_losses_more(const struct ht_losses *l)
{
	return l->more;
}
