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
#define TEXT_MAX  32768u  /* of one text of a place: two names, each byte escaped */
#define NAME_SHOWN 2000   /* longer names are cut */

struct places {
	struct ht_script_config config;
	struct ht_disasm       *disasm;
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

	if (!p)
		return NULL;
	p->config = *config;
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
	free(p);
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

static void
resolve(struct places *p, struct ht_view *view, struct place *pl)
{
	struct ht_module *m;
	struct ht_symbol sym;
	uint64_t vaddr;

	if (!view || !pl->addr || ht_view_resolve(view, pl->addr, &m, &vaddr) < 0)
		return;
	pl->dso = ht_module_info(m)->path;
	if (p->config.fields & HT_FIELD_SYM && ht_module_symbol(m, vaddr, &sym) == 0) {
		pl->sym = !p->config.mangled && ht_demangle(sym.name, 0, p->name) ? p->name : sym.name;
		pl->offset = vaddr - sym.start;
	}
}

static void
describe(struct places *p, struct place *pl)
{
	char buf[TEXT_MAX];
	size_t n = 0;

	if (p->config.fields & HT_FIELD_SYM) {
		n += (size_t)snprintf(buf, sizeof(buf), " %.*s", NAME_SHOWN, pl->sym ? pl->sym : "[unknown]");
		if (p->config.fields & HT_FIELD_SYMOFF && pl->sym)
			n += (size_t)snprintf(buf + n, sizeof(buf) - n, "+0x%llx", (unsigned long long)pl->offset);
	}
	if (p->config.fields & HT_FIELD_DSO)
		n += (size_t)snprintf(buf + n, sizeof(buf) - n, " (%.*s)", NAME_SHOWN, pl->dso ? pl->dso : "[unknown]");
	pl->text = keep(p, buf, n);
	pl->text_len = (uint16_t)n;
}

static void
json_name(struct ht_text *t, const char *prefix, const char *key, const char *name)
{
	char cut[NAME_SHOWN + 1];

	snprintf(cut, sizeof(cut), ",\"%s%s\":", prefix, key);
	ht_text_str(t, cut);
	if (name) {
		snprintf(cut, sizeof(cut), "%s", name);
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
		json_name(t, prefix, "sym", pl->sym);
		if (p->config.fields & HT_FIELD_SYMOFF) {
			json_name(t, prefix, "symoff", NULL);
			ht_text_dec(t, pl->offset, 0, ' ');
		}
	}
	if (pl->dso && p->config.fields & HT_FIELD_DSO)
		json_name(t, prefix, "dso", pl->dso);
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
	pl->wanted = (uint8_t)file_wanted(p, pl->dso);
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
