/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Views: an address space at a moment.  A layer applies the change list of one
 * process; a view has one layer for each process it was switched to, and one
 * for the kernel, which is asked where the process has nothing.
 */
#include <stdlib.h>
#include <string.h>

#include <hwtrace/event.h>

#include "base/vec.h"
#include "session/session.h"

#define RUN_SLOTS 64

struct layer {
	const struct ht_process *process;
	size_t          next; /* first change not applied yet */
	struct ht_space maps;
	struct ht_space code; /* recorded bytes; they win over maps */
	struct ht_space
	    jit; /* code that was made: comes back into maps with its anonymous memory */
};

/* Bytes at [start, end) lie at `bytes`; nothing is known while start == end. */
struct run {
	uint64_t       start, end;
	const uint8_t *bytes;
};

struct ht_view {
	struct ht_session *session;
	struct layer      *layer; /* the process, in `layers` */
	struct layer       kernel;
	struct { struct layer **at; size_t n, cap; } layers;
	struct ht_index    by_pid; /* -> layers */
	struct ht_process  none; /* what a process is that no record names */
	uint64_t           ns;
	uint64_t           generation;
	uint32_t           mapping_generation;
	struct { struct ht_range *at; size_t n, cap; } changes;
	struct { struct ht_mapping *at; size_t n, cap; } flat;
	uint64_t           flat_generation;
	struct run         runs[RUN_SLOTS];
};

/* -- applying changes ---------------------------------------------------- */

static int
note_range(struct ht_view *v, uint64_t start, uint64_t end)
{
	struct ht_range *last = v->changes.n ? &v->changes.at[v->changes.n - 1] : NULL;

	if (last && start <= last->end && end >= last->start) {
		last->start = start < last->start ? start : last->start;
		last->end = end > last->end ? end : last->end;
		return 0;
	}
	last = ht_vec_push(&v->changes);
	if (!last)
		return -HT_ENOMEM;
	*last = (struct ht_range){ start, end };
	return 0;
}

/* Is `e` code that was made, in anonymous memory that is mapped again? */
static int
is_made(const struct layer *l, const struct ht_change *c, const struct ht_entry *e)
{
	const struct ht_entry *j = ht_space_find(&l->jit, e->start);

	return j && ht_module_is_memory(c->u.module) && j->module == e->module &&
	       j->end >= e->end && j->off + (e->start - j->start) == e->off;
}

/* Is [start, end) mapped to this already, with no recorded bytes over it? */
static int
same_mapping(const struct layer *l, const struct ht_change *c)
{
	const struct ht_entry *e;

	for (uint64_t at = c->start; at < c->end; at = e->end) {
		e = ht_space_find(&l->maps, at);
		if (!e || !((e->module == c->u.module && e->off - e->start == c->off - c->start) ||
		            is_made(l, c, e)))
			return 0;
	}
	e = ht_space_from(&l->code, c->start);
	return !e || e->start >= c->end;
}

/* Code that was made is in its memory again. */
static int
restore_made(struct ht_view *v, struct layer *l, const struct ht_change *c)
{
	const struct ht_entry *j;
	int r = 0;

	for (uint64_t at = c->start;
	     r == 0 && (j = ht_space_from(&l->jit, at)) && j->start < c->end; at = j->end) {
		struct ht_entry e = *j;

		if (e.start < c->start) {
			e.off += c->start - e.start;
			e.start = c->start;
		}
		if (e.end > c->end)
			e.end = c->end;
		e.generation = v->mapping_generation;
		r = ht_space_put(&l->maps, &e);
	}
	return r;
}

