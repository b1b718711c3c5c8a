/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reference engine for Intel PT: libipt's instruction flow decoder, one
 * instruction at a time, reading code through the view.
 */
#include <stdlib.h>
#include <string.h>

#include <hwtrace/pt_packet.h>

#include "base/vec.h"
#include "decode/pt/libipt.h"

/* One step makes at most this many events. */
#define STEP_EVENTS 16

static int
libipt_can(enum ht_trace_source source)
{
	return source == HT_SOURCE_INTEL_PT;
}

/* -- code ---------------------------------------------------------------- */

static int
read_code(uint8_t *buf, size_t size, const struct pt_asid *asid, uint64_t ip, void *context)
{
	struct ht_libipt *s = context;
	size_t n;

	(void)asid;
	if (s->refuse)
		return -pte_nomap;
	n = ht_view_read(s->d->view, ip, buf, size);
	s->missed = n == 0;
	return n ? (int)n : -pte_nomap;
}

uint64_t
ht_libipt_peek(struct ht_libipt *s)
{
	struct pt_insn insn;

	/* The address is told before the code is read, and a refused read changes nothing. */
	memset(&insn, 0, sizeof(insn));
	s->refuse = 1;
	pt_insn_next(s->dec, &insn, sizeof(insn));
	s->refuse = 0;
	return insn.ip;
}

/*
 * Code at `ip` is not there yet.  A thread may run code that another one
 * mapped after this thread's last TSC packet; it ran it before the next one.
 * Returns the time of the change that brings it, UINT64_MAX when none does.
 */
static uint64_t
look_ahead(struct ht_libipt *s, uint64_t ip)
{
	uint64_t bound = ht_libipt_clock_bound(s), next = ht_view_next_change(s->d->view);
	uint8_t byte;

	if (next > bound || next == UINT64_MAX)
		return UINT64_MAX;
	if (!s->scout && ht_view_new(s->d->session, s->d->pid, &s->scout) < 0) {
		s->error = -HT_ENOMEM;
		return UINT64_MAX;
	}
	while (next <= bound && next != UINT64_MAX) {
		if (next > s->scout_ns)
			s->scout_ns = next;
		if (ht_view_advance(s->scout, s->scout_ns) < 0) {
			s->error = -HT_ENOMEM;
			break;
		}
		/* The scout never is behind the view, so this moves the view on. */
		if (ht_view_read(s->scout, ip, &byte, 1))
			return s->scout_ns;
		next = ht_view_next_change(s->scout);
	}
	return UINT64_MAX;
}

/* -- segments and synchronisation ---------------------------------------- */

static void
configure(const struct ht_libipt *s, struct pt_config *config)
{
	const struct ht_cpu_info *cpu = &s->d->info->cpu;

	pt_config_init(config);
	/* libipt only reads from there. */
	config->begin = (uint8_t *)(uintptr_t)s->seg.data;
	config->end = config->begin + s->seg.size;
	if (cpu->vendor_intel) {
		config->cpu = (struct pt_cpu){ pcv_intel, cpu->family, cpu->model, cpu->stepping };
		pt_cpu_errata(&config->errata, &config->cpu);
	}
	config->mtc_freq = cpu->mtc_freq;
	config->nom_freq = cpu->nom_freq;
	config->cpuid_0x15_eax = cpu->tsc_ctc_den;
	config->cpuid_0x15_ebx = cpu->tsc_ctc_num;
}

static void
segment_close(struct ht_libipt *s)
{
	pt_insn_free_decoder(s->dec);
	s->dec = NULL;
	s->synced = 0;
}

static void
gap_lost(struct ht_libipt *s)
{
	int truncated = s->seg.lost_before == HT_LOST_TRUNCATED;
	struct ht_gap gap = {
		.kind = truncated ? HT_GAP_AUX_TRUNCATED : HT_GAP_AUX_LOST,
		.offset = s->seg.offset - s->seg.lost - s->cut, .bytes = s->seg.lost + s->cut,
		.ip = s->last_ip, .ns_from = s->clock.ns,
		.why = truncated ? "there was no room left in the buffer"
		                 : "trace data was lost before it reached the file",
	};

	if (s->seg.lost_before == HT_LOST_BLOCK) {
		gap.kind = HT_GAP_KILLED;
		gap.ip = s->off_ip;
		gap.why = HT_WHY_KILLED;
	}
	ht_libipt_gap(s, &gap);
	s->d->stats.bytes_skipped += s->cut; /* they came; what was lost did not */
	s->cut = 0;
}

