/* SPDX-License-Identifier: BSD-2-Clause */
/* From record to record, into compressed ones and past the bytes that follow AUXTRACE. */
#include <string.h>

#include "container/perfdata_impl.h"

#define ZSTD_LIMIT_DEFAULT (64ull << 20)
#define ZSTD_LIMIT_MAX     (1ull << 30)

void
ht_perf_walk_init(struct ht_perf_walk *w, const struct ht_perfdata *p)
{
	*w = (struct ht_perf_walk){ .pos = p->data_start };
}

void
ht_perf_walk_fini(struct ht_perf_walk *w)
{
	ht_zstd_free(w->zstd);
	w->zstd = NULL;
}

static int
walk_cut(struct ht_perf_walk *w, uint64_t at)
{
	w->done = w->cut = 1;
	w->cut_at = at;
	return 0;
}

/* Bytes behind the record that belong to it.  Positions are inside the file: no sum can wrap. */
static void
take_payload(struct ht_container *c, struct ht_perf_walk *w, struct ht_perf_raw *raw)
{
	const struct ht_perfdata *p = c->state;
	uint64_t said = 0, left = p->data_end - w->pos;

	if (raw->type == HT_PERF_AUXTRACE && raw->size >= 16)
		said = ht_le(raw->at + 8, 8);
	else if (raw->type == HT_PERF_HEADER_TRACING_DATA && p->pipe && raw->size >= 12)
		said = (ht_le(raw->at + 8, 4) + 7) & ~7ull;
	raw->payload_said = said;
	raw->payload = said < left ? said : left;
	w->pos += (size_t)raw->payload;
	if (said > left) {
		w->cut = w->done = 1;
		w->cut_at = p->data_end;
	}
}

/* What lies in the file uncompressed, the trace bytes among it, is still good. */
static void
zstd_lost(struct ht_perf_walk *w)
{
	ht_perf_walk_fini(w);
	w->zstd_lost = 1;
	if (!w->cut)
		w->cut_at = w->pos;
	w->cut = 1;
}

static int
feed(struct ht_container *c, struct ht_perf_walk *w, const struct ht_perf_raw *raw,
     struct ht_diag *diag)
{
	const struct ht_perfdata *p = c->state;
	uint64_t limit = p->comp_mmap_len ? p->comp_mmap_len : ZSTD_LIMIT_DEFAULT;
	uint32_t head = raw->type == HT_PERF_COMPRESSED2 ? 16 : 8, size;

	if (raw->size < head || w->zstd_lost)
		return 0;
	size = raw->size - head;
	if (head == 16 && ht_le(raw->at + 8, 8) < size) /* the rest is padding */
		size = (uint32_t)ht_le(raw->at + 8, 8);
	if (!w->zstd)
		w->zstd = ht_zstd_new();
	if (!w->zstd) {
		w->done = 1;
		return ht_fail(diag, HT_ENOMEM, c->path, raw->offset, "", "out of memory for zstd");
	}
	ht_zstd_feed(w->zstd, raw->at + head, size, raw->offset,
	             limit < ZSTD_LIMIT_MAX ? limit : ZSTD_LIMIT_MAX);
	return 0;
}

/* The next record that lies in the file itself. */
static int
next_in_file(struct ht_container *c, struct ht_perf_walk *w, struct ht_perf_raw *raw,
             struct ht_diag *diag)
{
	const struct ht_perfdata *p = c->state;
	const uint8_t *at = c->data + w->pos;
	size_t left = p->data_end - w->pos;
	uint32_t size;

	if (!left) {
		w->done = 1;
		if (w->zstd && ht_zstd_pending(w->zstd))
			return walk_cut(w, p->data_end);
		return 0;
	}
	if (left < 8)
		return walk_cut(w, w->pos);
	if (p->pipe && ht_le(at, 8) == HT_PERF_MAGIC) { /* no record has this type and size */
		ht_perfdata_trailing(c, w->pos);
		w->done = 1;
		return 0;
	}
	size = (uint32_t)ht_le(at + 6, 2);
	if (size < 8) {
		walk_cut(w, w->pos);
		return ht_fail(
		    diag, HT_EFORMAT, c->path, w->pos, "header.size",
		    "a record of %u bytes; the file is damaged, records from here on are lost",
		    size);
	}
	if (size > left)
		return walk_cut(w, w->pos);
	*raw = (struct ht_perf_raw){ .at = at,
		                     .size = size,
		                     .type = (uint32_t)ht_le(at, 4),
		                     .misc = (uint16_t)ht_le(at + 4, 2),
		                     .offset = w->pos,
		                     .mapped = 1 };
	w->pos += size;
	if (raw->type == HT_PERF_AUXTRACE || raw->type == HT_PERF_HEADER_TRACING_DATA)
		take_payload(c, w, raw);
	return 1;
}

int
ht_perf_walk_next(struct ht_container *c, struct ht_perf_walk *w, struct ht_perf_raw *raw,
                  struct ht_diag *diag)
{
	int rc;

	for (;;) {
		if (w->zstd) {
			rc = ht_zstd_record(w->zstd, raw, c->path, diag);
			if (rc < 0)
				zstd_lost(w);
			if (rc)
				return rc;
		}
		if (w->done)
			return 0;
		rc = next_in_file(c, w, raw, diag);
		if (rc <= 0)
			return rc;
		if (raw->type != HT_PERF_COMPRESSED && raw->type != HT_PERF_COMPRESSED2)
			return rc;
		rc = feed(c, w, raw, diag);
		if (rc < 0)
			return rc;
	}
}
