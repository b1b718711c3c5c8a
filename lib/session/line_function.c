/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions and their inlined copies, from the DIE tree.  Each place of code is
 * an entry of its own; a copy names the entry that it was inlined into.
 */
#include <dwarf.h>
#include <stdlib.h>

#include "base/radix.h"
#include "base/vec.h"
#include "session/lines.h"

#define MAX_DEPTH 256 /* deeper trees come from damaged files only */
#define MAX_CHAIN 16  /* from a copy to its origin, to its declaration */

/* What stands at the entry that copies refer to. */
struct origin {
	const uint8_t *at;
	const char *name, *linkage;
	uint32_t file, line;
};

struct walk {
	struct ht_lines *l;
	struct ht_dies *dies;
	Dwarf_CU *cu;
	struct ht_line_files *files; /* of the unit at hand */
	struct {
		struct origin *at;
		size_t n, cap;
	} origins;
	uint32_t *buckets; /* origins by address: index + 1 */
	size_t n_buckets;
};

/* The file that attribute `a` gives by its number in the line table of its unit. */
static uint32_t
file_of(struct walk *w, const Dwarf_Attribute *a)
{
	Dwarf_Attribute attr = *a;
	Dwarf_Word no;
	Dwarf_Files *files;
	Dwarf_Die cu;
	size_t n;
	const char *path;

	if (!attr.valp || dwarf_formudata(&attr, &no) != 0)
		return HT_LINE_NONE;
	if (attr.cu == w->cu)
		return ht_lines_file_number(w->l, w->files, no);
	if (!dwarf_cu_die(attr.cu, &cu, NULL, NULL, NULL, NULL, NULL, NULL) ||
	    dwarf_getsrcfiles(&cu, &files, &n) != 0 || no >= n)
		return HT_LINE_NONE;
	path = dwarf_filesrc(files, no, NULL, NULL);
	return path ? ht_lines_intern(w->l, w->files->dir, path) : HT_LINE_NONE;
}

static uint32_t
number_of(const Dwarf_Attribute *a)
{
	Dwarf_Attribute attr = *a;
	Dwarf_Word v;

	return attr.valp && dwarf_formudata(&attr, &v) == 0 && v <= UINT32_MAX ? (uint32_t)v : 0;
}

static const char *
string_of(const Dwarf_Attribute *a)
{
	Dwarf_Attribute attr = *a;

	return attr.valp ? dwarf_formstring(&attr) : NULL;
}

/* Of an entry in another unit. */
static void
read_elsewhere(struct walk *w, Dwarf_Die *die, struct origin *o)
{
	Dwarf_Attribute attr;

	if (!o->name && dwarf_attr_integrate(die, DW_AT_name, &attr))
		o->name = dwarf_formstring(&attr);
	if (!o->linkage && (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr)))
		o->linkage = dwarf_formstring(&attr);
	if (o->file == HT_LINE_NONE && dwarf_attr_integrate(die, DW_AT_decl_file, &attr))
		o->file = file_of(w, &attr);
	if (!o->line && dwarf_attr_integrate(die, DW_AT_decl_line, &attr))
		o->line = number_of(&attr);
}

/* What is not known yet, from the entry itself and then from those that it refers to. */
static void
read_names(struct walk *w, const struct ht_die *d, struct origin *o)
{
	struct ht_die one = *d;
	const uint8_t *next;

	for (unsigned i = 0; i < MAX_CHAIN; i++) {
		const Dwarf_Attribute *ref = &one.attrs[HT_DIE_ORIGIN];
		Dwarf_Attribute attr;
		Dwarf_Die elsewhere;
		const uint8_t *to;

		if (!o->name)
			o->name = string_of(&one.attrs[HT_DIE_NAME]);
		if (!o->linkage)
			o->linkage = string_of(&one.attrs[HT_DIE_LINKAGE]);
		if (o->file == HT_LINE_NONE)
			o->file = file_of(w, &one.attrs[HT_DIE_FILE]);
		if (!o->line)
			o->line = number_of(&one.attrs[HT_DIE_LINE]);
		if (!ref->valp)
			ref = &one.attrs[HT_DIE_SPECIFICATION];
		if (!ref->valp)
			return;
		to = ht_dies_refer(w->dies, ref);
		attr = *ref;
		if (!to && dwarf_formref_die(&attr, &elsewhere))
			read_elsewhere(w, &elsewhere, o);
		if (!to || ht_dies_read(w->dies, to, &one, &next) < 0 ||
		    (one.tag != DW_TAG_subprogram && one.tag != DW_TAG_inlined_subroutine))
			return;
	}
}

