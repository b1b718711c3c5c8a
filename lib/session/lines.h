/* SPDX-License-Identifier: BSD-2-Clause */
/* What line.c (tables, look-up), line_dwarf.c (rows) and line_function.c (functions, inlining) share. */
#ifndef SESSION_LINES_H
#define SESSION_LINES_H

#include <elfutils/libdw.h>
#include <stdbool.h>

#include <hwtrace/line.h>

#include "session/die.h"
#include "session/package.h"

/* Lines of one file that are among the statements, a bit each. */
struct ht_line_seen {
	uint64_t *at;
	size_t n, cap;
};

struct ht_lines {
	const struct ht_range *text; /* only while the tables are read */
	uint32_t               n_text;
	bool all_stmt; /* in the unit at hand all rows are statements */
	uint32_t damaged, split_missing;
	struct { struct ht_line_row *at; size_t n, cap; } rows;
	struct { struct ht_line_function *at; size_t n, cap; } functions;
	struct { struct ht_range *at; size_t n, cap; } ranges;
	struct { struct ht_line_span *at; size_t n, cap; } spans;
	struct { uint64_t *at; size_t n, cap; } statements;
	struct {
		struct ht_line_mark *at;
		size_t n, cap;
	} marks;
	struct {
		struct ht_line_seen *at;
		size_t n, cap;
	} seen; /* by file, only while the tables are read */
	struct { char **at; size_t n, cap; } files;
	uint32_t              *buckets; /* of the names in `files`: index + 1 */
	size_t                 n_buckets;
};

/* One row as a table has it. */
struct ht_line_raw {
	Dwarf_Addr addr;
	uint32_t   file, line;
	bool       stmt, end;
};

/* Where units are: a Dwarf, and the package that it was split into; NULL = none. */
struct ht_line_source {
	Dwarf *dwarf;
	struct ht_package *package;
};

/* The files of one unit. */
struct ht_line_files {
	const char *dir; /* that they are relative to; may be NULL */
	Dwarf_Files *files;
	size_t n, cap;
	uint32_t *number; /* in ht_lines_file(), + 1; 0 = not asked for yet */
};

/* 1 when [start, end) lies in the executable part of the module. */
int ht_lines_in_text(const struct ht_lines *l, uint64_t start, uint64_t end);
/* Number of the file `name`, which is relative to `dir` (may be NULL); HT_LINE_NONE: out of memory. */
uint32_t ht_lines_intern(struct ht_lines *l, const char *dir, const char *name);
/* All return 0 or -HT_ENOMEM. */
int ht_lines_add_statement(struct ht_lines *l, const struct ht_line_raw *r);
int ht_lines_add_mark(struct ht_lines *l, const struct ht_line_raw *r);
/* The row reaches to `end`. */
int ht_lines_add_row(struct ht_lines *l, const struct ht_line_raw *r, uint64_t end, bool stmt);
/* Rows and functions of all units of `source`, a struct ht_line_source. */
int ht_lines_read_dwarf(struct ht_lines *l, void *source);
/* The file with number `no` in the line table at hand; HT_LINE_NONE when there is none, or no memory. */
uint32_t ht_lines_file_number(struct ht_lines *l, struct ht_line_files *files, uint64_t no);
/* Functions of the unit `die`, read with `dies`. */
int ht_lines_read_functions(struct ht_lines *l, struct ht_dies *dies, Dwarf_Die *die, struct ht_line_files *files);
/* Spans from the ranges of all functions. */
int ht_lines_build_spans(struct ht_lines *l);

#endif
