/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hwtrace diff: what one of two runs reached and the other did not.  Both are
 * sorted the same way, so that they are walked side by side.
 */
#include <stdlib.h>
#include <string.h>

#include "load.h"
#include "patch.h"

struct diff_opts {
	struct load_opts load;
	const char *output, *patch, *fail_line;
};

#define AT(field) offsetof(struct diff_opts, field)

static const struct opt opts[] = {
	{ 'o', "output", "FILE", OPT_STRING, AT(output), "write here instead of to standard output" },
	{ 0, "diff-file", "PATCH", OPT_STRING, AT(patch), "only lines that this patch adds; - is standard input" },
	{ 0, "fail-under-line", "N", OPT_STRING, AT(fail_line),
	  "exit with status 2 when less than N per cent of the lines (of the patch) ran in B" },
	LOAD_OPTS(struct diff_opts, load),
	OPT_END
};

static int run(int argc, char **argv);

const struct command command_diff = {
	"diff", "A B", "Show what one of two runs reached and the other did not", opts, run, 0
};

/* Of two sides, 0 = A and 1 = B. */
struct diff {
	const struct ht_cov_report *side[2];
	struct patch patch;
	int          patched;
	FILE        *f;
	int          wanted;       /* the side whose own things are printed at the moment */
	struct ht_cov_tally lines[2], branches[2], functions[2];
	uint64_t     alone[3][2];  /* lines, branches, functions that only this side reached */
	uint64_t not_known[3];     /* the same that one reached and the other does not know of */
	uint64_t     incomparable; /* lines with other branches in A than in B */
};

static void
tally(struct ht_cov_tally *t, unsigned state)
{
	t->all++;
	t->hit += state == HT_COV_HIT;
	t->unknown += state == HT_COV_UNKNOWN;
}

/* State of a thing on the side that may not have it at all. */
static unsigned
line_state(const struct ht_cov_line *l)
{
	return l ? l->state : HT_COV_NOT_HIT;
}

static const char *
other_state(unsigned state)
{
	return state == HT_COV_UNKNOWN ? " (in the other: unknown)" : "";
}

/* Side `wanted` reached a thing of this kind, the other side did not. */
static void
count_alone(struct diff *d, int kind, unsigned other)
{
	if (other == HT_COV_UNKNOWN)
		d->not_known[kind]++;
	else
		d->alone[kind][d->wanted]++;
}

/* -- lines and their branches --------------------------------------------- */

struct range { uint32_t first, last; unsigned other; };

static void
print_range(const struct diff *d, const char *path, const struct range *r)
{
	if (!r->first)
		return;
	if (r->first == r->last)
		fprintf(d->f, "%s:%u: line%s\n", cover_path(path), r->first, other_state(r->other));
	else
		fprintf(d->f, "%s:%u-%u: lines%s\n", cover_path(path), r->first, r->last, other_state(r->other));
}

static void
compare_outcome(struct diff *d, const char *path, const struct ht_cov_branch *const b[2], int taken, uint32_t k,
                uint32_t n)
{
	unsigned state[2] = { cover_outcome(b[0], taken), cover_outcome(b[1], taken) };
	int w = d->wanted;

	if (state[w] != HT_COV_HIT || state[!w] == HT_COV_HIT)
		return;
	count_alone(d, 1, state[!w]);
	fprintf(d->f, "%s:%u: branch %u of %u %s%s\n", cover_path(path), b[0]->line, k + 1, n,
	        taken ? "taken" : "not taken", other_state(state[!w]));
}

static void
compare_branches(struct diff *d, const char *path, const struct ht_cov_line *const l[2])
{
	/* A line that one side alone reached is told as such. */
	if (!l[0] || !l[1] || l[0]->state != HT_COV_HIT || l[1]->state != HT_COV_HIT)
		return;
	if (l[0]->n_branches != l[1]->n_branches) {
		d->incomparable += d->wanted;
		return;
	}
	for (uint32_t k = 0; k < l[0]->n_branches; k++) {
		const struct ht_cov_branch *b[2] = { &d->side[0]->branches[l[0]->first_branch + k],
			&d->side[1]->branches[l[1]->first_branch + k] };

		compare_outcome(d, path, b, 1, k, l[0]->n_branches);
		if (!b[0]->one && !b[1]->one)
			compare_outcome(d, path, b, 0, k, l[0]->n_branches);
	}
}

