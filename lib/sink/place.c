/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/demangle.h>
#include <hwtrace/disasm.h>

#include "sink/place.h"

#define SLOTS     (1u << 16)
#define CHUNK     (1u << 20)
#define CHUNK_MAX 32      /* all is forgotten when texts take more chunks */
#define SYM_SHOWN 2000    /* longer names are cut */
#define DSO_SHOWN 4095    /* of what the system takes for a path nothing is cut */
#define TEXT_MAX  40960u  /* of one text of a place: two names, each byte escaped */

_Static_assert(6 * (SYM_SHOWN + DSO_SHOWN) + 256 <= TEXT_MAX, "a text fits");

struct places {
	struct ht_script_config config;
	struct ht_disasm       *disasm;
	uint8_t                *seen;    /* one a function of the filter */
	char                   *chunks[CHUNK_MAX];
	unsigned                n_chunks;
	size_t                  used;    /* of the last chunk */
	char                    text[HT_DISASM_TEXT];
	struct ht_text          scratch;
	char                    name[HT_DEMANGLE_MAX]; /* of the place at hand */
	struct place            fallback;
	struct place            slots[SLOTS];
};

struct places *
places_new(const struct ht_script_config *config)
{
	struct places *p = calloc(1, sizeof(*p));
	size_t n = 0;

	if (!p)
		return NULL;
	p->config = *config;
	while (config->syms && config->syms[n])
		n++;
	p->seen = calloc(n + 1, 1);
	if (!p->seen) {
		places_free(p);
		return NULL;
	}
	if (ht_disasm_new(HT_ARCH_X86_64, &p->disasm) < 0 || ht_text_init(&p->scratch, -1) < 0) {
		places_free(p);
		return NULL;
	}
	return p;
}

static void
forget(struct places *p)
{
	for (unsigned i = 0; i < p->n_chunks; i++)
		free(p->chunks[i]);
	p->n_chunks = 0;
	memset(p->slots, 0, sizeof(p->slots));
}

void
places_free(struct places *p)
{
	if (!p)
		return;
	forget(p);
	ht_disasm_free(p->disasm);
	ht_text_fini(&p->scratch);
	free(p->seen);
	free(p);
}

int
places_saw(const struct places *p, size_t i)
{
	return p->seen[i];
}

/* Memory that must be had before a slot is filled, since making room may forget all slots. */
static int
make_room(struct places *p)
{
	if (p->n_chunks && CHUNK - p->used >= 3 * TEXT_MAX)
		return 0;
	if (p->n_chunks == CHUNK_MAX)
		forget(p);
	p->chunks[p->n_chunks] = malloc(CHUNK);
	if (!p->chunks[p->n_chunks])
		return -1;
	p->n_chunks++;
	p->used = 0;
	return 0;
}

static const char *
keep(struct places *p, const char *text, size_t len)
{
	char *at = p->chunks[p->n_chunks - 1] + p->used;

	memcpy(at, text, len);
	p->used += len;
	return at;
}

static int
file_wanted(const struct places *p, const char *dso)
{
	const char *base = dso ? strrchr(dso, '/') : NULL;

	if (!p->config.dsos)
		return 1;
	for (const char *const *d = p->config.dsos; dso && *d; d++)
		if (!strcmp(*d, dso) || (base && !strcmp(*d, base + 1)))
			return 1;
	return 0;
}

/* `raw` as in the file, `shown` maybe without its mangling; both NULL when there is none. */
static int
sym_wanted(struct places *p, const char *raw, const char *shown)
{
	for (size_t i = 0; raw && p->config.syms && p->config.syms[i]; i++)
		if (!strcmp(p->config.syms[i], raw) || !strcmp(p->config.syms[i], shown)) {
			p->seen[i] = 1;
			return 1;
		}
	return !p->config.syms;
}

static void
resolve(struct places *p, struct ht_view *view, struct place *pl)
{
	struct ht_module *m;
	struct ht_symbol sym = { .name = NULL };
	uint64_t vaddr;
	const char *shown;

	pl->wanted = !p->config.dsos && !p->config.syms;
	if (!view || !pl->addr || ht_view_resolve(view, pl->addr, &m, &vaddr) < 0)
		return;
	pl->dso = ht_module_info(m)->path;
	pl->wanted = (uint8_t)file_wanted(p, pl->dso);
	if ((p->config.fields & HT_FIELD_SYM || p->config.syms) && ht_module_symbol(m, vaddr, &sym) < 0)
		sym.name = NULL;
	shown = sym.name && (!p->config.mangled || p->config.syms) && ht_demangle(sym.name, 0, p->name) ? p->name
	                                                                                               : sym.name;
	pl->wanted &= sym_wanted(p, sym.name, shown);
	if (p->config.fields & HT_FIELD_SYM && sym.name) {
		pl->sym = p->config.mangled ? sym.name : shown;
		pl->offset = vaddr - sym.start;
	}
}

