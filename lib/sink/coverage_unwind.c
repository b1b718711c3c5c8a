/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where functions begin and end according to the unwind tables, which every
 * stripped program still has. [LSB "Exception Frames"]
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/vec.h"
#include "sink/coverage_code.h"

struct section {
	Elf_Data *data;
	uint64_t  addr;
	unsigned  pointer; /* bytes of an address */
};

static int
find_section(Elf *elf, struct section *out)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return -HT_ENOTFOUND;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;
		const char *name;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, sh.sh_name);
		if (name && !strcmp(name, ".eh_frame") && (out->data = elf_rawdata(scn, NULL))) {
			out->addr = sh.sh_addr;
			out->pointer = gelf_getclass(elf) == ELFCLASS32 ? 4 : 8;
			return 0;
		}
	}
	return -HT_ENOTFOUND;
}

/* Size of a pointer with this encoding; 0 = not one that functions are described with. */
static unsigned
encoded_size(unsigned encoding, unsigned pointer)
{
	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
		return pointer;
	case DW_EH_PE_udata4:
	case DW_EH_PE_sdata4:
		return 4;
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return 8;
	default:
		return 0;
	}
}

/* How the pointers of this CIE are encoded: the 'R' of its augmentation. */
static unsigned
cie_encoding(const Dwarf_CIE *cie, unsigned pointer)
{
	const char *aug = cie->augmentation;
	struct ht_cursor c = ht_cursor_make(cie->augmentation_data, cie->augmentation_data_size);

	if (*aug++ != 'z')
		return DW_EH_PE_absptr;
	for (; *aug; aug++) {
		if (*aug == 'R')
			return (unsigned)ht_cursor_u8(&c);
		if (*aug == 'L') {
			ht_cursor_u8(&c);
		} else if (*aug == 'P') {
			unsigned size = encoded_size(ht_cursor_u8(&c), pointer);

			if (!size)
				break;
			ht_cursor_take(&c, size);
		} else if (*aug != 'S' && *aug != 'B') {
			break;
		}
	}
	return *aug ? DW_EH_PE_omit : DW_EH_PE_absptr;
}

static int64_t
sign_extend(uint64_t v, unsigned size)
{
	return size == 4 ? (int32_t)(uint32_t)v : (int64_t)v;
}

/* Range of one FDE into `out`; 0 when it has none that can be read. */
static int
fde_range(const struct section *s, const Dwarf_FDE *fde, unsigned encoding, struct ht_range *out)
{
	unsigned size = encoded_size(encoding, s->pointer);
	const uint8_t *base = s->data->d_buf;
	struct ht_cursor c = ht_cursor_make(fde->start, (size_t)(fde->end - fde->start));
	uint64_t at = s->addr + (uint64_t)(fde->start - base), start, len;

	if (!size || ((encoding & 0x70) && (encoding & 0x70) != DW_EH_PE_pcrel) || encoding & DW_EH_PE_indirect)
		return 0;
	start = (uint64_t)sign_extend(ht_cursor_uint(&c, size), size);
	len = ht_cursor_uint(&c, size);
	if (c.failed || !len)
		return 0;
	if ((encoding & 0x70) == DW_EH_PE_pcrel)
		start += at;
	if (s->pointer == 4)
		start &= UINT32_MAX;
	if (start > UINT64_MAX - len)
		return 0;
	*out = (struct ht_range){ start, start + len };
	return 1;
}

int
cov_unwind_ranges(struct ht_module *m, struct cov_ranges *out)
{
	Elf *elf = ht_module_elf(m);
	struct section s;
	Dwarf_Off off = 0, next, cie_off = (Dwarf_Off)-1;
	unsigned encoding = DW_EH_PE_omit;
	const unsigned char *ident;
	Dwarf_CFI_Entry e;

	if (!elf || find_section(elf, &s) < 0)
		return 0;
	ident = (const unsigned char *)elf_getident(elf, NULL);
	for (; dwarf_next_cfi(ident, s.data, true, off, &next, &e) == 0; off = next) {
		struct ht_range r, *slot;

		if (dwarf_cfi_cie_p(&e)) {
			encoding = cie_encoding(&e.cie, s.pointer);
			cie_off = off;
			continue;
		}
		if (e.fde.CIE_pointer != cie_off) {
			Dwarf_CFI_Entry cie;
			Dwarf_Off after;

			if (dwarf_next_cfi(ident, s.data, true, e.fde.CIE_pointer, &after, &cie) != 0 ||
			    !dwarf_cfi_cie_p(&cie))
				continue;
			encoding = cie_encoding(&cie.cie, s.pointer);
			cie_off = e.fde.CIE_pointer;
		}
		if (!fde_range(&s, &e.fde, encoding, &r))
			continue;
		slot = ht_vec_push(out);
		if (!slot)
			return -HT_ENOMEM;
		*slot = r;
	}
	if (out->n)
		qsort(out->at, out->n, sizeof(*out->at), cov_range_order);
	return 0;
}
