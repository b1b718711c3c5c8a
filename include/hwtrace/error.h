/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Errors: one list of codes, and the detail that a person needs to act on one.
 *
 * Functions return >= 0 on success and -HT_E... on failure.  A function that
 * reads outside data also takes a `struct ht_diag`, filled in on failure only;
 * NULL is accepted everywhere.  Libraries never print and never exit.
 *
 * What holds in all headers, unless said otherwise: pointers that are passed in
 * are borrowed for the call; results are written on success only; a _free() or
 * _close() takes NULL; strings end in 0 and are never NULL in results.  A
 * configuration begins with `size`, which is its sizeof (-HT_EINVAL where it is
 * less): 0 in any other member asks for the default.  One object is used by one
 * thread at a time.
 */
#ifndef HWTRACE_ERROR_H
#define HWTRACE_ERROR_H

#include <stddef.h>
#include <stdint.h>

#define HT_ERRORS(X)                                      \
	X(NOMEM, "out of memory")                         \
	X(IO, "input/output error")                       \
	X(INVAL, "invalid argument")                      \
	X(FORMAT, "malformed input")                      \
	X(TRUNCATED, "input ends early")                  \
	X(UNSUPPORTED, "not supported")                   \
	X(NOTFOUND, "not found")                          \
	X(MISMATCH, "does not match what was recorded")   \
	X(PERM, "permission denied")                      \
	X(LIMIT, "a limit was reached")                   \
	X(CHILD, "the program could not be run")

enum ht_error {
	HT_OK = 0,
#define HT_ERROR_ENUM(name, text) HT_E##name,
	HT_ERRORS(HT_ERROR_ENUM)
#undef HT_ERROR_ENUM
	HT_ERROR_COUNT
};

/* What went wrong, where.  Strings are truncated to fit, never overrun. */
struct ht_diag {
	int      error;      /* HT_E..., positive; 0 when nothing was reported */
	int      has_offset; /* offset is meaningful */
	uint64_t offset;     /* byte offset into `file` */
	char     file[256];  /* "" when no file is concerned */
	char     field[64];  /* the field of the format, "" when none */
	char     text[512];  /* what happened, why, what to do next */
};

/* The fixed text of error `err` (positive or negative); never NULL. */
const char *ht_strerror(int err);

/* What to do about errno `err` where a limit of the shell is behind it: "; raise ...", else "". */
const char *ht_limit_hint(int err);

/*
 * Fill `diag` (may be NULL) and return -err, so that failing is one line:
 *	return ht_fail(diag, HT_EFORMAT, path, off, "data.size", "is %llu ...", ...);
 * `file` and `field` may be NULL; `offset` may be HT_NO_OFFSET.
 */
#define HT_NO_OFFSET UINT64_MAX
int ht_fail(struct ht_diag *diag, int err, const char *file, uint64_t offset,
            const char *field, const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));

/*
 * Render `diag` as one line "file: offset 0x..: field: text" into `buf`, which
 * has `size` bytes (at least 1; 1024 hold every line) and is returned.
 */
const char *ht_diag_line(const struct ht_diag *diag, char *buf, size_t size);

#endif
