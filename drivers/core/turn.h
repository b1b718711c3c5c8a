/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_TURN_H
#define CORE_TURN_H

#include "core/shm.h"
#include "encode/pt.h"

#define HT_TURN_MAX 40 /* bytes that one takes */

/* An IP packet behind `*last`, which it becomes. */
static inline uint8_t *
ht_turn_ip(uint8_t *p, enum ht_pt_kind op, uint64_t ip, uint64_t *last)
{
	p = ht_pt_ip(p, op, ip, *last);
	*last = ip;
	return p;
}

static inline uint8_t *
ht_turn_off_and_on(uint8_t *p, uint64_t ip, uint64_t *last)
{
	p = ht_turn_ip(p, HT_PT_FUP, ip, last);
	p = ht_pt_ip_none(p, HT_PT_TIP_PGD);
	return ht_turn_ip(p, HT_PT_TIP_PGE, ip, last);
}

/* The packets that tell of a jump back: generation goes off and on in front of it and at its target. */
static inline uint8_t *
ht_turn_put(uint8_t *p, const struct ht_shm_turn *turn, uint64_t *last)
{
	p = ht_turn_off_and_on(p, turn->from, last);
	if (turn->from != turn->to)
		return ht_turn_off_and_on(p, turn->to, last);
	/* Off with this very jump, as a filter by address has it. */
	p = ht_turn_ip(p, HT_PT_TIP_PGD, turn->to, last);
	return ht_turn_ip(p, HT_PT_TIP_PGE, turn->to, last);
}

#endif
