/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counting: what ran and how often, without an event for each branch.  Exact,
 * and faster than events where order and time do not matter.
 */
#ifndef HWTRACE_FLOW_H
#define HWTRACE_FLOW_H

#include <hwtrace/decoder.h>

/* A branch and where it went.  Conditional branches have one for each way. */
struct ht_edge {
	uint64_t from;  /* the branch instruction */
	uint64_t to;    /* 0 = not known: tracing went off with it */
	uint64_t count;
	uint8_t  insn;  /* enum ht_insn_class */
	uint8_t  flags; /* HT_BR_TAKEN, HT_BR_TRACE_OFF */
};

/* Instructions in a row, all of them executed `count` times. */
struct ht_run {
	uint64_t start, last; /* first and last instruction */
	uint64_t count;
	uint32_t insns;
	uint8_t  last_size;   /* bytes of the last instruction */
};

struct ht_counts {
	struct ht_edge *edges; /* sorted by from, to, flags; each once */
	size_t          n_edges;
	struct ht_run  *runs;  /* sorted by start, last; each once */
	size_t          n_runs;
};

/*
 * Decode on and count.  Returns 1 with *out filled in (to be freed), 0 at the
 * end of the stream, -HT_E... as ht_decoder_next().  A call goes as far as the
 * address space stays what it is: ht_decoder_view() holds for all that was
 * counted, as for a batch.  Gaps are counted in ht_decoder_stats(), the last are found by
 * ht_decoder_gap().  Not to be mixed with ht_decoder_next() on one decoder.
 * -HT_EUNSUPPORTED: the engine cannot count.
 */
int ht_decoder_count(struct ht_decoder *d, struct ht_counts *out);
void ht_counts_free(struct ht_counts *c);

#endif
