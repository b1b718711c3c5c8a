/* SPDX-License-Identifier: BSD-2-Clause */
/* What each packet means for the place, and how a place that was lost is found again. */
#include <string.h>

#include <hwtrace/error.h>

#include "decode/pt/native.h"

uint64_t
ht_pt_to_ns(const struct ht_pt_engine *e, uint64_t tsc)
{
	const struct ht_clock *clock = &e->d->info->clock;

	return clock->valid && tsc ? ht_clock_tsc_to_ns(clock, tsc) : 0;
}

void
ht_pt_tell(struct ht_pt_engine *e, unsigned mask, struct ht_event ev)
{
	ht_walk_emit(&e->walk, mask, &ev);
}

/* There is one at nearly each packet: it is written in its place, not copied there. */
static inline void
tell_time(struct ht_pt_engine *e, unsigned kind, uint64_t a, uint64_t b, unsigned flags)
{
	struct ht_event *ev;

	if (!(e->walk.want & HT_DECODE_TIME))
		return;
	ev = ht_out_push(&e->walk.out);
	if (ev)
		*ev = (struct ht_event){ .kind = (uint8_t)kind, .a = a, .b = b, .flags = (uint8_t)flags };
	else
		e->walk.no_memory = 1;
}

/* Time and cycles up to here, in front of what is told next. */
void
ht_pt_tell_time(struct ht_pt_engine *e)
{
	struct ht_pt_time *t = &e->time;

	if (t->tsc != e->told_tsc) {
		e->told_tsc = t->tsc;
		tell_time(e, HT_EV_TIME, ht_pt_to_ns(e, t->tsc), t->tsc, e->time_by_psb ? HT_EV_F_SYNC : 0);
	}
	if (t->total_cycles != e->told_cycles) {
		tell_time(e, HT_EV_CYCLES, t->total_cycles - e->told_cycles, 0, 0);
		e->told_cycles = t->total_cycles;
	}
}

/* -- gaps ---------------------------------------------------------------- */

void
ht_pt_open_gap(struct ht_pt_engine *e, unsigned kind, uint64_t ip, const char *why)
{
	e->place = HT_PLACE_LOST;
	e->fup_async = e->fup_binds = 0;
	e->n_bound = 0;
	if (e->gap_open)
		return;
	e->gap_open = 1;
	e->gap_before = e->before;
	e->gap = (struct ht_gap){ .kind = (uint8_t)kind, .offset = e->offset, .ip = ip, .why = why,
		                  .ns_from = ht_pt_to_ns(e, e->time.tsc) };
}

/* The packet at hand cannot be, at the place. */
static void
contradict(struct ht_pt_engine *e, const char *why)
{
	ht_pt_open_gap(e, HT_GAP_MISMATCH, e->walk.ip, why);
}

/* The place is known again, or the stream is at its end: bytes up to the packet at hand were skipped. */
int
ht_pt_close_gap(struct ht_pt_engine *e)
{
	struct ht_event ev = { .kind = HT_EV_GAP, .a = e->gap.offset };
	int n;

	if (!e->gap_open)
		return 0;
	e->gap_open = 0;
	e->gap.bytes = 0;
	if (e->gap.kind != HT_GAP_OVERFLOW) {
		e->gap.bytes = e->offset - e->gap.offset;
		e->d->stats.bytes_skipped += e->before - e->gap_before;
	}
	e->gap.ns_to = ht_pt_to_ns(e, e->time.tsc);
	n = ht_decoder_add_gap(e->d, &e->gap);
	if (n < 0)
		return n;
	ev.b = e->gap.kind == HT_GAP_KILLED ? e->gap.ip : e->gap.bytes;
	ev.flags = e->gap.kind == HT_GAP_KILLED ? HT_EV_F_BLOCK : 0;
	ev.n = (uint32_t)n;
	ht_pt_tell(e, 0, ev);
	return 0;
}

