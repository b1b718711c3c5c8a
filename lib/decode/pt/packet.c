/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A packet is found by its first byte, or by the second one after a lead byte.
 * Then its size is known and checked once, and only then is the payload read.
 */
#include <stdio.h>
#include <string.h>

#include "base/cursor.h"
#include "decode/pt/packet.h"

enum payload { P_NONE, P_PSB, P_TNT8, P_TNT64, P_IP, P_PIP, P_EXEC, P_TSX, P_UINT, P_TMA, P_CYC,
	       P_VMCS, P_PTW, P_IPBIT, P_BBP, P_BIP, P_CFE, P_EVD, P_TRIG };

struct row {
	const char *name;
	uint32_t    opcode;
	uint8_t     opcode_bytes, size, payload;
};

static const struct row rows[HT_PT_KIND_COUNT] = {
	[HT_PT_BAD] = { "Bad Packet!", 0, 0, 0, P_NONE },
#define ROW(a, kind, name, op, mask, n, size, payload, section) \
	[HT_PT_##kind] = { name, op, n, size, P_##payload },
	HT_PT_PACKETS(ROW, 0)
#undef ROW
};

/* One chain of conditions a byte: the first row that fits wins. */
#define FIRST(b, kind, name, op, mask, n, size, payload, section) \
	(n) == 1 && HT_PT_##kind != HT_PT_BIP && (b) != HT_PT_LEAD_EXT && ((b) & (mask)) == (op) \
		? HT_PT_##kind :
#define SECOND(b, lead, kind, op, mask, n) \
	(n) >= 2 && ((op) & 0xff) == (lead) && ((b) << 8 & (mask) & 0xff00) == ((op) & 0xff00) \
		? HT_PT_##kind :
#define EXTENDED(b, kind, name, op, mask, n, size, payload, section) \
	SECOND(b, HT_PT_LEAD_EXT, kind, op, mask, n)
#define MODE(b, kind, name, op, mask, n, size, payload, section) \
	SECOND(b, HT_PT_LEAD_MODE, kind, op, mask, n)

#define BY_FIRST(b)    HT_PT_PACKETS(FIRST, b) HT_PT_BAD
#define BY_EXTENDED(b) HT_PT_PACKETS(EXTENDED, b) HT_PT_BAD
#define BY_MODE(b)     HT_PT_PACKETS(MODE, b) HT_PT_BAD

#define FOUR(f, b)    f(b), f((b) + 1), f((b) + 2), f((b) + 3)
#define SIXTEEN(f, b) FOUR(f, b), FOUR(f, (b) + 4), FOUR(f, (b) + 8), FOUR(f, (b) + 12)
#define QUARTER(f, b) SIXTEEN(f, b), SIXTEEN(f, (b) + 16), SIXTEEN(f, (b) + 32), SIXTEEN(f, (b) + 48)
#define ALL(f)        QUARTER(f, 0), QUARTER(f, 64), QUARTER(f, 128), QUARTER(f, 192)

const uint8_t ht_pt_kind_first[256] = { ALL(BY_FIRST) };
const uint8_t ht_pt_kind_extended[256] = { ALL(BY_EXTENDED) };
const uint8_t ht_pt_kind_mode[256] = { ALL(BY_MODE) };

const uint8_t ht_pt_ip_bytes[8] = { 0, 2, 4, 6, 6, 0xff, 8, 0xff };

#define CYC_MAX 9 /* bytes: 5 bits, then 7 a byte, fill a 64-bit counter */

/* HT_PT_BAD with *need set when the bytes end before the kind is known. */
static unsigned
find_kind(const uint8_t *buf, size_t len, unsigned block, int *need)
{
	unsigned kind;

	*need = 0;
	if (block && (buf[0] & 0x7) == 0x4)
		return HT_PT_BIP;
	if (buf[0] != HT_PT_LEAD_EXT && buf[0] != HT_PT_LEAD_MODE)
		return ht_pt_kind_first[buf[0]];
	*need = len < 2;
	if (*need)
		return HT_PT_BAD;
	kind = buf[0] == HT_PT_LEAD_EXT ? ht_pt_kind_extended[buf[1]] : ht_pt_kind_mode[buf[1]];
	if (rows[kind].opcode_bytes == 3) {
		*need = len < 3;
		if (*need || buf[2] != rows[kind].opcode >> 16)
			return HT_PT_BAD;
	}
	return kind;
}

/* Bytes of the packet; HT_PT_NEED_MORE or HT_PT_MALFORMED. */
static int
find_size(const uint8_t *buf, size_t len, unsigned block, unsigned payload)
{
	unsigned n;

	switch (payload) {
	case P_IP:
		n = ht_pt_ip_bytes[buf[0] >> 5];
		return n == 0xff ? HT_PT_MALFORMED : (int)n + 1;
	case P_CYC:
		if (!(buf[0] & 0x4))
			return 1;
		for (n = 1; n < len; n++) {
			if (n == CYC_MAX)
				return HT_PT_MALFORMED;
			if (!(buf[n] & 1))
				return (int)n + 1;
		}
		return HT_PT_NEED_MORE;
	case P_PTW:
		n = buf[1] >> 5 & 3; /* the second byte was seen by find_kind() */
		return n == 0 ? 6 : n == 1 ? 10 : HT_PT_MALFORMED;
	case P_TRIG:
		return len < 2 ? HT_PT_NEED_MORE : buf[1] & 0x40 ? 5 : 3;
	case P_BIP:
		return (int)block + 1;
	default:
		return HT_PT_MALFORMED;
	}
}

static int
read_tnt(uint64_t bits, struct ht_pt_packet *p)
{
	unsigned n;

	if (bits < 2)
		return HT_PT_MALFORMED; /* no outcome below the stop bit */
	n = 63 - (unsigned)__builtin_clzll(bits);
	p->count = (uint8_t)n;
	p->value = bits & ((1ull << n) - 1);
	return p->size;
}

static uint64_t
read_cyc(const uint8_t *buf, unsigned size)
{
	uint64_t v = buf[0] >> 3;

	for (unsigned i = 1; i < size; i++)
		v |= (uint64_t)(buf[i] >> 1) << (5 + 7 * (i - 1));
	return v;
}

static int
read_mode(uint8_t bits, unsigned payload, struct ht_pt_packet *p)
{
	static const uint8_t width[4] = { 16, 64, 32, 0 };

	if ((bits & 3) == 3)
		return HT_PT_MALFORMED;
	if (payload == P_EXEC) {
		p->value = width[bits & 3];
		p->flags = bits & 4 ? HT_PT_F_IF : 0;
	} else {
		p->value = bits & 3;
		p->flags = (uint8_t)((bits & 1 ? HT_PT_F_INTX : 0) | (bits & 2 ? HT_PT_F_ABORT : 0));
	}
	return p->size;
}

static int
read_psb(const uint8_t *buf)
{
	for (unsigned i = 0; i < 16; i += 2)
		if (buf[i] != 0x02 || buf[i + 1] != 0x82)
			return HT_PT_MALFORMED;
	return 16;
}

/* Those whose payload is more than one number. All p->size bytes are there. */
static int
read_fields(const uint8_t *buf, unsigned payload, struct ht_pt_packet *p)
{
	switch (payload) {
	case P_TMA:
		if (buf[4] || buf[6] & 0xfe)
			return HT_PT_MALFORMED;
		p->value = ht_le(buf + 2, 2);
		p->extra = (uint16_t)ht_le(buf + 5, 2);
		break;
	case P_PTW:
		p->count = (uint8_t)(p->size - 2);
		p->value = ht_le(buf + 2, p->count);
		p->flags = buf[1] & 0x80 ? HT_PT_F_IP : 0;
		break;
	case P_BBP:
		p->count = buf[2] & 0x80 ? 4 : 8;
		p->extra = buf[2] & 0x1f;
		break;
	case P_BIP:
		p->count = (uint8_t)(p->size - 1);
		p->extra = buf[0] >> 3;
		p->value = ht_le(buf + 1, p->count);
		break;
	case P_CFE:
		p->extra = buf[2] & 0x1f;
		p->value = buf[3];
		p->flags = buf[2] & 0x80 ? HT_PT_F_IP : 0;
		break;
	case P_EVD:
		p->extra = buf[2] & 0x3f;
		p->value = ht_le(buf + 3, 8);
		break;
	case P_TRIG:
		p->value = buf[2];
		p->extra = p->size == 5 ? (uint16_t)ht_le(buf + 3, 2) : 0;
		p->flags = (uint8_t)((buf[1] & 0x80 ? HT_PT_F_IP : 0) | (buf[1] & 0x40 ? HT_PT_F_ICNT : 0) |
		                     (buf[1] & 0x20 ? HT_PT_F_MULT : 0));
		break;
	}
	return p->size;
}

/* All p->size bytes are there. */
static int
read_payload(const uint8_t *buf, const struct row *row, struct ht_pt_packet *p)
{
	switch (row->payload) {
	case P_NONE:
		return p->size;
	case P_PSB:
		return read_psb(buf);
	case P_TNT8:
		return read_tnt(buf[0] >> 1, p);
	case P_TNT64:
		return read_tnt(ht_le(buf + 2, 6), p);
	case P_IP:
		p->count = buf[0] >> 5;
		p->value = ht_le(buf + 1, p->size - 1u);
		return p->size;
	case P_PIP:
		p->value = ht_le(buf + 2, 6) >> 1 << 5;
		p->flags = buf[2] & 1 ? HT_PT_F_NR : 0;
		return p->size;
	case P_EXEC:
	case P_TSX:
		return read_mode(buf[1], row->payload, p);
	case P_UINT:
		p->value = ht_le(buf + row->opcode_bytes, (unsigned)(row->size - row->opcode_bytes));
		return p->size;
	case P_CYC:
		p->value = read_cyc(buf, p->size);
		return p->size;
	case P_VMCS:
		p->value = ht_le(buf + 2, 5) << 12;
		return p->size;
	case P_IPBIT:
		p->flags = buf[1] & 0x80 ? HT_PT_F_IP : 0;
		return p->size;
	default:
		return read_fields(buf, row->payload, p);
	}
}

/* [PT 33.4.2.27 "Block Item Packet"]: what may stand between the items of a block. */
static void
follow_block(const struct ht_pt_packet *p, unsigned *block)
{
	switch (p->kind) {
	case HT_PT_BBP:
		*block = p->count;
		break;
	case HT_PT_PAD: case HT_PT_TSC: case HT_PT_TMA: case HT_PT_MTC: case HT_PT_FUP: case HT_PT_CYC:
	case HT_PT_CBR: case HT_PT_MNT: case HT_PT_EXSTOP: case HT_PT_PWRE: case HT_PT_PWRX: case HT_PT_BIP:
		break;
	default:
		*block = 0;
	}
}

int
ht_pt_packet_read(const uint8_t *buf, size_t len, unsigned *block, struct ht_pt_packet *out)
{
	struct ht_pt_packet p = { 0 };
	int need, size, rc;

	if (len == 0)
		return HT_PT_NEED_MORE;
	p.kind = (uint8_t)find_kind(buf, len, *block, &need);
	if (p.kind == HT_PT_BAD)
		return need ? HT_PT_NEED_MORE : HT_PT_MALFORMED;
	size = rows[p.kind].size;
	if (size == 0)
		size = find_size(buf, len, *block, rows[p.kind].payload);
	if (size <= 0)
		return size;
	if (len < (size_t)size)
		return HT_PT_NEED_MORE;
	p.size = (uint8_t)size;
	rc = read_payload(buf, &rows[p.kind], &p);
	if (rc > 0) {
		follow_block(&p, block);
		*out = p;
	}
	return rc;
}

const char *
ht_pt_packet_name(unsigned kind)
{
	return rows[kind < HT_PT_KIND_COUNT ? kind : HT_PT_BAD].name;
}

size_t
ht_pt_find_psb(const uint8_t *buf, size_t len, size_t from)
{
	static const uint8_t psb[16] = { 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82 };
	const uint8_t *hit;

	if (from >= len)
		return len;
	hit = memmem(buf + from, len - from, psb, sizeof(psb));
	return hit ? (size_t)(hit - buf) : len;
}

unsigned
ht_pt_dictionary(unsigned i, uint8_t bytes[HT_PT_PACKET_MAX])
{
	const struct row *row;

	if (i + 1 >= HT_PT_KIND_COUNT)
		return 0;
	row = &rows[i + 1];
	for (unsigned k = 0; k < HT_PT_PACKET_MAX; k++)
		bytes[k] = (uint8_t)(row->opcode >> 8 * (row->payload == P_PSB ? k % 2 : k % 4));
	return row->payload == P_PSB ? 16 : row->opcode_bytes;
}
