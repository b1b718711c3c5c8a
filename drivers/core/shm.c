/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "core/shm.h"
#include "core/turn.h"

static void
ring_put(uint8_t *ring, uint64_t size, uint64_t at, const uint8_t *src, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		ring[(at + i) & (size - 1)] = src[i];
}

/* How many jumps back belong to the state in `live`, whose packets end at `end`. */
static uint32_t
pending_turns(const struct ht_shm_slot *slot, uint64_t end)
{
	const struct ht_shm_turns *t = &slot->turns;
	uint32_t next = atomic_load(&t->next), n = next - atomic_load(&t->first);

	if (t->tnt != (slot->live.tnt & HT_TNT_BITS) || t->offset != end || n > HT_TURNS_MAX)
		return 0;
	/* The last one led to a block that was not entered any more. */
	if (n && !(slot->live.tnt & HT_TURN_BIT) != !(next & 1))
		n--;
	return n;
}

/* Put them at `end`; returns the offset behind. */
static uint64_t
put_turns(const struct ht_shm_slot *slot, uint32_t n, uint8_t *ring, uint64_t ring_size,
          uint64_t end)
{
	uint32_t first = atomic_load(&slot->turns.first);
	uint8_t buf[HT_TURN_MAX];

	for (uint32_t i = 0; i < n; i++) {
		uint64_t last = HT_PT_NO_BASE;
		unsigned size =
		    (unsigned)(ht_turn_put(buf, &slot->turns.at[(first + i) % HT_TURNS_MAX],
		                           &last) -
		               buf);

		ring_put(ring, ring_size, end, buf, size);
		end += size;
	}
	return end;
}

void
ht_shm_complete(struct ht_shm_slot *slot, uint8_t *ring, uint64_t ring_size)
{
	uint64_t head = atomic_load_explicit(&slot->head, memory_order_acquire);
	uint64_t tnt = slot->live.tnt & HT_TNT_BITS;
	uint64_t ip = (uint64_t)((int64_t)(slot->live.block_ip << 16) >> 16);
	uint64_t hole = head + (((slot->live.block_ip >> 48) - head) & 0xffff);
	uint64_t end = head + (((slot->live.tnt >> 48) - head) & 0xffff);
	uint32_t n_turns = pending_turns(slot, end);
	uint8_t buf[64], *p = buf;

	slot->cut = tnt != 0;
	if (tnt) {
		if (tnt > 1) {
			ht_pt_tnt_long(buf, tnt);
			ring_put(ring, ring_size, hole, buf, HT_TNT_ROOM);
		} else {
			end = hole;
		}
		end = put_turns(slot, n_turns, ring, ring_size, end);
		p = ht_pt_ip(buf, HT_PT_FUP, ip, HT_PT_NO_BASE);
		p = ht_pt_ip_none(p, HT_PT_TIP_PGD);
		ring_put(ring, ring_size, end, buf, (unsigned)(p - buf));
		end += (uint64_t)(p - buf);
		slot->live.tnt = 0;
	}
	atomic_store_explicit(&slot->head, end, memory_order_release);
	atomic_store_explicit(&slot->state, HT_SLOT_CLOSED, memory_order_release);
}
