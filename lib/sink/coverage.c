/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counting.  The hot path is one hash look-up a block; an address is resolved
 * to its module when a block is seen for the first time, because the view is a
 * cursor that cannot be asked about the past.  Counters are folded into the
 * modules when the code behind addresses changes and at the end of a stream.
 */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "sink/coverage_counts.h"

/* -- table ---------------------------------------------------------------- */

static inline size_t
slot_of(const struct cov_table *t, uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ b << 23 ^ b >> 41) * 0x9e3779b97f4a7c15u;

	return (size_t)(h ^ h >> 29) & (t->size - 1);
}

void
cov_table_fini(struct cov_table *t)
{
	free(t->slots);
	memset(t, 0, sizeof(*t));
}

void
cov_table_clear(struct cov_table *t)
{
	if (t->used)
		memset(t->slots, 0, t->size * sizeof(*t->slots));
	t->used = 0;
}

struct cov_slot *
cov_table_find(const struct cov_table *t, uint64_t a, uint64_t b)
{
	if (!t->size)
		return NULL;
	for (size_t i = slot_of(t, a, b);; i = (i + 1) & (t->size - 1)) {
		struct cov_slot *s = &t->slots[i];

		if (!s->n)
			return NULL;
		if (s->a == a && s->b == b)
			return s;
	}
}

static int
grow(struct cov_table *t)
{
	struct cov_table new = { NULL, t->size ? t->size * 2 : 64, t->used };

	new.slots = calloc(new.size, sizeof(*new.slots));
	if (!new.slots)
		return -HT_ENOMEM;
	COV_EACH(s, t) {
		size_t i = slot_of(&new, s->a, s->b);

		while (new.slots[i].n)
			i = (i + 1) & (new.size - 1);
		new.slots[i] = *s;
	}
	free(t->slots);
	*t = new;
	return 0;
}

struct cov_slot *
cov_table_add(struct cov_table *t, uint64_t a, uint64_t b)
{
	struct cov_slot *s = cov_table_find(t, a, b);
	size_t i;

	if (s)
		return s;
	if (t->used * 2 >= t->size && grow(t) < 0)
		return NULL;
	for (i = slot_of(t, a, b); t->slots[i].n; i = (i + 1) & (t->size - 1))
		;
	t->slots[i] = (struct cov_slot){ .a = a, .b = b };
	t->used++;
	return &t->slots[i];
}

/* -- modules -------------------------------------------------------------- */

int
ht_coverage_new(struct ht_coverage **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -HT_ENOMEM;
}

void
ht_coverage_free(struct ht_coverage *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->modules.n; i++) {
		struct cov_module *m = &c->modules.at[i];

		free(m->path);
		cov_table_fini(&m->blocks);
		cov_table_fini(&m->branches);
		cov_table_fini(&m->gaps);
		cov_table_fini(&m->targets);
		ht_vec_free(&m->unrecorded);
		ht_vec_free(&m->torn);
	}
	ht_vec_free(&c->modules);
	ht_vec_free(&c->wheres);
	cov_table_fini(&c->handles);
	cov_table_fini(&c->hot);
	cov_table_fini(&c->hot_targets);
	free(c);
}

static int
same_module(const struct cov_module *m, const char *path, const uint8_t *id, unsigned id_size)
{
	if (m->build_id_size && id_size)
		return m->build_id_size == id_size && !memcmp(m->build_id, id, id_size);
	return !strcmp(m->path, path);
}

/* Number of the module with this identity, made when needed. */
static int
find_module(struct ht_coverage *c, struct ht_module *handle, const char *path, const uint8_t *id, unsigned id_size)
{
	struct cov_module *m;

	for (size_t i = 0; i < c->modules.n; i++)
		if (same_module(&c->modules.at[i], path, id, id_size))
			return (int)i;
	m = ht_vec_push(&c->modules);
	if (!m)
		return -HT_ENOMEM;
	memset(m, 0, sizeof(*m));
	m->path = strdup(path);
	if (!m->path) {
		c->modules.n--;
		return -HT_ENOMEM;
	}
	m->handle = handle;
	memcpy(m->build_id, id, id_size);
	m->build_id_size = (uint8_t)id_size;
	return (int)c->modules.n - 1;
}

