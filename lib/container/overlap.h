/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Snapshots of one ring that overlap: the later one begins with trace that the
 * earlier one had.  What is the same byte for byte from a PSB to the end of the
 * earlier one is taken for the same trace; nothing else is.
 */
#ifndef CONTAINER_OVERLAP_H
#define CONTAINER_OVERLAP_H

#include <stddef.h>
#include <stdint.h>

/* 1 with *skip, the bytes at the start of `b` that are in `a`; 0 when they do not meet, or it is not clear. */
int ht_overlap(const uint8_t *a, size_t na, const uint8_t *b, size_t nb, size_t *skip);

#endif
