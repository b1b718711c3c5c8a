/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables: one row a file, one row a function, and the sums. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cover.h"

const char *
cover_label(const struct cover *c)
{
	return c->software ? "branches exact, times emulated" : NULL;
}

const char *
cover_state(unsigned state)
{
	static const char *const names[] = { "not hit", "hit", "unknown" };

	return names[state];
}

const char *
cover_path(const char *path)
{
	static char cwd[4096];
	size_t n;

	if (!cwd[0] && !getcwd(cwd, sizeof(cwd)))
		strcpy(cwd, "/");
	n = strlen(cwd);
	return n > 1 && !strncmp(path, cwd, n) && path[n] == '/' ? path + n + 1 : path;
}

/* " 12/30   40.0%" of what is known, 18 columns wide at least. */
static void
print_tally(FILE *f, const struct ht_cov_tally *t)
{
	char parts[48];

	if (t->all == t->unknown) {
		fprintf(f, "  %11s %6s", "-", "");
		return;
	}
	snprintf(parts, sizeof(parts), "%llu/%llu", (unsigned long long)t->hit,
	         (unsigned long long)(t->all - t->unknown));
	fprintf(f, "  %11s %5.1f%%", parts, ht_cov_percent(t));
}

static void
print_unknown(FILE *f, const struct ht_cov_tallies *t)
{
	if (t->lines.unknown || t->branches.unknown || t->insns.unknown)
		fprintf(f, "  unknown: %llu lines, %llu branches, %llu instructions",
		        (unsigned long long)t->lines.unknown, (unsigned long long)t->branches.unknown,
		        (unsigned long long)t->insns.unknown);
	fputc('\n', f);
}

static void
print_heads(FILE *f, int width, const char *first, int entries)
{
	fprintf(f, "%-*s", width, first);
	if (entries)
		fprintf(f, "  %10s", "entries");
	fprintf(f, "  %18s  %18s", "lines", "branches");
	if (!entries)
		fprintf(f, "  %18s", "functions");
	fprintf(f, "  %18s\n", "instructions");
}

unsigned
cover_outcome(const struct ht_cov_branch *b, int taken)
{
	return (taken ? b->taken : b->not_taken) ? HT_COV_HIT
	       : b->doubt                        ? HT_COV_UNKNOWN
	                                         : HT_COV_NOT_HIT;
}

const char *
cover_found_by(unsigned source)
{
	switch (source) {
	case HT_COV_BY_LINES:
		return "debug information";
	case HT_COV_BY_SYMBOLS:
		return "symbols, no lines";
	case HT_COV_BY_UNWIND:
		return "unwind tables, no names";
	case HT_COV_BY_REPORT:
		return "the reports of other tools";
	default:
		return "the whole text, no names";
	}
}

static void
print_totals(FILE *f, int width, const struct ht_cov_tallies *t, const char *name)
{
	fprintf(f, "%-*s", width, name);
	print_tally(f, &t->lines);
	print_tally(f, &t->branches);
	print_tally(f, &t->functions);
	print_tally(f, &t->insns);
	print_unknown(f, t);
}

void
cover_print_summary(FILE *f, const struct cover *c, const struct ht_cov_report *r)
{
	const char *label = cover_label(c);

	for (uint32_t i = 0; i < r->n_modules; i++) {
		const struct ht_cov_module *m = &r->modules[i];

		if (!m->chosen || (!m->why && !m->tally.functions.all))
			continue;
		if (m->why)
			fprintf(f, "%s: not covered: %s\n", cover_path(m->path), m->why);
		else
			fprintf(f, "%s: functions found by %s%s%s\n", cover_path(m->path),
			        cover_found_by(m->source), label ? "; recorded in software: " : "",
			        label ? label : "");
	}
}

/* Has it a row of its own, there being no files for it? */
static int
shown_by_itself(const struct ht_cov_module *m)
{
	return m->chosen && !m->why && m->source != HT_COV_BY_LINES && m->tally.functions.all;
}

void
cover_print_files(FILE *f, const struct ht_cov_report *r)
{
	int width = 24;

	for (uint32_t i = 0; i < r->n_files; i++)
		if ((int)strlen(cover_path(r->files[i].path)) > width)
			width = (int)strlen(cover_path(r->files[i].path));
	for (uint32_t i = 0; i < r->n_modules; i++)
		if (shown_by_itself(&r->modules[i]) &&
		    (int)strlen(cover_path(r->modules[i].path)) > width)
			width = (int)strlen(cover_path(r->modules[i].path));
	fputc('\n', f);
	print_heads(f, width, "file", 0);
	for (uint32_t i = 0; i < r->n_files; i++)
		print_totals(f, width, &r->files[i].tally, cover_path(r->files[i].path));
	for (uint32_t i = 0; i < r->n_modules; i++)
		if (shown_by_itself(&r->modules[i]))
			print_totals(f, width, &r->modules[i].tally, cover_path(r->modules[i].path));
	print_totals(f, width, &r->total, "total");
}

/* "file:line", or the module's name. */
static const char *
place(const struct ht_cov_report *r, const struct ht_cov_function *fn, char *buf, size_t size)
{
	if (fn->file != HT_COV_NONE)
		snprintf(buf, size, "%s:%u", cover_path(r->files[fn->file].path), fn->line);
	else
		snprintf(buf, size, "%s", cover_path(r->modules[fn->module].path));
	return buf;
}

/* "name (file:line)", cut at the left of the place when it grows too long. */
static char *
function_name(const struct ht_cov_report *r, const struct ht_cov_function *fn)
{
	char where[4200], *out;

	if (asprintf(&out, "%s  %s%s", fn->shown[0] ? fn->shown : "(nameless)", place(r, fn, where, sizeof(where)),
	             fn->inlined ? fn->inlined == fn->copies ? " (inlined)" : " (inlined in places)" : "") < 0)
		return NULL;
	return out;
}

static void
print_function(FILE *f, const struct ht_cov_function *fn, const char *name, int width)
{
	char entries[24];

	snprintf(entries, sizeof(entries), "%llu", (unsigned long long)fn->count);
	if ((int)strlen(name) > width) { /* a line of its own keeps the columns in place */
		fprintf(f, "%s\n", name);
		name = "";
	}
	fprintf(f, "%-*s  %10s", width, name,
	        fn->state == HT_COV_HIT ? entries : fn->state == HT_COV_UNKNOWN ? "unknown" : "-");
	print_tally(f, &fn->tally.lines);
	print_tally(f, &fn->tally.branches);
	print_tally(f, &fn->tally.insns);
	print_unknown(f, &fn->tally);
}

void
cover_print_functions(FILE *f, const struct ht_cov_report *r)
{
	char **names = calloc(r->n_functions + 1u, sizeof(*names));
	int width = 24;

	if (!names)
		return;
	for (uint32_t i = 0; i < r->n_functions; i++) {
		names[i] = function_name(r, &r->functions[i]);
		if (names[i] && (int)strlen(names[i]) > width)
			width = (int)strlen(names[i]);
	}
	if (width > 72)
		width = 72;
	fputc('\n', f);
	print_heads(f, width, "function", 1);
	for (uint32_t i = 0; i < r->n_functions; i++)
		print_function(f, &r->functions[i], names[i] ? names[i] : r->functions[i].shown, width);
	for (uint32_t i = 0; i < r->n_functions; i++)
		free(names[i]);
	free(names);
}
