/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decoding a stream in stretches, see engine.h.
 *
 * A stretch starts at a PSB, whose PSB+ tells where execution is, in which mode
 * and when; it begins to count at the PSB behind it.  By then a flow packet has
 * put the place in front of a block, as it is for the stretch that comes from
 * before.  What a PSB+ cannot tell is noted there and compared: a gap that is
 * still open, code that time has not brought yet, a clock that ran ahead.  The
 * return stack is not compared: what lies on it is not needed, since a processor
 * compresses no return to a call in front of the last PSB, and where a trace does
 * so all the same, missed() says so.
 */
#include <string.h>

#include "decode/pt/native.h"

static int
find(const struct ht_stream *st, uint64_t from, uint64_t *warm, uint64_t *begin)
{
	struct ht_pt_input in;
	uint64_t at[2];

	ht_pt_input_init(&in, st);
	ht_pt_input_seek(&in, from);
	for (unsigned i = 0; i < 2; i++) {
		while (!ht_pt_input_find_psb(&in))
			if (!ht_pt_input_next_run(&in))
				return 0;
		at[i] = ht_pt_input_offset(&in);
		ht_pt_input_advance(&in, HT_PT_PACKET_MAX);
	}
	*warm = at[0];
	*begin = at[1];
	return 1;
}

static void
begin(struct ht_decoder *d, uint64_t offset)
{
	struct ht_pt_engine *e = d->state;

	ht_pt_input_seek(&e->in, offset);
	ht_pt_start(e);
	e->walk.unsure = 1;
}

static void
stop(struct ht_decoder *d, uint64_t offset)
{
	((struct ht_pt_engine *)d->state)->stop = offset;
}

static int
run(struct ht_decoder *d)
{
	struct ht_pt_engine *e = d->state;
	int rc = ht_pt_count(e);

	e->kept = 1;
	return rc < 0 ? rc : e->change_due;
}

/* What the next PSB sets anew in any case is left out. */
static void
stand(const struct ht_decoder *d, struct ht_pt_stance *s)
{
	const struct ht_pt_engine *e = d->state;

	memset(s, 0, sizeof(*s));
	s->offset = ht_pt_input_offset(&e->in);
	s->place = e->place;
	if (e->place == HT_PLACE_ON)
		s->ip = e->walk.ip;
	if (e->place == HT_PLACE_OFF)
		s->resume_ip = e->resume_ip;
	s->code_ns = e->code_ns;
	s->mode = e->mode;
	s->next_mode = e->next_mode;
	s->block = e->block;
	s->packets_lost = e->packets_lost;
	s->in_psb = e->in_psb;
	s->psb_stands = e->psb_stands;
	s->fup_binds = e->fup_binds;
	s->n_bound = e->n_bound;
	s->after_ovf = e->after_ovf;
	s->gap_open = e->gap_open;
	if (e->gap_open) {
		s->gap = e->gap;
		s->gap_before = e->gap_before;
	}
	s->branch_flags = e->walk.branch_flags;
	s->time = e->time;
	s->pid = d->pid;
	s->tid = d->tid;
	s->next_switch = e->next_switch;
	ht_view_mark(d->view, &s->view);
}

static void
note(struct ht_decoder *d)
{
	struct ht_pt_engine *e = d->state;

	stand(d, &e->begun);
}

static int
same_gap(const struct ht_gap *a, const struct ht_gap *b)
{
	return a->kind == b->kind && a->offset == b->offset && a->ip == b->ip && a->why == b->why;
}

static int
same_view(const struct ht_view_mark *a, const struct ht_view_mark *b)
{
	return a->pid == b->pid && a->changes == b->changes &&
	       a->kernel_changes == b->kernel_changes;
}

/* All but the cycles since the begin of the stream: they are told as differences. */
static int
same_time(const struct ht_pt_time *a, const struct ht_pt_time *b)
{
	return a->tsc == b->tsc && a->exact == b->exact && a->cycles == b->cycles &&
	       a->cbr == b->cbr && a->have_tma == b->have_tma &&
	       a->mtc_after_tma == b->mtc_after_tma && a->ctc_tsc == b->ctc_tsc &&
	       a->ctc == b->ctc && a->last_mtc == b->last_mtc;
}

static int
same(const struct ht_pt_stance *a, const struct ht_pt_stance *b)
{
	return a->offset == b->offset && a->place == b->place && a->ip == b->ip &&
	       a->resume_ip == b->resume_ip && a->code_ns == b->code_ns && a->mode == b->mode &&
	       a->next_mode == b->next_mode && a->block == b->block &&
	       a->packets_lost == b->packets_lost && a->in_psb == b->in_psb &&
	       a->psb_stands == b->psb_stands && a->fup_binds == b->fup_binds &&
	       a->n_bound == b->n_bound &&
	       a->after_ovf == b->after_ovf && a->gap_open == b->gap_open &&
	       a->gap_before == b->gap_before && same_gap(&a->gap, &b->gap) &&
	       a->branch_flags == b->branch_flags && a->pid == b->pid && a->tid == b->tid &&
	       a->next_switch == b->next_switch && same_view(&a->view, &b->view);
}

static int
meets(struct ht_decoder *d, const struct ht_decoder *after)
{
	const struct ht_pt_engine *e = d->state;
	const struct ht_pt_stance *begun = &((const struct ht_pt_engine *)after->state)->begun;
	struct ht_pt_stance now;

	stand(d, &now);
	if (!same(&now, begun))
		return 0;
	/* Where nothing changes any more, when it is does not matter. */
	return same_time(&now.time, &begun->time) ||
	       (ht_view_next_change(d->view) == UINT64_MAX && e->next_switch == e->n_switches);
}

static int
missed(const struct ht_decoder *d)
{
	return ((const struct ht_pt_engine *)d->state)->walk.missed;
}

const struct ht_engine_stretch ht_pt_stretch = {
	.find = find,
	.begin = begin,
	.stop = stop,
	.run = run,
	.note = note,
	.meets = meets,
	.missed = missed,
};
