/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The packets that make up nearly all of a trace, taken by hops and the memo:
 * TNT, TIP, CYC and PAD, while execution is known and nothing waits for a FUP or
 * a mode.  Anything else is left to the step-by-step reader.
 */
#include <string.h>

#include <hwtrace/error.h>

#include "decode/pt/native.h"
#include "decode/pt/packet.h"

#define TIP_OP  0x0du
#define FOLD_AT (1ull << 31) /* counts in the memo have 32 bits */
#define STRETCH (1u << 20)   /* bytes between two looks at the size of the memo */
#define AHEAD   (2 * HT_PT_PACKET_MAX) /* that many bytes can be read where a look ahead begins */

static int
plain(const struct ht_pt_engine *e)
{
	return e->place == HT_PLACE_ON && !e->packets_lost && !e->in_psb && !e->fup_async && !e->fup_binds &&
	       !e->n_bound && !e->next_mode && !e->block && e->mode == 64 && !e->change_due && !e->again &&
	       !e->gap_open && !e->psb_stands && !(e->errata & HT_PT_BDM64 && e->walk.branch_flags);
}

/* The bytes that are read ahead of `p` are there: the loop stops AHEAD bytes before the end. */
static inline uint64_t
load(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return __builtin_bswap64(__builtin_bswap64(v)); /* little-endian hosts only; see native_can() */
}