static int
apply_map(struct ht_view *v, struct layer *l, const struct ht_change *c)
{
	struct ht_entry e = { .start = c->start, .end = c->end, .off = c->off,
	                      .module = c->u.module, .generation = ++v->mapping_generation };
	int r;

	if (same_mapping(l, c))
		return 0;
	r = ht_space_put(&l->maps, &e);
	if (r == 0)
		r = ht_module_is_memory(c->u.module) ? restore_made(v, l, c)
		                                     : ht_space_cut(&l->jit, c->start, c->end);
	if (r >= 0)
		r = ht_space_cut(&l->code, c->start, c->end);
	return r < 0 ? r : note_range(v, c->start, c->end);
}

/* Recorded bytes stay: they are what ran. */
static int
apply_jit(struct ht_view *v, struct layer *l, const struct ht_change *c)
{
	struct ht_entry e = { .start = c->start,
		              .end = c->end,
		              .off = c->off,
		              .module = c->u.module,
		              .generation = ++v->mapping_generation };
	const struct ht_entry *is = ht_space_find(&l->maps, c->start);
	int r = ht_space_put(&l->jit, &e);

	if (r < 0 || (is && is->end >= c->end && is->module == e.module &&
	              is->off - is->start == e.off - e.start))
		return r;
	r = ht_space_put(&l->maps, &e);
	return r < 0 ? r : note_range(v, c->start, c->end);
}

static int
apply_unmap(struct ht_view *v, struct layer *l, const struct ht_change *c)
{
	int a = ht_space_cut(&l->maps, c->start, c->end), b;

	if (a < 0)
		return a;
	b = ht_space_cut(&l->code, c->start, c->end);
	if (b < 0)
		return b;
	return a || b ? note_range(v, c->start, c->end) : 0;
}

static int
apply_code(struct ht_view *v, struct layer *l, const struct ht_change *c)
{
	struct ht_entry e = { .start = c->start, .end = c->end, .off = c->off,
	                      .bytes = c->u.bytes, .generation = ++v->mapping_generation };
	struct ht_entry *m;
	int r = ht_space_put(&l->code, &e);

	if (r < 0)
		return r;
	for (uint64_t at = c->start; (m = ht_space_from(&l->maps, at)) && m->start < c->end; at = m->end)
		m->generation = v->mapping_generation;
	return note_range(v, c->start, c->end);
}

static int
apply_clear(struct ht_view *v, struct layer *l)
{
	ht_space_clear(&l->maps);
	ht_space_clear(&l->code);
	ht_space_clear(&l->jit);
	return note_range(v, 0, UINT64_MAX);
}

static int
apply_one(struct ht_view *v, struct layer *l, const struct ht_change *c)
{
	switch (c->kind) {
	case HT_CHANGE_MAP:
		return apply_map(v, l, c);
	case HT_CHANGE_UNMAP:
		return apply_unmap(v, l, c);
	case HT_CHANGE_CODE:
		return apply_code(v, l, c);
	case HT_CHANGE_JIT:
		return apply_jit(v, l, c);
	default:
		return apply_clear(v, l);
	}
}

/* What a process had when it forked: changes [from, to) of its list, after those of its own parent. */
struct ancestor {
	const struct ht_process *process;
	size_t from, to;
};

/*
 * Build the space that fork `c` copied.  Only what came after the last exec or
 * fork of each ancestor counts; the chain is followed in a list, since its
 * length is the file's to choose.
 */
static int
apply_fork(struct ht_view *v, struct layer *l, const struct ht_change *c)
{
	struct { struct ancestor *at; size_t n, cap; } chain = { 0 };
	int r = apply_clear(v, l);

	while (r == 0 && c && c->u.parent) {
		const struct ht_process *p = c->u.parent;
		size_t to = c->off;
		uint32_t reset = to ? p->changes.at[to - 1].reset : 0;
		struct ancestor *a = ht_vec_push(&chain);

		if (!a) {
			r = -HT_ENOMEM;
			break;
		}
		*a = (struct ancestor){ p, reset, to };
		c = reset ? &p->changes.at[reset - 1] : NULL;
		if (c && c->kind != HT_CHANGE_FORK)
			c = NULL;
	}
	while (r == 0 && chain.n) {
		const struct ancestor *a = &chain.at[--chain.n];

		for (size_t i = a->from; r == 0 && i < a->to; i++)
			r = apply_one(v, l, &a->process->changes.at[i]);
	}
	ht_vec_free(&chain);
	return r;
}