static size_t
bucket_of(const struct walk *w, const uint8_t *at)
{
	uint64_t h = (uint64_t)(uintptr_t)at * 0x9e3779b97f4a7c15u;

	return (size_t)(h >> 32) & (w->n_buckets - 1);
}

static int
rehash(struct walk *w)
{
	size_t n = w->n_buckets ? w->n_buckets * 2 : 256;
	uint32_t *b = calloc(n, sizeof(*b));

	if (!b)
		return -HT_ENOMEM;
	free(w->buckets);
	w->buckets = b;
	w->n_buckets = n;
	for (size_t i = 0; i < w->origins.n; i++) {
		size_t k = bucket_of(w, w->origins.at[i].at);

		while (b[k])
			k = (k + 1) & (n - 1);
		b[k] = (uint32_t)i + 1;
	}
	return 0;
}

/* What is told at `at`, read once; NULL: out of memory. */
static const struct origin *
origin_at(struct walk *w, const uint8_t *at)
{
	struct origin *o;
	struct ht_die d;
	const uint8_t *next;
	size_t k;

	if (w->origins.n * 2 >= w->n_buckets && rehash(w) < 0)
		return NULL;
	for (k = bucket_of(w, at); w->buckets[k]; k = (k + 1) & (w->n_buckets - 1))
		if (w->origins.at[w->buckets[k] - 1].at == at)
			return &w->origins.at[w->buckets[k] - 1];
	o = ht_vec_push(&w->origins);
	if (!o)
		return NULL;
	w->buckets[k] = (uint32_t)w->origins.n;
	*o = (struct origin){ .at = at, .file = HT_LINE_NONE };
	if (ht_dies_read(w->dies, at, &d, &next) == 0 &&
	    (d.tag == DW_TAG_subprogram || d.tag == DW_TAG_inlined_subroutine))
		read_names(w, &d, o);
	return o;
}

static int
add_range(struct walk *w, uint64_t start, uint64_t end)
{
	struct ht_range *r;

	if (start >= end || !ht_lines_in_text(w->l, start, end))
		return 0;
	r = ht_vec_push(&w->l->ranges);
	if (!r)
		return -HT_ENOMEM;
	*r = (struct ht_range){ start, end };
	return 1;
}

/* Ends are addresses, or lengths. */
static int
is_address(unsigned form)
{
	return form == DW_FORM_addr || form == DW_FORM_addrx || form == DW_FORM_GNU_addr_index ||
	       (form >= DW_FORM_addrx1 && form <= DW_FORM_addrx4);
}

/* The ranges of `d` inside the text; returns how many, or -HT_ENOMEM. */
static int
add_ranges(struct walk *w, const struct ht_die *d)
{
	Dwarf_Attribute low = d->attrs[HT_DIE_LOW], high = d->attrs[HT_DIE_HIGH];
	Dwarf_Die die = { .addr = (void *)(uintptr_t)d->at, .cu = w->cu };
	Dwarf_Addr base, start, end;
	ptrdiff_t off = 0;
	int n = 0, rc;

	if (low.valp && high.valp) {
		if (dwarf_formaddr(&low, &start) != 0 ||
		    (is_address(high.form) ? dwarf_formaddr(&high, &end) : dwarf_formudata(&high, &end)) != 0)
			return 0;
		return add_range(w, start, is_address(high.form) ? end : start + end);
	}
	if (!d->attrs[HT_DIE_RANGES].valp)
		return 0;
	while ((off = dwarf_ranges(&die, off, &base, &start, &end)) > 0) {
		rc = add_range(w, start, end);
		if (rc < 0)
			return rc;
		n += rc;
	}
	return n;
}

/* The first instruction of `d`, whose first range is `first`. */
static uint64_t
entry_of(const struct walk *w, const struct ht_die *d, size_t first)
{
	Dwarf_Attribute entry = d->attrs[HT_DIE_ENTRY], low = d->attrs[HT_DIE_LOW];
	Dwarf_Addr addr;

	if (entry.valp && dwarf_formaddr(&entry, &addr) == 0)
		return addr;
	if (!entry.valp && low.valp && dwarf_formaddr(&low, &addr) == 0)
		return addr;
	return w->l->ranges.at[first].start;
}

