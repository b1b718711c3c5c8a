/* SPDX-License-Identifier: BSD-2-Clause */
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/radix.h"
#include "base/vec.h"
#include "session/lines.h"

#define MAX_LINE 0xffffff /* higher ones come from damaged files only */
#include "session/module.h"

int
ht_lines_in_text(const struct ht_lines *l, uint64_t start, uint64_t end)
{
	uint32_t lo = 0, hi = l->n_text;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (l->text[mid].end <= start)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < l->n_text && start >= l->text[lo].start && end <= l->text[lo].end;
}

/* Take "." and ".." out of `path`, by name alone, in place. */
static void
normalise(char *path)
{
	char *out = path, *in = path;
	int absolute = *path == '/';

	while (*in) {
		size_t len = strcspn(in, "/");

		if (len == 0) {
			in++;
			continue;
		}
		if (len == 2 && in[0] == '.' && in[1] == '.' && out > path) {
			char *slash = out;

			while (slash > path && slash[-1] != '/')
				slash--;
			if (!(out - slash == 2 && slash[0] == '.' && slash[1] == '.')) {
				out = slash > path + absolute ? slash - 1 : path;
				in += len;
				continue;
			}
		}
		if (!(len == 1 && in[0] == '.') && !(absolute && out == path && len == 2 && in[0] == '.' && in[1] == '.')) {
			if (out > path || absolute)
				*out++ = '/';
			memmove(out, in, len);
			out += len;
		}
		in += len;
	}
	if (out == path && absolute)
		*out++ = '/';
	*out = '\0';
}

static size_t
hash_string(const char *s)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *s; s++)
		h = (h ^ (uint8_t)*s) * 0x100000001b3u;
	return (size_t)(h ^ h >> 32);
}

static int
rehash(struct ht_lines *l)
{
	size_t n = l->n_buckets ? l->n_buckets * 2 : 64;
	uint32_t *b = calloc(n, sizeof(*b));

	if (!b)
		return -HT_ENOMEM;
	for (size_t i = 0; i < l->files.n; i++) {
		size_t at = hash_string(l->files.at[i]) & (n - 1);

		while (b[at])
			at = (at + 1) & (n - 1);
		b[at] = (uint32_t)i + 1;
	}
	free(l->buckets);
	l->buckets = b;
	l->n_buckets = n;
	return 0;
}

uint32_t
ht_lines_intern(struct ht_lines *l, const char *dir, const char *name)
{
	char *path, **slot;
	size_t at;

	if (*name == '/' || !dir || !*dir)
		path = strdup(name);
	else if (asprintf(&path, "%s/%s", dir, name) < 0)
		path = NULL;
	if (!path)
		return HT_LINE_NONE;
	normalise(path);
	if (l->files.n * 2 >= l->n_buckets && rehash(l) < 0) {
		free(path);
		return HT_LINE_NONE;
	}
	for (at = hash_string(path) & (l->n_buckets - 1); l->buckets[at]; at = (at + 1) & (l->n_buckets - 1))
		if (!strcmp(l->files.at[l->buckets[at] - 1], path)) {
			free(path);
			return l->buckets[at] - 1;
		}
	slot = ht_vec_push(&l->files);
	if (!slot) {
		free(path);
		return HT_LINE_NONE;
	}
	*slot = path;
	l->buckets[at] = (uint32_t)l->files.n;
	return (uint32_t)l->files.n - 1;
}

int
ht_lines_add_statement(struct ht_lines *l, const struct ht_line_raw *r)
{
	struct ht_line_seen *seen;
	uint64_t *slot, bit = (uint64_t)1 << (r->line & 63);

	if (!r->line || r->file == HT_LINE_NONE || r->line > MAX_LINE)
		return 0;
	while (l->seen.n <= r->file) {
		seen = ht_vec_push(&l->seen);
		if (!seen)
			return -HT_ENOMEM;
		*seen = (struct ht_line_seen){ NULL, 0, 0 };
	}
	seen = &l->seen.at[r->file];
	while (seen->n <= r->line / 64) {
		slot = ht_vec_push(seen);
		if (!slot)
			return -HT_ENOMEM;
		*slot = 0;
	}
	if (seen->at[r->line / 64] & bit)
		return 0;
	seen->at[r->line / 64] |= bit;
	slot = ht_vec_push(&l->statements);
	if (!slot)
		return -HT_ENOMEM;
	*slot = (uint64_t)r->file << 32 | r->line;
	return 0;
}