/* Apply what is stamped <= ns.  What a later exec or fork wipes out anyway is skipped. */
static int
layer_advance(struct ht_view *v, struct layer *l, uint64_t ns)
{
	const struct ht_process *p = l->process;
	size_t end = l->next;
	int r = 0;

	while (end < p->changes.n && p->changes.at[end].ns <= ns)
		end++;
	if (end > l->next && p->changes.at[end - 1].reset > l->next)
		l->next = p->changes.at[end - 1].reset - 1;
	for (; r == 0 && l->next < end; l->next++) {
		const struct ht_change *c = &p->changes.at[l->next];

		r = c->kind == HT_CHANGE_FORK ? apply_fork(v, l, c) : apply_one(v, l, c);
	}
	return r;
}

static void
layer_fini(struct layer *l)
{
	ht_space_fini(&l->maps);
	ht_space_fini(&l->code);
	ht_space_fini(&l->jit);
}

/* -- the cursor ---------------------------------------------------------- */

/* The layer of `pid`, made empty when the view never was there; NULL when out of memory. */
static struct layer *
view_layer(struct ht_view *v, int32_t pid)
{
	const struct ht_process *p = ht_session_process(v->session, pid);
	/* All processes that no record names are one, which has nothing. */
	uint64_t key = p ? (uint32_t)pid : UINT64_MAX;
	uint32_t i = ht_index_get(&v->by_pid, key);
	struct layer **slot;

	if (i != UINT32_MAX)
		return v->layers.at[i];
	slot = ht_vec_push(&v->layers);
	if (!slot)
		return NULL;
	*slot = calloc(1, sizeof(**slot));
	if (!*slot || ht_index_set(&v->by_pid, key, (uint32_t)v->layers.n - 1) < 0) {
		free(*slot);
		v->layers.n--;
		return NULL;
	}
	(*slot)->process = p ? p : &v->none;
	return *slot;
}

static int
range_compare(const void *x, const void *y)
{
	const struct ht_range *a = x, *b = y;

	return a->start < b->start ? -1 : a->start > b->start;
}

/* Sort what was noted; what touches becomes one. */
static void
sort_changes(struct ht_view *v)
{
	size_t n = 0;

	if (v->changes.n > 1)
		qsort(v->changes.at, v->changes.n, sizeof(*v->changes.at), range_compare);
	for (size_t i = 0; i < v->changes.n; i++) {
		struct ht_range *r = &v->changes.at[i], *last = n ? &v->changes.at[n - 1] : NULL;

		if (!last || r->start > last->end)
			v->changes.at[n++] = *r;
		else if (r->end > last->end)
			last->end = r->end;
	}
	v->changes.n = n;
}

/* After the content changed: what was looked up before does not hold. */
static void
view_changed(struct ht_view *v)
{
	v->generation++;
	memset(v->runs, 0, sizeof(v->runs));
}

int
ht_view_new(struct ht_session *s, int32_t pid, struct ht_view **out)
{
	struct ht_view *v = calloc(1, sizeof(*v));

	if (!v)
		return -HT_ENOMEM;
	v->session = s;
	v->none.pid = pid;
	v->kernel.process = &s->kernel;
	v->generation = 1;
	/* A capture of one process need not say whose the stream is. */
	if (pid == -1 && !ht_session_process(s, -1) && s->processes.n == 1)
		pid = s->processes.at[0]->pid;
	v->layer = view_layer(v, pid);
	if (!v->layer || ht_view_advance(v, 0) < 0) {
		ht_view_free(v);
		return -HT_ENOMEM;
	}
	*out = v;
	return 0;
}

