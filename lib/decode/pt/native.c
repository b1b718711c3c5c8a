/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include <hwtrace/error.h>

#include "decode/pt/native.h"

#define LOOK_AHEAD (1u << 20) /* bytes that a time stamp is looked for in */

static uint64_t
to_ns(const struct ht_pt_engine *e, uint64_t tsc)
{
	const struct ht_clock *clock = &e->d->info->clock;

	return clock->valid && tsc ? ht_clock_tsc_to_ns(clock, tsc) : 0;
}

static void
tell(struct ht_pt_engine *e, unsigned mask, struct ht_event ev)
{
	ht_walk_emit(&e->walk, mask, &ev);
}

/* Time and cycles up to here, in front of what is told next. */
void
ht_pt_tell_time(struct ht_pt_engine *e)
{
	struct ht_pt_time *t = &e->time;

	if (t->tsc != e->told_tsc) {
		e->told_tsc = t->tsc;
		tell(e, HT_DECODE_TIME, (struct ht_event){ .kind = HT_EV_TIME, .a = to_ns(e, t->tsc), .b = t->tsc,
			.flags = e->time_by_psb ? HT_EV_F_SYNC : 0 });
	}
	if (t->total_cycles != e->told_cycles) {
		tell(e, HT_DECODE_TIME, (struct ht_event){ .kind = HT_EV_CYCLES, .a = t->total_cycles - e->told_cycles });
		e->told_cycles = t->total_cycles;
	}
}

/* -- gaps ---------------------------------------------------------------- */

static void
open_gap(struct ht_pt_engine *e, unsigned kind, uint64_t ip, const char *why)
{
	e->place = HT_PLACE_LOST;
	e->fup_async = e->fup_binds = 0;
	e->n_bound = 0;
	if (e->gap_open)
		return;
	e->gap_open = 1;
	e->gap_before = e->before;
	e->gap = (struct ht_gap){ .kind = (uint8_t)kind, .offset = e->offset, .ip = ip, .why = why,
		                  .ns_from = to_ns(e, e->time.tsc) };
}

/* The place is known again, or the stream is at its end: bytes up to the packet at hand were skipped. */
static int
close_gap(struct ht_pt_engine *e)
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
	e->gap.ns_to = to_ns(e, e->time.tsc);
	n = ht_decoder_add_gap(e->d, &e->gap);
	if (n < 0)
		return n;
	ev.b = e->gap.bytes;
	ev.n = (uint32_t)n;
	tell(e, 0, ev);
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
	open_gap(e, kind, e->walk.ip, why);
	/* What is on the return stack no longer belongs to the calls to come. */
	ht_walk_clear_stack(&e->walk);
	return 0;
}

static int find_later_code(struct ht_pt_engine *e);

static int
result(struct ht_pt_engine *e, int rc)
{
	if (rc != HT_WALK_MISFIT)
		return rc < 0 ? rc : 0;
	if (e->walk.fail_kind == HT_GAP_NO_CODE) {
		rc = find_later_code(e);
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
	int rc = close_gap(e);

	if (rc < 0)
		return rc;
	ht_pt_tell_time(e);
	ht_walk_set(&e->walk, ip, e->mode);
	e->place = HT_PLACE_ON;
	e->after_ovf = 0;
	return 0;
}

static void
disable(struct ht_pt_engine *e, uint64_t from, uint64_t resume)
{
	tell(e, HT_DECODE_OTHER, (struct ht_event){ .kind = HT_EV_DISABLE, .a = from });
	e->place = HT_PLACE_OFF;
	e->resume_ip = resume;
}

static void
set_mode(struct ht_pt_engine *e, unsigned mode)
{
	if (mode == e->mode)
		return;
	e->mode = mode;
	tell(e, HT_DECODE_OTHER, (struct ht_event){ .kind = HT_EV_MODE, .n = mode });
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
	if (e->place == HT_PLACE_ON && e->psb_has_ip) {
		rc = ht_walk_leads_to(&e->walk, e->psb_ip);
		if (rc != 0)
			return rc < 0 ? rc : 0;
		open_gap(e, HT_GAP_MISMATCH, e->walk.ip, "the code does not lead where a PSB+ says execution is");
		ht_walk_clear_stack(&e->walk);
	}
	/* A PSB+ that comes as tracing is enabled has an address too; its TIP.PGE is still to come. */
	if (e->place != HT_PLACE_LOST)
		return 0;
	if (e->psb_has_ip)
		return stand_at(e, e->psb_ip);
	if (e->after_ovf)
		return 0;
	e->place = HT_PLACE_OFF;
	return close_gap(e);
}

static int take_deferred_target(struct ht_pt_engine *e);

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
	if (e->place == HT_PLACE_LOST)
		return 0;
	if (e->place == HT_PLACE_OFF) {
		open_gap(e, HT_GAP_MISMATCH, 0, "branch outcomes while tracing is disabled");
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
		tell(e, HT_DECODE_OTHER, e->bound[i]);
	}
	e->n_bound = 0;
}

