/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One module into records.  Each instruction of the walk is given to a row of
 * the line table and to the innermost function there; where there is neither,
 * to the symbol that holds it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "sink/coverage_sites.h"

struct place;

struct work {
	struct cov_builder *b;
	struct cov_code     code;
	struct ht_lines    *lines;
	struct cov_sites sites;
	uint32_t            module;
	const char         *path;
	const struct cov_bound *bound;
	uint32_t            bound_function; /* HT_COV_NONE = not made yet */
	uint32_t            bound_copy;
	int some_lines;    /* the symbol at hand has instructions with a row or function */
	int without_lines; /* the symbol has instructions without a row */

	/* line table, with cursors that follow the walk */
	const struct ht_line_row      *rows;      size_t n_rows, row;
	const struct ht_line_span     *spans;     size_t n_spans, span;
	const struct ht_line_function *functions; uint32_t n_functions;
	const uint64_t                *statements; size_t n_statements;
	const struct ht_line_mark *marks;
	size_t n_marks, mark;

	uint32_t *file_of;     /* file of the line table -> of the report; HT_COV_NONE = left out */
	uint32_t *function_of; /* the same for functions */
	struct place *place_of; /* by function of the line table; addr 0: it is declared */
	uint64_t *repeats;     /* by function of the line table: times that its own code led to its entry */
	uint8_t  *ran;         /* by function of the line table: an instruction of its own ran */
	uint8_t *doubt;        /* ... : enum ht_cov_doubt of all its instructions */
	uint32_t  first_copy;  /* copy number of function 0 of the line table */
	struct cov_insn prev;  /* the instruction before, and its function; size 0 = none */
	uint32_t  prev_function;
	struct cov_line_rec *rec; /* the run of instructions at hand; NULL = none */
	size_t    rec_row;
};

/* -- line table into the report's numbers --------------------------------- */

static int
map_files(struct work *w)
{
	uint32_t n = ht_lines_file_count(w->lines);

	w->file_of = calloc(n ? n : 1, sizeof(*w->file_of));
	if (!w->file_of)
		return -HT_ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		char mapped[4096];
		const char *path = ht_cov_map_source(w->b->config->source_map, ht_lines_file(w->lines, i), mapped,
		                                     sizeof(mapped));

		w->file_of[i] = HT_COV_NONE;
		if (cov_source_wanted(w->b->config, path) && (w->file_of[i] = cov_file(w->b, path)) == HT_COV_NONE)
			return -HT_ENOMEM;
	}
	return 0;
}

/* Where a function is that the debug information gives no line for. */
struct place {
	uint32_t function; /* of the line table */
	uint32_t file, line;
	uint64_t addr;
};
struct places {
	struct place *at;
	size_t n, cap;
};

static int
place_order(const void *a, const void *b, void *functions)
{
	const struct ht_line_function *f = functions;
	const struct place *x = a, *y = b;
	uintptr_t p = (uintptr_t)f[x->function].origin, q = (uintptr_t)f[y->function].origin;

	if (p != q)
		return p < q ? -1 : 1;
	return x->function < y->function ? -1 : x->function > y->function;
}

/* The copy out of line tells, else the one whose first line comes first. */
static int
is_better(const struct ht_line_function *f, const struct place *x, const struct place *best)
{
	int out = f[x->function].parent == HT_LINE_NONE, best_out = f[best->function].parent == HT_LINE_NONE;

	if (!x->line || !best->line || out != best_out)
		return !best->line ? x->line || x->addr < best->addr : x->line && out > best_out;
	return x->line != best->line ? x->line < best->line : x->addr < best->addr;
}

/*
 * Lambdas, what the compiler adds, and functions of Go are declared nowhere, or on no
 * line: the first line of their code is where they are, the same for all copies.
 */
