/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "csv.h"

/* Take the quotes off the field at `p`; returns what follows it, NULL when it does not end. */
static char *
unquote(char *p)
{
	char *to = p;

	for (p++; *p; *to++ = *p++)
		if (*p == '"' && *++p != '"') {
			*to = '\0';
			return p;
		}
	return NULL;
}

int
csv_split(char *line, char **fields, int max)
{
	char *p = line;
	int n = 0, more = 1;

	p[strcspn(p, "\r\n")] = '\0';
	if (!*p)
		return 0;
	while (more) {
		if (n == max)
			return CSV_TOO_MANY;
		fields[n++] = p;
		if (*p == '"') {
			p = unquote(p);
			if (!p)
				return CSV_QUOTE;
		} else {
			p += strcspn(p, ",");
		}
		more = *p == ',';
		*p++ = '\0';
	}
	return n;
}
