/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets of every kind with random fields. */
#ifndef TESTS_RANDOM_PACKET_H
#define TESTS_RANDOM_PACKET_H

#include <hwtrace/pt_packet.h>

static inline uint64_t
rnd_next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed * 0x2545f4914f6cdd1dull;
}

static inline uint64_t
rnd_bits(uint64_t *seed, unsigned bits)
{
	return bits ? rnd_next(seed) >> (64 - bits) : 0;
}

/* `bytes`: of a value of a BIP. */
static inline struct ht_pt_packet
random_packet(uint64_t *seed, unsigned kind, unsigned bytes)
{
	static const uint8_t ipc_bits[] = { 0, 16, 32, 48, 48, 0, 64 }, width[] = { 16, 32, 64 };
	struct ht_pt_packet p = { .kind = (uint8_t)kind };
	uint8_t ip = rnd_bits(seed, 1) ? HT_PT_F_IP : 0;

	switch (kind) {
	case HT_PT_TNT_8: case HT_PT_TNT_64:
		p.count = (uint8_t)(1 + rnd_next(seed) % (kind == HT_PT_TNT_8 ? 6 : 47));
		p.value = rnd_bits(seed, p.count);
		break;
	case HT_PT_TIP: case HT_PT_TIP_PGE: case HT_PT_TIP_PGD: case HT_PT_FUP:
		p.count = (uint8_t)(rnd_next(seed) % 6);
		p.count += p.count == 5;
		p.value = rnd_bits(seed, ipc_bits[p.count]);
		break;
	case HT_PT_PIP: p.value = rnd_bits(seed, 47) << 5; p.flags = rnd_bits(seed, 1) ? HT_PT_F_NR : 0; break;
	case HT_PT_MODE_EXEC:
		p.value = width[rnd_next(seed) % 3];
		p.flags = rnd_bits(seed, 1) ? HT_PT_F_IF : 0;
		break;
	case HT_PT_MODE_TSX:
		p.value = rnd_next(seed) % 3;
		p.flags = p.value == 1 ? HT_PT_F_INTX : p.value ? HT_PT_F_ABORT : 0;
		break;
	case HT_PT_CBR: case HT_PT_PWRE: p.value = rnd_bits(seed, 16); break;
	case HT_PT_TSC: p.value = rnd_bits(seed, 56); break;
	case HT_PT_MTC: p.value = rnd_bits(seed, 8); break;
	case HT_PT_TMA: p.value = rnd_bits(seed, 16); p.extra = (uint16_t)rnd_bits(seed, 9); break;
	case HT_PT_CYC: p.value = rnd_bits(seed, (unsigned)(rnd_next(seed) % 62)); break;
	case HT_PT_VMCS: p.value = rnd_bits(seed, 40) << 12; break;
	case HT_PT_MNT: case HT_PT_MWAIT: p.value = rnd_next(seed); break;
	case HT_PT_PWRX: p.value = rnd_bits(seed, 40); break;
	case HT_PT_PTW:
		p.count = ip ? 4 : 8;
		p.value = rnd_bits(seed, 8u * p.count);
		p.flags = rnd_bits(seed, 1) ? HT_PT_F_IP : 0;
		break;
	case HT_PT_EXSTOP: case HT_PT_BEP: p.flags = ip; break;
	case HT_PT_BBP: p.count = (uint8_t)bytes; p.extra = (uint16_t)rnd_bits(seed, 5); break;
	case HT_PT_BIP:
		p.count = (uint8_t)bytes;
		p.extra = (uint16_t)rnd_bits(seed, 5);
		p.value = rnd_bits(seed, 8 * bytes);
		break;
	case HT_PT_CFE: p.extra = (uint16_t)rnd_bits(seed, 5); p.value = rnd_bits(seed, 8); p.flags = ip; break;
	case HT_PT_EVD: p.extra = (uint16_t)rnd_bits(seed, 6); p.value = rnd_next(seed); break;
	case HT_PT_TRIG:
		p.value = rnd_bits(seed, 8);
		p.flags = (uint8_t)(ip | (rnd_bits(seed, 1) ? HT_PT_F_MULT : 0));
		if (rnd_bits(seed, 1)) {
			p.flags |= HT_PT_F_ICNT;
			p.extra = (uint16_t)rnd_bits(seed, 16);
		}
		break;
	default: break;
	}
	return p;
}

#endif
