/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records inside PERF_RECORD_COMPRESSED.  All their payloads make one zstd
 * stream; a record may begin in one and end in another.  The output buffer is
 * fixed: twice what the largest record needs.
 */
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "container/perfdata_impl.h"

#define OUT_SIZE (1u << 18) /* > 2 * 65535 */

struct ht_zstd {
	ZSTD_DStream  *stream;
	ZSTD_inBuffer  in;
	uint64_t       offset;     /* of the record whose payload `in` is */
	uint64_t       left;       /* output that it may still give */
	int more; /* the last call filled the buffer: there may be output without input */
	size_t         start, end; /* not handed out yet: buf[start..end) */
	uint8_t        buf[OUT_SIZE];
};

struct ht_zstd *
ht_zstd_new(void)
{
	struct ht_zstd *z = calloc(1, sizeof(*z));

	if (!z)
		return NULL;
	z->stream = ZSTD_createDStream();
	if (!z->stream || ZSTD_isError(ZSTD_initDStream(z->stream))) {
		ht_zstd_free(z);
		return NULL;
	}
	return z;
}

void
ht_zstd_free(struct ht_zstd *z)
{
	if (!z)
		return;
	ZSTD_freeDStream(z->stream);
	free(z);
}

void
ht_zstd_feed(struct ht_zstd *z, const uint8_t *in, size_t size, uint64_t offset, uint64_t limit)
{
	z->in = (ZSTD_inBuffer){ .src = in, .size = size };
	z->offset = offset;
	z->left = limit;
}

size_t
ht_zstd_pending(const struct ht_zstd *z)
{
	return z->end - z->start;
}

/* 1 when there is more output than before. */
static int
inflate_some(struct ht_zstd *z, const char *path, struct ht_diag *diag)
{
	ZSTD_outBuffer out;
	size_t rc;

	if (z->in.pos == z->in.size && !z->more)
		return 0;
	memmove(z->buf, z->buf + z->start, z->end - z->start);
	z->end -= z->start;
	z->start = 0;
	out = (ZSTD_outBuffer){ .dst = z->buf + z->end, .size = sizeof(z->buf) - z->end };
	rc = ZSTD_decompressStream(z->stream, &out, &z->in);
	if (ZSTD_isError(rc))
		return ht_fail(diag, HT_EFORMAT, path, z->offset, "PERF_RECORD_COMPRESSED",
		               "the zstd stream is damaged (%s); records from here on are lost",
		               ZSTD_getErrorName(rc));
	if (out.pos > z->left)
		return ht_fail(diag, HT_ELIMIT, path, z->offset, "PERF_RECORD_COMPRESSED",
		               "gives more bytes than the recording's buffer had; records from "
		               "here on are lost");
	z->left -= out.pos;
	z->end += out.pos;
	z->more = out.pos == out.size;
	return out.pos > 0 || z->in.pos < z->in.size;
}

int
ht_zstd_record(struct ht_zstd *z, struct ht_perf_raw *raw, const char *path, struct ht_diag *diag)
{
	for (;;) {
		size_t have = z->end - z->start;
		const uint8_t *p = z->buf + z->start;
		uint32_t size = have >= 8 ? (uint32_t)ht_le(p + 6, 2) : 0;
		int rc;

		if (have >= 8 && size < 8)
			return ht_fail(
			    diag, HT_EFORMAT, path, z->offset, "header.size",
			    "a compressed record of %u bytes; records from here on are lost", size);
		if (have >= 8 && size <= have) {
			*raw = (struct ht_perf_raw){ .at = p,
				                     .size = size,
				                     .type = (uint32_t)ht_le(p, 4),
				                     .misc = (uint16_t)ht_le(p + 4, 2),
				                     .offset = z->offset };
			z->start += size;
			return 1;
		}
		rc = inflate_some(z, path, diag);
		if (rc <= 0)
			return rc;
	}
}
