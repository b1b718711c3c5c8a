/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replays the sideband.  Records are taken in order of (time, place in the
 * file), so those without a time, which state what was there before, come
 * first.
 */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "session/jitdump.h"
#include "session/session.h"

#define MISC_FORK_EXEC 0x2000 /* a fork that was synthesised: the child's own mappings follow */

#define CONTEXT_SHIFT 12                /* of CR3: below are flags */
#define ITEM_JIT HT_REC_KIND_COUNT /* code of a jitdump: an item that no record is */

/* What is kept of a record until all were read and sorted. */
struct item {
	uint64_t ns;
	uint32_t order;
	uint8_t kind;  /* enum ht_record_kind or ITEM_JIT */
	uint8_t  flag; /* exec; no copy on fork; switched out */
	int32_t  pid, tid, ppid, ptid, cpu;
	uint32_t map_flags;
	uint64_t addr, len, off;
	void    *ptr; /* comm, module or bytes */
};

struct items {
	struct item *at;
	size_t n, cap;
	struct {
		struct ht_jit_file *at;
		size_t n, cap;
	} jits; /* jitdumps that were mapped */
};

void *
ht_session_keep(struct ht_session *s, const void *data, size_t size)
{
	void **slot = ht_vec_push(&s->memory);

	if (!slot)
		return NULL;
	*slot = malloc(size ? size : 1);
	if (*slot && size)
		memcpy(*slot, data, size);
	return *slot;
}

struct ht_process *
ht_session_process(const struct ht_session *s, int32_t pid)
{
	uint32_t i = ht_index_get(&s->by_pid, (uint32_t)pid);

	return i == UINT32_MAX ? NULL : s->processes.at[i];
}

static struct ht_process *
process_get(struct ht_session *s, int32_t pid)
{
	struct ht_process *p = ht_session_process(s, pid), **slot;

	if (p)
		return p;
	slot = ht_vec_push(&s->processes);
	if (!slot)
		return NULL;
	*slot = calloc(1, sizeof(**slot));
	if (!*slot || ht_index_set(&s->by_pid, (uint32_t)pid, (uint32_t)s->processes.n - 1) < 0) {
		free(*slot);
		s->processes.n--;
		return NULL;
	}
	(*slot)->pid = pid;
	return *slot;
}

/* Index of thread `tid`, made when it is new; UINT32_MAX when out of memory. */
static uint32_t
thread_get(struct ht_session *s, int32_t pid, int32_t tid)
{
	uint32_t i = ht_index_get(&s->by_tid, (uint32_t)tid);
	struct ht_thread *t;
	struct ht_task *task;

	if (i != UINT32_MAX) {
		if (s->threads.at[i].pid < 0)
			s->threads.at[i].pid = pid;
		return i;
	}
	if (ht_vec_reserve(&s->tasks, s->tasks.n + 1) < 0 || !(t = ht_vec_push(&s->threads)))
		return UINT32_MAX;
	*t = (struct ht_thread){ .pid = pid, .tid = tid, .ppid = -1, .comm = "" };
	task = ht_vec_push(&s->tasks);
	memset(task, 0, sizeof(*task));
	i = (uint32_t)s->threads.n - 1;
	if (ht_index_set(&s->by_tid, (uint32_t)tid, i) < 0) {
		s->threads.n--;
		s->tasks.n--;
		return UINT32_MAX;
	}
	return i;
}

/* -- reading ------------------------------------------------------------- */

static uint64_t
range_end(uint64_t start, uint64_t len)
{
	return len > UINT64_MAX - start ? UINT64_MAX : start + len;
}