/* 1, or 0 at the end of the stream. */
static int
segment_open(struct ht_libipt *s)
{
	struct pt_config config;
	int r = ht_pt_segment_next(&s->seg, s->d->stream, &s->chunk);

	if (r <= 0) {
		s->error = r;
		return 0;
	}
	if (s->seg.lost_before && !s->begin)
		gap_lost(s);
	if (!s->seg.size)
		return 1;
	configure(s, &config);
	s->dec = pt_insn_alloc_decoder(&config);
	if (!s->dec || ht_libipt_clock_start(s) < 0 ||
	    pt_image_set_callback(pt_insn_get_image(s->dec), read_code, s) < 0) {
		s->error = -HT_ENOMEM;
		return 0;
	}
	return 1;
}

static int
all_zero(const uint8_t *p, size_t n)
{
	while (n && !p[n - 1])
		n--;
	return n == 0;
}

/* A gap from `from` to the next PSB at or after `search`, or to the end. */
static void
resync(struct ht_libipt *s, struct ht_gap *gap, size_t from, size_t search)
{
	size_t psb = ht_pt_find_psb(s->seg.data, s->seg.size, search);

	/* An overflow is told in front of the packets that libipt took before it. */
	if (s->seg.offset + from < s->gap_end)
		from = (size_t)(s->gap_end - s->seg.offset);
	if (from > s->seg.size)
		from = s->seg.size;
	gap->offset = s->seg.offset + from;
	gap->bytes = psb > from ? psb - from : 0;
	gap->ip = s->last_ip;
	gap->ns_from = s->clock.ns;
	/* Padding in front of the first PSB is no loss. */
	if (gap->kind != HT_GAP_SYNC || !all_zero(s->seg.data + from, psb - from))
		ht_libipt_gap(s, gap);
	if (psb == s->seg.size) {
		segment_close(s);
		return;
	}
	s->psb = psb;
	s->status = pt_insn_sync_set(s->dec, psb);
	ht_libipt_clock_sync(s, psb);
	s->synced = 1;
	if (ht_decoder_last_gap(s->d) && s->clock.ns > gap->ns_from)
		ht_decoder_last_gap(s->d)->ns_to = s->clock.ns;
}

static void
first_sync(struct ht_libipt *s)
{
	struct ht_gap gap = { .kind = HT_GAP_SYNC,
	                      .why = "there is no synchronisation point (PSB) in front of it" };

	size_t from = s->begin ? (size_t)(s->begin - s->seg.offset) : 0;

	s->begin = 0;
	resync(s, &gap, from, from);
}

/*
 * To the chunk with the PSB that decoding may begin at; what lies before is not looked at.
 * When there is none at this place, decoding begins at the start.
 */
static void
seek(struct ht_libipt *s)
{
	const struct ht_stream *stream = s->d->stream;
	uint64_t passed = 0;

	for (uint32_t i = 0; i < stream->n_chunks; i++) {
		const struct ht_chunk *c = &stream->chunks[i];
		uint64_t at = s->d->start - c->stream_offset;

		if (s->d->start >= c->stream_offset && at < c->size) {
			if (ht_pt_find_psb(c->data, (size_t)c->size, (size_t)at) != at)
				return;
			s->begin = s->d->start;
			s->chunk = i;
			s->seg.offset = c->stream_offset; /* nothing is missing in front of it */
			s->d->stats.bytes -= passed + at;
			return;
		}
		passed += c->size;
	}
}

static int
gap_kind(int status)
{
	switch (pt_errcode(status)) {
	case pte_bad_opc:
	case pte_bad_packet:
		return HT_GAP_BAD_PACKET;
	default:
		return HT_GAP_MISMATCH;
	}
}

/* libipt cannot go on; `ip` is where code was missing, if it was. */
static void
failed(struct ht_libipt *s, int status, int no_code, uint64_t ip)
{
	struct ht_gap gap = { .kind = (uint8_t)gap_kind(status), .why = pt_errstr(pt_errcode(status)) };
	size_t flow;

	ht_libipt_block_end(s, HT_INSN_OTHER);
	if (no_code) {
		ht_libipt_branch_to(s, ip);
		gap.kind = (uint8_t)ht_view_why(s->d->view, ip, &gap.why);
		s->last_ip = ip;
	}
	ht_libipt_branch_lost(s, 0);
	/*
	 * libipt may have read ahead over a PSB.  No flow was taken behind it yet, so
	 * that is where to go on; but never twice at the same one.
	 */
	ht_libipt_clock_position(s);
	flow = (size_t)s->clock.flow;
	resync(s, &gap, flow, flow > s->psb ? flow : s->psb + 1);
}

