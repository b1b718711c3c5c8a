/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The packets that make up nearly all of a trace, taken by the memo: TNT, TIP,
 * CYC and PAD, while execution is known and nothing waits for a FUP or a mode.
 * Anything else is left to the step-by-step reader.
 */
#include <string.h>

#include <hwtrace/error.h>

#include "decode/pt/native.h"
#include "decode/pt/packet.h"

#define FOLD_AT (1ull << 31) /* counts in the memo have 32 bits */

static int
plain(const struct ht_pt_engine *e)
{
	return e->place == HT_PLACE_ON && !e->packets_lost && !e->in_psb && !e->fup_async && !e->fup_binds &&
	       !e->n_bound && !e->next_mode && !e->block && e->mode == 64 && !e->change_due && !e->gap_open;
}

/* The bytes that are read ahead of `p` are there: the loop stops 16 bytes before the end. */
static inline uint64_t
load(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return __builtin_bswap64(__builtin_bswap64(v)); /* little-endian hosts only; see native_can() */
}

struct fast {
	struct ht_pt_engine *e;
	const uint8_t *p, *begin;
	uint32_t state;
};

/* Out of the memo: the walker stands at f->state. Returns outcomes that were left there. */
static uint32_t
leave(struct fast *f)
{
	struct ht_pt_engine *e = f->e;
	uint32_t bits = ht_memo_leave(&e->memo, f->state);

	ht_pt_input_advance(&e->in, (size_t)(f->p - f->begin));
	f->begin = f->p;
	f->state = 0;
	return bits;
}

/* The memo has no answer: outcomes one by one, from the packet of `size` bytes at f->p. */
static int
by_walker(struct fast *f, uint32_t bits, unsigned size)
{
	struct ht_pt_engine *e = f->e;
	uint32_t left;
	unsigned n;

	e->offset = ht_pt_input_offset(&e->in) + (uint64_t)(f->p - f->begin);
	f->p += size;
	left = leave(f);
	if (left)
		bits = left;
	n = 31 - (unsigned)__builtin_clz(bits);
	return ht_pt_take_bits(e, bits & ((1u << n) - 1), n);
}

/* A long TNT packet, six outcomes at a time. */
static int
take_long(struct fast *f)
{
	struct ht_pt_engine *e = f->e;
	uint64_t bits = load(f->p) >> 16;
	unsigned left, k;
	uint32_t group;
	int rc;

	if (bits < 2)
		return 0;
	for (left = 63 - (unsigned)__builtin_clzll(bits); left > 0; left -= k) {
		k = left < 6 ? left : 6;
		group = 1u << k | (uint32_t)(bits >> (left - k) & ((1u << k) - 1));
		rc = ht_memo_outcomes(&e->memo, &f->state, &group);
		if (rc <= 0)
			break;
	}
	if (left == 0) {
		f->p += 8;
		return 1;
	}
	if (rc < 0)
		return rc;
	rc = by_walker(f, group, 8);
	if (rc == 0 && e->place == HT_PLACE_ON && left > k)
		rc = ht_pt_take_bits(e, bits & ((1ull << (left - k)) - 1), left - k);
	return rc;
}

static int
take_tip(struct fast *f)
{
	struct ht_pt_engine *e = f->e;
	struct ht_pt_packet p = { .count = f->p[0] >> 5 };
	unsigned n = ht_pt_ip_bytes[p.count];
	uint64_t ip = 0;
	int rc;

	if (n == 0xff || n == 0)
		return 0;
	p.value = load(f->p + 1);
	if (n < 8)
		p.value &= (1ull << 8 * n) - 1;
	ht_pt_packet_ip(&p, e->last_ip, &ip);
	rc = ht_memo_target(&e->memo, &f->state, ip);
	if (rc < 0)
		return rc;
	if (rc == 0)
		return 0;
	e->last_ip = ip;
	f->p += 1 + n;
	return 1;
}

static int
take_cyc(struct fast *f)
{
	struct ht_pt_packet p;
	unsigned block = 0;
	int n = 1;

	if (f->p[0] & 4 || f->e->walk.want & HT_DECODE_TIME) {
		n = ht_pt_packet_read(f->p, HT_PT_PACKET_MAX, &block, &p);
		if (n <= 0)
			return 0;
		ht_pt_time_packet(&f->e->time, &p);
	}
	f->p += n;
	return 1;
}

/* Packets from f->p to `end`.  0 where a packet is not for this reader, or -HT_E... */
static int
take_all(struct fast *f, const uint8_t *end, size_t limit)
{
	struct ht_pt_engine *e = f->e;
	struct ht_memo *m = &e->memo;
	struct ht_walk *w = &e->walk;
	int timed = (w->want & HT_DECODE_TIME) && !w->edges, rc;

	while (f->p < end && f->state && w->out.n < limit) {
		uint8_t b = *f->p;
		uint32_t bits = b >> 1;

		if (b == 0) {
			f->p++;
			continue;
		}
		if ((b & 3) == 3) {
			rc = take_cyc(f);
			if (rc <= 0)
				return rc;
			continue;
		}
		if (timed)
			ht_pt_tell_time(e);
		if ((b & 1) == 0 && b != HT_PT_LEAD_EXT) {
			rc = ht_memo_outcomes(m, &f->state, &bits);
			if (rc > 0) {
				f->p++;
				continue;
			}
			return rc < 0 ? rc : by_walker(f, bits, 1);
		}
		if ((b & 0x1f) == 0x0d)
			rc = take_tip(f);
		else if (b == HT_PT_LEAD_EXT && f->p[1] == 0xa3)
			rc = take_long(f);
		else
			return 0;
		if (rc <= 0)
			return rc;
	}
	return 0;
}

int
ht_pt_fast(struct ht_pt_engine *e, size_t limit)
{
	struct fast f = { .e = e };
	const uint8_t *bytes;
	size_t n;
	int rc;

	if (!plain(e))
		return 0;
	n = ht_pt_input_peek(&e->in, &bytes);
	if (n < 2 * HT_PT_PACKET_MAX || !(bytes[0] == HT_PT_LEAD_EXT ? bytes[1] == 0xa3 : 1))
		return 0;
	f.p = f.begin = bytes;
	f.state = ht_memo_enter(&e->memo);
	if (!f.state)
		return -HT_ENOMEM;
	rc = take_all(&f, bytes + n - HT_PT_PACKET_MAX, limit);
	e->memo.since_fold += (uint64_t)(f.p - bytes) * 16;
	if (f.state)
		leave(&f);
	if (rc == 0 && e->memo.since_fold > FOLD_AT) {
		e->memo.since_fold = 0;
		rc = ht_memo_fold(&e->memo);
	}
	return rc;
}
