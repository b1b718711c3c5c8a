/* SPDX-License-Identifier: BSD-2-Clause */
/* Records into tables: sorted by file and line, summed up, the same whatever order modules came in. */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "sink/coverage_build.h"

#define ORDER(x, y) do { if ((x) != (y)) return (x) < (y) ? -1 : 1; } while (0)

/* -- order of files and functions ----------------------------------------- */

static int
file_order(const void *a, const void *b, void *arg)
{
	const struct ht_cov_file *f = arg;

	return strcmp(f[*(const uint32_t *)a].path, f[*(const uint32_t *)b].path);
}

static int
function_order(const void *a, const void *b, void *arg)
{
	const struct ht_cov_function *f = arg, *x = &f[*(const uint32_t *)a], *y = &f[*(const uint32_t *)b];
	int rc;

	ORDER(x->file, y->file);
	ORDER(x->line, y->line);
	if (x->file == HT_COV_NONE) {
		ORDER(x->module, y->module);
		ORDER(x->addr, y->addr);
	}
	rc = strcmp(x->name, y->name);
	if (!rc)
		rc = strcmp(x->linkage ? x->linkage : "", y->linkage ? y->linkage : "");
	if (rc)
		return rc;
	ORDER(x->module, y->module);
	ORDER(x->addr, y->addr);
	return 0;
}

/* place[old number] = new number, by `order`; returns NULL when out of memory. */
static uint32_t *
rank(size_t n, int (*order)(const void *, const void *, void *), void *items, uint32_t **sorted)
{
	uint32_t *index = calloc(n + 1, sizeof(*index)), *place = calloc(n + 1, sizeof(*place));

	if (!index || !place) {
		free(index);
		free(place);
		return NULL;
	}
	for (size_t i = 0; i < n; i++)
		index[i] = (uint32_t)i;
	if (n)
		qsort_r(index, n, sizeof(*index), order, items);
	for (size_t i = 0; i < n; i++)
		place[index[i]] = (uint32_t)i;
	*sorted = index;
	return place;
}

/* Items in the order `sorted`. */
static int
permute(void *items, size_t n, size_t size, const uint32_t *sorted)
{
	char *copy;

	if (!n)
		return 0;
	copy = malloc(n * size);
	if (!copy)
		return -HT_ENOMEM;
	for (size_t i = 0; i < n; i++)
		memcpy(copy + i * size, (char *)items + sorted[i] * size, size);
	memcpy(items, copy, n * size);
	free(copy);
	return 0;
}

static int
sort_files(struct cov_builder *b)
{
	uint32_t *sorted, *place = rank(b->files.n, file_order, b->files.at, &sorted);
	int rc;

	if (!place)
		return -HT_ENOMEM;
	for (size_t i = 0; i < b->functions.n; i++)
		if (b->functions.at[i].file != HT_COV_NONE)
			b->functions.at[i].file = place[b->functions.at[i].file];
	for (size_t i = 0; i < b->branches.n; i++)
		if (b->branches.at[i].file != HT_COV_NONE)
			b->branches.at[i].file = place[b->branches.at[i].file];
	for (size_t i = 0; i < b->sites.n; i++)
		if (b->sites.at[i].file != HT_COV_NONE)
			b->sites.at[i].file = place[b->sites.at[i].file];
	for (size_t i = 0; i < b->recs.n; i++)
		b->recs.at[i].file = place[b->recs.at[i].file];
	rc = permute(b->files.at, b->files.n, sizeof(*b->files.at), sorted);
	free(sorted);
	free(place);
	return rc;
}

static int
sort_functions(struct cov_builder *b)
{
	uint32_t *sorted, *place = rank(b->functions.n, function_order, b->functions.at, &sorted);
	int rc;

	if (!place)
		return -HT_ENOMEM;
	for (size_t i = 0; i < b->branches.n; i++)
		if (b->branches.at[i].function != HT_COV_NONE)
			b->branches.at[i].function = place[b->branches.at[i].function];
	for (size_t i = 0; i < b->sites.n; i++)
		b->sites.at[i].function = place[b->sites.at[i].function];
	rc = permute(b->functions.at, b->functions.n, sizeof(*b->functions.at), sorted);
	free(sorted);
	free(place);
	return rc;
}

