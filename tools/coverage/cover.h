/* SPDX-License-Identifier: BSD-2-Clause */
/* The coverage command in parts: counting, and one file a format of the report. */
#ifndef COVERAGE_COVER_H
#define COVERAGE_COVER_H

#include <stdio.h>

#include <hwtrace/coverage.h>

#include "input.h"
#include "loss.h"

struct cover_opts {
	struct input_opts input;
	struct opt_list modules, include, exclude;
	int all_modules, all_functions;
	const char *output, *lcov, *json, *trace, *backend;
	int files, functions, uncovered, source;
	int no_inherit, fail_on_loss;
};

/* What a report is made from. */
struct cover {
	struct ht_coverage *counts;
	struct input       *inputs; /* stay open until the report was written */
	size_t              n_inputs;
	struct loss         loss;
	int                 software; /* one of the captures is by the software trace unit */
};

/* count.c: decode every stream of in->container into c->counts; EXIT_OK or EXIT_ERROR. */
int cover_count(struct cover *c, struct input *in);

/* "branches exact, times emulated", or NULL for a capture by hardware. */
const char *cover_label(const struct cover *c);
/* `path` as seen from the working folder. */
const char *cover_path(const char *path);

/* table.c, list.c: text on `f`. */
void cover_print_summary(FILE *f, const struct cover *c, const struct ht_cov_report *r);
void cover_print_files(FILE *f, const struct ht_cov_report *r);
void cover_print_functions(FILE *f, const struct ht_cov_report *r);
void cover_print_uncovered(FILE *f, const struct ht_cov_report *r);
void cover_print_source(FILE *f, const struct ht_cov_report *r);

/* lcov.c, json.c: EXIT_OK or EXIT_ERROR. */
int cover_write_lcov(const char *path, const struct ht_cov_report *r);
int cover_write_json(const char *path, const struct cover *c, const struct ht_cov_report *r);

#endif
