/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include <hwtrace/error.h>

#include "decode/pt/native.h"

#define NO_SYNC "there is no synchronisation point in front of it"
#define LOOK_AHEAD (1u << 20) /* bytes that a time stamp is looked for in */

/* -- the stream ---------------------------------------------------------- */

static void
lose_packets(struct ht_pt_engine *e, unsigned kind, const char *why)
{
	e->packets_lost = 1;
	e->after_ovf = e->in_psb = 0;
	e->next_mode = 0;
	e->block = 0;
	/* A killed thread's trace ends in front of the block that is missing. */
	ht_pt_open_gap(e, kind, e->place == HT_PLACE_ON || kind == HT_GAP_KILLED ? e->walk.ip : 0,
	               why);
	ht_walk_clear_stack(&e->walk);
}

/* Bytes are missing in front of chunk `c`. */
static void
lose_bytes(struct ht_pt_engine *e, const struct ht_chunk *c)
{
	if (c->lost_before == HT_LOST_BLOCK)
		lose_packets(e, HT_GAP_KILLED, HT_WHY_KILLED);
	else if (c->lost_before == HT_LOST_TRUNCATED)
		lose_packets(e, HT_GAP_AUX_TRUNCATED, "there was no room left in the buffer");
	else
		lose_packets(e, HT_GAP_AUX_LOST, "trace bytes were lost before this place");
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
		lose_bytes(e, &e->in.chunks[e->in.at]);
		return 0;
	}
	e->ended = 1;
	if (e->gap_open && e->gap.kind == HT_GAP_SYNC && e->gap.offset == e->offset)
		e->gap_open = 0; /* nothing was there */
	return ht_pt_close_gap(e);
}

/* The loss is over here.  Where a PSB+ with a TSC follows, it says when. */
static int
close_here(struct ht_pt_engine *e)
{
	struct ht_pt_input in = e->in;
	int open = e->gap_open, first = 1, rc = ht_pt_close_gap(e);
	const uint8_t *bytes;
	struct ht_pt_packet p;
	unsigned block = 0;
	size_t n;

	for (; open && rc == 0 && (n = ht_pt_input_peek(&in, &bytes)) > 0; first = 0) {
		int size = ht_pt_packet_read(bytes, n, &block, &p);

		if (size <= 0 || (first && p.kind != HT_PT_PSB) || p.kind == HT_PT_PSBEND || p.kind == HT_PT_OVF)
			break;
		if (p.kind == HT_PT_TSC) {
			ht_decoder_last_gap(e->d)->ns_to = ht_pt_to_ns(e, p.value);
			break;
		}
		ht_pt_input_advance(&in, (size_t)size);
	}
	return rc;
}

/* Skip to a PSB. Leading zeros are padding, not loss. */
static int
find_sync(struct ht_pt_engine *e)
{
	uint64_t from = ht_pt_input_offset(&e->in);
	const uint8_t *bytes;
	size_t n, zeros;
	int found, rc;

	/* What never came to the file is one loss, what cannot be read behind it another. */
	if (e->gap_open && (e->gap.kind == HT_GAP_AUX_LOST || e->gap.kind == HT_GAP_AUX_TRUNCATED)) {
		mark(e);
		if ((rc = close_here(e)) < 0)
			return rc;
		ht_pt_open_gap(e, HT_GAP_SYNC, e->gap.ip, NO_SYNC);
	}
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
	return close_here(e);
}

static int
bad_packet(struct ht_pt_engine *e, size_t n, int rc)
{
	mark(e);
	if (rc == HT_PT_NEED_MORE) {
		if (e->in.at + 1 < e->in.n_chunks)
			lose_bytes(e, &e->in.chunks[e->in.at + 1]);
		else
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
		return ht_pt_take_packet(e, &p);
	}
	n = ht_pt_input_peek(&e->in, &bytes);
	if (n == 0)
		return end_run(e);
	if (e->packets_lost)
		return find_sync(e);
	rc = ht_pt_packet_read(bytes, n, &e->block, &p);
	if (e->errata)
		rc = ht_pt_repair(e, bytes, n, rc, &p);
	if (rc <= 0)
		return bad_packet(e, n, rc);
	mark(e);
	ht_pt_input_advance(&e->in, (size_t)rc);
	e->packet = p;
	return ht_pt_take_packet(e, &p);
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
	int rc = ht_pt_fold(e); /* by the code that was counted */

	if (rc < 0)
		return rc;
	ranges = ht_view_changes(e->d->view, &n);
	if (n == 0 || ht_graph_invalidate(&e->walk.graph, ranges, n) == 0)
		return 0;
	return ht_pt_forget(e);
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
			return ht_pt_to_ns(e, p.value);
		ht_pt_input_advance(&in, (size_t)rc);
	}
	return UINT64_MAX;
}