int
ht_lines_add_mark(struct ht_lines *l, const struct ht_line_raw *r)
{
	struct ht_line_mark *slot;

	if (!r->line || r->file == HT_LINE_NONE || !ht_lines_in_text(l, r->addr, r->addr))
		return 0;
	slot = ht_vec_push(&l->marks);
	if (!slot)
		return -HT_ENOMEM;
	*slot = (struct ht_line_mark){ r->addr, r->file, r->line };
	return 0;
}

int
ht_lines_add_row(struct ht_lines *l, const struct ht_line_raw *r, uint64_t end, bool stmt)
{
	struct ht_line_row *last = l->rows.n ? &l->rows.at[l->rows.n - 1] : NULL, *row;

	if (r->file == HT_LINE_NONE)
		return 0;
	if (last && last->end == r->addr && last->file == r->file && last->line == r->line &&
	    last->is_stmt == stmt) {
		last->end = end;
		return 0;
	}
	row = ht_vec_push(&l->rows);
	if (!row)
		return -HT_ENOMEM;
	*row = (struct ht_line_row){ r->addr, end, r->file, r->line, stmt };
	return 0;
}

static int
mark_order(const void *a, const void *b)
{
	const struct ht_line_mark *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static int
finish_marks(struct ht_lines *l)
{
	struct ht_line_mark *m = l->marks.at;
	size_t out = 0;

	if (ht_radix_sort(m, l->marks.n, sizeof(*m)) < 0)
		return -HT_ENOMEM;
	for (size_t i = 0, k; i < l->marks.n; i = k) {
		for (k = i + 1; k < l->marks.n && m[k].addr == m[i].addr; k++)
			;
		if (k - i > 1)
			qsort(m + i, k - i, sizeof(*m), mark_order);
	}
	for (size_t i = 0; i < l->marks.n; i++)
		if (!out || mark_order(&m[out - 1], &m[i]))
			m[out++] = m[i];
	l->marks.n = out;
	return 0;
}

/*
 * Sort; a row ends where the next one begins: units may describe the same code twice.
 * Of several that begin together the shortest one stays.
 */
static int
finish_tables(struct ht_lines *l)
{
	struct ht_line_row *r = l->rows.at;
	size_t out = 0;

	if (ht_radix_sort(r, l->rows.n, sizeof(*r)) < 0 ||
	    ht_radix_sort(l->statements.at, l->statements.n, sizeof(uint64_t)) < 0)
		return -HT_ENOMEM;
	for (size_t i = 0; i < l->rows.n; i++) {
		if (out && r[out - 1].start == r[i].start) {
			if (r[i].end < r[out - 1].end)
				r[out - 1] = r[i];
			continue;
		}
		if (out && r[out - 1].end > r[i].start)
			r[out - 1].end = r[i].start;
		r[out++] = r[i];
	}
	l->rows.n = out;
	return finish_marks(l);
}

static void
free_seen(struct ht_lines *l)
{
	for (size_t i = 0; i < l->seen.n; i++)
		ht_vec_free(&l->seen.at[i]);
	ht_vec_free(&l->seen);
}

/* Fill in the tables with `read`, and put them in order. */
static int
lines_open(int (*read)(struct ht_lines *l, void *source), void *source, const struct ht_range *text,
           uint32_t n_text, struct ht_lines **out, struct ht_diag *diag)
{
	struct ht_lines *l = calloc(1, sizeof(*l));

	if (!l)
		return ht_fail(diag, HT_ENOMEM, NULL, HT_NO_OFFSET, NULL, "out of memory for line tables");
	l->text = text;
	l->n_text = n_text;
	if (read(l, source) < 0 || ht_lines_build_spans(l) < 0 || finish_tables(l) < 0) {
		ht_lines_close(l);
		return ht_fail(diag, HT_ENOMEM, NULL, HT_NO_OFFSET, NULL, "out of memory for line tables");
	}
	free_seen(l);
	l->text = NULL;
	l->n_text = 0;
	if (!l->rows.n) {
		ht_lines_close(l);
		return ht_fail(diag, HT_ENOTFOUND, NULL, HT_NO_OFFSET, NULL, "there is no line table");
	}
	*out = l;
	return 0;
}

static int
open_dwarf(struct ht_line_source source, const struct ht_range *text, uint32_t n_text, struct ht_lines **out,
           struct ht_diag *diag)
{
	if (!source.dwarf)
		return ht_fail(diag, HT_ENOTFOUND, NULL, HT_NO_OFFSET, NULL,
		               "there is no debug information");
	return lines_open(ht_lines_read_dwarf, &source, text, n_text, out, diag);
}

int
ht_lines_open(void *dwarf, const struct ht_range *text, uint32_t n_text, struct ht_lines **out,
              struct ht_diag *diag)
{
	return open_dwarf((struct ht_line_source){ dwarf, NULL }, text, n_text, out, diag);
}

/* -- code that a program made ---------------------------------------------- */

/* Rows of the code at hand, of which `lines[0..n)` are told. 0 or -HT_ENOMEM. */
static int
read_made(struct ht_lines *l, const struct ht_jit_code *c, const struct ht_jit_line *lines,
          size_t n)
{
	struct ht_line_raw row;

	for (size_t i = 0; i < n; i++) {
		uint64_t end = i + 1 < n ? lines[i + 1].offset : c->offset + c->size;

		row = (struct ht_line_raw){ .addr = lines[i].offset,
			                .line = lines[i].line,
			                .stmt = true,
			                .file = ht_lines_intern(l, NULL, lines[i].file) };
		if (row.file == HT_LINE_NONE || ht_lines_add_statement(l, &row) < 0)
			return -HT_ENOMEM;
		/* Of several at one place the last one owns it, as in DWARF. */
		if (end > row.addr ? ht_lines_add_row(l, &row, end, true) < 0 : ht_lines_add_mark(l, &row) < 0)
			return -HT_ENOMEM;
	}
	return 0;
}

/* It is a function, declared where its first line is. */
static int
add_made(struct ht_lines *l, const struct ht_jit_code *c, size_t first_row)
{
	struct ht_range *r = ht_vec_push(&l->ranges);
	struct ht_line_function *f = r ? ht_vec_push(&l->functions) : NULL;
	const struct ht_line_row *row = first_row < l->rows.n ? &l->rows.at[first_row] : NULL;

	if (!f)
		return -HT_ENOMEM;
	*r = (struct ht_range){ c->offset, c->offset + c->size };
	*f = (struct ht_line_function){ .name = c->name,
		                        .origin = c,
		                        .file = row ? row->file : HT_LINE_NONE,
		                        .line = row ? row->line : 0,
		                        .parent = HT_LINE_NONE,
		                        .call_file = HT_LINE_NONE,
		                        .entry = c->offset,
		                        .first_range = (uint32_t)l->ranges.n - 1,
		                        .n_ranges = 1 };
	return 0;
}

/* Lines and code are both in the order of the file. */
static int
read_jitdump(struct ht_lines *l, void *source)
{
	const struct ht_module *m = source;
	const struct ht_jitdump *j = m->jit;
	size_t from = 0, to;

	for (size_t i = 0; i < m->jit_loads.n; i++, from = to) {
		const struct ht_jit_code *c = &j->codes.at[m->jit_loads.at[i]];
		size_t rows = l->rows.n;

		for (to = from; to < j->lines.n && j->lines.at[to].offset - c->offset < c->size;
		     to++)
			;
		if (to > from && (read_made(l, c, &j->lines.at[from], to - from) < 0 ||
		                  add_made(l, c, rows) < 0))
			return -HT_ENOMEM;
	}
	return 0;
}

int
ht_module_lines(struct ht_module *m, struct ht_lines **out, struct ht_diag *diag)
{
	uint32_t n;
	const struct ht_range *text = ht_module_text(m, &n);

	if (m->jit)
		return lines_open(read_jitdump, m, text, n, out, diag);
	return open_dwarf((struct ht_line_source){ ht_module_dwarf(m), ht_module_package(m) }, text, n, out, diag);
}

void
ht_lines_close(struct ht_lines *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->files.n; i++)
		free(l->files.at[i]);
	ht_vec_free(&l->rows);
	ht_vec_free(&l->functions);
	ht_vec_free(&l->ranges);
	ht_vec_free(&l->spans);
	ht_vec_free(&l->statements);
	free_seen(l);
	ht_vec_free(&l->marks);
	ht_vec_free(&l->files);
	free(l->buckets);
	free(l);
}

