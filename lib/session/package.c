/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * [DWARF5 7.3.5 "DWARF Package Files"]: an index has, by the unit's id, the piece of
 * each section that is the unit's.  Version 2 of it, for DWARF 4, is GNU's; the two
 * number sections alike where they matter here.
 *
 * What a split unit leaves to its skeleton is put back: the address that its ranges
 * are relative to, in the place of the id, which is as large; and the skeleton's
 * pieces of .debug_addr and .debug_ranges, from where it says that they begin.
 */
#include <dwarf.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/vec.h"
#include "session/module.h"
#include "session/package.h"

enum column { INFO = 1, ABBREV = 3, STR_OFFSETS = 6, RNGLISTS = 8, COLUMNS = 9 };
enum part { P_INFO, P_ABBREV, P_STR, P_STR_OFFSETS, P_RNGLISTS, P_ADDR, P_RANGES, PARTS };

#define MAX_COLUMNS 64
#define MAX_SLOTS   (1u << 28)

/* One unit by itself; `info` and `abbrev` are its own. */
struct unit {
	uint8_t *info, *abbrev;
	void *image; /* what `elf` reads */
	Elf *elf;
	Dwarf *dwarf;
};

struct ht_package {
	struct ht_file file;
	struct ht_bytes index, info, abbrev, str, str_offsets, rnglists;
	uint32_t columns, units, slots;
	uint32_t column[COLUMNS]; /* by kind of section: its column + 1; 0 = none */
	size_t hashes;            /* where the table of ids is in `index` */
	struct {
		struct unit *at;
		size_t n, cap;
	} made;
};

static int
read_index(struct ht_package *p)
{
	struct ht_cursor c = ht_cursor_make(p->index.at, p->index.size);
	uint32_t version = ht_cursor_u32(&c);

	p->columns = ht_cursor_u32(&c);
	p->units = ht_cursor_u32(&c);
	p->slots = ht_cursor_u32(&c);
	p->hashes = c.pos;
	if (c.failed || (version != 2 && (version & 0xffff) != 5) || p->columns > MAX_COLUMNS ||
	    p->slots > MAX_SLOTS || p->units > p->slots || p->slots & (p->slots - 1))
		return -HT_ENOTFOUND;
	ht_cursor_take(&c, (size_t)p->slots * 12);
	for (uint32_t i = 0; i < p->columns; i++) {
		uint32_t kind = ht_cursor_u32(&c);

		if (kind < COLUMNS)
			p->column[kind] = i + 1;
	}
	if (version == 2)
		p->column[RNGLISTS] = 0; /* it is .debug_macro there */
	return c.failed || !p->column[INFO] || !p->column[ABBREV] ? -HT_ENOTFOUND : 0;
}

int
ht_package_open(const char *path, struct ht_package **out)
{
	struct ht_package *p = calloc(1, sizeof(*p));
	int rc;

	if (!p)
		return -HT_ENOMEM;
	rc = ht_file_open(&p->file, path);
	if (rc == 0 && p->file.elf) {
		p->index = ht_elf_section(p->file.elf, ".debug_cu_index");
		p->info = ht_elf_section(p->file.elf, ".debug_info.dwo");
		p->abbrev = ht_elf_section(p->file.elf, ".debug_abbrev.dwo");
		p->str = ht_elf_section(p->file.elf, ".debug_str.dwo");
		p->str_offsets = ht_elf_section(p->file.elf, ".debug_str_offsets.dwo");
		p->rnglists = ht_elf_section(p->file.elf, ".debug_rnglists.dwo");
	}
	if (rc < 0 || !p->index.at || read_index(p) < 0) {
		ht_package_close(p);
		return rc == -HT_ENOMEM ? rc : -HT_ENOTFOUND;
	}
	*out = p;
	return 0;
}

static void
unit_fini(struct unit *u)
{
	dwarf_end(u->dwarf);
	elf_end(u->elf);
	free(u->image);
	free(u->info);
	free(u->abbrev);
}

void
ht_package_close(struct ht_package *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->made.n; i++)
		unit_fini(&p->made.at[i]);
	ht_vec_free(&p->made);
	ht_file_close(&p->file);
	free(p);
}

