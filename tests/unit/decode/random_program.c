/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "encode/pt.h"
#include "random_program.h"

#define BLOCKS    160
#define FUNCTIONS 12
#define STACK     4096
#define RING      64

enum end { THROUGH, JCC, JMP, CALL, CALL_IND, JMP_IND, RET, SYSCALL, IRET };

static const uint8_t end_size[] = { 0, 6, 5, 5, 2, 2, 1, 2, 2 };

struct block { uint64_t start, branch; enum end end; unsigned to; };

struct model {
	struct rp *rp;
	const struct rp_options *o;
	uint64_t seed;
	struct block blocks[BLOCKS];
	uint8_t  sizes[sizeof(((struct rp *)0)->code)]; /* of the instruction at each byte */
	size_t   cap_trace, cap_ran;
	/* the machine */
	uint64_t stack[STACK];
	unsigned depth;
	uint64_t back; /* where the handler returns to; 0 = not in it */
	/* the encoder */
	uint64_t last_ip, tnt, deferred[64];
	unsigned n_tnt, n_deferred, top;
	uint64_t ring[RING];
	size_t   last_psb;
};

static uint64_t
rnd(struct model *m)
{
	m->seed ^= m->seed << 13;
	m->seed ^= m->seed >> 7;
	m->seed ^= m->seed << 17;
	return m->seed * 0x2545f4914f6cdd1dull >> 16;
}

static int
one_in(struct model *m, unsigned n)
{
	return n && rnd(m) % n == 0;
}

/* -- the code --------------------------------------------------------------- */

static void
put(struct model *m, size_t at, unsigned size, uint64_t bytes)
{
	for (unsigned i = 0; i < size; i++)
		m->rp->code[at + i] = (uint8_t)(i < 8 ? bytes >> 8 * i : 0);
	m->sizes[at] = (uint8_t)size;
}

static enum end
choose_end(struct model *m, unsigned i)
{
	static const enum end ends[] = { JCC, JCC, JCC, JCC, JCC, JMP, CALL, CALL, CALL_IND, JMP_IND, RET, RET,
		                         THROUGH, SYSCALL };

	if (i == BLOCKS - 1)
		return IRET;
	if (i == BLOCKS - 2)
		return RET;
	if (i % (BLOCKS / FUNCTIONS) == 0)
		return JCC; /* no function calls itself without an outcome on the way */
	return one_in(m, 40) ? SYSCALL : ends[rnd(m) % (sizeof(ends) / sizeof(*ends) - 1)];
}

static void
make_code(struct model *m)
{
	static const uint64_t nops[] = { 0x90, 0x9066, 0x001f0f, 0x00401f0f, 0x0000441f0f };
	size_t at = 0;

	for (unsigned i = 0; i < BLOCKS; i++) {
		struct block *b = &m->blocks[i];

		b->start = RP_BASE + at;
		for (unsigned k = (unsigned)(rnd(m) % 5); k > 0; k--) {
			unsigned n = 1 + (unsigned)(rnd(m) % 5);

			put(m, at, n, nops[n - 1]);
			at += n;
		}
		b->end = choose_end(m, i);
		if (b->end == THROUGH && b->start == RP_BASE + at) {
			put(m, at, 1, 0x90);
			at++;
		}
		b->branch = RP_BASE + at;
		at += end_size[b->end];
		if ((b->end == JMP || b->end == JMP_IND || b->end == RET) && one_in(m, 3))
			at += 4096; /* nothing goes on here: another page */
	}
	m->rp->code_size = at;
	for (unsigned i = 0; i < BLOCKS; i++) {
		struct block *b = &m->blocks[i];
		size_t p = (size_t)(b->branch - RP_BASE);
		unsigned near = i + (unsigned)(rnd(m) % 17);
		uint64_t rel;

		b->to = b->end == CALL ? (unsigned)(rnd(m) % FUNCTIONS) * (BLOCKS / FUNCTIONS)
		                       : (near < 8 ? 0 : near - 8) % (BLOCKS - 2);
		if (b->end == JMP && b->to <= i)
			b->to = i + 1; /* never a circle of jumps */
		rel = m->blocks[b->to].start - b->branch - end_size[b->end];
		switch (b->end) {
		case JCC: put(m, p, 6, 0x840f | (rel & 0xffffffff) << 16); break;
		case JMP: put(m, p, 5, 0xe9 | (rel & 0xffffffff) << 8); break;
		case CALL: put(m, p, 5, 0xe8 | (rel & 0xffffffff) << 8); break;
		case CALL_IND: put(m, p, 2, 0xd0ff); break;
		case JMP_IND: put(m, p, 2, 0xe0ff); break;
		case RET: put(m, p, 1, 0xc3); break;
		case SYSCALL: put(m, p, 2, 0x050f); break;
		case IRET: put(m, p, 2, 0xcf48); break;
		case THROUGH: break;
		}
	}
}

