/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trace_block() is the hot path: it runs at each block of the program.
 *
 * Outcome bits are gathered 47 at a time.  TIP packets of indirect jumps and
 * calls between them do not force a packet out but are deferred: written
 * behind the place that is kept free for the TNT packet.  A return that is not
 * compressed must not be deferred: decoders would take the next bit for it.
 */
#include <emmintrin.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "encode/pt.h"
#include "qemu/sideband.h"
#include "qemu/signals.h"
#include "qemu/trace.h"

#define TNT_FULL     (1ull << HT_PT_TNT_LONG_MAX)
#define DEFER_MAX    2048 /* bytes behind `head` before they are published */
#define PARENTS      1024
#define DEFAULT_PSB  4096
#define likely(x)    __builtin_expect(!!(x), 1)
#define unlikely(x)  __builtin_expect(!!(x), 0)

static const struct ht_block block_start = { .slow = HT_BLOCK_START, .special = 1 };
const struct ht_block ht_block_off = { .slow = HT_BLOCK_OFF, .special = 1 };
const struct ht_block ht_block_mute = { .slow = HT_BLOCK_MUTE, .special = 1 };
static struct ht_thread thread_start = { .prev = &block_start };
static struct ht_thread thread_mute = { .prev = &ht_block_mute };
static __thread struct ht_thread *self = &thread_start;

static int parents[PARENTS];
static int fork_pid, fork_tid; /* of the parent, in a process that was forked */
static _Atomic unsigned n_threads;

struct ht_thread *
ht_thread_self(void)
{
	return self;
}

int
ht_thread_traced(const struct ht_thread *t)
{
	return t->slot != NULL;
}

int
ht_thread_enabled(const struct ht_thread *t)
{
	return t->slot && !(t->prev->slow & (HT_BLOCK_OFF | HT_BLOCK_OUTSIDE));
}

unsigned
ht_trace_threads(void)
{
	return atomic_load(&n_threads);
}

void
ht_trace_note_parent(unsigned vcpu, int parent_tid)
{
	parents[vcpu % PARENTS] = parent_tid;
}

/* -- the ring -------------------------------------------------------------- */

static inline __attribute__((always_inline)) void
commit(struct ht_thread *t, uint64_t tnt, uint64_t ip)
{
	__m128i tags = _mm_set_epi64x((long long)((uint64_t)(uintptr_t)t->hole << 48),
	                              (long long)((uint64_t)(uintptr_t)t->p << 48));

	_mm_store_si128((__m128i *)t->tags, tags);
	_mm_store_si128((__m128i *)t->live,
	                _mm_or_si128(tags, _mm_set_epi64x((long long)(ip & HT_LIVE_BITS), (long long)tnt)));
}

/* The same while `hole` and `p` are those of the last commit(), for an address of 47 bits. */
static inline __attribute__((always_inline)) void
commit_plain(const struct ht_thread *t, uint64_t tnt, uint64_t ip)
{
	_mm_store_si128((__m128i *)t->live, _mm_or_si128(*(const __m128i *)t->tags,
	                                                 _mm_set_epi64x((long long)ip, (long long)tnt)));
}

static inline uint64_t
offset(const struct ht_thread *t)
{
	return t->lap + (uint64_t)(t->hole - t->ring);
}

static inline void
publish(const struct ht_thread *t)
{
	atomic_store_explicit(&t->slot->head, offset(t), memory_order_release);
}

