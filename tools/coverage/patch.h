/* SPDX-License-Identifier: BSD-2-Clause */
/* The lines that a unified diff adds. [POSIX diff "Diff -u Output Format"] */
#ifndef COVERAGE_PATCH_H
#define COVERAGE_PATCH_H

#include <stddef.h>
#include <stdint.h>

struct patch_file {
	char    *path;   /* as in the patch, without "b/" */
	struct { uint32_t *at; size_t n, cap; } lines; /* added, in the new version; sorted */
};

struct patch {
	struct patch_file *files;
	size_t n, cap;
};

/* EXIT_OK or, told, EXIT_ERROR; to be closed in either case. */
int patch_open(struct patch *p, const char *path);
void patch_close(struct patch *p);
/* The part about the source `path`, whose path in the patch is an end of it; NULL when there is none. */
const struct patch_file *patch_find(const struct patch *p, const char *path);
int patch_adds(const struct patch_file *f, uint32_t line);

#endif
