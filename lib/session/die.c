/* SPDX-License-Identifier: BSD-2-Clause */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/vec.h"
#include "session/die.h"

#define MANY 65536 /* codes above are looked for one by one */

/* How a value that has no size of its own is passed over. */
enum { SKIP_ULEB = 0x80, SKIP_STRING, SKIP_BLOCK1, SKIP_BLOCK2, SKIP_BLOCK4, SKIP_BLOCK, SKIP_NEVER };

/* One attribute of an abbreviation. */
struct ht_die_field {
	const uint8_t *constant; /* of DW_FORM_implicit_const, in the abbreviation */
	uint16_t name, form;
	uint8_t skip; /* bytes, or one of those above */
	uint8_t slot; /* enum ht_die_slot; 0 = nobody asks for it */
};

struct ht_die_kind {
	uint64_t code;
	unsigned tag;
	int children;
	uint32_t first, n; /* in the fields */
	uint32_t fixed;    /* bytes of all of them, when every one has a size; else UINT32_MAX */
};

static uint64_t
uleb(struct ht_cursor *c)
{
	uint64_t v = 0;
	unsigned shift = 0;

	while (c->pos < c->size) {
		uint8_t b = c->base[c->pos++];

		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return v;
		shift += 7;
	}
	c->failed = 1;
	return 0;
}

static uint8_t
slot_of(uint64_t name)
{
	switch (name) {
	case DW_AT_name: return HT_DIE_NAME;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name: return HT_DIE_LINKAGE;
	case DW_AT_low_pc: return HT_DIE_LOW;
	case DW_AT_high_pc: return HT_DIE_HIGH;
	case DW_AT_ranges: return HT_DIE_RANGES;
	case DW_AT_entry_pc: return HT_DIE_ENTRY;
	case DW_AT_decl_file: return HT_DIE_FILE;
	case DW_AT_decl_line: return HT_DIE_LINE;
	case DW_AT_call_file: return HT_DIE_CALL_FILE;
	case DW_AT_call_line: return HT_DIE_CALL_LINE;
	case DW_AT_abstract_origin: return HT_DIE_ORIGIN;
	case DW_AT_specification: return HT_DIE_SPECIFICATION;
	default: return 0;
	}
}

/* [DWARF5 7.5.6 "Form Encodings"] */
static uint8_t
skip_of(const struct ht_dies *d, uint64_t form)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const: return 0;
	case DW_FORM_data1:
	case DW_FORM_ref1:
	case DW_FORM_flag:
	case DW_FORM_strx1:
	case DW_FORM_addrx1: return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2: return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3: return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
	case DW_FORM_ref_sup4: return 4;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8: return 8;
	case DW_FORM_data16: return 16;
	case DW_FORM_addr: return (uint8_t)d->addr_size;
	case DW_FORM_ref_addr: return (uint8_t)(d->version < 3 ? d->addr_size : d->offset_size);
	case DW_FORM_sec_offset:
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt: return (uint8_t)d->offset_size;
	case DW_FORM_udata:
	case DW_FORM_sdata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index: return SKIP_ULEB;
	case DW_FORM_string: return SKIP_STRING;
	case DW_FORM_block1: return SKIP_BLOCK1;
	case DW_FORM_block2: return SKIP_BLOCK2;
	case DW_FORM_block4: return SKIP_BLOCK4;
	case DW_FORM_block:
	case DW_FORM_exprloc: return SKIP_BLOCK;
	default: return SKIP_NEVER;
	}
}

