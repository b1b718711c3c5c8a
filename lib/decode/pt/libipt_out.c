/* SPDX-License-Identifier: BSD-2-Clause */
#include "decode/pt/libipt.h"

static struct ht_event *
emit(struct ht_libipt *s, uint8_t kind, uint64_t a, uint64_t b, uint32_t n)
{
	struct ht_event *e = &s->out[s->n++];

	*e = (struct ht_event){ .a = a, .b = b, .n = n, .kind = kind };
	return e;
}

/* -- blocks and branches ------------------------------------------------- */

/* First byte of the opcode: behind the legacy prefixes and REX. */
static unsigned
opcode_at(const struct pt_insn *insn)
{
	unsigned i;

	for (i = 0; i + 1 < insn->size; i++) {
		switch (insn->raw[i]) {
		case 0x26: case 0x2e: case 0x36: case 0x3e: case 0x64: case 0x65:
		case 0x66: case 0x67: case 0xf0: case 0xf2: case 0xf3:
			continue;
		default:
			if (insn->mode == ptem_64bit && (insn->raw[i] & 0xf0) == 0x40)
				continue;
			return i;
		}
	}
	return i;
}

static uint8_t
insn_class(const struct pt_insn *insn)
{
	unsigned i = opcode_at(insn);
	uint8_t op = insn->raw[i], op2 = i + 1 < insn->size ? insn->raw[i + 1] : 0;

	switch (insn->iclass) {
	case ptic_call:
		return op == 0xe8 ? HT_INSN_CALL : HT_INSN_CALL_IND;
	case ptic_jump:
		return op == 0xe9 || op == 0xeb ? HT_INSN_JUMP : HT_INSN_JUMP_IND;
	case ptic_cond_jump:
		return HT_INSN_COND;
	case ptic_return:
		return HT_INSN_RET;
	case ptic_far_call:
		if (op == 0x0f)
			return op2 == 0x05 || op2 == 0x34 ? HT_INSN_SYSCALL : HT_INSN_FAR;
		return op == 0x9a || op == 0xff ? HT_INSN_FAR : HT_INSN_SYSCALL;
	case ptic_far_return:
		return op == 0x0f && op2 != 0x07 && op2 != 0x35 ? HT_INSN_FAR : HT_INSN_SYSRET;
	case ptic_far_jump:
		return HT_INSN_FAR;
	default:
		return HT_INSN_OTHER;
	}
}

void
ht_libipt_block_end(struct ht_libipt *s, uint8_t insn)
{
	struct open_block *b = &s->block;
	struct ht_event *e;

	if (!b->n)
		return;
	if (s->d->want & HT_DECODE_BLOCKS) {
		e = emit(s, HT_EV_BLOCK, b->first, b->last, b->n);
		e->insn = insn;
		e->size = b->size;
	}
	b->n = 0;
}

static void
branch_emit(struct ht_libipt *s, uint64_t target, uint8_t flags)
{
	struct ht_event *e;

	s->branch.valid = 0;
	if (!(s->d->want & HT_DECODE_BRANCHES))
		return;
	e = emit(s, HT_EV_BRANCH, s->branch.from, target, 0);
	e->insn = s->branch.insn;
	e->size = s->branch.size;
	e->flags = flags;
}

void
ht_libipt_branch_to(struct ht_libipt *s, uint64_t target)
{
	/* A conditional jump to the next instruction goes there either way. */
	int taken = s->branch.insn != HT_INSN_COND || target != s->branch.next;

	if (s->branch.valid)
		branch_emit(s, target, taken ? HT_BR_TAKEN : 0);
}

void
ht_libipt_branch_lost(struct ht_libipt *s, uint8_t flags)
{
	if (!s->branch.valid)
		return;
	/* Whether a conditional jump was taken is not known: the block tells that it ran. */
	if (s->branch.insn == HT_INSN_COND)
		s->branch.valid = 0;
	else
		branch_emit(s, 0, HT_BR_TAKEN | flags);
}

