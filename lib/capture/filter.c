/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/filter.h"

static int
append(char *buf, size_t size, size_t *used, const char *kind, const char *text, struct ht_diag *diag)
{
	size_t n = strlen(kind) + 1 + strlen(text) + 1;

	if (n + 1 > size - *used) /* room for the NUL that ends the list */
		return ht_fail(diag, HT_EINVAL, NULL, HT_NO_OFFSET, "filter",
		               "the --module and --filter options are too long together");
	snprintf(buf + *used, size - *used, "%s %s", kind, text);
	*used += n;
	buf[*used] = 0;
	return 0;
}

/* "A-B" with hexadecimal or decimal numbers; 0 when it is none. */
static int
parse_range(const char *text, uint64_t *start, uint64_t *end)
{
	char *dash, *rest;

	errno = 0;
	*start = strtoull(text, &dash, 0);
	if (dash == text || *dash != '-' || errno)
		return 0;
	*end = strtoull(dash + 1, &rest, 0);
	return rest != dash + 1 && !*rest && !errno;
}

static int
add_filter(const char *text, char *buf, size_t size, size_t *used, struct ht_diag *diag)
{
	const char *at = strchr(text, '@');
	uint64_t start, end;

	if (parse_range(text, &start, &end)) {
		char range[64];

		if (start >= end)
			return ht_fail(diag, HT_EINVAL, NULL, HT_NO_OFFSET, "filter", "%s: the range is empty", text);
		snprintf(range, sizeof(range), "%llx-%llx", (unsigned long long)start, (unsigned long long)end);
		return append(buf, size, used, "a", range, diag);
	}
	if (at && at != text && at[1])
		return append(buf, size, used, "s", text, diag);
	return ht_fail(diag, HT_EINVAL, NULL, HT_NO_OFFSET, "filter",
	               "%s: neither START-END (as in 0x401000-0x402000) nor SYMBOL[+LENGTH]@MODULE", text);
}

int
ht_filter_build(const struct ht_capture_config *config, char *buf, size_t size, struct ht_diag *diag)
{
	size_t used = 0;
	int rc = 0;

	for (size_t i = 0; !rc && config->modules && config->modules[i]; i++)
		rc = append(buf, size, &used, "m", config->modules[i], diag);
	for (size_t i = 0; !rc && config->filters && config->filters[i]; i++)
		rc = add_filter(config->filters[i], buf, size, &used, diag);
	return rc ? rc : used ? (int)used + 1 : 0;
}
