/* SPDX-License-Identifier: BSD-2-Clause */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "qemu/filter.h"
#include "qemu/maps.h"

#define RANGES_MAX 64
#define GLOBS_MAX  64

/* Addresses, or, with a path, offsets of that file. */
static struct {
	uint64_t    start, end;
	const char *path;
} ranges[RANGES_MAX];
static const char *globs[GLOBS_MAX];
static unsigned n_ranges, n_globs;
static int active;

int
ht_filter_init(const char *list)
{
	for (const char *s = list; *s; s += strlen(s) + 1) {
		unsigned long start, end;

		active = 1;
		if (s[0] == 'm' && n_globs < GLOBS_MAX) {
			globs[n_globs++] = s + 2;
		} else if ((s[0] == 'a' || s[0] == 'o') && n_ranges < RANGES_MAX &&
		           sscanf(s + 2, "%lx-%lx", &start, &end) == 2) {
			const char *at = s[0] == 'o' ? strchr(s, '@') : NULL;

			ranges[n_ranges].start = start;
			ranges[n_ranges].path = at ? at + 1 : NULL;
			ranges[n_ranges++].end = end;
		}
	}
	return active;
}

static int
meets_range(unsigned i, uint64_t start, uint64_t end)
{
	return start < ranges[i].end && (end > ranges[i].start || start == ranges[i].start);
}

int
ht_filter_has(uint64_t start, uint64_t end)
{
	struct ht_map m;
	const char *base;

	if (!active)
		return 1;
	for (unsigned i = 0; i < n_ranges; i++)
		if (!ranges[i].path && meets_range(i, start, end))
			return 1;
	if (!ht_maps_find(start, &m))
		return 0;
	for (unsigned i = 0; i < n_ranges; i++)
		if (ranges[i].path &&
		    meets_range(i, start - m.start + m.pgoff, end - m.start + m.pgoff) &&
		    !strcmp(ranges[i].path, m.path))
			return 1;
	base = strrchr(m.path, '/');
	base = base ? base + 1 : m.path;
	for (unsigned i = 0; i < n_globs; i++)
		if (!fnmatch(globs[i], m.path, 0) || !fnmatch(globs[i], base, 0))
			return 1;
	return 0;
}
