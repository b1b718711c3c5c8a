/* SPDX-License-Identifier: BSD-2-Clause */
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "qemu/hook.h"

#define PAGE 4096

/* The executable, as far as it matters here. */
struct image {
	uintptr_t        base;
	const Elf64_Dyn *dynamic;
	uintptr_t        relro_start, relro_end; /* read-only since it was relocated: whole pages */
	const Elf64_Sym *sym;
	const char      *str;
	const Elf64_Rela *plt, *rela;
	size_t           plt_size, rela_size;
};

/* Called for the executable first, and for nothing else. */
static int
see_image(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct image *m = arg;

	(void)size;
	m->base = info->dlpi_addr;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const Elf64_Phdr *p = &info->dlpi_phdr[i];
		uintptr_t at = m->base + p->p_vaddr;

		if (p->p_type == PT_DYNAMIC)
			m->dynamic = (const Elf64_Dyn *)at;
		if (p->p_type == PT_GNU_RELRO) {
			m->relro_start = at & ~(uintptr_t)(PAGE - 1);
			m->relro_end = (at + p->p_memsz) & ~(uintptr_t)(PAGE - 1);
		}
	}
	return 1;
}

static void
see_dynamic(struct image *m)
{
	for (const Elf64_Dyn *d = m->dynamic; d && d->d_tag != DT_NULL; d++) {
		switch (d->d_tag) {
		case DT_JMPREL: m->plt = (const Elf64_Rela *)d->d_un.d_ptr; break;
		case DT_PLTRELSZ: m->plt_size = d->d_un.d_val; break;
		case DT_RELA: m->rela = (const Elf64_Rela *)d->d_un.d_ptr; break;
		case DT_RELASZ: m->rela_size = d->d_un.d_val; break;
		case DT_SYMTAB: m->sym = (const Elf64_Sym *)d->d_un.d_ptr; break;
		case DT_STRTAB: m->str = (const char *)d->d_un.d_ptr; break;
		default: break;
		}
	}
}

static int
patch(const struct image *m, uintptr_t where, void *to)
{
	void *page = (void *)(where & ~(uintptr_t)(PAGE - 1));
	int locked = where >= m->relro_start && where < m->relro_end;

	if (locked && mprotect(page, PAGE, PROT_READ | PROT_WRITE) < 0)
		return 0;
	*(void **)where = to;
	if (locked)
		mprotect(page, PAGE, PROT_READ);
	return 1;
}

static unsigned
patch_relocs(const struct image *m, const Elf64_Rela *rela, size_t size, const char *name, void *to)
{
	unsigned n = 0;

	for (size_t i = 0; rela && i < size / sizeof(*rela); i++) {
		unsigned type = (unsigned)ELF64_R_TYPE(rela[i].r_info);
		const Elf64_Sym *sym = &m->sym[ELF64_R_SYM(rela[i].r_info)];

		if ((type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT) &&
		    !strcmp(m->str + sym->st_name, name))
			n += (unsigned)patch(m, m->base + rela[i].r_offset, to);
	}
	return n;
}

unsigned
ht_hook(const char *name, void *to)
{
	struct image m = { 0 };

	dl_iterate_phdr(see_image, &m);
	see_dynamic(&m);
	if (!m.sym || !m.str)
		return 0;
	return patch_relocs(&m, m.plt, m.plt_size, name, to) +
	       patch_relocs(&m, m.rela, m.rela_size, name, to);
}
