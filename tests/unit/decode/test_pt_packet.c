/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets against libipt's packet decoder (what it lacks: against bytes written
 * out by hand), over packets, random bytes and every prefix, each in a heap
 * block of exactly its size.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <intel-pt.h>

#include <hwtrace/pt_packet.h>

static uint64_t seed = 0x9e3779b97f4a7c15ull;

static uint64_t
rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed * 0x2545f4914f6cdd1dull;
}

static unsigned
kind_of(const struct pt_packet *p)
{
	switch (p->type) {
	case ppt_pad: return HT_PT_PAD;
	case ppt_psb: return HT_PT_PSB;
	case ppt_psbend: return HT_PT_PSBEND;
	case ppt_fup: return HT_PT_FUP;
	case ppt_tip: return HT_PT_TIP;
	case ppt_tip_pge: return HT_PT_TIP_PGE;
	case ppt_tip_pgd: return HT_PT_TIP_PGD;
	case ppt_tnt_8: return HT_PT_TNT_8;
	case ppt_tnt_64: return HT_PT_TNT_64;
	case ppt_mode: return p->payload.mode.leaf == pt_mol_exec ? HT_PT_MODE_EXEC : HT_PT_MODE_TSX;
	case ppt_pip: return HT_PT_PIP;
	case ppt_vmcs: return HT_PT_VMCS;
	case ppt_cbr: return HT_PT_CBR;
	case ppt_tsc: return HT_PT_TSC;
	case ppt_tma: return HT_PT_TMA;
	case ppt_mtc: return HT_PT_MTC;
	case ppt_cyc: return HT_PT_CYC;
	case ppt_stop: return HT_PT_STOP;
	case ppt_ovf: return HT_PT_OVF;
	case ppt_mnt: return HT_PT_MNT;
	case ppt_exstop: return HT_PT_EXSTOP;
	case ppt_mwait: return HT_PT_MWAIT;
	case ppt_pwre: return HT_PT_PWRE;
	case ppt_pwrx: return HT_PT_PWRX;
	case ppt_ptw: return HT_PT_PTW;
	default: return HT_PT_BAD;
	}
}

static void
same_mode(const struct pt_packet *a, const struct ht_pt_packet *b)
{
	if (b->kind == HT_PT_MODE_EXEC) {
		unsigned bits = a->payload.mode.bits.exec.csl ? 64 : a->payload.mode.bits.exec.csd ? 32 : 16;

		assert_int_equal(b->value, bits);
		return;
	}
	assert_int_equal(!!(b->flags & HT_PT_F_INTX), a->payload.mode.bits.tsx.intx);
	assert_int_equal(!!(b->flags & HT_PT_F_ABORT), a->payload.mode.bits.tsx.abrt);
}

static void
same_payload(const struct pt_packet *a, const struct ht_pt_packet *b)
{
	switch (a->type) {
	case ppt_fup: case ppt_tip: case ppt_tip_pge: case ppt_tip_pgd:
		assert_int_equal(b->count, a->payload.ip.ipc);
		if (b->count)
			assert_int_equal(b->value, a->payload.ip.ip);
		break;
	case ppt_tnt_8: case ppt_tnt_64:
		assert_int_equal(b->count, a->payload.tnt.bit_size);
		assert_int_equal(b->value, a->payload.tnt.payload);
		break;
	case ppt_mode: same_mode(a, b); break;
	case ppt_pip:
		assert_int_equal(b->value, a->payload.pip.cr3);
		assert_int_equal(!!(b->flags & HT_PT_F_NR), a->payload.pip.nr);
		break;
	case ppt_vmcs: assert_int_equal(b->value, a->payload.vmcs.base); break;
	case ppt_cbr: assert_int_equal(b->value & 0xff, a->payload.cbr.ratio); break;
	case ppt_tsc: assert_int_equal(b->value, a->payload.tsc.tsc); break;
	case ppt_tma:
		assert_int_equal(b->value, a->payload.tma.ctc);
		assert_int_equal(b->extra, a->payload.tma.fc);
		break;
	case ppt_mtc: assert_int_equal(b->value, a->payload.mtc.ctc); break;
	case ppt_cyc: assert_int_equal(b->value, a->payload.cyc.value); break;
	case ppt_mnt: assert_int_equal(b->value, a->payload.mnt.payload); break;
	case ppt_exstop: assert_int_equal(b->flags & HT_PT_F_IP, a->payload.exstop.ip); break;
	case ppt_mwait:
		assert_int_equal((uint32_t)b->value, a->payload.mwait.hints);
		assert_int_equal(b->value >> 32, a->payload.mwait.ext);
		break;
	case ppt_pwre:
		assert_int_equal(b->value >> 12 & 15, a->payload.pwre.state);
		assert_int_equal(b->value >> 8 & 15, a->payload.pwre.sub_state);
		break;
	case ppt_pwrx:
		assert_int_equal(b->value >> 4 & 15, a->payload.pwrx.last);
		assert_int_equal(b->value & 15, a->payload.pwrx.deepest);
		break;
	case ppt_ptw:
		assert_int_equal(b->value, a->payload.ptw.payload);
		assert_int_equal(b->flags & HT_PT_F_IP, a->payload.ptw.ip);
		break;
	default: break;
	}
}

