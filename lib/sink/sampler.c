/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "sink/sampler.h"

/* -- blocks -------------------------------------------------------------- */

#define BLOCK_SLOTS   (1u << 14)
#define ARENA_MAX     (32u << 20) /* all is forgotten when the lengths take more */
#define BLOCK_READ    4096

struct slot {
	uint64_t a, b, space;
	uint32_t n;
	uint32_t at; /* in lengths */
	unsigned bits;
};

struct block_cache {
	struct ht_disasm *disasm;
	struct { uint8_t *at; size_t n, cap; } lengths;
	struct slot       slots[BLOCK_SLOTS];
};

struct block_cache *
block_cache_new(enum ht_arch arch)
{
	struct block_cache *c = calloc(1, sizeof(*c));

	if (c && ht_disasm_new(arch, &c->disasm) < 0) {
		free(c);
		return NULL;
	}
	return c;
}

void
block_cache_free(struct block_cache *c)
{
	if (!c)
		return;
	ht_disasm_free(c->disasm);
	ht_vec_free(&c->lengths);
	free(c);
}

/* Lengths of the `n` instructions from `a` on, to lengths[at...]; what cannot be read gets length 0. */
static void
measure(struct block_cache *c, struct ht_view *view, uint64_t a, uint32_t n, uint8_t *out)
{
	uint8_t buf[BLOCK_READ];
	uint32_t i = 0;

	while (i < n) {
		size_t have = view ? ht_view_read(view, a, buf, sizeof(buf)) : 0, pos = 0;

		while (i < n) {
			unsigned len;

			if (sizeof(buf) - pos < HT_INSN_MAX && have == sizeof(buf) && pos)
				break; /* may be cut by the buffer: read on from here */
			len = ht_disasm_length(c->disasm, buf + pos, have - pos);
			if (!len) {
				memset(out + i, 0, n - i);
				return;
			}
			out[i++] = (uint8_t)len;
			pos += len;
		}
		a += pos;
	}
}

/* NULL when out of memory. */
static const uint8_t *
block_lengths(struct block_cache *c, struct ht_view *view, uint64_t space, unsigned bits,
              const struct ht_event *ev)
{
	uint64_t h = (ev->a ^ space) * 0x9e3779b97f4a7c15ull;
	struct slot *s = &c->slots[h >> 50 & (BLOCK_SLOTS - 1)];

	if (s->a == ev->a && s->n == ev->n && s->space == space && s->b == ev->b && s->bits == bits &&
	    c->lengths.n)
		return c->lengths.at + s->at;
	if (c->lengths.n > ARENA_MAX) {
		memset(c->slots, 0, sizeof(c->slots));
		c->lengths.n = 0;
	}
	if (ht_vec_reserve(&c->lengths, c->lengths.n + ev->n) < 0)
		return NULL;
	*s = (struct slot){ ev->a, ev->b, space, ev->n, (uint32_t)c->lengths.n, bits };
	ht_disasm_mode(c->disasm, bits);
	measure(c, view, ev->a, ev->n, c->lengths.at + s->at);
	c->lengths.n += ev->n;
	return c->lengths.at + s->at;
}

/* -- time ---------------------------------------------------------------- */

/* The flow used a packet: the time read before it holds from here on. */
static inline void
confirm(struct sampler *s)
{
	s->tsc_confirmed = s->tsc_read;
	if (s->tsc_confirmed > s->tsc_shown)
		s->tsc_shown = s->tsc_confirmed;
}

/* Trace begins: perf estimates the time by instructions since the last one known. */
static void
confirm_begin(struct sampler *s)
{
	uint64_t est = s->insns_since * 2;

	s->tsc_confirmed = s->tsc_read;
	if (s->cbr && s->nom_freq)
		est = est * s->nom_freq / s->cbr;
	s->tsc_shown = s->tsc_read ? s->tsc_confirmed + est : 0;
}

/* -- samples ------------------------------------------------------------- */

static void
put(struct sampler *s, unsigned kind, uint64_t ip, uint64_t addr, unsigned flags, unsigned size,
    uint64_t period)
{
	s->out[s->n++] = (struct ht_sample){
		.ip = ip, .addr = addr, .tsc = s->tsc_shown, .flags = (uint16_t)flags,
		.kind = (uint8_t)kind, .size = (uint8_t)size, .period = (uint32_t)period
	};
}

