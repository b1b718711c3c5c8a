/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Building a report.  Modules are walked one after the other; what is found goes
 * into flat records with numbers of files and functions that hold for the whole
 * report, and is sorted and summed up at the end.
 */
#ifndef SINK_COVERAGE_BUILD_H
#define SINK_COVERAGE_BUILD_H

#include "sink/coverage_code.h"

/* How a record knows that its line ran. */
enum cov_place {
	COV_CODE,     /* code that belongs to the line and may run without it */
	COV_MARK,     /* its statement begins at an instruction of another line */
	COV_STATEMENT, /* code that is marked as the statement's place */
	COV_HEAD      /* the function was entered; there need be no code for its head */
};

/* What one copy of a function says of one line. */
struct cov_line_rec {
	uint32_t file, line, function, copy;
	uint64_t count;  /* the most that one of its instructions ran */
	uint8_t place;   /* enum cov_place */
	uint8_t doubt;
};

/* Lines that marks in the source take out of the report: sorted ranges, ends included. */
struct cov_mark_range {
	uint32_t first, last;
};
struct cov_mark_list { struct cov_mark_range *at; size_t n, cap; };
struct cov_marks {
	struct cov_mark_list lists[2]; /* of lines; of branches alone */
};

struct cov_builder {
	struct ht_cov_report r; /* what is handed out; must stay first */
	const struct ht_cov_config *config;
	struct { struct ht_cov_module *at; size_t n, cap; } modules;
	struct { struct ht_cov_file *at; size_t n, cap; } files;
	struct { struct cov_marks *at; size_t n, cap; } marks; /* of each file, by its first number */
	struct { struct ht_cov_function *at; size_t n, cap; } functions;
	struct { struct ht_cov_branch *at; size_t n, cap; } branches;
	struct {
		struct ht_cov_site *at;
		size_t n, cap;
	} sites;
	struct {
		struct ht_cov_target *at;
		size_t n, cap;
	} targets;
	struct { struct ht_cov_line *at; size_t n, cap; } lines;
	struct { struct cov_line_rec *at; size_t n, cap; } recs;
	struct { char **at; size_t n, cap; } strings; /* owned by the report */
	struct cov_table file_ids;     /* (hash, n-th with this hash) -> count */
	struct cov_table function_ids;
	uint32_t copies; /* numbers given to copies of functions */
	int merging; /* reports: files without lines stay, since functions are known by their file */
};

/* A string of the report's own; NULL: out of memory. */
const char *cov_string(struct cov_builder *b, const char *s);
/* Number of the file; HT_COV_NONE: out of memory. */
uint32_t cov_file(struct cov_builder *b, const char *path);
/* Number of the function with this identity, made when needed; HT_COV_NONE: out of memory. */
uint32_t cov_function(struct cov_builder *b, const struct ht_cov_function *wanted);

/* coverage_module.c: all of one module into records. 0 or -HT_ENOMEM. */
int cov_build_module(struct cov_builder *b, const struct ht_coverage *c, uint32_t number);
/* coverage_sum.c: records into sorted tables and tallies. 0 or -HT_ENOMEM. */
int cov_build_sum(struct cov_builder *b);
/* Hand the tables out: fills in the report. */
void cov_build_finish(struct cov_builder *b);
/*
 * coverage_marks.c: read the marks of the source `path`; none when it cannot be
 * read.  *unclosed is the line of a range without end, 0 when all have one.
 */
int cov_marks_read(struct cov_marks *m, const char *path, uint32_t *unclosed);
void cov_marks_fini(struct cov_marks *m);
int cov_line_marked(const struct cov_marks *m, uint32_t line);
int cov_branches_marked(const struct cov_marks *m, uint32_t line);
/* coverage_choose.c: sets `chosen` of each module. */
void cov_choose(struct cov_builder *b, const struct ht_coverage *c);
/* 1 when `path` belongs to the system, not to the user's program. */
int cov_system_module(const char *path);
/* 1 when the source `path` is part of the report. */
int cov_source_wanted(const struct ht_cov_config *config, const char *path);

static inline void
cov_tally_add(struct ht_cov_tally *t, int state)
{
	t->all++;
	t->hit += state == HT_COV_HIT;
	t->unknown += state == HT_COV_UNKNOWN;
}

/* Counts stop at the largest number, whatever the order of adding. */
static inline uint64_t
cov_add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static inline uint8_t
cov_state(uint64_t count, unsigned doubt)
{
	return count ? HT_COV_HIT : doubt ? HT_COV_UNKNOWN : HT_COV_NOT_HIT;
}

/*
 * Doubt about a thing of several parts.  In one report any part counts; of
 * several reports on one thing, those that did not record it are silent.
 */
static inline uint8_t
cov_doubts(const struct cov_builder *b, uint8_t x, uint8_t y)
{
	return (uint8_t)(b->merging ? ((x | y) & HT_COV_LOST) | (x & y & HT_COV_UNRECORDED)
	                            : x | y);
}

#endif
