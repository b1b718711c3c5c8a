/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets as text, in the words of perf's dump (perf script -D). */
#include <stdio.h>

#include <hwtrace/pt_packet.h>

typedef unsigned long long ull;

static void
text_tnt(const struct ht_pt_packet *p, const char *name, char *buf, size_t size)
{
	char bits[64];
	unsigned n = p->count < sizeof(bits) ? p->count : sizeof(bits) - 1;

	for (unsigned i = 0; i < n; i++)
		bits[i] = p->value >> (n - 1 - i) & 1 ? 'T' : 'N';
	bits[n] = '\0';
	snprintf(buf, size, "%s %s (%u)", name, bits, n);
}

static void
text_power(const struct ht_pt_packet *p, const char *name, char *buf, size_t size)
{
	ull v = p->value;
	unsigned lo = (unsigned)v;

	if (p->kind == HT_PT_MWAIT)
		snprintf(buf, size, "%s 0x%llx Hints 0x%x Extensions 0x%x", name, v, lo & 0xff,
		         (unsigned)(v >> 32) & 3);
	else if (p->kind == HT_PT_PWRE)
		snprintf(buf, size, "%s 0x%llx HW:%u CState:%u Sub-CState:%u", name, v, lo >> 7 & 1,
		         lo >> 12 & 15, lo >> 8 & 15);
	else
		snprintf(buf, size, "%s 0x%llx Last CState:%u Deepest CState:%u Wake Reason 0x%x", name, v,
		         lo >> 4 & 15, lo & 15, lo >> 8 & 15);
}

/* What perf has no words for. */
static void
text_trig(const struct ht_pt_packet *p, const char *name, char *buf, size_t size)
{
	int n = snprintf(buf, size, "%s IP:%d Triggers 0x%llx MULT:%d", name, !!(p->flags & HT_PT_F_IP),
	                 (ull)p->value, !!(p->flags & HT_PT_F_MULT));

	if (p->flags & HT_PT_F_ICNT && n > 0 && (size_t)n < size)
		snprintf(buf + n, size - (size_t)n, " ICNT 0x%x", p->extra);
}

static void
text_other(const struct ht_pt_packet *p, const char *name, char *buf, size_t size)
{
	int ip = !!(p->flags & HT_PT_F_IP);
	ull v = p->value;

	switch (p->kind) {
	case HT_PT_TMA:
		snprintf(buf, size, "%s CTC 0x%x FC 0x%x", name, (unsigned)v, p->extra);
		break;
	case HT_PT_MODE_EXEC:
		snprintf(buf, size, "%s IF:%d %llu", name, !!(p->flags & HT_PT_F_IF), v);
		break;
	case HT_PT_MODE_TSX:
		snprintf(buf, size, "%s TXAbort:%d InTX:%d", name, !!(p->flags & HT_PT_F_ABORT),
		         !!(p->flags & HT_PT_F_INTX));
		break;
	case HT_PT_PIP:
		snprintf(buf, size, "%s 0x%llx (NR=%d)", name, v >> 5, !!(p->flags & HT_PT_F_NR));
		break;
	case HT_PT_VMCS:
		snprintf(buf, size, "%s 0x%llx", name, v >> 12);
		break;
	case HT_PT_PTW:
		snprintf(buf, size, "%s 0x%llx IP:%d", name, v, ip);
		break;
	case HT_PT_EXSTOP:
	case HT_PT_BEP:
		snprintf(buf, size, "%s IP:%d", name, ip);
		break;
	case HT_PT_BBP:
		snprintf(buf, size, "%s SZ %u-byte Type 0x%x", name, p->count, p->extra);
		break;
	case HT_PT_BIP:
		snprintf(buf, size, "%s ID 0x%02x Value 0x%llx", name, p->extra, v);
		break;
	case HT_PT_CFE:
		snprintf(buf, size, "%s IP:%d Type 0x%02x Vector 0x%llx", name, ip, p->extra, v);
		break;
	case HT_PT_EVD:
		snprintf(buf, size, "%s Type 0x%02x Payload 0x%llx", name, p->extra, v);
		break;
	default:
		snprintf(buf, size, "%s 0x%llx", name, v);
	}
}

const char *
ht_pt_packet_text(const struct ht_pt_packet *p, char *buf, size_t size)
{
	const char *name = ht_pt_packet_name(p->kind);

	switch (p->kind) {
	case HT_PT_BAD: case HT_PT_PAD: case HT_PT_PSB: case HT_PT_PSBEND: case HT_PT_STOP: case HT_PT_OVF:
		snprintf(buf, size, "%s", name);
		break;
	case HT_PT_TNT_8: case HT_PT_TNT_64:
		text_tnt(p, name, buf, size);
		break;
	case HT_PT_TIP: case HT_PT_TIP_PGE: case HT_PT_TIP_PGD: case HT_PT_FUP:
		if (p->count == HT_PT_IPC_NONE)
			snprintf(buf, size, "%s no ip", name);
		else
			snprintf(buf, size, "%s 0x%llx", name, (ull)p->value);
		break;
	case HT_PT_MWAIT: case HT_PT_PWRE: case HT_PT_PWRX:
		text_power(p, name, buf, size);
		break;
	case HT_PT_TRIG:
		text_trig(p, name, buf, size);
		break;
	default:
		text_other(p, name, buf, size);
	}
	return buf;
}
