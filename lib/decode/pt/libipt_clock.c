/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When is now?  libipt reads ahead: it fetches packets up to the next one that
 * the flow needs, and an event before the code in front of it is walked.  The
 * time it tells lags by one flow packet, which is too late where the address
 * space changed.  So the TSC packets of a segment are listed beforehand; one
 * holds as soon as the flow packet in front of it was used up: a TNT packet
 * with its last outcome, a TIP.PGE with the event that it makes.
 */
#include <hwtrace/pt_packet.h>

#include "base/vec.h"
#include "decode/pt/libipt.h"

#define NEAR_MARKS 4 /* a time that libipt told comes from one of so many around the next mark */

static void
clock_set(struct ht_libipt *s, uint64_t tsc)
{
	struct clock *c = &s->clock;
	uint64_t ns;

	if (c->valid && tsc == c->tsc)
		return;
	c->tsc = tsc;
	c->valid = 1;
	c->dirty = 1;
	if (!s->d->info->clock.valid)
		return;
	ns = ht_clock_tsc_to_ns(&s->d->info->clock, tsc);
	if (ns > c->ns)
		c->ns = ns;
}

/*
 * May what libipt says of MTC and CYC be believed?  Where no frequency of the
 * processor is known it guesses, from cycles and TSC packets of before, and may
 * run ahead of the next TSC packet and of changes of the code.
 */
static int
knows_time(const struct ht_libipt *s)
{
	const struct ht_cpu_info *cpu = &s->d->info->cpu;

	return cpu->nom_freq || (cpu->tsc_ctc_num && cpu->tsc_ctc_den);
}

static void
clock_ask(struct ht_libipt *s)
{
	uint64_t tsc;

	if (!knows_time(s))
		return;
	if (pt_insn_time(s->dec, &tsc, NULL, NULL) == 0 && (!s->clock.valid || tsc > s->clock.tsc))
		clock_set(s, tsc);
}

/* Marks up to and with number `i` hold. */
static void
clock_take(struct ht_libipt *s, size_t i)
{
	struct clock *c = &s->clock;

	if (i < c->next_mark)
		return;
	c->next_mark = i + 1;
	if (!c->valid || c->marks.at[i].tsc > c->tsc)
		clock_set(s, c->marks.at[i].tsc);
}

static int
packet_at(const struct ht_libipt *s, uint64_t offset, struct ht_pt_packet *p)
{
	unsigned block = 0;

	return offset < s->seg.size &&
	       ht_pt_packet_read(s->seg.data + offset, s->seg.size - offset, &block, p) > 0;
}

void
ht_libipt_clock_position(struct ht_libipt *s)
{
	struct clock *c = &s->clock;
	struct ht_pt_packet p;
	uint64_t pos;

	if (pt_insn_get_offset(s->dec, &pos) < 0 || pos == c->pos)
		return;
	/* libipt stops at a PSBEND when it reports state; no flow comes from that. */
	if (!packet_at(s, c->pos, &p) || p.kind != HT_PT_PSBEND)
		c->flow = c->pos;
	c->pos = pos;
}

/*
 * The marks between the flow packet that was used up and the next one: the one
 * that libipt took last, or the one in front of it, when that makes an event
 * which is still to come.
 */
static void
clock_take_behind(struct ht_libipt *s)
{
	struct clock *c = &s->clock;
	uint64_t end = c->flow + !c->ahead;
	size_t i = c->next_mark;

	while (i < c->marks.n && c->marks.at[i].offset < c->pos && c->marks.at[i].prev < end)
		i++;
	if (i > c->next_mark)
		clock_take(s, i - 1);
}

/* The marks that libipt has read and that are not later than `tsc`, a guess of its own. */
static void
clock_take_told(struct ht_libipt *s, uint64_t tsc)
{
	struct clock *c = &s->clock;
	size_t i = c->next_mark;

	while (i < c->marks.n && c->marks.at[i].offset < c->pos && c->marks.at[i].tsc <= tsc)
		i++;
	if (i > c->next_mark)
		clock_take(s, i - 1);
}

