/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside of the libipt engine.  libipt.c drives the instruction decoder,
 * libipt_clock.c keeps its place in time, libipt_out.c turns what it says into
 * events.
 */
#ifndef DECODE_PT_LIBIPT_H
#define DECODE_PT_LIBIPT_H

#include <intel-pt.h>

#include "decode/engine.h"
#include "decode/pt/segment.h"

/* A branch whose target is known with the next instruction only. */
struct pending {
	int      valid;
	uint64_t from, next; /* next: address behind it */
	uint8_t  insn, size;
};

/* Finds a walk that goes round for ever: the mark moves up at each power of two steps. */
struct ring {
	uint64_t mark;  /* address of a direct branch */
	uint32_t steps, limit;
};

/* Instructions in a row, not handed out yet. */
struct open_block {
	uint32_t n; /* 0 = none */
	uint64_t first, last;
	uint8_t  size; /* of the last */
};

struct clock {
	struct ht_pt_marks marks;
	size_t   next_mark; /* first mark that does not hold yet */
	uint64_t pos;       /* of libipt: the flow packet it will take next */
	uint64_t flow;      /* the flow packet it took last */
	unsigned bits;      /* outcomes of that packet which were not used yet */
	int ahead;          /* that packet makes an event, which did not come yet */
	uint64_t tsc, ns;   /* now */
	int      valid;     /* tsc is */
	int      dirty;     /* changed since the last TIME event */
};

struct ht_libipt {
	struct ht_decoder      *d;
	struct pt_insn_decoder *dec;    /* of the segment at hand, NULL between two */
	struct ht_pt_segment    seg;
	uint32_t                chunk;  /* first of the next segment */
	int                     synced, finished;
	uint64_t begin;                 /* decoding starts at this PSB; 0 = it has begun */
	size_t                  psb;    /* where it was synchronised last */
	int                     status; /* what libipt said last */
	struct clock            clock;

	struct pending          branch;
	struct open_block       block;
	struct ring             ring;   /* direct branches since trace was taken last */
	uint64_t                last_ip;
	uint64_t                off_ip;   /* where an event turned tracing off last */
	uint64_t                gap_end;  /* of the last gap, in the stream */
	size_t                  cut;      /* bytes of a packet that the lost bytes behind them cut */
	uint64_t                event_ip; /* where a branch in front of the event at hand went */
	unsigned                mode;   /* bits, as told last */
	uint64_t                cr3, vmcs;
	int context_dirty, context_due;
	uint32_t                cbr;

	uint64_t                advance_to; /* view time that the next batch starts with */
	struct ht_view         *scout;      /* looks ahead of d->view */
	uint64_t                scout_ns;
	const struct ht_switch *switches;   /* of the stream's CPU */
	size_t                  n_switches, next_switch;
	int                     refuse;     /* the callback gives no bytes */
	int                     missed;     /* the callback had none to give */

	struct ht_event        *out;
	int                     n;
	int                     error;      /* -HT_ENOMEM: next() fails with it */
};

/* -- libipt_clock.c ------------------------------------------------------ */

/* A segment begins. 0 or -HT_ENOMEM. */
int ht_libipt_clock_start(struct ht_libipt *s);
/* See how far libipt has read. */
void ht_libipt_clock_position(struct ht_libipt *s);
/* libipt synchronised at `offset`. */
void ht_libipt_clock_sync(struct ht_libipt *s, uint64_t offset);
/* An instruction that takes trace was walked. */
void ht_libipt_clock_branch(struct ht_libipt *s, int one_outcome);
/* An event was taken. */
void ht_libipt_clock_event(struct ht_libipt *s, const struct pt_event *ev);
/* Offset of the OVF packet that made the event at hand. */
uint64_t ht_libipt_clock_overflow(const struct ht_libipt *s);
/* 1 when the time now stands in a PSB+. */
int ht_libipt_clock_by_psb(const struct ht_libipt *s);
/* Time of the next TSC packet: the code walked now ran before it. UINT64_MAX = none. */
uint64_t ht_libipt_clock_bound(const struct ht_libipt *s);

/* -- libipt_out.c -------------------------------------------------------- */

void ht_libipt_insn(struct ht_libipt *s, const struct pt_insn *insn);
void ht_libipt_event(struct ht_libipt *s, const struct pt_event *ev);
/* Close the block at hand, if any. */
void ht_libipt_block_end(struct ht_libipt *s, uint8_t insn);
/* The branch waiting for its target went to `target`. */
void ht_libipt_branch_to(struct ht_libipt *s, uint64_t target);
/* The same when it will never be known where it went. */
void ht_libipt_branch_lost(struct ht_libipt *s, uint8_t flags);
/* The stream belongs to another thread from here on. */
void ht_libipt_switch(struct ht_libipt *s, int32_t pid, int32_t tid);
void ht_libipt_gap(struct ht_libipt *s, const struct ht_gap *gap);

/* -- libipt.c ------------------------------------------------------------ */

/* The address of the instruction that comes next; 0 when libipt has none. */
uint64_t ht_libipt_peek(struct ht_libipt *s);

#endif