/* Returns the number of the function, or of `parent` when `d` has no code; -HT_ENOMEM. */
static int
add_function(struct walk *w, const struct ht_die *d, uint32_t parent, uint32_t *number)
{
	const Dwarf_Attribute *ref = &d->attrs[HT_DIE_ORIGIN];
	const uint8_t *to = ref->valp ? ht_dies_refer(w->dies, ref) : NULL;
	struct origin own = { .at = d->at, .file = HT_LINE_NONE };
	const struct origin *o = &own;
	size_t first = w->l->ranges.n;
	int n = add_ranges(w, d);
	struct ht_line_function *f;

	*number = parent;
	if (n <= 0)
		return n;
	/* A copy has no names of its own. */
	if (to && !d->attrs[HT_DIE_NAME].valp && !d->attrs[HT_DIE_LINKAGE].valp && !d->attrs[HT_DIE_LINE].valp) {
		o = origin_at(w, to);
		if (!o)
			return -HT_ENOMEM;
	} else {
		Dwarf_Attribute attr = *ref;
		Dwarf_Die die;

		read_names(w, d, &own);
		own.at = to ? to : ref->valp && dwarf_formref_die(&attr, &die) ? die.addr : d->at;
	}
	f = ht_vec_push(&w->l->functions);
	if (!f)
		return -HT_ENOMEM;
	*f = (struct ht_line_function){ .parent = parent,
		                        .name = o->name ? o->name : "",
		                        .linkage = o->linkage,
		                        .origin = o->at,
		                        .file = o->file,
		                        .line = o->line,
		                        .entry = entry_of(w, d, first),
		                        .first_range = (uint32_t)first,
		                        .n_ranges = (uint32_t)n,
		                        .call_file = HT_LINE_NONE };
	if (parent != HT_LINE_NONE) {
		f->call_file = file_of(w, &d->attrs[HT_DIE_CALL_FILE]);
		f->call_line = number_of(&d->attrs[HT_DIE_CALL_LINE]);
	}
	*number = (uint32_t)w->l->functions.n - 1;
	return 0;
}

/* What functions lie in. */
static int
is_scope(unsigned tag)
{
	switch (tag) {
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
		return 1;
	default:
		return 0;
	}
}

/* Entries in a row; `parents` has the function around those of each depth. */
static int
walk(struct walk *w)
{
	uint32_t parents[MAX_DEPTH + 1];
	unsigned depth = 0, passed = 0; /* levels below one that is of no use */
	const uint8_t *at = w->dies->first, *next;
	int rc = 0;

	for (; at < w->dies->end && rc == 0; at = next) {
		struct ht_die d;
		uint32_t inner = depth ? parents[depth] : HT_LINE_NONE;

		if (ht_dies_read(w->dies, at, &d, &next) < 0)
			return -HT_EFORMAT;
		if (!d.tag) {
			if (passed)
				passed--;
			else if (depth <= 1)
				break;
			else
				depth--;
			continue;
		}
		if (passed || (depth && !is_scope(d.tag) && d.tag != DW_TAG_subprogram &&
		               d.tag != DW_TAG_inlined_subroutine) || depth == MAX_DEPTH) {
			passed += d.children != 0;
			continue;
		}
		if (d.tag == DW_TAG_subprogram)
			rc = add_function(w, &d, HT_LINE_NONE, &inner);
		else if (d.tag == DW_TAG_inlined_subroutine)
			rc = add_function(w, &d, inner, &inner);
		if (d.children)
			parents[++depth] = inner;
		else if (!depth)
			break;
	}
	return rc;
}

int
ht_lines_read_functions(struct ht_lines *l, struct ht_dies *dies, Dwarf_Die *die, struct ht_line_files *files)
{
	struct walk w = { .l = l, .dies = dies, .cu = die->cu, .files = files };
	int rc = ht_dies_open(dies, die);

	if (rc == 0)
		rc = walk(&w);
	if (rc == -HT_EFORMAT) {
		l->damaged++;
		rc = 0;
	}
	ht_vec_free(&w.origins);
	free(w.buckets);
	return rc;
}

/* A range of a function on its way to become spans. */
struct piece {
	uint64_t start, end;
	uint32_t function;
};

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
	/* Outer ones come first where several start together: functions are numbered parents first. */
	rc = ht_radix_sort(p, k, sizeof(*p));
	if (rc == 0)
		rc = sweep(l, p, k, p + n);
	free(p);
	return rc;
}
