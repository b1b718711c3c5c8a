/* SPDX-License-Identifier: BSD-2-Clause */
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "runs.h"

static int
segment_order(const void *a, const void *b)
{
	const struct segment *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* What is no ELF file is one segment as large as what ran. */
static int
read_segments(struct runs_module *m, Elf *elf)
{
	size_t n = 0;
	GElf_Ehdr eh;
	GElf_Phdr ph;

	if (elf && gelf_getehdr(elf, &eh) && elf_getphdrnum(elf, &n) == 0) {
		m->entry = eh.e_entry;
		m->fixed = eh.e_type == ET_EXEC;
	}
	m->segments = calloc(n + 1, sizeof(*m->segments));
	if (!m->segments)
		return -1;
	for (size_t i = 0; i < n && i < INT32_MAX; i++)
		if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_LOAD && ph.p_memsz &&
		    ph.p_vaddr <= UINT64_MAX - ph.p_memsz)
			m->segments[m->n_segments++] = (struct segment){ ph.p_vaddr, ph.p_vaddr + ph.p_memsz };
	if (!m->n_segments) {
		m->segments[0] = (struct segment){ m->runs[0].start, m->runs[m->n_runs - 1].end };
		m->n_segments = 1;
	}
	qsort(m->segments, m->n_segments, sizeof(*m->segments), segment_order);
	m->base = m->segments[0].start;
	m->end = m->segments[m->n_segments - 1].end;
	return 0;
}

int
runs_open(struct runs *runs, const struct cover *c, const struct ht_cov_report *r)
{
	memset(runs, 0, sizeof(*runs));
	if (!c->counts)
		return tool_error("this format is of blocks that ran, which reports do not hold; it needs the captures");
	runs->modules = calloc(r->n_modules + 1u, sizeof(*runs->modules));
	if (!runs->modules)
		return tool_error("out of memory");
	for (uint32_t i = 0; i < r->n_modules; i++) {
		struct runs_module *m = &runs->modules[runs->n];

		if (!r->modules[i].chosen)
			continue;
		m->path = r->modules[i].path;
		if (ht_coverage_runs(c->counts, i, &m->runs, &m->n_runs) < 0)
			return tool_error("out of memory");
		if (!m->n_runs)
			continue;
		runs->n++;
		if (read_segments(m, ht_module_elf(ht_coverage_handle(c->counts, i))) < 0)
			return tool_error("out of memory");
	}
	return EXIT_OK;
}

void
runs_close(struct runs *runs)
{
	for (size_t i = 0; i < runs->n; i++) {
		free(runs->modules[i].segments);
		free(runs->modules[i].runs);
	}
	free(runs->modules);
}
