/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "decode/pt/input.h"

void
ht_pt_input_init(struct ht_pt_input *in, const struct ht_stream *stream)
{
	memset(in, 0, sizeof(*in));
	in->chunks = stream->chunks;
	in->n_chunks = stream->n_chunks;
	ht_pt_input_advance(in, 0);
}

void
ht_pt_input_seek(struct ht_pt_input *in, uint64_t offset)
{
	const struct ht_chunk *c = in->chunks;

	in->at = 0;
	in->pos = in->consumed = 0;
	while (in->at < in->n_chunks && offset >= c->stream_offset &&
	       offset - c->stream_offset >= c->size) {
		in->consumed += c->size;
		in->at++;
		c++;
	}
	if (in->at < in->n_chunks && offset > c->stream_offset) {
		in->pos = offset - c->stream_offset;
		in->consumed += in->pos;
	}
}

/* Chunk `i` goes on where the one before it ended. */
static int
continues(const struct ht_pt_input *in, uint32_t i)
{
	return i < in->n_chunks && !in->chunks[i].lost_before;
}

size_t
ht_pt_input_peek(struct ht_pt_input *in, const uint8_t **bytes)
{
	const struct ht_chunk *c;
	uint64_t left;
	size_t n;

	if (in->at >= in->n_chunks)
		return 0;
	c = &in->chunks[in->at];
	left = c->size - in->pos;
	if (left >= HT_PT_PACKET_MAX || left == 0 || !continues(in, in->at + 1)) {
		*bytes = left ? c->data + in->pos : in->carry;
		return (size_t)left;
	}
	n = (size_t)left;
	memcpy(in->carry, c->data + in->pos, n);
	for (uint32_t i = in->at + 1; continues(in, i) && n < sizeof(in->carry); i++) {
		size_t room = sizeof(in->carry) - n;
		size_t take = in->chunks[i].size < room ? (size_t)in->chunks[i].size : room;

		if (take)
			memcpy(in->carry + n, in->chunks[i].data, take);
		n += take;
	}
	*bytes = in->carry;
	return n;
}

void
ht_pt_input_advance(struct ht_pt_input *in, size_t n)
{
	in->pos += n;
	in->consumed += n;
	while (in->at < in->n_chunks && in->pos >= in->chunks[in->at].size && continues(in, in->at + 1)) {
		in->pos -= in->chunks[in->at].size;
		in->at++;
	}
}

int
ht_pt_input_next_run(struct ht_pt_input *in)
{
	if (in->at + 1 >= in->n_chunks) {
		return 0;
	}
	in->at++;
	in->pos = 0;
	ht_pt_input_advance(in, 0);
	return 1;
}

uint64_t
ht_pt_input_offset(const struct ht_pt_input *in)
{
	return in->at < in->n_chunks ? in->chunks[in->at].stream_offset + in->pos : 0;
}

int
ht_pt_input_find_psb(struct ht_pt_input *in)
{
	const uint8_t *bytes;
	size_t n, at;

	while ((n = ht_pt_input_peek(in, &bytes)) >= HT_PT_PACKET_MAX) {
		at = ht_pt_find_psb(bytes, n, 0);
		if (at < n) {
			ht_pt_input_advance(in, at);
			return 1;
		}
		ht_pt_input_advance(in, n - HT_PT_PACKET_MAX + 1);
	}
	ht_pt_input_advance(in, n);
	return 0;
}
