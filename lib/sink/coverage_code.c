/* SPDX-License-Identifier: BSD-2-Clause */
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "sink/coverage_code.h"

#define PAGE 4096u

/* Instructions that ran, by their first byte; a length of 0 = none begins here. */
struct cov_page {
	uint8_t  len[PAGE];
	uint8_t  insn[PAGE];
	uint64_t count[PAGE];
};

static struct cov_page *
find_page(struct cov_code *code, uint64_t number)
{
	struct cov_slot *s;

	if (code->last_page && code->last_number == number)
		return code->last_page;
	s = cov_table_find(&code->pages, number, 0);
	if (!s)
		return NULL;
	code->last_page = (struct cov_page *)(uintptr_t)s->count;
	code->last_number = number;
	return code->last_page;
}

static struct cov_page *
add_page(struct cov_code *code, uint64_t number)
{
	struct cov_page *p = find_page(code, number);
	struct cov_slot *s;
	uint64_t *slot;

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	s = p ? cov_table_add(&code->pages, number, 0) : NULL;
	slot = s ? ht_vec_push(&code->numbers) : NULL;
	if (!slot) {
		free(p);
		return NULL;
	}
	*slot = number;
	s->n = 1;
	s->count = (uint64_t)(uintptr_t)p;
	return p;
}

uint64_t
cov_code_count(const struct cov_code *code, uint64_t vaddr)
{
	struct cov_slot *s = cov_table_find(&code->pages, vaddr / PAGE, 0);

	return s ? ((struct cov_page *)(uintptr_t)s->count)->count[vaddr % PAGE] : 0;
}

static int
executed_length(struct cov_code *code, uint64_t vaddr)
{
	struct cov_page *p = find_page(code, vaddr / PAGE);

	return p ? p->len[vaddr % PAGE] : 0;
}