/* The code did not allow what the packet says. */
static int
misfit(struct ht_pt_engine *e)
{
	const char *why = e->walk.why;
	unsigned kind = e->walk.fail_kind;

	if (kind == HT_GAP_NO_CODE)
		kind = (unsigned)ht_view_why(e->d->view, e->walk.ip, &why);
	ht_pt_open_gap(e, kind, e->walk.ip, why);
	/* What is on the return stack no longer belongs to the calls to come. */
	ht_walk_clear_stack(&e->walk);
	return 0;
}

static int
result(struct ht_pt_engine *e, int rc)
{
	if (rc != HT_WALK_MISFIT)
		return rc < 0 ? rc : 0;
	if (e->walk.fail_kind == HT_GAP_NO_CODE) {
		rc = ht_pt_find_later_code(e);
		if (rc != 0)
			return rc < 0 ? rc : 0;
	}
	return misfit(e);
}

/* -- the place ----------------------------------------------------------- */

/* Execution is at `ip`. */
static int
stand_at(struct ht_pt_engine *e, uint64_t ip)
{
	int rc = ht_pt_close_gap(e);

	if (rc < 0)
		return rc;
	ht_pt_tell_time(e);
	ht_walk_set(&e->walk, ip, e->mode);
	e->place = HT_PLACE_ON;
	e->after_ovf = 0;
	return 0;
}

/*
 * Is execution at `ip` no better known than where the gap began, since code is
 * missing there for the same reason?  Then the gap goes on: one that ends and
 * begins again at each target says no more.  Code that may be mapped soon has
 * its chance.
 */
static int
still_missing(struct ht_pt_engine *e, uint64_t ip)
{
	struct ht_view *view = e->d->view;
	struct ht_mapping map;
	const char *why;
	uint8_t byte;

	if (!e->gap_open || (e->gap.kind != HT_GAP_NO_CODE && e->gap.kind != HT_GAP_CODE_CHANGED))
		return 0;
	if (ht_view_read(view, ip, &byte, 1) > 0 || ht_view_why(view, ip, &why) != e->gap.kind ||
	    strcmp(why, e->gap.why) != 0)
		return 0;
	return ht_view_next_change(view) == UINT64_MAX || ht_view_find(view, ip, &map) == 0;
}

/* Where the place was lost, tracing is off now. */
static int
stand_off(struct ht_pt_engine *e)
{
	e->place = HT_PLACE_OFF;
	e->after_ovf = 0;
	e->resume_ip = 0;
	return ht_pt_close_gap(e);
}

static void
disable(struct ht_pt_engine *e, uint64_t from, uint64_t resume)
{
	ht_pt_tell(e, HT_DECODE_OTHER, (struct ht_event){ .kind = HT_EV_DISABLE, .a = from });
	e->place = HT_PLACE_OFF;
	e->resume_ip = resume;
}

static void
set_mode(struct ht_pt_engine *e, unsigned mode)
{
	if (mode == e->mode)
		return;
	e->mode = mode;
	ht_pt_tell(e, HT_DECODE_OTHER, (struct ht_event){ .kind = HT_EV_MODE, .n = mode });
}

static void
take_next_mode(struct ht_pt_engine *e)
{
	if (e->next_mode)
		set_mode(e, e->next_mode);
	e->next_mode = 0;
}

/* -- packets ------------------------------------------------------------- */

/* Address of a TIP* or FUP packet; 1 with *ip set, else 0. */
static int
take_ip(struct ht_pt_engine *e, const struct ht_pt_packet *p, uint64_t *ip)
{
	if (!ht_pt_packet_ip(p, e->last_ip, ip))
		return 0;
	e->last_ip = *ip;
	e->packet.count = HT_PT_IPC_FULL;
	e->packet.value = *ip;
	return 1;
}