/* Kinds that libipt 2.0.5 does not read, and bits that it lets pass: see docs/DIFFERENCES.md. */
static int
beyond_libipt(const uint8_t *buf, size_t len, const struct ht_pt_packet *p, int rc)
{
	if (rc > 0)
		return p->kind == HT_PT_BBP || p->kind == HT_PT_BIP || p->kind == HT_PT_BEP ||
		       p->kind == HT_PT_CFE || p->kind == HT_PT_EVD || p->kind == HT_PT_TRIG;
	if (rc == HT_PT_NEED_MORE)
		return buf[0] == 0xd9 ||
		       (len >= 2 && buf[0] == 2 && (buf[1] == 0x63 || buf[1] == 0x13 || buf[1] == 0x53));
	return len >= 2 && buf[0] == 0x99 && (buf[1] & 3) == 3;
}

/* Read the packet at copy[0] with both; returns what ours returned. */
static int
compare_at(const uint8_t *bytes, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);
	struct pt_config config;
	struct pt_packet_decoder *dec;
	struct pt_packet theirs;
	struct ht_pt_packet ours = { 0 };
	unsigned block = 0;
	int rc, ipt;

	assert_non_null(copy);
	memcpy(copy, bytes, len);
	rc = ht_pt_packet_read(copy, len, &block, &ours);
	pt_config_init(&config);
	config.begin = copy;
	config.end = copy + len;
	dec = len ? pt_pkt_alloc_decoder(&config) : NULL;
	if (dec && !beyond_libipt(copy, len, &ours, rc)) {
		assert_int_equal(pt_pkt_sync_set(dec, 0), 0);
		ipt = pt_pkt_next(dec, &theirs, sizeof(theirs));
		if (rc > 0) {
			assert_int_equal(ipt, rc);
			assert_int_equal(ours.size, rc);
			assert_int_equal(ours.kind, kind_of(&theirs));
			same_payload(&theirs, &ours);
		} else if (rc == HT_PT_NEED_MORE) {
			assert_int_equal(ipt, -pte_eos);
		} else {
			assert_true(ipt == -pte_bad_opc || ipt == -pte_bad_packet);
		}
	}
	pt_pkt_free_decoder(dec);
	free(copy);
	return rc;
}

static void
test_random_bytes(void **state)
{
	static const uint8_t leads[] = { 0x02, 0x99, 0x19, 0x59, 0x03, 0x07, 0x0d, 0x1d, 0xd9 };
	uint8_t buf[20];
	unsigned seen[3] = { 0 };

	(void)state;
	for (unsigned i = 0; i < 60000; i++) {
		int rc;

		for (unsigned k = 0; k < sizeof(buf); k++)
			buf[k] = (uint8_t)(rnd() >> 32);
		if (i % 2)
			buf[0] = leads[rnd() % sizeof(leads)];
		if (i % 8 == 1)
			for (unsigned k = 1; k < 12; k++)
				buf[k] |= 1; /* long CYC */
		rc = compare_at(buf, 1 + rnd() % sizeof(buf));
		seen[rc > 0 ? 0 : rc == 0 ? 1 : 2]++;
	}
	for (unsigned i = 0; i < 65536; i++) {
		uint8_t two[16] = { (uint8_t)i, (uint8_t)(i >> 8) };

		seen[compare_at(two, sizeof(two)) > 0 ? 0 : 2]++;
	}
	assert_true(seen[0] > 20000 && seen[1] > 1000 && seen[2] > 1000);
}

