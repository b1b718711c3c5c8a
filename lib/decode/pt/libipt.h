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
	uint64_t tsc, ns;   /* now */
	int      valid;     /* tsc is */
	int      dirty;     /* changed since the last TIME event */
};

struct libipt {
	struct ht_decoder      *d;
	struct pt_insn_decoder *dec;    /* of the segment at hand, NULL between two */
	struct ht_pt_segment    seg;
	uint32_t                chunk;  /* first of the next segment */
	int                     synced, finished;
	size_t                  psb;    /* where it was synchronised last */
	int                     status; /* what libipt said last */
	struct clock            clock;

	struct pending          branch;
	struct open_block       block;
	uint64_t                last_ip;
	unsigned                mode;   /* bits, as told last */
	uint64_t                cr3, vmcs;
	int                     context_dirty;
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
int libipt_clock_start(struct libipt *s);
/* See how far libipt has read. */
void libipt_clock_position(struct libipt *s);
/* libipt synchronised at `offset`. */
void libipt_clock_sync(struct libipt *s, uint64_t offset);
/* An instruction that takes trace was walked. */
void libipt_clock_branch(struct libipt *s, int one_outcome);
/* An event was taken. */
void libipt_clock_event(struct libipt *s, const struct pt_event *ev);
/* 1 when the time now stands in a PSB+. */
int libipt_clock_by_psb(const struct libipt *s);
/* Time of the next TSC packet: the code walked now ran before it. UINT64_MAX = none. */
uint64_t libipt_clock_bound(const struct libipt *s);

/* -- libipt_out.c -------------------------------------------------------- */

void libipt_insn(struct libipt *s, const struct pt_insn *insn);
void libipt_event(struct libipt *s, const struct pt_event *ev);
/* Close the block at hand, if any. */
void libipt_block_end(struct libipt *s, uint8_t insn);
/* The branch waiting for its target went to `target`. */
void libipt_branch_to(struct libipt *s, uint64_t target);
/* The same when it will never be known where it went. */
void libipt_branch_lost(struct libipt *s, uint8_t flags);
/* The stream belongs to another thread from here on. */
void libipt_switch(struct libipt *s, const struct ht_switch *sw);
void libipt_gap(struct libipt *s, const struct ht_gap *gap);

/* -- libipt.c ------------------------------------------------------------ */

/* The address of the instruction that comes next; 0 when libipt has none. */
uint64_t libipt_peek(struct libipt *s);

#endif
