/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Segments: a stream's chunks joined up to the next place where bytes are
 * missing.  A segment is one run of bytes, since libipt wants that.
 */
#ifndef DECODE_PT_SEGMENT_H
#define DECODE_PT_SEGMENT_H

#include <hwtrace/container.h>

struct ht_pt_segment {
	const uint8_t *data;
	size_t         size;
	uint64_t       offset;      /* of data[0] in the stream */
	uint64_t       lost;        /* bytes known to be missing before it, 0 = not known how many */
	int            lost_before; /* HT_LOST_*: something is missing before it */
	void          *map;         /* chunks were copied here; NULL: data lies in the container */
};

/*
 * The segment that starts at chunk *chunk, which moves behind it.  `seg` holds
 * the segment before, or zeros; it is released.  Returns 1, 0 at the end, or
 * -HT_ENOMEM.
 */
int ht_pt_segment_next(struct ht_pt_segment *seg, const struct ht_stream *stream, uint32_t *chunk);
void ht_pt_segment_free(struct ht_pt_segment *seg);

/*
 * A TSC packet and the flow packets around it.  Flow packets are those that a
 * decoder stops at: all but PAD, PSB+ and what states time.
 */
struct ht_pt_mark {
	size_t   offset; /* of the TSC packet */
	size_t   prev;   /* of the flow packet before it */
	uint64_t tsc;
	uint8_t  prev_kind; /* enum ht_pt_kind; HT_PT_BAD = none since the last PSB */
	uint8_t  in_psb;    /* stands in a PSB+ */
};

struct ht_pt_marks {
	struct ht_pt_mark *at;
	size_t n, cap;
	size_t cut; /* offset of a packet that the end of the segment cuts; the size when none is */
};

/* Find the TSC packets of a segment. 0 or -HT_ENOMEM. */
int ht_pt_marks_read(struct ht_pt_marks *m, const struct ht_pt_segment *seg);

#endif