/* One packet of each kind, by libipt's encoder where it has one. */
static void
fill(struct pt_packet *p, enum pt_packet_type type)
{
	memset(p, 0, sizeof(*p));
	p->type = type;
	switch (type) {
	case ppt_fup: case ppt_tip: case ppt_tip_pge: case ppt_tip_pgd: {
		static const uint8_t ipc[] = { 0, 1, 2, 3, 4, 6 };
		static const uint8_t bits[] = { 0, 16, 32, 48, 48, 64 };
		unsigned k = (unsigned)(rnd() % 6);

		p->payload.ip.ipc = ipc[k];
		p->payload.ip.ip = bits[k] == 64 ? rnd() : rnd() & ((1ull << bits[k]) - 1);
		break;
	}
	case ppt_tnt_8: case ppt_tnt_64:
		p->payload.tnt.bit_size = (uint8_t)(1 + rnd() % (type == ppt_tnt_8 ? 6 : 47));
		p->payload.tnt.payload = rnd() & ((1ull << p->payload.tnt.bit_size) - 1);
		break;
	case ppt_mode:
		p->payload.mode.leaf = rnd() & 1 ? pt_mol_exec : pt_mol_tsx;
		if (p->payload.mode.leaf == pt_mol_exec)
			p->payload.mode.bits.exec.csl = rnd() & 1;
		else
			p->payload.mode.bits.tsx.intx = rnd() & 1;
		break;
	case ppt_pip: p->payload.pip.cr3 = rnd() & 0xfffffffffe0ull; p->payload.pip.nr = rnd() & 1; break;
	case ppt_vmcs: p->payload.vmcs.base = rnd() & 0xffffffffff000ull; break;
	case ppt_cbr: p->payload.cbr.ratio = (uint8_t)rnd(); break;
	case ppt_tsc: p->payload.tsc.tsc = rnd() >> 8; break;
	case ppt_tma: p->payload.tma.ctc = (uint16_t)rnd(); p->payload.tma.fc = rnd() & 0x1ff; break;
	case ppt_mtc: p->payload.mtc.ctc = (uint8_t)rnd(); break;
	case ppt_cyc: p->payload.cyc.value = rnd() >> (rnd() % 60 + 4); break;
	case ppt_mnt: p->payload.mnt.payload = rnd(); break;
	case ppt_exstop: p->payload.exstop.ip = rnd() & 1; break;
	case ppt_mwait: p->payload.mwait.hints = (uint32_t)rnd(); p->payload.mwait.ext = (uint32_t)rnd(); break;
	case ppt_pwre: p->payload.pwre.state = rnd() & 15; p->payload.pwre.sub_state = rnd() & 15; break;
	case ppt_pwrx: p->payload.pwrx.last = rnd() & 15; p->payload.pwrx.deepest = rnd() & 15; break;
	case ppt_ptw:
		p->payload.ptw.plc = rnd() & 1;
		p->payload.ptw.payload = p->payload.ptw.plc ? rnd() : (uint32_t)rnd();
		p->payload.ptw.ip = rnd() & 1;
		break;
	default: break;
	}
}

static void
test_encoded_packets_and_prefixes(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 40; round++)
		for (unsigned type = ppt_pad; type <= ppt_ptw; type++) {
			uint8_t buf[16];
			struct pt_config config;
			struct pt_encoder *enc;
			struct pt_packet packet;
			int size;

			pt_config_init(&config);
			config.begin = buf;
			config.end = buf + sizeof(buf);
			enc = pt_alloc_encoder(&config);
			assert_non_null(enc);
			fill(&packet, (enum pt_packet_type)type);
			size = pt_enc_next(enc, &packet);
			pt_free_encoder(enc);
			assert_true(size > 0);
			for (int n = 0; n < size; n++)
				assert_int_equal(compare_at(buf, (size_t)n), HT_PT_NEED_MORE);
			assert_int_equal(compare_at(buf, (size_t)size), size);
		}
}

struct sample {
	uint8_t     bytes[16];
	int         size;
	unsigned    kind;
	const char *text;
};

