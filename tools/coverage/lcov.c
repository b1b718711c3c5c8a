/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lcov tracefile, the dialect of lcov 1.16. [geninfo(1) "FILES"]  What is not
 * known cannot be said in it: such lines and outcomes are left out.
 */
#include <errno.h>
#include <string.h>

#include "cover.h"

static const char *
lcov_name(const struct ht_cov_function *fn)
{
	return fn->linkage ? fn->linkage : fn->name;
}

/* Functions of file `i`; *at walks the table, which is sorted by file. */
static void
write_functions(FILE *f, const struct ht_cov_report *r, uint32_t i, uint32_t *at)
{
	unsigned found = 0, hit = 0;
	uint32_t first = *at, k;

	for (k = first; k < r->n_functions && r->functions[k].file == i; k++)
		if (r->functions[k].line && r->functions[k].state != HT_COV_UNKNOWN)
			fprintf(f, "FN:%u,%s\n", r->functions[k].line, lcov_name(&r->functions[k]));
	*at = k;
	for (k = first; k < *at; k++) {
		const struct ht_cov_function *fn = &r->functions[k];

		if (!fn->line || fn->state == HT_COV_UNKNOWN)
			continue;
		found++;
		hit += fn->state == HT_COV_HIT;
		fprintf(f, "FNDA:%llu,%s\n", (unsigned long long)fn->count, lcov_name(fn));
	}
	fprintf(f, "FNF:%u\nFNH:%u\n", found, hit);
}

static void
write_outcome(FILE *f, const struct ht_cov_branch *b, uint32_t block, unsigned outcome, uint64_t count,
              unsigned *found, unsigned *hit)
{
	if (!count && b->lost)
		return;
	++*found;
	*hit += count != 0;
	if (b->state == HT_COV_HIT)
		fprintf(f, "BRDA:%u,%u,%u,%llu\n", b->line, block, outcome, (unsigned long long)count);
	else
		fprintf(f, "BRDA:%u,%u,%u,-\n", b->line, block, outcome);
}

static void
write_branches(FILE *f, const struct ht_cov_report *r, const struct ht_cov_file *file)
{
	unsigned found = 0, hit = 0;

	for (uint32_t i = 0; i < file->n_lines; i++)
		for (uint32_t k = 0; k < file->lines[i].n_branches; k++) {
			const struct ht_cov_branch *b = &r->branches[file->lines[i].first_branch + k];

			write_outcome(f, b, k, 0, b->taken, &found, &hit);
			write_outcome(f, b, k, 1, b->not_taken, &found, &hit);
		}
	if (found)
		fprintf(f, "BRF:%u\nBRH:%u\n", found, hit);
}

static void
write_lines(FILE *f, const struct ht_cov_file *file)
{
	unsigned found = 0, hit = 0;

	for (uint32_t i = 0; i < file->n_lines; i++) {
		const struct ht_cov_line *l = &file->lines[i];

		if (l->state == HT_COV_UNKNOWN)
			continue;
		found++;
		hit += l->state == HT_COV_HIT;
		fprintf(f, "DA:%u,%llu\n", l->line, (unsigned long long)l->count);
	}
	fprintf(f, "LF:%u\nLH:%u\n", found, hit);
}

int
cover_write_lcov(const char *path, const struct ht_cov_report *r)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "w") : stdout;
	uint32_t function = 0;
	int bad;

	if (!f)
		return tool_error("%s: cannot be written: %s", path, strerror(errno));
	if (!r->n_files)
		tool_warn("%s: no module has line information, so the lcov file is empty", path);
	for (uint32_t i = 0; i < r->n_files; i++) {
		fprintf(f, "TN:\nSF:%s\n", r->files[i].path);
		while (function < r->n_functions && r->functions[function].file < i)
			function++;
		write_functions(f, r, i, &function);
		write_branches(f, r, &r->files[i]);
		write_lines(f, &r->files[i]);
		fputs("end_of_record\n", f);
	}
	bad = fflush(f) != 0 || ferror(f);
	if (f != stdout)
		bad |= fclose(f) != 0;
	return bad ? tool_error("%s: cannot be written: %s", path, strerror(errno)) : EXIT_OK;
}
