/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events of one stream into samples.  Holds what perf's decoder state amounts
 * to: the time that a sample is shown with, and the block being listed.
 */
#ifndef SINK_SAMPLER_H
#define SINK_SAMPLER_H

#include <hwtrace/disasm.h>
#include <hwtrace/sample.h>

#define SAMPLER_OUT 1024

/* Lengths of the instructions of blocks seen, by address. */
struct block_cache;

struct sampler {
	const struct ht_merge_config *config;
	struct block_cache *blocks;
	uint32_t nom_freq, cbr;      /* ratio to stretch estimated times by; 0 = not known */
	/* time */
	uint64_t tsc_read;           /* of the last time packet */
	uint64_t tsc_confirmed;      /* the same, once the flow used a packet after it */
	uint64_t tsc_shown;
	uint64_t insns_since;        /* instructions since tsc_read */
	/* block being listed */
	struct ht_event block;
	unsigned block_bits;         /* mode that it ran in */
	unsigned bits;               /* mode stated last, 0 = none was */
	uint64_t ip;                 /* next instruction of it */
	uint32_t left;               /* instructions not yet listed; the last one waits for its branch */
	const uint8_t *lengths;      /* holds during one call only */
	uint64_t since_insn;         /* instructions since the last INSN sample */
	unsigned in_tx;
	int      off_told;           /* the last branch said that trace went off */

	struct ht_sample out[SAMPLER_OUT];
	unsigned n;
};

struct block_cache *block_cache_new(enum ht_arch arch);
void block_cache_free(struct block_cache *c);

/*
 * Convert events from ev[at..n) until out[] is nearly full; returns the index of the
 * first event not taken.  While `left` is above 1 the batch of the block in hand is still needed.
 */
int sampler_convert(struct sampler *s, struct ht_view *view, uint64_t space, const struct ht_event *ev,
                    int at, int n);
/* The stream ended: list what waits. */
void sampler_finish(struct sampler *s, struct ht_view *view, uint64_t space);

#endif