static int
leave_psb(struct ht_pt_engine *e)
{
	int rc;

	if (!e->in_psb)
		return 0;
	e->in_psb = 0;
	/* A loss ends, and one that shows up now begins, where the PSB does. */
	e->offset = e->psb_offset;
	e->before = e->psb_before;
	if (e->place == HT_PLACE_ON && e->psb_mode && e->psb_mode != e->mode) {
		contradict(e, "a PSB+ states another mode than the code runs in");
		ht_walk_clear_stack(&e->walk);
		set_mode(e, e->psb_mode);
	}
	if (e->place == HT_PLACE_ON && e->psb_has_ip) {
		rc = ht_walk_leads_to(&e->walk, e->psb_ip);
		if (rc != 0)
			return rc < 0 ? rc : 0;
		contradict(e, "the code does not lead where a PSB+ says execution is");
		ht_walk_clear_stack(&e->walk);
	}
	/* A PSB+ that comes as tracing is enabled has an address too; its TIP.PGE is still to come. */
	if (e->place != HT_PLACE_LOST)
		return 0;
	if (e->psb_has_ip && still_missing(e, e->psb_ip))
		return 0;
	if (e->psb_has_ip && !(e->errata & HT_PT_BDM70 && ht_pt_enable_follows(e))) {
		e->psb_stands = 1;
		return stand_at(e, e->psb_ip);
	}
	if (e->after_ovf)
		return 0;
	return stand_off(e);
}

/* Padding and time may stand between any two packets. */
static int
may_stand_between(unsigned kind)
{
	switch (kind) {
	case HT_PT_PAD: case HT_PT_CYC: case HT_PT_MTC: case HT_PT_TSC: case HT_PT_TMA: case HT_PT_CBR:
	case HT_PT_MNT:
		return 1;
	default:
		return 0;
	}
}

/*
 * [PT 33.4.2.3 "Deferred TIPs"]: outcomes may overtake the targets of the indirect
 * branches between them.  The target must be the next packet that moves the place.
 */
static int
take_deferred_target(struct ht_pt_engine *e)
{
	struct ht_pt_packet p;
	const uint8_t *bytes;
	uint64_t ip;
	size_t n;
	int rc = HT_PT_NEED_MORE;

	while ((n = ht_pt_input_peek(&e->in, &bytes)) > 0) {
		unsigned block = e->block;

		rc = ht_pt_packet_read(bytes, n, &block, &p);
		if (rc <= 0 || (p.kind != HT_PT_TIP && !may_stand_between(p.kind)))
			break;
		ht_pt_input_advance(&e->in, (size_t)rc);
		if (p.kind != HT_PT_TIP) {
			ht_pt_take_packet(e, &p);
			rc = HT_PT_NEED_MORE;
			continue;
		}
		if (!take_ip(e, &p, &ip))
			break;
		return result(e, ht_walk_target(&e->walk, ip, e->mode));
	}
	e->walk.fail_kind = HT_GAP_MISMATCH;
	e->walk.why = "the trace has an outcome where the code branches to a target that is not told";
	if (rc == HT_PT_NEED_MORE) {
		e->walk.fail_kind = e->in.at + 1 < e->in.n_chunks ? HT_GAP_AUX_LOST : HT_GAP_CUT;
		e->walk.why = "the trace ends in front of a target that outcomes have overtaken";
	}
	return misfit(e);
}

/* Outcomes, the oldest in bit count-1, one by one. */
int
ht_pt_take_bits(struct ht_pt_engine *e, uint64_t bits, unsigned count)
{
	int rc;

	while (count-- > 0) {
		while ((rc = ht_walk_outcome(&e->walk, (int)(bits >> count & 1))) == 0) {
			rc = take_deferred_target(e);
			if (rc < 0 || e->place != HT_PLACE_ON)
				return rc;
		}
		if (rc < 0) {
			e->packet = (struct ht_pt_packet){ .kind = HT_PT_TNT_64, .count = (uint8_t)(count + 1),
				.value = bits & ((2ull << count) - 1) };
			return result(e, rc);
		}
	}
	return 0;
}

