/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What may have run although it was not seen: code that a recording was told to
 * leave out, all code of a sampled one, and, where trace was lost, all code that
 * was mapped in the process at hand, since any of it may have run meanwhile.
 */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/insn.h>

#include "base/vec.h"
#include "sink/coverage_counts.h"

/* -- sets of ranges --------------------------------------------------------- */

static int
push(struct cov_ranges *set, uint64_t start, uint64_t end)
{
	struct ht_range *r;

	if (start >= end)
		return 0;
	r = ht_vec_push(set);
	if (!r)
		return -HT_ENOMEM;
	*r = (struct ht_range){ start, end };
	return 0;
}

int
cov_range_order(const void *a, const void *b)
{
	const struct ht_range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

/* Sorted, and apart from each other. */
static void
settle(struct cov_ranges *set)
{
	size_t out = 0;

	if (set->n)
		qsort(set->at, set->n, sizeof(*set->at), cov_range_order);
	for (size_t i = 0; i < set->n; i++) {
		struct ht_range r = set->at[i];

		if (!out || r.start > set->at[out - 1].end)
			set->at[out++] = r;
		else if (r.end > set->at[out - 1].end)
			set->at[out - 1].end = r.end;
	}
	set->n = out;
}

static int
subtract(struct cov_ranges *set, uint64_t start, uint64_t end)
{
	for (size_t i = 0, n = set->n; i < n; i++) {
		struct ht_range r = set->at[i];

		if (r.start >= end || r.end <= start)
			continue;
		set->at[i].end = r.start < start ? start : r.start; /* may be empty now */
		if (push(set, end, r.end) < 0)
			return -HT_ENOMEM;
	}
	return 0;
}

/* `set` = what is in both; both are settled. */
static int
intersect(struct cov_ranges *set, const struct cov_ranges *with)
{
	struct cov_ranges both = { NULL, 0, 0 };

	for (size_t i = 0, k = 0; i < set->n && k < with->n;) {
		const struct ht_range *a = &set->at[i], *b = &with->at[k];

		if (push(&both, a->start > b->start ? a->start : b->start,
		         a->end < b->end ? a->end : b->end) < 0) {
			ht_vec_free(&both);
			return -HT_ENOMEM;
		}
		if (a->end < b->end)
			i++;
		else
			k++;
	}
	ht_vec_free(set);
	*set = both;
	return 0;
}

static int
has(const struct cov_ranges *set, uint64_t at)
{
	size_t lo = 0, hi = set->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (set->at[mid].end <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < set->n && set->at[lo].start <= at;
}

uint8_t
cov_doubt(const struct cov_module *m, uint64_t vaddr)
{
	return (m->lost || has(&m->torn, vaddr) ? HT_COV_LOST : 0) |
	       (has(&m->unrecorded, vaddr) ? HT_COV_UNRECORDED : 0);
}

int
cov_unrecorded_add(struct cov_module *m, const struct cov_ranges *unrecorded)
{
	if (m->captured)
		return intersect(&m->unrecorded, unrecorded);
	m->captured = 1;
	for (size_t i = 0; i < unrecorded->n; i++)
		if (push(&m->unrecorded, unrecorded->at[i].start, unrecorded->at[i].end) < 0)
			return -HT_ENOMEM;
	return 0;
}

/* -- what a recording left out ---------------------------------------------- */

struct limits {
	const struct ht_capture_info *info;
	struct cov_ranges *modules; /* by index of the module: vaddr that was not recorded */
	struct cov_ranges scratch;
};

static int
is_wanted(const struct limits *l, const char *path)
{
	const char *slash = strrchr(path, '/');

	for (uint32_t i = 0; i < l->info->n_limits; i++) {
		const struct ht_limit *x = &l->info->limits[i];

		if (x->kind == HT_LIMIT_MODULE &&
		    (!fnmatch(x->name, path, 0) || (slash && !fnmatch(x->name, slash + 1, 0))))
			return 1;
	}
	return 0;
}

/* Take out of the file offsets at hand what the ranges among the limits let in. */
static int
subtract_limits(struct limits *l, const struct ht_mapping *m, const char *path)
{
	uint64_t size = m->end - m->start;

	for (uint32_t i = 0; i < l->info->n_limits; i++) {
		const struct ht_limit *x = &l->info->limits[i];
		uint64_t start = x->start, end = x->end;

		if (x->kind == HT_LIMIT_MODULE ||
		    (x->kind == HT_LIMIT_FILE && strcmp(x->name, path)))
			continue;
		if (x->kind == HT_LIMIT_ADDRESS) {
			if (end <= m->start || start >= m->end)
				continue;
			start = m->pgoff + (start > m->start ? start - m->start : 0);
			end = m->pgoff + (end < m->end ? end - m->start : size);
		}
		if (subtract(&l->scratch, start, end) < 0)
			return -HT_ENOMEM;
	}
	return 0;
}

/* Code of one mapping that was not recorded. */
static int
each_mapping(void *arg, const struct ht_mapping *m)
{
	struct limits *l = arg;
	struct cov_ranges *out = &l->modules[ht_module_index(m->module)];
	const char *path = ht_module_info(m->module)->path;
	const struct ht_range *text;
	uint32_t n;

	if (is_wanted(l, path) || m->pgoff > UINT64_MAX - (m->end - m->start))
		return 0;
	text = ht_module_text(m->module, &n);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t size = text[i].end - text[i].start, end = m->pgoff + (m->end - m->start),
			 from;

		if (ht_module_offset(m->module, text[i].start, &from) < 0 ||
		    from > UINT64_MAX - size)
			continue;
		l->scratch.n = 0;
		if (push(&l->scratch, from > m->pgoff ? from : m->pgoff,
		         from + size < end ? from + size : end) < 0 ||
		    subtract_limits(l, m, path) < 0)
			return -HT_ENOMEM;
		for (size_t k = 0; k < l->scratch.n; k++)
			if (push(out, text[i].start + (l->scratch.at[k].start - from),
			         text[i].start + (l->scratch.at[k].end - from)) < 0)
				return -HT_ENOMEM;
	}
	return 0;
}

int
cov_note_limits(struct ht_coverage *c, struct ht_session *s)
{
	const struct ht_capture_info *info = ht_container_info(ht_session_container(s));
	uint32_t n = ht_session_module_count(s);
	struct limits l = { info, calloc(n + 1u, sizeof(*l.modules)), { NULL, 0, 0 } };
	int blind = info->sampled || (info->filter && !info->n_limits),
	    rc = l.modules ? 0 : -HT_ENOMEM;

	if (rc == 0 && info->n_limits && !blind)
		rc = ht_session_mappings(s, -1, each_mapping, &l);
	for (uint32_t i = 0; i < n && rc == 0; i++) {
		int number = ht_coverage_module(c, ht_session_module(s, i));

		rc = number < 0 ? number : blind ? push(&l.modules[i], 0, UINT64_MAX) : 0;
		settle(&l.modules[i]);
		if (rc == 0)
			rc = cov_unrecorded_add(&c->modules.at[number], &l.modules[i]);
	}
	for (uint32_t i = 0; i < n && l.modules; i++)
		ht_vec_free(&l.modules[i]);
	free(l.modules);
	ht_vec_free(&l.scratch);
	return rc;
}

/* -- loss ------------------------------------------------------------------- */

#define BLOCK_MAX 4096 /* instructions; the software trace unit's blocks are shorter */

int
cov_torn_add(struct cov_module *m, const struct cov_ranges *from)
{
	for (size_t i = 0; i < from->n; i++)
		if (push(&m->torn, from->at[i].start, from->at[i].end) < 0)
			return -HT_ENOMEM;
	settle(&m->torn);
	return 0;
}

/* From `ip` to the end of the first branch, as far as the code can be read. */
int
cov_note_block(struct ht_coverage *c, struct ht_view *view, uint64_t ip)
{
	enum ht_arch arch = ht_container_info(ht_session_container(ht_view_session(view)))->arch;
	struct ht_range range;
	struct cov_ranges one = { &range, 1, 1 };
	struct ht_module *module;
	uint64_t at = ip, vaddr;
	int number;

	if (!ip || ht_view_resolve(view, ip, &module, &vaddr) < 0)
		return 0;
	for (int n = 0; n < BLOCK_MAX; n++) {
		uint8_t bytes[HT_INSN_MAX];
		size_t got = ht_view_read(view, at, bytes, sizeof(bytes));
		struct ht_insn x;

		if (ht_insn_decode(arch, bytes, got, at, &x) < 0)
			break;
		at += x.size;
		if (x.insn != HT_INSN_OTHER)
			break;
	}
	range = (struct ht_range){ vaddr, vaddr + (at > ip ? at - ip : 1) };
	number = ht_coverage_module(c, module);
	return number < 0 ? number : cov_torn_add(&c->modules.at[number], &one);
}

static int
lose(void *arg, const struct ht_mapping *m)
{
	struct ht_coverage *c = arg;
	int number = ht_coverage_module(c, m->module);

	if (number < 0)
		return number;
	c->modules.at[number].lost = 1;
	return 0;
}

int
ht_coverage_lose(struct ht_coverage *c, struct ht_session *s, int32_t pid)
{
	struct ht_container *k = ht_session_container(s);

	/* Of a sampled capture nothing is known to be missed in any case. */
	if (ht_container_info(k)->sampled)
		return 0;
	/* What a CPU ran while its trace was lost is not known either. */
	for (uint32_t i = 0; i < ht_container_stream_count(k); i++)
		if (ht_container_stream(k, i)->cpu >= 0)
			pid = -1;
	return ht_session_mappings(s, pid, lose, c);
}
