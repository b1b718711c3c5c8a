/* SPDX-License-Identifier: BSD-2-Clause */
/* hwtrace: record, decode and cover.  One line a command in the table below. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/decoder.h>

#include "command.h"

#ifndef HT_VERSION
#define HT_VERSION "0.0"
#endif

/* In the order of the usage text; X(name) stands for command_name. */
#define COMMANDS(X) \
	X(record) \
	X(coverage) \
	X(merge) \
	X(diff) \
	X(annotate) \
	X(list) \
	X(check) \
	X(script) \
	X(packets) \
	X(verify) \
	X(info) \
	X(archive) \
	X(completion)

#define DECLARE(name) extern const struct command command_##name;
COMMANDS(DECLARE)
#undef DECLARE

const struct command *const commands[] = {
#define ENTRY(name) &command_##name,
	COMMANDS(ENTRY)
#undef ENTRY
	NULL
};

int
tool_fail(const struct ht_diag *diag)
{
	char line[1024];

	fprintf(stderr, "hwtrace: %s\n", ht_diag_line(diag, line, sizeof(line)));
	return EXIT_ERROR;
}

int
tool_record_fail(const struct ht_diag *diag)
{
	int program;

	if (diag->error != HT_ECHILD) {
		tool_fail(diag);
		return EXIT_RECORD;
	}
	program = !strcmp(diag->field, "126") || !strcmp(diag->field, "127");
	tool_error("%s%s%s", diag->file, diag->file[0] ? ": " : "", diag->text);
	return program ? atoi(diag->field) : EXIT_RECORD;
}

int
tool_error(const char *fmt, ...)
{
	va_list ap;

	fputs("hwtrace: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return EXIT_ERROR;
}

void
tool_warn(const char *fmt, ...)
{
	va_list ap;

	fputs("hwtrace: warning: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static void
usage(FILE *f)
{
	fputs("usage: hwtrace COMMAND [options] ...\n\ncommands:\n", f);
	for (const struct command *const *c = commands; *c; c++)
		if (!(*c)->hidden)
			fprintf(f, "  %-12s %s\n", (*c)->name, (*c)->summary);
	fputs("\nhwtrace COMMAND --help (or help COMMAND) tells the options of a command.\n", f);
}

/* What was printed must have arrived, or the status says that it did not. */
static int
finish(int status)
{
	int failed = ferror(stdout) != 0;

	errno = 0;
	if (!fflush(stdout) && !failed)
		return status;
	if (status != EXIT_OK)
		return status;
	return tool_error("standard output: cannot be written: %s", errno ? strerror(errno) : "write failed");
}

int
main(int argc, char **argv)
{
	if (argc < 2) {
		usage(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "help") && argc > 2) {
		argv[1] = argv[2];
		argv[2] = "--help";
		argc = 3;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		usage(stdout);
		return finish(EXIT_OK);
	}
	if (!strcmp(argv[1], "--version")) {
		printf("hwtrace " HT_VERSION "\nengines:");
		for (uint32_t i = 0; ht_engine_name(i); i++)
			printf(" %s", ht_engine_name(i));
		putchar('\n');
		return finish(EXIT_OK);
	}
	for (const struct command *const *c = commands; *c; c++)
		if (!strcmp((*c)->name, argv[1]))
			return finish((*c)->run(argc - 1, argv + 1));
	fprintf(stderr, "hwtrace: unknown command '%s'; hwtrace --help lists them\n", argv[1]);
	return EXIT_USAGE;
}
