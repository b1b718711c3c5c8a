/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random programs of real x86-64 code, run by a model that writes the trace a
 * processor would and keeps the addresses of all instructions that ran.
 */
#ifndef TEST_RANDOM_PROGRAM_H
#define TEST_RANDOM_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#define RP_BASE 0x7f1234560000ull

struct rp_options {
	unsigned long_tnt;     /* 47 outcomes a packet, targets deferred behind them */
	unsigned compress;     /* returns */
	unsigned psb_bytes;    /* 0 = only the first */
	unsigned async;        /* one interrupt in so many blocks, 0 = none */
	unsigned pad, cyc;
	unsigned full_ip;      /* no IP compression now and then */

	unsigned blocks;       /* to run */
};

struct rp {
	uint8_t  code[256 * 1024];
	size_t   code_size;
	uint8_t *trace;
	size_t   trace_size;
	uint64_t *ran;         /* address of each instruction */
	size_t   n_ran;
	uint64_t branches;
};

void rp_make(struct rp *rp, uint64_t seed, const struct rp_options *o);
void rp_free(struct rp *rp);

#endif