int
ht_libipt_clock_start(struct ht_libipt *s)
{
	struct clock *c = &s->clock;
	int r = ht_pt_marks_read(&c->marks, &s->seg);

	c->next_mark = 0;
	c->pos = c->flow = 0;
	c->bits = 0;
	c->ahead = 0;
	/* Without a clock nothing can be told from before: all changes count as made. */
	if (r == 0 && (!c->marks.n || !s->d->info->clock.valid))
		s->advance_to = UINT64_MAX;
	return r;
}

void
ht_libipt_clock_sync(struct ht_libipt *s, uint64_t offset)
{
	struct clock *c = &s->clock;
	size_t i = c->next_mark;

	c->bits = 0;
	c->ahead = 0;
	c->flow = offset;
	c->pos = offset;
	ht_libipt_clock_position(s);
	while (i < c->marks.n && c->marks.at[i].offset < offset)
		i++;
	/* TSC packets of this PSB+: the flow packet before them lies before it. */
	while (i < c->marks.n && c->marks.at[i].offset < c->pos &&
	       (c->marks.at[i].prev < offset || c->marks.at[i].prev_kind == HT_PT_BAD))
		i++;
	if (i > c->next_mark)
		clock_take(s, i - 1);
	clock_ask(s);
}

/* See what the flow packet is that libipt took with a branch. */
static void
look_at_flow(struct ht_libipt *s)
{
	struct clock *c = &s->clock;
	struct ht_pt_packet p;
	int known = packet_at(s, c->flow, &p);
	int outcomes = known && (p.kind == HT_PT_TNT_8 || p.kind == HT_PT_TNT_64);

	c->bits = outcomes ? p.count : 0;
	c->ahead = known && !outcomes && p.kind != HT_PT_TIP;
}

void
ht_libipt_clock_branch(struct ht_libipt *s, int one_outcome)
{
	struct clock *c = &s->clock;
	uint64_t pos = c->pos;

	ht_libipt_clock_position(s);
	if (c->pos != pos) {
		look_at_flow(s);
		clock_ask(s);
	}
	if (one_outcome && c->bits)
		c->bits--;
	if (!c->bits)
		clock_take_behind(s);
}

void
ht_libipt_clock_event(struct ht_libipt *s, const struct pt_event *ev)
{
	struct clock *c = &s->clock;
	size_t i, last = SIZE_MAX;

	ht_libipt_clock_position(s);
	c->ahead = 0;
	if (ev->has_tsc && !knows_time(s))
		clock_take_told(s, ev->tsc);
	else if (ev->has_tsc && (!c->valid || ev->tsc > c->tsc))
		clock_set(s, ev->tsc);
	if (ev->type != ptev_enabled)
		return;
	c->bits = 0;
	/* libipt stops at the next TIP.PGE, so the last one before `pos` made this event. */
	for (i = c->next_mark; i < c->marks.n && c->marks.at[i].offset < c->pos; i++)
		if (c->marks.at[i].prev_kind == HT_PT_TIP_PGE)
			last = i;
	if (last != SIZE_MAX)
		clock_take(s, last);
}

uint64_t
ht_libipt_clock_bound(const struct ht_libipt *s)
{
	const struct clock *c = &s->clock;

	/* The one after, when the next holds for the same moment. */
	for (size_t i = c->next_mark; i < c->marks.n; i++)
		if (c->marks.at[i].tsc > c->tsc)
			return ht_clock_tsc_to_ns(&s->d->info->clock, c->marks.at[i].tsc);
	return UINT64_MAX;
}

uint64_t
ht_libipt_clock_overflow(const struct ht_libipt *s)
{
	uint64_t at = s->clock.flow;
	struct ht_pt_packet p;

	for (; packet_at(s, at, &p) && at < s->clock.pos; at += p.size)
		if (p.kind == HT_PT_OVF)
			return at;
	return s->clock.flow;
}

int
ht_libipt_clock_by_psb(const struct ht_libipt *s)
{
	const struct clock *c = &s->clock;
	size_t i = c->next_mark > NEAR_MARKS ? c->next_mark - NEAR_MARKS : 0;

	for (; i < c->marks.n && i < c->next_mark + NEAR_MARKS; i++)
		if (c->marks.at[i].tsc == c->tsc)
			return c->marks.at[i].in_psb;
	return 0;
}
