/* SPDX-License-Identifier: BSD-2-Clause */
/* The drain against producers of its own that follow drivers/core/shm.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hwtrace/event.h>

#include "capture/drain.h"

#define RING HT_SHM_RING_MIN
#define KEEP (8u << 20)
#define STREAMS 8

/* What the sink was given. */
struct sink {
	uint8_t *bytes[STREAMS];
	size_t   n[STREAMS];
	uint64_t gap[STREAMS];
	size_t   gap_at[STREAMS];
	size_t killed_at[STREAMS]; /* bytes that came before, plus 1 */
	int32_t  tid[STREAMS];
	uint32_t streams;
	char     log[4096]; /* one line a record */
	int      notes;
	int      fail; /* the next trace bytes fail */
};

struct bench {
	struct ht_shm    shm;
	struct ht_drain *drain;
	struct sink      sink;
};

static int
take_record(void *arg, const struct ht_record *r)
{
	struct sink *s = arg;
	size_t n = strlen(s->log);
	char *p = s->log + n;
	size_t left = sizeof(s->log) - n;

	switch (r->kind) {
	case HT_REC_COMM:
		snprintf(p, left, "comm %d/%d %s%s\n", r->pid, r->tid, r->u.comm.comm, r->u.comm.exec ? " exec" : "");
		break;
	case HT_REC_FORK:
		snprintf(p, left, "fork %d/%d of %d/%d\n", r->pid, r->tid, r->u.fork.ppid, r->u.fork.ptid);
		break;
	case HT_REC_EXIT:
		snprintf(p, left, "exit %d/%d\n", r->pid, r->tid);
		break;
	case HT_REC_MMAP:
		snprintf(p, left, "mmap %d %llx+%llx@%llx %s%s id %u\n", r->pid, (unsigned long long)r->u.map.addr,
		         (unsigned long long)r->u.map.len, (unsigned long long)r->u.map.pgoff, r->u.map.path,
		         r->u.map.flags & HT_MAP_EXEC ? " x" : "", r->u.map.build_id_size);
		break;
	case HT_REC_MUNMAP:
		snprintf(p, left, "munmap %d %llx+%llx\n", r->pid, (unsigned long long)r->u.unmap.addr,
		         (unsigned long long)r->u.unmap.len);
		break;
	case HT_REC_ITRACE_START:
		snprintf(p, left, "start %d/%d\n", r->pid, r->tid);
		break;
	case HT_REC_CODE:
		snprintf(p, left, "code %llx %u %02x\n", (unsigned long long)r->u.code.addr, r->u.code.len,
		         r->u.code.bytes[0]);
		break;
	case HT_REC_LOST:
		snprintf(p, left, "lost %d/%d %s: %s\n", r->pid, r->tid,
		         ht_gap_kind_name(r->u.lost.kind), r->u.lost.why);
		break;
	default:
		snprintf(p, left, "other %d\n", r->kind);
		break;
	}
	return 0;
}

static int
take_trace(void *arg, uint32_t index, int32_t pid, int32_t tid, uint64_t time, const void *a, size_t a_size,
           const void *b, size_t b_size)
{
	struct sink *s = arg;

	(void)pid;
	(void)time;
	if (s->fail)
		return -HT_EIO;
	assert_true(index <= s->streams && index < STREAMS);
	if (index == s->streams) {
		s->streams++;
		s->bytes[index] = malloc(KEEP);
		assert_non_null(s->bytes[index]);
	}
	s->tid[index] = tid;
	assert_true(s->n[index] + a_size + b_size <= KEEP);
	memcpy(s->bytes[index] + s->n[index], a, a_size);
	s->n[index] += a_size;
	if (b_size)
		memcpy(s->bytes[index] + s->n[index], b, b_size);
	s->n[index] += b_size;
	return 0;
}

static int
take_gap(void *arg, uint32_t index, int32_t pid, int32_t tid, uint64_t time, uint64_t bytes)
{
	struct sink *s = arg;

	(void)pid;
	(void)tid;
	(void)time;
	s->gap[index] += bytes;
	s->gap_at[index] = s->n[index];
	return 0;
}

static int
take_end(void *arg, uint32_t index, int32_t pid, int32_t tid, uint64_t time)
{
	struct sink *s = arg;

	(void)pid;
	(void)tid;
	(void)time;
	assert_int_equal(s->killed_at[index], 0);
	s->killed_at[index] = s->n[index] + 1;
	return 0;
}

static void
take_note(void *arg, const char *text)
{
	struct sink *s = arg;

	(void)text;
	s->notes++;
}

