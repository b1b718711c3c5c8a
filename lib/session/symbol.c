/* SPDX-License-Identifier: BSD-2-Clause */
/* Function symbols of a module: sorted, one for each address. */
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "session/module.h"

#define SYMBOL_MAX 0x1000000 /* more in one file is no symbol table */

/* A symbol while the table is made: what decides between two names of one address. */
struct candidate {
	struct ht_symbol s;
	uint32_t         order; /* in the file */
	uint8_t          weak;
};

struct candidates { struct candidate *at; size_t n, cap; };

static Elf_Scn *
section_find(Elf *elf, uint32_t type, const char *name, GElf_Shdr *sh)
{
	size_t names;
	Elf_Scn *scn = NULL;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return NULL;
	while ((scn = elf_nextscn(elf, scn)) != NULL) {
		const char *is;

		if (!gelf_getshdr(scn, sh) || sh->sh_type != type)
			continue;
		is = elf_strptr(elf, names, sh->sh_name);
		if (!name || (is && !strcmp(is, name)))
			return scn;
	}
	return NULL;
}

/* Is section `index` one whose labels name code?  perf asks for "text" in its name. */
static int
section_is_text(Elf *elf, size_t index, int label)
{
	size_t names;
	GElf_Shdr sh;
	Elf_Scn *scn = elf_getscn(elf, index);
	const char *name;

	if (!scn || !gelf_getshdr(scn, &sh) || !(sh.sh_flags & SHF_EXECINSTR))
		return 0;
	if (!label)
		return 1;
	name = elf_getshdrstrndx(elf, &names) == 0 ? elf_strptr(elf, names, sh.sh_name) : NULL;
	return name && strstr(name, "text") != NULL;
}

