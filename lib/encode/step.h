/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Step encoder: the true sequence of instructions of one thread into Intel PT
 * packets.  It is told each instruction with the address that came next, and
 * where tracing stops and starts; it never looks at code.
 *
 * Returns are compressed only where every decoder must agree on the call they
 * belong to: the call lies behind the last PSB, TIP.PGE and mispredicted return.
 */
#ifndef ENCODE_STEP_H
#define ENCODE_STEP_H

#include <stddef.h>
#include <stdint.h>

#include "decode/insn/x86.h"

#define HT_STEP_RETURNS 64
#define HT_STEP_WALK    16

struct ht_step_config {
	int      ret_compression;
	int      cyc;        /* CYC packets that count instructions */
	uint32_t psb_period; /* bytes between PSB packets; 0 = default */
};

struct ht_step {
	struct ht_step_config config;
	struct { uint8_t *at; size_t n, cap; } out; /* whole packets; the caller takes them by setting n to 0 */
	uint64_t total;      /* bytes made so far, those taken included */
	uint64_t last_ip;    /* HT_PT_NO_BASE: nothing to compress against */
	uint64_t tnt;        /* pending outcomes below a stop bit; 1 = none */
	unsigned tnt_bits;
	unsigned mode;       /* 16, 32 or 64: of the code that runs */
	unsigned told_mode;  /* the last that MODE.Exec stated; 0 = none yet */
	int      on;         /* between TIP.PGE and TIP.PGD */
	int      started;
	int      nomem;      /* packets were lost for want of memory */
	uint64_t next_psb;   /* as `total` */
	uint64_t insns;      /* since the last CYC packet */
	uint64_t returns[HT_STEP_RETURNS];
	unsigned n_returns, top;
	/* Straight runs since a decoder last had to look at a packet. */
	struct { uint64_t from, to; } walk[HT_STEP_WALK];
	unsigned n_walk;
};

void ht_step_init(struct ht_step *s, const struct ht_step_config *config);
void ht_step_fini(struct ht_step *s);

/* Code runs in `mode` from here on.  A change takes trace that is off or about to go on. */
void ht_step_mode(struct ht_step *s, unsigned mode);
/* Tracing goes on at `ip`; all that follows is later than `tsc`. Trace must be off. */
void ht_step_enable(struct ht_step *s, uint64_t ip, uint64_t tsc);
/*
 * The instruction at `ip` ran and `next` came after it.  Returns 0, or -1 when
 * `insn` cannot lead to `next`: nothing was encoded then.
 */
int  ht_step_insn(struct ht_step *s, uint64_t ip, const struct ht_x86_insn *insn, uint64_t next,
                  uint64_t tsc);
/* The same, but `next` is outside of what is traced: tracing stops there. */
int  ht_step_leave(struct ht_step *s, uint64_t ip, const struct ht_x86_insn *insn, uint64_t next,
                   uint64_t tsc);
/* The instruction at `ip` ran and entered the kernel; tracing stops. */
void ht_step_syscall(struct ht_step *s, uint64_t ip);
/* Control was taken away before the instruction at `ip`; tracing stops. */
void ht_step_async(struct ht_step *s, uint64_t ip);
/* What ran since is not known; tracing stops. */
void ht_step_lost(struct ht_step *s);
/* Bytes came to differ or to be mapped: all that follows, from `ip` on, is later than `tsc`. */
void ht_step_resync(struct ht_step *s, uint64_t ip, uint64_t tsc);

#endif
