/* SPDX-License-Identifier: BSD-2-Clause */
/* The coverage commands in parts: counting, and one file a format of the report. */
#ifndef COVERAGE_COVER_H
#define COVERAGE_COVER_H

#include <stdio.h>

#include <hwtrace/coverage.h>

#include "filter.h"
#include "loss.h"

/* What a report is made from. */
struct cover {
	struct ht_coverage *counts; /* NULL when the report was read from reports */
	struct input       *inputs; /* stay open until the report was written */
	size_t              n_inputs;
	struct filter       filter;   /* of the capture at hand; zeros: all counts */
	struct loss         loss;
	int                 software; /* one of the captures is by the software trace unit */
	int                 decoded;  /* captures that were decoded here */
	unsigned            jobs;     /* threads that decode; 0 = one for each processor */
	char              **sources;  /* files that it was made from; of reports, what those were made from */
	size_t              n_sources;
};

/* sources.c: take note of a file; EXIT_OK or EXIT_ERROR. */
int cover_add_source(struct cover *c, const char *path);
/* In an order that does not depend on that of the command line. */
void cover_sort_sources(struct cover *c);
void cover_free_sources(struct cover *c);

/*
 * The formats: one row each.  X(name, option, help); cover_write_NAME() writes
 * it to a file, or with "-" to standard output, in place of the report.
 */
#define COVER_FORMATS(X)                                                                         \
	X(lcov, "lcov", "write an lcov tracefile too, for genhtml and CI systems")               \
	X(lcov2, "lcov2", "the same with the function records of lcov 2")                        \
	X(json, "json", "write all that is known as JSON too")                                   \
	X(gcovr, "gcovr-json", "write JSON that gcovr reads and merges")                         \
	X(cobertura, "cobertura", "write Cobertura XML, for CI systems and diff-cover")          \
	X(sqlite, "sqlite", "write a database of modules, files, functions, lines and branches") \
	X(drcov, "drcov", "write the blocks that ran as drcov, version 2")                       \
	X(drcov3, "drcov3", "write the blocks that ran as drcov, version 3")                     \
	X(blocks, "blocks", "write the blocks that ran as lines of module+offset")               \
	X(ezcov, "ezcov", "write the blocks of the one module that is covered as EZCOV")         \
	X(afl, "afl-map", "write the edges between blocks as AFL's map of 65,536 counters")

#define COVER_WRITER(name, option, help) \
	int cover_write_##name(const char *path, const struct cover *c, const struct ht_cov_report *r);
COVER_FORMATS(COVER_WRITER)
#undef COVER_WRITER

enum {
#define COVER_INDEX(name, option, help) COVER_##name,
	COVER_FORMATS(COVER_INDEX)
#undef COVER_INDEX
	COVER_FORMAT_COUNT
};

/* What is written, and where: options that every command with a report has. */
struct report_opts {
	const char *output, *html, *formats[COVER_FORMAT_COUNT];
	int files, functions, uncovered, calls, source;
	const char *fail_line, *fail_branch, *fail_function;
};

