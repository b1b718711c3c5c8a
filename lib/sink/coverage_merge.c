/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reports into one.  Each thing has an identity that does not depend on which
 * report told of it, and adding is the same in any order: counts add up, states
 * take the strongest.
 */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "sink/coverage_build.h"

/* A module of one report, and where it goes. */
struct source {
	const struct ht_cov_module *m;
	size_t   report;
	uint32_t number;
};

struct merger {
	struct cov_builder *b;
	const struct ht_cov_report *const *in;
	size_t     n;
	uint32_t **modules; /* by report: number there -> here */
};

static int
compare_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int
source_order(const void *a, const void *b)
{
	const struct source *x = a, *y = b;
	int rc = strcmp(x->m->path, y->m->path);

	return rc ? rc : compare_text(x->m->build_id, y->m->build_id);
}

static void
add_module(struct ht_cov_module *into, const struct ht_cov_module *m)
{
	/* One report that could read the file is enough. */
	if (m->chosen && !m->why && (!into->chosen || into->why || m->source < into->source))
		into->source = m->source;
	if (m->chosen && (!into->chosen || !m->why || (into->why && strcmp(m->why, into->why) < 0)))
		into->why = m->why;
	into->chosen |= m->chosen;
	into->executed = cov_add(into->executed, m->executed);
	into->gaps = cov_add(into->gaps, m->gaps);
	if (into->damaged_units < m->damaged_units)
		into->damaged_units = m->damaged_units;
}

static int
new_module(struct merger *g, const struct ht_cov_module *m)
{
	struct ht_cov_module *out = ht_vec_push(&g->b->modules);

	if (!out)
		return -HT_ENOMEM;
	memset(out, 0, sizeof(*out));
	out->path = cov_string(g->b, m->path);
	out->build_id = m->build_id ? cov_string(g->b, m->build_id) : NULL;
	return out->path && (out->build_id || !m->build_id) ? 0 : -HT_ENOMEM;
}

static int
merge_modules(struct merger *g)
{
	struct { struct source *at; size_t n, cap; } all = { NULL, 0, 0 };
	int rc = 0;

	for (size_t i = 0; i < g->n && rc == 0; i++) {
		g->modules[i] = calloc(g->in[i]->n_modules + 1u, sizeof(**g->modules));
		if (!g->modules[i])
			rc = -HT_ENOMEM;
		for (uint32_t k = 0; k < g->in[i]->n_modules && rc == 0; k++) {
			struct source *s = ht_vec_push(&all);

			if (s)
				*s = (struct source){ &g->in[i]->modules[k], i, k };
			else
				rc = -HT_ENOMEM;
		}
	}
	if (all.n)
		qsort(all.at, all.n, sizeof(*all.at), source_order);
	for (size_t i = 0; i < all.n && rc == 0; i++) {
		if (!i || source_order(&all.at[i - 1], &all.at[i]))
			rc = new_module(g, all.at[i].m);
		if (rc == 0) {
			add_module(&g->b->modules.at[g->b->modules.n - 1], all.at[i].m);
			g->modules[all.at[i].report][all.at[i].number] = (uint32_t)g->b->modules.n - 1;
		}
	}
	for (size_t i = 0; i < g->b->modules.n && rc == 0; i++) {
		struct ht_cov_module *m = &g->b->modules.at[i];

		if (m->why && !(m->why = cov_string(g->b, m->why)))
			rc = -HT_ENOMEM;
	}
	ht_vec_free(&all);
	return rc;
}

/* -- one report ----------------------------------------------------------- */

/* Other tools know the linker's name alone; the report that knows both tells the source's. */
static int
better_name(const struct ht_cov_function *f, const struct ht_cov_function *from)
{
	if (!f->linkage != !from->linkage)
		return !f->linkage;
	return strcmp(from->name, f->name) < 0;
}

static int
take_name(struct cov_builder *b, struct ht_cov_function *f, const struct ht_cov_function *from)
{
	if (!better_name(f, from))
		return 0;
	f->name = cov_string(b, from->name);
	f->linkage = from->linkage ? cov_string(b, from->linkage) : NULL;
	return f->name && (f->linkage || !from->linkage) ? 0 : -HT_ENOMEM;
}

static void
add_function(const struct cov_builder *b, struct ht_cov_function *f,
             const struct ht_cov_function *from, uint32_t module)
{
	if (module < f->module || (module == f->module && from->addr < f->addr)) {
		f->module = module;
		f->addr = from->addr;
	}
	f->count = cov_add(f->count, from->count);
	if (f->end_line < from->end_line)
		f->end_line = from->end_line;
	if (f->copies < from->copies)
		f->copies = from->copies;
	if (f->inlined < from->inlined)
		f->inlined = from->inlined;
	f->doubt = cov_doubts(b, f->doubt, from->doubt);
	if (from->state == HT_COV_HIT)
		f->state = HT_COV_HIT;
}