/* Place of the first page >= `number` in the sorted list. */
static size_t
lower_page(const struct cov_code *code, uint64_t number)
{
	size_t lo = 0, hi = code->numbers.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (code->numbers.at[mid] < number)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The first address in [from, end) where an instruction that ran begins, or `end`. */
static uint64_t
next_executed(struct cov_code *code, uint64_t from, uint64_t end)
{
	size_t i = lower_page(code, from / PAGE);

	for (; i < code->numbers.n && code->numbers.at[i] <= (end - 1) / PAGE; i++) {
		const struct cov_page *p = find_page(code, code->numbers.at[i]);
		uint64_t base = code->numbers.at[i] * PAGE;

		for (uint64_t k = from > base ? from - base : 0; k < PAGE && k < end - base; k++)
			if (p->len[k])
				return base + k;
	}
	return end;
}

static int
decode(struct cov_code *code, uint64_t vaddr, struct ht_insn *x)
{
	uint8_t bytes[HT_INSN_MAX];
	size_t n = ht_module_read(code->module, vaddr, bytes, sizeof(bytes));
	int rc = ht_insn_decode(code->arch, bytes, n, vaddr, x);

	if (rc == 0 &&
	    (x->insn == HT_INSN_CALL || x->insn == HT_INSN_JUMP || x->insn == HT_INSN_COND))
		x->target = ht_module_target(code->module, vaddr, x->target);
	return rc;
}

int
cov_code_ran(struct cov_code *code, const struct cov_bound *b)
{
	return next_executed(code, b->start, b->end) < b->end;
}

/* Memory without a file: where its blocks begin is all that is known. */
static int
count_entry(struct cov_code *code, const struct cov_slot *block)
{
	struct cov_page *p = add_page(code, block->a / PAGE);

	if (!p)
		return -HT_ENOMEM;
	p->len[block->a % PAGE] = 1;
	p->count[block->a % PAGE] += block->count;
	code->executed += block->count * block->n;
	return 0;
}

static int
expand_block(struct cov_code *code, const struct cov_slot *block)
{
	uint64_t at = block->a;

	for (;;) {
		struct cov_page *p = add_page(code, at / PAGE);

		if (!p)
			return -HT_ENOMEM;
		if (!p->len[at % PAGE]) {
			struct ht_insn x = { .size = 1 };

			if (decode(code, at, &x) < 0 && at != block->b)
				return 0;
			p->len[at % PAGE] = x.size;
			p->insn[at % PAGE] = x.insn;
		}
		p->count[at % PAGE] += block->count;
		code->executed += block->count;
		if (at >= block->b)
			return 0;
		at += p->len[at % PAGE];
	}
}

static int
number_order(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The linkage stubs and the architecture, from the ELF file. */
static int
read_elf(struct cov_code *code)
{
	Elf *elf = ht_module_elf(code->module);
	Elf_Scn *scn = NULL;
	GElf_Ehdr eh;
	size_t names;

	code->arch = HT_ARCH_X86_64;
	if (!elf || !gelf_getehdr(elf, &eh))
		return 0;
	code->arch = eh.e_machine == EM_X86_64 ? HT_ARCH_X86_64 : eh.e_machine == EM_386 ? HT_ARCH_X86_32
	                                                                                   : HT_ARCH_UNKNOWN;
	if (elf_getshdrstrndx(elf, &names) != 0)
		return 0;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;
		const char *name;
		struct ht_range *r;

		if (!gelf_getshdr(scn, &sh) || sh.sh_addr > UINT64_MAX - sh.sh_size)
			continue;
		name = elf_strptr(elf, names, sh.sh_name);
		if (!name || (strcmp(name, ".plt") && strncmp(name, ".plt.", 5)) || !(sh.sh_flags & SHF_EXECINSTR))
			continue;
		r = ht_vec_push(&code->plt);
		if (!r)
			return -HT_ENOMEM;
		*r = (struct ht_range){ sh.sh_addr, sh.sh_addr + sh.sh_size };
	}
	return 0;
}

int
cov_code_init(struct cov_code *code, const struct cov_module *m)
{
	int memory;

	memset(code, 0, sizeof(*code));
	code->counts = m;
	code->module = m->handle;
	if (read_elf(code) < 0)
		return -HT_ENOMEM;
	memory = ht_module_info(m->handle)->state == HT_MODULE_MEMORY;
	COV_EACH(s, &m->blocks)
	if ((memory ? count_entry(code, s) : expand_block(code, s)) < 0)
		return -HT_ENOMEM;
	if (code->numbers.n)
		qsort(code->numbers.at, code->numbers.n, sizeof(uint64_t), number_order);
	return 0;
}

void
cov_code_fini(struct cov_code *code)
{
	COV_EACH(s, &code->pages)
		free((void *)(uintptr_t)s->count);
	cov_table_fini(&code->pages);
	ht_vec_free(&code->bounds);
	ht_vec_free(&code->plt);
	ht_vec_free(&code->numbers);
}

/* -- bounds --------------------------------------------------------------- */

static int
bound_order(const void *a, const void *b)
{
	const struct cov_bound *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end > y->end ? -1 : x->end < y->end;
}

/*
 * Add [start, end) as far as it lies in one range of the text: nothing that a
 * damaged file says makes a function of what is not there.
 */
static int
push_bound(struct cov_code *code, uint64_t start, uint64_t end, const char *name)
{
	uint32_t n, lo = 0, hi;
	const struct ht_range *text = ht_module_text(code->module, &n);
	struct cov_bound *b;

	for (hi = n; lo < hi;) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (text[mid].end <= start)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == n || start < text[lo].start || start >= end)
		return 0;
	if (end > text[lo].end)
		end = text[lo].end;
	for (size_t i = 0; i < code->plt.n; i++)
		if (start >= code->plt.at[i].start && start < code->plt.at[i].end)
			return 0;
	b = ht_vec_push(&code->bounds);
	if (!b)
		return -HT_ENOMEM;
	*b = (struct cov_bound){ start, end, name };
	return 0;
}

