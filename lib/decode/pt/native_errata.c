/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is done about errata.h.  Where the packets at hand do not decide whether
 * one has struck, those behind them are looked at; nothing moves by that.
 */
#include "decode/insn/x86.h"
#include "decode/pt/native.h"
#include "decode/pt/packet.h"

#define LOOK_AHEAD 4096 /* bytes */

struct ahead {
	struct ht_pt_input  in;
	unsigned            block;
	uint64_t            end;
	struct ht_pt_packet p;
};

static void
look(struct ahead *a, const struct ht_pt_engine *e)
{
	a->in = e->in;
	a->block = e->block;
	a->end = a->in.consumed + LOOK_AHEAD;
}

/* The next packet into a->p; 0 when there is none, or not near. */
static int
next(struct ahead *a)
{
	const uint8_t *bytes;
	size_t n = a->in.consumed < a->end ? ht_pt_input_peek(&a->in, &bytes) : 0;
	int rc = n ? ht_pt_packet_read(bytes, n, &a->block, &a->p) : 0;

	if (rc > 0)
		ht_pt_input_advance(&a->in, (size_t)rc);
	return rc > 0;
}

static int
tells_time(unsigned kind)
{
	return kind == HT_PT_PAD || kind == HT_PT_TSC || kind == HT_PT_TMA || kind == HT_PT_MTC ||
	       kind == HT_PT_CYC || kind == HT_PT_CBR || kind == HT_PT_MNT;
}

int
ht_pt_repair(const struct ht_pt_engine *e, const uint8_t *bytes, size_t n, int rc, struct ht_pt_packet *p)
{
	int skip = 0;

	/* The byte of the CYC that is left takes the OVF's first byte for its second. */
	if (e->errata & HT_PT_SKD007 && rc == 2 && p->kind == HT_PT_CYC && bytes[1] == 0x02 && n > 2 &&
	    bytes[2] == 0xf3)
		skip = 1;
	if (e->errata & HT_PT_SKZ84 && rc == HT_PT_MALFORMED && n > 1 && bytes[0] == HT_PT_LEAD_EXT &&
	    bytes[1] == 0x73)
		skip = 8;
	if (!skip)
		return rc;
	if ((size_t)skip > n)
		return HT_PT_NEED_MORE;
	*p = (struct ht_pt_packet){ .kind = HT_PT_PAD, .size = (uint8_t)skip };
	return skip;
}

int
ht_pt_enable_follows(const struct ht_pt_engine *e)
{
	struct ahead a;

	for (look(&a, e); next(&a);) {
		if (a.p.kind == HT_PT_TIP_PGE)
			return 1;
		if (!tells_time(a.p.kind) && a.p.kind != HT_PT_PSBEND && a.p.kind != HT_PT_PIP &&
		    a.p.kind != HT_PT_VMCS && a.p.kind != HT_PT_MODE_EXEC && a.p.kind != HT_PT_MODE_TSX)
			return 0;
	}
	return 0;
}

/* Does the PSB+ that `a` is in say that tracing is off? 0 when it does not end. */
static int
psb_says_off(struct ahead *a)
{
	while (next(a)) {
		if (a->p.kind == HT_PT_FUP)
			return 0;
		if (a->p.kind == HT_PT_PSBEND)
			return 1;
	}
	return 0;
}

int
ht_pt_off_behind(const struct ht_pt_engine *e)
{
	struct ahead a;

	for (look(&a, e); next(&a);)
		switch (a.p.kind) {
		case HT_PT_TNT_8: case HT_PT_TNT_64: case HT_PT_TIP: case HT_PT_TIP_PGD:
		case HT_PT_PSBEND: case HT_PT_OVF:
			return 0;
		case HT_PT_TIP_PGE: case HT_PT_STOP:
			return 1;
		case HT_PT_PSB:
			return psb_says_off(&a);
		default:
			break;
		}
	return 0;
}

/* The place of a transaction abort that follows at once, its FUP compressed against `last`. */
static int
abort_follows(const struct ht_pt_engine *e, uint64_t last, uint64_t *ip)
{
	struct ahead a;
	int aborted = 0;

	for (look(&a, e); next(&a);) {
		if (a.p.kind == HT_PT_MODE_TSX && a.p.flags & HT_PT_F_ABORT)
			aborted = 1;
		else if (a.p.kind == HT_PT_FUP)
			return aborted && ht_pt_packet_ip(&a.p, last, ip);
		else if (!tells_time(a.p.kind))
			return 0;
	}
	return 0;
}

uint64_t
ht_pt_true_target(struct ht_pt_engine *e, uint64_t target)
{
	struct ht_walk *w = &e->walk;
	struct ht_block *block = w->block;
	uint64_t ip = w->ip, abort;
	int leads;

	if (!abort_follows(e, target, &abort))
		return target;
	ht_walk_set(w, target, w->mode);
	leads = ht_walk_leads_to(w, abort);
	w->ip = ip;
	w->block = block;
	return leads == 0 ? abort : target;
}

int
ht_pt_enters_vm(const struct ht_pt_engine *e, uint64_t ip)
{
	uint8_t bytes[HT_X86_MAX];
	struct ht_x86_insn x;
	size_t n = ht_view_read(e->d->view, ip, bytes, sizeof(bytes));

	return ht_x86_decode(bytes, n, ip, e->mode, &x) > 0 && x.flags & HT_X86_VMENTRY;
}