/* -- lines ---------------------------------------------------------------- */

static int
rec_order(const void *a, const void *b)
{
	const struct cov_line_rec *x = a, *y = b;

	ORDER(x->file, y->file);
	ORDER(x->line, y->line);
	ORDER(x->function, y->function);
	ORDER(x->copy, y->copy);
	ORDER(y->place, x->place);
	return 0;
}

static int
same_line(const struct cov_line_rec *x, const struct cov_line_rec *y)
{
	return x->file == y->file && x->line == y->line;
}

static int
same_copy(const struct cov_line_rec *x, const struct cov_line_rec *y)
{
	return same_line(x, y) && x->function == y->function && x->copy == y->copy;
}

/*
 * Reduce to one record a copy: of the rows that are its statement's place, or,
 * where none of those kept code, of all rows.  The latter may have moved away from
 * the statement, as the set-up of a loop does: they count no more often than the
 * instructions that it begins at, where the table tells these.  (They alone would
 * not do: of code that was moved up before a branch the begin may stand where the
 * ways meet again.)  Where no code is left the line is none of the copy.  A head
 * ran as often as the function was entered, or more where it holds statements.
 */
static void
reduce_copies(struct cov_builder *b)
{
	struct cov_line_rec *r = b->recs.at;
	size_t out = 0;

	if (b->recs.n)
		qsort(r, b->recs.n, sizeof(*r), rec_order);
	for (size_t i = 0, k; i < b->recs.n; i = k) {
		struct cov_line_rec o = r[i];
		uint64_t most[COV_HEAD + 1] = { 0 };
		int code = 0;

		for (k = i; k < b->recs.n && same_copy(&o, &r[k]); k++) {
			o.doubt = cov_doubts(b, o.doubt, r[k].doubt);
			if (most[r[k].place] < r[k].count)
				most[r[k].place] = r[k].count;
			code |= r[k].place == COV_CODE || r[k].place == COV_STATEMENT;
		}
		o.count = most[o.place];
		if (o.place == COV_MARK && o.count > most[COV_CODE])
			o.count = most[COV_CODE];
		if (o.place == COV_HEAD && o.count < most[COV_STATEMENT])
			o.count = most[COV_STATEMENT];
		if (o.place == COV_HEAD && code)
			o.place = COV_STATEMENT;
		if (o.place != COV_MARK || code)
			r[out++] = o;
	}
	b->recs.n = out;
}

/* Heads are lines where one of the copies has code for them; to `end`, the next line. */
static int
is_code(const struct cov_builder *b, size_t i, size_t *end)
{
	int code = 0;

	for (*end = i; *end < b->recs.n && same_line(&b->recs.at[i], &b->recs.at[*end]); (*end)++)
		code |= b->recs.at[*end].place != COV_HEAD;
	return code;
}

static void
note_end(struct ht_cov_function *f, const struct cov_line_rec *r)
{
	if (f->file == r->file && f->end_line < r->line && r->line >= f->line)
		f->end_line = r->line;
}

static int
build_lines(struct cov_builder *b)
{
	const struct cov_line_rec *r = b->recs.at;
	size_t n = b->recs.n;

	for (size_t i = 0, j; i < n; i = j) {
		struct ht_cov_line *l;
		uint64_t count = 0;
		uint8_t doubt = r[i].doubt;

		if (!is_code(b, i, &j))
			continue;
		l = ht_vec_push(&b->lines);
		if (!l)
			return -HT_ENOMEM;
		for (j = i; j < n && same_line(&r[i], &r[j]);) {
			uint64_t own = 0;
			uint8_t own_doubt = r[j].doubt;
			size_t k;

			for (k = j; k < n && same_line(&r[j], &r[k]) && r[k].function == r[j].function; k++) {
				own = cov_add(own, r[k].count);
				own_doubt = cov_doubts(b, own_doubt, r[k].doubt);
			}
			if (r[j].function != HT_COV_NONE) {
				cov_tally_add(&b->functions.at[r[j].function].tally.lines,
				              cov_state(own, own_doubt));
				note_end(&b->functions.at[r[j].function], &r[j]);
			}
			count = cov_add(count, own);
			doubt = cov_doubts(b, doubt, own_doubt);
			j = k;
		}
		*l = (struct ht_cov_line){ .line = r[i].line,
			                   .count = count,
			                   .state = cov_state(count, doubt),
			                   .doubt = count ? 0 : doubt };
		cov_tally_add(&b->files.at[r[i].file].tally.lines, l->state);
		b->files.at[r[i].file].n_lines++;
	}
	return 0;
}