static void
set_up(struct bench *b, uint32_t flags, uint64_t sideband)
{
	struct ht_shm_config sc = { .flags = flags, .ring_size = RING, .n_slots = 4, .sideband_size = sideband };
	struct ht_drain_config dc = { .clock = { .valid = 1, .mult = 1 },
		                      .sink = { take_record, take_trace, take_gap, take_end,
		                                take_note, &b->sink } };

	memset(b, 0, sizeof(*b));
	assert_int_equal(ht_shm_create(&sc, &b->shm, NULL), 0);
	assert_int_equal(b->shm.h->ring_size, RING);
	assert_int_equal(ht_drain_new(b->shm.h, &dc, &b->drain), 0);
}

static void
tear_down(struct bench *b)
{
	ht_drain_free(b->drain);
	ht_shm_destroy(&b->shm);
	for (uint32_t i = 0; i < b->sink.streams; i++)
		free(b->sink.bytes[i]);
}

/* -- a producer ------------------------------------------------------------ */

static struct ht_shm_slot *
claim(struct ht_shm_header *h, int32_t pid, int32_t tid, uint64_t tsc)
{
	for (uint32_t i = 0; i < h->n_slots; i++) {
		struct ht_shm_slot *slot = ht_shm_slot_at(h, i);
		uint32_t want = HT_SLOT_FREE;

		if (!atomic_compare_exchange_strong(&slot->state, &want, HT_SLOT_CLAIMED))
			continue;
		slot->pid = pid;
		slot->tid = tid;
		slot->start_tsc = tsc;
		atomic_store(&slot->state, HT_SLOT_ACTIVE);
		return slot;
	}
	return NULL;
}

static uint8_t
pattern(uint64_t i)
{
	return (uint8_t)((i * 2654435761u) >> 13);
}

/* Append the next `n` bytes of the pattern, waiting for room. */
static void
produce(struct ht_shm_header *h, struct ht_shm_slot *slot, size_t n, int wait_for_room)
{
	uint64_t head = atomic_load(&slot->head);
	uint8_t *ring = ht_shm_ring_of(slot);

	for (; wait_for_room && head + n - atomic_load(&slot->tail) > RING;) {
		uint32_t seq = atomic_load(&slot->tail_seq);

		atomic_store(&slot->waiting, 1);
		atomic_fetch_add(&h->doorbell, 1);
		syscall(SYS_futex, &h->doorbell, FUTEX_WAKE, 1, NULL, NULL, 0);
		if (head + n - atomic_load(&slot->tail) > RING)
			syscall(SYS_futex, &slot->tail_seq, FUTEX_WAIT, seq, NULL, NULL, 0);
		atomic_store(&slot->waiting, 0);
	}
	for (size_t i = 0; i < n; i++)
		ring[(head + i) & (RING - 1)] = pattern(head + i);
	atomic_store(&slot->head, head + n);
}

static void
assert_pattern(const struct sink *s, uint32_t stream, uint64_t from, size_t n)
{
	assert_int_equal(s->n[stream], n);
	for (size_t i = 0; i < n; i++)
		if (s->bytes[stream][i] != pattern(from + i))
			fail_msg("stream %u differs at byte %zu", stream, i);
}

static void
sideband(struct ht_shm_header *h, struct ht_sb_record rec, const char *text, size_t text_size)
{
	uint8_t *ring = (uint8_t *)h + h->sideband_offset;
	uint64_t head = atomic_load(&h->sideband_head);
	uint64_t left = h->sideband_size - (head & (h->sideband_size - 1));

	rec.text_size = (uint32_t)text_size;
	rec.size = (uint32_t)((sizeof(rec) + text_size + 7) & ~(size_t)7);
	if (rec.size > left) {
		uint32_t pad[2] = { (uint32_t)left, HT_SB_PAD };

		memcpy(ring + (head & (h->sideband_size - 1)), pad, sizeof(pad));
		head += left;
	}
	memcpy(ring + (head & (h->sideband_size - 1)), &rec, sizeof(rec));
	memcpy(ring + (head & (h->sideband_size - 1)) + sizeof(rec), text, text_size);
	atomic_store(&h->sideband_head, head + rec.size);
}

/* -- tests ----------------------------------------------------------------- */

static void
wraps_at_every_offset(void **state)
{
	struct bench b;
	struct ht_shm_slot *slot;
	uint64_t from = RING - 24;

	(void)state;
	set_up(&b, 0, 0);
	slot = claim(b.shm.h, getpid(), getpid(), 1);
	atomic_store(&slot->head, from);
	atomic_store(&slot->tail, from);
	/* 31-byte steps: over 67 wraps each offset near the end is met. */
	for (int i = 0; i < 2200 * 67 / 31; i++) {
		produce(b.shm.h, slot, 31, 0);
		assert_int_equal(ht_drain_pass(b.drain, HT_DRAIN_ALL), 1);
	}
	/* Every split of a block that lies across the end. */
	for (unsigned before = 1; before < 64; before++) {
		uint64_t head = atomic_load(&slot->head);

		produce(b.shm.h, slot, (size_t)(RING - (head & (RING - 1))) - before, 0);
		ht_drain_pass(b.drain, HT_DRAIN_ALL);
		produce(b.shm.h, slot, 64, 0);
		ht_drain_pass(b.drain, HT_DRAIN_ALL);
	}
	assert_pattern(&b.sink, 0, from, (size_t)(atomic_load(&slot->head) - from));
	assert_int_equal(ht_drain_pass(b.drain, HT_DRAIN_ALL), 0);
	tear_down(&b);
}

