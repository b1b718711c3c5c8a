/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions and their inlined copies, from the DIE tree.  Each place of code is
 * an entry of its own; a copy names the entry that it was inlined into.
 */
#include <dwarf.h>
#include <stdlib.h>

#include "base/vec.h"
#include "session/lines.h"

#define MAX_DEPTH 256 /* deeper trees come from damaged files only */

struct walk {
	struct ht_lines *l;
	const char      *dir;
	Dwarf_CU *cu;     /* whose entries these are, */
	Dwarf_Die *lines; /* and the unit that has its line table */
	unsigned         depth;
};

static int walk_children(struct walk *w, Dwarf_Die *die, uint32_t parent);

/* The file that attribute `name` gives by its number in the line table of its unit. */
static uint32_t
file_of(struct walk *w, Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	Dwarf_Word no;
	Dwarf_Files *files;
	Dwarf_Die cu = *w->lines;
	size_t n;
	const char *path;

	if (!dwarf_attr_integrate(die, name, &attr) || dwarf_formudata(&attr, &no) != 0)
		return HT_LINE_NONE;
	if (attr.cu != w->cu && !dwarf_cu_die(attr.cu, &cu, NULL, NULL, NULL, NULL, NULL, NULL))
		return HT_LINE_NONE;
	if (dwarf_getsrcfiles(&cu, &files, &n) != 0 || no >= n)
		return HT_LINE_NONE;
	path = dwarf_filesrc(files, no, NULL, NULL);
	return path ? ht_lines_intern(w->l, w->dir, path) : HT_LINE_NONE;
}

static uint32_t
number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	Dwarf_Word v;

	if (!dwarf_attr_integrate(die, name, &attr) || dwarf_formudata(&attr, &v) != 0 || v > UINT32_MAX)
		return 0;
	return (uint32_t)v;
}

static const char *
string_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;

	return dwarf_formstring(dwarf_attr_integrate(die, name, &attr));
}

/* The ranges of `die` inside the text; returns how many, or -HT_ENOMEM. */
static int
add_ranges(struct walk *w, Dwarf_Die *die)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t off = 0;
	int n = 0;

	while ((off = dwarf_ranges(die, off, &base, &start, &end)) > 0) {
		struct ht_range *r;

		if (start >= end || !ht_lines_in_text(w->l, start, end))
			continue;
		r = ht_vec_push(&w->l->ranges);
		if (!r)
			return -HT_ENOMEM;
		*r = (struct ht_range){ start, end };
		n++;
	}
	return n;
}

/* The entry that `die` is a copy of, or it itself. */
static const void *
origin_of(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die origin;

	return dwarf_formref_die(dwarf_attr(die, DW_AT_abstract_origin, &attr), &origin) ? origin.addr : die->addr;
}

static int
add_function(struct walk *w, Dwarf_Die *die, uint32_t parent)
{
	size_t first = w->l->ranges.n;
	int n = add_ranges(w, die);
	struct ht_line_function *f;
	Dwarf_Addr entry;
	const char *name;

	if (n < 0)
		return n;
	if (n == 0)
		return walk_children(w, die, parent);
	f = ht_vec_push(&w->l->functions);
	if (!f)
		return -HT_ENOMEM;
	*f = (struct ht_line_function){ .parent = parent, .origin = origin_of(die), .file = file_of(w, die, DW_AT_decl_file),
		.line = number_of(die, DW_AT_decl_line), .first_range = (uint32_t)first, .n_ranges = (uint32_t)n,
		.call_file = HT_LINE_NONE };
	name = string_of(die, DW_AT_name);
	f->name = name ? name : "";
	f->linkage = string_of(die, DW_AT_linkage_name);
	if (!f->linkage)
		f->linkage = string_of(die, DW_AT_MIPS_linkage_name);
	f->entry = dwarf_entrypc(die, &entry) == 0 ? entry : w->l->ranges.at[first].start;
	if (parent != HT_LINE_NONE) {
		f->call_file = file_of(w, die, DW_AT_call_file);
		f->call_line = number_of(die, DW_AT_call_line);
	}
	return walk_children(w, die, (uint32_t)w->l->functions.n - 1);
}

