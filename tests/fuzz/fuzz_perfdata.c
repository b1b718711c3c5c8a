/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes as a perf.data file: open, read all there is, twice, and look each path up. */
#include <stdlib.h>
#include <string.h>

#include "container/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

static void
touch(const void *data, uint64_t n)
{
	const uint8_t *p = data;

	while (n--)
		sink += *p++;
}

static void
must(int holds)
{
	if (!holds)
		abort();
}

static void
read_streams(const struct ht_container *c)
{
	for (uint32_t i = 0; i < ht_container_stream_count(c); i++) {
		const struct ht_stream *s = ht_container_stream(c, i);
		uint64_t end = 0, bytes = 0;

		for (uint32_t j = 0; j < s->n_chunks; j++) {
			const struct ht_chunk *k = &s->chunks[j];

			must(k->stream_offset >= end);
			must(k->stream_offset == end || k->lost_before);
			must(k->size || (j + 1 == s->n_chunks || k->data));
			end = k->stream_offset + k->size;
			bytes += k->size;
			touch(k->data, k->size);
		}
		must(bytes == s->bytes && bytes <= c->size);
	}
}

static unsigned long
read_records(struct ht_container *c)
{
	unsigned long n = 0, errors = 0;
	struct ht_record r;
	uint8_t id[HT_BUILD_ID_MAX];
	int rc;

	while ((rc = ht_container_next(c, &r)) != 0) {
		if (rc < 0) {
			must(ht_container_diag(c)->error == -rc);
			must(++errors < 1000000);
			continue;
		}
		n++;
		touch(r.raw, r.raw_size);
		switch (r.kind) {
		case HT_REC_MMAP:
			touch(r.u.map.path, strlen(r.u.map.path));
			must(r.u.map.build_id_size <= HT_BUILD_ID_MAX);
			must(ht_container_build_id(c, r.u.map.path, id) <= HT_BUILD_ID_MAX);
			break;
		case HT_REC_COMM:
			touch(r.u.comm.comm, strlen(r.u.comm.comm));
			break;
		case HT_REC_CODE:
			touch(r.u.code.bytes, r.u.code.len);
			break;
		default:
			must(r.kind < HT_REC_KIND_COUNT);
			break;
		}
	}
	return n;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ht_container *c = NULL;
	struct ht_diag diag = { 0 };
	unsigned long n;

	if (ht_container_open_memory(data, size, NULL, &c, &diag)) {
		must(!c && diag.error && diag.text[0]);
		return 0;
	}
	read_streams(c);
	n = read_records(c);
	ht_container_rewind(c);
	must(read_records(c) == n);
	ht_container_close(c);
	return 0;
}