/* Row of the unit with this id, from 1; 0 = it is not there. */
static uint32_t
find_row(const struct ht_package *p, uint64_t id)
{
	uint32_t mask = p->slots - 1, at = (uint32_t)id & mask, step = (uint32_t)(id >> 32 & mask) | 1;

	for (uint32_t i = 0; i < p->slots; i++, at = (at + step) & mask) {
		uint32_t row = (uint32_t)ht_le(p->index.at + p->hashes + (size_t)p->slots * 8 + (size_t)at * 4, 4);

		if (!row)
			return 0;
		if (ht_le(p->index.at + p->hashes + (size_t)at * 8, 8) == id)
			return row <= p->units ? row : 0;
	}
	return 0;
}

/* The piece of section `all`, of kind `kind`, that is row `row`'s. */
static struct ht_bytes
piece(const struct ht_package *p, uint32_t row, enum column kind, struct ht_bytes all)
{
	struct ht_bytes none = { NULL, 0 };
	struct ht_cursor c = ht_cursor_make(p->index.at, p->index.size);
	uint64_t table = (uint64_t)p->units * p->columns * 4, cell;
	uint32_t at, size;

	if (!p->column[kind])
		return none;
	cell = p->hashes + (uint64_t)p->slots * 12 + ((uint64_t)row * p->columns + p->column[kind] - 1) * 4;
	ht_cursor_seek(&c, cell);
	at = ht_cursor_u32(&c);
	ht_cursor_seek(&c, cell + table);
	size = ht_cursor_u32(&c);
	if (c.failed || at > all.size || size > all.size - at || !size)
		return none;
	return (struct ht_bytes){ all.at + at, size };
}

static uint64_t
uleb(struct ht_cursor *c)
{
	uint64_t v = 0;
	uint8_t b;
	unsigned shift = 0;

	do {
		b = ht_cursor_u8(c);
		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
	} while (b & 0x80 && !c->failed);
	return v;
}

/* Pass over a value of the unit's first entry; what is not known fails. */
static void
pass(struct ht_cursor *c, uint64_t form)
{
	static const uint8_t sizes[] = { [DW_FORM_data1] = 1, [DW_FORM_flag] = 1, [DW_FORM_data2] = 2,
		                         [DW_FORM_data4] = 4, [DW_FORM_sec_offset] = 4, [DW_FORM_strp] = 4,
		                         [DW_FORM_data8] = 8 };

	if (form == DW_FORM_string)
		while (!c->failed && ht_cursor_u8(c))
			;
	else if (form == DW_FORM_udata || form == DW_FORM_strx || form == DW_FORM_GNU_str_index)
		uleb(c);
	else if (form < sizeof(sizes) && sizes[form])
		ht_cursor_take(c, sizes[form]);
	else if (form != DW_FORM_flag_present)
		c->failed = 1;
}

/* One attribute and its form; 0 at the end of the entry's. */
static int
next_attribute(struct ht_cursor *c, uint64_t *name, uint64_t *form)
{
	*name = uleb(c);
	*form = uleb(c);
	if (*form == DW_FORM_implicit_const)
		uleb(c);
	return !c->failed && (*name || *form);
}

/*
 * The declaration of entry kind `code`: the cursor behind its tag and flag of
 * children, *start in front of it.  0 when there is none.
 */
static int
find_declaration(struct ht_cursor *c, uint64_t code, size_t *start)
{
	uint64_t name, form;

	for (;;) {
		uint64_t this;

		*start = c->pos;
		this = uleb(c);
		if (c->failed || !this)
			return 0;
		uleb(c);
		ht_cursor_u8(c);
		if (this == code)
			return !c->failed;
		while (next_attribute(c, &name, &form))
			;
	}
}

/*
 * [DWARF5 7.5.1.2 "Skeleton and Split Compilation Unit Headers"]: the id goes out of
 * the header, the address comes in behind the kind of the first entry, and the
 * declaration of that kind begins with it.
 */
