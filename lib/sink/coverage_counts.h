/* SPDX-License-Identifier: BSD-2-Clause */
/* What the counting half of coverage hands to the reporting half. */
#ifndef SINK_COVERAGE_COUNTS_H
#define SINK_COVERAGE_COUNTS_H

#include <hwtrace/coverage.h>

/* Counters under a pair of addresses.  `n` is 0 in an empty slot. */
struct cov_slot {
	uint64_t a, b;
	uint64_t count, taken, not_taken;
	uint32_t n;     /* blocks: instructions; else 1 */
	uint32_t where; /* hot table only: number in cov.wheres */
};

struct cov_table {
	struct cov_slot *slots;
	size_t           size, used; /* size is 0 or a power of two */
};

void cov_table_fini(struct cov_table *t);
void cov_table_clear(struct cov_table *t);
/* The slot of (a, b), NULL when there is none. */
struct cov_slot *cov_table_find(const struct cov_table *t, uint64_t a, uint64_t b);
/* The same, made when needed with counters of 0 and n = 0: the caller sets n. NULL: out of memory. */
struct cov_slot *cov_table_add(struct cov_table *t, uint64_t a, uint64_t b);

/* Loop over the slots in use. */
#define COV_EACH(s, t)                                                                       \
	for (struct cov_slot *s = (t)->slots; s && s < (t)->slots + (t)->size; s++)          \
		if (s->n)

struct cov_ranges {
	struct ht_range *at;
	size_t n, cap;
};
int cov_range_order(const void *a, const void *b);

struct cov_module {
	struct ht_module *handle;
	char             *path;
	uint8_t           build_id[HT_BUILD_ID_MAX];
	uint8_t           build_id_size;
	struct cov_table  blocks;   /* (first, last) */
	struct cov_table  branches; /* (address, 0) */
	struct cov_table  gaps;     /* (address, 0) */
	struct cov_table targets;   /* (indirect branch, cov_target()) */
	uint64_t          executed;
	uint8_t lost;                 /* trace was lost in a process that had it mapped */
	struct cov_ranges torn;       /* vaddr, sorted, apart: blocks that killed threads may have run */
	uint8_t captured;             /* a session was added that has it */
	struct cov_ranges unrecorded; /* vaddr, sorted, apart: what none of them recorded */
};

/* A stretch of an address space: module, and vaddr - address. */
struct cov_where {
	int      module; /* -1 = none */
	uint64_t delta;
};

struct ht_coverage {
	struct { struct cov_module *at; size_t n, cap; } modules;
	struct cov_table handles; /* (struct ht_module *, 0) -> count = module number */
	uint64_t gaps, unresolved;

	/* the stream at hand */
	struct ht_view  *view;
	uint64_t         generation;
	struct cov_table hot; /* (first, last) as in the address space */
	struct cov_table
	    hot_targets; /* (from, to) likewise; `not_taken` = number in wheres of `to` */
	struct { struct cov_where *at; size_t n, cap; } wheres;
	uint64_t         last;      /* last address known; 0 = none */
	int              after_gap; /* the next block is the first after a gap */
	int torn;                   /* it has a gap */
};

/*
 * A place that an indirect branch went to, in one number: which module of the
 * same struct ht_coverage, -1 = none, and the low 48 bits of its vaddr, which
 * tell all of it.
 */
static inline uint64_t
cov_target(int module, uint64_t vaddr)
{
	return (uint64_t)(uint16_t)(module + 1) << 48 | (vaddr & 0xffffffffffffull);
}

static inline int
cov_target_module(uint64_t target)
{
	return (int)(target >> 48) - 1;
}

static inline uint64_t
cov_target_vaddr(uint64_t target)
{
	return (uint64_t)((int64_t)(target << 16) >> 16);
}

/* coverage_doubt.c: bits of enum ht_cov_doubt for code at `vaddr` that was not seen. */
uint8_t cov_doubt(const struct cov_module *m, uint64_t vaddr);
/* Note what a capture that has the module left out of it. 0 or -HT_ENOMEM. */
int cov_unrecorded_add(struct cov_module *m, const struct cov_ranges *unrecorded);
/* A thread was killed in front of the block at `ip`, or in it. 0 or -HT_ENOMEM. */
int cov_note_block(struct ht_coverage *c, struct ht_view *view, uint64_t ip);
/* Note all torn blocks of `from`. 0 or -HT_ENOMEM. */
int cov_torn_add(struct cov_module *m, const struct cov_ranges *from);
/* The same for all modules of a session. */
int cov_note_limits(struct ht_coverage *c, struct ht_session *s);

#endif
