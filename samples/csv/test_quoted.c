/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <string.h>

#include "csv.h"

int
main(void)
{
	char line[] = "\"a, b\",\"say \"\"so\"\"\",c", open[] = "x,\"y", *f[3];

	assert(csv_split(line, f, 3) == 3);
	assert(!strcmp(f[0], "a, b") && !strcmp(f[1], "say \"so\"") && !strcmp(f[2], "c"));
	assert(csv_split(open, f, 3) == CSV_QUOTE);
	return 0;
}