static void
tally_line(struct diff *d, int side, const struct ht_cov_line *l)
{
	if (!l || d->wanted != side)
		return;
	tally(&d->lines[side], l->state);
	for (uint32_t k = 0; k < l->n_branches; k++) {
		const struct ht_cov_branch *b = &d->side[side]->branches[l->first_branch + k];

		tally(&d->branches[side], cover_outcome(b, 1));
		if (!b->one)
			tally(&d->branches[side], cover_outcome(b, 0));
	}
}

/* One file; either may be NULL. */
static void
compare_file(struct diff *d, const struct ht_cov_file *a, const struct ht_cov_file *b)
{
	const struct ht_cov_file *file[2] = { a, b };
	const char *path = a ? a->path : b->path;
	const struct patch_file *patch = d->patched ? patch_find(&d->patch, path) : NULL;
	uint32_t at[2] = { 0, 0 };
	struct range range = { 0, 0, 0 };

	if (d->patched && !patch)
		return;
	while ((a && at[0] < a->n_lines) || (b && at[1] < b->n_lines)) {
		const struct ht_cov_line *l[2];
		uint32_t line = UINT32_MAX;
		int w = d->wanted;

		for (int i = 0; i < 2; i++) {
			l[i] = file[i] && at[i] < file[i]->n_lines ? &file[i]->lines[at[i]] : NULL;
			if (l[i] && l[i]->line < line)
				line = l[i]->line;
		}
		for (int i = 0; i < 2; i++)
			if (l[i] && l[i]->line == line)
				at[i]++;
			else
				l[i] = NULL;
		if (patch && !patch_adds(patch, line)) {
			print_range(d, path, &range);
			range.first = 0;
			continue;
		}
		tally_line(d, w, l[w]);
		if (line_state(l[w]) == HT_COV_HIT && line_state(l[!w]) != HT_COV_HIT) {
			count_alone(d, 0, line_state(l[!w]));
			if (!range.first || range.other != line_state(l[!w])) {
				print_range(d, path, &range);
				range = (struct range){ line, line, line_state(l[!w]) };
			}
			range.last = line;
			continue;
		}
		print_range(d, path, &range);
		range.first = 0;
		compare_branches(d, path, l);
	}
	print_range(d, path, &range);
}

static void
compare_files(struct diff *d)
{
	uint32_t i = 0, k = 0;

	while (i < d->side[0]->n_files || k < d->side[1]->n_files) {
		const struct ht_cov_file *a = i < d->side[0]->n_files ? &d->side[0]->files[i] : NULL;
		const struct ht_cov_file *b = k < d->side[1]->n_files ? &d->side[1]->files[k] : NULL;
		int rc = !a ? 1 : !b ? -1 : strcmp(a->path, b->path);

		compare_file(d, rc <= 0 ? a : NULL, rc >= 0 ? b : NULL);
		i += rc <= 0;
		k += rc >= 0;
	}
}

/* -- functions ------------------------------------------------------------ */

static int
function_order(const struct ht_cov_report *const r[2], const struct ht_cov_function *a,
               const struct ht_cov_function *b)
{
	int none = a->file == HT_COV_NONE, rc;

	if (none != (b->file == HT_COV_NONE))
		return none ? 1 : -1;
	if (none) {
		rc = strcmp(r[0]->modules[a->module].path, r[1]->modules[b->module].path);
		if (!rc && a->addr != b->addr)
			rc = a->addr < b->addr ? -1 : 1;
		return rc;
	}
	rc = strcmp(r[0]->files[a->file].path, r[1]->files[b->file].path);
	if (!rc && a->line != b->line)
		rc = a->line < b->line ? -1 : 1;
	if (!rc)
		rc = strcmp(a->name, b->name);
	return rc ? rc : strcmp(a->linkage ? a->linkage : "", b->linkage ? b->linkage : "");
}

