/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Commands and their options as tables: usage, shell completion and the test
 * of the man pages all come from here.  A command is one file that defines one
 * `const struct command`, and one line in main.c.
 */
#ifndef TOOL_COMMAND_H
#define TOOL_COMMAND_H

#include <stddef.h>
#include <stdint.h>

#include <hwtrace/error.h>

enum opt_type {
	OPT_FLAG,   /* int, set to 1 */
	OPT_STRING, /* const char * */
	OPT_UINT,   /* uint64_t */
	OPT_SIZE,   /* uint64_t bytes; suffix K, M, G */
	OPT_LIST    /* struct opt_list, one entry a use */
};

struct opt_list {
	const char **at; /* NULL-terminated once n > 0 */
	size_t       n;
};

struct opt {
	char          letter;  /* 0 = none */
	const char   *name;    /* long name without dashes */
	const char   *arg;     /* placeholder of the argument, NULL for flags */
	enum opt_type type;
	size_t        offset;  /* of the field in the command's option struct */
	const char   *help;    /* one line, no full stop */
};

#define OPT_END { 0, NULL, NULL, OPT_FLAG, 0, NULL }

struct command {
	const char       *name;
	const char       *args;    /* operands, as in usage */
	const char       *summary; /* one line */
	const struct opt *opts;
	int             (*run)(int argc, char **argv); /* argv[0] is the command's name; returns the exit status */
	int               hidden;
};

enum {
	EXIT_OK = 0,
	EXIT_ERROR = 1,    /* something failed; stderr says what */
	EXIT_USAGE = 64,   /* wrong arguments */
	EXIT_LOSS = 65,    /* --fail-on-loss and something was lost */
	EXIT_RECORD = 125  /* record itself failed; 126, 127: program not executable, not found */
};

/*
 * Parse options of `cmd` into the struct `dest`.  Stops at the first operand or
 * after "--".  Returns the index of the first operand, or -1 after printing
 * what is wrong to stderr, or -2 after printing help to stdout.
 * "--name VALUE" and "--name=VALUE" are the same; flags accept "--no-name"
 * only where the table says so by its own row.
 */
int opts_parse(const struct command *cmd, int argc, char **argv, void *dest);
/* As opts_parse(), but options may stand after operands too; operands are moved to the end of argv. */
int opts_parse_mixed(const struct command *cmd, int argc, char **argv, void *dest);
void opts_usage(const struct command *cmd, void *stream);

/* NULL-terminated. */
extern const struct command *const commands[];

/* "hwtrace: <line of diag>" on stderr; returns EXIT_ERROR. */
int tool_fail(const struct ht_diag *diag);
/* A recording that failed: the same, but returns EXIT_RECORD, or 126 or 127 as a shell would. */
int tool_record_fail(const struct ht_diag *diag);
int tool_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void tool_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