static int
find_places(const struct work *w, struct places *out)
{
	const struct ht_line_function *f = w->functions;

	for (uint32_t i = 0; i < w->n_functions; i++) {
		const struct ht_line_row *row;
		struct place *p;

		if (f[i].file != HT_LINE_NONE && f[i].line)
			continue;
		p = ht_vec_push(out);
		if (!p)
			return -HT_ENOMEM;
		row = ht_lines_find(w->lines, f[i].entry);
		*p = (struct place){ i, f[i].file, 0, f[i].entry };
		if (row && row->line && (p->file == HT_LINE_NONE || p->file == row->file)) {
			p->file = row->file;
			p->line = row->line;
		}
	}
	if (out->n)
		qsort_r(out->at, out->n, sizeof(*out->at), place_order, (void *)(uintptr_t)f);
	for (size_t i = 0, k; i < out->n; i = k) {
		struct place best = out->at[i];

		for (k = i; k < out->n && f[out->at[k].function].origin == f[out->at[i].function].origin; k++)
			if (is_better(f, &out->at[k], &best))
				best = out->at[k];
		for (size_t j = i; j < k; j++)
			w->place_of[out->at[j].function] = best;
	}
	return 0;
}

/* A function of a file that is left out is left out. */
static int
map_function(struct work *w, uint32_t i)
{
	const struct ht_line_function *f = &w->functions[i];
	const struct place *p = &w->place_of[i];
	uint32_t file = p->addr ? p->file : f->file;
	struct ht_cov_function like = { .name = f->name,
		                        .linkage = f->linkage,
		                        .line = p->addr ? p->line : f->line,
		                        .file = file == HT_LINE_NONE ? HT_COV_NONE : w->file_of[file],
		                        .module = w->module,
		                        .addr = p->addr ? p->addr : f->entry };

	w->function_of[i] = HT_COV_NONE;
	if (file != HT_LINE_NONE && like.file == HT_COV_NONE)
		return 0;
	if (like.file != HT_COV_NONE && cov_line_marked(&w->b->marks.at[like.file], like.line))
		return 0;
	w->function_of[i] = cov_function(w->b, &like);
	return w->function_of[i] == HT_COV_NONE ? -HT_ENOMEM : 0;
}

static int
map_functions(struct work *w)
{
	struct places places = { NULL, 0, 0 };
	int rc;

	w->function_of = calloc(w->n_functions + 1, sizeof(*w->function_of));
	w->repeats = calloc(w->n_functions + 1, sizeof(*w->repeats));
	w->ran = calloc(w->n_functions + 1, 1);
	w->doubt = calloc(w->n_functions + 1, 1);
	w->place_of = calloc(w->n_functions + 1, sizeof(*w->place_of));
	if (!w->function_of || !w->repeats || !w->ran || !w->doubt || !w->place_of)
		return -HT_ENOMEM;
	rc = find_places(w, &places);
	ht_vec_free(&places);
	for (uint32_t i = 0; i < w->n_functions && rc == 0; i++)
		rc = map_function(w, i);
	w->first_copy = w->b->copies;
	w->b->copies += w->n_functions;
	return rc;
}

static int
open_lines(struct work *w)
{
	struct ht_cov_module *m = &w->b->modules.at[w->module];
	int rc;

	rc = ht_module_lines(w->code.module, &w->lines, NULL);
	if (rc == -HT_ENOMEM)
		return rc;
	if (rc < 0)
		return 0;
	m->damaged_units = ht_lines_damaged(w->lines);
	m->split_missing = ht_lines_split_missing(w->lines);
	w->rows = ht_lines_rows(w->lines, &w->n_rows);
	w->spans = ht_lines_spans(w->lines, &w->n_spans);
	w->functions = ht_lines_functions(w->lines, &w->n_functions);
	w->statements = ht_lines_statements(w->lines, &w->n_statements);
	w->marks = ht_lines_marks(w->lines, &w->n_marks);
	if (map_files(w) < 0)
		return -HT_ENOMEM;
	return map_functions(w);
}

static int
is_statement(const struct work *w, uint32_t file, uint32_t line)
{
	uint64_t key = (uint64_t)file << 32 | line;
	size_t lo = 0, hi = w->n_statements;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (w->statements[mid] < key)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < w->n_statements && w->statements[lo] == key;
}