static int
read_fields(struct ht_dies *d, struct ht_cursor *c, struct ht_die_kind *kind)
{
	kind->first = (uint32_t)d->fields.n;
	for (;;) {
		uint64_t name = uleb(c), form = uleb(c);
		struct ht_die_field *f;

		if (c->failed || name > UINT16_MAX || form > UINT16_MAX)
			return -HT_EFORMAT;
		if (!name && !form)
			return 0;
		f = ht_vec_push(&d->fields);
		if (!f)
			return -HT_ENOMEM;
		*f = (struct ht_die_field){ c->base + c->pos, (uint16_t)name, (uint16_t)form, skip_of(d, form), slot_of(name) };
		if (form == DW_FORM_implicit_const)
			uleb(c);
		else
			f->constant = NULL;
		kind->n++;
		if (f->skip == SKIP_NEVER)
			return -HT_EFORMAT;
		if (f->skip & 0x80)
			kind->fixed = UINT32_MAX;
		else if (kind->fixed != UINT32_MAX)
			kind->fixed += f->skip;
	}
}

static int
read_kinds(struct ht_dies *d, uint64_t offset)
{
	struct ht_cursor c = ht_cursor_make(d->abbrevs.at, d->abbrevs.size);
	int rc = 0;

	d->kinds.n = d->fields.n = d->by_code.n = 0;
	if (ht_cursor_seek(&c, offset) < 0)
		return -HT_EFORMAT;
	for (uint64_t code; rc == 0 && (code = uleb(&c)) != 0;) {
		struct ht_die_kind kind = { .code = code, .tag = (unsigned)uleb(&c), .children = ht_cursor_u8(&c) }, *slot;

		rc = read_fields(d, &c, &kind);
		slot = rc == 0 ? ht_vec_push(&d->kinds) : NULL;
		if (rc == 0 && !slot)
			rc = -HT_ENOMEM;
		if (slot)
			*slot = kind;
		while (rc == 0 && code < MANY && d->by_code.n <= code) {
			uint32_t *none = ht_vec_push(&d->by_code);

			if (none)
				*none = 0;
			else
				rc = -HT_ENOMEM;
		}
		if (rc == 0 && code < MANY)
			d->by_code.at[code] = (uint32_t)d->kinds.n;
	}
	return rc < 0 ? rc : c.failed ? -HT_EFORMAT : 0;
}

static const struct ht_die_kind *
find_kind(const struct ht_dies *d, uint64_t code)
{
	if (code < MANY)
		return code < d->by_code.n && d->by_code.at[code] ? &d->kinds.at[d->by_code.at[code] - 1] : NULL;
	for (size_t i = 0; i < d->kinds.n; i++)
		if (d->kinds.at[i].code == code)
			return &d->kinds.at[i];
	return NULL;
}

/* Section `name`, `name`.dwo or .zdebug_* of the file that `dwarf` is of; nothing unless `in` is in it, when given. */
static struct ht_bytes
find_section(Dwarf *dwarf, const char *const names[3], const uint8_t *in)
{
	struct ht_bytes s = { NULL, 0 };

	for (unsigned i = 0; i < 3 && !s.size; i++) {
		s = ht_elf_section(dwarf_getelf(dwarf), names[i]);
		if (in && s.size && (in < s.at || in >= s.at + s.size))
			s.size = 0;
	}
	return s;
}

int
ht_dies_open(struct ht_dies *d, Dwarf_Die *unit)
{
	static const char *const abbrev_names[] = { ".debug_abbrev", ".debug_abbrev.dwo", ".zdebug_abbrev" };
	static const char *const info_names[] = { ".debug_info", ".debug_info.dwo", ".zdebug_info" };
	Dwarf *dwarf = dwarf_cu_getdwarf(unit->cu);
	/* dwarf_cuoffset() tells how far in the unit the entry is. */
	Dwarf_Off at = dwarf_dieoffset(unit), start = at - dwarf_cuoffset(unit), next, abbrev;
	size_t header, left;
	Dwarf_Half version;
	uint8_t addr_size, offset_size;

	if (dwarf_next_unit(dwarf, start, &next, &header, &version, &abbrev, &addr_size, &offset_size, NULL, NULL) != 0)
		return -HT_EFORMAT;
	d->cu = unit->cu;
	d->version = version;
	d->addr_size = addr_size;
	d->offset_size = offset_size;
	if (d->of != dwarf) {
		d->abbrevs = find_section(dwarf, abbrev_names, NULL);
		d->info = find_section(dwarf, info_names, unit->addr);
		d->of = dwarf;
	}
	if (!d->abbrevs.size || !d->info.size)
		return -HT_EFORMAT;
	/* A header may tell of more than there is. */
	d->first = unit->addr;
	d->start = d->first - (at - start);
	left = (size_t)(d->info.at + d->info.size - d->first);
	d->end = d->first + (next > at && next - at < left ? next - at : left);
	return read_kinds(d, abbrev);
}

