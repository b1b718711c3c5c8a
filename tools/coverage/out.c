/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "cover.h"

static int
failed(const char *path)
{
	return tool_error("%s: cannot be written: %s", strcmp(path, "-") ? path : "standard output", strerror(errno));
}

FILE *
cover_open(const char *path)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "w") : stdout;

	if (!f)
		failed(path);
	return f;
}

int
cover_close(FILE *f, const char *path)
{
	int bad = fflush(f) != 0 || ferror(f), why = errno;

	if (f != stdout && fclose(f) != 0 && !bad) {
		bad = 1;
		why = errno;
	}
	errno = why;
	/* Whoever reads through `head` has seen enough. */
	if (bad && f == stdout && errno == EPIPE)
		return EXIT_OK;
	return bad ? failed(path) : EXIT_OK;
}
