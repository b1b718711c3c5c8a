/* SPDX-License-Identifier: BSD-2-Clause */
/* What the writers of lines share. */
#ifndef SINK_SCRIPT_IMPL_H
#define SINK_SCRIPT_IMPL_H

#include "sink/calls.h"
#include "sink/place.h"

struct ht_script {
	struct ht_script_config config;
	int                     filtered; /* by file or function */
	struct ht_session      *session;
	struct ht_clock         clock;
	struct ht_text         *out;
	struct places          *places;
	struct calls           *calls;
	int                     json_started; /* a member stands before in this object */
	/* what stands in front of the addresses is the same for many lines */
	struct {
		uint64_t tsc;
		int32_t  tid;
		uint32_t stream;
		uint8_t  kind;
		uint8_t  valid;
		struct ht_text text;
	} prefix;
	char     flags[HT_SF_COUNT][HT_SAMPLE_FLAGS_TEXT];
	uint8_t  flags_len[HT_SF_COUNT];
};

#define SCRIPT_NO_TIME UINT64_MAX /* in front of the first time stamp */

/* ns, or ticks where the capture has no clock. */
static inline uint64_t
script_time(const struct ht_script *s, uint64_t tsc)
{
	if (!tsc)
		return SCRIPT_NO_TIME;
	return s->clock.valid ? ht_clock_tsc_to_ns(&s->clock, tsc) : tsc;
}

/* Does what stands in s->prefix hold for `x` too? */
static inline int
script_prefix_fits(const struct ht_script *s, const struct ht_sample *x, const struct ht_lane *lane)
{
	return s->prefix.valid && s->prefix.tsc == x->tsc && s->prefix.stream == lane->stream &&
	       s->prefix.tid == lane->tid && s->prefix.kind == x->kind;
}

static inline void
script_prefix_set(struct ht_script *s, const struct ht_sample *x, const struct ht_lane *lane)
{
	s->prefix.tsc = x->tsc;
	s->prefix.tid = lane->tid;
	s->prefix.stream = lane->stream;
	s->prefix.kind = x->kind;
	s->prefix.valid = 1;
}

void script_json_sample(struct ht_script *s, const struct ht_sample *x, const struct ht_lane *lane,
                        uint64_t space);
void script_json_gap(struct ht_script *s, const struct ht_sample *x, const struct ht_lane *lane);
void script_json_session_gap(struct ht_script *s, const struct ht_sample *x, const struct ht_lane *lane,
                             const struct ht_gap *g);

#endif