int
ht_coverage_module(struct ht_coverage *c, struct ht_module *handle)
{
	struct cov_slot *s = cov_table_find(&c->handles, (uint64_t)(uintptr_t)handle, 0);
	const struct ht_module_info *info;
	int i;

	if (s)
		return (int)s->count;
	info = ht_module_info(handle);
	i = find_module(c, handle, info->path, info->build_id, info->build_id_size);
	if (i < 0)
		return i;
	/* Another capture may have found the file that the first one missed. */
	if (info->state == HT_MODULE_FOUND && ht_module_info(c->modules.at[i].handle)->state != HT_MODULE_FOUND)
		c->modules.at[i].handle = handle;
	s = cov_table_add(&c->handles, (uint64_t)(uintptr_t)handle, 0);
	if (!s)
		return -HT_ENOMEM;
	s->n = 1;
	s->count = (uint64_t)i;
	return i;
}

int
ht_coverage_add_session(struct ht_coverage *c, struct ht_session *s)
{
	int rc = cov_note_limits(c, s);
	const struct ht_gap *gap;

	/* Of a file that was cut whole streams may be missing. */
	if (rc == 0 && ht_container_info(ht_session_container(s))->truncated)
		rc = ht_coverage_lose(c, s, -1);
	/* What was not traced may have run all that its process had. */
	for (uint32_t i = 0; rc == 0 && (gap = ht_session_gap(s, i)); i++) {
		if (gap->kind != HT_GAP_UNTRACED && gap->kind != HT_GAP_UNFOLLOWED)
			continue;
		c->gaps++;
		if (gap->kind == HT_GAP_UNTRACED)
			rc = ht_coverage_lose(c, s, gap->pid ? gap->pid : -1);
	}
	return rc;
}

static int
count_block(struct cov_module *m, uint64_t start, uint64_t last, uint32_t insns, uint64_t count)
{
	struct cov_slot *s = cov_table_add(&m->blocks, start, last);

	if (!s)
		return -HT_ENOMEM;
	s->n = insns;
	s->count += count;
	m->executed += count * insns;
	return 0;
}

static int
count_branch(struct cov_module *m, uint64_t addr, uint64_t taken, uint64_t not_taken)
{
	struct cov_slot *s = cov_table_add(&m->branches, addr, 0);

	if (!s)
		return -HT_ENOMEM;
	s->n = 1;
	s->taken += taken;
	s->not_taken += not_taken;
	return 0;
}

int
ht_coverage_count_block(struct ht_coverage *c, int module, uint64_t start, uint64_t last, uint64_t count)
{
	if (module < 0 || (size_t)module >= c->modules.n || last < start)
		return -HT_EINVAL;
	return count_block(&c->modules.at[module], start, last, 1, count);
}

int
ht_coverage_count_branch(struct ht_coverage *c, int module, uint64_t addr, uint64_t taken, uint64_t not_taken)
{
	if (module < 0 || (size_t)module >= c->modules.n)
		return -HT_EINVAL;
	return count_branch(&c->modules.at[module], addr, taken, not_taken);
}

int
ht_coverage_count_gap(struct ht_coverage *c, int module, uint64_t vaddr)
{
	struct cov_slot *s;

	if (module < 0 || (size_t)module >= c->modules.n)
		return -HT_EINVAL;
	s = cov_table_add(&c->modules.at[module].gaps, vaddr, 0);
	if (!s)
		return -HT_ENOMEM;
	s->n = 1;
	s->count++;
	return 0;
}

/* -- streams -------------------------------------------------------------- */

/* Number of the place in `wheres` that `addr` is in. */
static int
resolve(struct ht_coverage *c, uint64_t addr)
{
	struct cov_where w = { -1, 0 }, *slot;
	struct ht_module *m;
	uint64_t vaddr;

	if (ht_view_resolve(c->view, addr, &m, &vaddr) == 0) {
		w.module = ht_coverage_module(c, m);
		if (w.module < 0)
			return w.module;
		w.delta = vaddr - addr;
	}
	for (size_t i = c->wheres.n; i-- > 0;)
		if (c->wheres.at[i].module == w.module && c->wheres.at[i].delta == w.delta)
			return (int)i;
	slot = ht_vec_push(&c->wheres);
	if (!slot)
		return -HT_ENOMEM;
	*slot = w;
	return (int)c->wheres.n - 1;
}

