/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A model of control flow.  Blocks of real x86 code are laid out in memory and
 * run by a machine that draws outcomes and targets from a seed and keeps a true
 * call stack.  It knows which instructions ran (the truth) and writes the trace
 * a processor would, or hands the steps to the step encoder.
 *
 *	model_code.c   the code      model_run.c   the machine
 *	model_trace.c  the packets   told.c        what a decoder says
 */
#ifndef TEST_MODEL_H
#define TEST_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "encode/pt.h"
#include "encode/step.h"
#include "session/fake.h"
#include "told.h"

#define MODEL_REGIONS   4
#define MODEL_SPAN      4096 /* bytes of a region at most */
#define MODEL_BLOCKS    96
#define MODEL_BODY      5    /* instructions in front of a block's last */
#define MODEL_STACK     2048
#define MODEL_RING      64
#define MODEL_PATCHES   64

/* Each "one in N": 0 = never. */
struct model_options {
	unsigned insns;      /* to run, about */
	unsigned mode;       /* 32 or 64 */
	unsigned far;        /* far jumps between 32- and 64-bit code */
	unsigned kernel;     /* system calls are traced into the kernel */
	unsigned circles;    /* loops of direct jumps alone */
	unsigned filter;     /* some blocks are not traced */
	unsigned stop;       /* ... and stop the trace */
	unsigned patch;      /* instructions between changes of code, one in N */
	unsigned async;      /* one in N instructions */
	unsigned async_at;   /* the one in front of instruction N, from 1 on */
	unsigned ovf;        /* one in N instructions */
	unsigned compress;   /* returns */
	unsigned mispredict; /* returns that are not compressed, one in N; their calls are taken off all the same */
	unsigned beyond;     /* compressed to calls in front of the last PSB, too, as no processor does */
	unsigned keep;       /* calls in front of a disable may still be returned to by compression */
	unsigned tnt_max;    /* outcomes a packet: 1 to 47 */
	unsigned defer;      /* targets behind later outcomes */
	unsigned psb_bytes;
	unsigned any_ip;     /* IP compression is drawn, one in N */
	unsigned pad, cyc, tsc, mtc, cbr; /* one in N packets */
	unsigned ptw, tsx, power; /* one in N instructions */
	unsigned bare_end;   /* the trace is cut while on */
	unsigned step;       /* by the step encoder */
};

enum model_end { END_NONE, END_JCC, END_LOOP, END_JMP, END_CALL, END_CALL_NEXT, END_JMP_IND, END_CALL_IND,
	         END_RET, END_SYSCALL, END_INT, END_FAULT, END_IRET, END_SYSRET, END_FAR, END_PTWRITE,
	         END_XBEGIN };

struct model_insn {
	uint8_t  size, insn, end; /* size 0: none begins here */
	uint64_t target;
};

struct model_block {
	uint64_t start, branch, end; /* branch: of the last instruction */
	unsigned region, last;       /* last: enum model_end */
	unsigned to;                 /* block */
	int      is_short, out, head;
	uint8_t  body[MODEL_BODY];   /* fillers */
	unsigned n_body;
};

struct model_region {
	uint64_t base;
	unsigned size, mode, kernel, first, n; /* blocks */
	uint8_t  bytes[MODEL_SPAN];
	uint8_t  initial[MODEL_SPAN]; /* before the first patch */
	struct model_insn insns[MODEL_SPAN];
};

struct model {
	struct model_options o;
	uint64_t seed;
	struct model_region regions[MODEL_REGIONS];
	unsigned n_regions;
	struct model_block  blocks[MODEL_BLOCKS];
	unsigned n_blocks;
	struct { uint64_t ns, addr; uint8_t *bytes; unsigned size; } patches[MODEL_PATCHES];
	unsigned n_patches;

	/* the machine */
	uint64_t ip, stack[MODEL_STACK], interrupted[16], called_kernel[16];
	unsigned interrupted_mode[16], called_mode[16];
	unsigned depth, n_interrupted, n_called, mode, diving;
	uint64_t now;       /* TSC */
	unsigned ran;       /* instructions in all */
	int      out;       /* in blocks that are not traced */
	int      stopped;

	/* what is true, and how much of it the trace tells */
	struct told truth;
	size_t   implied;   /* items that the packets made so far imply, once pending ones are out */
	size_t   certain;   /* ... that packets already written imply */
	int      mute;      /* what runs is neither truth nor traced */

	/* the trace */
	struct { uint8_t *at; size_t n, cap; } trace;
	uint64_t last_ip, tnt, deferred[64];
	unsigned n_tnt, n_deferred;
	uint64_t ring[MODEL_RING];
	unsigned top;
	size_t   last_psb;
	uint64_t last_tsc;
	int      frozen;    /* no time is told: what is written now ran before a change of code */
	int      on;
	unsigned told_mode;
	struct ht_step step;
};

/* Options drawn from a seed. */
void model_options(uint64_t seed, struct model_options *o);
/* Lay out, run, write. */
void model_make(struct model *m, uint64_t seed, const struct model_options *o);
void model_free(struct model *m);
/* Its code, changes of code and trace in a container, the trace in `chunks` pieces. */
void model_fake(const struct model *m, struct fake *f, unsigned chunks);

/* -- between the parts --------------------------------------------------- */

uint64_t model_rnd(struct model *m);
int      model_one_in(struct model *m, unsigned n);

/* model_code.c */
void model_code(struct model *m);
/* Other code in block `b`, of the same size; 0 when it cannot be. */
int  model_recode(struct model *m, struct model_block *b);
struct model_region *model_region_of(struct model *m, uint64_t ip);
const struct model_insn *model_insn_at(struct model *m, uint64_t ip);
struct model_block *model_block_of(struct model *m, uint64_t ip);

/* model_trace.c: packets. They say nothing when the model is mute. */
void model_outcome(struct model *m, int taken);
void model_target(struct model *m, uint64_t ip, int may_wait);
void model_return(struct model *m, uint64_t to);
void model_call(struct model *m, uint64_t back);
void model_fup(struct model *m, uint64_t ip);
void model_mode(struct model *m, unsigned mode);
void model_disable(struct model *m, const uint64_t *ip);
void model_enable(struct model *m, uint64_t ip);
void model_tsc(struct model *m);
void model_psb(struct model *m);
void model_overflow(struct model *m);
void model_flush(struct model *m);
uint8_t *model_room(struct model *m);
void model_put(struct model *m, const uint8_t *end);

#endif
