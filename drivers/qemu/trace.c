/* SPDX-License-Identifier: BSD-2-Clause */
/* trace_block() is the hot path: it runs at each block of the program. */
#include <signal.h>
#include <stdatomic.h>

#include "qemu/frame.h"
#include "qemu/sideband.h"
#include "qemu/stream.h"
#include "qemu/trace.h"
#include "qemu/turns.h"

/* -- outcomes --------------------------------------------------------------- */

/* One more outcome. */
HT_INLINE void
add_bit(struct ht_unit *u, unsigned taken)
{
	uint64_t tnt = u->tnt << 1 | taken;

	if (unlikely(tnt & HT_TNT_FULL))
		ht_stream_put_full(u, tnt);
	else
		u->tnt = tnt;
}

HT_INLINE void
push_call(struct ht_unit *u, uint64_t ip)
{
	u->calls[u->top % HT_CALL_DEPTH] = ip;
	u->top++;
	u->depth += u->depth < HT_CALL_DEPTH;
}

HT_INLINE void
add_tip(struct ht_unit *u, uint64_t ip)
{
	if (u->tnt > 1) {
		u->p = ht_pt_ip(u->p, HT_PT_TIP, ip, u->last_ip);
	} else {
		u->hole = ht_pt_ip(u->hole, HT_PT_TIP, ip, u->last_ip);
		ht_stream_open_hole(u);
	}
	u->last_ip = ip;
}

static __attribute__((noinline)) void
add_tip_now(struct ht_unit *u, uint64_t ip)
{
	ht_stream_flush(u);
	ht_stream_put_ip(u, HT_PT_TIP, ip);
	ht_stream_open_hole(u);
}

HT_INLINE void
add_return(struct ht_unit *u, uint64_t ip)
{
	if (likely(u->depth)) {
		u->top--;
		if (likely(u->calls[u->top % HT_CALL_DEPTH] == ip)) {
			u->depth--;
			add_bit(u, 1);
			return;
		}
		/* Decoders differ in what such a return takes off their stack: rely on nothing below. */
		u->depth = 0;
	}
	add_tip_now(u, ip);
}

/* In cycle mode each packet comes at once, behind the count up to it. */
static __attribute__((noinline)) void
add_timed(struct ht_unit *u, const struct ht_block *prev, uint64_t ip)
{
	/* An instruction repeated, or cut off at a page, counts with the block that runs it to its end. */
	u->cycles += prev->n - (unsigned)(prev->kind <= HT_INSN_REP && ip == prev->last);
	u->p = u->hole;
	if (prev->kind == HT_INSN_COND) {
		u->tnt = u->tnt << 1 | (ip != prev->end);
	} else if (prev->kind == HT_INSN_RET && u->depth &&
	           u->calls[(u->top - 1u) % HT_CALL_DEPTH] == ip) {
		u->top--;
		u->depth--;
		u->tnt = u->tnt << 1 | 1;
	} else if (prev->kind >= HT_INSN_JMP_IND && prev->kind <= HT_INSN_FAR_IND) {
		if (prev->kind == HT_INSN_RET)
			u->depth = 0;
		if (u->tnt > 1) {
			ht_stream_put_cyc(u);
			u->hole = ht_pt_tnt_short(u->hole, u->tnt);
			u->tnt = 1;
		}
		ht_stream_put_cyc(u);
		ht_stream_put_ip(u, HT_PT_TIP, ip);
	}
	if (u->tnt >> HT_PT_TNT_SHORT_MAX) {
		ht_stream_put_cyc(u);
		u->hole = ht_pt_tnt_short(u->hole, u->tnt);
		u->tnt = 1;
	}
	if (prev->push && u->retc)
		push_call(u, prev->end);
	ht_stream_open_hole(u);
}

/*
 * `prev`, not special, ran to its end and `ip` comes next.  Returns 0 when it
 * cannot, 2 when a packet was finished.  No branch depends on the outcome: the
 * processor would predict it no better than the program's.
 */
HT_INLINE int
advance_plain(struct ht_unit *u, const struct ht_block *prev, uint64_t ip)
{
	unsigned taken = ip != prev->other, elsewhere = ip != prev->target;
	uint64_t tnt;

	__asm__("" : "+r"(taken), "+r"(elsewhere)); /* compilers make it a branch again */
	if (unlikely(taken & elsewhere))
		return 0;
	tnt = u->tnt << prev->bits | (taken & prev->bits);
	u->tnt = tnt;
	if (likely(!(tnt & HT_TNT_FULL)))
		return 1;
	ht_stream_put_full(u, tnt);
	return 2;
}

