/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lcov tracefile, the dialect of lcov 1.16. [geninfo(1) "FILES"]  What is not
 * known cannot be said in it: such lines and outcomes are left out.
 */
#include "lcov.h"

static void
write_functions(struct lcov_dialect *d, FILE *f, const struct ht_cov_report *r, const struct ht_cov_file *file,
                uint32_t first, uint32_t end)
{
	unsigned found = 0, hit = 0;

	(void)d;
	(void)file;
	for (uint32_t k = first; k < end; k++)
		if (r->functions[k].line && r->functions[k].state != HT_COV_UNKNOWN)
			fprintf(f, "FN:%u,%s\n", r->functions[k].line, lcov_name(&r->functions[k]));
	for (uint32_t k = first; k < end; k++) {
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
	if (!count && b->doubt)
		return;
	++*found;
	*hit += count != 0;
	if (b->state == HT_COV_HIT)
		fprintf(f, "BRDA:%u,%u,%u,%llu\n", b->line, block, outcome, (unsigned long long)count);
	else
		fprintf(f, "BRDA:%u,%u,%u,-\n", b->line, block, outcome);
}

static void
write_branches(const struct lcov_dialect *d, FILE *f, const struct ht_cov_report *r, const struct ht_cov_file *file)
{
	unsigned found = 0, hit = 0;

	for (uint32_t i = 0; i < file->n_lines; i++) {
		const struct ht_cov_line *l = &file->lines[i];

		for (uint32_t k = 0; k < l->n_branches && (!d->branches || d->branches(r, l)); k++) {
			const struct ht_cov_branch *b = &r->branches[l->first_branch + k];

			write_outcome(f, b, k, 0, b->taken, &found, &hit);
			if (!b->one)
				write_outcome(f, b, k, 1, b->not_taken, &found, &hit);
		}
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
lcov_write(const char *path, const struct ht_cov_report *r, struct lcov_dialect *d)
{
	FILE *f = cover_open(path);
	uint32_t first = 0, end;

	if (!f)
		return EXIT_ERROR;
	if (!r->n_files)
		tool_warn("%s: no module has line information, so the lcov file is empty", path);
	for (uint32_t i = 0; i < r->n_files; i++, first = end) {
		fprintf(f, "TN:\nSF:%s\n", r->files[i].path);
		while (first < r->n_functions && r->functions[first].file < i)
			first++;
		for (end = first; end < r->n_functions && r->functions[end].file == i; end++)
			;
		d->functions(d, f, r, &r->files[i], first, end);
		write_branches(d, f, r, &r->files[i]);
		write_lines(f, &r->files[i]);
		fputs("end_of_record\n", f);
	}
	return cover_close(f, path);
}

int
cover_write_lcov(const char *path, const struct cover *c, const struct ht_cov_report *r)
{
	struct lcov_dialect d = { .functions = write_functions };

	(void)c;
	return lcov_write(path, r, &d);
}