static int
count_target(struct cov_module *m, uint64_t from, uint64_t to, uint64_t count)
{
	struct cov_slot *s = cov_table_add(&m->targets, from, to);

	if (!s)
		return -HT_ENOMEM;
	s->n = 1;
	s->count += count;
	return 0;
}

static int
flush_targets(struct ht_coverage *c)
{
	COV_EACH(s, &c->hot_targets)
	{
		const struct cov_where *from = &c->wheres.at[s->where],
				       *to = &c->wheres.at[s->not_taken];

		if (from->module >= 0 &&
		    count_target(&c->modules.at[from->module], s->a + from->delta,
		                 cov_target(to->module, s->b + to->delta), s->count) < 0)
			return -HT_ENOMEM;
	}
	cov_table_clear(&c->hot_targets);
	return 0;
}

/* Fold the hot counters into the modules. */
static int
flush(struct ht_coverage *c)
{
	COV_EACH(s, &c->hot) {
		struct cov_where w = c->wheres.at[s->where];
		struct cov_module *m;

		if (w.module < 0) {
			c->unresolved += s->count * s->n;
			continue;
		}
		m = &c->modules.at[w.module];
		if (s->count && count_block(m, s->a + w.delta, s->b + w.delta, s->n, s->count) < 0)
			return -HT_ENOMEM;
		if ((s->taken || s->not_taken) && count_branch(m, s->b + w.delta, s->taken, s->not_taken) < 0)
			return -HT_ENOMEM;
	}
	if (flush_targets(c) < 0)
		return -HT_ENOMEM;
	cov_table_clear(&c->hot);
	c->wheres.n = 0;
	return 0;
}

int
ht_coverage_end_stream(struct ht_coverage *c)
{
	struct ht_view *view = c->view;
	int torn = c->torn;

	c->view = NULL;
	c->last = 0;
	c->after_gap = 0;
	c->torn = 0;
	if (flush(c) < 0)
		return -HT_ENOMEM;
	return torn && view ? ht_coverage_lose(c, ht_view_session(view), ht_view_pid(view)) : 0;
}

void
ht_coverage_forget(struct ht_coverage *c)
{
	for (size_t i = 0; i < c->modules.n; i++) {
		struct cov_module *m = &c->modules.at[i];

		cov_table_clear(&m->blocks);
		cov_table_clear(&m->branches);
		cov_table_clear(&m->gaps);
		cov_table_clear(&m->targets);
		m->executed = 0;
		m->lost = 0;
		m->torn.n = 0;
	}
	cov_table_clear(&c->hot);
	cov_table_clear(&c->hot_targets);
	c->wheres.n = 0;
	c->gaps = c->unresolved = 0;
	c->torn = 0;
}

/* Count the gap in the module of the last address before it, or of the first one behind it. */
static int
lost_at(struct ht_coverage *c, struct ht_view *view, uint64_t ip)
{
	struct ht_module *m;
	uint64_t vaddr;
	int i;

	if (!ip || ht_view_resolve(view, ip, &m, &vaddr) < 0)
		return 0;
	i = ht_coverage_module(c, m);
	return i < 0 ? i : ht_coverage_count_gap(c, i, vaddr);
}

static int
count_gap(struct ht_coverage *c, const struct ht_event *e)
{
	c->gaps++;
	if (e->flags & HT_EV_F_BLOCK)
		return cov_note_block(c, c->view, e->b) < 0 ? -HT_ENOMEM
		                                            : lost_at(c, c->view, e->b);
	c->after_gap = 1;
	c->torn = 1;
	return lost_at(c, c->view, c->last);
}

/* The slot of a block or branch that is new; resolves its address. */
static struct cov_slot *
new_slot(struct ht_coverage *c, uint64_t start, uint64_t last, uint32_t insns)
{
	int where = resolve(c, start);
	struct cov_slot *s = where < 0 ? NULL : cov_table_add(&c->hot, start, last);

	if (s) {
		s->n = insns ? insns : 1;
		s->where = (uint32_t)where;
	}
	return s;
}

/* An indirect branch went from `from` to `to`. */
static int
new_target(struct ht_coverage *c, uint64_t from, uint64_t to)
{
	int a = resolve(c, from), b = a < 0 ? a : resolve(c, to);
	struct cov_slot *s = b < 0 ? NULL : cov_table_add(&c->hot_targets, from, to);

	if (!s)
		return -HT_ENOMEM;
	s->n = 1;
	s->where = (uint32_t)a;
	s->not_taken = (uint64_t)b;
	s->count = 1;
	return 0;
}

