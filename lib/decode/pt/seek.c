/* SPDX-License-Identifier: BSD-2-Clause */
/* Find PSBs and their TSCs, and the last TSC of each stream; seek_file.c keeps them. */
#include <stdlib.h>
#include <string.h>

#include "decode/pt/input.h"
#include "decode/pt/seek.h"

#define STRIDE   (16u << 10) /* bytes from one point to where the next is looked for */
#define WARM_UP  2           /* points before the time: estimates have settled by then */
#define PSB_PLUS 64          /* packets that a PSB+ may have */

/* The TSC of the PSB+ that `in` stands at; 0 when it has none. */
static uint64_t
time_at(struct ht_pt_input in)
{
	const uint8_t *bytes;
	struct ht_pt_packet p;
	unsigned block = 0, packets = 0;
	size_t n;

	while (packets++ < PSB_PLUS && (n = ht_pt_input_peek(&in, &bytes)) > 0) {
		int size = ht_pt_packet_read(bytes, n, &block, &p);

		if (size <= 0 || p.kind == HT_PT_PSBEND || p.kind == HT_PT_OVF)
			return 0;
		if (p.kind == HT_PT_TSC)
			return p.value;
		ht_pt_input_advance(&in, (size_t)size);
	}
	return 0;
}

/* To the next PSB, into the next run of bytes if need be; 0 at the end. */
static int
next_psb(struct ht_pt_input *in)
{
	while (!ht_pt_input_find_psb(in))
		if (!ht_pt_input_next_run(in))
			return 0;
	return 1;
}

/* Forward by `left` bytes, or to the end of the run. */
static void
skip(struct ht_pt_input *in, size_t left)
{
	const uint8_t *bytes;
	size_t n;

	while (left && (n = ht_pt_input_peek(in, &bytes)) > 0) {
		if (n > left)
			n = left;
		ht_pt_input_advance(in, n);
		left -= n;
	}
}

/* The last TSC from `in` on, packet by packet; `last` when there is none. */
static uint64_t
last_time(struct ht_pt_input in, uint64_t last)
{
	const uint8_t *bytes;
	struct ht_pt_packet p;
	unsigned block = 0;
	size_t n;

	for (;;) {
		int size;

		if (!(n = ht_pt_input_peek(&in, &bytes))) {
			if (!ht_pt_input_next_run(&in) || !next_psb(&in))
				return last;
			block = 0;
			continue;
		}
		size = ht_pt_packet_read(bytes, n, &block, &p);
		if (size <= 0) {
			ht_pt_input_advance(&in, 1);
			if (!next_psb(&in))
				return last;
			block = 0;
			continue;
		}
		if (p.kind == HT_PT_TSC && p.value > last)
			last = p.value;
		ht_pt_input_advance(&in, (size_t)size);
	}
}

static int
scan_pt(struct seek_stream *out, const struct ht_stream *stream)
{
	struct ht_pt_input in, mark;

	ht_pt_input_init(&in, stream);
	mark = in;
	while (next_psb(&in)) {
		uint64_t tsc = time_at(in);

		mark = in;
		if (!tsc || (out->n && tsc < out->at[out->n - 1].tsc)) {
			ht_pt_input_advance(&in, 1);
			continue;
		}
		struct seek_point *point = ht_vec_push(out);

		if (!point)
			return -HT_ENOMEM;
		*point = (struct seek_point){ ht_pt_input_offset(&in), tsc };
		skip(&in, STRIDE);
	}
	if (!out->n)
		ht_pt_input_init(&mark, stream);
	out->last = last_time(mark, out->n ? out->at[out->n - 1].tsc : 0);
	out->first = out->n ? out->at[0].tsc : out->last;
	return 0;
}

/* Branch stacks bear their time themselves. */
static void
scan_chunks(struct seek_stream *out, const struct ht_stream *stream)
{
	for (uint32_t i = 0; i < stream->n_chunks; i++) {
		uint64_t ns = stream->chunks[i].ref;

		if (ns && (!out->first || ns < out->first))
			out->first = ns;
		if (ns > out->last)
			out->last = ns;
	}
}

int
ht_seek_scan(struct ht_seek *s, struct ht_container *c)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const struct ht_stream *stream = ht_container_stream(c, i);
		int rc = 0;

		if (stream->source == HT_SOURCE_INTEL_PT)
			rc = scan_pt(&s->streams[i], stream);
		else if (stream->source == HT_SOURCE_BRANCH_STACK)
			scan_chunks(&s->streams[i], stream);
		if (rc < 0)
			return rc;
	}
	return 0;
}

void
ht_seek_close(struct ht_seek *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; s->streams && i < s->n; i++)
		ht_vec_free(&s->streams[i]);
	free(s->streams);
	free(s);
}

int
ht_seek_kept(const struct ht_seek *s)
{
	return s->kept;
}

int
ht_seek_span(const struct ht_seek *s, uint64_t *first, uint64_t *last)
{
	uint64_t from = UINT64_MAX, to = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		if (s->streams[i].last && s->streams[i].first < from)
			from = s->streams[i].first;
		if (s->streams[i].last > to)
			to = s->streams[i].last;
	}
	if (!to)
		return -HT_ENOTFOUND;
	*first = from;
	*last = to;
	return 0;
}

uint64_t
ht_seek_start(const struct ht_seek *s, uint32_t i, uint64_t tsc)
{
	size_t lo = 0, hi = i < s->n ? s->streams[i].n : 0;

	/* The number of points before `tsc`. */
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->streams[i].at[mid].tsc < tsc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo >= WARM_UP ? s->streams[i].at[lo - WARM_UP].offset : 0;
}
