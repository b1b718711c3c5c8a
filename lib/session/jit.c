/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code that a program made while it ran, as its jitdump has it.  The module is the
 * jitdump file itself, and a place in it is where it lies in the file: so each
 * piece of code has an address of its own, although one may have had another's
 * place in memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gelf.h>

#include "base/vec.h"
#include "session/module.h"
#include "session/space.h"

/* Does the time of a jitdump count as that of the capture does? */
static int
same_clock(const struct ht_capture_info *info, const struct ht_jitdump *j)
{
	return j->flags & HT_JIT_TICKS ? info->clock.valid : info->monotonic;
}

static uint64_t
to_ns(const struct ht_capture_info *info, const struct ht_jitdump *j, uint64_t time)
{
	if (!(j->flags & HT_JIT_TICKS))
		return time;
	return info->clock.valid ? ht_clock_tsc_to_ns(&info->clock, time) : 0;
}

static int
other_machine(const struct ht_capture_info *info, const struct ht_jitdump *j)
{
	switch (info->arch) {
	case HT_ARCH_X86_64:
		return j->machine != EM_X86_64 && j->machine != EM_386;
	case HT_ARCH_AARCH64:
		return j->machine != EM_AARCH64;
	default:
		return 0;
	}
}

/* Where code lies in the end, and which code came where other code had been. */
static int
lay_out(struct ht_module *m)
{
	for (size_t i = 0; i < m->jit->codes.n; i++) {
		struct ht_jit_code *c = &m->jit->codes.at[i];
		struct ht_entry e = { .start = c->addr,
			              .end = c->addr + c->size,
			              .off = c->offset };
		uint32_t *load;
		int r = c->size ? ht_space_cut(&m->jit_layout, e.start, e.end) : 0;

		e.generation = c->again = r > 0;
		if (r >= 0 && c->size)
			r = ht_space_put(&m->jit_layout, &e);
		if (r < 0)
			return r;
		if (c->moved || !c->size)
			continue;
		load = ht_vec_push(&m->jit_loads);
		if (!load)
			return -HT_ENOMEM;
		*load = (uint32_t)i;
	}
	return 0;
}

/* Read it, once; what is wrong with it becomes a loss. */
static int
jit_open(struct ht_session *s, struct ht_module *m)
{
	const struct ht_capture_info *info = ht_container_info(s->container);
	const char *path = ht_module_info(m)->found_path;
	struct ht_diag diag = { 0 };
	size_t size;
	const uint8_t *data = ht_module_bytes(m, 0, &size);
	int rc;

	if (!data)
		return 0;
	m->jit = calloc(1, sizeof(*m->jit));
	if (!m->jit)
		return -HT_ENOMEM;
	rc = ht_jitdump_read(m->jit, path, data, size, &diag);
	if (rc == 0 && other_machine(info, m->jit))
		rc = ht_fail(&diag, HT_EUNSUPPORTED, path, 12, "elf_mach",
		             "is %u: the jitdump has code of another machine than the capture",
		             m->jit->machine);
	if (rc == 0)
		rc = lay_out(m);
	if (rc == -HT_ENOMEM)
		return rc;
	if (rc == 0)
		return m->jit->damaged ? ht_session_damaged(s, &m->jit->diag, m->jit->damaged) : 0;
	ht_module_jit_free(m);
	return ht_session_damaged(s, &diag, 1);
}

/*
 * The clock of a trace is behind where it has no packet of time, and the program
 * may run its new code before: so code that has its place for itself is there
 * from the moment on that the file was.  It comes a second time at its own time,
 * since until then the place may have been another file's.
 */
static int
place_code(struct ht_session *s, const struct ht_jit_file *f, const struct ht_jit_code *code,
           int (*each)(void *arg, const struct ht_jit_place *place), void *arg)
{
	const struct ht_jitdump *j = f->module->jit;
	struct ht_jit_place place = { .pid = code->pid == j->pid ? f->pid : code->pid,
		                      .addr = code->addr,
		                      .size = code->size,
		                      .offset = code->offset };
	uint64_t ns = to_ns(ht_container_info(s->container), j, code->time);
	int rc = 0;

	if (!code->again && ns > f->ns) {
		place.ns = f->ns;
		rc = each(arg, &place);
	}
	place.ns = ns;
	return rc < 0 ? rc : each(arg, &place);
}

int
ht_session_jit(struct ht_session *s, const struct ht_jit_file *f,
               int (*each)(void *arg, const struct ht_jit_place *place), void *arg)
{
	int rc = f->module->jit ? 0 : jit_open(s, f->module), again = 0;
	struct ht_diag diag = { 0 };

	for (size_t i = 0; rc >= 0 && f->module->jit && i < f->module->jit->codes.n; i++) {
		const struct ht_jit_code *code = &f->module->jit->codes.at[i];

		again |= code->again;
		if (code->size)
			rc = place_code(s, f, code, each, arg);
	}
	if (rc < 0 || !again || same_clock(ht_container_info(s->container), f->module->jit))
		return rc < 0 ? rc : 0;
	ht_fail(&diag, HT_EFORMAT, ht_module_info(f->module)->found_path, HT_NO_OFFSET, "timestamp",
	        "counts by another clock than the capture, and code took the place of other code: "
	        "one may be "
	        "taken for the other; record with perf record -k mono");
	return ht_session_damaged(s, &diag, 0);
}

/* -- as a module --------------------------------------------------------------- */

void
ht_module_jit_text(struct ht_module *m)
{
	for (size_t i = 0; i < m->jit_loads.n; i++) {
		const struct ht_jit_code *c = &m->jit->codes.at[m->jit_loads.at[i]];
		struct ht_range *r = ht_vec_push(&m->text);

		if (r)
			*r = (struct ht_range){ c->offset, c->offset + c->size };
	}
}

int
ht_module_jit_symbols(struct ht_module *m)
{
	for (size_t i = 0; i < m->jit_loads.n; i++) {
		const struct ht_jit_code *c = &m->jit->codes.at[m->jit_loads.at[i]];
		struct ht_symbol *sym = ht_vec_push(&m->symbols);

		if (sym)
			*sym = (struct ht_symbol){ c->name, c->offset, c->size, 1 };
	}
	return m->symbols.n != 0;
}

/* The code whose bytes are at `offset` of the file; NULL when there is none. */
static const struct ht_jit_code *
code_at(const struct ht_module *m, uint64_t offset)
{
	size_t lo = 0, hi = m->jit_loads.n;
	const struct ht_jit_code *c;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->jit->codes.at[m->jit_loads.at[mid]].offset <= offset)
			lo = mid + 1;
		else
			hi = mid;
	}
	c = lo ? &m->jit->codes.at[m->jit_loads.at[lo - 1]] : NULL;
	return c && offset - c->offset < c->size ? c : NULL;
}

uint64_t
ht_module_target(const struct ht_module *m, uint64_t from, uint64_t target)
{
	const struct ht_jit_code *own = m->jit ? code_at(m, from) : NULL;
	const struct ht_entry *e;
	uint64_t addr;

	if (!own || (target >= own->offset && target - own->offset < own->size))
		return target;
	if (own->moves)
		return UINT64_MAX; /* from where? */
	addr = own->addr + (target - own->offset);
	e = ht_space_find(&m->jit_layout, addr);
	return e && !e->generation ? e->off + (addr - e->start) : UINT64_MAX;
}

void
ht_module_jit_free(struct ht_module *m)
{
	if (m->jit)
		ht_jitdump_fini(m->jit);
	free(m->jit);
	m->jit = NULL;
	ht_space_fini(&m->jit_layout);
	ht_vec_free(&m->jit_loads);
}
