/* SPDX-License-Identifier: BSD-2-Clause */
/* Sort words with qsort(3): calls that go out to the library and back in by a pointer.
 * build: -O1 -g */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
by_length(const void *a, const void *b)
{
	const char *x = *(const char *const *)a, *y = *(const char *const *)b;
	size_t m = strlen(x), n = strlen(y);

	if (m != n)
		return m < n ? -1 : 1;
	return strcmp(x, y);
}

int
main(int argc, char **argv)
{
	const char *words[] = { "trace", "branch", "packet", "a", "ring", "sideband", "unit", "of" };
	size_t n = sizeof(words) / sizeof(words[0]);

	(void)argv;
	if (argc > 1)
		n /= 2;
	qsort(words, n, sizeof(words[0]), by_length);
	for (size_t i = 0; i < n; i++)
		puts(words[i]);
	return 0;
}