/* -- the trace --------------------------------------------------------------- */

static uint8_t *
room(struct model *m)
{
	if (m->rp->trace_size + 64 > m->cap_trace) {
		m->cap_trace = m->cap_trace * 2 + 4096;
		m->rp->trace = realloc(m->rp->trace, m->cap_trace);
	}
	return m->rp->trace + m->rp->trace_size;
}

static void
done(struct model *m, const uint8_t *p)
{
	m->rp->trace_size = (size_t)(p - m->rp->trace);
	if (one_in(m, m->o->pad))
		m->rp->trace[m->rp->trace_size++] = 0;
}

static void
write_ip(struct model *m, enum ht_pt_kind kind, uint64_t ip)
{
	if (m->o->cyc && one_in(m, 3))
		done(m, ht_pt_cyc(room(m), 1 + rnd(m) % 3000));
	done(m, ht_pt_ip(room(m), kind, ip, one_in(m, m->o->full_ip) ? HT_PT_NO_BASE : m->last_ip));
	m->last_ip = ip;
}

static void
flush(struct model *m)
{
	if (m->n_tnt) {
		uint64_t bits = 1ull << m->n_tnt | m->tnt;

		done(m, m->n_tnt > 6 ? ht_pt_tnt_long(room(m), bits) : ht_pt_tnt_short(room(m), bits));
	}
	m->n_tnt = 0;
	m->tnt = 0;
	for (unsigned i = 0; i < m->n_deferred; i++)
		write_ip(m, HT_PT_TIP, m->deferred[i]);
	m->n_deferred = 0;
}

static void
outcome(struct model *m, unsigned taken)
{
	m->tnt = m->tnt << 1 | taken;
	m->n_tnt++;
	m->rp->branches++;
	if (m->n_tnt == (m->o->long_tnt ? 47 : 6))
		flush(m);
}

static void
target(struct model *m, uint64_t ip, int defer)
{
	m->rp->branches++;
	if (defer && m->n_tnt && m->n_deferred < 64) {
		m->deferred[m->n_deferred++] = ip;
		return;
	}
	flush(m);
	write_ip(m, HT_PT_TIP, ip);
}

static void
write_psb(struct model *m, uint64_t ip)
{
	uint8_t *p;

	flush(m);
	p = ht_pt_psb(room(m));
	p = ht_pt_mode_exec(p, 1, 0);
	if (ip)
		p = ht_pt_ip(p, HT_PT_FUP, ip, 0);
	m->last_ip = ip;
	done(m, ht_pt_psbend(p));
	memset(m->ring, 0, sizeof(m->ring));
	m->last_psb = m->rp->trace_size;
}

/* -- the machine ------------------------------------------------------------- */

static void
ran(struct model *m, uint64_t ip)
{
	if (m->rp->n_ran == m->cap_ran) {
		m->cap_ran = m->cap_ran * 2 + 4096;
		m->rp->ran = realloc(m->rp->ran, m->cap_ran * sizeof(*m->rp->ran));
	}
	m->rp->ran[m->rp->n_ran++] = ip;
}

static void
call(struct model *m, uint64_t back, uint64_t to)
{
	if (m->depth < STACK)
		m->stack[m->depth++] = back;
	if (back == to)
		return; /* [PT 33.4.2.2]: a call of the next instruction is not kept for compression */
	m->top = (m->top + 1) % RING;
	m->ring[m->top] = back;
}