uint32_t
ht_lines_split_missing(const struct ht_lines *l)
{
	return l->split_missing;
}

const struct ht_line_row *
ht_lines_rows(const struct ht_lines *l, size_t *n)
{
	*n = l->rows.n;
	return l->rows.at;
}

const struct ht_line_function *
ht_lines_functions(const struct ht_lines *l, uint32_t *n)
{
	*n = (uint32_t)l->functions.n;
	return l->functions.at;
}

const struct ht_range *
ht_lines_ranges(const struct ht_lines *l)
{
	return l->ranges.at;
}

const struct ht_line_span *
ht_lines_spans(const struct ht_lines *l, size_t *n)
{
	*n = l->spans.n;
	return l->spans.at;
}

const struct ht_line_mark *
ht_lines_marks(const struct ht_lines *l, size_t *n)
{
	*n = l->marks.n;
	return l->marks.at;
}

const uint64_t *
ht_lines_statements(const struct ht_lines *l, size_t *n)
{
	*n = l->statements.n;
	return l->statements.at;
}

const char *
ht_lines_file(const struct ht_lines *l, uint32_t file)
{
	return file < l->files.n ? l->files.at[file] : NULL;
}

uint32_t
ht_lines_file_count(const struct ht_lines *l)
{
	return (uint32_t)l->files.n;
}

