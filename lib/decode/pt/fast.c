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
#define STRETCH (1u << 20)   /* bytes between two looks at the size of the memo */

static int
plain(const struct ht_pt_engine *e)
{
	return e->place == HT_PLACE_ON && !e->packets_lost && !e->in_psb && !e->fup_async && !e->fup_binds &&
	       !e->n_bound && !e->next_mode && !e->block && e->mode == 64 && !e->change_due && !e->again &&
	       !e->gap_open && !e->psb_stands && !(e->errata & HT_PT_BDM64 && e->walk.branch_flags);
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

/* Out of the memo: the walker stands at f->state, the input at f->p. */
static void
leave(struct fast *f)
{
	ht_memo_leave(&f->e->memo, f->state);
	ht_pt_input_advance(&f->e->in, (size_t)(f->p - f->begin));
	f->begin = f->p;
	f->state = 0;
}

/* The address of the TIP packet at `p`; its size, or 0 when it is another packet. */
static inline unsigned
peek_tip(const struct ht_pt_engine *e, const uint8_t *p, uint64_t *ip)
{
	struct ht_pt_packet tip = { .count = p[0] >> 5 };
	unsigned n = ht_pt_ip_bytes[tip.count];

	if ((p[0] & 0x1f) != 0x0d || n == 0xff || n == 0)
		return 0;
	tip.value = load(p + 1);
	if (n < 8)
		tip.value &= (1ull << 8 * n) - 1;
	ht_pt_packet_ip(&tip, e->last_ip, ip);
	return 1 + n;
}

/*
 * The target of the TIP packet at f->p, and the outcomes *bits behind it (1 =
 * none): as ht_memo_outcomes().
 */
static inline int
take_tip(struct fast *f, uint32_t *bits)
{
	uint64_t ip = 0;
	unsigned size = peek_tip(f->e, f->p, &ip);
	int taken, rc;

	if (!size)
		return 0;
	rc = ht_memo_target(&f->e->memo, &f->state, ip, bits, &taken);
	if (taken) {
		f->e->last_ip = ip;
		f->p += size;
	}
	return rc;
}

/* From rc 2 on: targets and outcomes until *bits is used up (1), or the walker must go on (0). */
static inline int
take_deferred(struct fast *f, uint32_t *bits, const uint8_t *end)
{
	int rc = 2;

	while (rc == 2) {
		while (f->p < end && *f->p == 0)
			f->p++;
		rc = f->p < end ? take_tip(f, bits) : 0;
	}
	return rc;
}

/*
 * Up to HT_MEMO_GROUP outcomes of the packet in front of f->p.  1: done.  0: the
 * walker must take *bits; f->p is behind the packet and the targets used.
 */
static inline int
take_group(struct fast *f, uint32_t *bits, const uint8_t *end)
{
	int rc = ht_memo_outcomes(&f->e->memo, &f->state, bits);

	return rc == 2 ? take_deferred(f, bits, end) : rc;
}

/* All outcomes of a packet that f->p is behind; `count` of them in `bits`. 0 when the memo was left. */
static int
take_outcomes(struct fast *f, uint64_t bits, unsigned count, const uint8_t *end)
{
	struct ht_pt_engine *e = f->e;
	unsigned left, k, n;
	uint32_t group;
	int rc;

	for (left = count; left > 0; left -= k) {
		k = left < HT_MEMO_GROUP ? left : HT_MEMO_GROUP;
		group = 1u << k | (uint32_t)(bits >> (left - k) & ((1u << k) - 1));
		rc = take_group(f, &group, end);
		if (rc < 0)
			return rc;
		if (rc == 0) {
			leave(f);
			n = 31 - (unsigned)__builtin_clz(group);
			left -= k;
			/* What is left of the group, in front of what is left of the packet. */
			bits = (bits & ((1ull << left) - 1)) | (uint64_t)(group & ((1u << n) - 1)) << left;
			return ht_pt_take_bits(e, bits, left + n);
		}
	}
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
		if (n <= 0 || (n == 2 && f->e->errata & HT_PT_SKD007))
			return 0;
		ht_pt_time_packet(&f->e->time, &p);
	}
	f->p += n;
	return 1;
}

/* The memo did not take a packet to its end; `bits` are left. */
static int
finish(struct fast *f, uint32_t bits)
{
	unsigned n = 31 - (unsigned)__builtin_clz(bits);

	leave(f);
	return ht_pt_take_bits(f->e, bits & ((1u << n) - 1), n);
}

/* Packets from f->p to `end`.  0 where a packet is not for this reader, or -HT_E... */
static int
take_all(struct fast *f, const uint8_t *end, size_t limit)
{
	struct ht_pt_engine *e = f->e;
	struct ht_walk *w = &e->walk;
	const uint8_t *first = f->p, *at;
	uint64_t offset = ht_pt_input_offset(&e->in), before = e->in.consumed, long_bits;
	int timed = (w->want & HT_DECODE_TIME) && !w->edges, rc;
	unsigned n;

	while (f->p < end && f->state && w->out.n < limit) {
		uint32_t bits;
		uint8_t b;

		f->p = ht_memo_short(&e->memo, &f->state, f->p, end);
		if (f->p == end)
			break;
		b = *f->p;
		bits = b >> 1;
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
			at = f->p++;
			rc = take_group(f, &bits, end);
			if (rc == 1)
				continue;
			e->offset = offset + (uint64_t)(at - first);
			e->before = before + (uint64_t)(at - first);
			if (rc == 0)
				rc = finish(f, bits);
		} else if ((b & 0x1f) == 0x0d) {
			bits = 1;
			rc = take_tip(f, &bits);
		} else if (b == HT_PT_LEAD_EXT && f->p[1] == 0xa3 && load(f->p) >> 17) {
			long_bits = load(f->p) >> 16;
			e->offset = offset + (uint64_t)(f->p - first);
			e->before = before + (uint64_t)(f->p - first);
			f->p += 8;
			n = 63 - (unsigned)__builtin_clzll(long_bits);
			rc = take_outcomes(f, long_bits & ((1ull << n) - 1), n, end);
		} else {
			return 0;
		}
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
	if (n > STRETCH)
		n = STRETCH;
	f.p = f.begin = bytes;
	f.state = ht_memo_enter(&e->memo);
	if (!f.state)
		return -HT_ENOMEM;
	rc = take_all(&f, bytes + n - HT_PT_PACKET_MAX, limit);
	e->memo.since_fold += (uint64_t)(f.p - bytes) * 16;
	if (f.state)
		leave(&f);
	if (rc < 0 || (e->memo.since_fold <= FOLD_AT && !ht_memo_is_full(&e->memo)))
		return rc;
	e->memo.since_fold = 0;
	rc = ht_memo_fold(&e->memo);
	return rc == 0 && ht_memo_is_full(&e->memo) ? ht_memo_reset(&e->memo) : rc;
}
