/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "container/limits.h"

/* "m GLOB", "o START-END@FILE", "a START-END"; numbers are hexadecimal. */
static int
parse(const char *text, struct ht_limit *out)
{
	int at = 0;

	memset(out, 0, sizeof(*out));
	if (!strncmp(text, "m ", 2)) {
		out->kind = HT_LIMIT_MODULE;
		out->name = text + 2;
		return 1;
	}
	if (sscanf(text, "%*c %" SCNx64 "-%" SCNx64 "%n", &out->start, &out->end, &at) != 2 ||
	    !at || out->start >= out->end)
		return 0;
	out->kind = *text == 'o' ? HT_LIMIT_FILE : HT_LIMIT_ADDRESS;
	out->name = *text == 'o' && text[at] == '@' ? text + at + 1 : NULL;
	return *text == 'o' ? out->name && *out->name : *text == 'a' && !text[at];
}

int
ht_limits_read(const char *list, size_t size, struct ht_limit **out, uint32_t *n)
{
	struct {
		struct ht_limit *at;
		size_t n, cap;
	} all = { NULL, 0, 0 };
	const char *nul;

	for (; size && *list && (nul = memchr(list, 0, size));
	     size -= (size_t)(nul + 1 - list), list = nul + 1) {
		struct ht_limit limit, *slot;

		if (!parse(list, &limit)) {
			all.n = 0;
			break;
		}
		slot = ht_vec_push(&all);
		if (!slot) {
			ht_vec_free(&all);
			return -HT_ENOMEM;
		}
		*slot = limit;
	}
	*out = all.at;
	*n = (uint32_t)all.n;
	return 0;
}