static void
little_waits_until_asked(void **state)
{
	struct bench b;
	struct ht_shm_slot *slot;

	(void)state;
	set_up(&b, 0, 0);
	slot = claim(b.shm.h, getpid(), getpid(), 1);
	produce(b.shm.h, slot, 100, 0);
	assert_int_equal(ht_drain_pass(b.drain, 0), 0);
	assert_int_equal(ht_drain_pass(b.drain, HT_DRAIN_ALL), 1);
	produce(b.shm.h, slot, RING / 2, 0);
	assert_int_equal(ht_drain_pass(b.drain, 0), 1);
	assert_pattern(&b.sink, 0, 0, 100 + RING / 2);
	assert_int_equal(ht_drain_stats(b.drain)->trace_bytes, 100 + RING / 2);
	tear_down(&b);
}

static void *
fill_many_rings(void *arg)
{
	struct bench *b = arg;
	struct ht_shm_slot *slot = claim(b->shm.h, getpid(), (int32_t)syscall(SYS_gettid), 1);

	for (size_t done = 0; done < 40 * RING; done += 1000)
		produce(b->shm.h, slot, 1000, 1);
	atomic_store(&slot->state, HT_SLOT_CLOSED);
	return NULL;
}

static void
a_full_ring_waits_and_loses_nothing(void **state)
{
	struct bench b;
	pthread_t t;
	int closed = 0;

	(void)state;
	set_up(&b, 0, 0);
	assert_int_equal(pthread_create(&t, NULL, fill_many_rings, &b), 0);
	for (int i = 0; i < 100000 && !closed; i++) {
		uint32_t bell = ht_drain_doorbell(b.drain);

		ht_drain_pass(b.drain, 0);
		closed = b.sink.streams && !ht_drain_stats(b.drain)->active;
		if (!closed)
			ht_drain_wait(b.drain, bell, 5);
	}
	pthread_join(t, NULL);
	assert_true(closed);
	assert_pattern(&b.sink, 0, 0, (40 * RING + 999) / 1000 * 1000);
	assert_int_equal(ht_drain_stats(b.drain)->lost_bytes, 0);
	tear_down(&b);
}

static void
a_reused_slot_is_a_new_stream(void **state)
{
	struct bench b;

	(void)state;
	set_up(&b, 0, 0);
	for (int i = 0; i < 3; i++) {
		struct ht_shm_slot *slot = claim(b.shm.h, getpid(), 1000 + i, (uint64_t)i + 1);

		assert_ptr_equal(slot, ht_shm_slot_at(b.shm.h, 0));
		produce(b.shm.h, slot, 50 + (size_t)i, 0);
		atomic_store(&slot->state, HT_SLOT_CLOSED);
		assert_int_equal(ht_drain_pass(b.drain, 0), 1);
	}
	assert_int_equal(b.sink.streams, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(b.sink.tid[i], 1000 + i);
		assert_pattern(&b.sink, i, 0, 50 + i);
	}
	tear_down(&b);
}

/* Streams are numbered as their bytes come, whatever slot they are in. */
static void
streams_are_dense(void **state)
{
	struct bench b;
	struct ht_shm_slot *first, *second, *third;

	(void)state;
	set_up(&b, 0, 0);
	first = claim(b.shm.h, getpid(), 1000, 1);
	second = claim(b.shm.h, getpid(), 1001, 1);
	third = claim(b.shm.h, getpid(), 1002, 1);
	atomic_store(&first->state, HT_SLOT_CLOSED); /* without a byte */
	produce(b.shm.h, third, 3, 0);
	ht_drain_pass(b.drain, HT_DRAIN_ALL);
	produce(b.shm.h, second, 2, 0);
	ht_drain_pass(b.drain, HT_DRAIN_ALL);
	assert_int_equal(b.sink.streams, 2);
	assert_int_equal(b.sink.tid[0], 1002);
	assert_int_equal(b.sink.tid[1], 1001);
	tear_down(&b);
}