/* -- instructions --------------------------------------------------------- */

/* The function that the symbol at hand stands for. */
static uint32_t
bound_function(struct work *w, const struct ht_line_row *row)
{
	struct ht_cov_function like = { .file = HT_COV_NONE, .module = w->module, .addr = w->bound->start };
	const char *slash = strrchr(w->path, '/');
	char made_up[512];

	if (w->bound_function != HT_COV_NONE)
		return w->bound_function;
	snprintf(made_up, sizeof(made_up), "%s+0x%llx", slash ? slash + 1 : w->path,
	         (unsigned long long)w->bound->start);
	like.name = w->bound->name ? w->bound->name : made_up;
	if (row) {
		like.file = w->file_of[row->file];
		like.line = row->line;
	}
	w->bound_function = cov_function(w->b, &like);
	w->bound_copy = w->b->copies++;
	if (w->bound_function != HT_COV_NONE) {
		struct ht_cov_function *f = &w->b->functions.at[w->bound_function];
		uint64_t entries = cov_code_count(&w->code, w->bound->start);

		f->copies++;
		f->count += entries;
		if (entries)
			f->state = HT_COV_HIT;
	}
	return w->bound_function;
}

static const struct ht_line_row *
row_at(struct work *w, uint64_t addr)
{
	while (w->row < w->n_rows && w->rows[w->row].end <= addr)
		w->row++;
	return w->row < w->n_rows && w->rows[w->row].start <= addr ? &w->rows[w->row] : NULL;
}

static const struct ht_line_span *
span_at(struct work *w, uint64_t addr)
{
	while (w->span < w->n_spans && w->spans[w->span].end <= addr)
		w->span++;
	return w->span < w->n_spans && w->spans[w->span].start <= addr ? &w->spans[w->span] : NULL;
}

static int
add_branch(struct work *w, const struct cov_insn *i, uint8_t doubt, uint32_t function,
           const struct ht_line_row *row)
{
	struct ht_cov_branch *br;

	if (row && cov_branches_marked(&w->b->marks.at[w->file_of[row->file]], row->line))
		return 0;
	br = ht_vec_push(&w->b->branches);
	if (!br)
		return -HT_ENOMEM;
	*br = (struct ht_cov_branch){ .file = row ? w->file_of[row->file] : HT_COV_NONE,
		                      .line = row ? row->line : 0,
		                      .function = function,
		                      .module = w->module,
		                      .addr = i->addr,
		                      .taken = i->taken,
		                      .not_taken = i->not_taken,
		                      .doubt = doubt,
		                      .state = cov_state(i->taken + i->not_taken, doubt) };
	return 0;
}

/* Instructions of one row and one copy make one record. */
static int
add_line(struct work *w, const struct cov_insn *i, uint8_t doubt, uint32_t function, uint32_t copy,
         const struct ht_line_row *row)
{
	struct cov_line_rec *rec = w->rec;

	if (rec && w->rec_row == w->row && rec->copy == copy) {
		if (rec->count < i->count)
			rec->count = i->count;
		rec->doubt |= doubt;
		return 0;
	}
	w->rec = NULL;
	if (!row->is_stmt && !is_statement(w, row->file, row->line))
		return 0;
	rec = ht_vec_push(&w->b->recs);
	if (!rec)
		return -HT_ENOMEM;
	*rec = (struct cov_line_rec){ w->file_of[row->file],
		                      row->line,
		                      function,
		                      copy,
		                      i->count,
		                      row->is_stmt ? COV_STATEMENT : COV_CODE,
		                      doubt };
	w->rec = rec;
	w->rec_row = w->row;
	return 0;
}

/*
 * Statements that begin at an instruction of another line: of the innermost
 * function there, or of one that it was inlined into.
 */
