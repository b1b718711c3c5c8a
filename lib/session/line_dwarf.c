/* SPDX-License-Identifier: BSD-2-Clause */
/* Line tables of DWARF units into rows, statements and marks. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "session/lines.h"

static int
files_open(struct ht_line_files *f, Dwarf_Die *unit)
{
	Dwarf_Attribute attr;
	void *at;

	f->dir = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attr));
	if (dwarf_getsrcfiles(unit, &f->files, &f->n) != 0)
		f->n = 0;
	if (f->n > f->cap) {
		at = realloc(f->number, f->n * sizeof(*f->number));
		if (!at)
			return -HT_ENOMEM;
		f->number = at;
		f->cap = f->n;
	}
	if (f->n)
		memset(f->number, 0, f->n * sizeof(*f->number));
	return 0;
}

uint32_t
ht_lines_file_number(struct ht_lines *l, struct ht_line_files *f, uint64_t no)
{
	const char *path;

	if (no >= f->n)
		return HT_LINE_NONE;
	if (!f->number[no]) {
		path = dwarf_filesrc(f->files, no, NULL, NULL);
		/* Without memory it stays HT_LINE_NONE, and is 0 here. */
		f->number[no] = path ? ht_lines_intern(l, f->dir, path) + 1 : 0;
	}
	return f->number[no] - 1;
}

static int
read_row(struct ht_lines *l, Dwarf_Line *line, struct ht_line_files *files, struct ht_line_raw *out)
{
	Dwarf_Files *of;
	size_t file;
	int no = 0;

	out->addr = 0;
	out->end = false;
	out->stmt = false;
	dwarf_lineaddr(line, &out->addr);
	dwarf_lineno(line, &no);
	dwarf_linebeginstatement(line, &out->stmt);
	dwarf_lineendsequence(line, &out->end);
	out->stmt |= l->all_stmt;
	out->line = no > 0 ? (uint32_t)no : 0;
	out->file = HT_LINE_NONE;
	if (dwarf_line_file(line, &of, &file) == 0 && of == files->files)
		out->file = ht_lines_file_number(l, files, file);
	return 0;
}

static int
range_order(const void *a, const void *b)
{
	const struct ht_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Where the code of one unit lies; empty = it does not say. */
struct unit_ranges {
	struct ht_range *at;
	size_t           n, cap;
};

static int
read_ranges(struct unit_ranges *u, Dwarf_Die *die)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t off = 0;

	u->n = 0;
	while ((off = dwarf_ranges(die, off, &base, &start, &end)) > 0) {
		struct ht_range *r = start < end ? ht_vec_push(u) : NULL;

		if (r)
			*r = (struct ht_range){ start, end };
		else if (start < end)
			return -HT_ENOMEM;
	}
	if (u->n)
		qsort(u->at, u->n, sizeof(*u->at), range_order);
	return 0;
}

