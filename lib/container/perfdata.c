/* SPDX-License-Identifier: BSD-2-Clause */
/* The reader of perf.data, for files and pipes. */
#include <stdlib.h>
#include <string.h>

#include "container/perfdata_impl.h"

static int
perfdata_match(const uint8_t *data, size_t size)
{
	uint64_t magic = size >= 8 ? ht_le(data, 8) : 0;

	return magic == HT_PERF_MAGIC || magic == HT_PERF_MAGIC_SWAPPED || magic == HT_PERF_MAGIC_1;
}

static int
by_path(const void *a, const void *b)
{
	const struct ht_perf_build_id *x = a, *y = b;

	return strcmp(x->path, y->path);
}

static int
perfdata_open(struct ht_container *c, const struct ht_container_config *config,
              struct ht_diag *diag)
{
	struct ht_perfdata *p = calloc(1, sizeof(*p));
	int err;

	(void)config;
	if (!p)
		return ht_fail(diag, HT_ENOMEM, c->path, HT_NO_OFFSET, "", "out of memory");
	c->state = p;
	err = ht_perfdata_header(c, diag);
	if (!err)
		err = ht_perfdata_index(c, diag);
	if (!err)
		err = ht_perf_kcore_open(c, diag);
	if (err)
		return err;
	if (p->build_ids.n)
		qsort(p->build_ids.at, p->build_ids.n, sizeof(*p->build_ids.at), by_path);
	ht_perf_walk_init(&p->walk, p);
	return 0;
}

static void
perfdata_close(struct ht_container *c)
{
	struct ht_perfdata *p = c->state;

	if (!p)
		return;
	ht_perf_walk_fini(&p->walk);
	ht_intern_free(p->names);
	ht_vec_free(&p->events);
	ht_vec_free(&p->ids);
	ht_vec_free(&p->build_ids);
	ht_perf_stack_fini(p);
	ht_vec_free(&p->kcore);
	free(p->kcore_path);
	free(p->chunks);
	free(p->limits);
	free(p->cmdline);
	free(p);
	c->state = NULL;
}

static int
perfdata_next(struct ht_container *c, struct ht_record *rec)
{
	struct ht_perfdata *p = c->state;
	struct ht_perf_raw raw;
	int rc = ht_perf_walk_next(c, &p->walk, &raw, &c->diag);

	/* Behind all others of its time, which is before everything. */
	if (!rc && p->kcore_next < p->kcore.n) {
		*rec = p->kcore.at[p->kcore_next++];
		return 1;
	}
	return rc <= 0 ? rc : ht_perfdata_parse(c, &raw, rec);
}

static void
perfdata_rewind(struct ht_container *c)
{
	struct ht_perfdata *p = c->state;

	ht_perf_walk_fini(&p->walk);
	ht_perf_walk_init(&p->walk, p);
	p->kcore_next = 0;
}

static unsigned
perfdata_build_id(const struct ht_container *c, const char *path, uint8_t id[HT_BUILD_ID_MAX])
{
	const struct ht_perfdata *p = c->state;
	const struct ht_perf_build_id key = { .path = path }, *found;

	found = p->build_ids.n
	            ? bsearch(&key, p->build_ids.at, p->build_ids.n, sizeof(key), by_path)
	            : NULL;
	if (!found)
		return 0;
	memset(id, 0, HT_BUILD_ID_MAX);
	memcpy(id, found->id, found->size);
	return found->size;
}

static const void *
perfdata_bytes(const struct ht_container *c, size_t *size)
{
	*size = c->size;
	return c->data;
}

const struct ht_reader ht_reader_perfdata = {
	.name = "perf.data",
	.match = perfdata_match,
	.open = perfdata_open,
	.close = perfdata_close,
	.next = perfdata_next,
	.rewind = perfdata_rewind,
	.build_id = perfdata_build_id,
	.bytes = perfdata_bytes,
};
