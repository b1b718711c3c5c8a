/* SPDX-License-Identifier: BSD-2-Clause */
/* A trace written by hand, decoded by one engine, and its flow as text. */
#ifndef TESTS_DECODE_HAND_H
#define TESTS_DECODE_HAND_H

#include <stddef.h>
#include <stdint.h>

#include <hwtrace/decoder.h>

#include "encode/pt.h"
#include "session/fake.h"

#define HAND_BASE 0x400000ull

extern const char *hand_engine; /* NULL = the best */

struct hand {
	struct fake        fake;
	struct ht_session *s;
	struct ht_decoder *d;
	uint8_t            trace[4096];
	uint8_t           *p;
	struct ht_event    ev[4096];
	uint64_t           generation[4096]; /* of the view that came with the event */
	int                n;
};

/* For CMocka: *state is a struct hand. */
int hand_setup(void **state);
int hand_teardown(void **state);

/* PSB+ that says: 64-bit code, at `ip` (0: tracing is off), time `tsc` (0: none). */
void hand_psb(struct hand *x, uint64_t ip, uint64_t tsc);
void hand_ip(struct hand *x, enum ht_pt_kind kind, uint64_t ip); /* 0: left out */
void hand_tnt(struct hand *x, const char *outcomes); /* "TNT", oldest first */
size_t hand_size(const struct hand *x);

/* Decode the stream that the fake has, `batch` events at a time; each byte must be accounted for. */
void hand_decode(struct hand *x, int batch);
/* Decode x->trace as a stream of one chunk. */
void hand_run(struct hand *x);
/* Compare the flow events, addresses relative to HAND_BASE: see hand.c for their form. */
void hand_flow_is(const struct hand *x, const char *want);

#endif
