/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <unistd.h>

#include "capture/symbol.h"

/* The function in the symbol table of `scn`; 0 when it is not there. */
static int
find_in(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, const char *name, GElf_Sym *out)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n = sh->sh_entsize ? sh->sh_size / sh->sh_entsize : 0;

	for (size_t i = 0; data && i < n; i++) {
		const char *text;

		if (!gelf_getsym(data, (int)i, out) || out->st_shndx == SHN_UNDEF)
			continue;
		if (GELF_ST_TYPE(out->st_info) != STT_FUNC && GELF_ST_TYPE(out->st_info) != STT_GNU_IFUNC)
			continue;
		text = elf_strptr(elf, sh->sh_link, out->st_name);
		if (text && !strcmp(text, name))
			return 1;
	}
	return 0;
}

static int
find_symbol(Elf *elf, const char *name, GElf_Sym *out)
{
	static const GElf_Word tables[] = { SHT_SYMTAB, SHT_DYNSYM };

	for (unsigned t = 0; t < 2; t++)
		for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
			GElf_Shdr sh;

			if (gelf_getshdr(scn, &sh) && sh.sh_type == tables[t] && find_in(elf, scn, &sh, name, out))
				return 1;
		}
	return 0;
}

static int
to_offset(Elf *elf, uint64_t vaddr, uint64_t *offset)
{
	size_t n = 0;

	if (elf_getphdrnum(elf, &n) < 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr ph;

		if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_LOAD && vaddr >= ph.p_vaddr &&
		    vaddr - ph.p_vaddr < ph.p_filesz) {
			*offset = vaddr - ph.p_vaddr + ph.p_offset;
			return 1;
		}
	}
	return 0;
}

int
ht_symbol_range(const char *path, const char *name, uint64_t length, uint64_t *start, uint64_t *end,
                struct ht_diag *diag)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;
	GElf_Sym sym;
	Elf *elf;

	if (fd < 0)
		return ht_fail(diag, HT_EIO, path, HT_NO_OFFSET, "filter", "%s", strerror(errno));
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF)
		rc = ht_fail(diag, HT_EFORMAT, path, HT_NO_OFFSET, "filter", "is no ELF file");
	else if (!find_symbol(elf, name, &sym) || !to_offset(elf, sym.st_value, start))
		rc = ht_fail(diag, HT_ENOTFOUND, path, HT_NO_OFFSET, "filter", "has no function '%s'", name);
	else if (!length && !sym.st_size)
		rc = ht_fail(diag, HT_ENOTFOUND, path, HT_NO_OFFSET, "filter",
		             "does not state the size of '%s'; give it as %s+LENGTH", name, name);
	else
		*end = *start + (length ? length : sym.st_size);
	elf_end(elf);
	close(fd);
	return rc;
}