static inline void
put_branch(struct sampler *s, uint64_t ip, uint64_t addr, unsigned flags, unsigned size)
{
	const struct ht_merge_config *c = s->config;

	/* From nowhere to nowhere (a call to address 0 that faulted) tells nothing. */
	if (c->branches && (ip || addr) && (!c->branch_flags || flags & c->branch_flags))
		put(s, HT_SAMPLE_BRANCH, ip, addr, flags, size, 1);
}

/* The first byte of SYSCALL and SYSRET class instructions tells INT and IRET from the others. */
static unsigned
privileged_flags(struct ht_view *view, uint64_t ip, int leaves)
{
	uint8_t b[HT_INSN_MAX];
	size_t n = view ? ht_view_read(view, ip, b, sizeof(b)) : 0, i = 0;

	while (i + 1 < n && (b[i] == 0x66 || b[i] == 0xf2 || b[i] == 0xf3 || (b[i] & 0xf0) == 0x40))
		i++;
	if (leaves)
		return HT_SF_BRANCH | HT_SF_CALL | (n && b[i] != 0x0f ? HT_SF_INT : HT_SF_SYSCALL);
	if (n && (b[i] == 0xca || b[i] == 0xcb))
		return HT_SF_BRANCH | HT_SF_RETURN;
	return HT_SF_BRANCH | HT_SF_RETURN | (n && b[i] == 0xcf ? HT_SF_INT : HT_SF_SYSCALL);
}

static unsigned
class_flags(struct ht_view *view, const struct ht_event *ev, unsigned insn)
{
	static const uint16_t flags[HT_INSN_CLASS_COUNT] = {
		[HT_INSN_COND] = HT_SF_BRANCH | HT_SF_COND,
		[HT_INSN_JUMP] = HT_SF_BRANCH,
		[HT_INSN_CALL] = HT_SF_BRANCH | HT_SF_CALL,
		[HT_INSN_JUMP_IND] = HT_SF_BRANCH,
		[HT_INSN_CALL_IND] = HT_SF_BRANCH | HT_SF_CALL,
		[HT_INSN_RET] = HT_SF_BRANCH | HT_SF_RETURN,
		[HT_INSN_FAR] = HT_SF_BRANCH | HT_SF_CALL,
	};

	if (insn == HT_INSN_SYSCALL || insn == HT_INSN_SYSRET)
		return privileged_flags(view, ev->a, insn == HT_INSN_SYSCALL);
	return insn < HT_INSN_CLASS_COUNT ? flags[insn] : 0;
}

static inline void
count_insn(struct sampler *s, uint64_t ip, uint64_t addr, unsigned flags, unsigned size)
{
	s->since_insn++;
	if (s->since_insn >= s->config->insn_period) {
		put(s, HT_SAMPLE_INSN, ip, addr, flags | (s->in_tx & 1 ? HT_SF_IN_TX : 0), size, s->since_insn);
		s->since_insn = 0;
	}
}

/* List instructions of the current block but for the last `keep`; stops when out[] is nearly full. */
static void
list_block(struct sampler *s, uint32_t keep)
{
	while (s->left > keep && s->n < SAMPLER_OUT - 4) {
		unsigned len = s->lengths ? *s->lengths++ : 0;

		if (s->left == 1)
			s->ip = s->block.b; /* right even where a length was not to be had */
		count_insn(s, s->ip, 0, 0, s->left == 1 && s->block.size ? s->block.size : len);
		s->ip += len;
		s->left--;
	}
}

static inline int
confirms(const struct ht_event *ev)
{
	return ev->flags & HT_BR_TRACE_OFF || (ev->insn != HT_INSN_JUMP && ev->insn != HT_INSN_CALL);
}

static void
on_branch(struct sampler *s, struct ht_view *view, const struct ht_event *ev)
{
	unsigned flags = class_flags(view, ev, ev->insn);
	int taken = ev->flags & HT_BR_TAKEN;
	uint64_t to = taken ? ev->b : 0;

	if (confirms(ev))
		confirm(s);
	if (ev->flags & HT_BR_TRACE_OFF)
		flags |= HT_SF_END;
	if (ev->flags & HT_BR_ABORT)
		flags = HT_SF_BRANCH | HT_SF_TX_ABORT;
	if (s->left) {
		s->left = 0;
		count_insn(s, ev->a, to, flags, ev->size);
	}
	if (taken)
		put_branch(s, ev->a, to, flags | (s->in_tx & 1 ? HT_SF_IN_TX : 0), ev->size);
	s->off_told = !!(ev->flags & HT_BR_TRACE_OFF);
}

