/* SPDX-License-Identifier: BSD-2-Clause */
/* A report to all the places that it was asked for. */
#include <string.h>

#include "cover.h"

static int (*const writers[])(const char *, const struct cover *, const struct ht_cov_report *) = {
#define ROW(name, option, help) cover_write_##name,
	COVER_FORMATS(ROW)
#undef ROW
};

/* The tables make room for a format that was asked for on standard output. */
static int
stdout_is_taken(const struct report_opts *o)
{
	for (int i = 0; i < COVER_FORMAT_COUNT; i++)
		if (o->formats[i] && !strcmp(o->formats[i], "-"))
			return 1;
	return 0;
}

const char *
cover_shared_place(const struct report_opts *o)
{
	for (int i = 0; i < COVER_FORMAT_COUNT; i++) {
		if (!o->formats[i])
			continue;
		if (o->output && !strcmp(o->output, o->formats[i]))
			return o->output;
		for (int k = 0; k < i; k++)
			if (o->formats[k] && !strcmp(o->formats[k], o->formats[i]))
				return o->formats[i];
	}
	return NULL;
}

int
cover_spare_inputs(const struct report_opts *o, const char *append, const struct input_opts *in,
                   char **paths, int n)
{
	static const char *const names[] = {
#define ROW(name, option, help) "--" option,
		COVER_FORMATS(ROW)
#undef ROW
	};
	const char *const *from = (const char *const *)paths;
	int status = input_spare(in, from, n, o->output, "-o");

	if (status == EXIT_OK)
		status = input_spare(in, from, n, o->html, "--html");
	for (int i = 0; i < COVER_FORMAT_COUNT && status == EXIT_OK; i++)
		status = input_spare(in, from, n, o->formats[i], names[i]);
	return status == EXIT_OK ? input_spare(in, from, n, append, "--append") : status;
}

static void
print_report(FILE *f, const struct report_opts *o, const struct cover *c, const struct ht_cov_report *r)
{
	int chosen = o->files || o->functions || o->uncovered || o->source || o->calls;

	if (!o->uncovered || o->files || o->functions || o->source || o->calls)
		cover_print_summary(f, c, r);
	if (o->source)
		cover_print_source(f, r);
	if (o->files || !chosen)
		cover_print_files(f, r);
	if (o->functions || !chosen)
		cover_print_functions(f, r);
	if (o->calls)
		cover_print_calls(f, r);
	if (o->uncovered)
		cover_print_uncovered(f, r);
}

/* Formats that have no word for what is unknown, and leave it out. */
static const int without_unknown[] = { COVER_lcov, COVER_lcov2, COVER_gcovr, COVER_cobertura };

/* The third state goes to stderr: a table is easily taken for all there is. */
static void
tell_unknown(const struct report_opts *o, const struct ht_cov_report *r)
{
	const struct ht_cov_tallies *t = &r->total;
	unsigned doubt = 0;
	char text[160];

	for (uint32_t i = 0; i < r->n_branches; i++)
		doubt |= r->branches[i].doubt;
	for (uint32_t i = 0; i < r->n_functions; i++)
		doubt |= r->functions[i].state == HT_COV_UNKNOWN ? r->functions[i].doubt : 0;
	for (uint32_t i = 0; i < r->n_files; i++)
		for (uint32_t k = 0; k < r->files[i].n_lines; k++)
			doubt |= r->files[i].lines[k].doubt;
	if (!t->lines.unknown && !t->branches.unknown && !t->functions.unknown && !t->insns.unknown)
		return;
	snprintf(text, sizeof(text),
	         "%llu lines, %llu branch outcomes and %llu functions are unknown",
	         (unsigned long long)t->lines.unknown, (unsigned long long)t->branches.unknown,
	         (unsigned long long)t->functions.unknown);
	tool_warn("%s: neither hit nor missed, since %s%s%s", text,
	          doubt & HT_COV_LOST ? "trace was lost" : "",
	          doubt == (HT_COV_LOST | HT_COV_UNRECORDED) ? " and " : "",
	          doubt & HT_COV_UNRECORDED ? "they were not recorded" : "");
	for (size_t i = 0; i < sizeof(without_unknown) / sizeof(*without_unknown); i++)
		if (o->formats[without_unknown[i]])
			tool_warn("%s: leaves out what is unknown: the format cannot say it",
			          o->formats[without_unknown[i]]);
}

int
cover_tell_missing(const struct ht_cov_report *r)
{
	int missing = 0, covered = r->n_files || r->n_functions;

	for (uint32_t i = 0; i < r->n_modules; i++) {
		const struct ht_cov_module *m = &r->modules[i];

		covered |= m->chosen && !m->why;
		missing |= m->chosen && m->why;
		if (m->chosen && m->why)
			tool_warn("%s: not covered: %s", m->path, m->why);
	}
	if (!missing || covered)
		return EXIT_OK;
	return tool_error("no file of the program was found as it was recorded");
}

int
cover_write_report(const struct report_opts *o, const struct cover *c, const struct ht_cov_report *r)
{
	const char *path = o->output ? o->output : "-";
	int status = EXIT_OK;
	FILE *f;

	if (o->output || !stdout_is_taken(o)) {
		f = cover_open(path);
		if (!f)
			return EXIT_ERROR;
		print_report(f, o, c, r);
		status = cover_close(f, path);
	}
	if (o->html && cover_write_html(o->html, c, r) != EXIT_OK)
		status = EXIT_ERROR;
	for (int i = 0; i < COVER_FORMAT_COUNT; i++)
		if (o->formats[i] && writers[i](o->formats[i], c, r) != EXIT_OK)
			status = EXIT_ERROR;
	tell_unknown(o, r);
	return status;
}
