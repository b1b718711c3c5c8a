/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The dialect of lcov 2: a function is a range of lines with names, which all
 * begin there.  lcov 2 gives up on a file unless these hold, though optimised
 * code breaks them rightfully:
 *
 *	a function has lines, and is hit if and only if one of them is
 *	a line with branches is hit if and only if one of the branches was reached
 *
 * So a range that says more than is so shrinks to its first line, and what is
 * still wrong is left out and told.
 */
#include "lcov.h"

/* Functions of one line: hit when one of its names is. */
struct group {
	uint32_t first, end;  /* in report->functions */
	uint32_t line, last;  /* the range, both included */
	int      hit;
};

/* The first line of the file that is >= `line`. */
static uint32_t
lower_line(const struct ht_cov_file *file, uint32_t line)
{
	uint32_t lo = 0, hi = file->n_lines;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (file->lines[mid].line < line)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Is a line in here hit?  -1 = there is none that is told of. */
static int
lines_say(const struct ht_cov_file *file, uint32_t from, uint32_t to)
{
	int some = 0;

	for (uint32_t i = lower_line(file, from); i < file->n_lines && file->lines[i].line <= to; i++) {
		if (file->lines[i].state == HT_COV_HIT)
			return 1;
		some |= file->lines[i].state == HT_COV_NOT_HIT;
	}
	return some ? 0 : -1;
}

static int
told(const struct ht_cov_function *fn)
{
	return fn->line && fn->state != HT_COV_UNKNOWN;
}

/* The functions at one line, from *at on; 0 when there are none left. */
static int
next_group(const struct ht_cov_report *r, uint32_t *at, uint32_t end, struct group *g)
{
	while (*at < end && !told(&r->functions[*at]))
		++*at;
	if (*at == end)
		return 0;
	*g = (struct group){ .first = *at, .line = r->functions[*at].line, .last = r->functions[*at].line };
	for (; *at < end && r->functions[*at].line == g->line; ++*at) {
		const struct ht_cov_function *fn = &r->functions[*at];

		if (told(fn) && fn->end_line > g->last)
			g->last = fn->end_line;
		g->hit |= fn->state == HT_COV_HIT;
	}
	g->end = *at;
	return 1;
}

static int
settle(const struct ht_cov_file *file, struct group *g)
{
	if (lines_say(file, g->line, g->last) == g->hit)
		return 1;
	g->last = g->line;
	return lines_say(file, g->line, g->last) == g->hit;
}

static void
write_functions(struct lcov_dialect *d, FILE *f, const struct ht_cov_report *r, const struct ht_cov_file *file,
                uint32_t first, uint32_t end)
{
	unsigned found = 0, hit = 0, index = 0;
	uint32_t at = first;
	struct group g;

	names_clear(&d->names);
	while (next_group(r, &at, end, &g)) {
		if (!settle(file, &g)) {
			d->left_out += g.end - g.first;
			continue;
		}
		fprintf(f, "FNL:%u,%u,%u\n", index, g.line, g.last);
		for (uint32_t k = g.first; k < g.end; k++) {
			const struct ht_cov_function *fn = &r->functions[k];

			if (!told(fn))
				continue;
			found++;
			hit += fn->state == HT_COV_HIT;
			fprintf(f, "FNA:%u,%llu,%s", index, (unsigned long long)fn->count, lcov_name(fn));
			if (names_add(&d->names, lcov_name(fn))) /* lcov 2 knows a name once a file */
				fprintf(f, "@%u", fn->line);
			fputc('\n', f);
		}
		index++;
	}
	fprintf(f, "FNF:%u\nFNH:%u\n", found, hit);
}

static int
branches_wanted(const struct ht_cov_report *r, const struct ht_cov_line *l)
{
	int reached = 0;

	for (uint32_t k = 0; k < l->n_branches; k++)
		reached |= r->branches[l->first_branch + k].state == HT_COV_HIT;
	return reached == (l->state == HT_COV_HIT);
}

int
cover_write_lcov2(const char *path, const struct cover *c, const struct ht_cov_report *r)
{
	struct lcov_dialect d = { .functions = write_functions, .branches = branches_wanted };
	int status;

	(void)c;
	status = lcov_write(path, r, &d);
	if (d.left_out)
		tool_warn("%s: %u functions are left out, whose lines tell otherwise than they do: lcov 2 would "
		          "not read them", path, d.left_out);
	names_fini(&d.names);
	return status;
}
