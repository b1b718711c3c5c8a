/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <sys/mman.h>

#include <hwtrace/error.h>
#include <hwtrace/pt_packet.h>

#include "base/vec.h"
#include "decode/pt/segment.h"

void
ht_pt_segment_free(struct ht_pt_segment *seg)
{
	if (seg->map)
		munmap(seg->map, seg->size);
	memset(seg, 0, sizeof(*seg));
}

static int
segment_join(struct ht_pt_segment *seg, const struct ht_chunk *c, uint32_t n)
{
	size_t at = 0;

	seg->map = mmap(NULL, seg->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (seg->map == MAP_FAILED) {
		seg->map = NULL;
		return -HT_ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++) {
		memcpy((char *)seg->map + at, c[i].data, (size_t)c[i].size);
		at += (size_t)c[i].size;
	}
	seg->data = seg->map;
	return 0;
}

int
ht_pt_segment_next(struct ht_pt_segment *seg, const struct ht_stream *stream, uint32_t *chunk)
{
	uint64_t known = *chunk ? seg->offset + seg->size : 0;
	uint32_t first = *chunk, i;
	const struct ht_chunk *c;
	uint64_t size = 0;

	ht_pt_segment_free(seg);
	if (first >= stream->n_chunks)
		return 0;
	c = &stream->chunks[first];
	for (i = first; i < stream->n_chunks; i++) {
		if (i > first && (stream->chunks[i].lost_before ||
		                  stream->chunks[i].stream_offset != c->stream_offset + size))
			break;
		if (stream->chunks[i].size > SIZE_MAX / 2 - size)
			return -HT_ENOMEM;
		size += stream->chunks[i].size;
	}
	*chunk = i;
	seg->size = (size_t)size;
	seg->offset = c->stream_offset;
	seg->lost = c->stream_offset > known ? c->stream_offset - known : 0;
	seg->lost_before = c->lost_before ? c->lost_before
	                 : first && c->stream_offset != known ? HT_LOST_AUX : 0;
	seg->data = c->data;
	return i - first > 1 && size && segment_join(seg, c, i - first) < 0 ? -HT_ENOMEM : 1;
}

/* Is `kind` one that a decoder passes without a question of the flow's? */
static int
passes(unsigned kind)
{
	switch (kind) {
	case HT_PT_PAD:
	case HT_PT_PSB:
	case HT_PT_PSBEND:
	case HT_PT_CBR:
	case HT_PT_TSC:
	case HT_PT_TMA:
	case HT_PT_MTC:
	case HT_PT_CYC:
	case HT_PT_MNT:
		return 1;
	default:
		return 0;
	}
}

int
ht_pt_marks_read(struct ht_pt_marks *m, const struct ht_pt_segment *seg)
{
	struct ht_pt_mark now = { .prev_kind = HT_PT_BAD };
	unsigned block = 0, header = 0;
	size_t at = ht_pt_find_psb(seg->data, seg->size, 0);
	struct ht_pt_packet p;

	m->n = 0;
	m->cut = seg->size;
	for (; at < seg->size; at += p.size) {
		int r = ht_pt_packet_read(seg->data + at, seg->size - at, &block, &p);

		if (r == HT_PT_NEED_MORE) {
			m->cut = at;
			break;
		}
		if (r < 0) {
			block = 0;
			at = ht_pt_find_psb(seg->data, seg->size, at + 1);
			p.size = 0;
			continue;
		}
		if (p.kind == HT_PT_PSB || p.kind == HT_PT_PSBEND || p.kind == HT_PT_OVF)
			header = p.kind == HT_PT_PSB;
		if (p.kind == HT_PT_TSC) {
			struct ht_pt_mark *mark = ht_vec_push(m);

			if (!mark)
				return -HT_ENOMEM;
			*mark = now;
			mark->offset = at;
			mark->tsc = p.value;
			mark->in_psb = header != 0;
		} else if (!header && !passes(p.kind)) {
			now.prev = at;
			now.prev_kind = p.kind;
		}
	}
	return 0;
}
