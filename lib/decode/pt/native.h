/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The native Intel PT engine: packets become operations on a walker.
 *
 * Two things can be lost apart from each other.  The *packets*: where one begins
 * is not known, and only a PSB helps.  The *place*: the packets are fine but do
 * not fit the code, and the next packet with an address helps.  While the place
 * is lost a gap is open; it is told, with its bytes and times, when it closes.
 */
#ifndef DECODE_PT_NATIVE_H
#define DECODE_PT_NATIVE_H

#include "decode/engine.h"
#include "decode/flow/hop.h"
#include "decode/flow/memo.h"
#include "decode/flow/walk.h"
#include "decode/pt/errata.h"
#include "decode/pt/input.h"
#include "decode/pt/time.h"

enum ht_pt_place {
	HT_PLACE_LOST = 0, /* a gap is open */
	HT_PLACE_OFF,      /* tracing is disabled */
	HT_PLACE_ON        /* the walker stands where execution is */
};

/* What is decoded behind a PSB depends on this, and on the return stack. */
struct ht_pt_stance {
	uint64_t offset;
	enum ht_pt_place place;
	uint64_t ip, resume_ip, code_ns;
	unsigned mode, next_mode, block;
	int packets_lost, in_psb, psb_stands, fup_binds, after_ovf, gap_open;
	unsigned n_bound;
	struct ht_gap gap;
	uint64_t gap_before;
	uint8_t branch_flags;
	struct ht_pt_time time;
	int32_t pid, tid;
	size_t next_switch;
	struct ht_view_mark view;
};

#define FUP_MAY_BIND 2 /* no branch, if a FUP comes next */

struct ht_pt_engine {
	struct ht_decoder *d;
	struct ht_pt_input in;
	uint64_t           passed;      /* bytes in front of where decoding began */
	struct ht_walk     walk;
	struct ht_memo     memo;
	struct ht_hops     hops;
	struct ht_edges    edges;       /* for ht_decoder_count() */
	struct ht_pt_time  time;
	uint64_t           told_tsc;    /* of the last TIME event */
	uint64_t           told_cycles;
	int                time_by_psb; /* the time at hand came by a PSB+ */
	uint64_t           offset;      /* of the packet at hand */
	uint64_t           before;      /* bytes of input in front of it */
	struct ht_pt_packet packet;     /* it, its address in full */
	int                again;       /* it is to be taken once more, when the code is there */

	const struct ht_switch *switches; /* threads of the CPU, where the stream is of one */
	size_t             n_switches, next_switch;
	int moved; /* a PIP tells of page tables that `pid_due` has */
	int32_t pid_due;

	enum ht_pt_place   place;
	int                packets_lost;
	int                ended, change_due;
	uint64_t           code_ns;     /* code that is needed was mapped then; 0 = as of now */

	uint64_t           last_ip;     /* for IP compression */
	unsigned           block;       /* for ht_pt_packet_read() */
	unsigned           mode;        /* 16, 32, 64: of the code at the place */
	unsigned           next_mode;   /* of the target of the next TIP, 0 = the same */
	uint64_t           resume_ip;   /* where execution would go on after a disable */

	int                in_psb;      /* between PSB and PSBEND */
	int                psb_has_ip;
	int                psb_stands;  /* the place came by a PSB+, and nothing moved it since */
	unsigned           psb_mode;    /* that it states; 0 = none */
	uint64_t           psb_ip, psb_offset, psb_before; /* the latter: as offset and before */

	int                fup_binds;   /* a packet came whose FUP is no branch, or FUP_MAY_BIND */
	int                fup_async;   /* a FUP came: the next TIP is no branch of the code */
	uint64_t           fup_ip;
	int                after_ovf;   /* the next FUP or TIP.PGE says where to go on */
	struct ht_event    bound[8];    /* events that wait for their FUP */
	unsigned           n_bound;