struct fast {
	struct ht_pt_engine *e;
	const uint8_t *p, *begin, *end;
	const uint8_t *tnt;  /* the packet that the outcomes in hand come from */
	uint64_t bits;       /* outcomes in hand, the oldest in bit 63, zeros behind the last */
	unsigned n;          /* how many */
	uint32_t state;
	size_t   limit;      /* of events */
	int      timed;      /* each packet has its time */
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
peek_tip(const uint8_t *p, uint64_t last_ip, uint64_t *ip)
{
	struct ht_pt_packet tip = { .count = p[0] >> 5 };
	unsigned n = ht_pt_ip_bytes[tip.count];

	if ((p[0] & 0x1f) != TIP_OP || n == 0xff || n == 0)
		return 0;
	tip.value = load(p + 1);
	if (n < 8)
		tip.value &= (1ull << 8 * n) - 1;
	ht_pt_packet_ip(&tip, last_ip, ip);
	return 1 + n;
}

/* The outcomes of the TNT packet at `p`: its size, or 0 when it is another packet (or PAD). */
static inline unsigned
peek_tnt(const uint8_t *p, uint64_t *bits, unsigned *n)
{
	uint64_t v = *p >> 1;
	unsigned size = 1;

	if (*p == HT_PT_LEAD_EXT && p[1] == 0xa3) {
		v = load(p) >> 16;
		size = 8;
	}
	if (*p & 1 || v < 2)
		return 0;
	*n = 63 - (unsigned)__builtin_clzll(v);
	*bits = v << (63 - *n) << 1;
	return size;
}

/* -- hops ------------------------------------------------------------------ */

/* Outcomes in hand, more of them from the packets ahead, and the target behind them. */
struct ahead {
	struct ht_hop_key key;
	uint64_t tail;          /* outcomes behind the first key.hold: can be more than fit */
	const uint8_t *p, *tnt; /* p: behind the target */
};

/* 0 when no target follows. */
static inline int
look_ahead(const struct fast *f, uint64_t last_ip, struct ahead *a)
{
	uint64_t bits;
	unsigned n, size;

	if (f->p >= f->end)
		return 0;
	a->key = (struct ht_hop_key){ .from = last_ip, .bits = f->bits, .n = f->n };
	a->tail = f->bits;
	a->tnt = f->tnt;
	for (a->p = f->p; a->p < f->end; a->p += size) {
		size = peek_tnt(a->p, &bits, &n);
		if (!size) {
			size = 1;
			if (*a->p == 0)
				continue;
			break;
		}
		if (a->key.n > HT_HOP_MAX)
			return 0;
		a->tnt = a->p;
		a->tail = bits;
		a->key.hold = a->key.n;
		a->key.bits |= bits >> a->key.n;
		a->key.n += n;
	}
	size = peek_tip(a->p, last_ip, &a->key.to);
	a->p += size;
	return size != 0;
}

/* Where hops have come to. */
struct stretch {
	const uint8_t *p, *tnt;
	uint64_t bits, last_ip;
	unsigned n;
	uint32_t next; /* in the log: what is likely to come */
};

static inline const uint8_t *
skip_padding(const struct fast *f, const uint8_t *p)
{
	while (*p == 0 && p < f->end)
		p++;
	return p;
}

/* As long as the log foresees them. 0, or -HT_ENOMEM. */
static inline __attribute__((always_inline)) int
follow_log(struct fast *f, struct stretch *s, int counting)
{
	struct ht_hops *hops = &f->e->hops;
	struct ht_walk *w = &f->e->walk;
	struct ht_hop *at = hops->at, *x = NULL;
	uint32_t *log = hops->log, *last = hops->last, next = s->next, now = hops->now;
	uint64_t ip = s->last_ip, bits = s->bits, more;
	const uint8_t *p = s->p;
	unsigned n = s->n, size, k;

	for (;;) {
		uint32_t i = log[next % HT_HOP_LOG];
		struct ht_hop *y = &at[i];
		uint64_t to = 0, tail = bits;
		__builtin_prefetch(&at[log[(next + 12) % HT_HOP_LOG]]);
		unsigned hold = 0;

		if (y->from != ip || p >= f->end)
			break;
		while (n < y->n) {
			size = p < f->end ? peek_tnt(p, &more, &k) : 0;
			if (!size && *p == 0 && p < f->end) {
				p++;
				continue;
			}
			if (!size)
				goto out;
			s->tnt = p;
			p += size;
			bits |= more >> n;
			tail = more;
			hold = n;
			n += k;
		}
		if (*p == 0)
			p = skip_padding(f, p);
		/* Sizes by branches, which are foreseen: the next packet need not wait. */
		if (*p == (TIP_OP | HT_PT_IPC_UPDATE_16 << 5)) {
			to = (ip & ~0xffffull) | (load(p + 1) & 0xffff);
			p += 3;
		} else if (*p == (TIP_OP | HT_PT_IPC_UPDATE_32 << 5)) {
			to = (ip & ~0xffffffffull) | (load(p + 1) & 0xffffffff);
			p += 5;
		} else {
			size = peek_tip(p, ip, &to);
			if (!size)
				break;
			p += size;
		}
		if (to != y->to || !ht_hop_fits_bits(y, bits))
			break;
		if (y->shape) {
			if (((y->shape & HT_HOP_RETURNS) && n != y->n) ||
			    ((y->shape & HT_HOP_POPS) && !ht_hop_fits_stack(y, &w->stack)) ||
			    !ht_return_stack_has_room(&w->stack, HT_HOP_ITEMS))
				break;
			if (y->shape & (HT_HOP_POPS | HT_HOP_PUSHES | HT_HOP_DROPS))
				ht_hop_take(y, &w->stack);
		}
		x = y;
		s->p = p;
		s->last_ip = ip = to;
		s->bits = bits = tail << (y->n - hold);
		s->n = n -= y->n;
		last[i] = now;
		log[now++ % HT_HOP_LOG] = i;
		next++;
		if (counting)
			y->count++;
		else if (y->count && ht_run_give(&f->e->memo.runs, y->count, w) < 0)
			return -HT_ENOMEM;
		if (!counting && w->out.n >= f->limit)
			break;
	}
out:
	hops->now = now;
	if (x)
		f->state = x->state;
	return 0;
}

/* The hop that comes next, by the index or made; NULL with *rc: as ht_hop_find(). */
static struct ht_hop *
look_up(struct fast *f, struct stretch *s, int *rc)
{
	struct ht_hops *hops = &f->e->hops;
	struct ht_return_stack *stack = &f->e->walk.stack;
	struct ahead a;
	struct ht_hop *x;

	f->p = s->p;
	f->bits = s->bits;
	f->n = s->n;
	f->tnt = s->tnt;
	*rc = 0;
	if (!look_ahead(f, s->last_ip, &a))
		return NULL;
	x = &hops->at[*ht_hop_slot(hops, &a.key)];
	if (!ht_hop_fits(x, &a.key, stack)) {
		x = ht_hop_find(hops, &a.key, rc);
		if (!x)
			return NULL;
	}
	s->p = a.p;
	s->tnt = a.tnt;
	s->bits = a.tail << (x->n - a.key.hold);
	s->n = a.key.n - x->n;
	s->last_ip = a.key.to;
	return x;
}

/* Execution is where a target has led. Hops from there, as many as there are. 1, or -HT_ENOMEM. */
static int
take_hops(struct fast *f)
{
	struct ht_pt_engine *e = f->e;
	struct ht_walk *w = &e->walk;
	struct ht_hops *hops = &e->hops;
	struct stretch s = { .p = f->p, .tnt = f->tnt, .bits = f->bits, .n = f->n,
		             .last_ip = e->last_ip };
	struct ht_hop *x;
	uint32_t now;
	int rc = 0;

	f->state = ht_memo_bare(&e->memo, f->state);
	while (w->out.n < f->limit) {
		if (!ht_return_stack_has_room(&w->stack, HT_HOP_ITEMS))
			ht_return_stack_shift(&w->stack);
		x = look_up(f, &s, &rc);
		if (!x)
			break;
		f->state = x->state;
		now = hops->now;
		s.next = hops->last[x - hops->at] + 1;
		hops->last[x - hops->at] = hops->now;
		hops->log[hops->now++ % HT_HOP_LOG] = (uint32_t)(x - hops->at);
		ht_hop_take(x, &w->stack);
		if (w->edges) {
			x->count++;
			rc = follow_log(f, &s, 1);
		} else {
			rc = x->count ? ht_run_give(&e->memo.runs, x->count, w) : 0;
			if (rc == 0 && w->out.n < f->limit)
				rc = follow_log(f, &s, 0);
		}
		if (rc < 0)
			break;
		ht_hops_judge(hops, hops->now - now - 1);
		if (hops->rest)
			break;
	}
	f->p = s.p;
	f->tnt = s.tnt;
	f->bits = s.bits;
	f->n = s.n;
	e->last_ip = s.last_ip;
	return rc < 0 ? rc : 1;
}

/* -- outcomes and targets ---------------------------------------------------- */

/* The target of the TIP packet at f->p, and hops from there.  1; 0: for the walker; -HT_ENOMEM. */
static inline int
take_tip(struct fast *f)
{
	uint64_t ip = 0;
	unsigned size = peek_tip(f->p, f->e->last_ip, &ip);
	uint32_t bits = 1;
	int taken, rc;

	if (!size)
		return 0;
	rc = ht_memo_target(&f->e->memo, &f->state, ip, &bits, &taken);
	if (!taken)
		return rc;
	f->e->last_ip = ip;
	f->p += size;
	if (f->timed)
		return 1;
	if (f->e->hops.rest) {
		f->e->hops.rest--;
		return 1;
	}
	return take_hops(f);
}

/* The memo has no answer: the walker takes the outcomes in hand. */
static int
walk_bits(struct fast *f)
{
	struct ht_pt_engine *e = f->e;
	unsigned n = f->n;

	e->offset = ht_pt_input_offset(&e->in) + (uint64_t)(f->tnt - f->begin);
	e->before = e->in.consumed + (uint64_t)(f->tnt - f->begin);
	leave(f);
	f->n = 0;
	return n ? ht_pt_take_bits(e, f->bits >> (64 - n), n) : 0;
}

/* What ht_memo_groups() has left over: as that. */
static int
take_slow_group(struct fast *f)
{
	unsigned k = f->n < HT_MEMO_GROUP ? f->n : HT_MEMO_GROUP, left;
	/* cppcheck-suppress shiftTooManyBits; f->n is not 0 */
	uint32_t group = 1u << k | (uint32_t)(f->bits >> (64 - k));
	int rc = ht_memo_outcomes(&f->e->memo, &f->state, &group);

	if (rc < 0)
		return rc;
	left = rc == 1 ? 0 : 31 - (unsigned)__builtin_clz(group);
	f->bits <<= k - left;
	f->n -= k - left;
	return rc;
}

/* All outcomes in hand. 1; 0 when the memo was left, or -HT_E... */
static int
take_bits(struct fast *f)
{
	int rc;

	for (;;) {
		rc = ht_memo_groups(&f->e->memo, &f->state, &f->bits, &f->n);
		if (rc < 0 || f->n == 0)
			return rc < 0 ? rc : 1;
		if (rc == 0)
			rc = take_slow_group(f);
		else
			rc = 2;
		if (rc == 2) {
			while (f->p < f->end && *f->p == 0)
				f->p++;
			rc = f->p < f->end ? take_tip(f) : 0;
		}
		if (rc < 0)
			return rc;
		if (rc == 0)
			return walk_bits(f);
	}
}

static int
take_cyc(struct fast *f)
{
	struct ht_pt_packet p;
	unsigned block = 0;
	int n = 1;

	if (!(f->p[0] & 4)) {
		if (f->timed)
			ht_pt_time_cycles(&f->e->time, f->p[0] >> 3);
	} else {
		n = ht_pt_packet_read(f->p, HT_PT_PACKET_MAX, &block, &p);
		if (n <= 0 || (n == 2 && f->e->errata & HT_PT_SKD007))
			return 0;
		ht_pt_time_packet(&f->e->time, &p);
	}
	f->p += n;
	return 1;
}

/* Packets from f->p to f->end.  0 where a packet is not for this reader, or -HT_E... */
static int
take_all(struct fast *f)
{
	struct ht_pt_engine *e = f->e;
	int rc = 1;
	unsigned size;

	while (rc == 1 && f->p < f->end && e->walk.out.n < f->limit) {
		f->p = ht_memo_short(&e->memo, &f->state, f->p, f->end);
		if (f->p == f->end)
			break;
		if (*f->p == 0) {
			f->p++;
			continue;
		}
		if ((*f->p & 3) == 3) {
			rc = take_cyc(f);
			continue;
		}
		if (f->timed)
			ht_pt_tell_time(e);
		size = peek_tnt(f->p, &f->bits, &f->n);
		if (size) {
			f->tnt = f->p;
			f->p += size;
			rc = take_bits(f);
		} else {
			rc = take_tip(f);
			if (rc == 1 && f->n)
				rc = take_bits(f);
		}
	}
	return rc < 0 ? rc : 0;
}

int
ht_pt_fold(struct ht_pt_engine *e)
{
	int rc = ht_memo_fold(&e->memo);

	return rc < 0 ? rc : ht_hops_fold(&e->hops);
}

int
ht_pt_forget(struct ht_pt_engine *e)
{
	int rc = ht_memo_reset(&e->memo);

	return rc < 0 ? rc : ht_hops_reset(&e->hops);
}

int
ht_pt_fast(struct ht_pt_engine *e, size_t limit)
{
	struct fast f = { .e = e, .limit = limit,
		          .timed = (e->walk.want & HT_DECODE_TIME) && !e->walk.edges };
	const uint8_t *bytes;
	int rc, full;
	size_t n;

	if (!plain(e))
		return 0;
	n = ht_pt_input_peek(&e->in, &bytes);
	if (n < 2 * AHEAD || !(bytes[0] == HT_PT_LEAD_EXT ? bytes[1] == 0xa3 : 1))
		return 0;
	if (n > STRETCH)
		n = STRETCH;
	f.p = f.begin = bytes;
	f.end = bytes + n - AHEAD;
	f.state = ht_memo_enter(&e->memo);
	if (!f.state)
		return -HT_ENOMEM;
	rc = take_all(&f);
	e->memo.since_fold += (uint64_t)(f.p - bytes) * 16;
	if (f.state)
		leave(&f);
	full = ht_memo_is_full(&e->memo) || ht_hops_are_full(&e->hops);
	if (rc < 0 || (e->memo.since_fold <= FOLD_AT && !full))
		return rc;
	e->memo.since_fold = 0;
	rc = ht_pt_fold(e);
	return rc == 0 && full ? ht_pt_forget(e) : rc;
}
