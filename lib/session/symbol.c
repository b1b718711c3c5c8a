/* SPDX-License-Identifier: BSD-2-Clause */
/* Function symbols of a module: sorted, one for each address. */
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "session/module.h"

static Elf_Scn *
section_of_type(Elf *elf, uint32_t type, GElf_Shdr *sh)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn)) != NULL)
		if (gelf_getshdr(scn, sh) && sh->sh_type == type)
			return scn;
	return NULL;
}

static int
symbol_wanted(const GElf_Sym *sym, const char *name)
{
	unsigned type = GELF_ST_TYPE(sym->st_info);

	return name && *name && sym->st_shndx != SHN_UNDEF && sym->st_shndx != SHN_ABS &&
	       (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE);
}

/* Symbols of one table; returns how many there were. */
static size_t
symbols_read(struct ht_module *m, Elf *elf, uint32_t type)
{
	GElf_Shdr sh;
	Elf_Scn *scn = section_of_type(elf, type, &sh);
	Elf_Data *d = scn ? elf_getdata(scn, NULL) : NULL;
	size_t n = d && sh.sh_entsize ? d->d_size / sh.sh_entsize : 0, before = m->symbols.n;

	for (size_t i = 0; i < n && i <= INT32_MAX; i++) {
		GElf_Sym sym;
		const char *name;
		struct ht_symbol *s;

		if (!gelf_getsym(d, (int)i, &sym))
			break;
		name = elf_strptr(elf, sh.sh_link, sym.st_name);
		if (!symbol_wanted(&sym, name))
			continue;
		s = ht_vec_push(&m->symbols);
		if (!s)
			break;
		*s = (struct ht_symbol){ name, sym.st_value, sym.st_size,
		                         GELF_ST_BIND(sym.st_info) != STB_LOCAL };
	}
	return m->symbols.n - before;
}

static int
symbol_compare(const void *x, const void *y)
{
	const struct ht_symbol *a = x, *b = y;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return strcmp(a->name, b->name);
}

static unsigned
underscores(const char *s)
{
	return (unsigned)strspn(s, "_");
}

/* Of two names for one address: is `b` the better one? */
static int
symbol_better(const struct ht_symbol *a, const struct ht_symbol *b)
{
	if (!a->size != !b->size)
		return b->size != 0;
	if (a->global != b->global)
		return b->global;
	if (underscores(a->name) != underscores(b->name))
		return underscores(b->name) < underscores(a->name);
	return strlen(b->name) < strlen(a->name);
}

static void
symbols_reduce(struct ht_module *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->symbols.n; i++) {
		struct ht_symbol *s = &m->symbols.at[i];

		if (n && m->symbols.at[n - 1].start == s->start) {
			if (symbol_better(&m->symbols.at[n - 1], s))
				m->symbols.at[n - 1] = *s;
		} else {
			m->symbols.at[n++] = *s;
		}
	}
	m->symbols.n = n;
}

/* End of the executable range that holds `vaddr`, or of its page. */
static uint64_t
text_end(struct ht_module *m, uint64_t vaddr)
{
	uint32_t n;
	const struct ht_range *r = ht_module_text(m, &n);

	for (uint32_t i = 0; i < n; i++)
		if (vaddr >= r[i].start && vaddr < r[i].end)
			return r[i].end;
	return (vaddr | 4095) + 1;
}

static void
symbols_extend(struct ht_module *m)
{
	for (size_t i = 0; i < m->symbols.n; i++) {
		struct ht_symbol *s = &m->symbols.at[i];
		uint64_t end = text_end(m, s->start);

		if (s->size)
			continue;
		if (i + 1 < m->symbols.n && m->symbols.at[i + 1].start < end)
			end = m->symbols.at[i + 1].start;
		s->size = end - s->start;
	}
}

static void
symbols_load(struct ht_module *m)
{
	const struct ht_file *debug;
	Elf *elf = ht_module_elf(m);

	if (m->symbols_tried)
		return;
	m->symbols_tried = 1;
	if (!elf)
		return;
	if (!symbols_read(m, elf, SHT_SYMTAB)) {
		debug = ht_module_debug(m);
		if (!debug || !symbols_read(m, debug->elf, SHT_SYMTAB))
			symbols_read(m, elf, SHT_DYNSYM);
	}
	if (!m->symbols.n)
		return;
	qsort(m->symbols.at, m->symbols.n, sizeof(*m->symbols.at), symbol_compare);
	symbols_reduce(m);
	symbols_extend(m);
}

const struct ht_symbol *
ht_module_symbols(struct ht_module *m, uint32_t *n)
{
	symbols_load(m);
	*n = (uint32_t)m->symbols.n;
	return m->symbols.at;
}

int
ht_module_symbol(struct ht_module *m, uint64_t vaddr, struct ht_symbol *out)
{
	size_t lo = 0, hi;

	symbols_load(m);
	for (hi = m->symbols.n; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->symbols.at[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || vaddr - m->symbols.at[lo - 1].start >= m->symbols.at[lo - 1].size)
		return -HT_ENOTFOUND;
	*out = m->symbols.at[lo - 1];
	return 0;
}

void
ht_module_symbols_free(struct ht_module *m)
{
	ht_vec_free(&m->symbols);
	for (size_t i = 0; i < m->names.n; i++)
		free(m->names.at[i]);
	ht_vec_free(&m->names);
}
