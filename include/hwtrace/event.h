/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events: what a decoder hands to sinks, in execution order of one stream.
 *
 * An event is a 24-byte plain value with nothing to free.  Two kinds carry the
 * flow: BLOCK says "these instructions ran, all of them", BRANCH says "control
 * went from here to there (or fell through)".  A BLOCK is followed by the
 * BRANCH that ended it, if a branch did.  GAP is an event like any other.
 */
#ifndef HWTRACE_EVENT_H
#define HWTRACE_EVENT_H

#include <stdint.h>

enum ht_event_kind {
	HT_EV_NONE = 0,
	/* a = address of the first instruction, b = address of the last,
	 * n = instructions (>= 1).  Straight-line: no taken branch inside; direct
	 * jumps and calls end a block.  Of branch stacks (HT_BR_SAMPLED) n is 0
	 * where the code is missing: what lies between a and b is not known. */
	HT_EV_BLOCK,
	/* a = address of the branch, b = where control went (fall-through
	 * address when not taken; 0 when trace went off and the target is not
	 * known), insn = its class, flags HT_BR_*. */
	HT_EV_BRANCH,
	/* a = ns (session clock; 0 when the capture gives no conversion), b = TSC
	 * ticks or the source's own timestamp.  Holds for what follows. flags
	 * HT_EV_F_SYNC */
	HT_EV_TIME,
	/* Tracing starts (or resumes) at b. flags HT_EV_F_* */
	HT_EV_ENABLE,
	/* Tracing stops; a = address of the instruction not executed any more
	 * (async) or of the branch that left (sync). */
	HT_EV_DISABLE,
	/* Control was moved by an interrupt, fault or signal: a = first
	 * instruction not executed, b = where it went (0 = not known). */
	HT_EV_ASYNC,
	/* Something is missing; n = index for ht_decoder_gap(). a = stream
	 * offset, b = bytes. flags HT_EV_F_BLOCK: b = address of the one block
	 * that may be missing, no bytes are. */
	HT_EV_GAP,
	/* Cycles counted since the previous CYCLES event: a. */
	HT_EV_CYCLES,
	/* Execution mode: n = 16, 32 or 64. */
	HT_EV_MODE,
	/* Transaction state: n bit 0 begun, bit 1 aborted. */
	HT_EV_TX,
	/* Core:bus ratio: n. */
	HT_EV_CBR,
	/* Software payload (PTWRITE): a = payload, b = address or 0. */
	HT_EV_PTWRITE,
	/* The stream now belongs to another thread: a = pid, b = tid. */
	HT_EV_SWITCH,
	/* Address space: a = CR3 or context ID, b = VMCS base, 0 if none. */
	HT_EV_CONTEXT,
	HT_EV_KIND_COUNT
};

/* Class of the instruction that ended a block.  Same words for x86 and Arm. */
enum ht_insn_class {
	HT_INSN_OTHER = 0,    /* not a branch: the block was cut */
	HT_INSN_COND,         /* conditional direct jump (Jcc, LOOP, JRCXZ, B.cond, CBZ) */
	HT_INSN_JUMP,         /* unconditional direct jump */
	HT_INSN_CALL,         /* direct call */
	HT_INSN_JUMP_IND,     /* indirect jump */
	HT_INSN_CALL_IND,     /* indirect call */
	HT_INSN_RET,          /* near return */
	HT_INSN_SYSCALL,      /* SYSCALL, SYSENTER, INT n, SVC: leaves for another privilege */
	HT_INSN_SYSRET,       /* SYSRET, SYSEXIT, IRET, ERET, far return */
	HT_INSN_FAR,          /* other far transfers */
	HT_INSN_CLASS_COUNT
};

#define HT_BR_TAKEN      0x01u /* always set but for conditional branches not taken */
#define HT_BR_MISPRED    0x02u
#define HT_BR_ABORT      0x04u /* transaction abort */
#define HT_BR_TRACE_OFF  0x08u /* trace goes off with this branch (b may be 0) */
#define HT_BR_IN_TX      0x10u
#define HT_BR_SAMPLED    0x20u /* from a branch stack */

#define HT_EV_F_RESUME   0x01u /* ENABLE: same place as the DISABLE before */
#define HT_EV_F_SYNC     0x02u /* TIME: told by a synchronisation point while tracing was on */
#define HT_EV_F_BLOCK    0x04u /* GAP: at most one block is missing */

struct ht_event {
	uint64_t a;
	uint64_t b;
	uint32_t n;
	uint8_t  kind;  /* enum ht_event_kind */
	uint8_t  insn;  /* enum ht_insn_class: BRANCH; also BLOCK: class of its last */
	uint8_t  flags; /* HT_BR_* or HT_EV_F_* */
	uint8_t  size;  /* BLOCK, BRANCH: bytes of the last instruction (0 = not known) */
};

_Static_assert(sizeof(struct ht_event) == 24, "an event is 24 bytes");

enum ht_gap_kind {
	HT_GAP_OVERFLOW,     /* OVF: the trace unit ran out of internal buffer */
	HT_GAP_AUX_LOST,     /* the kernel or the reader lost AUX data */
	HT_GAP_AUX_TRUNCATED,
	HT_GAP_NO_CODE,      /* code bytes are missing: file not found or not mapped */
	HT_GAP_CODE_CHANGED, /* the file on disk is not the one that ran */
	HT_GAP_MISMATCH,     /* the trace does not fit the code */
	HT_GAP_BAD_PACKET,
	HT_GAP_CUT,          /* the file ends in the middle of the stream */
	HT_GAP_SYNC,         /* bytes before the first synchronisation point */
	HT_GAP_KILLED,       /* the thread was killed while it ran: the block at `ip`, at most */
	/* Of the capture as a whole: see ht_session_gap(). */
	HT_GAP_RECORDS,      /* sideband records that never came to the file */
	HT_GAP_SAMPLES,      /* samples that never came to the file */
	HT_GAP_DAMAGED,      /* a record that cannot be read */
	HT_GAP_UNTRACED,     /* a thread or a process was not traced */
	HT_GAP_UNFOLLOWED,   /* a program was not traced, from its start on */
	HT_GAP_KIND_COUNT
};

#define HT_NO_STREAM UINT32_MAX

/* One loss.  `why` is static text or owned by the decoder or session that reported it. */
struct ht_gap {
	uint8_t     kind;    /* enum ht_gap_kind */
	uint32_t    stream;  /* HT_NO_STREAM: of the whole capture */
	uint64_t    offset;  /* first byte lost or not decoded, in the stream; of no stream: in the file */
	uint64_t    bytes;   /* 0 when it is not known how many */
	uint64_t    records; /* lost records or samples, 0 when not known or none */
	int32_t     pid, tid; /* of no stream: whom it is about; 0 = not told */
	uint64_t    ip;      /* last address known before, 0 = none */
	uint64_t    ns_from, ns_to; /* 0 = not known */
	const char *why;
};

/* "overflow", "missing code", ...; never NULL. */
const char *ht_gap_kind_name(unsigned kind);
/* "conditional jump", "call", ...; never NULL. */
const char *ht_insn_class_name(unsigned insn);

#endif
