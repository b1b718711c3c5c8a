/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Losses: the gaps of a capture as a list, whatever recorded it and whatever
 * decoded it, each with what ran on both sides of it.
 *
 *	for each stream:
 *		while ((n = ht_decoder_next(d, batch, HT_BATCH)) > 0)
 *			ht_losses_events(l, d, batch, n);
 *		ht_losses_end_stream(l);
 *	ht_losses_session(l, session);
 */
#ifndef HWTRACE_LOSSES_H
#define HWTRACE_LOSSES_H

#include <stddef.h>

#include <hwtrace/decoder.h>

struct ht_loss {
	struct ht_gap gap;   /* `why` lives as long as the list */
	uint64_t insns_before; /* that ran in the stream since the gap before this one, or its start */
	uint64_t insns_after;  /* up to the next gap, or its end */
	uint64_t next_ip;      /* the first address that ran after it, 0 = none */
};

struct ht_losses;

/* A list of at most `max` losses; those that follow are counted.  Errors: HT_ENOMEM. */
int  ht_losses_new(size_t max, struct ht_losses **out);
void ht_losses_free(struct ht_losses *l); /* NULL is fine */
/* The batch that `d` gave last.  Its gaps are copied.  0 or -HT_ENOMEM. */
int  ht_losses_events(struct ht_losses *l, const struct ht_decoder *d, const struct ht_event *ev, int n);
void ht_losses_end_stream(struct ht_losses *l);
/* What the sideband tells; a file's early end only when no stream told of it.  0 or -HT_ENOMEM. */
int  ht_losses_session(struct ht_losses *l, const struct ht_session *s);

size_t ht_losses_count(const struct ht_losses *l);
const struct ht_loss *ht_losses_get(const struct ht_losses *l, size_t i); /* NULL past the end */
/* How many more there were than the list holds. */
uint64_t ht_losses_more(const struct ht_losses *l);

#endif
