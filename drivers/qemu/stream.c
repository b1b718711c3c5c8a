/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdatomic.h>

#include "core/turn.h"
#include "qemu/sideband.h"
#include "qemu/slot.h"
#include "qemu/stream.h"

#define DEFER_MAX   2048 /* bytes behind `head` before they are published */
#define LIMIT_MIN   32   /* bytes between two looks at the ring */
#define DEFAULT_PSB 4096

_Static_assert(DEFER_MAX + 1024 + HT_TURNS_MAX * HT_TURN_MAX < HT_SHM_SLACK,
               "what is not published fits the slack, with a PSB+ and jumps back to come");

static inline void
publish(const struct ht_unit *u)
{
	atomic_store_explicit(&u->slot->head, ht_stream_offset(u), memory_order_release);
}

/* Wait until the ring has room. Returns 0 when nobody drains it any more. */
static int
wait_for_room(const struct ht_unit *u)
{
	struct ht_shm_slot *slot = u->slot;
	uint64_t size = ht_shm->ring_size - HT_SHM_SLACK, off = ht_stream_offset(u);

	if (ht_shm->flags & HT_SHM_F_OVERWRITE)
		return 1;
	for (unsigned waited = 0; off - atomic_load(&slot->tail) >= size; waited++) {
		uint32_t seq = atomic_load(&slot->tail_seq);

		if (atomic_load(&ht_shm->stop) || (waited > 20 && !ht_recorder_alive()))
			return 0;
		atomic_store(&slot->waiting, 1);
		ht_doorbell_ring();
		if (off - atomic_load(&slot->tail) >= size)
			ht_futex_wait(&slot->tail_seq, seq, 100);
		atomic_store(&slot->waiting, 0);
	}
	return 1;
}

/* How far `p` may go before the ring is looked at again. */
static void
set_limit(struct ht_unit *u)
{
	uint64_t off = ht_stream_offset(u), left = DEFER_MAX;
	uint64_t lap_left = (uint64_t)(u->ring + ht_shm->ring_size - u->hole);

	if (u->psb_due - off < left)
		left = u->psb_due > off ? u->psb_due - off : 0;
	if (lap_left < left)
		left = lap_left;
	u->limit = u->hole + (left < LIMIT_MIN ? LIMIT_MIN : left);
}

/* Publish, start a new lap, wait for room, and say when to look again. */
static void
refill(struct ht_unit *u)
{
	uint64_t size = ht_shm->ring_size, used;

	publish(u);
	if (u->hole >= u->ring + size) {
		u->hole -= size;
		u->p -= size;
		u->lap += size;
	}
	if (atomic_load_explicit(&ht_shm->stop, memory_order_relaxed) || !wait_for_room(u)) {
		ht_unit_mute(u);
		return;
	}
	used = ht_stream_offset(u) - atomic_load_explicit(&u->slot->tail, memory_order_acquire);
	if (used > size / 2 && !(ht_shm->flags & HT_SHM_F_OVERWRITE))
		ht_doorbell_ring();
	set_limit(u);
}

void
ht_stream_put_cyc(struct ht_unit *u)
{
	if (unlikely(u->cyc && u->cycles)) {
		u->hole = ht_pt_cyc(u->hole, u->cycles);
		u->cycles = 0;
	}
}

void
ht_stream_flush(struct ht_unit *u)
{
	unsigned n;

	if (u->tnt <= 1) {
		u->p = u->hole;
		return;
	}
	if (u->cyc) {
		ht_stream_put_cyc(u);
		ht_stream_open_hole(u);
	}
	n = 63 - (unsigned)__builtin_clzll(u->tnt);
	if (u->p != u->hole + HT_TNT_ROOM || n > 7 * HT_PT_TNT_SHORT_MAX) {
		ht_pt_tnt_long(u->hole, u->tnt);
		u->hole = u->p;
	} else {
		while (n) {
			unsigned part = n > HT_PT_TNT_SHORT_MAX ? HT_PT_TNT_SHORT_MAX : n;

			n -= part;
			u->hole = ht_pt_tnt_short(u->hole, 1u << part | (u->tnt >> n & ((1u << part) - 1)));
		}
	}
	u->tnt = 1;
	u->p = u->hole;
}

void
ht_stream_settle(struct ht_unit *u, int on, uint64_t ip)
{
	u->p = u->hole + (on ? HT_TNT_ROOM : 0);
	ht_stream_commit(u, on ? 1 : 0, ip);
	if (u->p >= u->limit)
		refill(u);
	else
		publish(u);
}

void
ht_stream_put_ip(struct ht_unit *u, enum ht_pt_kind op, uint64_t ip)
{
	u->hole = ht_pt_ip(u->hole, op, ip, u->last_ip);
	u->last_ip = ip;
}

void
ht_stream_put_tsc(struct ht_unit *u)
{
	u->generation = ht_sideband_generation();
	u->hole = ht_pt_tsc(u->hole, ht_tsc_now());
}

/* PSB+.  Decoders forget the call stack and the last IP here. */
static void
put_psb(struct ht_unit *u, int on, uint64_t ip)
{
	u->psb_due = ht_stream_offset(u) + (ht_shm->psb_period ? ht_shm->psb_period : DEFAULT_PSB);
	u->hole = ht_pt_psb(u->hole);
	ht_stream_put_tsc(u);
	u->hole = ht_pt_mode_exec(u->hole, 1, 0);
	if (on)
		u->hole = ht_pt_ip(u->hole, HT_PT_FUP, ip, HT_PT_NO_BASE);
	u->hole = ht_pt_psbend(u->hole);
	u->last_ip = on ? ip : 0;
	u->depth = 0;
}

void
ht_stream_put_due_psb(struct ht_unit *u)
{
	if (ht_stream_offset(u) >= u->psb_due)
		put_psb(u, 0, 0);
}

void
ht_stream_begin(struct ht_unit *u)
{
	u->limit = u->ring + DEFER_MAX;
	put_psb(u, 0, 0);
	ht_stream_settle(u, 0, 0);
}

void
ht_stream_reach_limit(struct ht_unit *u, uint64_t ip)
{
	uint64_t deferred = (uint64_t)(u->p - u->hole);

	if (deferred >= DEFER_MAX || ht_stream_offset(u) + deferred >= u->psb_due) {
		ht_stream_flush(u);
		if (ht_stream_offset(u) >= u->psb_due)
			put_psb(u, 1, ip);
		ht_stream_open_hole(u);
		ht_stream_commit(u, 1, ip);
	}
	refill(u);
}