/* A thread that was killed: pending outcomes become a TNT packet, FUP and TIP.PGD end the stream. */
static void
the_dead_are_completed(void **state)
{
	static const uint8_t tail[] = { 0x02, 0xa3, 0x05, 0, 0, 0, 0, 0,        /* TNT long: 0, 1 */
	                                0x7d, 0x78, 0x56, 0x34, 0x12, 0, 0, 0x01 }; /* FUP, TIP.PGD */
	struct bench b;
	char want[64];
	pid_t pid;
	siginfo_t info;

	(void)state;
	set_up(&b, 0, 0);
	pid = fork();
	if (pid == 0) {
		struct ht_shm_slot *slot = claim(b.shm.h, getpid(), getpid(), 1);

		produce(b.shm.h, slot, 1000, 0);
		slot->live.block_ip = 0x12345678 | 1000ull << 48; /* where the TNT packet goes */
		slot->live.tnt = 5 | (uint64_t)(1000 + HT_TNT_ROOM) << 48;
		kill(getpid(), SIGKILL);
		_exit(1);
	}
	/* Dead, but not waited for: as a parent that is stopped leaves it. */
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	ht_drain_pass(b.drain, HT_DRAIN_ALL | HT_DRAIN_REAP);
	ht_drain_pass(b.drain, HT_DRAIN_ALL | HT_DRAIN_REAP);
	waitpid(pid, NULL, 0);
	assert_int_equal(ht_drain_stats(b.drain)->completed, 1);
	assert_int_equal(b.sink.n[0], 1000 + sizeof(tail));
	assert_memory_equal(b.sink.bytes[0] + 1000, tail, sizeof(tail));
	assert_int_equal(b.sink.killed_at[0], 1000 + sizeof(tail) + 1);
	assert_int_equal(ht_drain_stats(b.drain)->killed, 1);
	snprintf(want, sizeof(want), "exit %d/%d\n", pid, pid);
	assert_string_equal(b.sink.log, want);
	assert_int_equal(atomic_load(&ht_shm_slot_at(b.shm.h, 0)->state), HT_SLOT_FREE);
	tear_down(&b);
}

/* Who is killed in a system call has ended the stream already: nothing is missing. */
static void
the_dead_in_a_call_are_whole(void **state)
{
	struct bench b;
	struct ht_shm_slot *slot;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	set_up(&b, 0, 0);
	slot = claim(b.shm.h, pid, pid, 1);
	produce(b.shm.h, slot, 1000, 0);
	slot->live.tnt = 1000ull << 48;
	ht_drain_pass(b.drain, HT_DRAIN_ALL | HT_DRAIN_REAP);
	ht_drain_pass(b.drain, HT_DRAIN_ALL | HT_DRAIN_REAP);
	assert_int_equal(ht_drain_stats(b.drain)->completed, 1);
	assert_int_equal(b.sink.n[0], 1000);
	assert_int_equal(b.sink.killed_at[0], 0);
	tear_down(&b);
}

/* One that an exec has ended is completed by its own process; the next owner has nothing of it. */
static void
the_killed_by_an_exec_are_told(void **state)
{
	struct bench b;
	struct ht_shm_slot *slot;

	(void)state;
	set_up(&b, 0, 0);
	for (uint32_t i = 0; i < 2; i++) {
		slot = claim(b.shm.h, getpid(), 1000 + (int32_t)i, i + 1);
		produce(b.shm.h, slot, 100, 0);
		if (!i) {
			slot->live.block_ip = 0x401000 | 100ull << 48;
			slot->live.tnt = 1 | (uint64_t)(100 + HT_TNT_ROOM) << 48;
			ht_shm_complete(slot, ht_shm_ring_of(slot), RING);
		} else {
			atomic_store(&slot->state, HT_SLOT_CLOSED);
		}
		ht_drain_pass(b.drain, HT_DRAIN_ALL);
	}
	assert_true(b.sink.n[0] > 100);
	assert_int_equal(b.sink.killed_at[0], b.sink.n[0] + 1);
	assert_int_equal(b.sink.n[1], 100);
	assert_int_equal(b.sink.killed_at[1], 0);
	tear_down(&b);
}

/* The lock of a dead thread is broken, that of a live one is not. */
static void
a_dead_lock_is_broken(void **state)
{
	struct bench b;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	set_up(&b, 0, 0);
	atomic_store(&b.shm.h->sideband_lock, pid);
	ht_drain_pass(b.drain, HT_DRAIN_REAP);
	assert_int_equal(atomic_load(&b.shm.h->sideband_lock), 0);
	atomic_store(&b.shm.h->sideband_lock, getpid());
	ht_drain_pass(b.drain, HT_DRAIN_REAP);
	assert_int_equal(atomic_load(&b.shm.h->sideband_lock), getpid());
	tear_down(&b);
}