/* Sort; of what overlaps the one that begins first keeps the code. */
static void
settle_bounds(struct cov_code *code)
{
	struct cov_bound *b = code->bounds.at;
	size_t out = 0;

	if (code->bounds.n)
		qsort(b, code->bounds.n, sizeof(*b), bound_order);
	for (size_t i = 0; i < code->bounds.n; i++) {
		struct cov_bound x = b[i];

		if (out && x.start < b[out - 1].end)
			x.start = b[out - 1].end;
		if (x.start < x.end)
			b[out++] = x;
	}
	code->bounds.n = out;
}

/* Add what of the sorted `ranges` no bound covers yet. */
static int
add_uncovered(struct cov_code *code, const struct ht_range *ranges, size_t n)
{
	size_t old = code->bounds.n, k = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t at = ranges[i].start, end = ranges[i].end;

		while (k < old && code->bounds.at[k].end <= at)
			k++;
		for (size_t j = k; j < old && code->bounds.at[j].start < end && at < end; j++) {
			if (push_bound(code, at, code->bounds.at[j].start, NULL) < 0)
				return -HT_ENOMEM;
			at = code->bounds.at[j].end;
		}
		if (push_bound(code, at, end, NULL) < 0)
			return -HT_ENOMEM;
	}
	settle_bounds(code);
	return 0;
}

static int
add_symbols(struct cov_code *code)
{
	uint32_t n;
	const struct ht_symbol *s = ht_module_symbols(code->module, &n);

	for (uint32_t i = 0; i < n; i++)
		if (s[i].size <= UINT64_MAX - s[i].start &&
		    push_bound(code, s[i].start, s[i].start + s[i].size, s[i].name) < 0)
			return -HT_ENOMEM;
	settle_bounds(code);
	return 0;
}

/* Out-of-line functions of the debug information. */
static int
add_lines(struct cov_code *code, const struct ht_lines *lines)
{
	uint32_t n;
	const struct ht_line_function *f = ht_lines_functions(lines, &n);
	const struct ht_range *r = ht_lines_ranges(lines);
	struct cov_ranges all = { NULL, 0, 0 };
	int rc = 0;

	for (uint32_t i = 0; i < n && rc == 0; i++)
		for (uint32_t k = 0; f[i].parent == HT_LINE_NONE && k < f[i].n_ranges && rc == 0; k++) {
			struct ht_range *slot = ht_vec_push(&all);

			if (slot)
				*slot = r[f[i].first_range + k];
			else
				rc = -HT_ENOMEM;
		}
	if (all.n)
		qsort(all.at, all.n, sizeof(*all.at), cov_range_order);
	if (rc == 0)
		rc = add_uncovered(code, all.at, all.n);
	ht_vec_free(&all);
	return rc;
}