/* The part of `rec` that its kind alone has. */
static int
item_fill(struct ht_session *s, struct item *it, const struct ht_record *rec)
{
	switch (rec->kind) {
	case HT_REC_MMAP:
		it->addr = rec->u.map.addr;
		it->len = rec->u.map.len;
		it->off = rec->u.map.pgoff;
		it->map_flags = rec->u.map.flags;
		it->ptr = ht_session_intern(s, rec->u.map.path ? rec->u.map.path : "",
		                            rec->u.map.build_id, rec->u.map.build_id_size);
		if (it->ptr && (rec->u.map.flags & HT_MAP_DUMP))
			ht_module_set_dump(it->ptr);
		return it->ptr ? 0 : -HT_ENOMEM;
	case HT_REC_MUNMAP:
		it->addr = rec->u.unmap.addr;
		it->len = rec->u.unmap.len;
		return 0;
	case HT_REC_COMM:
		it->flag = rec->u.comm.exec != 0;
		it->ptr = ht_session_keep(s, rec->u.comm.comm ? rec->u.comm.comm : "",
		                          rec->u.comm.comm ? strlen(rec->u.comm.comm) + 1 : 1);
		return it->ptr ? 0 : -HT_ENOMEM;
	case HT_REC_FORK:
	case HT_REC_EXIT:
		it->ppid = rec->kind == HT_REC_FORK ? rec->u.fork.ppid : rec->u.exit.ppid;
		it->ptid = rec->kind == HT_REC_FORK ? rec->u.fork.ptid : rec->u.exit.ptid;
		it->flag = rec->kind == HT_REC_FORK && (rec->misc & MISC_FORK_EXEC) != 0;
		return 0;
	case HT_REC_CONTEXT:
		it->addr = rec->u.context.cr3;
		return 0;
	case HT_REC_SWITCH:
		it->flag = rec->u.sw.out != 0;
		it->ppid = rec->u.sw.next_prev_pid;
		it->ptid = rec->u.sw.next_prev_tid;
		return 0;
	case HT_REC_CODE:
		it->addr = rec->u.code.addr;
		it->len = rec->u.code.len;
		it->ptr = ht_session_keep(s, rec->u.code.bytes, rec->u.code.bytes ? it->len : 0);
		if (!rec->u.code.bytes)
			it->len = 0;
		return it->ptr ? 0 : -HT_ENOMEM;
	default:
		return 0;
	}
}

/* perf's mark of a jitdump is a mapping of it, made to be recorded. */
static int
note_jitdump(struct items *items, const struct item *it, const struct ht_record *rec)
{
	int32_t pid = rec->u.map.path ? ht_jitdump_named(rec->u.map.path) : -1;
	struct ht_jit_file *f;

	if (pid < 0 || (pid != it->pid && !(it->map_flags & HT_MAP_EXEC)))
		return 0;
	for (size_t i = 0; i < items->jits.n; i++)
		if (items->jits.at[i].module == it->ptr && items->jits.at[i].pid == it->pid)
			return 0;
	f = ht_vec_push(&items->jits);
	if (!f)
		return -HT_ENOMEM;
	*f = (struct ht_jit_file){ it->pid, it->ns, it->ptr };
	return 0;
}

static int
items_add(struct ht_session *s, struct items *items, const struct ht_record *rec)
{
	struct item *it;

	if (rec->kind == HT_REC_LOST)
		return ht_session_lost(s, rec);
	if (rec->kind == HT_REC_OTHER || rec->kind == HT_REC_AUX || rec->kind == HT_REC_SAMPLE)
		return 0;
	if (items->n >= UINT32_MAX - 1)
		return -HT_ELIMIT;
	it = ht_vec_push(items);
	if (!it)
		return -HT_ENOMEM;
	*it = (struct item){ .ns = rec->time, .order = (uint32_t)items->n, .kind = (uint8_t)rec->kind,
	                     .pid = rec->pid, .tid = rec->tid, .cpu = rec->cpu };
	if (item_fill(s, it, rec) < 0)
		return -HT_ENOMEM;
	return rec->kind == HT_REC_MMAP ? note_jitdump(items, it, rec) : 0;
}

struct jit_items {
	struct items *items;
	struct ht_module *module;
};

static int
jit_add(void *arg, const struct ht_jit_place *place)
{
	struct jit_items *x = arg;
	struct item *it;

	if (x->items->n >= UINT32_MAX - 1)
		return -HT_ELIMIT;
	it = ht_vec_push(x->items);
	if (!it)
		return -HT_ENOMEM;
	*it = (struct item){ .ns = place->ns,
		             .order = (uint32_t)x->items->n,
		             .kind = ITEM_JIT,
		             .pid = place->pid,
		             .addr = place->addr,
		             .len = place->size,
		             .off = place->offset,
		             .ptr = x->module };
	return 0;
}

