/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Marks in the source that take lines, or the branches of lines, out of the
 * report: LCOV_, GCOV_ or GCOVR_, then EXCL_LINE, EXCL_START, EXCL_STOP, or the
 * same with BR_ for branches alone.  The line of a STOP is not taken out any more.
 * [geninfo(1) "FILES"]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "sink/coverage_build.h"

enum word { WORD_NONE, WORD_LINE, WORD_START, WORD_STOP };

/* The next mark of `text`, from *at on; which of the two lists it is for in *branches. */
static enum word
next_mark(const char **at, int *branches)
{
	static const char *const words[] = { "LINE", "START", "STOP" };
	const char *p;

	while ((p = strstr(*at, "COV"))) {
		const char *before = p > *at ? p - 1 : NULL;

		*at = p + 3;
		if (!before || (*before != 'L' && *before != 'G'))
			continue;
		p += 3;
		if (*before == 'G' && *p == 'R')
			p++;
		if (strncmp(p, "_EXCL_", 6))
			continue;
		p += 6;
		*branches = !strncmp(p, "BR_", 3);
		if (*branches)
			p += 3;
		for (int i = 0; i < 3; i++)
			if (!strncmp(p, words[i], strlen(words[i]))) {
				*at = p;
				return (enum word)(WORD_LINE + i);
			}
	}
	return WORD_NONE;
}

static int
add_range(struct cov_mark_list *list, uint32_t first, uint32_t last)
{
	struct cov_mark_range *r = first <= last ? ht_vec_push(list) : NULL;

	if (r)
		*r = (struct cov_mark_range){ first, last };
	return r || first > last ? 0 : -HT_ENOMEM;
}

/* One line of the source; open[] is where the ranges at hand began, 0 = there is none. */
static int
read_line(struct cov_mark_list lists[2], uint32_t open[2], const char *text, uint32_t line)
{
	enum word word;
	int which;

	while ((word = next_mark(&text, &which))) {
		if (word == WORD_START && !open[which])
			open[which] = line;
		else if (word == WORD_LINE && !open[which] && add_range(&lists[which], line, line) < 0)
			return -HT_ENOMEM;
		else if (word == WORD_STOP && open[which]) {
			if (add_range(&lists[which], open[which], line - 1) < 0)
				return -HT_ENOMEM;
			open[which] = 0;
		}
	}
	return 0;
}

int
cov_marks_read(struct cov_marks *m, const char *path, uint32_t *unclosed)
{
	uint32_t open[2] = { 0, 0 }, line = 0;
	FILE *f = fopen(path, "r");
	char *text = NULL;
	size_t size = 0;
	int rc = 0;

	*unclosed = 0;
	if (!f)
		return 0;
	while (rc == 0 && line < UINT32_MAX - 1 && getline(&text, &size, f) > 0) {
		line++;
		if (strstr(text, "_EXCL_"))
			rc = read_line(m->lists, open, text, line);
	}
	for (int i = 0; i < 2 && rc == 0; i++)
		if (open[i]) {
			*unclosed = open[i];
			rc = add_range(&m->lists[i], open[i], UINT32_MAX - 1);
		}
	free(text);
	fclose(f);
	return rc;
}

void
cov_marks_fini(struct cov_marks *m)
{
	ht_vec_free(&m->lists[0]);
	ht_vec_free(&m->lists[1]);
}

static int
holds(const struct cov_mark_list *list, uint32_t line)
{
	size_t lo = 0, hi = list->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (list->at[mid].last < line)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < list->n && list->at[lo].first <= line;
}

int
cov_line_marked(const struct cov_marks *m, uint32_t line)
{
	return m->lists[0].n && holds(&m->lists[0], line);
}

int
cov_branches_marked(const struct cov_marks *m, uint32_t line)
{
	return m->lists[1].n && holds(&m->lists[1], line);
}