static int
take_tnt(struct ht_pt_engine *e, const struct ht_pt_packet *p)
{
	e->psb_stands = 0;
	if (e->place == HT_PLACE_LOST) {
		e->after_ovf &= !(e->errata & HT_PT_SKD010);
		return 0;
	}
	if (e->place == HT_PLACE_OFF) {
		ht_pt_open_gap(e, HT_GAP_MISMATCH, 0, "branch outcomes while tracing is disabled");
		return 0;
	}
	e->fup_async = 0;
	ht_pt_tell_time(e);
	return ht_pt_take_bits(e, p->value, p->count);
}

static void
tell_bound(struct ht_pt_engine *e, uint64_t ip)
{
	for (unsigned i = 0; i < e->n_bound; i++) {
		if (e->bound[i].kind == HT_EV_PTWRITE)
			e->bound[i].b = ip;
		if (e->bound[i].kind == HT_EV_TX)
			e->walk.branch_flags = e->bound[i].n & 1 ? HT_BR_IN_TX : 0;
		ht_pt_tell(e, HT_DECODE_OTHER, e->bound[i]);
	}
	e->n_bound = 0;
}

/* Does a transaction abort wait for its FUP? */
static int
aborts(const struct ht_pt_engine *e)
{
	for (unsigned i = 0; i < e->n_bound; i++)
		if (e->bound[i].kind == HT_EV_TX && e->bound[i].n & 2)
			return 1;
	return 0;
}

static int
take_fup(struct ht_pt_engine *e, const struct ht_pt_packet *p)
{
	uint64_t ip;
	/* [PT 33.4.2.8 "MODE Packets"]: with event trace, one for the interrupt flag has a FUP. */
	int rc, binds = e->fup_binds || e->next_mode;

	if (!take_ip(e, p, &ip)) {
		if (e->place != HT_PLACE_ON || e->in_psb)
			return 0;
		if (!e->fup_binds)
			contradict(e, "an event at a place that the trace does not tell");
		tell_bound(e, e->walk.ip); /* none where it is contradicted */
		e->fup_binds = 0;
		return 0;
	}
	if (e->in_psb) {
		e->psb_has_ip = 1;
		e->psb_ip = ip;
		return 0;
	}
	e->psb_stands = 0;
	if (e->place == HT_PLACE_OFF) {
		tell_bound(e, ip);
		e->fup_binds = 0;
		return 0;
	}
	if (e->place == HT_PLACE_LOST) {
		if (e->after_ovf && e->errata & HT_PT_APL12 && ht_pt_off_behind(e))
			return stand_off(e);
		if (still_missing(e, ip)) {
			tell_bound(e, ip);
			e->fup_binds = 0;
			return 0;
		}
		binds |= e->after_ovf;
		take_next_mode(e);
		rc = stand_at(e, ip);
		if (rc < 0)
			return rc;
	} else {
		ht_pt_tell_time(e);
		if (e->errata & HT_PT_BDM64 && aborts(e) && ht_walk_leads_to(&e->walk, ip) == 0)
			ht_walk_set(&e->walk, ip, e->mode); /* the outcome before was wrong */
		rc = ht_walk_to(&e->walk, ip);
		if (rc < 0)
			return result(e, rc);
		ip = e->walk.ip;
		take_next_mode(e);
		ht_walk_mode(&e->walk, e->mode);
	}
	tell_bound(e, ip);
	e->fup_binds = 0;
	e->fup_async = !binds;
	e->fup_ip = ip;
	return 0;
}