/* What was made while it ran, behind all that was recorded. */
static int
items_add_jits(struct ht_session *s, struct items *items)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < items->jits.n; i++) {
		const struct ht_jit_file *f = &items->jits.at[i];
		struct ht_process *p = process_get(s, f->pid);

		if (!p)
			return -HT_ENOMEM;
		p->jitdump = f->module;
		r = ht_session_jit(s, f, jit_add, &(struct jit_items){ items, f->module });
	}
	return r;
}

static int
items_read(struct ht_session *s, struct items *items)
{
	struct ht_record rec;
	int r;

	ht_container_rewind(s->container);
	while ((r = ht_container_next(s->container, &rec)) != 0) {
		if (r == -HT_ENOMEM)
			return r;
		r = r < 0 ? ht_session_damaged(s, ht_container_diag(s->container), 1)
		          : items_add(s, items, &rec);
		if (r < 0)
			return r;
	}
	return 0;
}

static int
item_compare(const void *x, const void *y)
{
	const struct item *a = x, *b = y;

	if (a->ns != b->ns)
		return a->ns < b->ns ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* -- replaying ----------------------------------------------------------- */

static int
change_add(struct ht_process *p, const struct ht_change *c)
{
	uint32_t last = p->changes.n ? p->changes.at[p->changes.n - 1].reset : 0;
	struct ht_change *slot = ht_vec_push(&p->changes);

	if (!slot)
		return -HT_ENOMEM;
	*slot = *c;
	slot->reset = c->kind == HT_CHANGE_CLEAR || c->kind == HT_CHANGE_FORK
	              ? (uint32_t)p->changes.n : last;
	return 0;
}

/* Anonymous memory may have names, which are the process's own. */
static void
name_memory(struct ht_session *s, const struct item *it, struct ht_change *c)
{
	struct ht_module *names =
	    ht_module_is_memory(it->ptr) && it->pid >= 0 ? ht_session_perfmap(s, it->pid) : NULL;

	c->u.module = names ? names : it->ptr;
	if (names)
		c->off = c->start;
}

/* MMAP, MUNMAP, CODE and ITEM_JIT. */
static int
replay_range(struct ht_session *s, const struct item *it)
{
	int kernel = it->kind == HT_REC_MMAP ? (it->map_flags & HT_MAP_KERNEL) != 0 : it->pid == -1;
	struct ht_process *p = kernel ? &s->kernel : process_get(s, it->pid);
	struct ht_change c = { .ns = it->ns, .start = it->addr, .off = it->off,
	                       .end = range_end(it->addr, it->len) };

	if (!p)
		return -HT_ENOMEM;
	if (c.start == c.end)
		return 0;
	if (it->kind == HT_REC_MMAP && (it->map_flags & (HT_MAP_EXEC | HT_MAP_KERNEL))) {
		c.kind = HT_CHANGE_MAP;
		name_memory(s, it, &c);
	} else if (it->kind == ITEM_JIT) {
		c.kind = HT_CHANGE_JIT;
		c.u.module = it->ptr;
	} else if (it->kind == HT_REC_CODE) {
		c.kind = HT_CHANGE_CODE;
		c.u.bytes = it->ptr;
		c.off = 0;
	} else {
		/* A mapping of data takes code away as munmap does. */
		c.kind = HT_CHANGE_UNMAP;
	}
	return change_add(p, &c);
}

/* A new thread has the name of the one that made it. */
static int
inherit_name(struct ht_session *s, uint32_t child, const struct item *it)
{
	uint32_t parent = ht_index_get(&s->by_tid, (uint32_t)it->ptid);
	struct ht_name *name;

	if (parent == UINT32_MAX || parent == child || !*s->threads.at[parent].comm)
		return 0;
	name = ht_vec_push(&s->tasks.at[child].names);
	if (!name)
		return -HT_ENOMEM;
	*name = (struct ht_name){ it->ns, s->threads.at[parent].comm };
	s->threads.at[child].comm = name->comm;
	return 0;
}

static int
replay_fork(struct ht_session *s, const struct item *it)
{
	uint32_t t = thread_get(s, it->pid, it->tid);
	struct ht_change c = { .ns = it->ns, .kind = HT_CHANGE_FORK };
	struct ht_process *child, *parent;

	if (t == UINT32_MAX)
		return -HT_ENOMEM;
	s->threads.at[t].pid = it->pid;
	s->threads.at[t].ppid = it->ppid;
	s->threads.at[t].start_ns = it->ns;
	s->threads.at[t].end_ns = 0;
	if (inherit_name(s, t, it) < 0)
		return -HT_ENOMEM;
	if (it->pid == it->ppid)
		return 0;
	child = process_get(s, it->pid);
	if (!child)
		return -HT_ENOMEM;
	parent = it->flag ? NULL : ht_session_process(s, it->ppid);
	c.u.parent = parent;
	c.off = parent ? parent->changes.n : 0;
	return change_add(child, &c);
}

static int
replay_comm(struct ht_session *s, const struct item *it)
{
	uint32_t t = thread_get(s, it->pid, it->tid);
	struct ht_change c = { .ns = it->ns, .kind = HT_CHANGE_CLEAR };
	struct ht_name *name;
	struct ht_process *p;

	if (t == UINT32_MAX || !(name = ht_vec_push(&s->tasks.at[t].names)))
		return -HT_ENOMEM;
	*name = (struct ht_name){ it->ns, it->ptr };
	s->threads.at[t].comm = it->ptr;
	s->threads.at[t].n_comms++;
	if (!it->flag)
		return 0;
	p = process_get(s, it->pid);
	return p ? change_add(p, &c) : -HT_ENOMEM;
}

/* A CPU goes to another thread; a record of "out" tells who comes next, or nobody knows. */
static int
replay_switch(struct ht_session *s, const struct item *it)
{
	int in = it->kind == HT_REC_ITRACE_START || !it->flag;
	struct ht_switch *sw;

	if (it->cpu < 0)
		return 0;
	sw = ht_vec_push(&s->switches);
	if (!sw)
		return -HT_ENOMEM;
	*sw = (struct ht_switch){ it->ns, in ? it->pid : it->ppid, in ? it->tid : it->ptid,
	                          it->cpu, it->order };
	return 0;
}

static int
replay(struct ht_session *s, const struct item *it)
{
	uint32_t t;

	switch (it->kind) {
	case HT_REC_MMAP:
	case HT_REC_MUNMAP:
	case HT_REC_CODE:
	case ITEM_JIT:
		return replay_range(s, it);
	case HT_REC_FORK:
		return replay_fork(s, it);
	case HT_REC_COMM:
		return replay_comm(s, it);
	case HT_REC_SWITCH:
		return replay_switch(s, it);
	case HT_REC_CONTEXT:
		return ht_index_set(&s->by_context, it->addr >> CONTEXT_SHIFT, (uint32_t)it->pid);
	case HT_REC_EXIT:
	case HT_REC_ITRACE_START:
		t = thread_get(s, it->pid, it->tid);
		if (t == UINT32_MAX)
			return -HT_ENOMEM;
		if (it->kind == HT_REC_ITRACE_START)
			return replay_switch(s, it);
		s->threads.at[t].end_ns = it->ns;
		return 0;
	default:
		return 0;
	}
}

static int
switch_compare(const void *x, const void *y)
{
	const struct ht_switch *a = x, *b = y;

	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	if (a->ns != b->ns)
		return a->ns < b->ns ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static int
session_load(struct ht_session *s)
{
	struct items items = { 0 };
	int r = items_read(s, &items);

	if (r == 0)
		r = items_add_jits(s, &items);
	if (r == 0)
		r = ht_session_cut(s);
	if (r == 0 && items.n)
		qsort(items.at, items.n, sizeof(*items.at), item_compare);
	for (size_t i = 0; r == 0 && i < items.n; i++)
		r = replay(s, &items.at[i]);
	if (r == 0 && s->switches.n)
		qsort(s->switches.at, s->switches.n, sizeof(*s->switches.at), switch_compare);
	/* A stream's thread exists even when no record names it. */
	for (uint32_t i = 0; r == 0 && i < ht_container_stream_count(s->container); i++) {
		const struct ht_stream *st = ht_container_stream(s->container, i);

		if (st->tid != -1 && thread_get(s, st->pid, st->tid) == UINT32_MAX)
			r = -HT_ENOMEM;
	}
	ht_vec_free(&items);
	ht_vec_free(&items.jits);
	return r;
}

int
ht_session_open(struct ht_container *c, const struct ht_session_config *config,
                struct ht_session **out, struct ht_diag *diag)
{
	struct ht_session *s;
	int r;

	if (config && config->size < sizeof(*config))
		return ht_fail(diag, HT_EINVAL, NULL, HT_NO_OFFSET, "config.size",
		               "the session's configuration has an unknown size");
	s = calloc(1, sizeof(*s));
	r = s ? 0 : -HT_ENOMEM;
	if (s) {
		s->container = c;
		s->kernel.pid = -1;
		s->ignore_build_id = config && config->ignore_build_id;
		if (config) {
			s->may_fetch = config->debuginfod;
			s->progress = config->progress;
			s->progress_arg = config->progress_arg;
		}
		if (config && config->symfs && !(s->symfs = strdup(config->symfs)))
			r = -HT_ENOMEM;
	}
	if (r == 0)
		r = session_load(s);
	if (r == 0 && !(s->anon = ht_session_intern(s, "//anon", NULL, 0)))
		r = -HT_ENOMEM;
	if (r < 0) {
		ht_session_close(s);
		return ht_fail(diag, -r, NULL, HT_NO_OFFSET, NULL, "cannot read the sideband: %s",
		               ht_strerror(r));
	}
	*out = s;
	return 0;
}

void
ht_session_close(struct ht_session *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->processes.n; i++) {
		ht_vec_free(&s->processes.at[i]->changes);
		free(s->processes.at[i]);
	}
	ht_vec_free(&s->processes);
	ht_vec_free(&s->kernel.changes);
	for (size_t i = 0; i < s->tasks.n; i++)
		ht_vec_free(&s->tasks.at[i].names);
	ht_vec_free(&s->tasks);
	ht_vec_free(&s->threads);
	for (size_t i = 0; i < s->modules.n; i++)
		ht_module_free(s->modules.at[i]);
	ht_vec_free(&s->modules);
	ht_index_fini(&s->by_pid);
	ht_index_fini(&s->by_tid);
	ht_index_fini(&s->by_context);
	ht_index_fini(&s->by_path);
	for (size_t i = 0; i < s->memory.n; i++)
		free(s->memory.at[i]);
	ht_vec_free(&s->memory);
	ht_vec_free(&s->switches);
	ht_vec_free(&s->gaps);
	ht_debuginfod_free(s->debuginfod);
	free(s->symfs);
	free(s);
}

/* -- asking -------------------------------------------------------------- */

struct ht_container *
ht_session_container(const struct ht_session *s)
{
	return s->container;
}

uint32_t
ht_session_thread_count(const struct ht_session *s)
{
	return (uint32_t)s->threads.n;
}

const struct ht_thread *
ht_session_thread(const struct ht_session *s, uint32_t i)
{
	return i < s->threads.n ? &s->threads.at[i] : NULL;
}

const char *
ht_session_comm(const struct ht_session *s, int32_t tid, uint64_t ns)
{
	uint32_t t = ht_index_get(&s->by_tid, (uint32_t)tid);
	const struct ht_task *task;
	size_t lo = 0, hi;

	if (t == UINT32_MAX)
		return "";
	task = &s->tasks.at[t];
	for (hi = task->names.n; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;

		if (task->names.at[mid].ns <= ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* Before its first name a thread has that of the thread that made it: the first is closest. */
	if (!lo && task->names.n)
		lo = 1;
	return lo ? task->names.at[lo - 1].comm : "";
}

int32_t
ht_session_pid_of(const struct ht_session *s, int32_t tid)
{
	uint32_t t = ht_index_get(&s->by_tid, (uint32_t)tid);

	return t == UINT32_MAX ? -1 : s->threads.at[t].pid;
}

int32_t
ht_session_context(const struct ht_session *s, uint64_t cr3)
{
	uint64_t page = (cr3 & ~(1ull << 63)) >> CONTEXT_SHIFT;
	uint32_t pid = ht_index_get(&s->by_context, page);

	/* A kernel that hides itself from its programs has two, one page after the other. */
	if (pid == UINT32_MAX)
		pid = ht_index_get(&s->by_context, page ^ 1);
	return pid != UINT32_MAX ? (int32_t)pid : s->by_context.n ? -1 : -2;
}

const struct ht_switch *
ht_session_switches(const struct ht_session *s, int32_t cpu, size_t *n)
{
	size_t lo = 0, hi = s->switches.n, end;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->switches.at[mid].cpu < cpu)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (end = lo; end < s->switches.n && s->switches.at[end].cpu == cpu; end++)
		;
	*n = end - lo;
	return end > lo ? &s->switches.at[lo] : NULL;
}
