/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "capture/drain.h"
#include "capture/proc.h"
#include "capture/sideband.h"
#include "capture/tsc.h"

/* A ring is worth a record of its own from this part of it on. */
#define WELL_FILLED 4

#define NO_STREAM UINT32_MAX

/* What the recorder knows of a slot beyond what stands in it. */
struct slot_note {
	uint32_t stream;    /* index given to the sink; NO_STREAM until it has bytes */
	uint32_t known;     /* the slot is in use by the thread below */
	int32_t  pid, tid;
	uint64_t start_tsc;
	uint64_t seen_head; /* at the last look for the dead */
	uint64_t moved;     /* overwrite: bytes of the stream given out or lost */
};

struct ht_drain {
	struct ht_shm_header  *h;
	/* As made: a program that is traced can write to the header. */
	uint64_t ring_size, sideband_size, sideband_offset, slots_offset, slot_stride;
	uint32_t n_slots, flags;
	struct ht_drain_config config;
	struct ht_drain_stats  stats;
	struct ht_sideband     sideband;
	struct slot_note      *notes; /* one a slot */
	uint32_t               used;  /* slots ever used */
	int                    error;
};

static struct ht_shm_slot *
slot_at(const struct ht_drain *d, uint32_t i)
{
	return ht_shm_slot_in(d->h, d->slots_offset, d->slot_stride, i);
}

static long
futex(_Atomic uint32_t *word, int op, uint32_t value, const struct timespec *timeout)
{
	return syscall(SYS_futex, word, op, value, timeout, NULL, 0);
}

/*
 * Is the thread gone?  A thread group's leader stays as a zombie until all its
 * threads ended and it was waited for.  `pid` 0: not known.
 */
static int
is_dead(int32_t pid, int32_t tid)
{
	char state;

	if (tid <= 0)
		return 0;
	if ((pid > 0 ? syscall(SYS_tgkill, pid, tid, 0) : kill(tid, 0)) < 0 && errno == ESRCH)
		return 1;
	state = ht_proc_state(tid);
	return state == 'Z' || state == 'X';
}

static uint64_t
now_ns(const struct ht_drain *d)
{
	return ht_clock_tsc_to_ns(&d->config.clock, ht_tsc_read());
}

static void
note_error(struct ht_drain *d, int rc)
{
	if (rc < 0 && !d->error)
		d->error = rc;
}

/* -- sideband ------------------------------------------------------------ */

static void
emit(void *arg, const struct ht_record *rec)
{
	struct ht_drain *d = arg;

	if (!d->error)
		note_error(d, d->config.sink.record(d->config.sink.arg, rec));
}

static void
emit_note(void *arg, const char *text)
{
	struct ht_drain *d = arg;

	if (d->config.sink.note)
		d->config.sink.note(d->config.sink.arg, text);
}

/* Of what was lost nothing can be said but that it was. */
static void
sideband_damaged(struct ht_drain *d)
{
	static const char why[] =
	    "the sideband ring is damaged; some mappings or process records are lost";
	struct ht_record rec = {
		.kind = HT_REC_LOST, .pid = -1, .tid = -1, .cpu = -1, .time = now_ns(d)
	};

	rec.u.lost.kind = HT_GAP_RECORDS;
	rec.u.lost.why = why;
	emit_note(d, why);
	emit(d, &rec);
}

/*
 * Records never wrap and are published whole.  The size that a record states
 * is checked all the same: programs that are traced can write this memory.
 */
static int
drain_sideband(struct ht_drain *d)
{
	struct ht_shm_header *h = d->h;
	const uint8_t *ring = (const uint8_t *)h + d->sideband_offset;
	uint64_t mask = d->sideband_size - 1;
	uint64_t tail = atomic_load_explicit(&h->sideband_tail, memory_order_relaxed);
	uint64_t head = atomic_load_explicit(&h->sideband_head, memory_order_acquire);
	int moved = 0;

	if (head - tail > d->sideband_size) {
		sideband_damaged(d);
		tail = head;
	}
	while (tail != head) {
		uint64_t left = d->sideband_size - (tail & mask);
		const uint8_t *p = ring + (tail & mask);
		uint32_t size = 0;

		if (left > head - tail)
			left = head - tail;
		if (left >= 8 && tail % 8 == 0)
			memcpy(&size, p, sizeof(size));
		if (size < 8 || size % 8 || size > left) {
			sideband_damaged(d);
			tail = head;
			break;
		}
		ht_sideband_convert(&d->sideband, p, size);
		d->stats.sideband_bytes += size;
		tail += size;
		moved = 1;
	}
	atomic_store_explicit(&h->sideband_tail, tail, memory_order_release);
	d->stats.processes = d->sideband.processes;
	d->stats.threads = d->sideband.threads;
	d->stats.loaded = d->sideband.loaded;
	return moved;
}

