/* SPDX-License-Identifier: BSD-2-Clause */
#include <hwtrace/pt_packet.h>

#include "known.h"

/* Packets that have no place of their own in the flow. */
static int
is_time(unsigned kind)
{
	return kind == HT_PT_PAD || kind == HT_PT_TSC || kind == HT_PT_TMA || kind == HT_PT_MTC || kind == HT_PT_CYC ||
	       kind == HT_PT_CBR;
}

/* Not in libipt 2.0.5. */
static int
is_new(unsigned kind)
{
	return kind == HT_PT_BBP || kind == HT_PT_BIP || kind == HT_PT_BEP || kind == HT_PT_CFE ||
	       kind == HT_PT_EVD || kind == HT_PT_TRIG;
}

static int
is_flow(unsigned kind)
{
	return kind == HT_PT_TNT_8 || kind == HT_PT_TNT_64 || kind == HT_PT_TIP || kind == HT_PT_TIP_PGE ||
	       kind == HT_PT_TIP_PGD;
}

int
known_difference(const uint8_t *bytes, size_t size)
{
	size_t at = ht_pt_find_psb(bytes, size, 0);
	int psb = 0, binds = 0, open = 0, mode = 0, off = 0, alone = 0, last = HT_PT_BAD, tsc = 0;
	struct ht_pt_packet p;
	unsigned block = 0;

	for (; at < size; at += p.size) {
		if (ht_pt_packet_read(bytes + at, size - at, &block, &p) <= 0) {
			at = ht_pt_find_psb(bytes, size, at + 1);
			block = p.size = 0;
			open = binds = mode = 0;
			continue;
		}
		if (is_new(p.kind) || (p.kind == HT_PT_TMA && !tsc) ||
		    (p.kind == HT_PT_CBR && !(p.value & 0xff)))
			return 1;
		tsc = p.kind == HT_PT_TSC || (tsc && p.kind != HT_PT_TMA);
		if (mode && p.kind == HT_PT_PSB)
			return 1;
		/* A PSB+ without an end */
		if (psb && (is_flow(p.kind) || p.kind == HT_PT_PSB))
			return 1;
		if (p.kind == HT_PT_PSB || p.kind == HT_PT_PSBEND)
			psb = p.kind == HT_PT_PSB;
		if (is_time(p.kind) || psb)
			continue;
		/* No instruction makes them */
		if (p.kind == HT_PT_VMCS || p.kind == HT_PT_PIP ||
		    (p.kind == HT_PT_PTW && !(p.flags & HT_PT_F_IP)))
			return 1;
		/* A FUP of no packet, and no TIP behind it */
		if (open && p.kind != HT_PT_MODE_EXEC && p.kind != HT_PT_TIP && p.kind != HT_PT_TIP_PGD)
			return 1;
		/* A change of mode without its branch */
		if (mode && p.kind != HT_PT_TIP && p.kind != HT_PT_TIP_PGE)
			return 1;
		if (off && is_flow(p.kind) && p.kind != HT_PT_TIP_PGE)
			return 1;
		if (is_flow(p.kind) || p.kind == HT_PT_OVF)
			off = p.kind == HT_PT_TIP_PGD;
		/* A PSB+ that is part of the TIP.PGE; an event that lies in front of the PSB+'s place */
		if ((p.kind == HT_PT_TIP_PGE || p.kind == HT_PT_FUP) && last == HT_PT_PSBEND)
			return 1;
		last = p.kind;
		/* Its FUP is missing */
		if (alone && is_flow(p.kind))
			return 1;
		alone = p.kind == HT_PT_MWAIT || p.kind == HT_PT_MODE_TSX || (alone && p.kind != HT_PT_FUP);
		mode = p.kind == HT_PT_MODE_EXEC;
		if (mode)
			continue;
		open = p.kind == HT_PT_FUP && !binds;
		binds = p.kind == HT_PT_OVF || alone || p.flags & HT_PT_F_IP ||
		        (p.kind == HT_PT_MODE_TSX && !(p.flags & HT_PT_F_ABORT));
	}
	return 0;
}

int
known_end(const uint8_t *bytes, size_t size, size_t offset)
{
	struct ht_pt_packet p;
	unsigned block = 0;

	for (size_t at = offset; at < size; at += p.size) {
		if (ht_pt_packet_read(bytes + at, size - at, &block, &p) <= 0)
			return 1;
		if (at != offset && (is_flow(p.kind) || p.kind == HT_PT_FUP || p.kind == HT_PT_OVF))
			return 0;
	}
	return 1;
}

int
known_disable(const uint8_t *bytes, size_t size, size_t offset)
{
	struct ht_pt_packet p;
	unsigned block = 0;

	for (size_t at = offset; at < size; at += p.size) {
		if (ht_pt_packet_read(bytes + at, size - at, &block, &p) <= 0)
			break;
		if (p.kind == HT_PT_TIP_PGD && p.count == 0)
			return 1;
		if (at != offset && (is_flow(p.kind) || p.kind == HT_PT_FUP || p.kind == HT_PT_OVF))
			return 0;
	}
	return 0;
}

int
known_half(const uint8_t *bytes, size_t size)
{
	struct ht_pt_packet p;
	unsigned block = 0;
	int half = 0;

	for (size_t at = 0; at < size; at += p.size) {
		if (ht_pt_packet_read(bytes + at, size - at, &block, &p) <= 0)
			break;
		if (is_flow(p.kind))
			half = 0;
		if (p.kind == HT_PT_FUP || p.kind == HT_PT_OVF || p.kind == HT_PT_PSB)
			half = 1;
	}
	return half;
}

size_t
known_reach(const uint8_t *bytes, size_t size, size_t offset)
{
	struct ht_pt_packet p;
	unsigned block = 0, flow = 0;
	size_t at;

	for (at = offset; at < size && flow < 3; at += p.size) {
		if (ht_pt_packet_read(bytes + at, size - at, &block, &p) <= 0)
			return size;
		flow += is_flow(p.kind);
	}
	return at;
}
