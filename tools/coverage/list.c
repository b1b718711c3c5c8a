/* SPDX-License-Identifier: BSD-2-Clause */
/* What did not run, as a list to be jumped to; and the source beside its counts. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cover.h"

static const char *
state_text(unsigned state, unsigned doubt)
{
	if (state != HT_COV_UNKNOWN)
		return "not executed";
	return doubt & HT_COV_LOST ? "unknown, trace was lost" : "unknown, not recorded";
}

/* Does a function begin between two lines of the file, the second included?  *at is where to look on. */
static int
function_begins(const struct ht_cov_report *r, uint32_t file, uint32_t *at, uint32_t before,
                uint32_t line)
{
	const struct ht_cov_function *fn = r->functions;

	while (*at < r->n_functions &&
	       (fn[*at].file < file || (fn[*at].file == file && fn[*at].line <= before)))
		++*at;
	return *at < r->n_functions && fn[*at].file == file && fn[*at].line <= line;
}

/* Lines that follow each other in the table and in a function and did not run, as one range. */
static void
print_ranges(FILE *f, const struct ht_cov_report *r, uint32_t number, uint32_t *at)
{
	const struct ht_cov_file *file = &r->files[number];
	const char *path = cover_path(file->path);

	for (uint32_t i = 0, k; i < file->n_lines; i = k) {
		const struct ht_cov_line *l = file->lines;

		for (k = i + 1;
		     k < file->n_lines && l[k].state == l[i].state && l[k].doubt == l[i].doubt &&
		     !function_begins(r, number, at, l[k - 1].line, l[k].line);
		     k++)
			;
		if (l[i].state == HT_COV_HIT)
			continue;
		if (k - i == 1)
			fprintf(f, "%s:%u: %s\n", path, l[i].line,
			        state_text(l[i].state, l[i].doubt));
		else
			fprintf(f, "%s:%u-%u: %s\n", path, l[i].line, l[k - 1].line,
			        state_text(l[i].state, l[i].doubt));
	}
}

/* Branches that ran and went one way only. */
static void
print_one_sided(FILE *f, const struct ht_cov_report *r, const struct ht_cov_file *file,
                int name_modules)
{
	for (uint32_t i = 0; i < file->n_lines; i++)
		for (uint32_t k = 0; k < file->lines[i].n_branches; k++) {
			const struct ht_cov_branch *b = &r->branches[file->lines[i].first_branch + k];

			if (b->state != HT_COV_HIT || (b->taken && b->not_taken) || b->one ||
			    b->doubt)
				continue;
			fprintf(f, "%s:%u: branch %u of %u (%s%s0x%llx) %s\n",
			        cover_path(file->path), b->line, k + 1, file->lines[i].n_branches,
			        name_modules ? cover_path(r->modules[b->module].path) : "",
			        name_modules ? " " : "", (unsigned long long)b->addr,
			        b->taken ? "always taken" : "never taken");
		}
}

void
cover_print_uncovered(FILE *f, const struct ht_cov_report *r)
{
	uint32_t at = 0, covered = 0;

	for (uint32_t i = 0; i < r->n_modules; i++)
		covered += r->modules[i].chosen && !r->modules[i].why;
	for (uint32_t i = 0; i < r->n_files; i++) {
		print_ranges(f, r, i, &at);
		print_one_sided(f, r, &r->files[i],
		                covered > 1); /* an address alone says nothing then */
	}
	for (uint32_t i = 0; i < r->n_functions; i++) {
		const struct ht_cov_function *fn = &r->functions[i];

		if (fn->file == HT_COV_NONE && fn->state != HT_COV_HIT)
			fprintf(f, "%s: %s (0x%llx): %s\n", cover_path(r->modules[fn->module].path),
			        fn->shown, (unsigned long long)fn->addr,
			        state_text(fn->state, fn->doubt));
	}
}

/* -- source --------------------------------------------------------------- */

static void
print_line(FILE *f, const struct ht_cov_line *l, uint32_t number, const char *text)
{
	char count[24] = "-";

	if (l && l->state == HT_COV_HIT)
		snprintf(count, sizeof(count), "%llu", (unsigned long long)l->count);
	else if (l)
		strcpy(count, l->state == HT_COV_UNKNOWN ? "?????" : "#####");
	fprintf(f, "%12s:%5u:%s\n", count, number, text);
}

static void
print_branches(FILE *f, const struct ht_cov_report *r, const struct ht_cov_line *l)
{
	for (uint32_t k = 0; l && k < l->n_branches; k++) {
		const struct ht_cov_branch *b = &r->branches[l->first_branch + k];

		if (b->state == HT_COV_HIT)
			fprintf(f, "%12s branch %u: taken %llu, not taken %llu\n", "", k + 1,
			        (unsigned long long)b->taken, (unsigned long long)b->not_taken);
		else
			fprintf(f, "%12s branch %u: %s\n", "", k + 1,
			        state_text(b->state, b->doubt));
	}
}

static void
print_text(FILE *f, const struct ht_cov_report *r, const struct ht_cov_file *file, FILE *source)
{
	char *text = NULL;
	size_t size = 0;
	ssize_t n;
	uint32_t number = 0, k = 0;

	while ((n = getline(&text, &size, source)) >= 0) {
		const struct ht_cov_line *l = NULL;

		number++;
		if (n && text[n - 1] == '\n')
			text[n - 1] = '\0';
		if (k < file->n_lines && file->lines[k].line == number)
			l = &file->lines[k++];
		print_line(f, l, number, text);
		print_branches(f, r, l);
	}
	free(text);
	for (; k < file->n_lines; k++)
		print_line(f, &file->lines[k], file->lines[k].line, "(past the end of the source file)");
}

/* When the newest module was built; 0 = not known. */
static time_t
newest_module(const struct ht_cov_report *r)
{
	time_t newest = 0;

	for (uint32_t i = 0; i < r->n_modules; i++) {
		struct stat st;

		if (stat(r->modules[i].path, &st) == 0 && st.st_mtime > newest)
			newest = st.st_mtime;
	}
	return newest;
}

/* Text that was changed after all modules were built is not what they were built from. */
static void
warn_if_newer(const char *path, FILE *source, time_t built)
{
	struct stat st;

	if (built && fstat(fileno(source), &st) == 0 && st.st_mtime > built)
		tool_warn("%s: is newer than the program that ran: its lines may not be those that are counted", path);
}

void
cover_print_source(FILE *f, const struct ht_cov_report *r)
{
	time_t built = newest_module(r);

	for (uint32_t i = 0; i < r->n_files; i++) {
		const struct ht_cov_file *file = &r->files[i];
		FILE *source = fopen(file->path, "r");

		fprintf(f, "\n%s\n", cover_path(file->path));
		if (source) {
			warn_if_newer(file->path, source, built);
			print_text(f, r, file, source);
			fclose(source);
			continue;
		}
		tool_warn("%s: cannot be read: its lines are shown without text", file->path);
		for (uint32_t k = 0; k < file->n_lines; k++) {
			print_line(f, &file->lines[k], file->lines[k].line, "");
			print_branches(f, r, &file->lines[k]);
		}
	}
}