/* -- branches ------------------------------------------------------------- */

static int
branch_order(const void *a, const void *b)
{
	const struct ht_cov_branch *x = a, *y = b;

	ORDER(x->file, y->file);
	ORDER(x->line, y->line);
	if (x->file == HT_COV_NONE)
		ORDER(x->function, y->function);
	ORDER(x->module, y->module);
	ORDER(x->addr, y->addr);
	return 0;
}

static int
same_place(const struct ht_cov_branch *x, const struct ht_cov_branch *y)
{
	return x->file == y->file && x->line == y->line && (x->file != HT_COV_NONE || x->function == y->function);
}

/* Number of branches from `i` on that stand at one place in one module. */
static size_t
run_length(const struct cov_builder *b, size_t i)
{
	const struct ht_cov_branch *br = b->branches.at;
	size_t k = i;

	while (k < b->branches.n && same_place(&br[i], &br[k]) && br[k].module == br[i].module)
		k++;
	return k - i;
}

static int
same_shape(const struct ht_cov_branch *x, const struct ht_cov_branch *y, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (x[i].function != y[i].function)
			return 0;
	return 1;
}

static void
add_branch(const struct cov_builder *b, struct ht_cov_branch *into, const struct ht_cov_branch *br)
{
	into->taken = cov_add(into->taken, br->taken);
	into->not_taken = cov_add(into->not_taken, br->not_taken);
	into->doubt = cov_doubts(b, into->doubt, br->doubt);
	into->one &= br->one;
	into->state = cov_state(into->taken | into->not_taken, into->doubt);
}

/* One branch of one module stands once. */
static void
fold_equal(struct cov_builder *b)
{
	struct ht_cov_branch *br = b->branches.at;
	size_t out = 0;

	for (size_t i = 0; i < b->branches.n; i++) {
		struct ht_cov_branch *o = out ? &br[out - 1] : NULL;

		if (o && same_place(o, &br[i]) && o->module == br[i].module && o->addr == br[i].addr)
			add_branch(b, o, &br[i]);
		else
			br[out++] = br[i];
	}
	b->branches.n = out;
}

/* The run among those kept at this place, from `first` on, that is like the one at `like`; `end` if none is. */
static size_t
find_run(const struct cov_builder *b, size_t first, size_t end, size_t like, size_t n)
{
	const struct ht_cov_branch *br = b->branches.at;

	while (first < end) {
		size_t k = first;

		while (k < end && br[k].module == br[first].module)
			k++;
		if (k - first == n && same_shape(&br[first], &br[like], n))
			return first;
		first = k;
	}
	return end;
}

/*
 * The same source in two programs has its branches twice.  Where both give a
 * line the same branches, one after the other in the same functions, they are
 * the same ones and their counts add up; else they stay apart.
 */
static void
merge_branches(struct cov_builder *b)
{
	struct ht_cov_branch *br = b->branches.at;
	size_t out = 0, first = 0;

	if (b->branches.n)
		qsort(br, b->branches.n, sizeof(*br), branch_order);
	fold_equal(b);
	for (size_t i = 0, n; i < b->branches.n; i += n) {
		size_t like;

		n = run_length(b, i);
		if (!out || !same_place(&br[first], &br[i]))
			first = out;
		like = br[i].file == HT_COV_NONE ? out : find_run(b, first, out, i, n);
		if (like == out) {
			memmove(&br[out], &br[i], n * sizeof(*br));
			out += n;
			continue;
		}
		for (size_t k = 0; k < n; k++)
			add_branch(b, &br[like + k], &br[i + k]);
	}
	b->branches.n = out;
}

static void
tally_outcomes(struct ht_cov_tally *t, const struct ht_cov_branch *br)
{
	cov_tally_add(t, cov_state(br->taken, br->doubt));
	if (!br->one)
		cov_tally_add(t, cov_state(br->not_taken, br->doubt));
}