/* What is held back until a branch has its target. */
static void
emit_held(struct ht_libipt *s)
{
	if (s->clock.dirty) {
		s->clock.dirty = 0;
		if (s->d->want & HT_DECODE_TIME)
			emit(s, HT_EV_TIME, s->d->info->clock.valid ? s->clock.ns : 0, s->clock.tsc,
			     0)
			    ->flags = ht_libipt_clock_by_psb(s) ? HT_EV_F_SYNC : 0;
	}
	if (s->context_dirty) {
		s->context_dirty = 0;
		if (s->d->want & HT_DECODE_OTHER)
			emit(s, HT_EV_CONTEXT, s->cr3, s->vmcs, 0);
	}
}

void
ht_libipt_insn(struct ht_libipt *s, const struct pt_insn *insn)
{
	struct open_block *b = &s->block;
	uint8_t class = insn->iclass == ptic_other ? HT_INSN_OTHER : insn_class(insn);

	ht_libipt_branch_to(s, insn->ip);
	if (!b->n) {
		emit_held(s);
		b->first = insn->ip;
	}
	b->n++;
	b->last = s->last_ip = insn->ip;
	b->size = insn->size;
	s->d->stats.instructions++;
	if (class == HT_INSN_OTHER) {
		if (b->n == UINT32_MAX)
			ht_libipt_block_end(s, HT_INSN_OTHER);
		return;
	}
	s->d->stats.branches++;
	ht_libipt_block_end(s, class);
	s->branch = (struct pending){ 1, insn->ip, insn->ip + insn->size, class, insn->size };
}

/* -- events -------------------------------------------------------------- */

/* Control stands at `ip`: no block is open, no branch waits. */
static void
settle(struct ht_libipt *s, uint64_t ip)
{
	ht_libipt_block_end(s, HT_INSN_OTHER);
	ht_libipt_branch_to(s, ip);
	emit_held(s);
}

static void
other(struct ht_libipt *s, uint8_t kind, uint64_t a, uint64_t b, uint32_t n, uint8_t flags)
{
	if (s->d->want & HT_DECODE_OTHER)
		emit(s, kind, a, b, n)->flags = flags;
}

static void
event_disabled(struct ht_libipt *s, const struct pt_event *ev)
{
	uint64_t from = s->branch.valid ? s->branch.from : s->last_ip;
	uint64_t to = ev->ip_suppressed ? 0 : ev->variant.disabled.ip;

	ht_libipt_block_end(s, HT_INSN_OTHER);
	/* The trace goes off with a branch that is taken: out of what is traced. */
	if (s->branch.valid)
		branch_emit(s, to, HT_BR_TAKEN | HT_BR_TRACE_OFF);
	emit_held(s);
	other(s, HT_EV_DISABLE, from, to, 0, 0);
}

static void
event_async_disabled(struct ht_libipt *s, const struct pt_event *ev)
{
	uint64_t at = s->off_ip = ev->variant.async_disabled.at;

	settle(s, at);
	other(s, HT_EV_DISABLE, at, ev->ip_suppressed ? 0 : ev->variant.async_disabled.ip, 0, 0);
}

static void
event_overflow(struct ht_libipt *s, const struct pt_event *ev)
{
	uint64_t ns = s->clock.ns;
	struct ht_gap gap = {
		.kind = HT_GAP_OVERFLOW, .offset = s->seg.offset + ht_libipt_clock_overflow(s), .ip = s->last_ip,
		.ns_from = ns, .why = "the trace unit's buffer overflowed and it dropped packets",
	};

	/* libipt took the branch, and the event, before it looked further. */
	ht_libipt_block_end(s, HT_INSN_OTHER);
	ht_libipt_branch_to(s, s->event_ip);
	if (ev->has_tsc && s->d->info->clock.valid)
		gap.ns_to = ht_clock_tsc_to_ns(&s->d->info->clock, ev->tsc);
	ht_libipt_gap(s, &gap);
	emit_held(s);
	if (!ev->ip_suppressed)
		other(s, HT_EV_ENABLE, 0, ev->variant.overflow.ip, 0, 0);
}

static void
event_mode(struct ht_libipt *s, const struct pt_event *ev)
{
	static const unsigned bits[] = { [ptem_16bit] = 16, [ptem_32bit] = 32, [ptem_64bit] = 64 };
	unsigned mode = ev->variant.exec_mode.mode <= ptem_64bit ? bits[ev->variant.exec_mode.mode] : 0;

	if (mode == s->mode)
		return;
	s->mode = mode;
	settle(s, ht_libipt_peek(s));
	other(s, HT_EV_MODE, 0, 0, mode, 0);
}