static int
patch_5(struct unit *u, size_t info_size, struct ht_bytes abbrev, uint64_t base, size_t *abbrev_size)
{
	struct ht_cursor c = ht_cursor_make(u->info, info_size), d = ht_cursor_make(abbrev.at, abbrev.size);
	size_t kind, start;
	uint64_t code;

	ht_cursor_seek(&d, ht_le(u->info + 8, 4));
	ht_cursor_seek(&c, 20);
	code = uleb(&c);
	kind = c.pos - 20;
	if (c.failed || !find_declaration(&d, code, &start))
		return -HT_EFORMAT;
	u->info[6] = DW_UT_compile;
	memmove(u->info + 12, u->info + 20, kind);
	memcpy(u->info + 12 + kind, &base, 8);
	memcpy(u->abbrev, abbrev.at, d.pos);
	u->abbrev[d.pos] = DW_AT_low_pc;
	u->abbrev[d.pos + 1] = DW_FORM_addr;
	memcpy(u->abbrev + d.pos + 2, abbrev.at + d.pos, abbrev.size - d.pos);
	*abbrev_size = abbrev.size + 2;
	return 0;
}

/* GNU's split units of DWARF 4 have the id as an attribute of eight bytes. */
static int
patch_4(struct unit *u, size_t info_size, struct ht_bytes abbrev, uint64_t base, size_t *abbrev_size)
{
	struct ht_cursor c = ht_cursor_make(u->info, info_size), d = ht_cursor_make(abbrev.at, abbrev.size);
	struct ht_bytes before = { NULL, 0 };
	uint64_t name, form;
	size_t start;

	ht_cursor_seek(&d, ht_le(u->info + 6, 4));
	ht_cursor_seek(&c, 11);
	if (!find_declaration(&d, uleb(&c), &start))
		return -HT_EFORMAT;
	for (;;) {
		before.size = d.pos;
		if (!next_attribute(&d, &name, &form) || c.failed)
			return -HT_EFORMAT;
		if (name == DW_AT_GNU_dwo_id && form == DW_FORM_data8)
			break;
		pass(&c, form);
	}
	if (!ht_cursor_take(&c, 8))
		return -HT_EFORMAT;
	memcpy(u->info + c.pos - 8, &base, 8);
	memcpy(u->abbrev, abbrev.at, before.size);
	u->abbrev[before.size] = DW_AT_low_pc;
	u->abbrev[before.size + 1] = DW_FORM_addr;
	memcpy(u->abbrev + before.size + 2, abbrev.at + d.pos, abbrev.size - d.pos);
	*abbrev_size = abbrev.size - (d.pos - before.size) + 2;
	return 0;
}

/* Section `name` of the program that `skeleton` is in, from where attribute `base` says. */
static struct ht_bytes
from_base(Dwarf_CU *skeleton, Dwarf_Die *die, const char *name, unsigned base, unsigned gnu)
{
	struct ht_bytes none = { NULL, 0 }, all;
	Dwarf_Attribute attr;
	Dwarf_Word at = 0;

	if (!dwarf_attr(die, base, &attr) && !dwarf_attr(die, gnu, &attr))
		return none;
	if (dwarf_formudata(&attr, &at) != 0)
		return none;
	all = ht_elf_section(dwarf_getelf(dwarf_cu_getdwarf(skeleton)), name);
	return at < all.size ? (struct ht_bytes){ all.at + at, all.size - at } : none;
}

/* An ELF file of sections of one byte each, which are then made to stand for `parts`. */
static int
make_elf(struct unit *u, const struct ht_bytes parts[PARTS])
{
	static const char names[] = "\0.debug_info\0.debug_abbrev\0.debug_str\0.debug_str_offsets\0"
	                            ".debug_rnglists\0.debug_addr\0.debug_ranges\0.shstrtab";
	struct {
		Elf64_Ehdr head;
		Elf64_Shdr sections[PARTS + 2];
		char names[sizeof(names)];
	} *image = calloc(1, sizeof(*image));
	const char *name = names + 1;
	Elf_Scn *scn = NULL;

	u->image = image;
	if (!image)
		return -HT_ENOMEM;
	image->head = (Elf64_Ehdr){ .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		                   .e_type = ET_REL,
		                   .e_machine = EM_X86_64,
		                   .e_version = EV_CURRENT,
		                   .e_shoff = sizeof(image->head),
		                   .e_ehsize = sizeof(image->head),
		                   .e_shentsize = sizeof(Elf64_Shdr),
		                   .e_shnum = PARTS + 2,
		                   .e_shstrndx = PARTS + 1 };
	memcpy(image->names, names, sizeof(names));
	for (unsigned i = 1; i < PARTS + 2; i++, name += strlen(name) + 1)
		image->sections[i] = (Elf64_Shdr){ .sh_name = (Elf64_Word)(name - names),
			                          .sh_type = i <= PARTS ? SHT_PROGBITS : SHT_STRTAB,
			                          .sh_offset = offsetof(__typeof__(*image), names),
			                          .sh_size = i <= PARTS ? parts[i - 1].size != 0 : sizeof(names),
			                          .sh_addralign = 1 };
	u->elf = elf_memory((char *)image, sizeof(*image));
	for (unsigned i = 0; u->elf && i < PARTS && (scn = elf_nextscn(u->elf, scn)) != NULL; i++) {
		Elf_Data *d = elf_getdata(scn, NULL);

		if (d && parts[i].size) {
			d->d_buf = (void *)(uintptr_t)parts[i].at;
			d->d_size = parts[i].size;
		}
	}
	return u->elf ? 0 : -HT_EFORMAT;
}