/* A TIP that is no branch of the code: interrupt, fault, signal, abort. */
static int
take_async(struct ht_pt_engine *e, uint64_t ip)
{
	e->fup_async = 0;
	ht_pt_tell(e, HT_DECODE_OTHER, (struct ht_event){ .kind = HT_EV_ASYNC, .a = e->fup_ip, .b = ip });
	take_next_mode(e);
	ht_walk_set(&e->walk, ip, e->mode);
	return 0;
}

int
ht_pt_take_target(struct ht_pt_engine *e, uint64_t ip)
{
	int rc = ht_walk_target(&e->walk, ip, e->next_mode ? e->next_mode : e->mode);

	take_next_mode(e);
	return result(e, rc);
}

static int
take_tip(struct ht_pt_engine *e, const struct ht_pt_packet *p)
{
	uint64_t ip;

	e->psb_stands = 0;
	if (!take_ip(e, p, &ip)) {
		if (e->place == HT_PLACE_ON)
			contradict(e, "a branch whose target the trace does not tell");
		return 0;
	}
	if (e->place == HT_PLACE_LOST) {
		if (e->after_ovf && !(e->errata & HT_PT_SKD010))
			return 0; /* of a branch before the loss */
		take_next_mode(e);
		return still_missing(e, ip) ? 0 : stand_at(e, ip);
	}
	if (e->place == HT_PLACE_OFF) {
		ht_pt_open_gap(e, HT_GAP_MISMATCH, 0, "a branch target while tracing is disabled");
		return 0;
	}
	ht_pt_tell_time(e);
	if (e->fup_async)
		return take_async(e, ip);
	if (e->errata & HT_PT_BDM64 && e->walk.branch_flags)
		ip = ht_pt_true_target(e, ip);
	return ht_pt_take_target(e, ip);
}

static int
take_pge(struct ht_pt_engine *e, const struct ht_pt_packet *p)
{
	int rc, psb_stands = e->psb_stands;
	unsigned flags;
	uint64_t ip;

	e->psb_stands = 0;
	if (!take_ip(e, p, &ip)) {
		ht_pt_open_gap(e, HT_GAP_MISMATCH, 0,
		               "tracing is enabled at a place that the trace does not tell");
		return 0;
	}
	take_next_mode(e);
	if (e->place == HT_PLACE_ON) {
		if (psb_stands && ip == e->walk.ip)
			return 0; /* the PSB+ in front of it has said so already */
		contradict(e, "tracing is enabled twice");
	}
	flags = e->place == HT_PLACE_OFF && ip == e->resume_ip ? HT_EV_F_RESUME : 0;
	rc = stand_at(e, ip);
	if (rc == 0)
		ht_pt_tell(e, HT_DECODE_OTHER, (struct ht_event){
			.kind = HT_EV_ENABLE, .b = ip, .flags = (uint8_t)flags });
	return rc;
}

static int
take_pgd(struct ht_pt_engine *e, const struct ht_pt_packet *p)
{
	uint64_t ip = 0, from, resume;
	int has_ip = take_ip(e, p, &ip), rc;

	e->next_mode = 0;
	if (e->place == HT_PLACE_LOST) {
		if (e->after_ovf && !(e->errata & (HT_PT_APL11 | HT_PT_SKD010)))
			return 0;
		return stand_off(e);
	}
	if (e->place == HT_PLACE_OFF) {
		ht_pt_open_gap(e, HT_GAP_MISMATCH, 0, "tracing is disabled twice");
		return 0;
	}
	ht_pt_tell_time(e);
	if (e->fup_async && e->errata & HT_PT_SKD022 && ht_pt_enters_vm(e, e->fup_ip))
		e->fup_async = 0;
	if (e->fup_async) {
		e->fup_async = 0;
		disable(e, e->fup_ip, e->fup_ip);
		return 0;
	}
	rc = ht_walk_disable(&e->walk, has_ip, ip, &from, &resume);
	if (rc < 0)
		return result(e, rc);
	disable(e, from, resume);
	return 0;
}