/* The same for one that is. With `retc` off the call stack stays empty. */
HT_INLINE int
advance_special(struct ht_unit *u, const struct ht_block *prev, uint64_t ip)
{
	if (prev->kind == HT_INSN_FAR || prev->kind == HT_INSN_VSYSCALL)
		return 0;
	if (prev->kind <= HT_INSN_CALL && ip != prev->target && ip != prev->other &&
	    !(prev->kind <= HT_INSN_REP && ip == prev->last))
		return 0;
	if (prev->back)
		ht_turns_add(u, prev);
	if (unlikely(u->cyc)) {
		add_timed(u, prev, ip);
		return 1;
	}
	if (prev->kind == HT_INSN_RET)
		add_return(u, ip);
	else if (prev->kind >= HT_INSN_JMP_IND)
		add_tip(u, ip);
	if (prev->push && u->retc)
		push_call(u, prev->end);
	return 1;
}

/* Returns 0 when `ip` cannot come next: nothing was changed. */
static int
advance(struct ht_unit *u, const struct ht_block *prev, uint64_t ip)
{
	if (prev->special)
		return advance_special(u, prev, ip);
	if (prev->kind == HT_INSN_NEXT && ip == prev->last)
		return 1; /* its last instruction was cut off at a page: see HT_INSN_CUT */
	return advance_plain(u, prev, ip);
}

/* -- off and on --------------------------------------------------------------- */

static void
put_off(struct ht_unit *u)
{
	u->hole = ht_pt_ip_none(u->hole, HT_PT_TIP_PGD);
}

/*
 * Does `b` hold code that was told since this stream's last TSC packet?  A
 * decoder must be past such a packet when it looks at the block, and it looks
 * as soon as it has taken the packet that leads there.
 */
static int
needs_time(const struct ht_unit *u, const struct ht_block *b)
{
	return (b->slow & HT_BLOCK_CODE) && u->generation < b->generation;
}

/*
 * Packet generation was off, or goes off here: on at block `b`, unless that is
 * filtered out or tracing is over.  A TSC packet stands before the TIP.PGE when
 * mappings or code were told of since the last one, for decoders that walk on
 * from the TIP.PGE in the time before it; and one behind it, for those that look
 * there.  They need not keep their call stack.
 */
static void
turn_on(struct ht_unit *u, const struct ht_block *b)
{
	if (!ht_unit_traced(u))
		return;
	if (b->slow & HT_BLOCK_OUTSIDE) {
		u->prev = b;
		return;
	}
	if (atomic_load_explicit(&ht_shm->stop, memory_order_relaxed)) {
		ht_unit_mute(u);
		return;
	}
	ht_stream_flush(u);
	ht_stream_put_due_psb(u);
	if (u->generation != ht_sideband_generation())
		ht_stream_put_tsc(u);
	ht_stream_put_ip(u, HT_PT_TIP_PGE, b->start);
	ht_stream_put_tsc(u);
	u->depth = 0;
	u->tnt = 1;
	u->prev = b;
	ht_stream_settle(u, 1, b->start);
}

void
ht_trace_far(struct ht_unit *u)
{
	if (ht_unit_enabled(u)) {
		if (u->prev->kind == HT_INSN_VSYSCALL) {
			ht_trace_async(u, u->prev->start);
			return;
		}
		u->cycles += u->prev->n;
		ht_stream_flush(u);
		ht_stream_put_cyc(u);
		put_off(u);
		ht_stream_settle(u, 0, 0);
	}
	u->prev = &ht_block_off;
}

void
ht_trace_async(struct ht_unit *u, uint64_t ip)
{
	ht_turns_put(u);
	ht_stream_flush(u);
	ht_stream_put_cyc(u);
	ht_stream_put_ip(u, HT_PT_FUP, ip);
	put_off(u);
	u->prev = &ht_block_off;
	ht_stream_settle(u, 0, 0);
}

/* The unit has lost track: say so with an overflow, and go on at `ip`. */
static void
lose_track(struct ht_unit *u, uint64_t ip)
{
	ht_sideband_note("lost track of the program between %#llx and %#llx: a gap is in the trace",
	                 (unsigned long long)u->prev->start, (unsigned long long)ip);
	ht_stream_flush(u);
	u->hole = ht_pt_ovf(u->hole);
	u->last_ip = 0;
	ht_stream_put_ip(u, HT_PT_FUP, ip);
	u->depth = 0;
	ht_stream_open_hole(u);
}

void
ht_trace_finish(struct ht_unit *u, uint64_t ip)
{
	if (u->prev->kind == HT_INSN_FAR || u->prev->kind == HT_INSN_VSYSCALL)
		ht_trace_far(u);
	else if (!advance(u, u->prev, ip))
		lose_track(u, ip);
}

void
ht_trace_signal(struct ht_unit *u, uint64_t ip, int sig)
{
	const struct ht_block *prev = u->prev;
	int fault = sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL || sig == SIGTRAP;

	/*
	 * A fault stops inside the block.  Other signals, and a fault in
	 * fetching what follows, come between blocks.
	 */
	if (!(fault && ip >= prev->start && ip < prev->end))
		ht_trace_finish(u, ip);
	if (ht_unit_enabled(u))
		ht_trace_async(u, ip);
}