/*
 * Code is missing at the place.  Another thread may have mapped it since the
 * last time stamp: go forward to the change that brought it, but not beyond the
 * next time stamp.  1: the packet at hand is taken again then; 0: there is none.
 */
int
ht_pt_find_later_code(struct ht_pt_engine *e)
{
	uint64_t now = e->code_ns ? e->code_ns : ht_pt_to_ns(e, e->time.tsc);
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
	ht_pt_tell(e, 0, (struct ht_event){ .kind = HT_EV_SWITCH, .a = (uint64_t)(int64_t)sw->pid,
	                              .b = (uint64_t)(int64_t)sw->tid });
	return forget_code(e);
}

/* By page tables: the process whose the code is. */
static int
follow_context(struct ht_pt_engine *e, uint64_t ns)
{
	int rc;

	if (!e->moved)
		return 0;
	e->moved = 0;
	e->d->pid = e->d->tid = e->pid_due;
	rc = ht_view_switch(e->d->view, e->pid_due, ns);
	if (rc < 0)
		return rc;
	ht_pt_tell(e, 0,
	           (struct ht_event){ .kind = HT_EV_SWITCH,
	                              .a = (uint64_t)(int64_t)e->pid_due,
	                              .b = (uint64_t)(int64_t)e->pid_due });
	return forget_code(e);
}

