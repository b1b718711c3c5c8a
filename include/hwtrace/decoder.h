/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decoder: one stream of trace into events, by pulling.
 *
 *	while ((n = ht_decoder_next(d, batch, HT_BATCH)) > 0)
 *		consume(batch, n, ht_decoder_view(d));
 *
 * The address space does not change inside a batch: ht_decoder_view() holds for
 * every event of the batch returned last.
 */
#ifndef HWTRACE_DECODER_H
#define HWTRACE_DECODER_H

#include <stddef.h>
#include <stdint.h>

#include <hwtrace/event.h>
#include <hwtrace/session.h>

#define HT_BATCH     1024
#define HT_GAPS_KEPT 4096

struct ht_decoder;

#define HT_DECODE_BLOCKS   0x1u
#define HT_DECODE_BRANCHES 0x2u
#define HT_DECODE_TIME     0x4u  /* TIME, CYCLES, CBR */
#define HT_DECODE_OTHER    0x8u  /* MODE, TX, PTWRITE, CONTEXT, ENABLE, DISABLE, ASYNC */
#define HT_DECODE_ALL      0xfu
/* GAP and SWITCH are always delivered. */

struct ht_decoder_config {
	size_t      size;    /* sizeof(struct ht_decoder_config) */
	const char *engine;  /* "native", "libipt"; NULL = the best that can do this source */
	unsigned    want;    /* HT_DECODE_*; 0 = all */
	uint64_t    start;   /* offset of a PSB that the engine may begin at (ht_seek_start()); 0 = the start */
};

/* Figures of one stream; final when ht_decoder_next() has returned 0. */
struct ht_decoder_stats {
	uint64_t bytes;          /* in the stream */
	uint64_t bytes_decoded;  /* consumed; on a lossless capture equal to bytes */
	uint64_t bytes_skipped;  /* lost in gaps */
	uint64_t instructions;   /* executed, as far as decoded */
	uint64_t branches;       /* conditional (either way), jumps, calls, returns, system calls */
	uint64_t gaps;           /* GAP events */
	const char *engine;      /* its name; static */
};

/*
 * Decode one stream, the container's of index `stream`.  `s` is borrowed and must
 * outlive the decoder; `config` may be NULL.  Errors: HT_EINVAL (no such stream,
 * no engine of this name, config.size), HT_EUNSUPPORTED (none, or not this one,
 * decodes the stream's source), HT_ENOMEM.
 */
int ht_decoder_new(struct ht_session *s, uint32_t stream, const struct ht_decoder_config *config,
                   struct ht_decoder **out, struct ht_diag *diag);
void ht_decoder_free(struct ht_decoder *d);

/*
 * Up to `n` events (n >= 64; no more than HT_BATCH are given at once) into `ev`.
 * Returns their number, 0 at the end of the stream, -HT_ENOMEM, or -HT_EINVAL when
 * `n` is less.  Bad trace is never an error: it is a GAP event, and decoding goes
 * on after it.
 */
int ht_decoder_next(struct ht_decoder *d, struct ht_event *ev, int n);

/* The address space that the last batch ran in.  Life: decoder; what it shows, until the next batch. */
struct ht_view *ht_decoder_view(struct ht_decoder *d);
/* Thread and process that the last batch belongs to; -1 = not known. */
int32_t ht_decoder_tid(const struct ht_decoder *d);
int32_t ht_decoder_pid(const struct ht_decoder *d);
/*
 * Gap number `i` (the `n` of a GAP event); NULL when out of range.  The last
 * HT_GAPS_KEPT gaps are kept, so those of the last three batches at least: a trace
 * may be all gaps.  Life: until as many more have come, or the decoder is freed.
 */
const struct ht_gap *ht_decoder_gap(const struct ht_decoder *d, uint32_t i);
/* As of now.  Life: decoder. */
const struct ht_decoder_stats *ht_decoder_stats(const struct ht_decoder *d);
/* Why the last call failed; `error` is 0 when none did.  Life: decoder. */
const struct ht_diag *ht_decoder_diag(const struct ht_decoder *d);

/* Engines that were built in, in order of preference; NULL past the end. */
const char *ht_engine_name(uint32_t i);
/* 1 when the engine was built in and decodes `source`, else 0. */
int ht_engine_can(const char *name, enum ht_trace_source source);

#endif