#define REPORT_OPTS(type, member)                                                                       \
	{ 'o',                                                                                          \
	  "output",                                                                                     \
	  "FILE",                                                                                       \
	  OPT_STRING,                                                                                   \
	  offsetof(type, member.output),                                                                \
	  "write the report here instead of to standard output" },                                      \
	    { 0,                                                                                        \
	      "html",                                                                                   \
	      "DIR",                                                                                    \
	      OPT_STRING,                                                                               \
	      offsetof(type, member.html),                                                              \
	      "write a folder of pages too, to be read in a browser: DIR/index.html" },                 \
	    { 0, "files", NULL, OPT_FLAG, offsetof(type, member.files), "table of files" },             \
	    { 0, "functions", NULL, OPT_FLAG, offsetof(type, member.functions), "table of functions" }, \
	    { 0,                                                                                        \
	      "uncovered",                                                                              \
	      NULL,                                                                                     \
	      OPT_FLAG,                                                                                 \
	      offsetof(type, member.uncovered),                                                         \
	      "list what did not run: line ranges, branches that went one way" },                       \
	    { 0,                                                                                        \
	      "source",                                                                                 \
	      NULL,                                                                                     \
	      OPT_FLAG,                                                                                 \
	      offsetof(type, member.source),                                                            \
	      "the source with counts beside it; ##### did not run" },                                  \
	    { 0,                                                                                        \
	      "fail-under-line",                                                                        \
	      "N",                                                                                      \
	      OPT_STRING,                                                                               \
	      offsetof(type, member.fail_line),                                                         \
	      "exit with status 2 when less than N per cent of lines ran" },                            \
	    { 0,                                                                                        \
	      "fail-under-branch",                                                                      \
	      "N",                                                                                      \
	      OPT_STRING,                                                                               \
	      offsetof(type, member.fail_branch),                                                       \
	      "the same with status 4 for branch outcomes" },                                           \
	{                                                                                               \
		0, "fail-under-function", "N", OPT_STRING, offsetof(type, member.fail_function),        \
		    "the same with status 16 for functions; statuses add up"                            \
	}

/* Are the numbers of the options numbers?  EXIT_OK or EXIT_USAGE. */
int cover_check_thresholds(const struct report_opts *o, const char *command);
/* Is each of them OLD=NEW? */
int cover_check_source_map(const struct opt_list *map, const char *command);
/* The bits of what was missed, each told; 0 when nothing was. */
int cover_thresholds(const struct report_opts *o, const struct ht_cov_report *r);

/*
 * Tells which modules were not found as they were recorded.  EXIT_ERROR where that leaves
 * nothing to report on, else EXIT_OK.
 */
int cover_tell_missing(const struct ht_cov_report *r);

/* report.c: all that the options ask for; EXIT_OK or EXIT_ERROR. */
/* A place that two reports are to be written to, or NULL. */
const char *cover_shared_place(const struct report_opts *o);
/*
 * Is none of the places, nor `append` (NULL = none), a file that the report is
 * made from?  EXIT_OK or, told, EXIT_ERROR.
 */
int cover_spare_inputs(const struct report_opts *o, const char *append, const struct input_opts *in,
                       char **paths, int n);
int cover_write_report(const struct report_opts *o, const struct cover *c, const struct ht_cov_report *r);

/* count.c: decode every stream of in->container into c->counts; EXIT_OK or EXIT_ERROR. */
int cover_count(struct cover *c, struct input *in);
/* What `f` (NULL = all) lets pass of `n` captures, or with 0 the one that the options name; to be closed in any case. */
int cover_open_inputs(struct cover *c, const struct input_opts *o, const struct filter_opts *f, char **paths,
                      int n);
void cover_close_inputs(struct cover *c);

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
void cover_print_calls(FILE *f, const struct ht_cov_report *r);
/* "call", "indirect call", "indirect jump". */
const char *cover_site_kind(const struct ht_cov_site *s);

/* sqlite.c: the same as --sqlite, but the runs that are there stay. */
int cover_append_sqlite(const char *path, const struct cover *c, const struct ht_cov_report *r);

/* "hit", "not hit", "unknown". */
const char *cover_state(unsigned state);
/* enum ht_cov_state of one of a branch's two outcomes. */
unsigned cover_outcome(const struct ht_cov_branch *b, int taken);
/* How the functions of a module were found, in words. */
const char *cover_found_by(unsigned source);

/* html.c: the folder of pages; EXIT_OK or EXIT_ERROR, which is told. */
int cover_write_html(const char *dir, const struct cover *c, const struct ht_cov_report *r);

/* out.c: a file to write, "-" = standard output.  NULL and EXIT_ERROR say on stderr what is wrong. */
FILE *cover_open(const char *path);
int cover_close(FILE *f, const char *path);

#endif
