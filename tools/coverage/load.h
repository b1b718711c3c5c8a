/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports from files: our own JSON, lcov tracefiles, and captures, which are decoded for it. */
#ifndef COVERAGE_LOAD_H
#define COVERAGE_LOAD_H

#include "cover.h"

/* A report that was read.  Only ht_cov_report_merge() puts it in order and sums it up. */
struct loaded {
	struct ht_cov_report report;
	struct { struct ht_cov_module *at; size_t n, cap; } modules;
	struct { struct ht_cov_file *at; size_t n, cap; } files;
	struct { struct ht_cov_function *at; size_t n, cap; } functions;
	struct { struct ht_cov_branch *at; size_t n, cap; } branches;
	struct { struct ht_cov_line *at; size_t n, cap; } lines; /* of all files, one file after the other */
	struct { char **at; size_t n, cap; } strings;
	void *json;
	struct ht_cov_report *whole; /* of a capture: the report itself */
	int   software;
};

/* A zeroed item at the end of one of the tables; NULL: out of memory. */
void *load_grow(void **at, size_t *n, size_t *cap, size_t item);
#define LOAD_PUSH(v) load_grow((void **)&(v)->at, &(v)->n, &(v)->cap, sizeof(*(v)->at))
/* A copy that lives as long as `l`; NULL: out of memory. */
const char *load_string(struct loaded *l, const char *s, size_t len);

/* How captures among the files are read. */
struct load_opts {
	struct input_opts input;
	struct opt_list modules, source_map;
	int all_modules, all_functions;
};

#define LOAD_OPTS(type, member)                                                                          \
	{ 0, "module", "GLOB", OPT_LIST, offsetof(type, member.modules),                                 \
	  "of captures: the modules whose path or base name matches" },                                  \
	{ 0, "all-modules", NULL, OPT_FLAG, offsetof(type, member.all_modules),                          \
	  "of captures: the system's libraries too" },                                                   \
	{ 0, "all-functions", NULL, OPT_FLAG, offsetof(type, member.all_functions),                      \
	  "of captures: functions without lines too" },                                                  \
	{ 0, "source-map", "OLD=NEW", OPT_LIST, offsetof(type, member.source_map),                       \
	  "sources under OLD are found under NEW" },                                                     \
	{ 0, "symfs", "DIR", OPT_STRING, offsetof(type, member.input.symfs),                             \
	  "look for recorded files under DIR first" },                                                   \
	{ 0, "engine", "NAME", OPT_STRING, offsetof(type, member.input.engine),                          \
	  "decode with this engine: " INPUT_ENGINES },                                                   \
	{ 0, "ignore-build-id", NULL, OPT_FLAG, offsetof(type, member.input.ignore_build_id),            \
	  "use a file although it is not the one that was recorded" },                                   \
	{ 0, "debuginfod", NULL, OPT_FLAG, offsetof(type, member.input.debuginfod),                      \
	  "ask the servers of DEBUGINFOD_URLS for files that are not here" }

/* All of `paths` into one report, to be freed by ht_cov_report_free(); EXIT_OK or, told, another status. */
int load_merged(const struct load_opts *o, char **paths, int n, struct cover *c, struct ht_cov_report **out);

/* By format; EXIT_OK or EXIT_ERROR.  `l` is zeroed before and to be given to loaded_free() in any case. */
int load_json(const char *path, struct loaded *l);
int load_lcov(const char *path, struct loaded *l);
int load_json_sources(const struct loaded *l, struct cover *c);
void load_json_free(void *json);
void loaded_free(struct loaded *l);
/* Hand the tables out when all was read. */
void loaded_finish(struct loaded *l);

#endif