static void
compare_function(struct diff *d, const struct ht_cov_function *a, const struct ht_cov_function *b)
{
	const struct ht_cov_function *fn[2] = { a, b };
	int w = d->wanted;
	const struct ht_cov_report *r = d->side[w];
	const struct patch_file *patch;
	unsigned other = fn[!w] ? fn[!w]->state : HT_COV_NOT_HIT;

	if (!fn[w])
		return;
	if (d->patched) {
		patch = fn[w]->file == HT_COV_NONE ? NULL : patch_find(&d->patch, r->files[fn[w]->file].path);
		if (!patch || !patch_adds(patch, fn[w]->line))
			return;
	}
	tally(&d->functions[w], fn[w]->state);
	if (fn[w]->state != HT_COV_HIT || other == HT_COV_HIT)
		return;
	count_alone(d, 2, other);
	if (fn[w]->file != HT_COV_NONE)
		fprintf(d->f, "%s:%u: function %s%s\n", cover_path(r->files[fn[w]->file].path), fn[w]->line,
		        fn[w]->shown, other_state(other));
	else
		fprintf(d->f, "%s: function %s (0x%llx)%s\n", cover_path(r->modules[fn[w]->module].path),
		        fn[w]->shown, (unsigned long long)fn[w]->addr, other_state(other));
}

static void
compare_functions(struct diff *d)
{
	uint32_t i = 0, k = 0;

	while (i < d->side[0]->n_functions || k < d->side[1]->n_functions) {
		const struct ht_cov_function *a = i < d->side[0]->n_functions ? &d->side[0]->functions[i] : NULL;
		const struct ht_cov_function *b = k < d->side[1]->n_functions ? &d->side[1]->functions[k] : NULL;
		int rc = !a ? 1 : !b ? -1 : function_order(d->side, a, b);

		compare_function(d, rc <= 0 ? a : NULL, rc >= 0 ? b : NULL);
		i += rc <= 0;
		k += rc >= 0;
	}
}

static void
compare_other_branch(struct diff *d, const struct ht_cov_branch *const b[2])
{
	int w = d->wanted;

	for (int taken = 1; taken >= 0 && b[w]; taken--) {
		unsigned state = cover_outcome(b[w], taken);
		unsigned other = b[!w] ? cover_outcome(b[!w], taken) : HT_COV_NOT_HIT;

		if (!taken && b[w]->one)
			break;
		tally(&d->branches[w], state);
		if (state != HT_COV_HIT || other == HT_COV_HIT)
			continue;
		count_alone(d, 1, other);
		fprintf(d->f, "%s: branch 0x%llx %s%s\n", cover_path(d->side[w]->modules[b[w]->module].path),
		        (unsigned long long)b[w]->addr, taken ? "taken" : "not taken", other_state(other));
	}
}

/* Branches of functions without lines, which stand at the end: by module and address. */
static void
compare_other_branches(struct diff *d)
{
	const struct ht_cov_branch *at[2], *end[2];

	for (int i = 0; i < 2; i++) {
		at[i] = d->side[i]->branches;
		end[i] = at[i] + d->side[i]->n_branches;
		while (at[i] < end[i] && at[i]->file != HT_COV_NONE)
			at[i]++;
	}
	while (!d->patched && (at[0] < end[0] || at[1] < end[1])) {
		const struct ht_cov_branch *b[2];
		int rc = at[0] == end[0] ? 1 : at[1] == end[1] ? -1 :
		         strcmp(d->side[0]->modules[at[0]->module].path, d->side[1]->modules[at[1]->module].path);

		if (!rc && at[0]->addr != at[1]->addr)
			rc = at[0]->addr < at[1]->addr ? -1 : 1;
		b[0] = rc <= 0 ? at[0]++ : NULL;
		b[1] = rc >= 0 ? at[1]++ : NULL;
		compare_other_branch(d, b);
	}
}

/* -- all of it ------------------------------------------------------------ */

static void
print_row(const struct diff *d, const char *what, const struct ht_cov_tally t[2], const uint64_t alone[2])
{
	char part[2][48];

	for (int i = 0; i < 2; i++)
		snprintf(part[i], sizeof(part[i]), "%llu/%llu", (unsigned long long)t[i].hit,
		         (unsigned long long)(t[i].all - t[i].unknown));
	fprintf(d->f, "%-10s  %14s  %14s  %10llu  %10llu\n", what, part[0], part[1], (unsigned long long)alone[0],
	        (unsigned long long)alone[1]);
}

