/* SPDX-License-Identifier: BSD-2-Clause */
/* What the packet writers write, libipt reads back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <intel-pt.h>

#include "encode/pt.h"

#define BUFFER 4096

static uint8_t buf[BUFFER];
static uint64_t seed;

static uint64_t
next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static struct pt_packet_decoder *
open_decoder(const uint8_t *end)
{
	struct pt_config config;
	struct pt_packet_decoder *d;

	pt_config_init(&config);
	config.begin = buf;
	config.end = (uint8_t *)(uintptr_t)end;
	d = pt_pkt_alloc_decoder(&config);
	assert_non_null(d);
	assert_int_equal(pt_pkt_sync_set(d, 0), 0);
	return d;
}

static struct pt_packet
read_one(const uint8_t *end)
{
	struct pt_packet_decoder *d = open_decoder(end);
	struct pt_packet p;

	assert_int_equal(pt_pkt_next(d, &p, sizeof(p)), end - buf);
	pt_pkt_free_decoder(d);
	return p;
}

static void
test_plain_packets(void **state)
{
	struct pt_packet p;

	(void)state;
	assert_int_equal(read_one(ht_pt_pad(buf)).type, ppt_pad);
	assert_int_equal(read_one(ht_pt_psb(buf)).type, ppt_psb);
	assert_int_equal(read_one(ht_pt_psbend(buf)).type, ppt_psbend);
	assert_int_equal(read_one(ht_pt_ovf(buf)).type, ppt_ovf);
	p = read_one(ht_pt_tsc(buf, 0x12345678abcdefull));
	assert_int_equal(p.type, ppt_tsc);
	assert_int_equal(p.payload.tsc.tsc, 0x12345678abcdefull);
	p = read_one(ht_pt_cbr(buf, 24));
	assert_int_equal(p.type, ppt_cbr);
	assert_int_equal(p.payload.cbr.ratio, 24);
	p = read_one(ht_pt_mode_exec(buf, 1, 0));
	assert_int_equal(p.type, ppt_mode);
	assert_int_equal(pt_get_exec_mode(&p.payload.mode.bits.exec), ptem_64bit);
	p = read_one(ht_pt_mode_exec(buf, 0, 1));
	assert_int_equal(pt_get_exec_mode(&p.payload.mode.bits.exec), ptem_32bit);
	p = read_one(ht_pt_mode_exec(buf, 0, 0));
	assert_int_equal(pt_get_exec_mode(&p.payload.mode.bits.exec), ptem_16bit);
}

static void
test_outcomes(void **state)
{
	(void)state;
	for (unsigned n = 1; n <= HT_PT_TNT_LONG_MAX; n++) {
		uint64_t bits = next_random() & ((1ull << n) - 1);
		struct pt_packet p = read_one(ht_pt_tnt_long(buf, 1ull << n | bits));

		assert_int_equal(p.type, ppt_tnt_64);
		assert_int_equal(p.payload.tnt.bit_size, n);
		assert_int_equal(p.payload.tnt.payload, bits);
		if (n > HT_PT_TNT_SHORT_MAX)
			continue;
		p = read_one(ht_pt_tnt_short(buf, 1ull << n | bits));
		assert_int_equal(p.type, ppt_tnt_8);
		assert_int_equal(p.payload.tnt.bit_size, n);
		assert_int_equal(p.payload.tnt.payload, bits);
	}
}

static void
test_cycles(void **state)
{
	(void)state;
	for (unsigned bit = 0; bit < 40; bit++) {
		uint64_t v = (1ull << bit) | (next_random() & ((1ull << bit) - 1));
		struct pt_packet p = read_one(ht_pt_cyc(buf, v));

		assert_int_equal(p.type, ppt_cyc);
		assert_int_equal(p.payload.cyc.value, v);
	}
}

/* The rules of the last IP [PT "IP Compression"], written down anew. */
static uint64_t
expand(const struct pt_packet_ip *ip, uint64_t last)
{
	switch (ip->ipc) {
	case pt_ipc_update_16: return (last & ~0xffffull) | ip->ip;
	case pt_ipc_update_32: return (last & ~0xffffffffull) | ip->ip;
	case pt_ipc_update_48: return (last & ~0xffffffffffffull) | ip->ip;
	case pt_ipc_sext_48: return (uint64_t)((int64_t)(ip->ip << 16) >> 16);
	case pt_ipc_full: return ip->ip;
	default: fail(); return 0;
	}
}

