/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <string.h>

#include "csv.h"

int
main(void)
{
	char line[] = "one,two,,four\n", *f[4];

	assert(csv_split(line, f, 4) == 4);
	assert(!strcmp(f[0], "one") && !strcmp(f[1], "two") && !strcmp(f[2], "") && !strcmp(f[3], "four"));
	return 0;
}