/* A thread that died while it held the lock left a record that was not published. */
static void
break_dead_lock(struct ht_drain *d)
{
	int32_t owner = atomic_load_explicit(&d->h->sideband_lock, memory_order_relaxed);

	if (owner && is_dead(0, owner) &&
	    atomic_compare_exchange_strong(&d->h->sideband_lock, &owner, 0))
		futex((_Atomic uint32_t *)&d->h->sideband_lock, FUTEX_WAKE, INT32_MAX, NULL);
}

/* -- slots --------------------------------------------------------------- */

/* Streams are numbered as their first bytes come. */
static uint32_t
stream_of(struct ht_drain *d, struct slot_note *n)
{
	if (n->stream == NO_STREAM)
		n->stream = d->stats.streams++;
	return n->stream;
}

/* Bytes [from, to) of a stream, `ring` being the ring's memory or a copy of it. */
static void
give_out(struct ht_drain *d, struct slot_note *n, const uint8_t *ring, uint64_t from, uint64_t to)
{
	uint64_t at = from & (d->ring_size - 1);
	size_t size = (size_t)(to - from), first = size;

	if (!size)
		return;
	if (first > d->ring_size - at)
		first = (size_t)(d->ring_size - at);
	if (!d->error)
		note_error(d, d->config.sink.trace(d->config.sink.arg, stream_of(d, n), n->pid, n->tid,
		                                   now_ns(d), ring + at, first,
		                                   first < size ? ring : NULL, size - first));
	if (d->error)
		d->stats.lost_bytes += size;
	else
		d->stats.trace_bytes += size;
}

/* `bytes` of the stream before what comes next are lost. */
static void
give_gap(struct ht_drain *d, struct slot_note *n, uint64_t bytes)
{
	d->stats.lost_bytes += bytes;
	if (!d->error)
		note_error(d, d->config.sink.gap(d->config.sink.arg, stream_of(d, n), n->pid, n->tid, now_ns(d),
		                                 bytes));
}

/* The thread was killed while it ran. */
static void
give_end(struct ht_drain *d, struct slot_note *n)
{
	d->stats.killed++;
	if (!d->error)
		note_error(d, d->config.sink.killed(d->config.sink.arg, stream_of(d, n), n->pid,
		                                    n->tid, now_ns(d)));
}

/* Give out what lies before `head` and make room.  Returns 1 when something moved. */
static int
drain_to(struct ht_drain *d, struct slot_note *n, struct ht_shm_slot *slot, uint64_t head, uint64_t least)
{
	uint64_t tail = atomic_load_explicit(&slot->tail, memory_order_relaxed);
	uint64_t size = head - tail;

	if (size && size <= d->ring_size && size >= least) {
		give_out(d, n, ht_shm_ring_of(slot), tail, head);
		atomic_store_explicit(&slot->tail, head, memory_order_release);
	} else if (size > d->ring_size) {
		/* Nobody but a program that scribbles over this memory does this. */
		emit_note(d, "a trace ring is damaged; what was in it is lost");
		atomic_store_explicit(&slot->tail, head, memory_order_release);
		give_gap(d, n, d->ring_size);
	} else {
		size = 0;
	}
	/* The thread sets `waiting`, then reads tail; we move tail, then read `waiting`. */
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&slot->waiting, memory_order_relaxed)) {
		atomic_fetch_add(&slot->tail_seq, 1);
		futex(&slot->tail_seq, FUTEX_WAKE, INT32_MAX, NULL);
	}
	return size != 0;
}

static int
drain_ring(struct ht_drain *d, struct slot_note *n, struct ht_shm_slot *slot, uint64_t least)
{
	return drain_to(d, n, slot, atomic_load_explicit(&slot->head, memory_order_acquire), least);
}

/*
 * The last bytes of a thread that lives on.  While its packet generation is off
 * (it is in a system call), whole packets may lie beyond head: struct ht_shm_live.
 */
static void
drain_rest(struct ht_drain *d, struct slot_note *n, struct ht_shm_slot *slot)
{
	uint64_t head = atomic_load_explicit(&slot->head, memory_order_acquire), tnt = slot->live.tnt;
	uint64_t beyond = ((tnt >> 48) - head) & 0xffff;

	if (!(tnt & HT_TNT_BITS) && beyond <= HT_SHM_SLACK)
		head += beyond;
	drain_to(d, n, slot, head, 1);
}

/*
 * A ring that is never waited for: what is left before head.  While the thread
 * lives it may write on behind our back; what it overwrote since is known by
 * reading head again, and is not given out.
 */