/* No packet comes between an event and its FUP, or a change of mode and its branch. */
static void
miss_rest(struct ht_pt_engine *e, int branches)
{
	if (e->fup_binds == FUP_MAY_BIND || e->place != HT_PLACE_ON) {
		tell_bound(e, e->place == HT_PLACE_ON ? e->walk.ip : 0);
		e->fup_binds = 0;
	}
	if (e->place != HT_PLACE_ON)
		return;
	if (e->fup_binds || e->n_bound)
		contradict(e, "an event without the FUP that says where it was");
	else if (e->next_mode && !branches)
		contradict(e, "a change of mode without the branch that makes it");
}

static int
take_psb(struct ht_pt_engine *e)
{
	miss_rest(e, 0);
	e->last_ip = 0;
	e->in_psb = 1;
	e->psb_has_ip = 0;
	e->psb_mode = 0;
	e->psb_offset = e->offset;
	e->psb_before = e->before;
	e->packets_lost = 0;
	e->fup_binds = e->fup_async = 0;
	e->next_mode = 0;
	e->n_bound = 0;
	return 0;
}

static int
take_ovf(struct ht_pt_engine *e)
{
	e->in_psb = 0; /* a PSB+ that overflowed has no PSBEND */
	if (e->gap_open && e->gap.kind != HT_GAP_OVERFLOW) {
		int rc = ht_pt_close_gap(e);

		if (rc < 0)
			return rc;
	}
	ht_pt_open_gap(e, HT_GAP_OVERFLOW, e->place == HT_PLACE_ON ? e->walk.ip : 0,
	               "the trace unit ran out of buffer");
	e->after_ovf = 1;
	e->next_mode = 0;
	ht_walk_clear_stack(&e->walk);
	return 0;
}

static void
take_exec_mode(struct ht_pt_engine *e, unsigned mode)
{
	if (e->in_psb) {
		e->psb_mode = mode;
		if (e->place != HT_PLACE_ON)
			set_mode(e, mode);
	} else {
		e->next_mode = mode;
	}
}

/* Tell `ev` at the place of the FUP that follows (`binds`), else at once. */
static void
bind(struct ht_pt_engine *e, int binds, struct ht_event ev)
{
	if (!binds) {
		ht_pt_tell(e, HT_DECODE_OTHER, ev);
		return;
	}
	if (e->n_bound < sizeof(e->bound) / sizeof(*e->bound))
		e->bound[e->n_bound++] = ev;
}

static void
take_tsx(struct ht_pt_engine *e, const struct ht_pt_packet *p)
{
	unsigned in = !!(p->flags & HT_PT_F_INTX), aborted = !!(p->flags & HT_PT_F_ABORT);
	struct ht_event ev = { .kind = HT_EV_TX, .n = in | aborted << 1 };

	if (e->in_psb || e->place != HT_PLACE_ON) {
		if ((e->walk.branch_flags != 0) != in)
			ht_pt_tell(e, HT_DECODE_OTHER, ev);
		e->walk.branch_flags = in ? HT_BR_IN_TX : 0;
		return;
	}
	bind(e, 1, ev);
	/* An abort is a branch: its TIP follows the FUP. */
	if (!aborted && !e->fup_binds)
		e->fup_binds = FUP_MAY_BIND;
}

/* Other page tables, maybe of another process: the batch ends in front of its code. */
static void
look_at_context(struct ht_pt_engine *e, uint64_t cr3)
{
	int32_t pid = e->d->stream->cpu == -1 ? -2 : ht_session_context(e->d->session, cr3);

	e->moved = pid != -2 && pid != e->d->pid;
	e->pid_due = pid;
	e->change_due |= e->moved;
}

