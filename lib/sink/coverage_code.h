/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The code of one module with its counts by instruction: blocks expanded, the
 * bounds of functions, and the walk over all of the code, run or not.
 */
#ifndef SINK_COVERAGE_CODE_H
#define SINK_COVERAGE_CODE_H

#include "sink/coverage_counts.h"

#include <hwtrace/insn.h>
#include <hwtrace/line.h>

/* A function's place. Sorted, apart. */
struct cov_bound {
	uint64_t    start, end;
	const char *name; /* NULL when it has none */
};

struct cov_code {
	const struct cov_module *counts;
	struct ht_module *module;
	enum ht_arch      arch;
	struct cov_table  pages; /* (vaddr >> 12, 0) -> count = pointer to struct cov_page */
	struct cov_page  *last_page;
	uint64_t          last_number;
	uint64_t          executed;
	enum ht_cov_source source;
	struct { struct cov_bound *at; size_t n, cap; } bounds;
	struct { struct ht_range *at; size_t n, cap; } plt; /* linkage stubs: nobody's source */
	struct { uint64_t *at; size_t n, cap; } numbers; /* of the pages, sorted */
};

/* The bound that holds `vaddr`, NULL when there is none. */
struct cov_bound *cov_code_bound(struct cov_code *code, uint64_t vaddr);

/* One instruction of a function. */
struct cov_insn {
	uint64_t addr;
	struct ht_insn x;
	uint64_t count, taken, not_taken;
};
struct cov_insns {
	struct cov_insn *at;
	size_t n, cap;
};
/* Addresses that jumps lead to. */
struct cov_leads {
	uint64_t *at;
	size_t n, cap;
};
int cov_address_order(const void *a, const void *b);

/* Expand the counts of `m`. 0 or -HT_ENOMEM. */
int cov_code_init(struct cov_code *code, const struct cov_module *m);
void cov_code_fini(struct cov_code *code);
/* Executions of the instruction at `vaddr`. */
uint64_t cov_code_count(const struct cov_code *code, uint64_t vaddr);
/* Did anything in `b` run? */
int cov_code_ran(struct cov_code *code, const struct cov_bound *b);
/* Find the functions; `lines` may be NULL. 0 or -HT_ENOMEM. */
int cov_code_find_bounds(struct cov_code *code, const struct ht_lines *lines);
/*
 * The instructions of `b` into `out`, in order.  What ran is taken as it ran; the
 * rest is decoded from one to the next.  Bytes that are no code, and padding that
 * nothing leads to, are passed over.  0 or -HT_ENOMEM.
 */
int cov_code_read(struct cov_code *code, const struct cov_bound *b, struct cov_insns *out);

/* Function bounds of .eh_frame, sorted, appended to `out`. 0 or -HT_ENOMEM. */
int cov_unwind_ranges(struct ht_module *m, struct cov_ranges *out);

#endif