static void
event_cbr(struct ht_libipt *s, const struct pt_event *ev)
{
	if (ev->variant.cbr.ratio == s->cbr || !(s->d->want & HT_DECODE_TIME))
		return;
	s->cbr = ev->variant.cbr.ratio;
	settle(s, ht_libipt_peek(s));
	emit(s, HT_EV_CBR, 0, 0, s->cbr);
}

static void
event_ptwrite(struct ht_libipt *s, const struct pt_event *ev)
{
	settle(s, ht_libipt_peek(s));
	other(s, HT_EV_PTWRITE, ev->variant.ptwrite.payload,
	      ev->ip_suppressed ? s->last_ip : ev->variant.ptwrite.ip, 0, 0);
}

static void
set_context(struct ht_libipt *s, uint64_t cr3, uint64_t vmcs)
{
	if (cr3 == s->cr3 && vmcs == s->vmcs)
		return;
	s->cr3 = cr3;
	s->vmcs = vmcs;
	/* Such an event comes before its instruction is passed: a branch there is still open. */
	ht_libipt_block_end(s, HT_INSN_OTHER);
	s->context_dirty = s->context_due = 1;
}

void
ht_libipt_event(struct ht_libipt *s, const struct pt_event *ev)
{
	switch (ev->type) {
	case ptev_enabled:
		settle(s, 0);
		other(s, HT_EV_ENABLE, 0, ev->variant.enabled.ip, 0,
		      ev->variant.enabled.resumed ? HT_EV_F_RESUME : 0);
		return;
	case ptev_disabled:
		event_disabled(s, ev);
		return;
	case ptev_async_disabled:
		event_async_disabled(s, ev);
		return;
	case ptev_async_branch:
		settle(s, ev->variant.async_branch.from);
		other(s, HT_EV_ASYNC, ev->variant.async_branch.from,
		      ev->ip_suppressed ? 0 : ev->variant.async_branch.to, 0, 0);
		return;
	case ptev_paging:
		set_context(s, ev->variant.paging.cr3, s->vmcs);
		return;
	case ptev_async_paging:
		set_context(s, ev->variant.async_paging.cr3, s->vmcs);
		return;
	case ptev_vmcs:
		set_context(s, s->cr3, ev->variant.vmcs.base);
		return;
	case ptev_async_vmcs:
		set_context(s, s->cr3, ev->variant.async_vmcs.base);
		return;
	case ptev_overflow:
		event_overflow(s, ev);
		return;
	case ptev_exec_mode:
		event_mode(s, ev);
		return;
	case ptev_tsx:
		if (ev->status_update && !ev->variant.tsx.speculative)
			return;
		settle(s, ht_libipt_peek(s));
		other(s, HT_EV_TX, 0, 0, ev->variant.tsx.speculative | ev->variant.tsx.aborted << 1, 0);
		return;
	case ptev_cbr:
		event_cbr(s, ev);
		return;
	case ptev_ptwrite:
		event_ptwrite(s, ev);
		return;
	default:
		/* Power states and the like move no control. */
		return;
	}
}

void
ht_libipt_switch(struct ht_libipt *s, int32_t pid, int32_t tid)
{
	emit(s, HT_EV_SWITCH, (uint64_t)(int64_t)pid, (uint64_t)(int64_t)tid, 0);
}

void
ht_libipt_gap(struct ht_libipt *s, const struct ht_gap *gap)
{
	int i = ht_decoder_add_gap(s->d, gap);

	if (i < 0)
		s->error = i;
	else
		emit(s, HT_EV_GAP, gap->offset, gap->kind == HT_GAP_KILLED ? gap->ip : gap->bytes,
		     (uint32_t)i)
		    ->flags = gap->kind == HT_GAP_KILLED ? HT_EV_F_BLOCK : 0;
	s->gap_end = gap->offset + gap->bytes;
	if (gap->kind != HT_GAP_AUX_LOST && gap->kind != HT_GAP_AUX_TRUNCATED)
		s->d->stats.bytes_skipped += gap->bytes;
}
