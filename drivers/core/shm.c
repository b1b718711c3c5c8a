/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "core/shm.h"
#include "encode/pt.h"

static void
ring_put(uint8_t *ring, uint64_t size, uint64_t at, const uint8_t *src, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		ring[(at + i) & (size - 1)] = src[i];
}

void
ht_shm_complete(struct ht_shm_slot *slot, uint8_t *ring, uint64_t ring_size)
{
	uint64_t head = atomic_load_explicit(&slot->head, memory_order_acquire);
	uint64_t tnt = slot->live.tnt & HT_LIVE_BITS;
	uint64_t ip = (uint64_t)((int64_t)(slot->live.block_ip << 16) >> 16);
	uint64_t hole = head + (((slot->live.block_ip >> 48) - head) & 0xffff);
	uint64_t end = head + (((slot->live.tnt >> 48) - head) & 0xffff);
	uint8_t buf[64], *p = buf;

	slot->cut = tnt != 0;
	if (tnt) {
		if (tnt > 1) {
			ht_pt_tnt_long(buf, tnt);
			ring_put(ring, ring_size, hole, buf, HT_TNT_ROOM);
		} else {
			end = hole;
		}
		p = ht_pt_ip(buf, HT_PT_FUP, ip, HT_PT_NO_BASE);
		p = ht_pt_ip_none(p, HT_PT_TIP_PGD);
		ring_put(ring, ring_size, end, buf, (unsigned)(p - buf));
		end += (uint64_t)(p - buf);
		slot->live.tnt = 0;
	}
	atomic_store_explicit(&slot->head, end, memory_order_release);
	atomic_store_explicit(&slot->state, HT_SLOT_CLOSED, memory_order_release);
}