static int
see_target(struct ht_coverage *c, const struct ht_event *e)
{
	struct cov_slot *s = cov_table_find(&c->hot_targets, e->a, e->b);

	if (!s)
		return new_target(c, e->a, e->b);
	s->count++;
	return 0;
}

int
ht_coverage_events(struct ht_coverage *c, struct ht_view *view, const struct ht_event *ev, int n)
{
	struct cov_slot *s = NULL;

	if (c->view != view || c->generation != ht_view_generation(view)) {
		if (flush(c) < 0)
			return -HT_ENOMEM;
		c->view = view;
		c->generation = ht_view_generation(view);
	}
	for (const struct ht_event *e = ev; n-- > 0; e++) {
		if (e->kind == HT_EV_BLOCK) {
			s = cov_table_find(&c->hot, e->a, e->b);
			if (!s && !(s = new_slot(c, e->a, e->b, e->n)))
				return -HT_ENOMEM;
			s->count++;
			c->last = e->b;
			if (c->after_gap && (c->after_gap = 0, lost_at(c, view, e->a) < 0))
				return -HT_ENOMEM;
		} else if (e->kind == HT_EV_BRANCH && e->insn == HT_INSN_COND) {
			/* Its block is the one just counted, unless a batch ended between. */
			if (!s || s->b != e->a) {
				s = cov_table_find(&c->hot, e->a, e->a);
				if (!s && !(s = new_slot(c, e->a, e->a, 1)))
					return -HT_ENOMEM;
			}
			if (e->flags & HT_BR_TAKEN)
				s->taken++;
			else
				s->not_taken++;
		} else if (e->kind == HT_EV_BRANCH && e->b &&
		           (e->insn == HT_INSN_CALL_IND || e->insn == HT_INSN_JUMP_IND)) {
			if (see_target(c, e) < 0)
				return -HT_ENOMEM;
		} else if (e->kind == HT_EV_GAP && count_gap(c, e) < 0) {
			return -HT_ENOMEM;
		}
	}
	return 0;
}

/* -- merge ---------------------------------------------------------------- */

static int
merge_module(struct cov_module *into, const struct cov_module *from)
{
	COV_EACH(s, &from->blocks)
		if (count_block(into, s->a, s->b, s->n, s->count) < 0)
			return -HT_ENOMEM;
	COV_EACH(s, &from->branches)
		if (count_branch(into, s->a, s->taken, s->not_taken) < 0)
			return -HT_ENOMEM;
	COV_EACH(s, &from->gaps) {
		struct cov_slot *g = cov_table_add(&into->gaps, s->a, 0);

		if (!g)
			return -HT_ENOMEM;
		g->n = 1;
		g->count += s->count;
	}
	into->lost |= from->lost;
	if (cov_torn_add(into, &from->torn) < 0)
		return -HT_ENOMEM;
	return from->captured ? cov_unrecorded_add(into, &from->unrecorded) : 0;
}

/* Modules have other numbers there: places[number in `from`] = number in `into`. */
static int
merge_targets(struct ht_coverage *into, const struct ht_coverage *from, const int *places)
{
	for (size_t i = 0; i < from->modules.n; i++)
		COV_EACH(s, &from->modules.at[i].targets)
		{
			int to = cov_target_module(s->b);

			if (count_target(
				&into->modules.at[places[i]], s->a,
				cov_target(to < 0 ? to : places[to], cov_target_vaddr(s->b)),
				s->count) < 0)
				return -HT_ENOMEM;
		}
	return 0;
}

int
ht_coverage_merge(struct ht_coverage *into, const struct ht_coverage *from)
{
	int *places = calloc(from->modules.n + 1, sizeof(*places));
	int rc = places ? 0 : -HT_ENOMEM;

	for (size_t i = 0; i < from->modules.n && rc == 0; i++) {
		const struct cov_module *m = &from->modules.at[i];

		places[i] = find_module(into, m->handle, m->path, m->build_id, m->build_id_size);
		rc = places[i] < 0 ? places[i] : merge_module(&into->modules.at[places[i]], m);
	}
	if (rc == 0)
		rc = merge_targets(into, from, places);
	free(places);
	if (rc < 0)
		return -HT_ENOMEM;
	into->gaps += from->gaps;
	into->unresolved += from->unresolved;
	return 0;
}
