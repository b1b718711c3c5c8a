/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The drain on memory that a traced program has scribbled over: the first bytes
 * set heads, tails and slot state, the rest is the sideband ring.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "capture/drain.h"

#define SIDEBAND 4096

static uint64_t sum; /* makes every byte handed out be read */

static void
eat(const void *p, size_t n)
{
	const uint8_t *bytes = p;

	for (size_t i = 0; i < n; i++)
		sum += bytes[i];
}

static int
take_record(void *arg, const struct ht_record *r)
{
	(void)arg;
	if (r->kind == HT_REC_COMM)
		eat(r->u.comm.comm, strlen(r->u.comm.comm));
	if (r->kind == HT_REC_MMAP)
		eat(r->u.map.path, strlen(r->u.map.path));
	if (r->kind == HT_REC_CODE)
		eat(r->u.code.bytes, r->u.code.len);
	return 0;
}

static int
take_trace(void *arg, uint32_t index, int32_t pid, int32_t tid, uint64_t time, const void *a, size_t a_size,
           const void *b, size_t b_size)
{
	(void)arg, (void)index, (void)pid, (void)tid, (void)time;
	eat(a, a_size);
	if (b)
		eat(b, b_size);
	return 0;
}

static int
take_gap(void *arg, uint32_t index, int32_t pid, int32_t tid, uint64_t time, uint64_t bytes)
{
	(void)arg, (void)index, (void)pid, (void)tid, (void)time;
	sum += bytes;
	return 0;
}

static int
take_killed(void *arg, uint32_t index, int32_t pid, int32_t tid, uint64_t time)
{
	(void)arg, (void)index, (void)pid, (void)tid, (void)time;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ht_shm shm;
	struct ht_shm_config sc = { .ring_size = HT_SHM_RING_MIN, .n_slots = 2, .sideband_size = SIDEBAND };
	struct ht_drain_config dc = { .clock = { .valid = 1, .mult = 1 },
	                              .sink = { take_record, take_trace, take_gap, take_killed, NULL, NULL } };
	struct ht_drain *d;
	struct ht_shm_slot *slot;
	uint64_t words[6];

	if (size < sizeof(words) || (!shm.h && ht_shm_create(&sc, &shm, NULL) < 0))
		return 0;
	sc.flags = data[0] & 1 ? HT_SHM_F_OVERWRITE : 0;
	memcpy(words, data, sizeof(words));
	data += sizeof(words);
	size -= sizeof(words);
	shm.h->flags = sc.flags;
	memset((uint8_t *)shm.h + shm.h->sideband_offset, 0, SIDEBAND);
	memcpy((uint8_t *)shm.h + shm.h->sideband_offset, data, size < SIDEBAND ? size : SIDEBAND);
	atomic_store(&shm.h->sideband_tail, words[1]);
	atomic_store(&shm.h->sideband_head, words[2]);
	slot = ht_shm_slot_at(shm.h, 0);
	atomic_store(&slot->state, (uint32_t)(words[0] >> 8 & 3));
	slot->pid = 1;
	slot->tid = (int32_t)(words[0] >> 16 & 0x7fff);
	atomic_store(&slot->head, words[3]);
	atomic_store(&slot->tail, words[4]);
	slot->live.tnt = words[5];
	slot->live.block_ip = words[5] * 0x9e3779b97f4a7c15u;
	slot->turns.tnt = words[5] & HT_TNT_BITS;
	slot->turns.offset = words[3] + (((words[5] >> 48) - words[3]) & 0xffff);
	atomic_store(&slot->turns.first, (uint32_t)words[1]);
	atomic_store(&slot->turns.next, (uint32_t)words[2]);
	if (ht_drain_new(shm.h, &dc, &d) < 0)
		return 0;
	for (int i = 0; i < 3; i++)
		ht_drain_pass(d, HT_DRAIN_ALL | HT_DRAIN_REAP);
	ht_drain_finish(d);
	ht_drain_free(d);
	memset((void *)slot, 0, sizeof(*slot));
	return 0;
}
