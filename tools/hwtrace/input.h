/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a reading command reads: a capture file, or a raw capture in parts, and
 * the session over it.  The options are the same for every such command: put
 * `struct input_opts` into the command's option struct and INPUT_OPTS into its
 * table.
 */
#ifndef TOOL_INPUT_H
#define TOOL_INPUT_H

#include <hwtrace/container.h>
#include <hwtrace/decoder.h>
#include <hwtrace/session.h>

#include "command.h"
#include "progress.h"

#define INPUT_DEFAULT "perf.data"

struct input_opts {
	const char *file;
	const char *pt, *pages, *map, *elf;
	const char *symfs;
	const char *engine;
	int         ignore_build_id;
	int         debuginfod;
	const char
	    *own; /* no option: the command that was just recorded; its file is no one's business */
};

/* Rows of an option table; `type` is the command's option struct, `member` its struct input_opts. */
#define INPUT_OPTS(type, member)                                                                     \
	{ 'i', "input", "FILE", OPT_STRING, offsetof(type, member.file),                             \
	  "capture to read (default: " INPUT_DEFAULT ")" },                                          \
	{ 0, "pt", "FILE", OPT_STRING, offsetof(type, member.pt), "raw capture: Intel PT bytes" },   \
	{ 0, "pages", "FILE", OPT_STRING, offsetof(type, member.pages), "raw capture: code bytes" }, \
	{ 0, "map", "FILE", OPT_STRING, offsetof(type, member.map),                                  \
	  "raw capture: lines of address, size, offset into the pages" },                            \
	{ 0, "elf", "FILE@BASE", OPT_STRING, offsetof(type, member.elf),                             \
	  "raw capture: ELF file loaded at BASE" },                                                  \
	{ 0, "symfs", "DIR", OPT_STRING, offsetof(type, member.symfs),                               \
	  "look for recorded files under DIR first" },                                               \
	{ 0, "engine", "NAME", OPT_STRING, offsetof(type, member.engine),                            \
	  "decode with this engine: " INPUT_ENGINES },                                               \
	{ 0, "ignore-build-id", NULL, OPT_FLAG, offsetof(type, member.ignore_build_id),              \
	  "use a file although it is not the one that was recorded" },                               \
	{ 0, "debuginfod", NULL, OPT_FLAG, offsetof(type, member.debuginfod),                        \
	  "ask the servers of DEBUGINFOD_URLS for files that are not here" }

#define INPUT_ENGINES "native or libipt"

struct input {
	struct ht_container          *container;
	struct ht_session            *session;
	const struct ht_capture_info *info;
	const char                   *path;   /* the capture, as named by the user */
	const char                   *engine; /* NULL = the best */
	struct progress               fetching;
};

/*
 * Open the capture that the options name, or `operand` (NULL = none given).
 * Says on stderr what is wrong, or once that the times are emulated.  Returns
 * EXIT_OK, EXIT_ERROR or EXIT_USAGE; to be closed in every case.
 */
int input_open(struct input *in, const struct input_opts *opts, const char *operand);
/* As input_open(), without a session: nothing will be decoded. */
int input_open_container(struct input *in, const struct input_opts *opts, const char *operand);
void input_close(struct input *in);
/*
 * Refuse to write to `out` what is made from the files that the options name or
 * from `paths`: none of them may be `out`, by whatever name.  `out`: NULL and
 * "-" are no file; `option` is what named it.  EXIT_OK or, told, EXIT_ERROR; to
 * be called before anything is opened for writing.
 */
int input_spare(const struct input_opts *opts, const char *const *paths, int n, const char *out,
                const char *option);
/* A decoder could not be made: says why, names the capture; returns EXIT_ERROR. */
int input_decode_failed(const struct input *in, const struct ht_diag *diag);

/* Takes at most one operand, argv[first]; NULL and *status = EXIT_USAGE when there are more. */
const char *input_operand(const struct command *cmd, int argc, char **argv, int first, int *status);

#endif