void
ht_view_free(struct ht_view *v)
{
	if (!v)
		return;
	for (size_t i = 0; i < v->layers.n; i++) {
		layer_fini(v->layers.at[i]);
		free(v->layers.at[i]);
	}
	ht_vec_free(&v->layers);
	ht_index_fini(&v->by_pid);
	layer_fini(&v->kernel);
	ht_vec_free(&v->changes);
	ht_vec_free(&v->flat);
	free(v);
}

int
ht_view_switch(struct ht_view *v, int32_t pid, uint64_t ns)
{
	struct layer *l = view_layer(v, pid);
	int r;

	if (!l)
		return -HT_ENOMEM;
	if (l->process == &v->none)
		v->none.pid = pid;
	v->layer = l;
	r = ht_view_advance(v, ns);
	v->changes.n = 0;
	if (r < 0 || note_range(v, 0, UINT64_MAX) < 0)
		return -HT_ENOMEM;
	view_changed(v);
	return 0;
}

struct ht_session *
ht_view_session(const struct ht_view *v)
{
	return v->session;
}

int32_t
ht_view_pid(const struct ht_view *v)
{
	return v->layer->process->pid;
}

int
ht_view_advance(struct ht_view *v, uint64_t ns)
{
	int r;

	if (ns < v->ns)
		ns = v->ns;
	v->ns = ns;
	v->changes.n = 0;
	r = layer_advance(v, v->layer, ns);
	if (r == 0)
		r = layer_advance(v, &v->kernel, ns);
	sort_changes(v);
	if (v->changes.n)
		view_changed(v);
	return r < 0 ? r : v->changes.n != 0;
}

uint64_t
ht_view_generation(const struct ht_view *v)
{
	return v->generation;
}

static uint64_t
layer_next(const struct layer *l)
{
	return l->next < l->process->changes.n ? l->process->changes.at[l->next].ns : UINT64_MAX;
}

uint64_t
ht_view_next_change(const struct ht_view *v)
{
	uint64_t a = layer_next(v->layer), b = layer_next(&v->kernel);

	return a < b ? a : b;
}

void
ht_view_mark(const struct ht_view *v, struct ht_view_mark *out)
{
	*out = (struct ht_view_mark){ ht_view_pid(v), v->layer->next, v->kernel.next };
}

const struct ht_range *
ht_view_changes(const struct ht_view *v, uint32_t *n)
{
	*n = (uint32_t)v->changes.n;
	return v->changes.at;
}

/* -- looking up ---------------------------------------------------------- */

static const struct layer *
layer_at(const struct ht_view *v, uint64_t addr, const struct ht_entry **map,
         const struct ht_entry **code)
{
	const struct layer *const layers[] = { v->layer, &v->kernel };

	for (unsigned i = 0; i < 2; i++) {
		*map = ht_space_find(&layers[i]->maps, addr);
		*code = ht_space_find(&layers[i]->code, addr);
		if (*map || *code)
			return layers[i];
	}
	return NULL;
}

static struct ht_mapping
mapping_of(const struct ht_view *v, const struct ht_entry *e)
{
	return (struct ht_mapping){ e->start, e->end, e->off,
	                            e->module ? e->module : v->session->anon, e->generation };
}

int
ht_view_find(struct ht_view *v, uint64_t addr, struct ht_mapping *out)
{
	const struct ht_entry *map, *code;

	if (!layer_at(v, addr, &map, &code))
		return -HT_ENOTFOUND;
	*out = mapping_of(v, map ? map : code);
	return 0;
}

static int
flatten(struct ht_view *v, const struct ht_space *s)
{
	for (size_t i = 0; i < s->n; i++)
		for (unsigned j = 0; j < s->at[i]->n; j++) {
			struct ht_mapping *m = ht_vec_push(&v->flat);

			if (!m)
				return -HT_ENOMEM;
			*m = mapping_of(v, &s->at[i]->e[j]);
		}
	return 0;
}