static void
sideband_becomes_records(void **state)
{
	struct bench b;
	struct ht_shm_header *h;

	(void)state;
	set_up(&b, 0, 0);
	h = b.shm.h;
	sideband(h, (struct ht_sb_record){ .type = HT_SB_EXEC, .pid = 10, .tid = 10 }, "sh\0/bin/sh", 11);
	sideband(h, (struct ht_sb_record){ .type = HT_SB_MMAP, .pid = 10, .tid = 10, .a = 0x1000, .b = 0x2000,
	                                   .c = 0x3000, .prot = PROT_READ | PROT_EXEC, .build_id_size = 20 },
	         "/bin/sh", 7);
	sideband(h, (struct ht_sb_record){ .type = HT_SB_FORK, .pid = 11, .tid = 11, .a = 10, .b = 10 }, "", 0);
	sideband(h, (struct ht_sb_record){ .type = HT_SB_FORK, .pid = 11, .tid = 12, .a = 11, .b = 11 }, "", 0);
	sideband(h, (struct ht_sb_record){ .type = HT_SB_EXEC, .pid = 11, .tid = 11 }, "cat", 3);
	sideband(h, (struct ht_sb_record){ .type = HT_SB_COMM, .pid = 11, .tid = 12 }, "worker", 6);
	sideband(h, (struct ht_sb_record){ .type = HT_SB_MUNMAP, .pid = 10, .tid = 10, .a = 0x1000, .b = 0x2000 }, "", 0);
	sideband(h, (struct ht_sb_record){ .type = HT_SB_CODE, .pid = 10, .tid = 10, .a = 0x5000 }, "\x90\xc3", 2);
	sideband(h, (struct ht_sb_record){ .type = HT_SB_EXIT, .pid = 11, .tid = 11, .a = 1 }, "", 0);
	sideband(h, (struct ht_sb_record){ .type = HT_SB_NOTE }, "hello", 5);
	assert_int_equal(ht_drain_pass(b.drain, 0), 1);
	assert_string_equal(b.sink.log,
	                    "comm 10/10 sh exec\nstart 10/10\nmmap 10 1000+2000@3000 /bin/sh x id 20\n"
	                    "fork 11/11 of 10/10\nstart 11/11\nfork 11/12 of 11/11\nstart 11/12\n"
	                    "comm 11/11 cat exec\ncomm 11/12 worker\nmunmap 10 1000+2000\n"
	                    "code 5000 2 90\nexit 11/11\n");
	assert_int_equal(b.sink.notes, 1);
	assert_int_equal(ht_drain_stats(b.drain)->processes, 2);
	assert_int_equal(ht_drain_stats(b.drain)->threads, 3);
	assert_int_equal(atomic_load(&h->sideband_tail), atomic_load(&h->sideband_head));
	tear_down(&b);
}

/* A program that was to be traced and is not is told, once: when its process dies or at the end. */
static void
missing_program_is_told(void **state)
{
	struct bench b;
	struct ht_shm_header *h;

	(void)state;
	set_up(&b, 0, 0);
	h = b.shm.h;
	for (int pid = 20; pid <= 23; pid++)
		sideband(h, (struct ht_sb_record){ .type = HT_SB_EXECUTING, .pid = pid, .tid = pid }, "/bin/sh", 7);
	ht_drain_pass(b.drain, 0);
	assert_int_equal(b.sink.notes, 0);
	sideband(h, (struct ht_sb_record){ .type = HT_SB_EXEC, .pid = 20, .tid = 20 }, "sh", 2);
	sideband(h, (struct ht_sb_record){ .type = HT_SB_NOTE, .pid = 21, .tid = 21 }, "it failed", 9);
	sideband(h, (struct ht_sb_record){ .type = HT_SB_LOADED, .pid = 23, .tid = 23 }, "", 0);
	ht_drain_pass(b.drain, 0);
	assert_int_equal(b.sink.notes, 1);
	assert_int_equal(ht_drain_stats(b.drain)->loaded, 1);
	b.sink.log[0] = 0;
	ht_drain_finish(b.drain);
	assert_int_equal(b.sink.notes, 3);
	/* In the file too; the last one first. */
	assert_string_equal(
	    b.sink.log,
	    "lost 23/23 program not followed: /bin/sh (process 23) was not traced: it ended while "
	    "the emulator loaded it\n"
	    "lost 22/22 program not followed: /bin/sh (process 22) was not traced: in it the trace "
	    "unit could not be loaded, or could not reach the recorder\n");
	ht_drain_finish(b.drain);
	assert_int_equal(b.sink.notes, 3);
	tear_down(&b);
}

/* A loss is a note to the user, told once, and a record of the file, each. */
static void
a_loss_is_kept(void **state)
{
	struct bench b;

	(void)state;
	set_up(&b, 0, 0);
	sideband(b.shm.h, (struct ht_sb_record){ .type = HT_SB_EXECUTING, .pid = 30, .tid = 30 },
	         "/bin/sh", 7);
	for (int tid = 30; tid <= 32; tid++)
		sideband(b.shm.h,
		         (struct ht_sb_record){
			     .type = HT_SB_LOSS, .pid = 30, .tid = tid, .a = tid == 32 },
		         "no room", 7);
	ht_drain_pass(b.drain, 0);
	assert_int_equal(b.sink.notes, 1);
	ht_drain_finish(b.drain); /* the program is not waited for any more */
	assert_int_equal(b.sink.notes, 2);
	assert_string_equal(b.sink.log,
	                    "lost 30/30 not traced: no room\nlost 30/31 not traced: no room\n"
	                    "lost 30/32 program not followed: no room\n");
	tear_down(&b);
}

