/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of the command line; --fail-under-...: exit statuses with the bits that gcovr has for the same. */
#include <stdlib.h>
#include <string.h>

#include "cover.h"

enum { FAIL_LINE = 2, FAIL_BRANCH = 4, FAIL_FUNCTION = 16 };

static int
parse(const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return end != text && !*end && *out >= 0 && *out <= 100 ? 0 : -1;
}

int
cover_check_thresholds(const struct report_opts *o, const char *command)
{
	const char *const all[] = { o->fail_line, o->fail_branch, o->fail_function };
	double n;

	for (int i = 0; i < 3; i++)
		if (all[i] && parse(all[i], &n) < 0) {
			fprintf(stderr, "hwtrace %s: '%s' is no percentage from 0 to 100\n", command, all[i]);
			return EXIT_USAGE;
		}
	return EXIT_OK;
}

int
cover_check_source_map(const struct opt_list *map, const char *command)
{
	for (size_t i = 0; i < map->n; i++)
		if (!strchr(map->at[i], '=')) {
			fprintf(stderr, "hwtrace %s: --source-map '%s' is not OLD=NEW\n", command, map->at[i]);
			return EXIT_USAGE;
		}
	return EXIT_OK;
}

static int
missed(const char *text, const struct ht_cov_tally *t, const char *what, int without, int bit)
{
	uint64_t known = t->all - t->unknown;
	double percent = known ? 100.0 * (double)t->hit / (double)known : without, least;

	if (!text || parse(text, &least) < 0 || percent >= least)
		return 0;
	fprintf(stderr, "hwtrace: %.2f%% of %s ran (%llu of %llu), which is less than %s%%\n", percent, what,
	        (unsigned long long)t->hit, (unsigned long long)known, text);
	return bit;
}

/* Without any line something is wrong; a program without branches is in order. */
int
cover_thresholds(const struct report_opts *o, const struct ht_cov_report *r)
{
	return missed(o->fail_line, &r->total.lines, "lines", 0, FAIL_LINE) |
	       missed(o->fail_branch, &r->total.branches, "branch outcomes", 100, FAIL_BRANCH) |
	       missed(o->fail_function, &r->total.functions, "functions", 0, FAIL_FUNCTION);
}
