/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The code graph: code bytes are decoded once, into blocks.
 *
 * A block is straight-line code from the address where it was entered up to and
 * with its first branch.  Blocks are interned by start address and mode, so
 * blocks may overlap (one entered in the middle of another is a block of its
 * own), and an address always names the same block.  A block links to the blocks
 * that follow it; a link is looked up when it is first used.
 *
 * The graph belongs to one address space.  When code changes, the blocks that
 * lie on the changed bytes are unlinked and marked dead; their memory stays until
 * the graph goes, so that a pointer to a block never dangles.
 */
#ifndef DECODE_FLOW_GRAPH_H
#define DECODE_FLOW_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include <hwtrace/event.h>
#include <hwtrace/session.h>

/* How a block ends. */
enum ht_block_end {
	HT_END_BRANCH = 0,
	HT_END_LONG,     /* straight on: cut because it grew too long */
	HT_END_NO_CODE,  /* the bytes at `next` are missing */
	HT_END_BAD_CODE, /* no instruction begins at `next` */
	HT_END_DEAD      /* the code changed; look the address up again */
};

struct ht_block {
	uint64_t start;     /* first instruction */
	uint64_t last;      /* last instruction; meaningless when insns is 0 */
	uint64_t next;      /* the address behind the last instruction */
	uint64_t target;    /* COND, JUMP, CALL */
	struct ht_block *to_next, *to_target; /* NULL = not looked up yet */
	uint32_t insns;
	uint32_t state;     /* of the memo: that of a place in front of this block; 0 = none yet */
	uint8_t  insn;      /* enum ht_insn_class of the last instruction */
	uint8_t  last_size; /* bytes of the last instruction */
	uint8_t  mode;      /* 16, 32, 64 */
	uint8_t  end;       /* enum ht_block_end */
	uint32_t pushes;    /* of a call: the context of its return address alone; 0 = not looked up yet */
	/* When counting: the last instruction branched to `target`, or went on to `next`. */
	uint64_t taken, passed;
};

/* Code bytes at `addr`: returns how many of `size` are there. */
typedef size_t ht_code_read(void *arg, uint64_t addr, void *buf, size_t size);

/* The address stands here, too: to pass by another block, it need not be looked at. */
struct ht_graph_slot {
	uint64_t         start;
	struct ht_block *block; /* NULL = free */
};

struct ht_graph {
	ht_code_read     *read;
	void             *arg;
	struct ht_block **pages;   /* HT_GRAPH_PAGE blocks each */
	uint32_t          n_blocks, n_pages;
	struct ht_graph_slot *slots; /* open addressing, by start address and mode */
	size_t            n_slots, used;
};

void ht_graph_init(struct ht_graph *g, ht_code_read *read, void *arg);
void ht_graph_fini(struct ht_graph *g);

/* The block that starts at `ip`; NULL when out of memory. Never of end DEAD. */
struct ht_block *ht_graph_block(struct ht_graph *g, uint64_t ip, unsigned mode);
/* Successors; NULL when out of memory. */
struct ht_block *ht_graph_next(struct ht_graph *g, struct ht_block *b);
struct ht_block *ht_graph_target(struct ht_graph *g, struct ht_block *b);

/*
 * Walk `b` up to the instruction at `ip`.  Returns how many instructions stand
 * before it (with *last the last one of them and *size its bytes), or -1 when no
 * instruction of the block starts there.  `ip` == b->next counts for blocks
 * that do not end in a branch.
 */
int64_t ht_graph_split(struct ht_graph *g, const struct ht_block *b, uint64_t ip, uint64_t *last,
                       uint8_t *size);

/* Block number `i` of n_blocks, dead ones included. */
struct ht_block *ht_graph_at(const struct ht_graph *g, uint32_t i);

/* The code in `ranges`, sorted and apart, changed; n == 0: anything may have.  Returns the number of blocks dropped. */
uint32_t ht_graph_invalidate(struct ht_graph *g, const struct ht_range *ranges, uint32_t n);

#endif