static void
on_off(struct sampler *s, const struct ht_event *ev)
{
	if (!s->off_told) {
		confirm(s);
		put_branch(s, ev->a, ev->b, HT_SF_BRANCH | HT_SF_ASYNC | HT_SF_END, 0);
	}
	s->off_told = 0;
}

static void
on_async(struct sampler *s, const struct ht_event *ev)
{
	unsigned flags = s->in_tx & 2 ? HT_SF_BRANCH | HT_SF_TX_ABORT
	    : ev->b ? HT_SF_BRANCH | HT_SF_CALL | HT_SF_ASYNC | HT_SF_INT
	            : HT_SF_BRANCH | HT_SF_ASYNC | HT_SF_END;

	confirm(s);
	put_branch(s, ev->a, ev->b, flags, 0);
	s->in_tx &= 1;
	s->off_told = !ev->b;
}

static void
on_event(struct sampler *s, struct ht_view *view, const struct ht_event *ev)
{
	switch (ev->kind) {
	case HT_EV_TIME:
		s->tsc_read = ev->b;
		s->insns_since = 0;
		if (ev->flags & HT_EV_F_SYNC)
			confirm(s); /* a place that perf stops at */
		break;
	case HT_EV_BRANCH:
		on_branch(s, view, ev);
		break;
	case HT_EV_ENABLE:
		confirm_begin(s);
		s->off_told = 0;
		put_branch(s, 0, ev->b, HT_SF_BRANCH | HT_SF_BEGIN, 0);
		break;
	case HT_EV_DISABLE:
		on_off(s, ev);
		break;
	case HT_EV_ASYNC:
		on_async(s, ev);
		break;
	case HT_EV_TX:
		s->in_tx = ev->n;
		if (s->config->transactions)
			put(s, HT_SAMPLE_TX, ev->a, 0, ev->n & 1 ? HT_SF_IN_TX : 0, 0, 1);
		break;
	case HT_EV_CBR:
		s->cbr = ev->n;
		break;
	case HT_EV_MODE:
		s->bits = ev->n;
		break;
	case HT_EV_PTWRITE:
		if (s->config->ptwrites)
			put(s, HT_SAMPLE_PTW, ev->b, ev->a, 0, 0, 1);
		break;
	case HT_EV_GAP:
		put(s, HT_SAMPLE_GAP, 0, ev->n, 0, 0, 1);
		s->off_told = 0;
		break;
	}
}

static void
on_block(struct sampler *s, struct ht_view *view, uint64_t space, const struct ht_event *ev)
{
	s->insns_since += ev->n;
	if (!s->config->insn_period)
		return;
	s->block = *ev;
	s->block_bits = s->bits ? s->bits : 64;
	s->ip = ev->a;
	s->left = ev->n;
	s->lengths = ev->n > 1 ? block_lengths(s->blocks, view, space, s->block_bits, ev) : NULL;
	list_block(s, ev->insn != HT_INSN_OTHER);
}

/* Time, ratio and mode may stand between a block and its branch. */
static inline int
ends_block(const struct ht_event *ev)
{
	return ev->kind != HT_EV_BRANCH && ev->kind != HT_EV_TIME && ev->kind != HT_EV_CBR &&
	       ev->kind != HT_EV_MODE && ev->kind != HT_EV_CYCLES;
}

/* The cache belongs to all streams: what it gave out earlier may have moved since. */
static void
resume_block(struct sampler *s, struct ht_view *view, uint64_t space)
{
	if (!s->left || s->block.n < 2)
		return;
	s->lengths = block_lengths(s->blocks, view, space, s->block_bits, &s->block);
	if (s->lengths)
		s->lengths += s->block.n - s->left;
}

int
sampler_convert(struct sampler *s, struct ht_view *view, uint64_t space, const struct ht_event *ev,
                int at, int n)
{
	resume_block(s, view, space);
	list_block(s, s->block.insn != HT_INSN_OTHER);
	if (s->left > 1)
		return at;
	for (; at < n; at++) {
		if (s->left) {
			list_block(s, ends_block(&ev[at]) ? 0 : s->block.insn != HT_INSN_OTHER);
			if (s->left > 1 || (s->left && ends_block(&ev[at])))
				return at;
		}
		if (s->n > SAMPLER_OUT - 4)
			return at;
		if (ev[at].kind == HT_EV_BLOCK)
			on_block(s, view, space, &ev[at]);
		else
			on_event(s, view, &ev[at]);
	}
	return at;
}

void
sampler_finish(struct sampler *s, struct ht_view *view, uint64_t space)
{
	resume_block(s, view, space);
	list_block(s, 0);
}