static void
tally_branches(struct cov_builder *b)
{
	for (size_t i = 0; i < b->branches.n; i++) {
		struct ht_cov_branch *br = &b->branches.at[i];

		if (br->function != HT_COV_NONE)
			tally_outcomes(&b->functions.at[br->function].tally.branches, br);
		tally_outcomes(&b->modules.at[br->module].tally.branches, br);
		tally_outcomes(&b->r.total.branches, br);
		if (br->file != HT_COV_NONE)
			tally_outcomes(&b->files.at[br->file].tally.branches, br);
	}
}

/* Hand each file its lines, each line its branches. */
static void
link_tables(struct cov_builder *b)
{
	size_t line = 0, br = 0;

	for (size_t i = 0; i < b->files.n; i++) {
		struct ht_cov_file *f = &b->files.at[i];

		f->lines = b->lines.at + line;
		for (uint32_t k = 0; k < f->n_lines; k++) {
			struct ht_cov_line *l = &b->lines.at[line + k];

			while (br < b->branches.n && (b->branches.at[br].file < i ||
			       (b->branches.at[br].file == i && b->branches.at[br].line < l->line)))
				br++;
			l->first_branch = (uint32_t)br;
			while (br < b->branches.n && b->branches.at[br].file == i &&
			       b->branches.at[br].line == l->line)
				br++;
			l->n_branches = (uint32_t)br - l->first_branch;
		}
		line += f->n_lines;
	}
}

/* -- totals --------------------------------------------------------------- */

static void
add_tally(struct ht_cov_tally *into, const struct ht_cov_tally *t)
{
	into->all += t->all;
	into->hit += t->hit;
	into->unknown += t->unknown;
}

/* Files without lines fell out: headers that only declare. */
static void
drop_empty_files(struct cov_builder *b, uint32_t *place)
{
	size_t out = 0;

	for (size_t i = 0; i < b->files.n; i++) {
		int keep = b->merging || b->files.at[i].n_lines;

		place[i] = keep ? (uint32_t)out : HT_COV_NONE;
		if (keep)
			b->files.at[out++] = b->files.at[i];
	}
	b->files.n = out;
	for (size_t i = 0; i < b->functions.n; i++)
		if (b->functions.at[i].file != HT_COV_NONE)
			b->functions.at[i].file = place[b->functions.at[i].file];
	for (size_t i = 0; i < b->branches.n; i++)
		if (b->branches.at[i].file != HT_COV_NONE)
			b->branches.at[i].file = place[b->branches.at[i].file];
	for (size_t i = 0; i < b->sites.n; i++)
		if (b->sites.at[i].file != HT_COV_NONE)
			b->sites.at[i].file = place[b->sites.at[i].file];
}

static void
tally_functions(struct cov_builder *b)
{
	for (size_t i = 0; i < b->functions.n; i++) {
		struct ht_cov_function *f = &b->functions.at[i];

		if (f->state != HT_COV_HIT && f->doubt)
			f->state = HT_COV_UNKNOWN;
		cov_tally_add(&b->r.total.functions, f->state);
		cov_tally_add(&b->modules.at[f->module].tally.functions, f->state);
		if (f->file != HT_COV_NONE)
			cov_tally_add(&b->files.at[f->file].tally.functions, f->state);
	}
	for (size_t i = 0; i < b->modules.n; i++) {
		add_tally(&b->r.total.insns, &b->modules.at[i].tally.insns);
		add_tally(&b->r.total.calls, &b->modules.at[i].tally.calls);
		add_tally(&b->r.total.blocks, &b->modules.at[i].tally.blocks);
	}
	for (size_t i = 0; i < b->files.n; i++)
		add_tally(&b->r.total.lines, &b->files.at[i].tally.lines);
}

int
cov_build_sum(struct cov_builder *b)
{
	uint32_t *place;

	if (sort_files(b) < 0)
		return -HT_ENOMEM;
	reduce_copies(b);
	if (build_lines(b) < 0)
		return -HT_ENOMEM;
	place = calloc(b->files.n + 1, sizeof(*place));
	if (!place)
		return -HT_ENOMEM;
	drop_empty_files(b, place);
	free(place);
	if (sort_functions(b) < 0) /* by files that are left */
		return -HT_ENOMEM;
	merge_branches(b);
	tally_branches(b);
	tally_functions(b);
	link_tables(b);
	return 0;
}