	struct ht_gap      gap;         /* the open one */
	int                gap_open;
	uint64_t           gap_before;  /* bytes of input in front of it */

	uint32_t           errata;      /* HT_PT_* of errata.h */

	uint64_t stop;             /* offset to stop at */
	int kept;                  /* counts that native_count() has not taken */
	struct ht_pt_stance begun; /* see native_stretch.c */
};

/* The stream goes on, but not now. */
static inline int
ht_pt_stopped(const struct ht_pt_engine *e)
{
	return !e->again && ht_pt_input_offset(&e->in) >= e->stop;
}

/* native_flow.c: what packets mean. */

/* Take one packet, which begins at e->offset. */
int  ht_pt_take_packet(struct ht_pt_engine *e, const struct ht_pt_packet *p);
int  ht_pt_take_bits(struct ht_pt_engine *e, uint64_t bits, unsigned count);
int  ht_pt_take_target(struct ht_pt_engine *e, uint64_t ip);
/* Time and cycles up to here, in front of what is told next. */
void ht_pt_tell_time(struct ht_pt_engine *e);
/* Add an event if `mask` (HT_DECODE_*; 0 = always) is wanted. */
void ht_pt_tell(struct ht_pt_engine *e, unsigned mask, struct ht_event ev);
/* In the session's clock; 0 when it gives no conversion. */
uint64_t ht_pt_to_ns(const struct ht_pt_engine *e, uint64_t tsc);
/* The place is lost, from the packet at hand on. A gap that is open already stays what it is. */
void ht_pt_open_gap(struct ht_pt_engine *e, unsigned kind, uint64_t ip, const char *why);
/* The place is known again, or the stream ends: bytes up to the packet at hand were skipped. */
int  ht_pt_close_gap(struct ht_pt_engine *e);

/* native.c: bytes, and the code as of a time. */

/*
 * Code is missing at the place.  Another thread may have mapped it since the
 * last time stamp: go forward to the change that brought it, but not beyond the
 * next time stamp.  1: the packet at hand is taken again then; 0: there is none.
 */
int ht_pt_find_later_code(struct ht_pt_engine *e);

/* The stream is not known from here on: the place is looked for at the next PSB. */
void ht_pt_start(struct ht_pt_engine *e);
/* Count up to the stop, the end, or a change of code. 0 or -HT_E... */
int ht_pt_count(struct ht_pt_engine *e);

/* native_stretch.c */
extern const struct ht_engine_stretch ht_pt_stretch;

/* native_errata.c: each asks no more than its comment says; the erratum's bit is the caller's. */

/* SKD007, SKZ84: a packet as read (result `rc`), or the bytes to be skipped as padding. */
int  ht_pt_repair(const struct ht_pt_engine *e, const uint8_t *bytes, size_t n, int rc,
                  struct ht_pt_packet *p);
/* BDM70: the PSB+ is followed by a TIP.PGE. */
int  ht_pt_enable_follows(const struct ht_pt_engine *e);
/* APL12: what is behind a FUP says that tracing was off there. */
int  ht_pt_off_behind(const struct ht_pt_engine *e);
/* BDM64: where the branch with this target went, if a transaction aborts behind it. */
uint64_t ht_pt_true_target(struct ht_pt_engine *e, uint64_t target);
/* SKD022: there is a VM entry at `ip`. */
int  ht_pt_enters_vm(const struct ht_pt_engine *e, uint64_t ip);

/*
 * Take packets as long as they are of the plain kinds, the place is known and
 * less than `limit` events wait.  0, or -HT_E...; maybe nothing was done.
 */
int ht_pt_fast(struct ht_pt_engine *e, size_t limit);
/* Count everything in the blocks and edges. 0, or -HT_ENOMEM. */
int ht_pt_fold(struct ht_pt_engine *e);
/* Forget all that was made of the code; counts must have been folded. 0, or -HT_ENOMEM. */
int ht_pt_forget(struct ht_pt_engine *e);

#endif