static int
mapping_compare(const void *x, const void *y)
{
	const struct ht_mapping *a = x, *b = y;

	return a->start < b->start ? -1 : a->start > b->start;
}

const struct ht_mapping *
ht_view_mappings(struct ht_view *v, uint32_t *n)
{
	if (v->flat_generation != v->generation) {
		v->flat.n = 0;
		if (flatten(v, &v->layer->maps) < 0 || flatten(v, &v->kernel.maps) < 0) {
			*n = 0;
			return NULL;
		}
		if (v->flat.n)
			qsort(v->flat.at, v->flat.n, sizeof(*v->flat.at), mapping_compare);
		v->flat_generation = v->generation;
	}
	*n = (uint32_t)v->flat.n;
	return v->flat.at;
}

/* Bytes around `addr` that lie in one piece; 0, or -HT_ENOTFOUND. */
static int
find_run(struct ht_view *v, uint64_t addr, struct run *run)
{
	const struct ht_entry *map, *code;
	const struct layer *l = layer_at(v, addr, &map, &code);
	size_t n;

	if (!l)
		return -HT_ENOTFOUND;
	if (code) {
		*run = (struct run){ code->start, code->end, code->bytes + code->off };
		return 0;
	}
	run->start = addr;
	run->end = map->end;
	code = ht_space_from(&l->code, map->start);
	if (!code || code->start >= map->end) {
		run->start = map->start; /* all of it, so that code before `addr` hits as well */
	} else if ((code = ht_space_from(&l->code, addr)) && code->start < run->end) {
		run->end = code->start;
	}
	run->bytes = ht_module_bytes(map->module, map->off + (run->start - map->start), &n);
	if (n < run->end - run->start)
		run->end = run->start + n;
	return addr < run->end ? 0 : -HT_ENOTFOUND;
}

size_t
ht_view_read(struct ht_view *v, uint64_t addr, void *buf, size_t size)
{
	size_t done = 0;

	while (done < size) {
		uint64_t at = addr + done;
		struct run *run = &v->runs[(at >> 12) % RUN_SLOTS];
		size_t n;

		if ((at < run->start || at >= run->end) && find_run(v, at, run) < 0) {
			*run = (struct run){ 0 };
			break;
		}
		n = run->end - at < size - done ? (size_t)(run->end - at) : size - done;
		memcpy((char *)buf + done, run->bytes + (at - run->start), n);
		done += n;
		if (n > UINT64_MAX - at)
			break;
	}
	return done;
}

int
ht_view_why(struct ht_view *v, uint64_t addr, const char **why)
{
	const struct ht_entry *map, *code;
	const struct ht_module_info *info, *jit;
	const char *text = "no executable memory is known at this address";
	int kind = HT_GAP_NO_CODE;

	if (layer_at(v, addr, &map, &code) && !code) {
		struct ht_module *dump = v->layer->process->jitdump;

		info = ht_module_info(map->module);
		jit = dump ? ht_module_info(dump) : NULL;
		if (info->state == HT_MODULE_CHANGED)
			kind = HT_GAP_CODE_CHANGED;
		if (info->state == HT_MODULE_MEMORY && jit && jit->why)
			text = jit->why;
		else if (info->why)
			text = info->why;
		else if (info->state == HT_MODULE_MEMORY)
			text = "the content of this anonymous memory was not recorded";
		else
			text = "the file ends before the mapped code";
	}
	if (why)
		*why = text;
	return kind;
}

int
ht_view_resolve(struct ht_view *v, uint64_t addr, struct ht_module **m, uint64_t *vaddr)
{
	const struct ht_entry *map, *code;

	if (!layer_at(v, addr, &map, &code))
		return -HT_ENOTFOUND;
	if (!map) {
		*m = v->session->anon;
		*vaddr = addr;
		return 0;
	}
	if (ht_module_vaddr(map->module, map->off + (addr - map->start), vaddr) < 0)
		return -HT_ENOTFOUND;
	*m = map->module;
	return 0;
}