/* The segment's trace is used up. */
static void
segment_end(struct ht_libipt *s)
{
	size_t cut = s->clock.marks.cut;
	struct ht_gap gap = {
		.kind = HT_GAP_CUT, .offset = s->seg.offset + cut, .bytes = s->seg.size - cut,
		.ip = s->last_ip, .ns_from = s->clock.ns, .why = "the trace ends inside a packet",
	};

	ht_libipt_block_end(s, HT_INSN_OTHER);
	if (s->status >= 0 && s->branch.valid)
		ht_libipt_branch_to(s, ht_libipt_peek(s));
	ht_libipt_branch_lost(s, 0);
	/* A packet that is cut where bytes are missing is part of that loss. */
	if (cut < s->seg.size && s->chunk < s->d->stream->n_chunks)
		s->cut = s->seg.size - cut;
	else if (cut < s->seg.size)
		ht_libipt_gap(s, &gap);
	segment_close(s);
}

/*
 * libipt follows direct branches until the trace has a say, and for ever where
 * they lead in a circle and the trace does not fit.
 */
static int
goes_round(struct ht_libipt *s)
{
	struct ring *r = &s->ring;

	if (s->branch.insn != HT_INSN_JUMP && s->branch.insn != HT_INSN_CALL) {
		memset(r, 0, sizeof(*r));
		return 0;
	}
	if (r->limit && r->mark == s->branch.from)
		return 1;
	if (r->steps++ == r->limit) {
		r->mark = s->branch.from;
		r->limit = r->limit * 2 + 1;
		r->steps = 0;
	}
	return 0;
}

/* -- stepping ------------------------------------------------------------ */

static void
step_event(struct ht_libipt *s)
{
	const enum pt_event_type none = (enum pt_event_type)INT32_MAX;
	struct pt_event ev = { .type = none };
	int status;

	memset(&s->ring, 0, sizeof(s->ring));
	s->event_ip = s->branch.valid ? ht_libipt_peek(s) : 0;
	status = pt_insn_event(s->dec, &ev, sizeof(ev));
	/* What follows an event may be in error; the event itself was taken all the same. */
	s->status = status;
	if (ev.type != none) {
		ht_libipt_event(s, &ev);
		ht_libipt_clock_event(s, &ev);
	} else if (status >= 0) {
		failed(s, -pte_internal, 0, 0);
	}
}

static void
step_insn(struct ht_libipt *s)
{
	struct pt_insn insn;
	uint64_t ns;
	int status;

	/* Neither time nor the view change before a branch or an event. */
	do {
		s->missed = 0;
		insn.iclass = ptic_error; /* an error may leave it as it was */
		status = pt_insn_next(s->dec, &insn, sizeof(insn));
		if (insn.iclass == ptic_error)
			break;
		ht_libipt_insn(s, &insn);
	} while (status == 0 && !s->branch.valid);
	if (insn.iclass == ptic_error) {
		if (status == -pte_nomap && s->missed && (ns = look_ahead(s, insn.ip)) != UINT64_MAX) {
			s->advance_to = ns;
			return;
		}
		if (pt_errcode(status) == pte_eos) {
			segment_end(s);
			return;
		}
		failed(s, status, status == -pte_nomap && s->missed, insn.ip);
		return;
	}
	if (s->branch.valid)
		ht_libipt_clock_branch(s, insn.iclass == ptic_cond_jump || insn.iclass == ptic_return);
	s->status = status;
	if (status < 0) {
		if (pt_errcode(status) == pte_eos)
			segment_end(s);
		else
			failed(s, status, 0, 0);
	} else if (s->branch.valid && goes_round(s)) {
		memset(&s->ring, 0, sizeof(s->ring));
		failed(s, -pte_bad_query, 0, 0);
	}
}

/* Nothing of the old view is left to hand out; 0 when the batch must end for that. */
static int
leave_view(struct ht_libipt *s)
{
	if (s->dec && s->synced && s->branch.valid)
		ht_libipt_branch_to(s, ht_libipt_peek(s));
	ht_libipt_block_end(s, HT_INSN_OTHER);
	return s->n == 0;
}

