/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The map of edges that AFL's tools keep of a run: 65,536 counters of a byte.
 * An edge is two blocks of covered modules, one after the other in one thread;
 * its counter is found from both as afl-gcc, and AFL's QEMU mode, do it:
 *
 *	map[block ^ before >> 1]++
 *
 * A block's number comes from the module's name and the offset in it, so that
 * runs, machines and address space layouts give equal maps.  Counters stop at 255.
 * The trace is read once more for it, since counts do not keep the order.
 */
#include <stdlib.h>
#include <string.h>

#include <hwtrace/decoder.h>

#include "cover.h"

#define MAP_SIZE   65536u
#define CACHE_SIZE 4096u

/* Block at `addr` of the address space at hand. */
struct known {
	uint64_t addr;
	uint32_t number; /* MAP_SIZE = of no covered module */
	uint8_t valid;
};

struct afl {
	const struct cover *c;
	const struct ht_cov_report *r;
	uint64_t generation; /* that `cache` is of */
	struct known *cache;
	uint8_t *map;
	uint32_t before; /* number of the block before, shifted; 0 at the start and after a loss */
	uint64_t next;   /* where a block that was cut goes on; 0 = it was not */
};

static uint32_t
block_number(const struct afl *a, struct ht_view *view, uint64_t addr)
{
	const char *name, *slash;
	struct ht_module *m;
	uint32_t h = 0x811c9dc5u;
	uint64_t vaddr;
	int number;

	if (ht_view_resolve(view, addr, &m, &vaddr) < 0 ||
	    (number = ht_coverage_module(a->c->counts, m)) < 0 ||
	    (uint32_t)number >= a->r->n_modules || !a->r->modules[number].chosen)
		return MAP_SIZE;
	slash = strrchr(a->r->modules[number].path, '/');
	for (name = slash ? slash + 1 : a->r->modules[number].path; *name; name++)
		h = (h ^ (uint8_t)*name) * 0x01000193u;
	return (uint32_t)(vaddr >> 4 ^ vaddr << 8 ^ h ^ h >> 16) & (MAP_SIZE - 1);
}

static uint32_t
find_block(struct afl *a, struct ht_view *view, uint64_t addr)
{
	struct known *k = &a->cache[(addr ^ addr >> 12) & (CACHE_SIZE - 1)];

	if (!k->valid || k->addr != addr)
		*k = (struct known){ addr, block_number(a, view, addr), 1 };
	return k->number;
}

static void
add_block(struct afl *a, struct ht_view *view, const struct ht_event *e)
{
	int goes_on = a->next && e->a == a->next;
	uint32_t number;

	/* What is no branch cuts a block here and there; the rest is no block of its own. */
	a->next = e->insn == HT_INSN_OTHER ? e->b + e->size : 0;
	if (goes_on)
		return;
	number = find_block(a, view, e->a);
	if (number == MAP_SIZE)
		return;
	if (a->map[number ^ a->before] < UINT8_MAX)
		a->map[number ^ a->before]++;
	a->before = number >> 1;
}

static int
add_stream(struct afl *a, const struct input *in, uint32_t stream)
{
	struct ht_decoder_config config = { .size = sizeof(config),
		                            .engine = in->engine,
		                            .want = HT_DECODE_BLOCKS };
	struct ht_event batch[HT_BATCH];
	struct ht_decoder *d;
	int n;

	/* A stream that cannot be decoded was told when it was counted. */
	if (ht_decoder_new(in->session, stream, &config, &d, NULL) < 0)
		return EXIT_OK;
	a->before = 0;
	a->next = 0;
	memset(a->cache, 0, CACHE_SIZE * sizeof(*a->cache));
	while ((n = ht_decoder_next(d, batch, HT_BATCH)) > 0) {
		struct ht_view *view = ht_decoder_view(d);

		if (a->generation != ht_view_generation(view))
			memset(a->cache, 0, CACHE_SIZE * sizeof(*a->cache));
		a->generation = ht_view_generation(view);
		for (int i = 0; i < n; i++) {
			if (batch[i].kind == HT_EV_BLOCK)
				add_block(a, view, &batch[i]);
			else if (batch[i].kind == HT_EV_GAP)
				a->before = 0, a->next = 0;
		}
	}
	ht_decoder_free(d);
	return n < 0 ? tool_error("out of memory while the map of edges was made") : EXIT_OK;
}

int
cover_write_afl(const char *path, const struct cover *c, const struct ht_cov_report *r)
{
	struct afl a = { .c = c, .r = r };
	int status = EXIT_OK;
	FILE *f = NULL;

	if (!c->counts)
		return tool_error("%s: reports do not hold the order of blocks; a map of edges "
		                  "needs the captures",
		                  path);
	a.map = calloc(1, MAP_SIZE);
	a.cache = calloc(CACHE_SIZE, sizeof(*a.cache));
	if (!a.map || !a.cache)
		status = tool_error("out of memory");
	for (size_t i = 0; i < c->n_inputs && status == EXIT_OK; i++)
		for (uint32_t k = 0;
		     k < ht_container_stream_count(c->inputs[i].container) && status == EXIT_OK;
		     k++)
			status = add_stream(&a, &c->inputs[i], k);
	if (status == EXIT_OK && !(f = cover_open(path)))
		status = EXIT_ERROR;
	if (f) {
		fwrite(a.map, 1, MAP_SIZE, f);
		status = cover_close(f, path);
	}
	free(a.map);
	free(a.cache);
	return status;
}
