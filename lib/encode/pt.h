/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Intel PT packet writers.  Each writes one packet at `p` and returns the byte
 * behind it; the caller has made sure of HT_PT_PACKET_MAX bytes.  Inline, since
 * the software trace unit writes packets on its hot path.  Kinds and opcodes are
 * those of the table in hwtrace/pt_packet.h.
 */
#ifndef ENCODE_PT_H
#define ENCODE_PT_H

#include <stdint.h>
#include <string.h>

#include <hwtrace/pt_packet.h>

#define HT_PT_NO_BASE    UINT64_MAX /* as `base`: nothing to compress against */
#define HT_PT_TNT_LONG_MAX  47
#define HT_PT_TNT_SHORT_MAX 6

enum ht_pt_op {
#define HT_PT_OP_ENUM(a, kind, name, opcode, ...) HT_PT_OP_##kind = opcode,
	HT_PT_PACKETS(HT_PT_OP_ENUM, 0)
#undef HT_PT_OP_ENUM
};

/* Low five bits of a packet that carries an IP: TIP, TIP.PGE, TIP.PGD or FUP. */
static inline unsigned
ht_pt_ip_op(enum ht_pt_kind kind)
{
	return kind == HT_PT_TIP       ? HT_PT_OP_TIP
	       : kind == HT_PT_TIP_PGE ? HT_PT_OP_TIP_PGE
	       : kind == HT_PT_TIP_PGD ? HT_PT_OP_TIP_PGD
	                               : HT_PT_OP_FUP;
}

/* Stores are little-endian, as the only hosts that run the software trace unit are. */
static inline uint8_t *
ht_pt_raw(uint8_t *p, uint64_t v, unsigned n)
{
	memcpy(p, &v, 8);
	return p + n;
}

static inline uint8_t *
ht_pt_pad(uint8_t *p)
{
	*p = HT_PT_OP_PAD;
	return p + 1;
}

static inline uint8_t *
ht_pt_psb(uint8_t *p)
{
	static const uint8_t pair[2] = { HT_PT_OP_PSB & 0xff, HT_PT_OP_PSB >> 8 };

	for (unsigned i = 0; i < 16; i += 2)
		memcpy(p + i, pair, 2);
	return p + 16;
}

static inline uint8_t *
ht_pt_psbend(uint8_t *p)
{
	return ht_pt_raw(p, HT_PT_OP_PSBEND, 2);
}

static inline uint8_t *
ht_pt_ovf(uint8_t *p)
{
	return ht_pt_raw(p, HT_PT_OP_OVF, 2);
}

/* Execution mode: 64-bit code when `lma`, else 32-bit code when `d`, else 16-bit. */
static inline uint8_t *
ht_pt_mode_exec(uint8_t *p, int lma, int d)
{
	return ht_pt_raw(p, HT_PT_OP_MODE_EXEC | (uint64_t)(lma ? 1 : d ? 2 : 0) << 8, 2);
}

static inline uint8_t *
ht_pt_tsc(uint8_t *p, uint64_t tsc)
{
	return ht_pt_raw(p, HT_PT_OP_TSC | tsc << 8, 8);
}

static inline uint8_t *
ht_pt_cbr(uint8_t *p, uint8_t ratio)
{
	return ht_pt_raw(p, HT_PT_OP_CBR | (uint64_t)ratio << 16, 4);
}

/* Up to 6 outcomes: newest in bit 0, below a stop bit; one byte. */
static inline uint8_t *
ht_pt_tnt_short(uint8_t *p, uint64_t tnt)
{
	*p = (uint8_t)(tnt << 1);
	return p + 1;
}

/* Up to 47 outcomes, the same form; eight bytes. */
static inline uint8_t *
ht_pt_tnt_long(uint8_t *p, uint64_t tnt)
{
	return ht_pt_raw(p, HT_PT_OP_TNT_64 | tnt << 16, 8);
}

/* A packet with its IP left out. */
static inline uint8_t *
ht_pt_ip_none(uint8_t *p, enum ht_pt_kind kind)
{
	*p = (uint8_t)ht_pt_ip_op(kind);
	return p + 1;
}

/*
 * A packet with an IP in the shortest form, given the last IP `base` that the
 * decoder has seen (after a PSB: 0 counts as seen).
 */
static inline uint8_t *
ht_pt_ip(uint8_t *p, enum ht_pt_kind kind, uint64_t ip, uint64_t base)
{
	unsigned op = ht_pt_ip_op(kind);

	if (base != HT_PT_NO_BASE) {
		if (!((ip ^ base) >> 16)) {
			p[0] = (uint8_t)(op | HT_PT_IPC_UPDATE_16 << 5);
			return ht_pt_raw(p + 1, ip, 2);
		}
		if (!((ip ^ base) >> 32)) {
			p[0] = (uint8_t)(op | HT_PT_IPC_UPDATE_32 << 5);
			return ht_pt_raw(p + 1, ip, 4);
		}
	}
	if ((uint64_t)((int64_t)(ip << 16) >> 16) == ip) {
		p[0] = (uint8_t)(op | HT_PT_IPC_SEXT_48 << 5);
		return ht_pt_raw(p + 1, ip, 6);
	}
	if (base != HT_PT_NO_BASE && !((ip ^ base) >> 48)) {
		p[0] = (uint8_t)(op | HT_PT_IPC_UPDATE_48 << 5);
		return ht_pt_raw(p + 1, ip, 6);
	}
	p[0] = (uint8_t)(op | HT_PT_IPC_FULL << 5);
	return ht_pt_raw(p + 1, ip, 8);
}

/* Cycles since the last CYC packet. */
static inline uint8_t *
ht_pt_cyc(uint8_t *p, uint64_t cycles)
{
	*p = (uint8_t)(HT_PT_OP_CYC | (cycles & 0x1f) << 3 | (cycles > 0x1f ? 4 : 0));
	p++;
	for (cycles >>= 5; cycles; cycles >>= 7)
		*p++ = (uint8_t)((cycles & 0x7f) << 1 | (cycles > 0x7f));
	return p;
}

#endif