uint32_t
ht_lines_damaged(const struct ht_lines *l)
{
	return l->damaged;
}

const struct ht_line_row *
ht_lines_find(const struct ht_lines *l, uint64_t vaddr)
{
	size_t lo = 0, hi = l->rows.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (l->rows.at[mid].end <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < l->rows.n && l->rows.at[lo].start <= vaddr ? &l->rows.at[lo] : NULL;
}

const struct ht_line_function *
ht_lines_function_at(const struct ht_lines *l, uint64_t vaddr)
{
	size_t lo = 0, hi = l->spans.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (l->spans.at[mid].end <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == l->spans.n || l->spans.at[lo].start > vaddr)
		return NULL;
	return &l->functions.at[l->spans.at[lo].function];
}

size_t
ht_lines_chain(const struct ht_lines *l, uint64_t vaddr, struct ht_line_frame *out, size_t max)
{
	const struct ht_line_row *row = ht_lines_find(l, vaddr);
	const struct ht_line_function *f = ht_lines_function_at(l, vaddr);
	struct ht_line_frame frame = { NULL, NULL, 0 };
	size_t n = 0;

	if (!max || (!row && !f))
		return 0;
	if (row) {
		frame.file = ht_lines_file(l, row->file);
		frame.line = row->line;
	}
	for (; f && n < max; f = f->parent == HT_LINE_NONE ? NULL : &l->functions.at[f->parent]) {
		frame.function = f->name;
		out[n++] = frame;
		frame.file = ht_lines_file(l, f->call_file);
		frame.line = f->call_line;
	}
	if (!n)
		out[n++] = frame;
	return n;
}