static int
take_fup(struct ht_pt_engine *e, const struct ht_pt_packet *p)
{
	uint64_t ip;
	int rc, binds = e->fup_binds;

	if (!take_ip(e, p, &ip))
		return 0;
	if (e->in_psb) {
		e->psb_has_ip = 1;
		e->psb_ip = ip;
		return 0;
	}
	if (e->place == HT_PLACE_OFF) {
		tell_bound(e, ip);
		e->fup_binds = 0;
		return 0;
	}
	if (e->place == HT_PLACE_LOST) {
		binds |= e->after_ovf;
		rc = stand_at(e, ip);
		if (rc < 0)
			return rc;
	} else {
		ht_pt_tell_time(e);
		rc = ht_walk_to(&e->walk, ip);
		if (rc < 0)
			return result(e, rc);
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
	tell(e, HT_DECODE_OTHER, (struct ht_event){ .kind = HT_EV_ASYNC, .a = e->fup_ip, .b = ip });
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

	if (!take_ip(e, p, &ip)) {
		if (e->place == HT_PLACE_ON)
			open_gap(e, HT_GAP_MISMATCH, e->walk.ip, "a branch whose target the trace does not tell");
		return 0;
	}
	if (e->place == HT_PLACE_LOST) {
		if (e->after_ovf)
			return 0; /* of a branch before the loss */
		take_next_mode(e);
		return stand_at(e, ip);
	}
	if (e->place == HT_PLACE_OFF) {
		open_gap(e, HT_GAP_MISMATCH, 0, "a branch target while tracing is disabled");
		return 0;
	}
	ht_pt_tell_time(e);
	if (e->fup_async)
		return take_async(e, ip);
	return ht_pt_take_target(e, ip);
}

static int
take_pge(struct ht_pt_engine *e, const struct ht_pt_packet *p)
{
	unsigned flags;
	uint64_t ip;
	int rc;

	if (!take_ip(e, p, &ip)) {
		open_gap(e, HT_GAP_MISMATCH, 0, "tracing is enabled at a place that the trace does not tell");
		return 0;
	}
	take_next_mode(e);
	if (e->place == HT_PLACE_ON) {
		if (ip == e->walk.ip)
			return 0; /* the PSB+ in front of it has said so already */
		open_gap(e, HT_GAP_MISMATCH, e->walk.ip, "tracing is enabled twice");
	}
	flags = e->place == HT_PLACE_OFF && ip == e->resume_ip ? HT_EV_F_RESUME : 0;
	rc = stand_at(e, ip);
	if (rc == 0)
		tell(e, HT_DECODE_OTHER, (struct ht_event){ .kind = HT_EV_ENABLE, .b = ip, .flags = (uint8_t)flags });
	return rc;
}

static int
take_pgd(struct ht_pt_engine *e, const struct ht_pt_packet *p)
{
	uint64_t ip = 0, from, resume;
	int has_ip = take_ip(e, p, &ip), rc;

	e->next_mode = 0;
	if (e->place == HT_PLACE_LOST) {
		if (e->after_ovf)
			return 0;
		e->place = HT_PLACE_OFF;
		return close_gap(e);
	}
	if (e->place == HT_PLACE_OFF)
		return 0;
	ht_pt_tell_time(e);
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

static int
take_psb(struct ht_pt_engine *e)
{
	e->last_ip = 0;
	e->in_psb = 1;
	e->psb_has_ip = 0;
	e->psb_offset = e->offset;
	e->psb_before = e->before;
	e->packets_lost = 0;
	e->fup_binds = e->fup_async = 0;
	e->n_bound = 0;
	return 0;
}

static int
take_ovf(struct ht_pt_engine *e)
{
	e->in_psb = 0; /* a PSB+ that overflowed has no PSBEND */
	if (e->gap_open && e->gap.kind != HT_GAP_OVERFLOW) {
		int rc = close_gap(e);

		if (rc < 0)
			return rc;
	}
	open_gap(e, HT_GAP_OVERFLOW, e->place == HT_PLACE_ON ? e->walk.ip : 0, "the trace unit ran out of buffer");
	e->after_ovf = 1;
	e->next_mode = 0;
	ht_walk_clear_stack(&e->walk);
	return 0;
}

static void
take_exec_mode(struct ht_pt_engine *e, unsigned mode)
{
	if (e->in_psb) {
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
		tell(e, HT_DECODE_OTHER, ev);
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
			tell(e, HT_DECODE_OTHER, ev);
		e->walk.branch_flags = in ? HT_BR_IN_TX : 0;
		return;
	}
	bind(e, 1, ev);
	e->fup_binds |= !aborted; /* an abort is a branch: its TIP follows the FUP */
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
		tell(e, HT_DECODE_OTHER, (struct ht_event){ .kind = HT_EV_CONTEXT, .a = p->value });
		break;
	case HT_PT_VMCS:
		tell(e, HT_DECODE_OTHER, (struct ht_event){ .kind = HT_EV_CONTEXT, .b = p->value });
		break;
	case HT_PT_PTW:
		bind(e, p->flags & HT_PT_F_IP, (struct ht_event){ .kind = HT_EV_PTWRITE, .a = p->value });
		/* fallthrough */
	case HT_PT_EXSTOP:
	case HT_PT_BEP:
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
	uint64_t ns = to_ns(e, e->time.tsc);

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
		tell(e, HT_DECODE_TIME, (struct ht_event){ .kind = HT_EV_CBR, .n = (uint32_t)p->value & 0xff });
	} else if (p->kind != HT_PT_TMA) {
		look_at_clock(e);
	}
	return 0;
}

static int
take_packet(struct ht_pt_engine *e, const struct ht_pt_packet *p)
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

/* -- the stream ---------------------------------------------------------- */

static void
lose_packets(struct ht_pt_engine *e, unsigned kind, const char *why)
{
	e->packets_lost = 1;
	e->after_ovf = e->in_psb = 0;
	e->next_mode = 0;
	e->block = 0;
	open_gap(e, kind, e->place == HT_PLACE_ON ? e->walk.ip : 0, why);
	ht_walk_clear_stack(&e->walk);
}

/* What is read next begins here. */
static void
mark(struct ht_pt_engine *e)
{
	e->offset = ht_pt_input_offset(&e->in);
	e->before = e->in.consumed;
}

/* No more bytes in this run. */
static int
end_run(struct ht_pt_engine *e)
{
	mark(e);
	if (ht_pt_input_next_run(&e->in)) {
		lose_packets(e, HT_GAP_AUX_LOST, "trace bytes were lost before this place");
		return 0;
	}
	e->ended = 1;
	if (e->gap_open && e->gap.kind == HT_GAP_SYNC && e->gap.offset == e->offset)
		e->gap_open = 0; /* nothing was there */
	return close_gap(e);
}

/* Skip to a PSB. Leading zeros are padding, not loss. */
static int
find_sync(struct ht_pt_engine *e)
{
	uint64_t from = ht_pt_input_offset(&e->in);
	const uint8_t *bytes;
	size_t n, zeros;
	int found;

	if (e->gap_open && e->gap.kind == HT_GAP_SYNC && e->gap.offset == from) {
		while ((n = ht_pt_input_peek(&e->in, &bytes)) > 0) {
			for (zeros = 0; zeros < n && bytes[zeros] == 0; zeros++)
				;
			ht_pt_input_advance(&e->in, zeros);
			if (zeros < n)
				break;
		}
		e->gap.offset = ht_pt_input_offset(&e->in);
		e->gap_before = e->in.consumed;
	}
	found = ht_pt_input_find_psb(&e->in);
	mark(e);
	if (!found)
		return 0;
	e->packets_lost = 0;
	if (e->gap.offset == e->offset && e->gap.kind == HT_GAP_SYNC)
		e->gap_open = 0;
	/* Where packets are read again the loss is over, although the place may come later. */
	return close_gap(e);
}

static int
bad_packet(struct ht_pt_engine *e, size_t n, int rc)
{
	mark(e);
	if (rc == HT_PT_NEED_MORE) {
		lose_packets(e, HT_GAP_CUT, "the trace ends inside a packet");
		ht_pt_input_advance(&e->in, n);
	} else {
		lose_packets(e, HT_GAP_BAD_PACKET, "no packet begins like this");
		ht_pt_input_advance(&e->in, 1);
	}
	return 0;
}

/* One packet, or one step of getting back to packets. */
static int
step(struct ht_pt_engine *e)
{
	struct ht_pt_packet p;
	const uint8_t *bytes;
	size_t n;
	int rc;

	if (e->again) {
		e->again = 0;
		p = e->packet;
		return take_packet(e, &p);
	}
	n = ht_pt_input_peek(&e->in, &bytes);
	if (n == 0)
		return end_run(e);
	if (e->packets_lost)
		return find_sync(e);
	rc = ht_pt_packet_read(bytes, n, &e->block, &p);
	if (rc <= 0)
		return bad_packet(e, n, rc);
	mark(e);
	ht_pt_input_advance(&e->in, (size_t)rc);
	e->packet = p;
	return take_packet(e, &p);
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
	int rc;

	while ((n = ht_pt_input_peek(&e->in, &bytes)) > 0) {
		unsigned block = e->block;

		rc = ht_pt_packet_read(bytes, n, &block, &p);
		if (rc <= 0 || (p.kind != HT_PT_TIP && p.kind != HT_PT_PAD && p.kind != HT_PT_CYC &&
		                p.kind != HT_PT_MTC))
			break;
		ht_pt_input_advance(&e->in, (size_t)rc);
		if (p.kind != HT_PT_TIP) {
			take_packet(e, &p);
			continue;
		}
		if (!take_ip(e, &p, &ip))
			break;
		return result(e, ht_walk_target(&e->walk, ip, e->mode));
	}
	e->walk.fail_kind = HT_GAP_MISMATCH;
	e->walk.why = "the trace has an outcome where the code branches to a target that is not told";
	return misfit(e);
}

/* -- the engine ---------------------------------------------------------- */

static size_t
read_code(void *arg, uint64_t addr, void *buf, size_t size)
{
	const struct ht_decoder *d = arg;

	return ht_view_read(d->view, addr, buf, size);
}

/* The code in the ranges that the view names changed. */
static int
forget_code(struct ht_pt_engine *e)
{
	const struct ht_range *ranges;
	uint32_t n;
	int rc = ht_memo_fold(&e->memo); /* by the code that was counted */

	if (rc < 0)
		return rc;
	ranges = ht_view_changes(e->d->view, &n);
	if (n == 0 || ht_graph_invalidate(&e->walk.graph, ranges, n) == 0)
		return 0;
	return ht_memo_reset(&e->memo);
}

/* The time of the next TSC packet; UINT64_MAX when none follows nearby. */
static uint64_t
next_time(const struct ht_pt_engine *e)
{
	struct ht_pt_input in = e->in;
	unsigned block = e->block;
	const uint8_t *bytes;
	struct ht_pt_packet p;
	uint64_t end = in.consumed + LOOK_AHEAD;
	size_t n;
	int rc;

	while (in.consumed < end && (n = ht_pt_input_peek(&in, &bytes)) > 0) {
		rc = ht_pt_packet_read(bytes, n, &block, &p);
		if (rc <= 0)
			break;
		if (p.kind == HT_PT_TSC)
			return to_ns(e, p.value);
		ht_pt_input_advance(&in, (size_t)rc);
	}
	return UINT64_MAX;
}

/*
 * Code is missing at the place.  Another thread may have mapped it since the
 * last time stamp: go forward to the change that brought it, but not beyond the
 * next time stamp.  1: the packet at hand is taken again then; 0: there is none.
 */
static int
find_later_code(struct ht_pt_engine *e)
{
	uint64_t now = e->code_ns ? e->code_ns : to_ns(e, e->time.tsc);
	uint64_t ns = ht_view_next_change(e->d->view);

	if (!now || ns == UINT64_MAX || ns <= now)
		return 0;
	if (ns > next_time(e))
		return 0;
	e->code_ns = ns;
	e->change_due = e->again = 1;
	return 1;
}

/* Per-CPU streams: the thread that runs by `ns`. */
static int
follow_thread(struct ht_pt_engine *e, uint64_t ns)
{
	const struct ht_switch *sw = NULL;
	int rc;

	while (e->next_switch < e->n_switches && e->switches[e->next_switch].ns <= ns)
		sw = &e->switches[e->next_switch++];
	if (!sw || (sw->pid == e->d->pid && sw->tid == e->d->tid))
		return 0;
	e->d->pid = sw->pid;
	e->d->tid = sw->tid;
	rc = ht_view_switch(e->d->view, sw->pid, ns);
	if (rc < 0)
		return rc;
	tell(e, 0, (struct ht_event){ .kind = HT_EV_SWITCH, .a = (uint64_t)(int64_t)sw->pid,
	                              .b = (uint64_t)(int64_t)sw->tid });
	return forget_code(e);
}

/* Between batches: thread and code as of now. */
static int
apply_change(struct ht_pt_engine *e)
{
	uint64_t ns = to_ns(e, e->time.tsc);
	int rc = follow_thread(e, ns);

	if (e->code_ns > ns)
		ns = e->code_ns;
	else
		e->code_ns = 0;
	e->change_due = 0;
	if (rc < 0)
		return rc;
	rc = ht_view_advance(e->d->view, ns);
	return rc > 0 ? forget_code(e) : rc;
}

static int
native_can(enum ht_trace_source source)
{
	return source == HT_SOURCE_INTEL_PT;
}

static int
native_open(struct ht_decoder *d, struct ht_diag *diag)
{
	struct ht_pt_engine *e = calloc(1, sizeof(*e));

	if (!e)
		return ht_fail(diag, HT_ENOMEM, NULL, HT_NO_OFFSET, NULL, "out of memory");
	d->state = e;
	e->d = d;
	ht_pt_input_init(&e->in, d->stream);
	if (ht_walk_init(&e->walk, d->want, read_code, d) < 0 || ht_memo_init(&e->memo, &e->walk) < 0)
		return ht_fail(diag, HT_ENOMEM, NULL, HT_NO_OFFSET, NULL, "out of memory");
	ht_pt_time_init(&e->time, &d->info->cpu);
	if (d->stream->cpu != -1)
		e->switches = ht_session_switches(d->session, d->stream->cpu, &e->n_switches);
	e->mode = 64;
	e->packets_lost = 1;
	e->offset = ht_pt_input_offset(&e->in);
	open_gap(e, HT_GAP_SYNC, 0, "the trace begins in front of its first synchronisation point");
	if (!d->info->clock.valid)
		ht_view_advance(d->view, UINT64_MAX); /* times of trace and sideband cannot be compared */
	return 0;
}

static void
native_close(struct ht_decoder *d)
{
	struct ht_pt_engine *e = d->state;

	if (!e)
		return;
	ht_memo_fini(&e->memo);
	ht_edges_fini(&e->edges);
	ht_walk_fini(&e->walk);
	free(e);
	d->state = NULL;
}

static int
hand_out(struct ht_pt_engine *e, struct ht_event *ev, int n)
{
	size_t left = e->walk.out.n - e->handed;

	if (left > (size_t)n)
		left = (size_t)n;
	memcpy(ev, e->walk.out.at + e->handed, left * sizeof(*ev));
	e->handed += left;
	if (e->handed == e->walk.out.n)
		e->handed = e->walk.out.n = 0;
	return (int)left;
}

/* Packets until `limit` events wait, the code is about to change or the stream ends. */
static int
run(struct ht_pt_engine *e, size_t limit)
{
	int rc;

	while (e->walk.out.n < limit && !e->ended && !e->change_due) {
		rc = ht_pt_fast(e, limit);
		if (rc == 0 && e->walk.out.n < limit)
			rc = step(e);
		if (rc < 0)
			return rc;
		if (e->walk.no_memory)
			return -HT_ENOMEM;
	}
	return 0;
}

static int
native_next(struct ht_decoder *d, struct ht_event *ev, int n)
{
	struct ht_pt_engine *e = d->state;
	int rc = 0;

	while (e->walk.out.n == 0 && rc == 0) {
		if (e->change_due)
			rc = apply_change(e);
		else if (e->ended)
			break;
		else
			rc = run(e, (size_t)n);
	}
	if (rc < 0)
		return rc;
	d->stats.instructions = e->walk.instructions;
	d->stats.branches = e->walk.branches;
	d->stats.bytes_decoded = e->in.consumed - d->stats.bytes_skipped;
	return e->walk.out.n ? hand_out(e, ev, n) : 0;
}

static int
native_count(struct ht_decoder *d, struct ht_counts *out)
{
	struct ht_pt_engine *e = d->state;
	int rc = 0;

	if (e->ended)
		return 0;
	if (!e->walk.edges) {
		e->walk.edges = &e->edges;
		rc = ht_memo_reset(&e->memo); /* made for events */
	}
	if (rc == 0 && e->change_due)
		rc = apply_change(e);
	while (rc == 0 && !e->ended && !e->change_due) {
		rc = run(e, SIZE_MAX);
		e->walk.out.n = 0; /* gaps: they are noted in the decoder */
	}
	if (rc == 0)
		rc = ht_memo_fold(&e->memo);
	if (rc == 0)
		rc = ht_edges_take(&e->edges, &e->walk.graph, out, &d->stats.instructions, &d->stats.branches);
	d->stats.bytes_decoded = e->in.consumed - d->stats.bytes_skipped;
	return rc < 0 ? rc : 1;
}

const struct ht_engine ht_engine_native = {
	.name = "native",
	.can = native_can,
	.open = native_open,
	.close = native_close,
	.next = native_next,
	.count = native_count,
};