/* functions[number there] = number here */
static int
merge_functions(struct merger *g, size_t i, const uint32_t *files, uint32_t *functions)
{
	const struct ht_cov_report *r = g->in[i];

	for (uint32_t k = 0; k < r->n_functions; k++) {
		const struct ht_cov_function *f = &r->functions[k];
		struct ht_cov_function like = { .name = f->name, .linkage = f->linkage, .line = f->line,
			.file = f->file == HT_COV_NONE ? HT_COV_NONE : files[f->file],
			.module = g->modules[i][f->module], .addr = f->addr };

		functions[k] = cov_function(g->b, &like);
		if (functions[k] == HT_COV_NONE || take_name(g->b, &g->b->functions.at[functions[k]], f) < 0)
			return -HT_ENOMEM;
		add_function(g->b, &g->b->functions.at[functions[k]], f, like.module);
	}
	return 0;
}

static int
merge_branches(struct merger *g, size_t i, const uint32_t *files, const uint32_t *functions)
{
	const struct ht_cov_report *r = g->in[i];

	for (uint32_t k = 0; k < r->n_branches; k++) {
		struct ht_cov_branch *br = ht_vec_push(&g->b->branches);

		if (!br)
			return -HT_ENOMEM;
		*br = r->branches[k];
		if (br->file != HT_COV_NONE)
			br->file = files[br->file];
		if (br->function != HT_COV_NONE)
			br->function = functions[br->function];
		br->module = g->modules[i][br->module];
	}
	return 0;
}

/* Lines of a report are records of one copy each: copies add up. */
static int
merge_lines(struct merger *g, size_t i, const uint32_t *files)
{
	const struct ht_cov_report *r = g->in[i];

	for (uint32_t f = 0; f < r->n_files; f++)
		for (uint32_t k = 0; k < r->files[f].n_lines; k++) {
			const struct ht_cov_line *l = &r->files[f].lines[k];
			struct cov_line_rec *rec = ht_vec_push(&g->b->recs);

			if (!rec)
				return -HT_ENOMEM;
			*rec = (struct cov_line_rec){ files[f],    l->line,  HT_COV_NONE,
				                      (uint32_t)i, l->count, COV_STATEMENT,
				                      l->doubt };
		}
	return 0;
}

static int
merge_report(struct merger *g, size_t i)
{
	const struct ht_cov_report *r = g->in[i];
	uint32_t *files = calloc(r->n_files + 1u, sizeof(*files));
	uint32_t *functions = calloc(r->n_functions + 1u, sizeof(*functions));
	int rc = files && functions ? 0 : -HT_ENOMEM;

	for (uint32_t k = 0; k < r->n_files && rc == 0; k++)
		if ((files[k] = cov_file(g->b, r->files[k].path)) == HT_COV_NONE)
			rc = -HT_ENOMEM;
	if (rc == 0)
		rc = merge_functions(g, i, files, functions);
	if (rc == 0)
		rc = merge_branches(g, i, files, functions);
	if (rc == 0)
		rc = merge_lines(g, i, files);
	g->b->r.gaps = cov_add(g->b->r.gaps, r->gaps);
	g->b->r.unresolved = cov_add(g->b->r.unresolved, r->unresolved);
	free(files);
	free(functions);
	return rc;
}

/* A function's lines are those of its file from its first to its last. */
static void
tally_function_lines(struct cov_builder *b)
{
	for (size_t i = 0; i < b->functions.n; i++) {
		struct ht_cov_function *f = &b->functions.at[i];
		const struct ht_cov_file *file = f->file == HT_COV_NONE ? NULL : &b->files.at[f->file];
		uint32_t lo = 0, hi = file ? file->n_lines : 0;

		while (lo < hi) {
			uint32_t mid = lo + (hi - lo) / 2;

			if (file->lines[mid].line < f->line)
				lo = mid + 1;
			else
				hi = mid;
		}
		for (; file && lo < file->n_lines && file->lines[lo].line <= f->end_line; lo++)
			cov_tally_add(&f->tally.lines, file->lines[lo].state);
	}
}

int
ht_cov_report_merge(const struct ht_cov_report *const *in, size_t n, struct ht_cov_report **out,
                    struct ht_diag *diag)
{
	struct merger g = { calloc(1, sizeof(*g.b)), in, n, calloc(n + 1, sizeof(*g.modules)) };
	int rc = g.b && g.modules ? merge_modules(&g) : -HT_ENOMEM;

	if (g.b)
		g.b->merging = 1;
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = merge_report(&g, i);
	if (rc == 0)
		rc = cov_build_sum(g.b);
	for (size_t i = 0; g.modules && i < n; i++)
		free(g.modules[i]);
	free(g.modules);
	if (rc < 0) {
		ht_cov_report_free(g.b ? &g.b->r : NULL);
		return ht_fail(diag, HT_ENOMEM, NULL, HT_NO_OFFSET, NULL, "out of memory while reports were merged");
	}
	tally_function_lines(g.b);
	cov_build_finish(g.b);
	*out = &g.b->r;
	return 0;
}
