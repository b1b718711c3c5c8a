/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "sink/coverage_sites.h"

static int
slot_order(const void *a, const void *b)
{
	const struct cov_slot *x = a, *y = b;

	if (x->a != y->a)
		return x->a < y->a ? -1 : 1;
	return x->b < y->b ? -1 : x->b > y->b;
}

int
cov_sites_init(struct cov_sites *s, struct cov_builder *b, const struct ht_coverage *c,
               uint32_t module)
{
	*s = (struct cov_sites){ .b = b, .c = c, .module = module };
	COV_EACH(t, &c->modules.at[module].targets)
	{
		struct cov_slot *slot = ht_vec_push(&s->seen);

		if (!slot)
			return -HT_ENOMEM;
		*slot = *t;
	}
	if (s->seen.n)
		qsort(s->seen.at, s->seen.n, sizeof(*s->seen.at), slot_order);
	return 0;
}

void
cov_sites_fini(struct cov_sites *s)
{
	ht_vec_free(&s->seen);
	ht_vec_free(&s->insns);
	ht_vec_free(&s->leads);
}

/* The first target that was seen of the branch at `addr`; there may be none. */
static size_t
first_seen(const struct cov_sites *s, uint64_t addr)
{
	size_t lo = 0, hi = s->seen.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->seen.at[mid].a < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int
lead(struct cov_sites *s, const struct cov_bound *bound, uint64_t addr)
{
	uint64_t *slot = addr >= bound->start && addr < bound->end ? ht_vec_push(&s->leads) : NULL;

	if (slot)
		*slot = addr;
	return slot || addr < bound->start || addr >= bound->end ? 0 : -HT_ENOMEM;
}

int
cov_sites_read(struct cov_sites *s, struct cov_code *code, const struct cov_bound *bound)
{
	int rc;

	s->leads.n = 0;
	rc = cov_code_read(code, bound, &s->insns);
	for (size_t k = 0; k < s->insns.n && rc == 0; k++) {
		const struct cov_insn *i = &s->insns.at[k];

		if (i->x.insn == HT_INSN_COND || i->x.insn == HT_INSN_JUMP)
			rc = lead(s, bound, i->x.target);
		if (i->x.insn != HT_INSN_JUMP_IND)
			continue;
		for (size_t t = first_seen(s, i->addr);
		     t < s->seen.n && s->seen.at[t].a == i->addr && rc == 0; t++)
			if (cov_target_module(s->seen.at[t].b) == (int)s->module)
				rc = lead(s, bound, cov_target_vaddr(s->seen.at[t].b));
	}
	if (s->leads.n)
		qsort(s->leads.at, s->leads.n, sizeof(uint64_t), cov_address_order);
	return rc;
}

int
cov_sites_leads(const struct cov_sites *s, size_t k)
{
	const struct cov_insn *i = &s->insns.at[k], *p = k ? i - 1 : NULL;

	if (!p || p->addr + p->x.size != i->addr || p->x.no_next || p->x.insn == HT_INSN_COND)
		return 1;
	return s->leads.n &&
	       bsearch(&i->addr, s->leads.at, s->leads.n, sizeof(uint64_t), cov_address_order);
}

/* Name of the symbol that begins at `vaddr`; *name is NULL when none does. 0 or -HT_ENOMEM. */
static int
name_at(struct cov_sites *s, int module, uint64_t vaddr, const char **name)
{
	struct ht_symbol symbol;

	*name = NULL;
	if (module < 0 || ht_module_symbol(s->c->modules.at[module].handle, vaddr, &symbol) < 0 ||
	    symbol.start != vaddr)
		return 0;
	*name = cov_string(s->b, symbol.name);
	return *name ? 0 : -HT_ENOMEM;
}

static int
add_target(struct cov_sites *s, const struct cov_slot *seen)
{
	struct ht_cov_target *t = ht_vec_push(&s->b->targets);
	int module = cov_target_module(seen->b);

	if (!t)
		return -HT_ENOMEM;
	*t = (struct ht_cov_target){ .module = module < 0 ? HT_COV_NONE : (uint32_t)module,
		                     .addr = cov_target_vaddr(seen->b),
		                     .count = seen->count };
	return name_at(s, module, t->addr, &t->name);
}

int
cov_sites_add(struct cov_sites *s, const struct cov_insn *insn, const struct ht_cov_site *like)
{
	struct ht_cov_site *site;
	int direct = insn->x.insn == HT_INSN_CALL;

	if (!direct && insn->x.insn != HT_INSN_CALL_IND && insn->x.insn != HT_INSN_JUMP_IND)
		return 0;
	site = ht_vec_push(&s->b->sites);
	if (!site)
		return -HT_ENOMEM;
	*site = *like;
	site->module = s->module;
	site->addr = insn->addr;
	site->insn = insn->x.insn;
	site->count = insn->count;
	site->state = cov_state(insn->count, like->doubt);
	site->to = direct ? insn->x.target : 0;
	site->first_target = (uint32_t)s->b->targets.n;
	if (direct)
		return name_at(s, (int)s->module, site->to, &site->name);
	for (size_t t = first_seen(s, insn->addr); t < s->seen.n && s->seen.at[t].a == insn->addr;
	     t++, site->n_targets++)
		if (add_target(s, &s->seen.at[t]) < 0)
			return -HT_ENOMEM;
	return 0;
}
