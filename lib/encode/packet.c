/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "encode/packet.h"

enum payload { P_NONE, P_PSB, P_TNT8, P_TNT64, P_IP, P_PIP, P_EXEC, P_TSX, P_UINT, P_TMA, P_CYC,
	       P_VMCS, P_PTW, P_IPBIT, P_BBP, P_BIP, P_CFE, P_EVD, P_TRIG };

static const struct {
	uint32_t opcode;
	uint8_t  opcode_bytes, size, payload;
} rows[HT_PT_KIND_COUNT] = {
#define ROW(a, kind, name, op, mask, n, size, payload, section) [HT_PT_##kind] = { op, n, size, P_##payload },
	HT_PT_PACKETS(ROW, 0)
#undef ROW
};

/* The low `n` bytes of `v`; returns the byte behind them. */
static uint8_t *
put(uint8_t *at, uint64_t v, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		*at++ = (uint8_t)(v >> 8 * i);
	return at;
}

static int
fits(uint64_t v, unsigned bits)
{
	return bits >= 64 || v >> bits == 0;
}

/* `at` is behind the opcode in all of these; NULL: it cannot be written. */

static uint8_t *
put_tnt(uint8_t *at, uint8_t *opcode, const struct ht_pt_packet *p, unsigned max)
{
	uint64_t bits = 1ull << p->count | p->value;

	if (p->count == 0 || p->count > max || !fits(p->value, p->count))
		return NULL;
	if (max > 6)
		return put(at, bits, 6);
	*opcode = (uint8_t)(bits << 1);
	return at;
}

static uint8_t *
put_ip(uint8_t *at, uint8_t *opcode, const struct ht_pt_packet *p)
{
	static const uint8_t bytes[] = { 0, 2, 4, 6, 6, 0xff, 8, 0xff };
	unsigned n = p->count < sizeof(bytes) ? bytes[p->count] : 0xff;

	if (n == 0xff || !fits(p->value, 8 * n))
		return NULL;
	*opcode |= (uint8_t)(p->count << 5);
	return put(at, p->value, n);
}

static uint8_t *
put_cyc(uint8_t *at, uint8_t *opcode, const struct ht_pt_packet *p)
{
	uint64_t left = p->value >> 5;

	if (!fits(p->value, 5 + 8 * 7))
		return NULL;
	*opcode |= (uint8_t)((p->value & 0x1f) << 3 | (left ? 4 : 0));
	for (; left; left >>= 7)
		*at++ = (uint8_t)((left & 0x7f) << 1 | (left > 0x7f));
	return at;
}

static uint8_t *
put_mode(uint8_t *opcode, const struct ht_pt_packet *p, unsigned payload)
{
	unsigned bits = p->flags & HT_PT_F_INTX ? 1 : p->flags & HT_PT_F_ABORT ? 2 : 0;

	if (payload == P_EXEC) {
		if (p->value != 16 && p->value != 32 && p->value != 64)
			return NULL;
		bits = (p->value == 64 ? 1 : p->value == 32 ? 2 : 0) | (p->flags & HT_PT_F_IF ? 4 : 0);
	}
	opcode[1] |= (uint8_t)bits;
	return opcode + 2;
}

static uint8_t *
put_ptw(uint8_t *at, uint8_t *opcode, const struct ht_pt_packet *p)
{
	if ((p->count != 4 && p->count != 8) || !fits(p->value, 8u * p->count))
		return NULL;
	opcode[1] |= (uint8_t)((p->count == 8 ? 0x20 : 0) | (p->flags & HT_PT_F_IP ? 0x80 : 0));
	return put(at, p->value, p->count);
}

static uint8_t *
put_trig(uint8_t *at, const struct ht_pt_packet *p)
{
	int counts = p->flags & HT_PT_F_ICNT;

	if (!fits(p->value, 8) || (!counts && p->extra))
		return NULL;
	*at++ = (uint8_t)((p->flags & HT_PT_F_IP ? 0x80 : 0) | (counts ? 0x40 : 0) |
	                  (p->flags & HT_PT_F_MULT ? 0x20 : 0));
	at = put(at, p->value, 1);
	return counts ? put(at, p->extra, 2) : at;
}

/* A type of so many bits, with the flag bit 80H, then `n` bytes of value. */
static uint8_t *
put_typed(uint8_t *at, const struct ht_pt_packet *p, unsigned bits, int flag, unsigned n)
{
	if (!fits(p->extra, bits) || !fits(p->value, 8 * n))
		return NULL;
	*at++ = (uint8_t)(p->extra | (flag ? 0x80 : 0));
	return put(at, p->value, n);
}

static uint8_t *
put_payload(uint8_t *at, uint8_t *opcode, const struct ht_pt_packet *p)
{
	int ip = p->flags & HT_PT_F_IP;
	unsigned n;

	switch (rows[p->kind].payload) {
	case P_PSB:
		for (unsigned i = 1; i < 8; i++)
			at = put(at, rows[HT_PT_PSB].opcode, 2);
		return at;
	case P_TNT8: return put_tnt(at, opcode, p, 6);
	case P_TNT64: return put_tnt(at, opcode, p, 47);
	case P_IP: return put_ip(at, opcode, p);
	case P_PIP: return p->value & 0x1f ? NULL : put(at, p->value >> 5 << 1 | !!(p->flags & HT_PT_F_NR), 6);
	case P_EXEC: case P_TSX: return put_mode(opcode, p, rows[p->kind].payload);
	case P_UINT:
		n = rows[p->kind].size - rows[p->kind].opcode_bytes;
		return fits(p->value, 8 * n) ? put(at, p->value, n) : NULL;
	case P_TMA:
		at = put(at, p->value, 3);
		return fits(p->value, 16) && fits(p->extra, 9) ? put(at, p->extra, 2) : NULL;
	case P_CYC: return put_cyc(at, opcode, p);
	case P_VMCS: return p->value & 0xfff || !fits(p->value, 52) ? NULL : put(at, p->value >> 12, 5);
	case P_PTW: return put_ptw(at, opcode, p);
	case P_IPBIT: opcode[1] |= ip ? 0x80 : 0; return at;
	case P_BBP: return put_typed(at, p, 5, p->count == 4, 0);
	case P_BIP:
		if (!fits(p->extra, 5) || (p->count != 4 && p->count != 8) || !fits(p->value, 8u * p->count))
			return NULL;
		*opcode |= (uint8_t)(p->extra << 3);
		return put(at, p->value, p->count);
	case P_CFE: return put_typed(at, p, 5, ip, 1);
	case P_EVD: return put_typed(at, p, 6, 0, 8);
	case P_TRIG: return put_trig(at, p);
	default: return at;
	}
}

unsigned
ht_pt_packet_write(const struct ht_pt_packet *p, uint8_t buf[HT_PT_PACKET_MAX])
{
	uint8_t *at;

	if (p->kind == HT_PT_BAD || p->kind >= HT_PT_KIND_COUNT)
		return 0;
	memset(buf, 0, HT_PT_PACKET_MAX);
	at = put_payload(put(buf, rows[p->kind].opcode, rows[p->kind].opcode_bytes), buf, p);
	return at ? (unsigned)(at - buf) : 0;
}