static const struct sample samples[] = {
	{ { 0x02, 0x63, 0x80 | 4 }, 3, HT_PT_BBP, "BBP SZ 4-byte Type 0x4" },
	{ { 0x04 | 3 << 3, 1, 2, 3, 4 }, 5, HT_PT_BIP, "BIP ID 0x03 Value 0x4030201" },
	{ { 0x02, 0xb3 }, 2, HT_PT_BEP, "BEP IP:1" },
	{ { 0x02, 0x63, 1 }, 3, HT_PT_BBP, "BBP SZ 8-byte Type 0x1" },
	{ { 0x04 | 31 << 3, 1, 2, 3, 4, 5, 6, 7, 8 }, 9, HT_PT_BIP, "BIP ID 0x1f Value 0x807060504030201" },
	{ { 0x02, 0x33 }, 2, HT_PT_BEP, "BEP IP:0" },
	{ { 0x0c }, 1, HT_PT_TNT_8, "TNT TN (2)" },
	{ { 0x02, 0x13, 0x81, 0x03 }, 4, HT_PT_CFE, "CFE IP:1 Type 0x01 Vector 0x3" },
	{ { 0x02, 0x53, 0x3f, 2, 3, 4, 5, 6, 7, 8, 9 }, 11, HT_PT_EVD,
	  "EVD Type 0x3f Payload 0x908070605040302" },
	{ { 0xd9, 0x80, 0x05 }, 3, HT_PT_TRIG, "TRIG IP:1 Triggers 0x5 MULT:0" },
	{ { 0xd9, 0x60, 0x01, 0x10, 0x20 }, 5, HT_PT_TRIG, "TRIG IP:0 Triggers 0x1 MULT:1 ICNT 0x2010" },
	{ { 0x00 }, 1, HT_PT_PAD, "PAD" },
	{ { 0x02, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82 }, 16, HT_PT_PSB, "PSB" },
	{ { 0x02, 0x23 }, 2, HT_PT_PSBEND, "PSBEND" },
	{ { 0x02, 0xa3, 0x01, 0x80, 0x55, 0, 0, 0 }, 8, HT_PT_TNT_64, "TNT NTNTNTTNNNNNNNNNNNNNNT (22)" },
	{ { 0x2d, 0x34, 0x12 }, 3, HT_PT_TIP, "TIP 0x1234" },
	{ { 0x0d }, 1, HT_PT_TIP, "TIP no ip" },
	{ { 0x71, 1, 2, 3, 4, 5, 0xff }, 7, HT_PT_TIP_PGE, "TIP.PGE 0xff0504030201" },
	{ { 0x01 }, 1, HT_PT_TIP_PGD, "TIP.PGD no ip" },
	{ { 0xdd, 1, 2, 3, 4, 5, 6, 7, 8 }, 9, HT_PT_FUP, "FUP 0x807060504030201" },
	{ { 0x02, 0x43, 0x03, 0x10, 0, 0, 0, 0 }, 8, HT_PT_PIP, "PIP 0x801 (NR=1)" },
	{ { 0x99, 0x01 }, 2, HT_PT_MODE_EXEC, "MODE.Exec IF:0 64" },
	{ { 0x99, 0x06 }, 2, HT_PT_MODE_EXEC, "MODE.Exec IF:1 32" },
	{ { 0x99, 0x22 }, 2, HT_PT_MODE_TSX, "MODE.TSX TXAbort:1 InTX:0" },
	{ { 0x02, 0x83 }, 2, HT_PT_STOP, "TraceSTOP" },
	{ { 0x02, 0x03, 0x1b, 0 }, 4, HT_PT_CBR, "CBR 0x1b" },
	{ { 0x19, 1, 2, 3, 4, 5, 6, 7 }, 8, HT_PT_TSC, "TSC 0x7060504030201" },
	{ { 0x59, 0x80 }, 2, HT_PT_MTC, "MTC 0x80" },
	{ { 0x02, 0x73, 0x34, 0x12, 0, 0x56, 1 }, 7, HT_PT_TMA, "TMA CTC 0x1234 FC 0x156" },
	{ { 0x0f, 0x02 }, 2, HT_PT_CYC, "CYC 0x21" },
	{ { 0x02, 0xc8, 1, 2, 3, 4, 5 }, 7, HT_PT_VMCS, "VMCS 0x504030201" },
	{ { 0x02, 0xf3 }, 2, HT_PT_OVF, "OVF" },
	{ { 0x02, 0xc3, 0x88, 1, 2, 3, 4, 5, 6, 7, 8 }, 11, HT_PT_MNT, "MNT 0x807060504030201" },
	{ { 0x02, 0x92, 1, 2, 3, 4 }, 6, HT_PT_PTW, "PTWRITE 0x4030201 IP:1" },
	{ { 0x02, 0x32, 1, 2, 3, 4, 5, 6, 7, 8 }, 10, HT_PT_PTW, "PTWRITE 0x807060504030201 IP:0" },
	{ { 0x02, 0xe2 }, 2, HT_PT_EXSTOP, "EXSTOP IP:1" },
	{ { 0x02, 0xc2, 0x21, 0, 0, 0, 1, 0, 0, 0 }, 10, HT_PT_MWAIT, "MWAIT 0x100000021 Hints 0x21 Extensions 0x1" },
	{ { 0x02, 0x22, 0x80, 0x12 }, 4, HT_PT_PWRE, "PWRE 0x1280 HW:1 CState:1 Sub-CState:2" },
	{ { 0x02, 0xa2, 0x21, 0x04, 0, 0, 0 }, 7, HT_PT_PWRX,
	  "PWRX 0x421 Last CState:2 Deepest CState:1 Wake Reason 0x4" },
};