static void
drain_overwritten(struct ht_drain *d, struct slot_note *n, struct ht_shm_slot *slot)
{
	uint64_t ring = d->ring_size, kept = ring - HT_SHM_SLACK;
	uint64_t head = atomic_load_explicit(&slot->head, memory_order_acquire), later, from;
	uint8_t *copy = malloc(ring);

	if (!copy) {
		note_error(d, -HT_ENOMEM);
		return;
	}
	memcpy(copy, ht_shm_ring_of(slot), ring);
	atomic_thread_fence(memory_order_acquire);
	later = atomic_load_explicit(&slot->head, memory_order_acquire);
	from = later > kept ? later - kept : 0;
	if (from > head)
		from = head;
	if (from < n->moved)
		from = n->moved;
	if (from > n->moved)
		give_gap(d, n, from - n->moved);
	give_out(d, n, copy, from, head);
	n->moved = head;
	free(copy);
}

static int
is_overwritten(const struct ht_drain *d)
{
	return (d->flags & HT_SHM_F_OVERWRITE) != 0;
}

static void
free_slot(struct slot_note *n, struct ht_shm_slot *slot)
{
	memset(&slot->live, 0, sizeof(slot->live));
	slot->cut = 0;
	slot->tid = 0; /* or the next owner would look dead while it sets the slot up */
	atomic_store_explicit(&slot->waiting, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->head, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->tail, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->state, HT_SLOT_FREE, memory_order_release);
	n->known = 0;
}

static void
close_slot(struct ht_drain *d, struct slot_note *n, struct ht_shm_slot *slot)
{
	if (is_overwritten(d))
		drain_overwritten(d, n, slot);
	else
		drain_ring(d, n, slot, 1);
	if (slot->cut)
		give_end(d, n);
	free_slot(n, slot);
}

/*
 * The owner cannot end its stream itself: it ends with what the slot remembers.
 * `dead`: it could not tell of its end either.
 */
static void
complete_slot(struct ht_drain *d, struct slot_note *n, struct ht_shm_slot *slot, int dead)
{
	if (!is_overwritten(d))
		drain_ring(d, n, slot, 1);
	ht_shm_complete(slot, ht_shm_ring_of(slot), d->ring_size);
	d->stats.completed++;
	if (dead)
		ht_sideband_exit(&d->sideband, n->pid, n->tid, now_ns(d));
	close_slot(d, n, slot);
}

/* The slot was claimed since we looked: a stream of its own. */
static void
meet_slot(struct slot_note *n, const struct ht_shm_slot *slot)
{
	if (n->known)
		return;
	*n = (struct slot_note){ .known = 1, .stream = NO_STREAM, .pid = slot->pid, .tid = slot->tid,
	                         .start_tsc = slot->start_tsc };
}

/* A thread that claims a second slot has left the first: it went through execve() and came back. */
static int
is_succeeded(const struct ht_drain *d, uint32_t i)
{
	const struct slot_note *n = &d->notes[i];

	for (uint32_t k = 0; k < d->used; k++) {
		const struct slot_note *o = &d->notes[k];

		if (k != i && o->known && o->tid == n->tid && o->pid == n->pid && o->start_tsc > n->start_tsc)
			return 1;
	}
	return 0;
}

static int
pass_slot(struct ht_drain *d, uint32_t i, unsigned how)
{
	struct ht_shm_slot *slot = slot_at(d, i);
	struct slot_note *n = &d->notes[i];
	uint32_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
	uint64_t least = how & HT_DRAIN_ALL ? 1 : d->ring_size / WELL_FILLED;
	uint64_t head;
	int moved = 0, dead;

	if (state == HT_SLOT_FREE)
		return 0;
	d->stats.active++;
	if (state == HT_SLOT_CLAIMED) {
		if ((how & HT_DRAIN_REAP) && slot->tid && is_dead(slot->pid, slot->tid))
			free_slot(n, slot);
		return 0;
	}
	meet_slot(n, slot);
	if (state == HT_SLOT_CLOSED) {
		close_slot(d, n, slot);
		return 1;
	}
	if (!is_overwritten(d))
		moved = drain_ring(d, n, slot, least);
	if (!(how & HT_DRAIN_REAP))
		return moved;
	head = atomic_load_explicit(&slot->head, memory_order_acquire);
	if (head != n->seen_head) {
		n->seen_head = head;
		return moved;
	}
	dead = is_dead(n->pid, n->tid);
	if (!dead && !is_succeeded(d, i))
		return moved;
	/* It may have closed the slot on its way out. */
	if (atomic_load_explicit(&slot->state, memory_order_acquire) == HT_SLOT_CLOSED)
		close_slot(d, n, slot);
	else
		complete_slot(d, n, slot, dead);
	return 1;
}