static void
go_to_thread(struct ht_libipt *s, int32_t pid, int32_t tid, uint64_t now)
{
	s->d->pid = pid;
	s->d->tid = tid;
	ht_view_free(s->scout);
	s->scout = NULL;
	s->scout_ns = 0;
	if (ht_view_switch(s->d->view, pid, now) < 0)
		s->error = -HT_ENOMEM;
	ht_libipt_switch(s, pid, tid);
}

/* Per-CPU streams: go to the thread that runs by now; 0 when the batch must end before. */
static int
follow_thread(struct ht_libipt *s, uint64_t now)
{
	const struct ht_switch *sw = NULL;
	size_t i = s->next_switch;

	while (i < s->n_switches && s->switches[i].ns <= now)
		sw = &s->switches[i++];
	if (!sw || (sw->tid == s->d->tid && sw->pid == s->d->pid)) {
		s->next_switch = i;
		return 1;
	}
	if (!leave_view(s))
		return 0;
	s->next_switch = i;
	go_to_thread(s, sw->pid, sw->tid, now);
	return 1;
}

/* As follow_thread(), by page tables. */
static int
follow_context(struct ht_libipt *s, uint64_t now)
{
	int32_t pid = s->d->stream->cpu == -1 ? -2 : ht_session_context(s->d->session, s->cr3);

	if (pid == -2 || pid == s->d->pid) {
		s->context_due = 0;
		return 1;
	}
	if (!leave_view(s))
		return 0;
	s->context_due = 0;
	go_to_thread(s, pid, pid, now);
	return 1;
}

/* Bring the view to the time that the code ahead ran at; 0 when the batch must end before. */
static int
follow_view(struct ht_libipt *s)
{
	uint64_t to = s->clock.valid && s->d->info->clock.valid ? s->clock.ns : 0;
	uint64_t next;

	if (s->next_switch < s->n_switches && s->switches[s->next_switch].ns <= to &&
	    !follow_thread(s, to))
		return 0;
	if (s->context_due && !follow_context(s, to))
		return 0;
	next = ht_view_next_change(s->d->view);
	if (s->advance_to > to)
		to = s->advance_to;
	if (next == UINT64_MAX || next > to) {
		s->advance_to = 0;
		return 1;
	}
	if (!leave_view(s))
		return 0;
	s->advance_to = 0;
	if (ht_view_advance(s->d->view, to) < 0)
		s->error = -HT_ENOMEM;
	return 1;
}

static void
step(struct ht_libipt *s)
{
	if (!s->dec) {
		if (!segment_open(s))
			s->finished = 1;
		return;
	}
	if (!s->synced)
		first_sync(s);
	else if (s->status < 0 && pt_errcode(s->status) == pte_eos)
		segment_end(s);
	else if (s->status < 0)
		failed(s, s->status, 0, 0);
	else if (s->status & pts_event_pending)
		step_event(s);
	else if (s->status & pts_eos)
		segment_end(s);
	else
		step_insn(s);
}

static int
libipt_next(struct ht_decoder *d, struct ht_event *ev, int n)
{
	struct ht_libipt *s = d->state;

	s->out = ev;
	s->n = 0;
	while (!s->finished && !s->error && s->n <= n - STEP_EVENTS) {
		if (!follow_view(s))
			break;
		step(s);
	}
	if (s->error)
		return s->error;
	if (s->finished)
		d->stats.bytes_decoded = d->stats.bytes - d->stats.bytes_skipped;
	return s->n;
}

static int
libipt_open(struct ht_decoder *d, struct ht_diag *diag)
{
	struct ht_libipt *s = calloc(1, sizeof(*s));

	if (!s)
		return ht_fail(diag, HT_ENOMEM, NULL, HT_NO_OFFSET, NULL, "out of memory");
	s->d = d;
	if (d->stream->cpu != -1)
		s->switches = ht_session_switches(d->session, d->stream->cpu, &s->n_switches);
	d->state = s;
	if (d->start)
		seek(s);
	return 0;
}

static void
libipt_close(struct ht_decoder *d)
{
	struct ht_libipt *s = d->state;

	segment_close(s);
	ht_pt_segment_free(&s->seg);
	ht_vec_free(&s->clock.marks);
	ht_view_free(s->scout);
	free(s);
	d->state = NULL;
}

const struct ht_engine ht_engine_libipt = {
	.name = "libipt",
	.can = libipt_can,
	.open = libipt_open,
	.close = libipt_close,
	.next = libipt_next,
};