static void
describe(struct places *p, struct place *pl)
{
	char buf[TEXT_MAX];
	size_t n = 0;

	if (p->config.fields & HT_FIELD_SYM) {
		n += (size_t)snprintf(buf, sizeof(buf), " %.*s", SYM_SHOWN,
		                      pl->sym ? pl->sym : "[unknown]");
		if (p->config.fields & HT_FIELD_SYMOFF && pl->sym)
			n += (size_t)snprintf(buf + n, sizeof(buf) - n, "+0x%llx", (unsigned long long)pl->offset);
	}
	if (p->config.fields & HT_FIELD_DSO)
		n += (size_t)snprintf(buf + n, sizeof(buf) - n, " (%.*s)", DSO_SHOWN,
		                      pl->dso ? pl->dso : "[unknown]");
	pl->text = keep(p, buf, n);
	pl->text_len = (uint16_t)n;
}

static void
json_name(struct ht_text *t, const char *prefix, const char *key, const char *name, unsigned shown)
{
	char cut[DSO_SHOWN + 1];

	snprintf(cut, sizeof(cut), ",\"%s%s\":", prefix, key);
	ht_text_str(t, cut);
	if (name) {
		snprintf(cut, sizeof(cut), "%.*s", (int)shown, name);
		ht_text_json(t, cut);
	}
}

/* Members of a JSON object; *len gets the size. */
static const char *
describe_json(struct places *p, const struct place *pl, const char *prefix, uint16_t *len)
{
	struct ht_text *t = &p->scratch;

	t->used = 0;
	if (pl->sym) {
		json_name(t, prefix, "sym", pl->sym, SYM_SHOWN);
		if (p->config.fields & HT_FIELD_SYMOFF) {
			json_name(t, prefix, "symoff", NULL, 0);
			ht_text_dec(t, pl->offset, 0, ' ');
		}
	}
	if (pl->dso && p->config.fields & HT_FIELD_DSO)
		json_name(t, prefix, "dso", pl->dso, DSO_SHOWN);
	*len = (uint16_t)t->used;
	return keep(p, t->at, t->used);
}

static struct place *
find(struct places *p, struct ht_view *view, uint64_t space, uint64_t addr)
{
	uint64_t h = (addr ^ space * 0xff51afd7ed558ccdull) * 0x9e3779b97f4a7c15ull;
	struct place *pl = &p->slots[h >> 48 & (SLOTS - 1)];

	if (pl->addr == addr && pl->space == space && pl->text)
		return pl;
	if (make_room(p) < 0) {
		pl = &p->fallback;
		*pl = (struct place){ .addr = addr, .space = space, .text = "", .target = "", .insn = "", .wanted = 1 };
		return pl;
	}
	*pl = (struct place){ .addr = addr, .space = space };
	resolve(p, view, pl);
	if (p->config.style == HT_SCRIPT_JSON) {
		pl->text = describe_json(p, pl, "", &pl->text_len);
		pl->target = describe_json(p, pl, "addr_", &pl->target_len);
	} else {
		describe(p, pl);
	}
	return pl;
}

const struct place *
place_get(struct places *p, struct ht_view *view, uint64_t space, uint64_t addr)
{
	return find(p, view, space, addr);
}

const struct place *
place_insn(struct places *p, struct ht_view *view, uint64_t space, uint64_t addr, unsigned size)
{
	struct place *pl = find(p, view, space, addr);
	char buf[512], text[HT_DISASM_TEXT];
	uint8_t bytes[HT_INSN_MAX];
	size_t have, n = 0;
	unsigned len;

	if (pl->has_insn || pl == &p->fallback)
		return pl;
	if (CHUNK - p->used < TEXT_MAX) {
		if (make_room(p) < 0)
			return pl;
		pl = find(p, view, space, addr);
	}
	have = view && addr ? ht_view_read(view, addr, bytes, sizeof(bytes)) : 0;
	len = ht_disasm_text(p->disasm, addr, bytes, have, text);
	if (!size)
		size = len;
	if (p->config.fields & HT_FIELD_INSNLEN)
		n += (size_t)snprintf(buf + n, sizeof(buf) - n, " ilen: %u", size);
	if (p->config.fields & HT_FIELD_INSN && size) {
		n += (size_t)snprintf(buf + n, sizeof(buf) - n, " insn:");
		for (unsigned i = 0; i < size && i < have; i++)
			n += (size_t)snprintf(buf + n, sizeof(buf) - n, " %02x", bytes[i]);
	}
	if (p->config.fields & HT_FIELD_DISASM)
		n += (size_t)snprintf(buf + n, sizeof(buf) - n, "\t\t%s", text);
	pl->insn = keep(p, buf, n);
	pl->insn_len = (uint16_t)n;
	pl->has_insn = 1;
	return pl;
}

const char *
place_text(struct places *p, struct ht_view *view, uint64_t addr)
{
	uint8_t bytes[HT_INSN_MAX];
	size_t have = view ? ht_view_read(view, addr, bytes, sizeof(bytes)) : 0;

	ht_disasm_text(p->disasm, addr, bytes, have, p->text);
	return p->text;
}