static int
walk_one(struct walk *w, Dwarf_Die *die, uint32_t parent)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
		return add_function(w, die, HT_LINE_NONE);
	case DW_TAG_inlined_subroutine:
		return add_function(w, die, parent);
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
		return walk_children(w, die, parent);
	default:
		return 0;
	}
}

static int
walk_children(struct walk *w, Dwarf_Die *die, uint32_t parent)
{
	Dwarf_Die child;
	int rc = 0;

	if (w->depth >= MAX_DEPTH || dwarf_child(die, &child) != 0)
		return 0;
	w->depth++;
	do
		rc = walk_one(w, &child, parent);
	while (rc >= 0 && dwarf_siblingof(&child, &child) == 0);
	w->depth--;
	return rc < 0 ? rc : 0;
}

int
ht_lines_read_functions(struct ht_lines *l, Dwarf_Die *die, Dwarf_Die *lines, const char *dir)
{
	struct walk w = { .l = l, .dir = dir, .cu = die->cu, .lines = lines };

	return walk_children(&w, die, HT_LINE_NONE);
}

/* A range of a function on its way to become spans. */
struct piece {
	uint64_t start, end;
	uint32_t function;
};

/* Outer ones first where several start together: functions are numbered parents first. */
static int
piece_order(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

static int
emit(struct ht_lines *l, uint64_t start, uint64_t end, uint32_t function)
{
	struct ht_line_span *s = l->spans.n ? &l->spans.at[l->spans.n - 1] : NULL;

	if (start >= end)
		return 0;
	if (s && s->end == start && s->function == function) {
		s->end = end;
		return 0;
	}
	s = ht_vec_push(&l->spans);
	if (!s)
		return -HT_ENOMEM;
	*s = (struct ht_line_span){ start, end, function };
	return 0;
}

/* Sweep over the sorted pieces with a stack of those that are open; the top one owns the code. */
static int
sweep(struct ht_lines *l, const struct piece *p, size_t n, struct piece *stack)
{
	uint64_t at = 0;
	size_t depth = 0;

	for (size_t i = 0; i <= n; i++) {
		uint64_t next = i < n ? p[i].start : UINT64_MAX;

		while (depth && stack[depth - 1].end <= next) {
			if (emit(l, at, stack[depth - 1].end, stack[depth - 1].function) < 0)
				return -HT_ENOMEM;
			if (stack[depth - 1].end > at)
				at = stack[depth - 1].end;
			depth--;
		}
		if (i == n)
			break;
		if (depth && emit(l, at, next, stack[depth - 1].function) < 0)
			return -HT_ENOMEM;
		at = next;
		stack[depth] = p[i];
		/* A child never outlives the code it was inlined into. */
		if (depth && stack[depth].end > stack[depth - 1].end)
			stack[depth].end = stack[depth - 1].end;
		depth++;
	}
	return 0;
}

int
ht_lines_build_spans(struct ht_lines *l)
{
	size_t n = l->ranges.n, k = 0;
	struct piece *p = calloc(n ? n : 1, 2 * sizeof(*p));
	int rc;

	if (!p)
		return -HT_ENOMEM;
	for (uint32_t f = 0; f < l->functions.n; f++) {
		const struct ht_line_function *fn = &l->functions.at[f];

		for (uint32_t i = 0; i < fn->n_ranges; i++) {
			const struct ht_range *r = &l->ranges.at[fn->first_range + i];

			p[k++] = (struct piece){ r->start, r->end, f };
		}
	}
	qsort(p, k, sizeof(*p), piece_order);
	rc = sweep(l, p, k, p + n);
	free(p);
	return rc;
}