struct cov_bound *
cov_code_bound(struct cov_code *code, uint64_t vaddr)
{
	size_t lo = 0, hi = code->bounds.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (code->bounds.at[mid].end <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < code->bounds.n && code->bounds.at[lo].start <= vaddr ? &code->bounds.at[lo] : NULL;
}

int
cov_code_find_bounds(struct cov_code *code, const struct ht_lines *lines)
{
	struct cov_ranges unwind = { NULL, 0, 0 };
	const struct ht_range *text;
	uint32_t n;
	int rc;

	if (add_symbols(code) < 0 || (lines && add_lines(code, lines) < 0))
		return -HT_ENOMEM;
	code->source = lines ? HT_COV_BY_LINES : code->bounds.n ? HT_COV_BY_SYMBOLS : HT_COV_BY_UNWIND;
	rc = cov_unwind_ranges(code->module, &unwind);
	if (rc == 0)
		rc = add_uncovered(code, unwind.at, unwind.n);
	ht_vec_free(&unwind);
	if (rc < 0)
		return rc;
	if (!code->bounds.n) {
		code->source = HT_COV_BY_TEXT;
		text = ht_module_text(code->module, &n);
		if (add_uncovered(code, text, n) < 0)
			return -HT_ENOMEM;
	}
	return 0;
}

/* -- walk ----------------------------------------------------------------- */

static int
fetch(struct cov_code *code, uint64_t at, struct cov_insn *out)
{
	const struct cov_slot *s;
	struct cov_page *p;

	out->addr = at;
	out->count = out->taken = out->not_taken = 0;
	if (decode(code, at, &out->x) < 0)
		return -HT_EFORMAT;
	p = find_page(code, at / PAGE);
	if (p)
		out->count = p->count[at % PAGE];
	if (out->x.insn == HT_INSN_COND && (s = cov_table_find(&code->counts->branches, at, 0))) {
		out->taken = s->taken;
		out->not_taken = s->not_taken;
	}
	return 0;
}

/* All that is code, or padding, of `b`. */
static int
read_all(struct cov_code *code, const struct cov_bound *b, struct cov_insns *out)
{
	out->n = 0;
	for (uint64_t at = b->start; at < b->end;) {
		struct cov_insn insn, *slot;
		uint64_t inside;

		if (fetch(code, at, &insn) < 0) { /* data among code: go on where code is known to be */
			at = next_executed(code, at + 1, b->end);
			continue;
		}
		inside = executed_length(code, at) ? at + insn.x.size
		                                   : next_executed(code, at + 1, at + insn.x.size);
		if (inside < at + insn.x.size) {
			at = inside;
			continue;
		}
		at += insn.x.size;
		slot = ht_vec_push(out);
		if (!slot)
			return -HT_ENOMEM;
		*slot = insn;
	}
	return 0;
}

static int
is_padding(const struct cov_insn *i)
{
	return i->x.filler && !i->count;
}

static int
is_behind(const struct cov_insn *p, const struct cov_insn *i)
{
	return p->addr + p->x.size == i->addr && !p->x.no_next;
}

int
cov_address_order(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Where direct jumps lead to, sorted. */
static int
read_leads(const struct cov_insns *all, struct cov_leads *out)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct ht_insn *x = &all->at[i].x;
		uint64_t *slot = x->insn == HT_INSN_COND || x->insn == HT_INSN_JUMP ? ht_vec_push(out) : NULL;

		if (slot)
			*slot = x->target;
		else if (x->insn == HT_INSN_COND || x->insn == HT_INSN_JUMP)
			return -HT_ENOMEM;
	}
	if (out->n)
		qsort(out->at, out->n, sizeof(*out->at), cov_address_order);
	return 0;
}

static int
is_lead(const struct cov_leads *l, uint64_t addr)
{
	return l->n && bsearch(&addr, l->at, l->n, sizeof(*l->at), cov_address_order);
}

/*
 * Leave out padding.  It is code where a jump leads to it, as compilers write a
 * statement without effect, and where what is in front of it goes on to what follows.
 */
static int
drop_padding(struct cov_insns *all)
{
	struct cov_insn *i = all->at;
	struct cov_leads leads = { NULL, 0, 0 };
	size_t out = 0, k = 0;
	int rc = 0;

	while (k < all->n && !is_padding(&i[k]))
		k++;
	if (k < all->n)
		rc = read_leads(all, &leads);
	for (size_t at = 0, end; at < all->n && rc == 0; at = end) {
		int reached = !at || is_behind(&i[at - 1], &i[at]), needed;

		for (end = at; end < all->n && is_padding(&i[end]); end++)
			;
		needed = reached && end < all->n;
		for (; at < end; at++) {
			needed |= is_lead(&leads, i[at].addr);
			if (needed)
				i[out++] = i[at];
		}
		if (end < all->n)
			i[out++] = i[end++];
	}
	if (rc == 0)
		all->n = out;
	ht_vec_free(&leads);
	return rc;
}

int
cov_code_read(struct cov_code *code, const struct cov_bound *b, struct cov_insns *out)
{
	int rc = read_all(code, b, out);

	return rc < 0 ? rc : drop_padding(out);
}
