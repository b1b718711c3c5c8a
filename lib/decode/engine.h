/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a decode engine is made of.  decoder.c owns the struct, picks the engine
 * from its table, keeps gaps and figures; the engine turns bytes into events.
 */
#ifndef DECODE_ENGINE_H
#define DECODE_ENGINE_H

#include <hwtrace/decoder.h>
#include <hwtrace/flow.h>

/*
 * Decoding a stream in stretches, each from a synchronisation point on.  A
 * stretch that is begun in the middle knows nothing of what was before; whether
 * that made a difference is found out when the one in front of it gets there.
 */
struct ht_engine_stretch {
	/*
	 * A place to begin at, behind stream offset `from`: *warm, where decoding can
	 * start, and *begin behind it, where what came before is forgotten in all
	 * that the trace itself can tell.  1, or 0 when there is none.
	 */
	int (*find)(const struct ht_stream *st, uint64_t from, uint64_t *warm, uint64_t *begin);
	/* In front of the synchronisation point at `offset`; before the first event was asked for. */
	void (*begin)(struct ht_decoder *d, uint64_t offset);
	/* next() returns 0 in front of the packet at `offset`, or behind it when none begins there. */
	void (*stop)(struct ht_decoder *d, uint64_t offset);
	/*
	 * Count on up to the stop, and keep the counts: the next count() takes them
	 * and does not go on.  1: they must be taken now, since the code changes; 0:
	 * the stop, or the end of the stream; -HT_E...
	 */
	int (*run)(struct ht_decoder *d);
	/* Remember how `d` stands now, for meets(). */
	void (*note)(struct ht_decoder *d);
	/* 1 when `d`, where it stopped, stands as `after` stood when it was noted. */
	int (*meets)(struct ht_decoder *d, const struct ht_decoder *after);
	/* 1 when `d` asked for what was before its begin: what it told may be wrong. */
	int (*missed)(const struct ht_decoder *d);
};

struct ht_engine {
	const char *name;
	/* 1 when the engine decodes `source`. */
	int (*can)(enum ht_trace_source source);
	/* Build the engine's state into d->state. */
	int (*open)(struct ht_decoder *d, struct ht_diag *diag);
	void (*close)(struct ht_decoder *d);
	/* As ht_decoder_next(). */
	int (*next)(struct ht_decoder *d, struct ht_event *ev, int n);
	/* As ht_decoder_count(); NULL = it cannot. */
	int (*count)(struct ht_decoder *d, struct ht_counts *out);
	/* NULL = a stream is decoded in one piece. */
	const struct ht_engine_stretch *stretch;
};

struct ht_decoder {
	const struct ht_engine   *engine;
	void                     *state;
	struct ht_session        *session;
	const struct ht_stream   *stream;
	const struct ht_capture_info *info;
	struct ht_view           *view;
	int32_t                   pid, tid;
	unsigned                  want;
	uint64_t                  start; /* a hint */
	struct ht_decoder_stats   stats;
	struct ht_diag            diag;
	struct ht_gap            *gaps;   /* a ring: the last HT_GAPS_KEPT of them */
	size_t                    cap_gaps;
};

extern const struct ht_engine ht_engine_native;
extern const struct ht_engine ht_engine_libipt;
extern const struct ht_engine ht_engine_stack; /* branch stacks */

/* The gap at the end of the stream of a thread that was killed, HT_LOST_BLOCK, in words. */
#define HT_WHY_KILLED \
	"its thread was killed while it ran: the block that begins here may have run, or a part"

/* Note a gap; fills in stream and returns its index, or -HT_ENOMEM. Counts it in stats. */
int ht_decoder_add_gap(struct ht_decoder *d, const struct ht_gap *gap);
/* The gap noted last; NULL = none. */
struct ht_gap *ht_decoder_last_gap(struct ht_decoder *d);

#endif