static void
test_texts_and_kinds(void **state)
{
	unsigned block = 0, seen[HT_PT_KIND_COUNT] = { 0 };

	(void)state;
	for (unsigned i = 0; i < sizeof(samples) / sizeof(*samples); i++) {
		const struct sample *s = &samples[i];
		struct ht_pt_packet p;
		char text[HT_PT_TEXT_MAX];
		unsigned before = block;

		for (int n = 0; n < s->size; n++) {
			uint8_t *copy = malloc(n ? (size_t)n : 1);

			memcpy(copy, s->bytes, (size_t)n);
			assert_int_equal(ht_pt_packet_read(copy, (size_t)n, &block, &p), HT_PT_NEED_MORE);
			free(copy);
			assert_int_equal(block, before);
		}
		assert_int_equal(ht_pt_packet_read(s->bytes, sizeof(s->bytes), &block, &p), s->size);
		assert_int_equal(p.kind, s->kind);
		assert_string_equal(ht_pt_packet_text(&p, text, sizeof(text)), s->text);
		seen[p.kind]++;
	}
	for (unsigned k = 1; k < HT_PT_KIND_COUNT; k++)
		assert_true(seen[k] > 0);
}

static void
test_addresses(void **state)
{
	static const struct { unsigned ipc; uint64_t value, want; } rows[] = {
		{ HT_PT_IPC_UPDATE_16, 0xabcd, 0xffffffff8123abcdull },
		{ HT_PT_IPC_UPDATE_32, 0x1234abcd, 0xffffffff1234abcdull },
		{ HT_PT_IPC_UPDATE_48, 0x123456789abcull, 0xffff123456789abcull },
		{ HT_PT_IPC_SEXT_48, 0x823456789abcull, 0xffff823456789abcull },
		{ HT_PT_IPC_SEXT_48, 0x7f3456789abcull, 0x00007f3456789abcull },
		{ HT_PT_IPC_FULL, 0x123456789abcdef0ull, 0x123456789abcdef0ull },
	};
	uint64_t ip = 42;
	struct ht_pt_packet p = { .count = HT_PT_IPC_NONE };

	(void)state;
	assert_int_equal(ht_pt_packet_ip(&p, 1, &ip), 0);
	assert_int_equal(ip, 42);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		p.count = (uint8_t)rows[i].ipc;
		p.value = rows[i].value;
		assert_int_equal(ht_pt_packet_ip(&p, 0xffffffff81230000ull, &ip), 1);
		assert_int_equal(ip, rows[i].want);
	}
}

static void
test_find_psb_and_dictionary(void **state)
{
	uint8_t buf[64] = { 0 }, bytes[HT_PT_PACKET_MAX];
	unsigned n, rows = 0;

	(void)state;
	for (unsigned i = 0; i < 16; i++)
		buf[21 + i] = i % 2 ? 0x82 : 0x02;
	assert_int_equal(ht_pt_find_psb(buf, sizeof(buf), 0), 21);
	assert_int_equal(ht_pt_find_psb(buf, sizeof(buf), 21), 21);
	assert_int_equal(ht_pt_find_psb(buf, sizeof(buf), 22), sizeof(buf));
	assert_int_equal(ht_pt_find_psb(buf, 36, 0), 36);
	assert_int_equal(ht_pt_find_psb(buf, 10, 12), 10);
	for (; (n = ht_pt_dictionary(rows, bytes)) > 0; rows++)
		assert_true(n <= sizeof(bytes));
	assert_int_equal(rows, HT_PT_KIND_COUNT - 1);
	assert_int_equal(ht_pt_dictionary(HT_PT_PSB - 1, bytes), 16);
	assert_memory_equal(bytes, buf + 21, 16);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_bytes),
		cmocka_unit_test(test_encoded_packets_and_prefixes),
		cmocka_unit_test(test_texts_and_kinds),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_find_psb_and_dictionary),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