/* Slots are claimed lowest first: none beyond the first that was never used is. */
static void
count_used(struct ht_drain *d)
{
	while (d->used < d->n_slots) {
		const struct ht_shm_slot *slot = slot_at(d, d->used);

		if (atomic_load_explicit(&slot->state, memory_order_acquire) == HT_SLOT_FREE && !slot->pid)
			return;
		d->used++;
	}
}

int
ht_drain_pass(struct ht_drain *d, unsigned how)
{
	int moved;

	if (how & HT_DRAIN_REAP)
		break_dead_lock(d);
	moved = drain_sideband(d);
	count_used(d);
	d->stats.active = 0;
	for (uint32_t i = 0; i < d->used; i++)
		moved |= pass_slot(d, i, how);
	return moved;
}

int
ht_drain_lives(const struct ht_drain *d)
{
	return !d->error && ht_sideband_lives(&d->sideband);
}

void
ht_drain_stop(struct ht_drain *d)
{
	ht_drain_pass(d, HT_DRAIN_ALL | HT_DRAIN_REAP);
	if (!d->error)
		ht_sideband_part(&d->sideband);
	atomic_store(&d->h->stop, 1);
}

void
ht_drain_finish(struct ht_drain *d)
{
	ht_drain_pass(d, HT_DRAIN_ALL | HT_DRAIN_REAP);
	for (uint32_t i = 0; i < d->used; i++) {
		struct ht_shm_slot *slot = slot_at(d, i);
		struct slot_note *n = &d->notes[i];
		uint32_t state = atomic_load_explicit(&slot->state, memory_order_acquire);

		if (state != HT_SLOT_ACTIVE && state != HT_SLOT_CLOSED)
			continue;
		meet_slot(n, slot);
		if (state == HT_SLOT_ACTIVE && is_dead(n->pid, n->tid))
			complete_slot(d, n, slot, 1);
		else if (is_overwritten(d))
			drain_overwritten(d, n, slot);
		else
			drain_rest(d, n, slot);
	}
	drain_sideband(d);
	ht_sideband_finish(&d->sideband, now_ns(d));
}

int
ht_drain_quiet(const struct ht_drain *d)
{
	for (uint32_t i = 0; i < d->used; i++) {
		const struct ht_shm_slot *slot = slot_at(d, i);
		uint32_t state = atomic_load_explicit(&slot->state, memory_order_acquire);

		if (state == HT_SLOT_CLAIMED || state == HT_SLOT_CLOSED)
			return 0;
		/* Packet generation is off while the thread is in a system call: all it has is in the ring. */
		if (state == HT_SLOT_ACTIVE && (slot->live.tnt & HT_TNT_BITS))
			return 0;
	}
	return 1;
}

void
ht_drain_wake(struct ht_drain *d)
{
	for (uint32_t i = 0; i < d->used; i++) {
		struct ht_shm_slot *slot = slot_at(d, i);

		atomic_fetch_add(&slot->tail_seq, 1);
		futex(&slot->tail_seq, FUTEX_WAKE, INT32_MAX, NULL);
	}
}

uint32_t
ht_drain_doorbell(const struct ht_drain *d)
{
	return atomic_load_explicit(&d->h->doorbell, memory_order_acquire);
}

void
ht_drain_wait(struct ht_drain *d, uint32_t seen, unsigned ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	futex(&d->h->doorbell, FUTEX_WAIT, seen, &ts);
}

const struct ht_drain_stats *
ht_drain_stats(const struct ht_drain *d)
{
	return &d->stats;
}

int
ht_drain_error(const struct ht_drain *d)
{
	return d->error;
}

int
ht_drain_new(struct ht_shm_header *h, const struct ht_drain_config *config, struct ht_drain **out)
{
	struct ht_drain *d = calloc(1, sizeof(*d));

	if (!d)
		return -HT_ENOMEM;
	d->notes = calloc(h->n_slots, sizeof(*d->notes));
	if (!d->notes) {
		free(d);
		return -HT_ENOMEM;
	}
	d->h = h;
	d->ring_size = h->ring_size;
	d->sideband_size = h->sideband_size;
	d->sideband_offset = h->sideband_offset;
	d->slots_offset = h->slots_offset;
	d->slot_stride = h->slot_stride;
	d->n_slots = h->n_slots;
	d->flags = h->flags;
	d->config = *config;
	d->sideband = (struct ht_sideband){ .clock = config->clock, .record = emit, .note = emit_note, .arg = d };
	*out = d;
	return 0;
}

void
ht_drain_free(struct ht_drain *d)
{
	if (!d)
		return;
	ht_sideband_fini(&d->sideband);
	free(d->notes);
	free(d);
}
