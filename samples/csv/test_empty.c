/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>

#include "csv.h"

int
main(void)
{
	char line[] = "\r\n", *f[1];

	assert(csv_split(line, f, 1) == 0);
	return 0;
}
