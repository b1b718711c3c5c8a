/* SPDX-License-Identifier: BSD-2-Clause */
/* What the dialects of lcov tracefiles share. */
#ifndef COVERAGE_LCOV_H
#define COVERAGE_LCOV_H

#include "cover.h"
#include "names.h"

struct lcov_dialect {
	/* Writes the records of functions [first, end) of the report, which are those of `file`. */
	void (*functions)(struct lcov_dialect *d, FILE *f, const struct ht_cov_report *r,
	                  const struct ht_cov_file *file, uint32_t first, uint32_t end);
	/* Are the branches of this line told?  NULL = all are. */
	int (*branches)(const struct ht_cov_report *r, const struct ht_cov_line *l);
	struct names names;
	uint32_t     left_out; /* functions that the dialect cannot tell of */
};

int lcov_write(const char *path, const struct ht_cov_report *r, struct lcov_dialect *d);

static inline const char *
lcov_name(const struct ht_cov_function *fn)
{
	return fn->linkage ? fn->linkage : fn->name;
}

#endif