static int
add_marks(struct work *w, const struct cov_insn *i, uint8_t doubt, uint32_t innermost)
{
	while (w->mark < w->n_marks && w->marks[w->mark].addr < i->addr)
		w->mark++;
	for (size_t k = w->mark; k < w->n_marks && w->marks[k].addr == i->addr; k++) {
		uint32_t file = w->file_of[w->marks[k].file], line = w->marks[k].line;

		if (file == HT_COV_NONE || cov_line_marked(&w->b->marks.at[file], line))
			continue;
		for (uint32_t f = innermost; f != HT_LINE_NONE; f = w->functions[f].parent) {
			struct cov_line_rec *rec =
			    w->function_of[f] == HT_COV_NONE ? NULL : ht_vec_push(&w->b->recs);

			if (rec)
				*rec = (struct cov_line_rec){ file,
					                      line,
					                      w->function_of[f],
					                      w->first_copy + f,
					                      i->count,
					                      COV_MARK,
					                      doubt };
			else if (w->function_of[f] != HT_COV_NONE)
				return -HT_ENOMEM;
			w->rec = NULL; /* records may have moved */
		}
	}
	return 0;
}

/* Is function `f` of the line table `outer`, or inlined into it? */
static int
is_inside(const struct work *w, uint32_t f, uint32_t outer)
{
	while (f != outer && f != HT_LINE_NONE)
		f = w->functions[f].parent;
	return f == outer;
}

/*
 * Executions of a first instruction are entries, less the times that a loop of
 * the same copy came back to it: by a jump, or by going on from the line before.
 */
static void
note_repeats(struct work *w, const struct cov_insn *i, uint32_t function)
{
	const struct cov_insn *p = &w->prev;

	for (uint32_t f = function; f != HT_LINE_NONE; f = w->functions[f].parent) {
		uint64_t entry = w->functions[f].entry;

		if (i->x.target == entry && (i->x.insn == HT_INSN_COND || i->x.insn == HT_INSN_JUMP))
			w->repeats[f] += i->x.insn == HT_INSN_COND ? i->taken : i->count;
		if (i->addr == entry && p->x.size && p->addr + p->x.size == entry && !p->x.no_next &&
		    is_inside(w, w->prev_function, f))
			w->repeats[f] += p->count - (p->x.insn == HT_INSN_COND ? p->taken : 0);
	}
	w->prev = *i;
	w->prev_function = function;
}

static void
tally_kinds(struct ht_cov_tallies *t, const struct cov_insn *i, int begins, uint8_t state)
{
	cov_tally_add(&t->insns, state);
	if (begins)
		cov_tally_add(&t->blocks, state);
	if (i->x.insn == HT_INSN_CALL || i->x.insn == HT_INSN_CALL_IND)
		cov_tally_add(&t->calls, state);
}

static int
add_site(struct work *w, const struct cov_insn *i, uint8_t doubt, uint32_t function,
         const struct ht_line_row *row)
{
	struct ht_cov_site like = { .file = row ? w->file_of[row->file] : HT_COV_NONE,
		                    .line = row ? row->line : 0,
		                    .function = function,
		                    .doubt = doubt };

	return cov_sites_add(&w->sites, i, &like);
}

