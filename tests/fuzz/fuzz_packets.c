/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzz target: the packet reader against libipt's packet decoder, packet by
 * packet from the first byte on.  Opcodes of the packet table are put in by the
 * mutator.  Checked besides: a packet needs its bytes, all of them, and no more.
 */
#include <stdlib.h>
#include <string.h>

#include <intel-pt.h>

#include <hwtrace/pt_packet.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

static void
must(int holds)
{
	if (!holds)
		abort();
}

static int
kind_of(const struct pt_packet *p)
{
	static const uint8_t kinds[] = {
		[ppt_pad] = HT_PT_PAD, [ppt_psb] = HT_PT_PSB, [ppt_psbend] = HT_PT_PSBEND, [ppt_fup] = HT_PT_FUP,
		[ppt_tip] = HT_PT_TIP, [ppt_tip_pge] = HT_PT_TIP_PGE, [ppt_tip_pgd] = HT_PT_TIP_PGD,
		[ppt_tnt_8] = HT_PT_TNT_8, [ppt_tnt_64] = HT_PT_TNT_64, [ppt_pip] = HT_PT_PIP,
		[ppt_vmcs] = HT_PT_VMCS, [ppt_cbr] = HT_PT_CBR, [ppt_tsc] = HT_PT_TSC, [ppt_tma] = HT_PT_TMA,
		[ppt_mtc] = HT_PT_MTC, [ppt_cyc] = HT_PT_CYC, [ppt_stop] = HT_PT_STOP, [ppt_ovf] = HT_PT_OVF,
		[ppt_mnt] = HT_PT_MNT, [ppt_exstop] = HT_PT_EXSTOP, [ppt_mwait] = HT_PT_MWAIT,
		[ppt_pwre] = HT_PT_PWRE, [ppt_pwrx] = HT_PT_PWRX, [ppt_ptw] = HT_PT_PTW,
	};

	if (p->type == ppt_mode)
		return p->payload.mode.leaf == pt_mol_exec ? HT_PT_MODE_EXEC : HT_PT_MODE_TSX;
	return (unsigned)p->type < sizeof(kinds) ? kinds[p->type] : HT_PT_BAD;
}

static int
same_value(const struct pt_packet *a, const struct ht_pt_packet *b)
{
	switch (a->type) {
	case ppt_fup: case ppt_tip: case ppt_tip_pge: case ppt_tip_pgd:
		return b->count == a->payload.ip.ipc && (!b->count || b->value == a->payload.ip.ip);
	case ppt_tnt_8: case ppt_tnt_64:
		return b->count == a->payload.tnt.bit_size && b->value == a->payload.tnt.payload;
	case ppt_pip:
		return b->value == a->payload.pip.cr3;
	case ppt_vmcs:
		return b->value == a->payload.vmcs.base;
	case ppt_tsc:
		return b->value == a->payload.tsc.tsc;
	case ppt_tma:
		return b->value == a->payload.tma.ctc && b->extra == a->payload.tma.fc;
	case ppt_mtc:
		return b->value == a->payload.mtc.ctc;
	case ppt_cyc:
		return b->value == a->payload.cyc.value;
	case ppt_ptw:
		return b->value == a->payload.ptw.payload && (b->flags & HT_PT_F_IP) == a->payload.ptw.ip;
	default:
		return 1;
	}
}

/* What libipt 2.0.5 does not read, or lets pass: docs/DIFFERENCES.md. */
static int
beyond_libipt(const uint8_t *p, size_t n, const struct ht_pt_packet *ours, int rc)
{
	if (rc > 0)
		return ours->kind == HT_PT_BBP || ours->kind == HT_PT_BEP || ours->kind == HT_PT_CFE ||
		       ours->kind == HT_PT_EVD || ours->kind == HT_PT_TRIG;
	if (rc == HT_PT_NEED_MORE)
		return p[0] == 0xd9 || (n >= 2 && p[0] == 2 && (p[1] == 0x63 || p[1] == 0x13 || p[1] == 0x53));
	return n >= 2 && p[0] == 0x99 && (p[1] & 3) == 3;
}

/* With less bytes it needs more, with just its own it is the same. */
static void
check_bounds(const uint8_t *p, const struct ht_pt_packet *ours)
{
	uint8_t *exact = malloc(ours->size);
	struct ht_pt_packet again;
	unsigned block = 0;
	char text[HT_PT_TEXT_MAX];

	memcpy(exact, p, ours->size);
	must(ht_pt_packet_read(exact, ours->size, &block, &again) == ours->size);
	must(again.kind == ours->kind && again.value == ours->value && again.count == ours->count);
	for (size_t n = 0; n < ours->size; n++) {
		block = 0;
		must(ht_pt_packet_read(exact, n, &block, &again) == HT_PT_NEED_MORE);
	}
	must(strlen(ht_pt_packet_text(ours, text, sizeof(text))) < sizeof(text));
	free(exact);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pt_packet_decoder *dec;
	struct pt_config config;
	struct pt_packet theirs;
	struct ht_pt_packet ours = { 0 };
	int rc, ipt;

	pt_config_init(&config);
	config.begin = (uint8_t *)(uintptr_t)data; /* read only */
	config.end = config.begin + size;
	dec = size ? pt_pkt_alloc_decoder(&config) : NULL;
	if (!dec)
		return 0;
	for (size_t at = 0; at < size; at += (size_t)rc) {
		unsigned block = 0;

		rc = ht_pt_packet_read(data + at, size - at, &block, &ours);
		if (rc > 0)
			check_bounds(data + at, &ours);
		if (!beyond_libipt(data + at, size - at, &ours, rc)) {
			must(pt_pkt_sync_set(dec, at) == 0);
			ipt = pt_pkt_next(dec, &theirs, sizeof(theirs));
			if (rc > 0)
				must(ipt == rc && ours.kind == kind_of(&theirs) && same_value(&theirs, &ours));
			else if (rc == HT_PT_NEED_MORE)
				must(ipt == -pte_eos);
			else
				must(ipt == -pte_bad_opc || ipt == -pte_bad_packet);
		}
		if (rc <= 0)
			break;
	}
	pt_pkt_free_decoder(dec);
	return 0;
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	uint8_t word[HT_PT_PACKET_MAX];
	unsigned n = ht_pt_dictionary(seed / 4 % (HT_PT_KIND_COUNT - 1), word);
	size_t at = size ? seed / 4096 % (size + 1) : 0;

	if (seed % 4 || !n || size + n > max)
		return LLVMFuzzerMutate(data, size, max);
	memmove(data + at + n, data + at, size - at);
	memcpy(data + at, word, n);
	return size + n;
}
