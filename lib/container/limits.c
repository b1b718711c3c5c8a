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

#define BETWEEN " \t\r\n," /* two ranges of perf's */

/* One range at `*at`, which is cut behind its name. */
static int
parse_perf(char **at, struct ht_limit *out)
{
	int end = 0;
	char *p = *at;

	memset(out, 0, sizeof(*out));
	if (sscanf(p, "filter %" SCNx64 "/%" SCNx64 "%n", &out->start, &out->end, &end) != 2 || !end ||
	    out->end == 0 || out->end > UINT64_MAX - out->start)
		return 0;
	out->end += out->start;
	out->kind = HT_LIMIT_ADDRESS;
	p += end;
	if (*p == '@') {
		out->kind = HT_LIMIT_FILE;
		out->name = ++p;
		p += strcspn(p, BETWEEN);
		if (p == out->name)
			return 0;
	}
	if (*p)
		*p++ = 0;
	*at = p;
	return 1;
}

int
ht_limits_perf(const char *text, size_t size, struct ht_limit **out, uint32_t *n)
{
	size_t max = size / strlen("filter 0/1") + 1, len = strnlen(text, size), count = 0;
	struct ht_limit *all = calloc(1, max * sizeof(*all) + len + 1);
	char *at;

	if (!all)
		return -HT_ENOMEM;
	at = (char *)(all + max);
	memcpy(at, text, len);
	while (*(at += strspn(at, BETWEEN))) {
		if (count == max || !parse_perf(&at, &all[count])) {
			count = 0;
			break;
		}
		count++;
	}
	*out = all;
	*n = (uint32_t)count;
	return 0;
}
