/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

#include "container/scratch.h"

int
scratch_make(char folder[64], const char *about)
{
	snprintf(folder, 64, "/tmp/hwtrace-%s.XXXXXX", about);
	return mkdtemp(folder) ? 0 : -1;
}

void
scratch_put(const char *folder, const char *name, const void *data, size_t n)
{
	char path[160];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

int
scratch_remove(const char *folder)
{
	return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
