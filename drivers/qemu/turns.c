/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/turn.h"
#include "qemu/turns.h"

void
ht_turns_put(struct ht_unit *u)
{
	struct ht_shm_turns *t = &u->slot->turns;

	if (t->first == t->next || t->tnt != u->tnt || t->offset != ht_turns_offset(u))
		return;
	ht_stream_flush(u);
	ht_stream_put_cyc(u);
	/* They stay noted until a packet is committed: then they are of another state. */
	for (uint32_t i = t->first; i != t->next; i++)
		u->hole = ht_turn_put(u->hole, &t->at[i % HT_TURNS_MAX], &u->last_ip);
	u->depth = 0; /* decoders need not keep their call stack */
	ht_stream_open_hole(u);
}