/* Wait until the ring has room. Returns 0 when nobody drains it any more. */
static int
wait_for_room(const struct ht_thread *t)
{
	struct ht_shm_slot *slot = t->slot;
	uint64_t size = ht_shm->ring_size - HT_SHM_SLACK, off = offset(t);

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

/* Publish, start a new lap, wait for room, and say when to look again. 0 when tracing is over. */
static int
refill(struct ht_thread *t)
{
	uint64_t size = ht_shm->ring_size, used, left, off;

	publish(t);
	if (t->hole >= t->ring + size) {
		t->hole -= size;
		t->p -= size;
		t->lap += size;
	}
	if (atomic_load_explicit(&ht_shm->stop, memory_order_relaxed) || !wait_for_room(t)) {
		ht_trace_mute(t);
		return 0;
	}
	off = offset(t);
	used = off - atomic_load_explicit(&t->slot->tail, memory_order_acquire);
	if (used > size / 2 && !(ht_shm->flags & HT_SHM_F_OVERWRITE))
		ht_doorbell_ring();
	left = DEFER_MAX;
	if (t->psb_due - off < left)
		left = t->psb_due > off ? t->psb_due - off : 0;
	if ((uint64_t)(t->ring + size - t->hole) < left)
		left = (uint64_t)(t->ring + size - t->hole);
	t->limit = t->hole + (left < 32 ? 32 : left);
	return 1;
}

static void
put_cyc(struct ht_thread *t)
{
	if (unlikely(t->cyc && t->cycles)) {
		t->hole = ht_pt_cyc(t->hole, t->cycles);
		t->cycles = 0;
	}
}

/* Bring out the pending outcomes.  Until settle() packets are written at `hole`. */
static void
flush(struct ht_thread *t)
{
	unsigned n;

	if (t->tnt <= 1) {
		t->p = t->hole;
		return;
	}
	if (t->cyc) {
		put_cyc(t);
		t->p = t->hole + HT_TNT_ROOM;
	}
	n = 63 - (unsigned)__builtin_clzll(t->tnt);
	if (t->p != t->hole + HT_TNT_ROOM || n > 7 * HT_PT_TNT_SHORT_MAX) {
		ht_pt_tnt_long(t->hole, t->tnt);
		t->hole = t->p;
	} else {
		while (n) {
			unsigned part = n > HT_PT_TNT_SHORT_MAX ? HT_PT_TNT_SHORT_MAX : n;

			n -= part;
			t->hole = ht_pt_tnt_short(t->hole, 1u << part | (t->tnt >> n & ((1u << part) - 1)));
		}
	}
	t->tnt = 1;
	t->p = t->hole;
}

/* Packets stand up to `hole`: make that the state. `on`: in the block at `ip`. */
static void
settle(struct ht_thread *t, int on, uint64_t ip)
{
	t->p = t->hole + (on ? HT_TNT_ROOM : 0);
	commit(t, on ? 1 : 0, ip);
	if (t->p >= t->limit)
		refill(t);
	else
		publish(t);
}

static void
put_ip(struct ht_thread *t, enum ht_pt_ip_op op, uint64_t ip)
{
	t->hole = ht_pt_ip(t->hole, op, ip, t->last_ip);
	t->last_ip = ip;
}

static void
put_tsc(struct ht_thread *t)
{
	t->generation = ht_sideband_generation();
	t->hole = ht_pt_tsc(t->hole, ht_tsc_now());
}

/* PSB+.  Decoders forget the call stack and the last IP here. */
static void
put_psb(struct ht_thread *t, int on, uint64_t ip)
{
	t->psb_due = offset(t) + (ht_shm->psb_period ? ht_shm->psb_period : DEFAULT_PSB);
	t->hole = ht_pt_psb(t->hole);
	put_tsc(t);
	t->hole = ht_pt_mode_exec(t->hole, 1, 0);
	if (on)
		t->hole = ht_pt_ip(t->hole, HT_PT_FUP, ip, HT_PT_NO_BASE);
	t->hole = ht_pt_psbend(t->hole);
	t->last_ip = on ? ip : 0;
	t->depth = 0;
}

/* `p` has reached `limit`, at the start of the block at `ip`. */
static __attribute__((noinline)) void
reach_limit(struct ht_thread *t, uint64_t ip)
{
	if (t->p >= t->hole + DEFER_MAX || offset(t) + (uint64_t)(t->p - t->hole) >= t->psb_due) {
		flush(t);
		if (offset(t) >= t->psb_due)
			put_psb(t, 1, ip);
		t->p = t->hole + HT_TNT_ROOM;
		commit(t, 1, ip);
	}
	refill(t);
}

/* -- outcomes --------------------------------------------------------------- */

/* One more outcome.  Returns 1 when a packet was finished: publish after the commit. */
static inline __attribute__((always_inline)) void
add_bit(struct ht_thread *t, unsigned taken)
{
	uint64_t tnt = t->tnt << 1 | taken;

	if (unlikely(tnt & TNT_FULL)) {
		ht_pt_tnt_long(t->hole, tnt);
		t->hole = t->p;
		t->p += HT_TNT_ROOM;
		tnt = 1;
	}
	t->tnt = tnt;
}

static inline __attribute__((always_inline)) void
push_call(struct ht_thread *t, uint64_t ip)
{
	t->calls[t->top % HT_CALL_DEPTH] = ip;
	t->top++;
	t->depth += t->depth < HT_CALL_DEPTH;
}

static inline __attribute__((always_inline)) void
add_tip(struct ht_thread *t, uint64_t ip)
{
	if (t->tnt > 1) {
		t->p = ht_pt_ip(t->p, HT_PT_TIP, ip, t->last_ip);
	} else {
		t->hole = ht_pt_ip(t->hole, HT_PT_TIP, ip, t->last_ip);
		t->p = t->hole + HT_TNT_ROOM;
	}
	t->last_ip = ip;
}

static __attribute__((noinline)) void
add_tip_now(struct ht_thread *t, uint64_t ip)
{
	flush(t);
	put_ip(t, HT_PT_TIP, ip);
	t->p = t->hole + HT_TNT_ROOM;
}

static inline __attribute__((always_inline)) void
add_return(struct ht_thread *t, uint64_t ip)
{
	if (likely(t->depth)) {
		t->top--;
		if (likely(t->calls[t->top % HT_CALL_DEPTH] == ip)) {
			t->depth--;
			add_bit(t, 1);
			return;
		}
		/* Decoders differ in what such a return takes off their stack: rely on nothing below. */
		t->depth = 0;
	}
	add_tip_now(t, ip);
}

/* In cycle mode each packet comes at once, behind the count up to it. */
static __attribute__((noinline)) void
add_timed(struct ht_thread *t, const struct ht_block *prev, uint64_t ip)
{
	/* A repeated instruction, and one cut off at a page, counts with the block that runs it to its end. */
	t->cycles += prev->n - (unsigned)(prev->kind <= HT_INSN_REP && ip == prev->last);
	t->p = t->hole;
	if (prev->kind == HT_INSN_COND) {
		t->tnt = t->tnt << 1 | (ip != prev->end);
	} else if (prev->kind == HT_INSN_RET && t->depth && t->calls[(t->top - 1u) % HT_CALL_DEPTH] == ip) {
		t->top--;
		t->depth--;
		t->tnt = t->tnt << 1 | 1;
	} else if (prev->kind >= HT_INSN_JMP_IND && prev->kind <= HT_INSN_FAR_IND) {
		if (prev->kind == HT_INSN_RET)
			t->depth = 0;
		if (t->tnt > 1) {
			put_cyc(t);
			t->hole = ht_pt_tnt_short(t->hole, t->tnt);
			t->tnt = 1;
		}
		put_cyc(t);
		put_ip(t, HT_PT_TIP, ip);
	}
	if (t->tnt >> HT_PT_TNT_SHORT_MAX) {
		put_cyc(t);
		t->hole = ht_pt_tnt_short(t->hole, t->tnt);
		t->tnt = 1;
	}
	if (prev->push && t->retc)
		push_call(t, prev->end);
	t->p = t->hole + HT_TNT_ROOM;
}

/*
 * `prev`, not special, ran to its end and `ip` comes next.  Returns 0 when it
 * cannot, 2 when a packet was finished.  No branch depends on the outcome: the
 * processor would predict it no better than the program's.
 */
static inline __attribute__((always_inline)) int
advance_plain(struct ht_thread *t, const struct ht_block *prev, uint64_t ip)
{
	unsigned taken = ip != prev->other, elsewhere = ip != prev->target;
	uint64_t tnt;

	__asm__("" : "+r"(taken), "+r"(elsewhere)); /* compilers make it a branch again */
	if (unlikely(taken & elsewhere))
		return 0;
	tnt = t->tnt << prev->bits | (taken & prev->bits);
	t->tnt = tnt;
	if (likely(!(tnt & TNT_FULL)))
		return 1;
	ht_pt_tnt_long(t->hole, tnt);
	t->hole = t->p;
	t->p += HT_TNT_ROOM;
	t->tnt = 1;
	return 2;
}

/* The same for one that is. With `retc` off the call stack stays empty. */
static inline __attribute__((always_inline)) int
advance_special(struct ht_thread *t, const struct ht_block *prev, uint64_t ip)
{
	if (prev->kind == HT_INSN_FAR || prev->kind == HT_INSN_VSYSCALL)
		return 0;
	if (prev->kind <= HT_INSN_CALL && ip != prev->target && ip != prev->other &&
	    !(prev->kind <= HT_INSN_REP && ip == prev->last))
		return 0;
	if (unlikely(t->cyc)) {
		add_timed(t, prev, ip);
		return 1;
	}
	if (prev->kind == HT_INSN_RET)
		add_return(t, ip);
	else if (prev->kind >= HT_INSN_JMP_IND)
		add_tip(t, ip);
	if (prev->push && t->retc)
		push_call(t, prev->end);
	return 1;
}

/* Returns 0 when `ip` cannot come next: nothing was changed. */
static int
advance(struct ht_thread *t, const struct ht_block *prev, uint64_t ip)
{
	if (prev->special)
		return advance_special(t, prev, ip);
	if (prev->kind == HT_INSN_NEXT && ip == prev->last)
		return 1; /* its last instruction was cut off at a page: see HT_INSN_CUT */
	return advance_plain(t, prev, ip);
}

/* -- off and on --------------------------------------------------------------- */

static void
put_off(struct ht_thread *t)
{
	t->hole = ht_pt_ip_none(t->hole, HT_PT_PGD);
}

/*
 * Does `b` hold code that was told since this stream's last TSC packet?  A
 * decoder must be past such a packet when it looks at the block, and it looks
 * as soon as it has taken the packet that leads there.
 */
static int
needs_time(const struct ht_thread *t, const struct ht_block *b)
{
	return (b->slow & HT_BLOCK_CODE) && t->generation < b->generation;
}

/*
 * On at block `b`, in a time after all that was told, for decoders that take
 * the time of the packet before or behind.  They need not keep their call stack.
 */
static void
turn_on(struct ht_thread *t, const struct ht_block *b)
{
	flush(t);
	if (offset(t) >= t->psb_due)
		put_psb(t, 0, 0);
	if (t->generation != ht_sideband_generation())
		put_tsc(t);
	put_ip(t, HT_PT_PGE, b->start);
	put_tsc(t);
	t->depth = 0;
	t->tnt = 1;
	t->prev = b;
	settle(t, 1, b->start);
}

void
ht_trace_far(struct ht_thread *t)
{
	if (ht_thread_enabled(t)) {
		if (t->prev->kind == HT_INSN_VSYSCALL) {
			ht_trace_async(t, t->prev->start);
			return;
		}
		t->cycles += t->prev->n;
		flush(t);
		put_cyc(t);
		put_off(t);
		settle(t, 0, 0);
	}
	t->prev = &ht_block_off;
}

void
ht_trace_async(struct ht_thread *t, uint64_t ip)
{
	flush(t);
	put_cyc(t);
	put_ip(t, HT_PT_FUP, ip);
	put_off(t);
	t->prev = &ht_block_off;
	settle(t, 0, 0);
}

/* The unit has lost track: say so with an overflow, and go on at `ip`. */
static void
lose_track(struct ht_thread *t, uint64_t ip)
{
	ht_sideband_note("lost track of the program between %#llx and %#llx: a gap is in the trace",
	                 (unsigned long long)t->prev->start, (unsigned long long)ip);
	flush(t);
	t->hole = ht_pt_ovf(t->hole);
	t->last_ip = 0;
	put_ip(t, HT_PT_FUP, ip);
	t->depth = 0;
	t->p = t->hole + HT_TNT_ROOM;
}

void
ht_trace_finish(struct ht_thread *t, uint64_t ip)
{
	if (t->prev->kind == HT_INSN_FAR || t->prev->kind == HT_INSN_VSYSCALL)
		ht_trace_far(t);
	else if (!advance(t, t->prev, ip))
		lose_track(t, ip);
}

void
ht_trace_mute(struct ht_thread *t)
{
	struct ht_shm_slot *slot = t->slot;

	if (!slot)
		return;
	t->prev = &ht_block_mute;
	t->slot = NULL;
	self = &thread_mute;
	ht_slot_close(slot);
}

/* -- threads ------------------------------------------------------------------- */

static struct ht_thread *
begin_thread(unsigned vcpu)
{
	struct ht_thread *t = aligned_alloc(64, (sizeof(*t) + 63) / 64 * 64);
	int parent = parents[vcpu % PARENTS];

	if (t)
		memset(t, 0, sizeof(*t));
	if (!t || !(t->slot = ht_slot_claim(&t->ring))) {
		free(t);
		ht_sideband_note("a thread is not traced: all %u streams are in use", ht_shm->n_slots);
		return NULL;
	}
	t->live = &t->slot->live;
	t->retc = (ht_shm->flags & HT_SHM_F_RETC) != 0;
	t->cyc = (ht_shm->flags & HT_SHM_F_CYC) != 0;
	t->hole = t->p = t->ring;
	t->limit = t->ring + DEFER_MAX;
	t->tnt = 1;
	t->prev = &ht_block_off;
	if (atomic_fetch_add(&n_threads, 1) == 0 && fork_pid) {
		ht_sideband_fork(fork_pid, fork_tid);
		fork_pid = 0;
	} else if (parent && parent != t->slot->tid) {
		ht_sideband_fork(getpid(), parent);
	}
	put_psb(t, 0, 0);
	settle(t, 0, 0);
	return t;
}

void
ht_trace_end(struct ht_thread *t, int whole_process)
{
	if (!t->slot)
		return;
	ht_trace_far(t);
	ht_sideband_exit(whole_process);
	atomic_fetch_sub(&n_threads, 1);
	ht_trace_mute(t);
	ht_slot_unmap_ring(t->ring);
	free(t);
}

void
ht_trace_after_fork(int parent_pid, int parent_tid, int mute)
{
	self = mute ? &thread_mute : &thread_start;
	fork_pid = parent_pid;
	fork_tid = parent_tid;
	atomic_store(&n_threads, 0);
}

/* -- blocks --------------------------------------------------------------------- */

/*
 * QEMU can leave a block in its middle and finish the instruction there in a
 * block of its own (a store into the block's own page, an atomic operation
 * that must be alone).  Such a block has one instruction; the next block then
 * goes on behind it.
 */
static int
is_restart(const struct ht_block *prev, const struct ht_block *b)
{
	return (b->slow & HT_BLOCK_SINGLE) && b->start >= prev->start && b->start < prev->last;
}

/* A call whose push hit its own page is run again likewise. */
static int
is_call_restart(const struct ht_block *prev, const struct ht_block *b)
{
	return b->n == 1 && b->start == prev->last && b->push && (prev->slow & HT_BLOCK_CODE);
}

static inline __attribute__((always_inline)) void
entered(struct ht_thread *t, const struct ht_block *b)
{
	t->prev = b;
	commit(t, t->tnt, b->start);
	if (unlikely(t->p >= t->limit))
		reach_limit(t, b->start);
}

static __attribute__((noinline)) void
odd_block(struct ht_thread *t, const struct ht_block *prev, const struct ht_block *b)
{
	if (prev->kind == HT_INSN_FAR || prev->kind == HT_INSN_VSYSCALL) {
		ht_trace_far(t);
		turn_on(t, b);
		return;
	}
	if (!advance(t, prev, b->start))
		lose_track(t, b->start);
	entered(t, b);
}

/* Code that is new to this stream: time first. Where no packet leads to it, off and on again. */
static void
enter_new_code(struct ht_thread *t, const struct ht_block *prev, const struct ht_block *b, int restart)
{
	if (restart || (!prev->bits && prev->kind <= HT_INSN_CALL)) {
		if (!restart && !advance(t, prev, b->start)) {
			odd_block(t, prev, b);
			return;
		}
		ht_trace_async(t, b->start);
		if (ht_thread_traced(t))
			turn_on(t, b);
		return;
	}
	flush(t);
	put_tsc(t);
	t->p = t->hole + HT_TNT_ROOM;
	if (advance(t, prev, b->start))
		entered(t, b);
	else
		odd_block(t, prev, b);
}

static void
enter(struct ht_thread *t, const struct ht_block *prev, const struct ht_block *b)
{
	int restart = is_restart(prev, b) || is_call_restart(prev, b);

	if (needs_time(t, b))
		enter_new_code(t, prev, b, restart);
	else if (restart || advance(t, prev, b->start))
		entered(t, b);
	else
		odd_block(t, prev, b);
}

/* Any block that needs a second look, or follows one. */
static __attribute__((noinline)) void
slow_block(struct ht_thread *t, unsigned vcpu, const struct ht_block *b)
{
	const struct ht_block *prev = t->prev;

	if (prev->slow & HT_BLOCK_MUTE)
		return;
	if (prev->slow & HT_BLOCK_START) {
		t = begin_thread(vcpu);
		self = t ? t : &thread_mute;
		if (!t)
			return;
		prev = t->prev;
	}
	if (prev->slow & (HT_BLOCK_OFF | HT_BLOCK_OUTSIDE)) {
		if (b->slow & HT_BLOCK_OUTSIDE)
			t->prev = b;
		else
			turn_on(t, b);
		return;
	}
	if ((b->slow & HT_BLOCK_HANDLER) && ht_signal_entered(t)) {
		if (b->slow & HT_BLOCK_OUTSIDE)
			t->prev = b;
		else
			turn_on(t, b);
		return;
	}
	if (b->slow & HT_BLOCK_OUTSIDE) {
		ht_trace_finish(t, b->start);
		if (ht_thread_enabled(t))
			ht_trace_async(t, b->start);
		t->prev = b;
		return;
	}
	enter(t, prev, b);
}

/* What is not a plain block after a plain one. */
static inline __attribute__((always_inline)) void
special_block(struct ht_thread *t, unsigned vcpu, const struct ht_block *b)
{
	const struct ht_block *prev = t->prev;

	if (unlikely(b->slow | prev->slow))
		slow_block(t, vcpu, b);
	else if (likely(advance_special(t, prev, b->start)))
		entered(t, b);
	else
		odd_block(t, prev, b);
}

/* Calls come last, so that nothing needs to be saved on the way. */
static inline __attribute__((always_inline)) void
trace_block(unsigned vcpu, const struct ht_block *b,
            void (*special)(struct ht_thread *, unsigned, const struct ht_block *))
{
	struct ht_thread *t = self;
	const struct ht_block *prev = t->prev;
	int done;

	if (b->slow | prev->special) {
		special(t, vcpu, b);
		return;
	}
	done = advance_plain(t, prev, b->start);
	if (likely(done == 1)) {
		t->prev = b;
		commit_plain(t, t->tnt, b->start);
	} else if (done) {
		entered(t, b);
	} else {
		odd_block(t, prev, b);
	}
}

static __attribute__((noinline)) void
special_block_sse(struct ht_thread *t, unsigned vcpu, const struct ht_block *b)
{
	special_block(t, vcpu, b);
}

static void
trace_block_sse(unsigned vcpu, void *block)
{
	trace_block(vcpu, block, special_block_sse);
}

/* QEMU's code uses AVX where there is AVX, and a plain SSE instruction after it costs dearly. */
static __attribute__((noinline, target("avx"))) void
special_block_avx(struct ht_thread *t, unsigned vcpu, const struct ht_block *b)
{
	special_block(t, vcpu, b);
}

static __attribute__((target("avx"))) void
trace_block_avx(unsigned vcpu, void *block)
{
	trace_block(vcpu, block, special_block_avx);
}

ht_qemu_exec_cb
ht_trace_callback(void)
{
	return __builtin_cpu_supports("avx") ? trace_block_avx : trace_block_sse;
}
