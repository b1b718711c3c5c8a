/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Intel PT packets: bytes to a plain value, and the value as text.
 *
 * HT_PT_PACKETS below is the only place where an opcode or a size is written
 * down: the enum, the reader, the names and the fuzz dictionary come from it.
 */
#ifndef HWTRACE_PT_PACKET_H
#define HWTRACE_PT_PACKET_H

#include <stddef.h>
#include <stdint.h>

/*
 * One row a packet, in order of match: kind, name as perf's dump writes it,
 * opcode (first byte lowest), its mask, its bytes, bytes of the whole packet
 * (0: as the payload says), how the payload is read, section of [PT 33.4.2].
 * `a` is handed to every row, for what the user of the table likes.
 */
#define HT_PT_PACKETS(X, a)                                                                \
	X(a, PAD,       "PAD",       0x00,     0xff,     1, 1,  NONE,  "20 PAD Packet")          \
	X(a, PSB,       "PSB",       0x8202,   0xffff,   2, 16, PSB,   "17 Packet Stream Boundary") \
	X(a, PSBEND,    "PSBEND",    0x2302,   0xffff,   2, 2,  NONE,  "18 PSBEND Packet")       \
	X(a, TNT_64,    "TNT",       0xa302,   0xffff,   2, 8,  TNT64, "1 Taken/Not-taken")      \
	X(a, TIP,       "TIP",       0x0d,     0x1f,     1, 0,  IP,    "2 Target IP")            \
	X(a, TIP_PGE,   "TIP.PGE",   0x11,     0x1f,     1, 0,  IP,    "4 Packet Generation Enable") \
	X(a, TIP_PGD,   "TIP.PGD",   0x01,     0x1f,     1, 0,  IP,    "5 Packet Generation Disable") \
	X(a, FUP,       "FUP",       0x1d,     0x1f,     1, 0,  IP,    "6 Flow Update")          \
	X(a, PIP,       "PIP",       0x4302,   0xffff,   2, 8,  PIP,   "7 Paging Information")   \
	X(a, MODE_EXEC, "MODE.Exec", 0x0099,   0xe0ff,   2, 2,  EXEC,  "8 MODE Packets")         \
	X(a, MODE_TSX,  "MODE.TSX",  0x2099,   0xe0ff,   2, 2,  TSX,   "8 MODE Packets")         \
	X(a, STOP,      "TraceSTOP", 0x8302,   0xffff,   2, 2,  NONE,  "9 TraceStop Packet")     \
	X(a, CBR,       "CBR",       0x0302,   0xffff,   2, 4,  UINT,  "10 Core:Bus Ratio")      \
	X(a, TSC,       "TSC",       0x19,     0xff,     1, 8,  UINT,  "11 Timestamp Counter")   \
	X(a, MTC,       "MTC",       0x59,     0xff,     1, 2,  UINT,  "12 Mini Time Counter")   \
	X(a, TMA,       "TMA",       0x7302,   0xffff,   2, 7,  TMA,   "13 TSC/MTC Alignment")   \
	X(a, CYC,       "CYC",       0x03,     0x03,     1, 0,  CYC,   "14 Cycle Count")         \
	X(a, VMCS,      "VMCS",      0xc802,   0xffff,   2, 7,  VMCS,  "15 VMCS Packet")         \
	X(a, OVF,       "OVF",       0xf302,   0xffff,   2, 2,  NONE,  "16 Overflow")            \
	X(a, MNT,       "MNT",       0x88c302, 0xffffff, 3, 11, UINT,  "19 Maintenance")         \
	X(a, PTW,       "PTWRITE",   0x1202,   0x1fff,   2, 0,  PTW,   "21 PTWRITE")             \
	X(a, EXSTOP,    "EXSTOP",    0x6202,   0x7fff,   2, 2,  IPBIT, "22 Execution Stop")      \
	X(a, MWAIT,     "MWAIT",     0xc202,   0xffff,   2, 10, UINT,  "23 MWAIT Packet")        \
	X(a, PWRE,      "PWRE",      0x2202,   0xffff,   2, 4,  UINT,  "24 Power Entry")         \
	X(a, PWRX,      "PWRX",      0xa202,   0xffff,   2, 7,  UINT,  "25 Power Exit")          \
	X(a, BBP,       "BBP",       0x6302,   0xffff,   2, 3,  BBP,   "26 Block Begin Packet")  \
	X(a, BEP,       "BEP",       0x3302,   0x7fff,   2, 2,  IPBIT, "28 Block End Packet")    \
	X(a, CFE,       "CFE",       0x1302,   0xffff,   2, 4,  CFE,   "29 Control Flow Event")  \
	X(a, EVD,       "EVD",       0x5302,   0xffff,   2, 11, EVD,   "30 Event Data")          \
	X(a, TRIG,      "TRIG",      0xd9,     0xff,     1, 0,  TRIG,  "31 Trigger Tracing")     \
	X(a, TNT_8,     "TNT",       0x00,     0x01,     1, 1,  TNT8,  "1 Taken/Not-taken")      \
	/* Inside a block only, and there before TNT; the reader knows. */                  \
	X(a, BIP,       "BIP",       0x04,     0x07,     1, 0,  BIP,   "27 Block Item Packet")