/* Packets that do not move the place. */
static int
take_other(struct ht_pt_engine *e, const struct ht_pt_packet *p)
{
	switch (p->kind) {
	case HT_PT_MODE_EXEC:
		take_exec_mode(e, (unsigned)p->value);
		break;
	case HT_PT_MODE_TSX:
		take_tsx(e, p);
		break;
	case HT_PT_PIP:
		look_at_context(e, p->value);
		ht_pt_tell(e, HT_DECODE_OTHER, (struct ht_event){ .kind = HT_EV_CONTEXT, .a = p->value });
		break;
	case HT_PT_VMCS:
		ht_pt_tell(e, HT_DECODE_OTHER, (struct ht_event){ .kind = HT_EV_CONTEXT, .b = p->value });
		break;
	case HT_PT_STOP: /* behind a TIP.PGD */
		if (e->place == HT_PLACE_ON)
			contradict(e, "tracing is stopped where it was not disabled");
		break;
	case HT_PT_MWAIT: /* its FUP comes with the EXSTOP, if the processor does stop */
		if (!e->fup_binds)
			e->fup_binds = FUP_MAY_BIND;
		break;
	case HT_PT_PTW:
		bind(e, p->flags & HT_PT_F_IP, (struct ht_event){ .kind = HT_EV_PTWRITE, .a = p->value });
		/* fallthrough */
	case HT_PT_EXSTOP:
	case HT_PT_BEP:
	case HT_PT_CFE:
	case HT_PT_TRIG:
		if (p->flags & HT_PT_F_IP)
			e->fup_binds = 1;
		break;
	default:
		break;
	}
	return 0;
}

/* The view and its code as of the time now; the batch ends in front of a change. */
static void
look_at_clock(struct ht_pt_engine *e)
{
	uint64_t ns = ht_pt_to_ns(e, e->time.tsc);

	if (ns && (ht_view_next_change(e->d->view) <= ns ||
	           (e->next_switch < e->n_switches && e->switches[e->next_switch].ns <= ns)))
		e->change_due = 1;
}

static int
take_time(struct ht_pt_engine *e, const struct ht_pt_packet *p)
{
	ht_pt_time_packet(&e->time, p);
	e->time_by_psb = e->in_psb && e->place == HT_PLACE_ON;
	if (p->kind == HT_PT_CBR) {
		ht_pt_tell_time(e);
		ht_pt_tell(e, HT_DECODE_TIME, (struct ht_event){
			.kind = HT_EV_CBR, .n = (uint32_t)p->value & 0xff });
	} else if (p->kind != HT_PT_TMA) {
		look_at_clock(e);
	}
	return 0;
}

int
ht_pt_take_packet(struct ht_pt_engine *e, const struct ht_pt_packet *p)
{
	uint64_t offset = e->offset, before = e->before;
	int rc;

	switch (p->kind) {
	case HT_PT_PAD:
		return 0;
	case HT_PT_TSC: case HT_PT_TMA: case HT_PT_MTC: case HT_PT_CYC: case HT_PT_CBR:
		return take_time(e, p);
	case HT_PT_PSB:
		return take_psb(e);
	case HT_PT_PSBEND:
		return leave_psb(e);
	case HT_PT_OVF:
		return take_ovf(e);
	case HT_PT_FUP:
		return take_fup(e, p);
	case HT_PT_TNT_8: case HT_PT_TNT_64: case HT_PT_TIP: case HT_PT_TIP_PGE: case HT_PT_TIP_PGD:
		break;
	default:
		return take_other(e, p);
	}
	rc = leave_psb(e); /* these end a PSB+ whose PSBEND is missing */
	if (rc < 0)
		return rc;
	e->offset = offset;
	e->before = before;
	miss_rest(e, p->kind != HT_PT_TNT_8 && p->kind != HT_PT_TNT_64);
	switch (p->kind) {
	case HT_PT_TIP:
		return take_tip(e, p);
	case HT_PT_TIP_PGE:
		return take_pge(e, p);
	case HT_PT_TIP_PGD:
		return take_pgd(e, p);
	default:
		return take_tnt(e, p);
	}
}
