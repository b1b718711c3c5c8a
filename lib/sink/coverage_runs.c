/* SPDX-License-Identifier: BSD-2-Clause */
/* What ran, as blocks of bytes: for formats that know neither lines nor functions. */
#include <gelf.h>
#include <stdlib.h>

#include <hwtrace/insn.h>

#include "base/vec.h"
#include "sink/coverage_counts.h"

struct runs { struct ht_cov_run *at; size_t n, cap; };

static int
run_order(const void *a, const void *b)
{
	const struct ht_cov_run *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

static enum ht_arch
arch_of(struct ht_module *m)
{
	Elf *elf = ht_module_elf(m);
	GElf_Ehdr eh;

	return elf && gelf_getehdr(elf, &eh) && eh.e_machine == EM_386 ? HT_ARCH_X86_32 : HT_ARCH_X86_64;
}

/* Bytes of the instruction at `vaddr`; 1 when it cannot be read any more. */
static unsigned
insn_size(struct ht_module *m, enum ht_arch arch, uint64_t vaddr)
{
	uint8_t bytes[HT_INSN_MAX];
	struct ht_insn x;

	return ht_insn_decode(arch, bytes, ht_module_read(m, vaddr, bytes, sizeof(bytes)), vaddr, &x) < 0 ? 1 : x.size;
}

int
ht_coverage_runs(const struct ht_coverage *c, uint32_t module, struct ht_cov_run **out, size_t *n)
{
	struct runs runs = { NULL, 0, 0 };
	const struct cov_module *m;
	enum ht_arch arch;

	if (module >= c->modules.n)
		return -HT_EINVAL;
	m = &c->modules.at[module];
	arch = arch_of(m->handle);
	COV_EACH(s, &m->blocks) {
		struct ht_cov_run *r = ht_vec_push(&runs);

		if (!r) {
			ht_vec_free(&runs);
			return -HT_ENOMEM;
		}
		*r = (struct ht_cov_run){ s->a, s->b + insn_size(m->handle, arch, s->b), s->count, s->n };
	}
	if (runs.n)
		qsort(runs.at, runs.n, sizeof(*runs.at), run_order);
	*out = runs.at;
	*n = runs.n;
	return 0;
}

struct ht_module *
ht_coverage_handle(const struct ht_coverage *c, uint32_t module)
{
	return module < c->modules.n ? c->modules.at[module].handle : NULL;
}
