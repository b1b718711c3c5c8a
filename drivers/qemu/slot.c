/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "qemu/sideband.h"
#include "qemu/slot.h"

#define RING_ALIGN 65536 /* the low 16 bits of ring pointers and offsets are the same */

/* A ring a second time, twice in a row and aligned: packets are written without a look at its end. */
static uint8_t *
map_ring(struct ht_shm_slot *slot)
{
	size_t size = ht_shm->ring_size, span = RING_ALIGN + 2 * size;
	uint8_t *area = mmap(NULL, span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint8_t *base;

	if (area == MAP_FAILED)
		return NULL;
	base = (uint8_t *)(((uintptr_t)area + RING_ALIGN - 1) & ~(uintptr_t)(RING_ALIGN - 1));
	for (int half = 0; half < 2; half++)
		/* An old size of 0 asks for one more mapping of shared memory. */
		if (mremap((uint8_t *)slot + HT_SHM_PAGE, 0, size, MREMAP_MAYMOVE | MREMAP_FIXED,
		           base + (size_t)half * size) == MAP_FAILED) {
			munmap(area, span);
			return NULL;
		}
	return base;
}

void
ht_slot_unmap_ring(uint8_t *ring)
{
	munmap(ring, 2 * ht_shm->ring_size);
}

/* NULL: none is free, or `why` tells what else is wrong. */
static struct ht_shm_slot *
try_claim(uint8_t **ring, const char **why)
{
	for (uint32_t i = 0; i < ht_shm->n_slots; i++) {
		struct ht_shm_slot *slot = ht_shm_slot_at(ht_shm, i);
		uint32_t want = HT_SLOT_FREE;

		if (!atomic_compare_exchange_strong(&slot->state, &want, HT_SLOT_CLAIMED))
			continue;
		/* First who it is: a claim that fails or dies leaves a slot that was used. */
		slot->pid = getpid();
		slot->tid = (int32_t)syscall(SYS_gettid);
		*ring = map_ring(slot);
		if (!*ring) {
			*why = strerror(errno);
			slot->tid = 0;
			atomic_store(&slot->state, HT_SLOT_FREE);
			return NULL;
		}
		slot->start_tsc = ht_tsc_now();
		slot->live.tnt = 0;
		memset(&slot->turns, 0, sizeof(slot->turns));
		slot->lost = 0;
		slot->cut = 0;
		atomic_store(&slot->head, 0);
		atomic_store(&slot->tail, 0);
		atomic_store(&slot->state, HT_SLOT_ACTIVE);
		return slot;
	}
	return NULL;
}

struct ht_shm_slot *
ht_slot_claim(uint8_t **ring, const char **why)
{
	*why = NULL;
	/* The recorder frees the slots of ended threads: give it some time. */
	for (int tries = 0; tries < 200; tries++) {
		struct ht_shm_slot *slot = try_claim(ring, why);

		if (slot || *why || !ht_recorder_alive())
			return slot;
		ht_doorbell_ring();
		usleep(10000);
	}
	return NULL;
}

void
ht_slot_close(struct ht_shm_slot *slot)
{
	slot->live.tnt = 0;
	atomic_store_explicit(&slot->state, HT_SLOT_CLOSED, memory_order_release);
	ht_doorbell_ring();
}

void
ht_slot_close_stale(void)
{
	for (uint32_t i = 0; i < ht_shm->n_slots; i++) {
		struct ht_shm_slot *slot = ht_shm_slot_at(ht_shm, i);

		if (atomic_load(&slot->state) == HT_SLOT_ACTIVE && slot->pid == getpid())
			ht_shm_complete(slot, (uint8_t *)slot + HT_SHM_PAGE, ht_shm->ring_size);
	}
}
