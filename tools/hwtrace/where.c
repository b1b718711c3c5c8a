/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include <hwtrace/insn.h>

#include "where.h"

int
where_init(struct where *w, const struct where_opts *opts, const struct input *in)
{
	w->opts = opts;
	w->in = in;
	w->dso_seen = calloc(opts->dsos.n + 1, 1);
	w->sym_seen = calloc(opts->syms.n + 1, 1);
	return w->dso_seen && w->sym_seen ? 0 : -HT_ENOMEM;
}

void
where_fini(struct where *w)
{
	free(w->dso_seen);
	free(w->sym_seen);
}

void
where_stream(struct where *w)
{
	memset(w->slots, 0, sizeof(w->slots));
}

static int
is_any(const struct opt_list *list, uint8_t *seen, const char *a, const char *b)
{
	for (size_t i = 0; i < list->n; i++)
		if ((a && !strcmp(list->at[i], a)) || (b && !strcmp(list->at[i], b))) {
			seen[i] = 1;
			return 1;
		}
	return !list->n;
}

/* The symbol that begins next behind `vaddr`; UINT64_MAX when none does. */
static uint64_t
next_symbol(struct ht_module *m, uint64_t vaddr)
{
	uint32_t n, lo = 0, hi;
	const struct ht_symbol *s = ht_module_symbols(m, &n);

	for (hi = n; lo < hi;) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (s[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < n ? s[lo].start : UINT64_MAX;
}

/* What holds for `addr`, and how far behind it. */
static struct where_slot
look_up(struct where *w, struct ht_view *view, uint64_t addr)
{
	struct where_slot x = { addr, addr + 1, ht_view_generation(view), 0 };
	struct ht_symbol sym = { .name = NULL };
	struct ht_mapping map;
	struct ht_module *m;
	const char *path, *slash, *shown = NULL;
	uint64_t vaddr, end;

	if (ht_view_resolve(view, addr, &m, &vaddr) < 0 || ht_view_find(view, addr, &map) < 0)
		return x;
	end = next_symbol(m, vaddr);
	if (ht_module_symbol(m, vaddr, &sym) < 0)
		sym.name = NULL;
	else if (sym.start + sym.size < end)
		end = sym.start + sym.size;
	x.end = end - vaddr < map.end - addr ? addr + (end - vaddr) : map.end;
	path = ht_module_info(m)->path;
	slash = strrchr(path, '/');
	if (sym.name && w->opts->syms.n && ht_demangle(sym.name, 0, w->name))
		shown = w->name;
	x.wanted = is_any(&w->opts->dsos, w->dso_seen, path, slash ? slash + 1 : NULL) &&
	           is_any(&w->opts->syms, w->sym_seen, sym.name, shown);
	return x;
}

static const struct where_slot *
find(struct where *w, struct ht_view *view, uint64_t addr)
{
	struct where_slot *x = &w->slots[(addr * 0x9e3779b97f4a7c15ull) >> 51];

	if (addr < x->start || addr >= x->end || x->generation != ht_view_generation(view))
		*x = look_up(w, view, addr);
	return x;
}

/* A block goes over from one function to the next: instruction by instruction. */
static uint64_t
count_steps(struct where *w, struct ht_view *view, const struct ht_event *ev)
{
	uint64_t at = ev->a, n = 0;

	for (uint32_t i = 0; i < ev->n; i++) {
		uint8_t bytes[HT_INSN_MAX];
		size_t have = ht_view_read(view, at, bytes, sizeof(bytes));
		struct ht_insn insn;

		n += (uint64_t)find(w, view, at)->wanted;
		if (ht_insn_decode(w->in->info->arch, bytes, have, at, &insn) < 0)
			break;
		at += insn.size;
	}
	return n;
}

uint64_t
where_count(struct where *w, struct ht_view *view, const struct ht_event *ev)
{
	const struct where_slot *x;

	if (ev->kind == HT_EV_BRANCH)
		return (uint64_t)(find(w, view, ev->a)->wanted ||
		                  (ev->b && find(w, view, ev->b)->wanted));
	x = find(w, view, ev->a);
	if (ev->b < x->end)
		return x->wanted ? ev->n : 0;
	return count_steps(w, view, ev);
}

void
where_tell_unmatched(const struct where *w)
{
	for (size_t i = 0; i < w->opts->dsos.n; i++)
		if (!w->dso_seen[i])
			tool_warn(
			    "--dso %s: nothing ran in a file of this name in what was decoded",
			    w->opts->dsos.at[i]);
	for (size_t i = 0; i < w->opts->syms.n; i++)
		if (!w->sym_seen[i])
			tool_warn("--sym %s: no function of this name ran in what was decoded",
			          w->opts->syms.at[i]);
}