/* Functions; and labels and objects, where they lie in code. */
static int
symbol_wanted(Elf *elf, const GElf_Sym *sym, const char *name)
{
	if (!name || !*name || sym->st_shndx == SHN_UNDEF || sym->st_shndx >= SHN_LORESERVE)
		return 0;
	switch (GELF_ST_TYPE(sym->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return 1;
	case STT_OBJECT:
		return section_is_text(elf, sym->st_shndx, 0);
	case STT_NOTYPE:
		return section_is_text(elf, sym->st_shndx, 1);
	default:
		return 0;
	}
}

static int
candidate_add(struct candidates *c, const char *name, uint64_t start, uint64_t size, unsigned bind)
{
	struct candidate *k;

	if (c->n >= SYMBOL_MAX)
		return -HT_ELIMIT;
	k = ht_vec_push(c);
	if (!k)
		return -HT_ENOMEM;
	if (size > UINT64_MAX - start)
		size = UINT64_MAX - start;
	*k = (struct candidate){ { name, start, size, bind == STB_GLOBAL }, (uint32_t)c->n,
	                         bind == STB_WEAK };
	return 0;
}

/* Symbols of one table; returns how many there were. */
static size_t
symbols_read(struct candidates *c, Elf *elf, uint32_t type)
{
	GElf_Shdr sh;
	Elf_Scn *scn = section_find(elf, type, NULL, &sh);
	Elf_Data *d = scn ? elf_getdata(scn, NULL) : NULL;
	size_t n = d && sh.sh_entsize ? d->d_size / sh.sh_entsize : 0, before = c->n;

	for (size_t i = 0; i < n && i <= INT32_MAX; i++) {
		GElf_Sym sym;
		const char *name;

		if (!gelf_getsym(d, (int)i, &sym))
			break;
		name = elf_strptr(elf, sh.sh_link, sym.st_name);
		if (symbol_wanted(elf, &sym, name) &&
		    candidate_add(c, name, sym.st_value, sym.st_size, GELF_ST_BIND(sym.st_info)) < 0)
			break;
	}
	return c->n - before;
}

/* -- entries of the procedure linkage table ------------------------------ */

/* "NAME@plt" for the symbol that relocation `i` is about; NULL when out of memory. */
static const char *
plt_name(struct ht_module *m, Elf_Data *rel, const GElf_Shdr *rel_sh, size_t i)
{
	Elf *elf = m->file.elf;
	Elf_Scn *scn = elf_getscn(elf, rel_sh->sh_link);
	Elf_Data *d = scn ? elf_getdata(scn, NULL) : NULL;
	const char *name = NULL;
	GElf_Shdr sh;
	GElf_Rela rela;
	GElf_Rel r;
	GElf_Sym sym;
	uint64_t info = 0;
	char **slot;

	if (rel_sh->sh_type == SHT_RELA && gelf_getrela(rel, (int)i, &rela))
		info = rela.r_info;
	else if (rel_sh->sh_type == SHT_REL && gelf_getrel(rel, (int)i, &r))
		info = r.r_info;
	if (d && gelf_getshdr(scn, &sh) && gelf_getsym(d, (int)GELF_R_SYM(info), &sym))
		name = elf_strptr(elf, sh.sh_link, sym.st_name);
	slot = ht_vec_push(&m->names);
	if (!slot)
		return NULL;
	if (asprintf(slot, "%s@plt", name ? name : "") < 0) {
		m->names.n--;
		return NULL;
	}
	return *slot;
}

/* One entry for each relocation, in their order, behind `skip` entries. */
static void
plt_section(struct ht_module *m, struct candidates *c, const char *section, unsigned skip,
            Elf_Data *rel, const GElf_Shdr *rel_sh)
{
	size_t n = rel_sh->sh_entsize ? rel->d_size / rel_sh->sh_entsize : 0;
	GElf_Shdr sh;
	uint64_t entry;

	if (!section_find(m->file.elf, SHT_PROGBITS, section, &sh))
		return;
	entry = sh.sh_entsize ? sh.sh_entsize : 16;
	for (size_t i = 0; i < n && i <= INT32_MAX && (i + skip + 1) * entry <= sh.sh_size; i++) {
		const char *name = plt_name(m, rel, rel_sh, i);

		if (!name || candidate_add(c, name, sh.sh_addr + (i + skip) * entry, entry, STB_GLOBAL) < 0)
			return;
	}
}

static void
plt_read(struct ht_module *m, struct candidates *c)
{
	GElf_Shdr sh;
	Elf *elf = m->file.elf;
	Elf_Scn *scn = section_find(elf, SHT_RELA, ".rela.plt", &sh);
	Elf_Data *d;

	if (!scn)
		scn = section_find(elf, SHT_REL, ".rel.plt", &sh);
	d = scn ? elf_getdata(scn, NULL) : NULL;
	if (!d)
		return;
	/* With branch tracking on, .plt only resolves and .plt.sec has the entries that are called. */
	plt_section(m, c, ".plt", 1, d, &sh);
	plt_section(m, c, ".plt.sec", 0, d, &sh);
}

/* -- one name for each address ------------------------------------------- */

static int
candidate_compare(const void *x, const void *y)
{
	const struct candidate *a = x, *b = y;

	if (a->s.start != b->s.start)
		return a->s.start < b->s.start ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/*
 * Is `b` a better name than `a`?  In perf's order of likes, so that both print
 * the same: with a size, not weak, global, fewer leading underscores, longer.
 */
static int
candidate_better(const struct candidate *a, const struct candidate *b)
{
	size_t u = strspn(a->s.name, "_"), v = strspn(b->s.name, "_");

	if (!a->s.size != !b->s.size)
		return b->s.size != 0;
	if (a->weak != b->weak)
		return a->weak;
	if (a->s.global != b->s.global)
		return b->s.global;
	if (u != v)
		return v < u;
	return strlen(b->s.name) > strlen(a->s.name);
}

static void
symbols_reduce(struct ht_module *m, struct candidates *c)
{
	size_t n = 0;

	qsort(c->at, c->n, sizeof(*c->at), candidate_compare);
	for (size_t i = 0; i < c->n; i++) {
		if (!n || c->at[n - 1].s.start != c->at[i].s.start)
			c->at[n++] = c->at[i];
		else if (candidate_better(&c->at[n - 1], &c->at[i]))
			c->at[n - 1] = c->at[i];
	}
	if (ht_vec_reserve(&m->symbols, n) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		m->symbols.at[i] = c->at[i].s;
	m->symbols.n = n;
}

/* A symbol without a size reaches to the next one; the last one to the end of the next page. */
static void
symbols_extend(struct ht_module *m)
{
	uint64_t reach = 0;

	m->reach = calloc(m->symbols.n, sizeof(*m->reach));
	for (size_t i = 0; i < m->symbols.n; i++) {
		struct ht_symbol *s = &m->symbols.at[i];

		if (!s->size)
			s->size = (i + 1 < m->symbols.n ? m->symbols.at[i + 1].start
			           : ((s->start + 4095) & ~4095ull) + 4096) - s->start;
		if (s->start + s->size > reach)
			reach = s->start + s->size;
		if (m->reach)
			m->reach[i] = reach;
	}
}

static void
symbols_load(struct ht_module *m)
{
	struct candidates c = { 0 };
	const struct ht_file *debug;
	Elf *elf = ht_module_elf(m);

	if (m->symbols_tried)
		return;
	m->symbols_tried = 1;
	if (m->jit ? ht_module_jit_symbols(m) : m->info.is_names && ht_perfmap_symbols(m))
		symbols_extend(m);
	if (!elf)
		return;
	if (!symbols_read(&c, elf, SHT_SYMTAB)) {
		debug = ht_module_debug(m);
		if (!debug || !symbols_read(&c, debug->elf, SHT_SYMTAB))
			symbols_read(&c, elf, SHT_DYNSYM);
	}
	plt_read(m, &c);
	if (c.n) {
		symbols_reduce(m, &c);
		symbols_extend(m);
	}
	ht_vec_free(&c);
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
	/* Symbols may overlap: go back to the innermost one that holds `vaddr`. */
	while (lo && m->reach && m->reach[lo - 1] > vaddr) {
		const struct ht_symbol *sym = &m->symbols.at[--lo];

		if (vaddr - sym->start < sym->size) {
			*out = *sym;
			return 0;
		}
	}
	return -HT_ENOTFOUND;
}

void
ht_module_symbols_free(struct ht_module *m)
{
	ht_vec_free(&m->symbols);
	free(m->reach);
	for (size_t i = 0; i < m->names.n; i++)
		free(m->names.at[i]);
	ht_vec_free(&m->names);
}