/* Between batches: thread and code as of now. */
static int
apply_change(struct ht_pt_engine *e)
{
	uint64_t ns = ht_pt_to_ns(e, e->time.tsc);
	int rc = follow_thread(e, ns);

	if (rc == 0)
		rc = follow_context(e, ns);
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

void
ht_pt_start(struct ht_pt_engine *e)
{
	e->packets_lost = 1;
	e->gap_open = 0;
	mark(e);
	ht_pt_open_gap(e, HT_GAP_SYNC, 0, NO_SYNC);
}

static int
native_can(enum ht_trace_source source)
{
	return source == HT_SOURCE_INTEL_PT;
}

/* To the PSB that decoding may begin at; 0 and back at the start when there is none. */
static int
seek(struct ht_pt_engine *e)
{
	const uint8_t *bytes;
	size_t n;

	ht_pt_input_seek(&e->in, e->d->start);
	n = ht_pt_input_peek(&e->in, &bytes);
	if (ht_pt_input_offset(&e->in) != e->d->start || n < HT_PT_PACKET_MAX ||
	    ht_pt_find_psb(bytes, HT_PT_PACKET_MAX, 0) != 0) {
		ht_pt_input_init(&e->in, e->d->stream);
		return 0;
	}
	e->passed = e->in.consumed;
	e->d->stats.bytes -= e->passed;
	return 1;
}

/* By what the recording was limited to, as far as that is known. */
static int
is_traced(void *arg, uint64_t addr)
{
	const struct ht_decoder *d = arg;
	struct ht_mapping map;

	for (uint32_t i = 0; i < d->info->n_limits; i++) {
		const struct ht_limit *x = &d->info->limits[i];
		uint64_t at = addr;

		if (x->kind != HT_LIMIT_ADDRESS && ht_view_find(d->view, addr, &map) < 0)
			continue;
		if (x->kind != HT_LIMIT_ADDRESS)
			at = addr - map.start + map.pgoff;
		if (x->kind == HT_LIMIT_FILE && strcmp(x->name, ht_module_info(map.module)->path))
			continue;
		if (x->kind == HT_LIMIT_MODULE || (at >= x->start && at < x->end))
			return 1;
	}
	return d->info->n_limits == 0;
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
	if (ht_walk_init(&e->walk, d->want, read_code, d) < 0 ||
	    ht_memo_init(&e->memo, &e->walk) < 0 || ht_hops_init(&e->hops, &e->memo) < 0)
		return ht_fail(diag, HT_ENOMEM, NULL, HT_NO_OFFSET, NULL, "out of memory");
	ht_pt_time_init(&e->time, &d->info->cpu);
	if (d->stream->cpu != -1)
		e->switches = ht_session_switches(d->session, d->stream->cpu, &e->n_switches);
	/* The software trace unit has no errata, whatever processor it runs on. */
	e->errata = d->info->software ? 0 : ht_pt_errata_of(&d->info->cpu);
	e->walk.fup_behind = !!(e->errata & HT_PT_NEXT_IP);
	if (e->errata & HT_PT_SKL014)
		e->walk.traced = is_traced;
	e->mode = 64;
	e->stop = UINT64_MAX;
	if (d->start && seek(e)) {
		ht_pt_start(e);
	} else if (d->stream->n_chunks && d->stream->chunks[0].lost_before) {
		e->packets_lost = 1;
		ht_pt_open_gap(e, d->stream->chunks[0].lost_before == HT_LOST_TRUNCATED ? HT_GAP_AUX_TRUNCATED
		               : HT_GAP_AUX_LOST, 0, "the begin of the trace was lost");
	} else {
		ht_pt_start(e);
	}
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
	ht_hops_fini(&e->hops);
	ht_memo_fini(&e->memo);
	ht_edges_fini(&e->edges);
	ht_walk_fini(&e->walk);
	free(e);
	d->state = NULL;
}

/* Packets until `limit` events wait, the code is about to change or the stream ends. */
static int
run(struct ht_pt_engine *e, size_t limit)
{
	int rc;

	while (e->walk.out.n < limit && !e->ended && !e->change_due && !ht_pt_stopped(e)) {
		rc = ht_pt_fast(e, limit);
		if (rc == 0 && e->walk.out.n < limit && !ht_pt_stopped(e))
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
	struct ht_out *out = &e->walk.out;
	int rc = 0;

	if (out->n == 0)
		ht_out_lend(out, ev, (size_t)n);
	while (out->n == 0 && rc == 0) {
		if (e->change_due)
			rc = apply_change(e);
		else if (e->ended || ht_pt_stopped(e))
			break;
		else
			rc = run(e, (size_t)n / 8 * 7); /* a run may go beyond */
	}
	n = (int)ht_out_take(out, ev, (size_t)n);
	if (rc < 0)
		return rc;
	d->stats.instructions = e->walk.instructions;
	d->stats.branches = e->walk.branches;
	d->stats.bytes_decoded = e->in.consumed - e->passed - d->stats.bytes_skipped;
	return n;
}

int
ht_pt_count(struct ht_pt_engine *e)
{
	int rc = 0;

	if (!e->walk.edges) {
		e->walk.edges = &e->edges;
		e->walk.want = 0;
		rc = ht_pt_forget(e); /* made for events */
	}
	if (rc == 0 && e->change_due)
		rc = apply_change(e);
	while (rc == 0 && !e->ended && !e->change_due && !ht_pt_stopped(e)) {
		rc = run(e, HT_BATCH);
		e->walk.out.n = 0; /* gaps: they are noted in the decoder */
	}
	e->d->stats.bytes_decoded = e->in.consumed - e->passed - e->d->stats.bytes_skipped;
	return rc;
}

static int
native_count(struct ht_decoder *d, struct ht_counts *out)
{
	struct ht_pt_engine *e = d->state;
	int rc = 0;

	if (!e->kept && (e->ended || (!e->change_due && ht_pt_stopped(e))))
		return 0;
	if (!e->kept)
		rc = ht_pt_count(e);
	e->kept = 0;
	if (rc == 0)
		rc = ht_pt_fold(e);
	if (rc == 0)
		rc = ht_edges_take(&e->edges, &e->walk.graph, out, &d->stats.instructions,
		                   &d->stats.branches);
	return rc < 0 ? rc : 1;
}

const struct ht_engine ht_engine_native = {
	.name = "native",
	.can = native_can,
	.open = native_open,
	.close = native_close,
	.next = native_next,
	.count = native_count,
	.stretch = &ht_pt_stretch,
};