void
ht_dies_close(struct ht_dies *d)
{
	ht_vec_free(&d->kinds);
	ht_vec_free(&d->fields);
	ht_vec_free(&d->by_code);
}

static void
skip(struct ht_cursor *c, unsigned how)
{
	switch (how) {
	case SKIP_ULEB:
		uleb(c);
		return;
	case SKIP_STRING:
		while (!c->failed && ht_cursor_u8(c))
			;
		return;
	case SKIP_BLOCK1:
		ht_cursor_take(c, ht_cursor_u8(c));
		return;
	case SKIP_BLOCK2:
		ht_cursor_take(c, ht_cursor_u16(c));
		return;
	case SKIP_BLOCK4:
		ht_cursor_take(c, ht_cursor_u32(c));
		return;
	case SKIP_BLOCK:
		ht_cursor_take(c, uleb(c));
		return;
	default:
		ht_cursor_take(c, how);
	}
}

static int
is_function(unsigned tag)
{
	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

int
ht_dies_read(const struct ht_dies *d, const uint8_t *at, struct ht_die *out, const uint8_t **next)
{
	struct ht_cursor c = ht_cursor_make(at, (size_t)(d->end - at));
	uint64_t code = uleb(&c);
	const struct ht_die_kind *kind = code ? find_kind(d, code) : NULL;

	out->at = at;
	out->tag = 0;
	out->children = 0;
	if (code && !kind)
		return -HT_EFORMAT;
	if (kind) {
		const struct ht_die_field *f = d->fields.at + kind->first;
		int wanted = is_function(kind->tag);

		out->tag = kind->tag;
		out->children = kind->children;
		if (!wanted && kind->fixed != UINT32_MAX) {
			ht_cursor_take(&c, kind->fixed);
		} else {
			if (wanted)
				memset(out->attrs, 0, sizeof(out->attrs));
			for (uint32_t i = 0; i < kind->n; i++, f++) {
				if (wanted && f->slot)
					out->attrs[f->slot] = (Dwarf_Attribute){
						.code = f->name, .form = f->form, .cu = d->cu,
						.valp = (unsigned char *)(uintptr_t)(f->constant ? f->constant : c.base + c.pos) };
				skip(&c, f->skip);
			}
		}
	}
	*next = c.base + c.pos;
	return c.failed ? -HT_EFORMAT : 0;
}

const uint8_t *
ht_dies_refer(const struct ht_dies *d, const Dwarf_Attribute *attr)
{
	struct ht_cursor c = ht_cursor_make(attr->valp, (size_t)(d->end - attr->valp));
	size_t size = (size_t)(d->end - d->start);
	uint64_t offset;

	switch (attr->form) {
	case DW_FORM_ref1: offset = ht_cursor_u8(&c); break;
	case DW_FORM_ref2: offset = ht_cursor_u16(&c); break;
	case DW_FORM_ref4: offset = ht_cursor_u32(&c); break;
	case DW_FORM_ref8: offset = ht_cursor_u64(&c); break;
	case DW_FORM_ref_udata: offset = uleb(&c); break;
	default: return NULL;
	}
	return c.failed || offset >= size || d->start + offset < d->first ? NULL : d->start + offset;
}