static uint64_t
do_return(struct model *m)
{
	uint64_t to;

	if (m->depth && !one_in(m, 200))
		to = m->stack[--m->depth];
	else
		to = m->blocks[rnd(m) % (BLOCKS - 1)].start;
	if (m->o->compress && m->ring[m->top] == to) {
		m->ring[m->top] = 0;
		m->top = (m->top + RING - 1) % RING;
		outcome(m, 1);
	} else {
		/* Engines do not agree on what it takes off the stack: docs/DIFFERENCES.md. */
		memset(m->ring, 0, sizeof(m->ring));
		flush(m); /* an outcome in front of it would be taken for its own */
		target(m, to, 0);
	}
	return to;
}

static const struct block *
block_at(const struct model *m, uint64_t ip)
{
	unsigned i = BLOCKS - 1;

	while (m->blocks[i].start > ip)
		i--;
	return &m->blocks[i];
}

static uint64_t
leave_block(struct model *m, const struct block *b)
{
	uint64_t next = b->branch + end_size[b->end], to;
	unsigned taken;

	switch (b->end) {
	case JCC:
		taken = rnd(m) % 16 < (b->to > (unsigned)(b - m->blocks) ? 5 : 12);
		outcome(m, taken);
		return taken ? m->blocks[b->to].start : next;
	case JMP:
	case CALL:
		m->rp->branches++;
		if (b->end == CALL)
			call(m, next, m->blocks[b->to].start);
		return m->blocks[b->to].start;
	case CALL_IND:
	case JMP_IND:
		to = m->blocks[(unsigned)(rnd(m) % 4) * (BLOCKS / FUNCTIONS)].start;
		target(m, to, m->o->long_tnt);
		if (b->end == CALL_IND)
			call(m, next, 0);
		return to;
	case RET:
		return do_return(m);
	case SYSCALL:
		flush(m);
		m->rp->branches++;
		done(m, ht_pt_ip_none(room(m), HT_PT_TIP_PGD));
		write_ip(m, HT_PT_TIP_PGE, next);
		return next;
	case IRET:
		to = m->back ? m->back : m->blocks[0].start;
		m->back = 0;
		flush(m);
		target(m, to, 0);
		return to;
	default:
		return next;
	}
}

static void
run(struct model *m)
{
	uint64_t ip = m->blocks[0].start;

	write_psb(m, ip);
	for (unsigned i = 0; i < m->o->blocks; i++) {
		const struct block *b = block_at(m, ip);
		int interrupt = !m->back && one_in(m, m->o->async);

		if (m->o->psb_bytes && m->rp->trace_size - m->last_psb > m->o->psb_bytes)
			write_psb(m, ip);
		while (ip != b->branch && !(interrupt && one_in(m, 3))) {
			ran(m, ip);
			ip += m->sizes[ip - RP_BASE];
		}
		if (interrupt) {
			flush(m);
			write_ip(m, HT_PT_FUP, ip);
			m->back = ip;
			ip = m->blocks[BLOCKS - 1].start;
			write_ip(m, HT_PT_TIP, ip);
			continue;
		}
		if (b->end != THROUGH)
			ran(m, ip);
		ip = leave_block(m, b);
		if (b == &m->blocks[BLOCKS - 1] || ip >= m->blocks[BLOCKS - 1].start)
			continue;
	}
	flush(m);
	write_ip(m, HT_PT_FUP, ip);
	done(m, ht_pt_ip_none(room(m), HT_PT_TIP_PGD));
}

void
rp_make(struct rp *rp, uint64_t seed, const struct rp_options *o)
{
	struct model *m = calloc(1, sizeof(*m));

	memset(rp, 0, sizeof(*rp));
	m->rp = rp;
	m->o = o;
	m->seed = seed * 0x9e3779b97f4a7c15ull | 1;
	make_code(m);
	run(m);
	free(m);
}

void
rp_free(struct rp *rp)
{
	free(rp->trace);
	free(rp->ran);
}
