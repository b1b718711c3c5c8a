/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters.  Direct branches are counted in their block; what has no fixed
 * target, and code that was left in the middle of a block, in a table here.
 */
#ifndef DECODE_FLOW_EDGES_H
#define DECODE_FLOW_EDGES_H

#include <hwtrace/flow.h>

#include "decode/flow/graph.h"

/* block: a branch of it to `to`.  NULL: a part of a block, from start to `to`. */
struct ht_edge_slot {
	const struct ht_block *block;
	uint64_t start, to;
	uint64_t count;
	uint32_t insns;
	uint8_t  flags, last_size;
};

struct ht_edges {
	struct ht_edge_slot *slots; /* open addressing; count 0 = free */
	size_t n_slots, used;
};

void ht_edges_fini(struct ht_edges *e);
/* Both: 0 or -HT_ENOMEM. */
int ht_edges_branch(struct ht_edges *e, struct ht_block *b, uint64_t to, unsigned flags, uint64_t count);
int ht_edges_add_part(struct ht_edges *e, const struct ht_event *block, uint64_t count);

/*
 * Everything counted in the blocks of `g` and in `e`, into `out`; the counters
 * start at 0 again.  Adds to *instructions and *branches.
 */
int ht_edges_take(struct ht_edges *e, struct ht_graph *g, struct ht_counts *out, uint64_t *instructions,
                  uint64_t *branches);

#endif
