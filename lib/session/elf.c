/* SPDX-License-Identifier: BSD-2-Clause */
/* Where an ELF file's bytes lie: file offset <-> the address that the file itself uses. */
#include <gelf.h>
#include <string.h>

#include "base/vec.h"
#include "session/module.h"

static int
segment_add(struct ht_module *m, const GElf_Phdr *ph)
{
	struct ht_segment *s;
	uint64_t size = ph->p_filesz;

	if (ph->p_type != PT_LOAD || ph->p_offset >= m->file.size)
		return 0;
	if (size > m->file.size - ph->p_offset)
		size = m->file.size - ph->p_offset;
	if (!size || size > UINT64_MAX - ph->p_vaddr)
		return 0;
	s = ht_vec_push(&m->segments);
	if (!s)
		return -HT_ENOMEM;
	*s = (struct ht_segment){ ph->p_offset, ph->p_vaddr, size, (ph->p_flags & PF_X) != 0 };
	return 0;
}

static int
text_compare(const void *x, const void *y)
{
	const struct ht_range *a = x, *b = y;

	return a->start < b->start ? -1 : a->start > b->start;
}

static int
text_add(struct ht_module *m, uint64_t start, uint64_t end)
{
	struct ht_range *r = ht_vec_push(&m->text);

	if (!r)
		return -HT_ENOMEM;
	*r = (struct ht_range){ start, end };
	return 0;
}

/* Executable sections, which are finer than segments, unless the file has no section table. */
static void
text_read(struct ht_module *m)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(m->file.elf, scn)) != NULL) {
		GElf_Shdr sh;

		if (!gelf_getshdr(scn, &sh) || (sh.sh_flags & (SHF_ALLOC | SHF_EXECINSTR)) !=
		    (SHF_ALLOC | SHF_EXECINSTR) || sh.sh_type == SHT_NOBITS || !sh.sh_size ||
		    sh.sh_size > UINT64_MAX - sh.sh_addr)
			continue;
		text_add(m, sh.sh_addr, sh.sh_addr + sh.sh_size);
	}
	for (size_t i = 0; !m->text.n && i < m->segments.n; i++) {
		const struct ht_segment *s = &m->segments.at[i];

		if (s->exec)
			text_add(m, s->vaddr, s->vaddr + s->size);
	}
}

/* Where names are there is code; they are by address, and may overlap. */
static void
names_text(struct ht_module *m)
{
	uint32_t n;
	const struct ht_symbol *s = ht_module_symbols(m, &n);

	for (uint32_t i = 0; i < n; i++) {
		struct ht_range *last = m->text.n ? &m->text.at[m->text.n - 1] : NULL;

		if (!last || s[i].start > last->end)
			text_add(m, s[i].start, s[i].start + s[i].size);
		else if (s[i].start + s[i].size > last->end)
			last->end = s[i].start + s[i].size;
	}
}

void
ht_module_layout(struct ht_module *m)
{
	size_t n = 0;

	if (m->laid_out)
		return;
	m->laid_out = 1;
	if (m->info.is_names)
		names_text(m);
	if (ht_module_info(m)->state != HT_MODULE_FOUND)
		return;
	if (m->jit) {
		ht_module_jit_text(m);
		return;
	}
	if (!m->file.elf) {
		text_add(m, 0, m->file.size);
		return;
	}
	if (elf_getphdrnum(m->file.elf, &n) < 0)
		return;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr ph;

		if (gelf_getphdr(m->file.elf, (int)i, &ph))
			segment_add(m, &ph);
	}
	text_read(m);
	if (m->text.n)
		qsort(m->text.at, m->text.n, sizeof(*m->text.at), text_compare);
}

void
ht_module_layout_free(struct ht_module *m)
{
	ht_vec_free(&m->segments);
	ht_vec_free(&m->text);
}

const struct ht_range *
ht_module_text(struct ht_module *m, uint32_t *n)
{
	ht_module_layout(m);
	*n = (uint32_t)m->text.n;
	return m->text.at;
}

int
ht_module_vaddr(struct ht_module *m, uint64_t offset, uint64_t *vaddr)
{
	const struct ht_segment *found = NULL;

	ht_module_layout(m);
	if (!m->file.elf) {
		*vaddr = offset;
		return 0;
	}
	/* Pages at the seam of two segments are mapped twice; code is asked for. */
	for (size_t i = 0; i < m->segments.n; i++) {
		const struct ht_segment *s = &m->segments.at[i];

		if (offset >= s->offset && offset - s->offset < s->size && (!found || s->exec))
			found = s;
	}
	if (!found)
		return -HT_ENOTFOUND;
	*vaddr = found->vaddr + (offset - found->offset);
	return 0;
}

int
ht_module_offset(struct ht_module *m, uint64_t vaddr, uint64_t *offset)
{
	ht_module_layout(m);
	if (!m->file.elf) {
		*offset = vaddr;
		return 0;
	}
	for (size_t i = 0; i < m->segments.n; i++) {
		const struct ht_segment *s = &m->segments.at[i];

		if (vaddr >= s->vaddr && vaddr - s->vaddr < s->size) {
			*offset = s->offset + (vaddr - s->vaddr);
			return 0;
		}
	}
	return -HT_ENOTFOUND;
}

size_t
ht_module_read(struct ht_module *m, uint64_t vaddr, void *buf, size_t size)
{
	size_t done = 0;

	while (done < size) {
		uint64_t offset;
		const uint8_t *p;
		size_t n;

		if (ht_module_offset(m, vaddr + done, &offset) < 0)
			break;
		p = ht_module_bytes(m, offset, &n);
		if (!p)
			break;
		/* Up to the end of the segment only: what follows in the file lies elsewhere. */
		for (size_t i = 0; m->file.elf && i < m->segments.n; i++) {
			const struct ht_segment *s = &m->segments.at[i];

			if (vaddr + done >= s->vaddr && vaddr + done - s->vaddr < s->size) {
				if (n > s->size - (vaddr + done - s->vaddr))
					n = (size_t)(s->size - (vaddr + done - s->vaddr));
				break;
			}
		}
		if (n > size - done)
			n = size - done;
		memcpy((char *)buf + done, p, n);
		done += n;
	}
	return done;
}

void *
ht_module_elf(struct ht_module *m)
{
	return ht_module_info(m)->state == HT_MODULE_FOUND ? m->file.elf : NULL;
}
