/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "listing.h"

/* -- source --------------------------------------------------------------- */

static void
text_free(struct listing_text *t)
{
	free(t->path);
	free(t->bytes);
	free(t->lines);
	memset(t, 0, sizeof(*t));
}

/* All of a file; NULL when it cannot be read. */
static char *
read_file(const char *path, size_t *n)
{
	FILE *f = fopen(path, "r");
	size_t cap = 0, got = 1;
	char *bytes = NULL, *more;

	for (*n = 0; f && got; *n += got) {
		if (*n == cap) {
			cap = cap ? cap * 2 : 65536;
			more = realloc(bytes, cap);
			if (!more)
				break;
			bytes = more;
		}
		got = fread(bytes + *n, 1, cap - *n, f);
	}
	if (f && (got || ferror(f))) { /* no memory, or no file to read, as a folder is */
		free(bytes);
		bytes = NULL;
	}
	if (f)
		fclose(f);
	return bytes;
}

/* A file without lines stands for one that could not be read. */
static void
text_read(struct listing_text *t, const char *path)
{
	size_t n = 0, lines = 1;
	char *bytes = read_file(path, &n);

	t->path = strdup(path);
	for (size_t i = 0; bytes && i < n; i++)
		lines += bytes[i] == '\n';
	t->lines = bytes && lines < UINT32_MAX ? calloc(lines + 1, sizeof(*t->lines)) : NULL;
	if (!t->lines) {
		free(bytes);
		return;
	}
	t->bytes = bytes;
	for (size_t i = 0; i < n; i++)
		if (bytes[i] == '\n')
			t->lines[++t->n_lines] = i + 1;
	if (t->lines[t->n_lines] < n)
		t->lines[++t->n_lines] = n + 1;
}

static const struct listing_text *
text_of(struct listing *l, const char *path)
{
	struct listing_text *t;

	for (unsigned i = 0; i < LISTING_TEXTS; i++)
		if (l->texts[i].path && !strcmp(l->texts[i].path, path))
			return &l->texts[i];
	t = &l->texts[l->next_text++ % LISTING_TEXTS];
	text_free(t);
	text_read(t, path);
	if (!t->bytes && !l->quiet)
		tool_warn("%s: cannot be read: its lines are shown without text", path);
	return t;
}

const char *
listing_source(struct listing *l, const char *path, uint32_t number, size_t *n)
{
	const struct listing_text *t = text_of(l, path);

	*n = 0;
	if (!number || number > t->n_lines)
		return "";
	*n = t->lines[number] - t->lines[number - 1] - 1;
	return t->bytes + t->lines[number - 1];
}

static int
path_order(const void *key, const void *file)
{
	return strcmp(key, ((const struct ht_cov_file *)file)->path);
}

static int
line_order(const void *key, const void *line)
{
	uint32_t x = *(const uint32_t *)key, y = ((const struct ht_cov_line *)line)->line;

	return x < y ? -1 : x > y;
}

static const struct ht_cov_line *
find_line(const struct ht_cov_report *r, const char *path, uint32_t line)
{
	const struct ht_cov_file *f = NULL;

	if (r->n_files)
		f = bsearch(path, r->files, r->n_files, sizeof(*f), path_order);
	return f && f->n_lines ? bsearch(&line, f->lines, f->n_lines, sizeof(*f->lines), line_order)
	                       : NULL;
}

/* -- a module ------------------------------------------------------------- */

static void
close_module(struct listing *l)
{
	ht_disasm_free(l->disasm);
	ht_cov_code_close(l->code);
	l->disasm = NULL;
	l->code = NULL;
}

int
listing_open(struct listing *l, const struct cover *c, const struct ht_cov_report *r,
             uint32_t module)
{
	if (l->disasm && l->number == module)
		return EXIT_OK;
	close_module(l);
	l->report = r;
	l->number = module;
	if (ht_cov_code_open(c->counts, module, &l->code) < 0)
		return tool_error("out of memory");
	l->module = ht_coverage_handle(c->counts, module);
	if (ht_disasm_new(ht_cov_code_arch(l->code), &l->disasm) < 0)
		return tool_error("%s: no disassembler for its architecture",
		                  r->modules[module].path);
	return EXIT_OK;
}

void
listing_free(struct listing *l)
{
	close_module(l);
	for (unsigned i = 0; i < LISTING_TEXTS; i++)
		text_free(&l->texts[i]);
}

void
listing_insn(struct listing *l, const struct ht_cov_insn *i, char text[HT_DISASM_TEXT])
{
	uint8_t bytes[HT_INSN_MAX];

	ht_disasm_text(l->disasm, i->addr, bytes,
	               ht_module_read(l->module, i->addr, bytes, sizeof(bytes)), text);
}

/* -- walk ----------------------------------------------------------------- */

static void
walk_part(struct listing *l, uint64_t vaddr, const struct listing_ops *ops, void *arg)
{
	size_t n;
	const struct ht_cov_insn *insns = ht_cov_code_function(l->code, vaddr, &n);
	const struct ht_lines *lines = ht_cov_code_lines(l->code);
	const struct ht_line_row *before = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct ht_line_row *row =
		    lines && ops->source ? ht_lines_find(lines, insns[i].addr) : NULL;
		const char *path;

		if (row && (!before || row->file != before->file || row->line != before->line) &&
		    row->line && (path = ht_lines_file(lines, row->file)))
			ops->source(arg, path, row->line, find_line(l->report, path, row->line));
		if (row)
			before = row;
		if (ops->insn)
			ops->insn(arg, &insns[i]);
	}
}

/* Parts of the function that lie elsewhere, as cold code does. */
static void
walk_other_parts(struct listing *l, uint64_t vaddr, const struct listing_ops *ops, void *arg)
{
	const struct ht_lines *lines = ht_cov_code_lines(l->code);
	const struct ht_line_function *f = lines ? ht_lines_function_at(lines, vaddr) : NULL, *all;
	uint32_t count;

	if (!f)
		return;
	all = ht_lines_functions(lines, &count);
	while (f->parent != HT_LINE_NONE)
		f = &all[f->parent];
	for (uint32_t i = 0; i < f->n_ranges; i++) {
		const struct ht_range *r = &ht_lines_ranges(lines)[f->first_range + i];

		if (vaddr >= r->start && vaddr < r->end)
			continue;
		if (ops->part)
			ops->part(arg, r->start);
		walk_part(l, r->start, ops, arg);
	}
}

void
listing_walk(struct listing *l, uint64_t vaddr, const struct listing_ops *ops, void *arg)
{
	walk_part(l, vaddr, ops, arg);
	walk_other_parts(l, vaddr, ops, arg);
}