void
ht_trace_end(struct ht_unit *u, int whole_process)
{
	if (!ht_unit_traced(u))
		return;
	ht_trace_far(u);
	ht_sideband_exit(whole_process);
	ht_unit_end(u);
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

HT_INLINE void
entered(struct ht_unit *u, const struct ht_block *b)
{
	u->prev = b;
	ht_stream_commit(u, u->tnt, b->start);
	if (unlikely(u->p >= u->limit))
		ht_stream_reach_limit(u, b->start);
}

static __attribute__((noinline)) void
odd_block(struct ht_unit *u, const struct ht_block *prev, const struct ht_block *b)
{
	if (prev->kind == HT_INSN_FAR || prev->kind == HT_INSN_VSYSCALL) {
		ht_trace_far(u);
		turn_on(u, b);
		return;
	}
	if (!advance(u, prev, b->start))
		lose_track(u, b->start);
	entered(u, b);
}

/* Code that is new to this stream: time first. Where no packet leads to it, off and on again. */
static void
enter_new_code(struct ht_unit *u, const struct ht_block *prev, const struct ht_block *b, int restart)
{
	if (restart || (!prev->bits && prev->kind <= HT_INSN_CALL)) {
		if (!restart && !advance(u, prev, b->start)) {
			odd_block(u, prev, b);
			return;
		}
		ht_trace_async(u, b->start);
		turn_on(u, b);
		return;
	}
	ht_stream_flush(u);
	ht_stream_put_tsc(u);
	ht_stream_open_hole(u);
	if (advance(u, prev, b->start))
		entered(u, b);
	else
		odd_block(u, prev, b);
}

static void
enter(struct ht_unit *u, const struct ht_block *prev, const struct ht_block *b)
{
	int restart = is_restart(prev, b) || is_call_restart(prev, b);

	if (needs_time(u, b))
		enter_new_code(u, prev, b, restart);
	else if (restart || advance(u, prev, b->start))
		entered(u, b);
	else
		odd_block(u, prev, b);
}

/* Any block that needs a second look, or follows one. */
static __attribute__((noinline)) void
slow_block(struct ht_unit *u, unsigned vcpu, const struct ht_block *b)
{
	const struct ht_block *prev = u->prev;
	uint64_t ip;
	int sig;

	if (prev->slow & HT_BLOCK_MUTE)
		return;
	if (prev->slow & HT_BLOCK_START) {
		u = ht_unit_begin(vcpu);
		if (!u)
			return;
		ht_stream_begin(u);
		turn_on(u, b);
	} else if (prev->slow & (HT_BLOCK_OFF | HT_BLOCK_OUTSIDE)) {
		turn_on(u, b);
	} else if ((b->slow & HT_BLOCK_HANDLER) && ht_frame_signal(prev, &ip, &sig)) {
		ht_trace_signal(u, ip, sig);
		turn_on(u, b);
	} else if (b->slow & HT_BLOCK_OUTSIDE) {
		ht_trace_finish(u, b->start);
		if (ht_unit_enabled(u))
			ht_trace_async(u, b->start);
		turn_on(u, b);
	} else {
		enter(u, prev, b);
	}
}

/* What is not a plain block after a plain one. */
HT_INLINE void
special_block(struct ht_unit *u, unsigned vcpu, const struct ht_block *b)
{
	const struct ht_block *prev = u->prev;

	if (unlikely(b->slow | prev->slow))
		slow_block(u, vcpu, b);
	else if (likely(advance_special(u, prev, b->start)))
		entered(u, b);
	else
		odd_block(u, prev, b);
}

/* Calls come last, so that nothing needs to be saved on the way. */
HT_INLINE void
trace_block(unsigned vcpu, const struct ht_block *b,
            void (*special)(struct ht_unit *, unsigned, const struct ht_block *))
{
	struct ht_unit *u = ht_unit_self;
	const struct ht_block *prev = u->prev;
	int done;

	if (b->slow | prev->special) {
		special(u, vcpu, b);
		return;
	}
	done = advance_plain(u, prev, b->start);
	if (likely(done == 1)) {
		u->prev = b;
		ht_stream_commit_plain(u, u->tnt, b->start);
	} else if (done) {
		entered(u, b);
	} else {
		odd_block(u, prev, b);
	}
}

static __attribute__((noinline)) void
special_block_sse(struct ht_unit *u, unsigned vcpu, const struct ht_block *b)
{
	special_block(u, vcpu, b);
}

static void
trace_block_sse(unsigned vcpu, void *block)
{
	trace_block(vcpu, block, special_block_sse);
}

/* QEMU's code uses AVX where there is AVX, and a plain SSE instruction after it costs dearly. */
static __attribute__((noinline, target("avx"))) void
special_block_avx(struct ht_unit *u, unsigned vcpu, const struct ht_block *b)
{
	special_block(u, vcpu, b);
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