/* How far the unit's code that holds `addr` reaches; 0 when `addr` is none of it. */
static uint64_t
unit_end(const struct unit_ranges *u, uint64_t addr)
{
	size_t lo = 0, hi = u->n;

	if (!u->n)
		return UINT64_MAX;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (u->at[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && addr < u->at[lo - 1].end ? u->at[lo - 1].end : 0;
}

/*
 * libdw sorts the rows of all sequences of a unit by address, and puts the end of
 * a sequence before what else stands at its address: an empty row there seems to
 * reach as far as the next sequence.  The ranges of the unit tell better.
 *
 * Of several rows at one address only the last owns the instruction.  It is a
 * statement when any of them says so for the same line.
 */
static int
read_unit_lines(struct ht_lines *l, Dwarf_Lines *lines, size_t n, struct ht_line_files *files,
                const struct unit_ranges *u)
{
	struct ht_line_raw cur, next;
	bool stmt = false;
	uint64_t end;

	for (size_t i = 0; i < n; i++, cur = next) {
		if (i == 0 && read_row(l, dwarf_onesrcline(lines, 0), files, &cur) < 0)
			return -HT_ENOMEM;
		if (i + 1 == n)
			break;
		if (read_row(l, dwarf_onesrcline(lines, i + 1), files, &next) < 0)
			return -HT_ENOMEM;
		if (cur.end) {
			stmt = false;
			continue;
		}
		if (cur.stmt && ht_lines_in_text(l, cur.addr, cur.addr) && ht_lines_add_statement(l, &cur) < 0)
			return -HT_ENOMEM;
		if (next.addr <= cur.addr) {
			if (cur.stmt && (next.line != cur.line || next.file != cur.file) &&
			    ht_lines_add_mark(l, &cur) < 0)
				return -HT_ENOMEM;
			stmt = next.line == cur.line && next.file == cur.file && (stmt || cur.stmt);
			continue;
		}
		end = unit_end(u, cur.addr);
		if (end > next.addr)
			end = next.addr;
		if (end > cur.addr && ht_lines_in_text(l, cur.addr, end) &&
		    ht_lines_add_row(l, &cur, end, stmt || cur.stmt) < 0)
			return -HT_ENOMEM;
		stmt = false;
	}
	return 0;
}

/*
 * Do all rows of the unit stand for their statement?  GCC, when it optimises, marks
 * where statements begin, and what it does not mark may have been moved there.  Else,
 * as always in LLVM, only rows that go on with the line before them are not marked.
 */
static bool
all_statements(Dwarf_Die *cudie)
{
	Dwarf_Attribute attr;
	const char *by = dwarf_formstring(dwarf_attr(cudie, DW_AT_producer, &attr)), *o;

	if (!by)
		return false;
	if (strncmp(by, "GNU ", 4) != 0)
		return strstr(by, "clang") != NULL;
	for (o = by; (o = strstr(o, " -O")) != NULL && o[3] == '0'; o++)
		;
	return !o && strstr(by, " -m"); /* none at all: it did not write its options down */
}

/* The half of the unit `cu` that was split off; 0 when it is not there. */
static int
find_split(const struct ht_line_source *from, Dwarf_CU *cu, Dwarf_Die *subdie)
{
	if (dwarf_tag(subdie) == DW_TAG_compile_unit)
		return 1;
	return from->package ? ht_package_unit(from->package, cu, subdie) : 0;
}

/* What is used for one unit after the other. */
struct reader {
	const struct ht_line_source *from;
	struct unit_ranges ranges;
	struct ht_line_files files;
	struct ht_dies dies;
};

static int
read_unit(struct ht_lines *l, struct reader *r, Dwarf_Die *cudie, Dwarf_Die *subdie, uint8_t type)
{
	Dwarf_Die *whole = cudie;
	Dwarf_Lines *lines;
	size_t n;
	int split = 0;

	if (dwarf_getsrclines(cudie, &lines, &n) != 0) {
		l->damaged++;
		return 0;
	}
	if (type == DW_UT_skeleton) {
		split = find_split(r->from, cudie->cu, subdie);
		if (split < 0)
			return split;
		if (split)
			whole = subdie;
		else
			l->split_missing++;
	}
	l->all_stmt = all_statements(whole);
	if (files_open(&r->files, cudie) < 0 || read_ranges(&r->ranges, cudie) < 0 ||
	    read_unit_lines(l, lines, n, &r->files, &r->ranges) < 0)
		return -HT_ENOMEM;
	return ht_lines_read_functions(l, &r->dies, whole, &r->files);
}

static int
read_units(struct ht_lines *l, struct reader *r)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die cudie, subdie;
	uint8_t type;
	int more, rc = 0;

	while (rc == 0 && (more = dwarf_get_units(r->from->dwarf, cu, &cu, NULL, &type, &cudie, &subdie)) == 0)
		if ((type == DW_UT_compile || type == DW_UT_skeleton || type == DW_UT_partial) &&
		    dwarf_hasattr(&cudie, DW_AT_stmt_list))
			rc = read_unit(l, r, &cudie, &subdie, type);
	if (rc == 0 && more < 0)
		l->damaged++;
	return rc;
}

int
ht_lines_read_dwarf(struct ht_lines *l, void *source)
{
	struct reader r = { .from = source };
	int rc = read_units(l, &r);

	ht_vec_free(&r.ranges);
	free(r.files.number);
	ht_dies_close(&r.dies);
	return rc;
}