static int
make_unit(struct ht_package *p, uint32_t row, Dwarf_CU *skeleton, Dwarf_Die *die, struct unit *u)
{
	struct ht_bytes info = piece(p, row, INFO, p->info), abbrev = piece(p, row, ABBREV, p->abbrev);
	struct ht_bytes parts[PARTS] = { { NULL, 0 } };
	Dwarf_Addr base = 0;
	unsigned version = info.size > 32 ? (unsigned)ht_le(info.at + 4, 2) : 0;
	size_t abbrev_size;
	int rc;

	/* The 64-bit format, whose length begins with ones, and other sizes of addresses: nobody makes them. */
	if (!abbrev.size || (version != 4 && version != 5) || ht_le(info.at, 4) > info.size - 4 ||
	    info.at[version == 4 ? 10 : 7] != 8)
		return -HT_EFORMAT;
	u->info = malloc(info.size);
	u->abbrev = malloc(abbrev.size + 2);
	if (!u->info || !u->abbrev)
		return -HT_ENOMEM;
	memcpy(u->info, info.at, info.size);
	dwarf_lowpc(die, &base);
	rc = (version == 4 ? patch_4 : patch_5)(u, info.size, abbrev, base, &abbrev_size);
	if (rc < 0)
		return rc;
	parts[P_INFO] = (struct ht_bytes){ u->info, info.size };
	parts[P_ABBREV] = (struct ht_bytes){ u->abbrev, abbrev_size };
	parts[P_STR] = p->str;
	parts[P_STR_OFFSETS] = piece(p, row, STR_OFFSETS, p->str_offsets);
	parts[P_RNGLISTS] = piece(p, row, RNGLISTS, p->rnglists);
	parts[P_ADDR] = from_base(skeleton, die, ".debug_addr", DW_AT_addr_base, DW_AT_GNU_addr_base);
	parts[P_RANGES] = from_base(skeleton, die, ".debug_ranges", DW_AT_GNU_ranges_base, DW_AT_GNU_ranges_base);
	rc = make_elf(u, parts);
	if (rc == 0)
		u->dwarf = dwarf_begin_elf(u->elf, DWARF_C_READ, NULL);
	return rc < 0 ? rc : u->dwarf ? 0 : -HT_EFORMAT;
}

int
ht_package_unit(struct ht_package *p, Dwarf_CU *skeleton, Dwarf_Die *out)
{
	struct unit u = { NULL, NULL, NULL, NULL, NULL }, *slot;
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	uint64_t id;
	uint8_t type;
	uint32_t row;
	int rc;

	if (dwarf_cu_info(skeleton, NULL, &type, &die, NULL, &id, NULL, NULL) != 0 || !(row = find_row(p, id)))
		return 0;
	rc = make_unit(p, row, skeleton, &die, &u);
	if (rc == 0 && dwarf_get_units(u.dwarf, NULL, &cu, NULL, &type, out, NULL) != 0)
		rc = -HT_EFORMAT;
	slot = rc == 0 ? ht_vec_push(&p->made) : NULL;
	if (!slot) {
		unit_fini(&u);
		return rc == -HT_EFORMAT ? 0 : -HT_ENOMEM;
	}
	*slot = u;
	return 1;
}