static int
each_insn(struct work *w, const struct cov_insn *i, int begins)
{
	const struct ht_line_row *row = w->lines ? row_at(w, i->addr) : NULL;
	const struct ht_line_span *span = w->lines ? span_at(w, i->addr) : NULL;
	uint8_t doubt = cov_doubt(w->code.counts, i->addr), state = cov_state(i->count, doubt);
	uint32_t function, copy;

	w->some_lines |= row || span;
	if (span && add_marks(w, i, doubt, span->function) < 0)
		return -HT_ENOMEM;
	if (row && (w->file_of[row->file] == HT_COV_NONE ||
	    cov_line_marked(&w->b->marks.at[w->file_of[row->file]], row->line)))
		return 0;
	if (span) {
		note_repeats(w, i, span->function);
		function = w->function_of[span->function];
		copy = w->first_copy + span->function;
		if (function == HT_COV_NONE)
			return 0;
		w->ran[span->function] |= i->count != 0;
		w->doubt[span->function] |= doubt;
	} else {
		if (w->lines && !row && !w->b->config->all_functions) {
			w->without_lines = 1;
			return 0;
		}
		function = bound_function(w, row && row->line ? row : NULL);
		copy = w->bound_copy;
		if (function == HT_COV_NONE)
			return -HT_ENOMEM;
		if (state == HT_COV_HIT)
			w->b->functions.at[function].state = HT_COV_HIT;
		w->b->functions.at[function].doubt |= doubt;
	}
	if (row && !row->line)
		row = NULL;
	tally_kinds(&w->b->functions.at[function].tally, i, begins, state);
	tally_kinds(&w->b->modules.at[w->module].tally, i, begins, state);
	if (row)
		tally_kinds(&w->b->files.at[w->file_of[row->file]].tally, i, begins, state);
	if (add_site(w, i, doubt, function, row) < 0)
		return -HT_ENOMEM;
	if (i->x.insn == HT_INSN_COND && add_branch(w, i, doubt, function, row) < 0)
		return -HT_ENOMEM;
	return row ? add_line(w, i, doubt, function, copy, row) : 0;
}

/* Times that copy `i` of the line table was seen to be entered. */
static uint64_t
entries_seen(const struct work *w, uint32_t i)
{
	uint64_t entries = cov_code_count(&w->code, w->functions[i].entry);

	return entries > w->repeats[i] ? entries - w->repeats[i] : 0;
}

/* The same, but at least 1 when it ran. */
static uint64_t
count_entries(const struct work *w, uint32_t i)
{
	uint64_t entries = entries_seen(w, i);

	/* A copy may begin with an instruction that its code does not pass through. */
	return entries ? entries : w->ran[i] || w->repeats[i];
}

/* The first line that code out of line begins with, from the declaration on; 0 = none. */
static uint32_t
head_line(const struct work *w, const struct ht_line_function *f)
{
	const struct ht_line_row *row = ht_lines_find(w->lines, f->entry);
	uint32_t line = UINT32_MAX;
	size_t lo = 0, hi = w->n_marks;

	if (row && row->is_stmt && row->file == f->file && row->line >= f->line)
		line = row->line;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (w->marks[mid].addr < f->entry)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < w->n_marks && w->marks[lo].addr == f->entry; lo++)
		if (w->marks[lo].file == f->file && w->marks[lo].line >= f->line && w->marks[lo].line < line)
			line = w->marks[lo].line;
	return line == UINT32_MAX ? 0 : line;
}

/*
 * Who enters a function runs its head.  Inlined copies have no code for it, and one
 * out of line may have had some of it moved to where it is needed.  One out of line
 * that ran and was not entered had been before the trace, or the part of it, began.
 */
static int
add_heads(struct work *w)
{
	uint32_t *head = calloc(w->b->functions.n + 1, sizeof(*head)); /* by function of the report; 0 = none */
	int rc = head ? 0 : -HT_ENOMEM;

	for (uint32_t i = 0; i < w->n_functions && rc == 0; i++) {
		const struct ht_line_function *f = &w->functions[i];

		if (f->parent == HT_LINE_NONE && w->function_of[i] != HT_COV_NONE && f->file != HT_LINE_NONE)
			head[w->function_of[i]] = head_line(w, f);
	}
	for (uint32_t i = 0; i < w->n_functions && rc == 0; i++) {
		const struct ht_line_function *f = &w->functions[i];
		struct cov_line_rec *rec;

		if (w->function_of[i] == HT_COV_NONE || f->file == HT_LINE_NONE || !head[w->function_of[i]] ||
		    cov_line_marked(&w->b->marks.at[w->file_of[f->file]], head[w->function_of[i]]))
			continue;
		rec = ht_vec_push(&w->b->recs);
		if (rec)
			*rec = (struct cov_line_rec){ .file = w->file_of[f->file],
				                      .line = head[w->function_of[i]],
				                      .function = w->function_of[i],
				                      .copy = w->first_copy + i,
				                      .count = f->parent == HT_LINE_NONE ? entries_seen(w, i)
				                                                         : count_entries(w, i),
				                      .place = COV_HEAD,
				                      .doubt = w->doubt[i] };
		else
			rc = -HT_ENOMEM;
	}
	free(head);
	return rc;
}