/* Processes of this machine, that run until they are ended. */
static void
start_sleepers(pid_t *pid, int n)
{
	for (int i = 0; i < n; i++) {
		pid[i] = fork();
		if (pid[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			pause();
			_exit(0);
		}
		assert_true(pid[i] > 0);
	}
}

static void
end_sleepers(const pid_t *pid, int n)
{
	for (int i = 0; i < n; i++) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
}

/*
 * Of four that run as the recording ends, one tells of its end and one was not followed; one
 * was about to become another program.
 */
static void
who_goes_on_is_told(void **state)
{
	struct bench b;
	char want[400];
	pid_t pid[4], first, last;

	(void)state;
	set_up(&b, 0, 0);
	start_sleepers(pid, 4);
	for (int i = 0; i < 4; i++)
		sideband(b.shm.h,
		         (struct ht_sb_record){
			     .type = HT_SB_EXEC, .pid = pid[i], .tid = pid[i] },
		         "left\0/bin/left", 15);
	sideband(b.shm.h,
	         (struct ht_sb_record){
		     .type = HT_SB_LOSS, .pid = pid[2], .tid = pid[2], .a = 1 },
	         "no room", 7);
	sideband(b.shm.h,
	         (struct ht_sb_record){
		     .type = HT_SB_EXECUTING, .pid = pid[3], .tid = pid[3] },
	         "/bin/sh", 7);
	ht_drain_stop(b.drain);
	assert_int_equal(atomic_load(&b.shm.h->stop), 1);
	sideband(b.shm.h,
	         (struct ht_sb_record){
		     .type = HT_SB_EXIT, .pid = pid[1], .tid = pid[1], .a = 1 },
	         "", 0);
	ht_drain_pass(b.drain, 0);
	b.sink.log[0] = 0;
	b.sink.notes = 0;
	ht_drain_finish(b.drain);
	ht_drain_finish(b.drain);
	end_sleepers(pid, 4);
	first = pid[0] < pid[3] ? pid[0] : pid[3]; /* by number */
	last = pid[0] + pid[3] - first;
	snprintf(want, sizeof(want),
	         "lost %d/%d not traced: process %d (left) goes on untraced: recording ended with "
	         "the command\n"
	         "lost %d/%d not traced: process %d (left) goes on untraced: recording ended with "
	         "the command\n",
	         first, first, first, last, last, last);
	assert_string_equal(b.sink.log, want);
	assert_int_equal(b.sink.notes, 2);
	tear_down(&b);
}

#define NOBODY 99999999 /* no process has this number */

/* A child of which only its parent told; two whose own word comes before and after its parent's. */
static void
a_child_is_known_from_its_parent(void **state)
{
	struct bench b;
	char want[600];
	pid_t pid[3];

	(void)state;
	set_up(&b, 0, 0);
	start_sleepers(pid, 3);
	sideband(b.shm.h, (struct ht_sb_record){ .type = HT_SB_EXEC, .pid = NOBODY, .tid = NOBODY },
	         "sh\0/bin/sh", 11);
	assert_int_equal(ht_drain_lives(b.drain), 0);
	for (int i = 0; i < 3; i++) {
		struct ht_sb_record fork_of = {
			.type = HT_SB_FORK, .pid = pid[i], .tid = pid[i], .a = NOBODY, .b = 11
		};
		struct ht_sb_record child = {
			.type = HT_SB_CHILD, .pid = NOBODY, .tid = 11, .a = (uint64_t)pid[i]
		};

		if (i == 1)
			sideband(b.shm.h, fork_of, "", 0);
		sideband(b.shm.h, child, "", 0);
		if (i == 2)
			sideband(b.shm.h, fork_of, "", 0);
		if (i)
			sideband(b.shm.h,
			         (struct ht_sb_record){
				     .type = HT_SB_EXIT, .pid = pid[i], .tid = pid[i], .a = 1 },
			         "", 0);
	}
	ht_drain_pass(b.drain, 0);
	assert_int_equal(ht_drain_lives(b.drain), 1);
	assert_int_equal(ht_drain_stats(b.drain)->processes, 3);
	ht_drain_stop(b.drain);
	ht_drain_finish(b.drain);
	end_sleepers(pid, 3);
	snprintf(want, sizeof(want),
	         "comm 99999999/99999999 sh exec\nstart 99999999/99999999\n"
	         "fork %d/%d of 99999999/11\n"
	         "fork %d/%d of 99999999/11\nstart %d/%d\nexit %d/%d\n"
	         "fork %d/%d of 99999999/11\nstart %d/%d\nexit %d/%d\n"
	         "lost %d/%d not traced: process %d (sh) goes on untraced: recording ended with the "
	         "command\n",
	         pid[0], pid[0], pid[1], pid[1], pid[1], pid[1], pid[1], pid[1], pid[2], pid[2],
	         pid[2], pid[2], pid[2], pid[2], pid[0], pid[0], pid[0]);
	assert_string_equal(b.sink.log, want);
	tear_down(&b);
}

/* It has ended before its parent tells of it; or is born after the recording was stopped. */
static void
a_child_that_comes_late(void **state)
{
	struct bench b;
	char want[600];
	pid_t pid[2];

	(void)state;
	set_up(&b, 0, 0);
	start_sleepers(pid, 2);
	end_sleepers(pid, 1);
	sideband(b.shm.h, (struct ht_sb_record){ .type = HT_SB_EXEC, .pid = NOBODY, .tid = NOBODY },
	         "sh\0/bin/sh", 11);
	sideband(b.shm.h,
	         (struct ht_sb_record){
		     .type = HT_SB_CHILD, .pid = NOBODY, .tid = NOBODY, .a = (uint64_t)pid[0] },
	         "", 0);
	ht_drain_pass(b.drain, 0);
	assert_int_equal(ht_drain_lives(b.drain), 0);
	ht_drain_stop(b.drain);
	sideband(b.shm.h,
	         (struct ht_sb_record){
		     .type = HT_SB_CHILD, .pid = NOBODY, .tid = NOBODY, .a = (uint64_t)pid[1] },
	         "", 0);
	ht_drain_finish(b.drain);
	end_sleepers(pid + 1, 1);
	snprintf(want, sizeof(want),
	         "comm 99999999/99999999 sh exec\nstart 99999999/99999999\nfork %d/%d of 99999999/99999999\n"
	         "lost %d/%d not traced: process %d (sh) goes on untraced: recording ended with the "
	         "command\n",
	         pid[1], pid[1], pid[1], pid[1], pid[1]);
	assert_string_equal(b.sink.log, want);
	tear_down(&b);
}

static void
same_note_is_told_once(void **state)
{
	struct bench b;

	(void)state;
	set_up(&b, 0, 0);
	for (int i = 0; i < 100; i++)
		sideband(b.shm.h, (struct ht_sb_record){ .type = HT_SB_NOTE }, i % 10 ? "often" : "rarely", 6);
	ht_drain_pass(b.drain, 0);
	assert_int_equal(b.sink.notes, 2);
	ht_drain_finish(b.drain); /* counts both */
	assert_int_equal(b.sink.notes, 4);
	tear_down(&b);
}

/* Records of all lengths through a small ring, many times around. */
static void
sideband_wraps(void **state)
{
	struct bench b;
	char name[200], want[256];

	(void)state;
	set_up(&b, 0, 4096);
	memset(name, 'x', sizeof(name));
	for (int i = 0; i < 1000; i++) {
		size_t n = 1 + (size_t)(i * 37) % 199;

		b.sink.log[0] = 0;
		sideband(b.shm.h, (struct ht_sb_record){ .type = HT_SB_COMM, .pid = i, .tid = i }, name, n);
		assert_int_equal(ht_drain_pass(b.drain, 0), 1);
		snprintf(want, sizeof(want), "comm %d/%d %.*s\n", i, i, (int)n, name);
		assert_string_equal(b.sink.log, want);
	}
	assert_true(atomic_load(&b.shm.h->sideband_head) > 20 * 4096);
	tear_down(&b);
}

/* What a traced program may scribble there must not lead us outside. */
static void
damaged_sideband_is_told(void **state)
{
	static const uint32_t sizes[] = { 0, 7, 12, 4096, 1u << 20, UINT32_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct bench b;

		set_up(&b, 0, 4096);
		memcpy((uint8_t *)b.shm.h + b.shm.h->sideband_offset, &sizes[i], 4);
		atomic_store(&b.shm.h->sideband_head, 64);
		ht_drain_pass(b.drain, 0);
		assert_int_equal(b.sink.notes, 1);
		assert_int_equal(atomic_load(&b.shm.h->sideband_tail), 64);
		tear_down(&b);
	}
}

static void
overwrite_keeps_the_last_bytes(void **state)
{
	struct bench b;
	struct ht_shm_slot *slot;
	uint64_t kept = RING - HT_SHM_SLACK, all = 5 * RING + 123;

	(void)state;
	set_up(&b, HT_SHM_F_OVERWRITE, 0);
	slot = claim(b.shm.h, getpid(), 77, 1);
	for (uint64_t done = 0; done < all; done += 1)
		produce(b.shm.h, slot, 1, 0);
	ht_drain_pass(b.drain, HT_DRAIN_ALL);
	assert_int_equal(b.sink.streams, 0);
	atomic_store(&slot->state, HT_SLOT_CLOSED);
	ht_drain_pass(b.drain, HT_DRAIN_ALL);
	assert_pattern(&b.sink, 0, all - kept, kept);
	assert_int_equal(b.sink.gap[0], all - kept);
	assert_int_equal(b.sink.gap_at[0], 0);
	assert_int_equal(ht_drain_stats(b.drain)->lost_bytes, all - kept);
	assert_int_equal(ht_drain_stats(b.drain)->trace_bytes, kept);
	tear_down(&b);
}

static void
a_failed_sink_lets_programs_run_on(void **state)
{
	struct bench b;
	struct ht_shm_slot *slot;

	(void)state;
	set_up(&b, 0, 0);
	slot = claim(b.shm.h, getpid(), getpid(), 1);
	produce(b.shm.h, slot, 1000, 0);
	ht_drain_pass(b.drain, HT_DRAIN_ALL);
	b.sink.fail = 1;
	for (int i = 0; i < 10; i++) {
		produce(b.shm.h, slot, RING / 2, 0);
		ht_drain_pass(b.drain, 0);
	}
	assert_int_equal(ht_drain_error(b.drain), -HT_EIO);
	assert_int_equal(ht_drain_stats(b.drain)->lost_bytes, 10 * RING / 2);
	assert_int_equal(ht_drain_stats(b.drain)->trace_bytes, 1000);
	assert_int_equal(atomic_load(&slot->tail), atomic_load(&slot->head));
	tear_down(&b);
}

/* execve() without a word: the same thread comes back in another slot. */
static void
a_second_slot_of_a_thread_ends_the_first(void **state)
{
	struct bench b;
	struct ht_shm_slot *first, *second;

	(void)state;
	set_up(&b, 0, 0);
	first = claim(b.shm.h, getpid(), getpid(), 1);
	second = claim(b.shm.h, getpid(), getpid(), 2);
	produce(b.shm.h, first, 10, 0);
	produce(b.shm.h, second, 20, 0);
	for (int i = 0; i < 3; i++)
		ht_drain_pass(b.drain, HT_DRAIN_ALL | HT_DRAIN_REAP);
	assert_int_equal(atomic_load(&first->state), HT_SLOT_FREE);
	assert_int_equal(atomic_load(&second->state), HT_SLOT_ACTIVE);
	assert_string_equal(b.sink.log, "");
	tear_down(&b);
}

static void
finish_takes_what_live_threads_have(void **state)
{
	struct bench b;
	struct ht_shm_slot *slot;

	(void)state;
	set_up(&b, 0, 0);
	slot = claim(b.shm.h, getpid(), getpid(), 1);
	produce(b.shm.h, slot, 10, 0);
	slot->live.tnt = 1;
	atomic_store(&b.shm.h->stop, 1);
	ht_drain_pass(b.drain, HT_DRAIN_ALL);
	assert_int_equal(ht_drain_quiet(b.drain), 0);
	/* In a system call: whole packets beyond head, which was not moved yet. */
	for (uint64_t i = 10; i < 15; i++)
		ht_shm_ring_of(slot)[i] = pattern(i);
	slot->live.tnt = 15ull << 48;
	assert_int_equal(ht_drain_quiet(b.drain), 1);
	ht_drain_finish(b.drain);
	assert_pattern(&b.sink, 0, 0, 15);
	assert_int_equal(atomic_load(&slot->state), HT_SLOT_ACTIVE);
	tear_down(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wraps_at_every_offset),
		cmocka_unit_test(little_waits_until_asked),
		cmocka_unit_test(a_full_ring_waits_and_loses_nothing),
		cmocka_unit_test(a_reused_slot_is_a_new_stream),
		cmocka_unit_test(streams_are_dense),
		cmocka_unit_test(the_dead_are_completed),
		cmocka_unit_test(the_dead_in_a_call_are_whole),
		cmocka_unit_test(the_killed_by_an_exec_are_told),
		cmocka_unit_test(a_dead_lock_is_broken),
		cmocka_unit_test(sideband_becomes_records),
		cmocka_unit_test(missing_program_is_told),
		cmocka_unit_test(same_note_is_told_once),
		cmocka_unit_test(a_loss_is_kept),
		cmocka_unit_test(who_goes_on_is_told),
		cmocka_unit_test(a_child_is_known_from_its_parent),
		cmocka_unit_test(a_child_that_comes_late),
		cmocka_unit_test(sideband_wraps),
		cmocka_unit_test(damaged_sideband_is_told),
		cmocka_unit_test(overwrite_keeps_the_last_bytes),
		cmocka_unit_test(a_failed_sink_lets_programs_run_on),
		cmocka_unit_test(a_second_slot_of_a_thread_ends_the_first),
		cmocka_unit_test(finish_takes_what_live_threads_have),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