static void
test_addresses(void **state)
{
	static const enum ht_pt_kind ops[] = { HT_PT_TIP, HT_PT_TIP_PGE, HT_PT_TIP_PGD, HT_PT_FUP };
	static const enum pt_packet_type types[] = { ppt_tip, ppt_tip_pge, ppt_tip_pgd, ppt_fup };
	uint64_t last = 0;

	(void)state;
	for (unsigned i = 0; i < 4000; i++) {
		uint64_t ip = i % 3 ? last ^ next_random() >> (next_random() % 64) : next_random();
		int based = i % 7 != 0;
		struct pt_packet p = read_one(ht_pt_ip(buf, ops[i % 4], ip, based ? last : HT_PT_NO_BASE));

		assert_int_equal(p.type, types[i % 4]);
		assert_int_equal(expand(&p.payload.ip, based ? last : 0x5555555555555555ull), ip);
		last = ip;
	}
	for (unsigned i = 0; i < 4; i++) {
		struct pt_packet p = read_one(ht_pt_ip_none(buf, ops[i]));

		assert_int_equal(p.type, types[i]);
		assert_int_equal(p.payload.ip.ipc, pt_ipc_suppressed);
	}
	assert_int_equal(ht_pt_ip(buf, HT_PT_TIP, 0x401234, 0x405678) - buf, 3);
	assert_int_equal(ht_pt_ip(buf, HT_PT_TIP, 0x401234, 0x7f00405678) - buf, 7);
	assert_int_equal(ht_pt_ip(buf, HT_PT_TIP, 0x12401234, 0x405678) - buf, 5);
}

/* Packets in a row: each ends where the next begins. */
static void
test_sequences(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 200; round++) {
		enum pt_packet_type want[200];
		struct pt_packet_decoder *d;
		struct pt_packet packet;
		uint8_t *p = buf;
		unsigned n = 0;

		for (; n < 200 && p + HT_PT_PACKET_MAX < buf + BUFFER; n++) {
			uint64_t r = next_random();

			switch (r % 6) {
			case 0: p = ht_pt_tnt_short(p, 1u << 3 | (r >> 8 & 7)); want[n] = ppt_tnt_8; break;
			case 1: p = ht_pt_tnt_long(p, 1ull << 40 | r >> 24); want[n] = ppt_tnt_64; break;
			case 2: p = ht_pt_ip(p, HT_PT_TIP, r, r ^ r >> 40); want[n] = ppt_tip; break;
			case 3: p = ht_pt_tsc(p, r >> 8); want[n] = ppt_tsc; break;
			case 4: p = ht_pt_cyc(p, r >> 30); want[n] = ppt_cyc; break;
			default: p = ht_pt_psb(p); want[n] = ppt_psb; break;
			}
		}
		d = open_decoder(p);
		for (unsigned i = 0; i < n; i++) {
			assert_true(pt_pkt_next(d, &packet, sizeof(packet)) > 0);
			assert_int_equal(packet.type, want[i]);
		}
		assert_int_equal(pt_pkt_next(d, &packet, sizeof(packet)), -pte_eos);
		pt_pkt_free_decoder(d);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain_packets), cmocka_unit_test(test_outcomes),
		cmocka_unit_test(test_cycles), cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_sequences),
	};

	seed = 88172645463325252ull;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