/* A function with a name but no code to be read (perf's maps): that it ran is known. */
static int
note_named(struct work *w)
{
	uint32_t f;

	if (w->sites.insns.n || !w->bound->name || !cov_code_ran(&w->code, w->bound))
		return 0;
	f = bound_function(w, NULL);
	if (f == HT_COV_NONE)
		return -HT_ENOMEM;
	w->b->functions.at[f].state = HT_COV_HIT;
	return 0;
}

/* Entries of the functions that the debug information knows. */
static void
count_functions(struct work *w)
{
	for (uint32_t i = 0; i < w->n_functions; i++) {
		struct ht_cov_function *f;
		uint64_t entries = count_entries(w, i);

		if (w->function_of[i] == HT_COV_NONE)
			continue;
		f = &w->b->functions.at[w->function_of[i]];
		f->copies++;
		f->inlined += w->functions[i].parent != HT_LINE_NONE;
		f->doubt |= w->doubt[i];
		f->count += entries;
		if (entries)
			f->state = HT_COV_HIT;
	}
}

/* What every program begins and ends with is the compiler's, not the user's. */
static int
is_startup(const char *name)
{
	static const char *const names[] = { "_start",
		                             "_init",
		                             "_fini",
		                             "_dl_relocate_static_pie",
		                             "frame_dummy",
		                             "deregister_tm_clones",
		                             "register_tm_clones",
		                             "__do_global_dtors_aux",
		                             "__libc_csu_init",
		                             "__libc_csu_fini" };

	for (size_t i = 0; name && i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return 1;
	return 0;
}

static int
note_without_lines(struct work *w)
{
	struct ht_cov_module *m = &w->b->modules.at[w->module];

	if (!w->bound->name || is_startup(w->bound->name))
		return 0;
	if (!m->without_lines++)
		m->first_without = cov_string(w->b, w->bound->name);
	return !m->without_lines || m->first_without ? 0 : -HT_ENOMEM;
}

int
cov_build_module(struct cov_builder *b, const struct ht_coverage *c, uint32_t number)
{
	const struct cov_module *m = &c->modules.at[number];
	struct work w = { .b = b, .module = number, .path = m->path };
	struct ht_cov_module *out = &b->modules.at[number];
	int rc = cov_code_init(&w.code, m);

	if (rc == 0)
		rc = cov_sites_init(&w.sites, b, c, number);
	if (rc == 0)
		rc = open_lines(&w);
	if (rc == 0)
		rc = cov_code_find_bounds(&w.code, w.lines);
	for (size_t i = 0; i < w.code.bounds.n && rc == 0; i++) {
		w.bound = &w.code.bounds.at[i];
		w.bound_function = HT_COV_NONE;
		w.without_lines = 0;
		w.some_lines = 0;
		w.rec = NULL;
		w.prev.x.size = 0;
		rc = cov_sites_read(&w.sites, &w.code, w.bound);
		for (size_t k = 0; k < w.sites.insns.n && rc == 0; k++)
			rc = each_insn(&w, &w.sites.insns.at[k], cov_sites_leads(&w.sites, k));
		if (rc == 0)
			rc = note_named(&w);
		if (rc == 0 && w.without_lines && !w.some_lines)
			rc = note_without_lines(&w);
	}
	if (rc == 0)
		rc = add_heads(&w);
	if (rc == 0) {
		count_functions(&w);
		out->source = w.code.source;
		if (w.code.executed)
			out->executed = w.code.executed;
	}
	ht_lines_close(w.lines);
	free(w.file_of);
	free(w.function_of);
	free(w.place_of);
	free(w.repeats);
	free(w.ran);
	free(w.doubt);
	cov_sites_fini(&w.sites);
	cov_code_fini(&w.code);
	return rc;
}
