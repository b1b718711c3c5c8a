/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bytes of one stream, which lie in chunks, as windows that a packet always
 * fits into: a window is the rest of a chunk, or, where a packet may straddle
 * two chunks, a small copy.
 */
#ifndef DECODE_PT_INPUT_H
#define DECODE_PT_INPUT_H

#include <hwtrace/container.h>
#include <hwtrace/pt_packet.h>

struct ht_pt_input {
	const struct ht_chunk *chunks;
	uint32_t n_chunks, at; /* chunk number */
	uint64_t pos;          /* in the chunk */
	uint64_t consumed;     /* bytes gone over so far */
	uint8_t  carry[2 * HT_PT_PACKET_MAX];
};

void ht_pt_input_init(struct ht_pt_input *in, const struct ht_stream *stream);

/* Go to the place at `offset` of the stream, or, where it was lost, to what follows. */
void ht_pt_input_seek(struct ht_pt_input *in, uint64_t offset);
/*
 * The bytes at the current place.  Returns their number: 0 at the end of the
 * stream or in front of a chunk with `lost_before`.  Less than HT_PT_PACKET_MAX
 * only when there are no more in front of such a place.
 */
size_t ht_pt_input_peek(struct ht_pt_input *in, const uint8_t **bytes);
/* Go forward by `n` bytes, at most what peek returned. */
void ht_pt_input_advance(struct ht_pt_input *in, size_t n);
/* After peek returned 0: 1 and in the next chunk, or 0 at the end of the stream. */
int ht_pt_input_next_run(struct ht_pt_input *in);
/* Offset of the current place in the stream. */
uint64_t ht_pt_input_offset(const struct ht_pt_input *in);
/* Go to the next PSB of this run; 1, or 0 with the run at its end. */
int ht_pt_input_find_psb(struct ht_pt_input *in);

#endif
