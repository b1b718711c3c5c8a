/* SPDX-License-Identifier: BSD-2-Clause */
#include "qemu/turns.h"

static void
put_off_and_on(struct ht_unit *u, uint64_t ip)
{
	ht_stream_put_ip(u, HT_PT_FUP, ip);
	u->hole = ht_pt_ip_none(u->hole, HT_PT_TIP_PGD);
	ht_stream_put_ip(u, HT_PT_TIP_PGE, ip);
}

void
ht_turns_put(struct ht_unit *u)
{
	if (!u->n_turns || u->turns_tnt != u->tnt ||
	    u->turns_offset != u->lap + (uint64_t)(u->p - u->ring))
		return;
	ht_stream_flush(u);
	ht_stream_put_cyc(u);
	for (unsigned i = 0; i < u->n_turns; i++) {
		uint64_t from = u->turns[i]->last, to = u->turns[i]->target;

		put_off_and_on(u, from);
		if (from != to) {
			put_off_and_on(u, to);
		} else { /* off with this very jump, as a filter by address has it */
			ht_stream_put_ip(u, HT_PT_TIP_PGD, to);
			ht_stream_put_ip(u, HT_PT_TIP_PGE, to);
		}
	}
	u->n_turns = 0;
	u->depth = 0; /* decoders need not keep their call stack */
	ht_stream_open_hole(u);
}
