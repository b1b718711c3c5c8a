/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines: which source line each instruction of a module stands for, which
 * functions there are, and what was inlined into what.  Read once from DWARF;
 * plain tables sorted by address, so that a consumer walks them beside the code.
 */
#ifndef HWTRACE_LINE_H
#define HWTRACE_LINE_H

#include <stddef.h>
#include <stdint.h>

#include <hwtrace/error.h>
#include <hwtrace/session.h>

struct ht_lines;

#define HT_LINE_NONE UINT32_MAX

/*
 * One row: the instructions in [start, end) stand for `line` of `file`.  Rows
 * are sorted, do not overlap and are not empty.
 */
struct ht_line_row {
	uint64_t start, end; /* vaddr */
	uint32_t file;       /* see ht_lines_file() */
	uint32_t line;       /* from 1; 0 = code that no line of the source stands for */
	uint8_t  is_stmt;    /* the compiler recommends this place for the statement */
};

/*
 * A statement begins at `addr`, whose instruction a row of another line owns:
 * what is left of it lies elsewhere, as the set-up of a loop does.
 */
struct ht_line_mark {
	uint64_t addr; /* vaddr */
	uint32_t file, line;
};

/* One place where the code of a function is: out of line, or one inlined copy of it. */
struct ht_line_function {
	const char *name;    /* as in the source; "" when nameless */
	const char *linkage; /* mangled, NULL when there is none */
	const void *origin;  /* equal in all copies of one function, and nothing else */
	uint32_t    file, line;           /* of the declaration; HT_LINE_NONE and 0 when not known */
	uint32_t    parent;               /* inlined into this one (index); HT_LINE_NONE = out of line */
	uint32_t    call_file, call_line; /* of the call that was replaced, when inlined */
	uint64_t    entry;                /* vaddr of the first instruction */
	uint32_t    first_range, n_ranges; /* in ht_lines_ranges() */
};

/* [start, end) belongs to `function` and to no function inlined there. */
struct ht_line_span {
	uint64_t start, end;
	uint32_t function;
};

/*
 * Read the tables of `dwarf` (a Dwarf *, borrowed until close).  What lies
 * outside of `text` is left out, as the rows of discarded sections are.  Damaged
 * units are left out as well: see ht_lines_damaged().
 * Errors: HT_ENOMEM, HT_ENOTFOUND (no line table at all).
 */
int ht_lines_open(void *dwarf, const struct ht_range *text, uint32_t n_text,
                  struct ht_lines **out, struct ht_diag *diag);
/* The same for a module, from its DWARF or its jitdump, which have the session's life. */
int ht_module_lines(struct ht_module *m, struct ht_lines **out, struct ht_diag *diag);
void ht_lines_close(struct ht_lines *l);

/* Tables, and what they point to: life until close; *n may be 0. */
const struct ht_line_row *ht_lines_rows(const struct ht_lines *l, size_t *n);
const struct ht_line_function *ht_lines_functions(const struct ht_lines *l, uint32_t *n);
const struct ht_range *ht_lines_ranges(const struct ht_lines *l);
const struct ht_line_span *ht_lines_spans(const struct ht_lines *l, size_t *n);
/*
 * Lines of `file` that the compiler marked as statements, sorted, as
 * (file << 32 | line); those that own no instruction any more included.
 */
const uint64_t *ht_lines_statements(const struct ht_lines *l, size_t *n);

/* Sorted by address, then file and line; each once. */
const struct ht_line_mark *ht_lines_marks(const struct ht_lines *l, size_t *n);

/* Absolute, "." and ".." resolved by name; the file need not exist. NULL when out of range. */
const char *ht_lines_file(const struct ht_lines *l, uint32_t file);
uint32_t ht_lines_file_count(const struct ht_lines *l);
/* Compilation units whose tables could not be read. */
uint32_t ht_lines_damaged(const struct ht_lines *l);
/* Units whose split half (.dwo) was not found: their functions are not among these. */
uint32_t ht_lines_split_missing(const struct ht_lines *l);

/* Row and innermost function at `vaddr`; NULL when there is none.  Life: until close. */
const struct ht_line_row *ht_lines_find(const struct ht_lines *l, uint64_t vaddr);
const struct ht_line_function *ht_lines_function_at(const struct ht_lines *l, uint64_t vaddr);

/* One level of an inline chain. */
struct ht_line_frame {
	const char *function; /* NULL when not known */
	const char *file;     /* NULL when not known */
	uint32_t    line;
};

/*
 * The inline chain at `vaddr`, innermost first: each frame's line is where the
 * frame before it was called.  Returns how many frames are in `out` (0..max), whose
 * strings live until close.
 */
size_t ht_lines_chain(const struct ht_lines *l, uint64_t vaddr, struct ht_line_frame *out, size_t max);

#endif
