/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "qemu/sideband.h"
#include "qemu/slot.h"
#include "qemu/unit.h"

#define PARENTS 1024

const struct ht_block ht_block_start = { .slow = HT_BLOCK_START, .special = 1 };
const struct ht_block ht_block_off = { .slow = HT_BLOCK_OFF, .special = 1 };
const struct ht_block ht_block_mute = { .slow = HT_BLOCK_MUTE, .special = 1 };
static struct ht_unit unit_start = { .prev = &ht_block_start };
static struct ht_unit unit_mute = { .prev = &ht_block_mute };
static struct ht_unit unit_refused = { .prev = &ht_block_mute }; /* there was no stream to be had */
__thread struct ht_unit *ht_unit_self = &unit_start;

static int parents[PARENTS];
static int fork_pid, fork_tid; /* of the parent, in a process that was forked */
static _Atomic unsigned n_units;   /* that have begun */
static _Atomic unsigned n_threads; /* of the process, traced or not, from before they run */

int
ht_unit_traced(const struct ht_unit *u)
{
	return u->slot != NULL;
}

int
ht_unit_enabled(const struct ht_unit *u)
{
	return u->slot && !(u->prev->slow & (HT_BLOCK_OFF | HT_BLOCK_OUTSIDE));
}

int
ht_unit_refused(const struct ht_unit *u)
{
	return u == &unit_refused;
}

unsigned
ht_unit_threads(void)
{
	return atomic_load(&n_threads);
}

void
ht_unit_thread_made(unsigned vcpu, int parent_tid)
{
	atomic_fetch_add(&n_threads, 1);
	parents[vcpu % PARENTS] = parent_tid;
}

void
ht_unit_thread_gone(void)
{
	atomic_fetch_sub(&n_threads, 1);
}

static void
tell_birth(const struct ht_unit *u, int parent_tid)
{
	if (atomic_fetch_add(&n_units, 1) == 0 && fork_pid) {
		ht_sideband_fork(fork_pid, fork_tid);
		fork_pid = 0;
	} else if (parent_tid && parent_tid != u->slot->tid) {
		ht_sideband_fork(getpid(), parent_tid);
	}
}

struct ht_unit *
ht_unit_begin(unsigned vcpu)
{
	struct ht_unit *u = aligned_alloc(64, (sizeof(*u) + 63) / 64 * 64);
	const char *why = NULL;

	if (u)
		memset(u, 0, sizeof(*u));
	if (!u || !(u->slot = ht_slot_claim(&u->ring, &why))) {
		if (u && !why)
			ht_sideband_untraced("a thread is not traced: all %u streams are in use",
			                     ht_shm->n_slots);
		else
			ht_sideband_untraced("a thread is not traced: no memory for its ring: %s",
			                     u ? why : strerror(ENOMEM));
		free(u);
		ht_unit_self = &unit_refused;
		return NULL;
	}
	u->live = &u->slot->live;
	u->retc = (ht_shm->flags & HT_SHM_F_RETC) != 0;
	u->cyc = (ht_shm->flags & HT_SHM_F_CYC) != 0;
	u->hole = u->p = u->limit = u->ring;
	u->tnt = 1;
	u->prev = &ht_block_off;
	tell_birth(u, parents[vcpu % PARENTS]);
	ht_unit_self = u;
	return u;
}

void
ht_unit_mute(struct ht_unit *u)
{
	struct ht_shm_slot *slot = u->slot;

	if (!slot)
		return;
	u->prev = &ht_block_mute;
	u->slot = NULL;
	ht_unit_self = &unit_mute;
	ht_slot_close(slot);
}

void
ht_unit_end(struct ht_unit *u)
{
	atomic_fetch_sub(&n_units, 1);
	ht_unit_mute(u);
	ht_slot_unmap_ring(u->ring);
	free(u);
}

void
ht_unit_after_fork(int parent_pid, int parent_tid, int mute)
{
	if (!ht_unit_refused(ht_unit_self))
		ht_unit_self = mute ? &unit_mute : &unit_start;
	fork_pid = parent_pid;
	fork_tid = parent_tid;
	atomic_store(&n_units, 0);
	atomic_store(&n_threads, 1);
}