enum ht_pt_kind {
	HT_PT_BAD = 0,
#define HT_PT_ENUM(a, kind, ...) HT_PT_##kind,
	HT_PT_PACKETS(HT_PT_ENUM, 0)
#undef HT_PT_ENUM
	HT_PT_KIND_COUNT
};

/* IP compression, [PT 33.4.2.2 "Target IP (TIP) Packet"]. */
enum ht_pt_ipc {
	HT_PT_IPC_NONE = 0,    /* no payload: the address is not told */
	HT_PT_IPC_UPDATE_16 = 1,
	HT_PT_IPC_UPDATE_32 = 2,
	HT_PT_IPC_SEXT_48 = 3, /* 48 bits, bit 47 extended */
	HT_PT_IPC_UPDATE_48 = 4,
	HT_PT_IPC_FULL = 6
};

#define HT_PT_F_IP    0x01u /* EXSTOP, BEP, PTW, CFE, TRIG: a FUP follows */
#define HT_PT_F_NR    0x02u /* PIP: VMX non-root operation */
#define HT_PT_F_IF    0x04u /* MODE.Exec: interrupts are on */
#define HT_PT_F_INTX  0x08u /* MODE.TSX: in a transaction */
#define HT_PT_F_ABORT 0x10u /* MODE.TSX: transaction was aborted */
#define HT_PT_F_ICNT  0x20u /* TRIG: `extra` holds an instruction count */
#define HT_PT_F_MULT  0x40u /* TRIG: there were more triggers */

/* The longest packet is a PSB. */
#define HT_PT_PACKET_MAX 16

struct ht_pt_packet {
	/* TNT: outcomes, the oldest in bit count-1. TIP*, FUP: payload, see
	 * ht_pt_packet_ip(). PIP: CR3. VMCS: base address. MODE.Exec: 16, 32 or
	 * 64. TMA: CTC. BIP: item value. CFE: vector. TRIG: bits of the triggers.
	 * Others: the payload as a little-endian number. */
	uint64_t value;
	uint16_t extra; /* TMA: fast counter. BIP: item id. BBP, CFE, EVD: type. TRIG: count */
	uint8_t  count; /* TNT: outcomes. TIP*, FUP: enum ht_pt_ipc. PTW, BBP, BIP: bytes of a value */
	uint8_t  flags; /* HT_PT_F_* */
	uint8_t  kind;  /* enum ht_pt_kind */
	uint8_t  size;  /* bytes of the packet */
};

#define HT_PT_NEED_MORE 0  /* the bytes end inside a packet */
#define HT_PT_MALFORMED (-1) /* no packet begins like this */

/*
 * The packet at buf[0].  Returns its size, HT_PT_NEED_MORE or HT_PT_MALFORMED;
 * *p is written on success only.  `*block` is 0 at the start; it carries from
 * packet to packet whether a block is open (bytes of its items, else 0), since
 * its items look like TNT packets.  A block ends where [PT 33.4.2.27] says.
 */
int ht_pt_packet_read(const uint8_t *buf, size_t len, unsigned *block, struct ht_pt_packet *p);

/*
 * Address that a TIP* or FUP packet gives, after the address `last` of the one
 * before it (0 at a PSB).  Returns 1 with *ip set, 0 when the packet has none.
 */
static inline int
ht_pt_packet_ip(const struct ht_pt_packet *p, uint64_t last, uint64_t *ip)
{
	switch (p->count) {
	case HT_PT_IPC_UPDATE_16:
		*ip = (last & ~0xffffull) | p->value;
		return 1;
	case HT_PT_IPC_UPDATE_32:
		*ip = (last & ~0xffffffffull) | p->value;
		return 1;
	case HT_PT_IPC_SEXT_48:
		*ip = (p->value ^ 1ull << 47) - (1ull << 47);
		return 1;
	case HT_PT_IPC_UPDATE_48:
		*ip = (last & ~0xffffffffffffull) | p->value;
		return 1;
	case HT_PT_IPC_FULL:
		*ip = p->value;
		return 1;
	default:
		return 0;
	}
}

/* The packet in the words of perf's dump, without offset and bytes: "TNT TTN (3)". Returns buf. */
#define HT_PT_TEXT_MAX 96
const char *ht_pt_packet_text(const struct ht_pt_packet *p, char *buf, size_t size);
/* "TIP.PGE"; "Bad Packet!" for HT_PT_BAD and beyond; never NULL. */
const char *ht_pt_packet_name(unsigned kind);

/* The first PSB at or after `from`; returns its offset, or `len` when there is none. */
size_t ht_pt_find_psb(const uint8_t *buf, size_t len, size_t from);

/*
 * Row `i` of the fuzz dictionary: bytes of an opcode into `bytes` (at most 16).
 * Returns their number, 0 past the end.
 */
unsigned ht_pt_dictionary(unsigned i, uint8_t bytes[HT_PT_PACKET_MAX]);

#endif
