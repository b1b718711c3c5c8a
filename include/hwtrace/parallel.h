/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decoding on several threads, for sinks that add up: what they make of a
 * stream does not depend on when its parts come.
 *
 * Streams are decoded side by side, and a stream in stretches where its engine
 * can.  All events are those of ht_decoder_next() on the stream as a whole, and
 * each is delivered once to a part that is kept; parts that turn out to have
 * begun wrong are thrown away.
 */
#ifndef HWTRACE_PARALLEL_H
#define HWTRACE_PARALLEL_H

#include <hwtrace/decoder.h>
#include <hwtrace/flow.h>

/*
 * A part is the sink's state over one stretch of one stream.  A part is used by
 * one thread at a time; parts of different threads at once.
 */
struct ht_parallel_sink {
	/* A part without anything in it; NULL: out of memory. */
	void *(*open)(void);
	/* A batch in order, as from ht_decoder_next(). 0, or -HT_E... */
	int (*events)(void *part, struct ht_decoder *d, const struct ht_event *ev, int n);
	/*
	 * NULL, or instead of events what ht_decoder_count() gives, with the view it
	 * holds for.  Engines that cannot count in stretches give events all the same.
	 */
	int (*counts)(void *part, struct ht_decoder *d, const struct ht_counts *counts);
	/*
	 * The stretch begins here: drop all that was added up.  Kept is what the
	 * sink needs to know of events before: of those no more may matter than
	 * the last BLOCK and whether a GAP came behind it.
	 */
	void (*forget)(void *part);
	/* No more events; the decoder's view still lives. 0, or -HT_E... */
	int (*end)(void *part);
	/* Add `from`, which follows in the stream, to `into`; both have ended. 0, or -HT_E... */
	int (*merge)(void *into, const void *from);
	void (*close)(void *part); /* NULL is fine */
	/*
	 * A stream is done: one part for all of it, NULL when not even a decoder
	 * could be made.  `diag` tells what went wrong, else its `error` is 0.  Called
	 * by one thread at a time.  0, or -HT_E...
	 */
	int (*done)(void *arg, uint32_t stream, const void *part, const struct ht_diag *diag);
	/* Bytes decoded so far, about; by one thread at a time.  May be NULL. */
	void (*progress)(void *arg, uint64_t bytes);
};

struct ht_parallel_config {
	size_t size;
	const char *engine; /* as in struct ht_decoder_config */
	unsigned want;      /* HT_DECODE_*; 0 = all.  With TIME a stream stays in one piece */
	unsigned jobs;      /* threads, this one included; 0 = one for each processor */
	uint64_t piece;     /* bytes between two looks for other threads; 0 = a good number */
};

/* Processors that this process may use, at least 1. */
unsigned ht_parallel_processors(void);

/*
 * Decode all streams of `s`.  Returns 0, or the first -HT_E... of a sink, or
 * -HT_ENOMEM; what a stream is lacking is no error, see done().  `s` is settled
 * (ht_session_settle()) and no one else may use it meanwhile.
 */
int ht_parallel_decode(struct ht_session *s, const struct ht_parallel_config *config,
                       const struct ht_parallel_sink *sink, void *arg);

#endif
