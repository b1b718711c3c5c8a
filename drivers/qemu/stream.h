/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The packets of one unit, on their way into its ring.
 *
 * Outcome bits are gathered 47 at a time.  TIP packets of indirect jumps and
 * calls between them do not force a packet out but are deferred: written
 * behind the place that is kept free for the TNT packet, the hole.  A return
 * that is not compressed must not be deferred: decoders would take the next
 * bit for it.
 *
 * While packet generation is on and between two calls, `p` is at least
 * HT_TNT_ROOM behind `hole`.  The functions that put packets first ask for
 * ht_stream_flush(), write at `hole`, and end with ht_stream_settle() or by
 * opening a new hole.
 */
#ifndef QEMU_STREAM_H
#define QEMU_STREAM_H

#include <emmintrin.h>

#include "encode/pt.h"
#include "qemu/unit.h"

#define HT_TNT_FULL (1ull << HT_PT_TNT_LONG_MAX)

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define HT_INLINE   static inline __attribute__((always_inline))

/* What completes the stream if the thread is killed now: struct ht_shm_live.  `ip`: the block it is in. */
HT_INLINE void
ht_stream_commit(struct ht_unit *u, uint64_t tnt, uint64_t ip)
{
	__m128i tags = _mm_set_epi64x((long long)((uint64_t)(uintptr_t)u->hole << 48),
	                              (long long)((uint64_t)(uintptr_t)u->p << 48 | u->turn_bit));
	__m128i words = _mm_set_epi64x((long long)(ip & HT_LIVE_BITS), (long long)tnt);

	_mm_store_si128((__m128i *)u->tags, tags);
	_mm_store_si128((__m128i *)u->live, _mm_or_si128(tags, words));
}

/* The same while `hole` and `p` are as last committed, for an address of 47 bits. */
HT_INLINE void
ht_stream_commit_plain(const struct ht_unit *u, uint64_t tnt, uint64_t ip)
{
	__m128i words = _mm_set_epi64x((long long)ip, (long long)tnt);

	_mm_store_si128((__m128i *)u->live, _mm_or_si128(*(const __m128i *)u->tags, words));
}

static inline uint64_t
ht_stream_offset(const struct ht_unit *u)
{
	return u->lap + (uint64_t)(u->hole - u->ring);
}

/* A hole for the outcomes to come, behind what was put. */
static inline void
ht_stream_open_hole(struct ht_unit *u)
{
	u->p = u->hole + HT_TNT_ROOM;
}

/* The pending outcomes are as many as a packet holds: bring them out, and begin anew. */
HT_INLINE void
ht_stream_put_full(struct ht_unit *u, uint64_t tnt)
{
	ht_pt_tnt_long(u->hole, tnt);
	u->hole = u->p;
	u->p += HT_TNT_ROOM;
	u->tnt = 1;
}

/* The first packets of a stream: a PSB+, with packet generation off. */
void ht_stream_begin(struct ht_unit *u);
/* Bring out the pending outcomes. */
void ht_stream_flush(struct ht_unit *u);
/* Packets stand up to `hole`: make that the state. `on`: in the block at `ip`.  May mute the unit. */
void ht_stream_settle(struct ht_unit *u, int on, uint64_t ip);
/* `p` has reached `limit`, at the start of the block at `ip`.  May mute the unit. */
void ht_stream_reach_limit(struct ht_unit *u, uint64_t ip);

void ht_stream_put_cyc(struct ht_unit *u);
void ht_stream_put_ip(struct ht_unit *u, enum ht_pt_kind op, uint64_t ip);
void ht_stream_put_tsc(struct ht_unit *u);
/* A PSB+, if one is due, with packet generation off. */
void ht_stream_put_due_psb(struct ht_unit *u);

#endif