static void
compare(struct diff *d, char *const names[2])
{
	for (int i = 1; i >= 0; i--) {
		d->wanted = i;
		fprintf(d->f, "reached by %s alone:\n", names[i]);
		compare_files(d);
		compare_functions(d);
		compare_other_branches(d);
		fputc('\n', d->f);
	}
	fprintf(d->f, "%-10s  %14s  %14s  %10s  %10s\n", d->patched ? "new code" : "", "A", "B", "A alone", "B alone");
	print_row(d, "lines", d->lines, d->alone[0]);
	print_row(d, "branches", d->branches, d->alone[1]);
	print_row(d, "functions", d->functions, d->alone[2]);
	if (d->not_known[0] || d->not_known[1] || d->not_known[2])
		tool_warn("%llu lines, %llu branch outcomes and %llu functions that one reached "
		          "are unknown in the "
		          "other: they are no difference",
		          (unsigned long long)d->not_known[0], (unsigned long long)d->not_known[1],
		          (unsigned long long)d->not_known[2]);
	if (d->incomparable)
		tool_warn("%llu lines have other branches in one than in the other; these are not compared",
		          (unsigned long long)d->incomparable);
}

/* The same path, but another file: lines and names are compared, addresses mean nothing. */
static void
tell_other_builds(const struct diff *d)
{
	for (uint32_t i = 0; i < d->side[0]->n_modules; i++)
		for (uint32_t k = 0; k < d->side[1]->n_modules; k++) {
			const struct ht_cov_module *a = &d->side[0]->modules[i], *b = &d->side[1]->modules[k];

			if (a->chosen && b->chosen && !strcmp(a->path, b->path) && a->build_id && b->build_id &&
			    strcmp(a->build_id, b->build_id))
				tool_warn("%s: not the same build in both", a->path);
		}
}

static int
diff(const struct diff_opts *o, char **paths)
{
	struct report_opts threshold = { .fail_line = o->fail_line };
	struct ht_cov_report *r[2] = { NULL, NULL }, sums = { 0 };
	struct diff d = { 0 };
	struct cover c = { 0 };
	const char *const from[] = { paths[0], paths[1], o->patch };
	int status = input_spare(&o->load.input, from, o->patch ? 3 : 2, o->output, "-o");

	if (status == EXIT_OK && o->patch)
		status = patch_open(&d.patch, o->patch);
	d.patched = o->patch != NULL;
	for (int i = 0; i < 2 && status == EXIT_OK; i++) {
		status = load_merged(&o->load, paths + i, 1, &c, &r[i]);
		d.side[i] = r[i];
	}
	d.f = status == EXIT_OK ? cover_open(o->output ? o->output : "-") : NULL;
	if (d.f) {
		int told = cover_tell_missing(r[0]);

		if (cover_tell_missing(r[1]) != EXIT_OK)
			told = EXIT_ERROR;
		tell_other_builds(&d);
		compare(&d, paths);
		status = cover_close(d.f, o->output ? o->output : "-");
		if (status == EXIT_OK)
			status = told;
		if (c.decoded)
			loss_report(&c.loss, 0);
		sums.total.lines = d.lines[1];
		/* A patch without code is in order. */
		if (status == EXIT_OK && !(d.patched && !d.lines[1].all))
			status = cover_thresholds(&threshold, &sums);
	} else {
		status = status == EXIT_OK ? EXIT_ERROR : status;
	}
	ht_cov_report_free(r[0]);
	ht_cov_report_free(r[1]);
	patch_close(&d.patch);
	cover_free_sources(&c);
	return status;
}

static int
run(int argc, char **argv)
{
	struct diff_opts o = { 0 };
	int first = opts_parse_mixed(&command_diff, argc, argv, &o), status;
	struct report_opts threshold = { .fail_line = o.fail_line };

	if (first < 0)
		return first == -2 ? EXIT_OK : EXIT_USAGE;
	if (argc - first != 2) {
		fprintf(stderr, "hwtrace diff: two files are compared, %d given; see hwtrace diff --help\n",
		        argc - first);
		status = EXIT_USAGE;
	} else if (cover_check_thresholds(&threshold, "diff") != EXIT_OK ||
	           cover_check_source_map(&o.load.source_map, "diff") != EXIT_OK) {
		status = EXIT_USAGE;
	} else {
		status = diff(&o, argv + first);
	}
	free(o.load.modules.at);
	free(o.load.source_map.at);
	return status;
}
