/* SPDX-License-Identifier: BSD-2-Clause */
/* The blocks that ran in the covered modules, for the formats that know nothing else. */
#ifndef COVERAGE_RUNS_H
#define COVERAGE_RUNS_H

#include "cover.h"

struct segment {
	uint64_t start, end; /* vaddr */
};

struct runs_module {
	const char *path;
	uint64_t    base, end; /* vaddr: of the lowest segment, and past the highest one */
	uint64_t    entry;
	int         fixed;     /* it can be loaded at its own addresses only */
	struct segment *segments; /* sorted */
	size_t      n_segments;
	struct ht_cov_run *runs; /* sorted, apart from each other or overlapping */
	size_t      n_runs;
};

struct runs {
	struct runs_module *modules;
	size_t n;
};

/* Those of covered modules in which something ran. EXIT_OK or, told, EXIT_ERROR. */
int runs_open(struct runs *runs, const struct cover *c, const struct ht_cov_report *r);
void runs_close(struct runs *runs);

#endif
