/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside of seek.c (what is found) and seek_file.c (how it is kept). */
#ifndef DECODE_PT_SEEK_H
#define DECODE_PT_SEEK_H

#include <hwtrace/seek.h>

#include "base/vec.h"

struct seek_point {
	uint64_t offset; /* of a PSB, in the stream */
	uint64_t tsc;    /* of its PSB+; never less than of the point before */
};

struct seek_stream {
	struct seek_point *at;
	size_t   n, cap;
	uint64_t first, last; /* times; 0 = none */
};

struct ht_seek {
	struct seek_stream *streams;
	uint32_t            n;
	int                 kept; /* read from a file */
};

/* Fill in the streams, which are empty.  0 or -HT_ENOMEM. */
int ht_seek_scan(struct ht_seek *s, struct ht_container *c);

#endif
