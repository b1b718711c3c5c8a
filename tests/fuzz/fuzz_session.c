/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzz target: sideband and trace.  The input is a list of sideband records,
 * twelve bytes each, up to one of kind 0xff; what follows is Intel PT of process
 * 1.  Checked besides crashes: a view that went step by step is the view that
 * went at once, and each byte of trace is decoded or skipped.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/decoder.h>

#include "base/cursor.h"
#include "container/reader.h"

#define RECORD 12
#define PAGE   0x1000ull
#define SPAN   64 /* pages in use */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	struct ht_container c;
	const uint8_t      *data;
	size_t              size, at;
	struct ht_chunk     chunk;
	struct ht_stream    stream;
};

static int
input_next(struct ht_container *c, struct ht_record *rec)
{
	static const char *const paths[] = { "/proc/self/exe", "//anon", "/nonexistent", "/bin/true" };
	struct input *in = c->state;
	const uint8_t *p = in->data + in->at;

	if (in->size - in->at < RECORD || *p == 0xff)
		return 0;
	in->at += RECORD;
	memset(rec, 0, sizeof(*rec));
	rec->kind = p[0] % HT_REC_KIND_COUNT;
	rec->time = p[1];
	rec->pid = p[2] % 5 - 1;
	rec->tid = p[3] % 7;
	rec->cpu = p[0] & 0x80 ? -1 : p[4] % 3;
	rec->misc = (uint16_t)(p[11] << 8);
	switch (rec->kind) {
	case HT_REC_MMAP:
		rec->u.map.addr = p[5] % SPAN * PAGE;
		rec->u.map.len = p[6] % 9 * (PAGE / 2);
		rec->u.map.pgoff = p[7] % 16 * PAGE;
		rec->u.map.flags = p[8] & (HT_MAP_EXEC | HT_MAP_KERNEL | HT_MAP_DUMP);
		rec->u.map.path = paths[p[9] % 4];
		break;
	case HT_REC_MUNMAP:
		rec->u.unmap.addr = ht_le(p + 5, 3) % (SPAN * PAGE);
		rec->u.unmap.len = ht_le(p + 8, 3);
		break;
	case HT_REC_CODE:
		rec->u.code.addr = ht_le(p + 5, 3) % (SPAN * PAGE);
		rec->u.code.bytes = p + 8;
		rec->u.code.len = p[4] % 4;
		break;
	case HT_REC_CONTEXT:
		rec->u.context.cr3 = p[5] % 4 * PAGE;
		break;
	case HT_REC_COMM:
		rec->u.comm.comm = p[4] & 1 ? "name" : NULL;
		rec->u.comm.exec = p[4] & 2;
		break;
	case HT_REC_FORK:
		rec->u.fork.ppid = p[4] % 5 - 1;
		rec->u.fork.ptid = p[5] % 7;
		break;
	default:
		break;
	}
	return 1;
}

static void
input_rewind(struct ht_container *c)
{
	((struct input *)c->state)->at = 0;
}

static unsigned
input_build_id(const struct ht_container *c, const char *path, uint8_t id[HT_BUILD_ID_MAX])
{
	(void)c, (void)path, (void)id;
	return 0;
}

static const struct ht_reader reader = {
	.name = "fuzz", .next = input_next, .rewind = input_rewind, .build_id = input_build_id,
};

static void
must(int holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "broken: %s\n", what);
	abort();
}

/* `generation` counts what a view did, so it may differ. */
static void
views_equal(struct ht_view *a, struct ht_view *b)
{
	uint32_t n, m;
	const struct ht_mapping *x = ht_view_mappings(a, &n), *y = ht_view_mappings(b, &m);

	must(n == m, "two ways to one moment differ in their mappings");
	for (uint32_t i = 0; i < n; i++)
		must(x[i].start == y[i].start && x[i].end == y[i].end && x[i].pgoff == y[i].pgoff &&
		     x[i].module == y[i].module && x[i].start < x[i].end, "a mapping differs");
	for (uint64_t at = 0; at < SPAN * PAGE; at += 509) {
		uint8_t p[64], q[64];
		size_t k = ht_view_read(a, at, p, sizeof(p));

		must(k == ht_view_read(b, at, q, sizeof(q)) && !memcmp(p, q, k), "the bytes differ");
		if (!k)
			ht_view_why(a, at, NULL);
	}
}

static void
step_and_jump(struct ht_session *s, int32_t pid)
{
	struct ht_view *a, *b;
	uint64_t next;

	must(ht_view_new(s, pid, &a) == 0 && ht_view_new(s, 4 - pid, &b) == 0, "no view");
	while ((next = ht_view_next_change(a)) != UINT64_MAX)
		must(ht_view_advance(a, next) >= 0 && ht_view_next_change(a) > next, "a view stands still");
	must(ht_view_switch(b, pid, 300) == 0, "no switch");
	ht_view_advance(a, 300);
	views_equal(a, b);
	ht_view_free(a);
	ht_view_free(b);
}

static void
decode(struct ht_session *s, const char *engine, uint64_t bytes)
{
	struct ht_decoder_config config = { .size = sizeof(config), .engine = engine };
	static struct ht_event ev[HT_BATCH];
	const struct ht_decoder_stats *st;
	struct ht_decoder *d;
	int n;

	if (ht_decoder_new(s, 0, &config, &d, NULL) < 0)
		return;
	while ((n = ht_decoder_next(d, ev, HT_BATCH)) > 0)
		for (int i = 0; i < n; i++)
			must(ev[i].kind != HT_EV_GAP || ht_decoder_gap(d, ev[i].n), "a gap without its detail");
	st = ht_decoder_stats(d);
	must(n == 0 && st->bytes == bytes && st->bytes_skipped <= bytes &&
	     st->bytes_decoded + st->bytes_skipped == bytes,
	     "bytes that are neither decoded nor skipped");
	ht_decoder_free(d);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { .data = data, .size = size };
	struct ht_session *s;
	size_t records = 0;

	while (size - records >= RECORD && data[records] != 0xff)
		records += RECORD;
	if (records < size && data[records] == 0xff)
		records++;
	in.c.reader = &reader;
	in.c.state = &in;
	in.c.info.clock = (struct ht_clock){ .valid = 1, .mult = 1 };
	in.chunk = (struct ht_chunk){ .data = data + records, .size = size - records };
	in.stream = (struct ht_stream){ .source = HT_SOURCE_INTEL_PT, .pid = 1, .tid = 1,
	                                .cpu = size % 5 ? -1 : 1, .chunks = &in.chunk, .n_chunks = 1,
	                                .bytes = size - records };
	in.c.streams = &in.stream;
	in.c.n_streams = 1;
	if (ht_session_open(&in.c, NULL, &s, NULL) < 0)
		return 0;
	for (int32_t pid = 0; pid < 4; pid++)
		step_and_jump(s, pid);
	decode(s, "libipt", size - records);
	decode(s, "native", size - records);
	ht_session_close(s);
	return 0;
}
