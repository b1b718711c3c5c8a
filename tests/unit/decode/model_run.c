/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "model.h"

#define SILENT 2 /* m->mute: nothing is noted either; 1: noted as what the trace need not tell */

/* -- the truth ------------------------------------------------------------- */

static struct told_item *
note(struct model *m, uint8_t kind, uint64_t a, uint64_t b)
{
	struct told_item *i = told_add(&m->truth, kind, a, b);

	i->maybe = m->mute == 1;
	return i;
}

/* The instruction at the place ran; it is a branch if it has a class. */
static void
ran(struct model *m, const struct model_insn *x, uint64_t to, int taken)
{
	struct told_item *i;

	m->ran++;
	if (m->out || m->mute == SILENT)
		return;
	i = note(m, TOLD_INSN, m->ip, x->insn ? to : 0);
	i->insn = x->insn;
	i->branch = x->insn != 0;
	i->taken = (uint8_t)(x->insn && taken);
}

/* What lies behind the last packet may have gone untold. */
static void
doubt(struct model *m)
{
	for (size_t i = m->certain; i < m->truth.n; i++)
		m->truth.at[i].maybe = 1;
	m->mute = 1;
}

static struct ht_x86_insn
step_insn(const struct model_insn *x)
{
	return (struct ht_x86_insn){.target = x->target, .size = x->size, .insn = x->insn};
}

/* -- where to ---------------------------------------------------------------- */

static uint64_t
random_place(struct model *m, unsigned mode, int kernel)
{
	for (;;) {
		const struct model_block *b = &m->blocks[model_rnd(m) % m->n_blocks];
		const struct model_region *r = &m->regions[b->region];

		if (r->mode == mode && (int)r->kernel == kernel && !(b->out && model_one_in(m, 2)))
			return b->start;
	}
}

static uint64_t
place_in(struct model *m)
{
	uint64_t ip;

	do
		ip = random_place(m, m->mode, 0);
	while (model_block_of(m, ip)->out);
	return ip;
}

static uint64_t
pop_return(struct model *m)
{
	uint64_t to;

	while (m->depth && !model_one_in(m, 100)) {
		to = m->stack[--m->depth];
		if (model_region_of(m, to)->mode == m->mode)
			return to;
	}
	return random_place(m, m->mode, 0);
}

static void
go(struct model *m, uint64_t to)
{
	m->ip = to;
}

/* -- trace on and off -------------------------------------------------------- */

static void
enable(struct model *m)
{
	if (m->o.step) {
		ht_step_mode(&m->step, m->mode);
		ht_step_enable(&m->step, m->ip, m->now);
	} else {
		model_enable(m, m->ip);
	}
	note(m, TOLD_ENABLE, m->ip, 0);
	m->on = 1;
}

/* Control is taken away in front of the place; the trace goes off. */
static void
disable_async(struct model *m)
{
	if (m->o.step) {
		ht_step_async(&m->step, m->ip);
	} else {
		model_fup(m, m->ip);
		model_disable(m, NULL);
	}
	note(m, TOLD_DISABLE, m->ip, 0);
	m->implied = m->certain = m->truth.n;
	m->on = 0;
}

static void
save_place(struct model *m, uint64_t back)
{
	if (m->n_interrupted == 16)
		return;
	m->interrupted[m->n_interrupted] = back;
	m->interrupted_mode[m->n_interrupted++] = m->mode;
}

/* An interrupt, or a fault, in front of the instruction at the place. */
static void
interrupt(struct model *m, uint64_t back)
{
	uint64_t from = m->ip, to;
	unsigned mode = m->mode;

	if (m->o.far && model_one_in(m, 4))
		mode = 96 - mode;
	save_place(m, back);
	to = random_place(m, mode, m->o.kernel && mode == m->o.mode && model_one_in(m, 2));
	if (m->o.step || model_one_in(m, 3) || model_block_of(m, to)->out) {
		disable_async(m);
		if (model_one_in(m, 3)) {
			m->n_interrupted--;
			to = back; /* handled where nothing is traced */
		} else {
			m->mode = mode;
		}
		if (model_block_of(m, to)->out) {
			m->out = 1;
			go(m, to);
			return;
		}
		go(m, to);
		enable(m);
		return;
	}
	model_fup(m, from);
	m->mode = mode;
	model_mode(m, mode);
	model_target(m, to, 0);
	note(m, TOLD_ASYNC, from, to);
	m->implied = m->certain = m->truth.n;
	go(m, to);
}

/* -- branches ------------------------------------------------------------------ */

static void
leave(struct model *m, const struct model_insn *x, uint64_t to)
{
	struct ht_x86_insn i = step_insn(x);

	if (m->o.step) {
		ht_step_mode(&m->step, m->mode);
		assert_int_equal(ht_step_leave(&m->step, m->ip, &i, to, m->now), 0);
	} else {
		model_flush(m);
		model_disable(m, &to);
		if (x->insn == HT_INSN_CALL || x->insn == HT_INSN_CALL_IND || x->insn == HT_INSN_RET)
			memset(m->ring, 0, sizeof(m->ring));
		if (m->o.stop && model_one_in(m, m->o.stop))
			model_put(m, ht_pt_raw(model_room(m), 0x8302, 2));
	}
	note(m, TOLD_DISABLE, m->ip, 0);
	m->implied = m->certain = m->truth.n;
	m->on = 0;
	m->out = 1;
}

static void
encode(struct model *m, const struct model_insn *x, uint64_t to, int taken)
{
	struct ht_x86_insn i = step_insn(x);

	if (m->o.step) {
		ht_step_mode(&m->step, m->mode);
		assert_int_equal(ht_step_insn(&m->step, m->ip, &i, to, m->now), 0);
		if (x->insn != HT_INSN_JUMP && x->insn != HT_INSN_CALL)
			m->implied = m->truth.n;
		if (!m->step.tnt_bits)
			m->certain = m->implied;
		return;
	}
	switch (x->insn) {
	case HT_INSN_COND:
		model_outcome(m, taken);
		break;
	case HT_INSN_RET:
		model_return(m, to);
		break;
	case HT_INSN_JUMP:
	case HT_INSN_CALL:
		break;
	case HT_INSN_JUMP_IND:
	case HT_INSN_CALL_IND:
		model_target(m, to, 1);
		break;
	default:
		m->implied = m->truth.n - 1;
		model_flush(m);
		model_mode(m, m->mode);
		model_target(m, to, 0);
	}
}

/* Control goes to `to`, where code of `mode` runs. */
static void
transfer(struct model *m, const struct model_insn *x, uint64_t to, int taken, unsigned mode)
{
	uint64_t back = m->ip + x->size;
	int call = x->insn == HT_INSN_CALL || x->insn == HT_INSN_CALL_IND;

	ran(m, x, to, taken);
	m->mode = mode;
	if (m->mute) {
		if (x->insn != HT_INSN_JUMP && x->insn != HT_INSN_CALL)
			m->mute = SILENT;
	} else if (!m->out && taken && model_block_of(m, to)->out) {
		leave(m, x, to);
	} else if (!m->out) {
		encode(m, x, to, taken);
	}
	if (call && m->depth < MODEL_STACK)
		m->stack[m->depth++] = back;
	/* A call to the next instruction asks for its own address. */
	if (call && !m->out && !m->o.step && (x->insn == HT_INSN_CALL_IND || to != back))
		model_call(m, back);
	go(m, to);
}

/* Into the kernel, which is not traced. */
static void
leave_by_syscall(struct model *m, const struct model_insn *x, uint64_t next)
{
	ran(m, x, 0, 1);
	go(m, model_one_in(m, 8) ? place_in(m) : next);
	if (m->out)
		return;
	if (m->mute) {
		m->mute = SILENT;
		return;
	}
	if (m->o.step) {
		ht_step_syscall(&m->step, 0);
	} else {
		model_flush(m);
		model_disable(m, NULL);
	}
	note(m, TOLD_DISABLE, m->truth.at[m->truth.n - 1].a, 0);
	m->implied = m->certain = m->truth.n;
	m->on = 0;
	enable(m);
}

static void
software_interrupt(struct model *m, const struct model_insn *x, uint64_t next)
{
	if (m->out) {
		ran(m, x, 0, 1);
		go(m, next);
	} else if (m->mute || (!m->o.kernel && x->size == 2 && model_one_in(m, 2))) {
		leave_by_syscall(m, x, next);
	} else {
		m->ran++;
		interrupt(m, next);
	}
}

static void
system_call(struct model *m, const struct model_insn *x, uint64_t next)
{
	if (!m->o.kernel || m->out) {
		leave_by_syscall(m, x, next);
		return;
	}
	if (m->n_called < 16) {
		m->called_mode[m->n_called] = m->mode;
		m->called_kernel[m->n_called++] = next;
	}
	transfer(m, x, random_place(m, m->o.mode, 1), 1, m->o.mode);
}

static void
return_from(struct model *m, const struct model_insn *x, const uint64_t *at, const unsigned *mode,
	    unsigned *n)
{
	unsigned to_mode = m->mode;
	uint64_t to;

	if (*n) {
		to = at[--*n];
		to_mode = mode[*n];
	} else {
		to = random_place(m, to_mode, 0);
	}
	transfer(m, x, to, 1, to_mode);
}

static int
draw_outcome(struct model *m, const struct model_insn *x)
{
	const struct model_block *b = model_block_of(m, m->ip);

	if (model_one_in(m, 300))
		m->diving = m->diving ? 0 : 1;
	/* Behind the head of a function stands a call of it. */
	if (b->head)
		return m->diving && m->depth < 200 ? model_one_in(m, 20) : !model_one_in(m, 5);
	if (x->target < m->ip)
		return !model_one_in(m, 4);
	return model_one_in(m, 2);
}

static void
put_ptwrite(struct model *m)
{
	int with_ip = model_one_in(m, 2), wide = model_one_in(m, 2);
	uint8_t *p;

	if (m->mute || m->out)
		return;
	model_flush(m);
	p = ht_pt_raw(model_room(m), 0x1202 | (uint64_t)wide << 13 | (uint64_t)with_ip << 15, 2);
	model_put(m, ht_pt_raw(p, model_rnd(m), wide ? 8 : 4));
	if (with_ip)
		model_fup(m, m->ip);
}

static void
execute(struct model *m)
{
	const struct model_insn *x = model_insn_at(m, m->ip);
	uint64_t next = m->ip + x->size;
	int taken;

	switch (x->end) {
	case END_JCC:
	case END_LOOP:
		taken = draw_outcome(m, x);
		transfer(m, x, taken ? x->target : next, taken, m->mode);
		return;
	case END_JMP:
	case END_CALL:
	case END_CALL_NEXT:
		transfer(m, x, x->target, 1, m->mode);
		return;
	case END_JMP_IND:
	case END_CALL_IND:
		transfer(m, x, random_place(m, m->mode, 0), 1, m->mode);
		return;
	case END_RET:
		transfer(m, x, pop_return(m), 1, m->mode);
		return;
	case END_IRET:
		return_from(m, x, m->interrupted, m->interrupted_mode, &m->n_interrupted);
		return;
	case END_SYSRET:
		return_from(m, x, m->called_kernel, m->called_mode, &m->n_called);
		return;
	case END_FAR:
		transfer(m, x, random_place(m, 96 - m->mode, 0), 1, 96 - m->mode);
		return;
	case END_SYSCALL:
		system_call(m, x, next);
		return;
	case END_INT:
		software_interrupt(m, x, next);
		return;
	case END_FAULT:
		if (!m->mute && !m->out && (x->size == 2 && model_one_in(m, 2))) {
			m->ran++;
			interrupt(m, next);
			return;
		}
		break;
	case END_PTWRITE:
		put_ptwrite(m);
		break;
	default:
		break;
	}
	ran(m, x, 0, 0);
	if (m->o.step && !m->out && !m->mute) {
		struct ht_x86_insn i = step_insn(x);

		assert_int_equal(ht_step_insn(&m->step, m->ip, &i, next, m->now), 0);
	}
	go(m, next);
}

/* -- between instructions ------------------------------------------------------ */

static void
change_code(struct model *m)
{
	struct model_block *b = &m->blocks[model_rnd(m) % m->n_blocks];
	struct model_region *r = &m->regions[b->region];
	unsigned size = (unsigned)(b->end - b->start);
	uint8_t *copy;

	if (m->n_patches == MODEL_PATCHES || m->n_interrupted || b->out ||
	    (m->ip > b->start && m->ip < b->end) || !model_recode(m, b))
		return;
	m->now++;
	copy = malloc(size);
	if (!copy)
		abort();
	memcpy(copy, r->bytes + (b->start - r->base), size);
	m->patches[m->n_patches].ns = m->now;
	m->patches[m->n_patches].addr = b->start;
	m->patches[m->n_patches].size = size;
	m->patches[m->n_patches++].bytes = copy;
	m->now++;
	if (m->o.step) {
		ht_step_resync(&m->step, m->ip, m->now);
		m->implied = m->certain = m->truth.n;
	} else {
		m->frozen = 1;
		disable_async(m);
		m->frozen = 0;
		enable(m);
	}
}

/* On to the next branch that takes trace: a decoder may go so far by itself. */
static void
run_on(struct model *m)
{
	unsigned left = 256; /* a circle of direct jumps has no such branch */

	while (m->mute == 1 && left-- > 0)
		execute(m);
	m->mute = SILENT;
}

static void
lose(struct model *m)
{
	uint64_t at;
	unsigned n = (unsigned)(model_rnd(m) % 60);

	if (m->o.step) {
		m->certain = m->implied;
		ht_step_lost(&m->step);
		at = m->step.total - 2;
	} else {
		model_overflow(m);
		at = m->trace.n - 2;
	}
	doubt(m);
	run_on(m);
	for (; n > 0 || model_block_of(m, m->ip)->out; n -= n > 0) {
		if (model_block_of(m, m->ip)->out)
			m->out = 1;
		execute(m);
		m->out = 0;
	}
	m->mute = 0;
	note(m, TOLD_GAP, at, 0)->insn = HT_GAP_OVERFLOW;
	m->implied = m->certain = m->truth.n;
	if (m->o.step || model_one_in(m, 3)) {
		m->on = 0;
		enable(m);
		return;
	}
	/* It goes on in the middle; a change of mode would be told first. */
	if (m->told_mode != m->mode) {
		m->on = 0;
		enable(m);
	} else {
		model_fup(m, m->ip);
	}
}

/* A packet whose FUP is no branch. */
static void
bound(struct model *m)
{
	if (model_one_in(m, m->o.power)) {
		model_flush(m);
		if (model_one_in(m, 2)) {
			uint8_t *p = ht_pt_raw(model_room(m), 0xc202, 2); /* MWAIT */

			model_put(m, ht_pt_raw(p, 0x0000000100000060, 8));
			model_put(m, ht_pt_raw(model_room(m), 0x00302202, 4)); /* PWRE */
		}
		model_put(m, ht_pt_raw(model_room(m), 0xe202, 2)); /* EXSTOP with IP */
		model_fup(m, m->ip);
		model_put(m, ht_pt_raw(model_room(m), 0x00000011a202, 7)); /* PWRX */
	} else if (model_one_in(m, m->o.tsx)) {
		static const uint16_t modes[] = {0x2199, 0x2099};

		model_flush(m);
		model_put(m, ht_pt_raw(model_room(m), modes[model_rnd(m) % 2], 2));
		model_fup(m, m->ip);
	}
}

static void
between(struct model *m)
{
	struct model_block *b = model_block_of(m, m->ip);

	m->now += model_rnd(m) % 8;
	if (m->out && !b->out) {
		m->out = 0;
		enable(m);
	}
	m->out = b->out;
	if (m->out)
		return;
	if (!m->o.step) {
		bound(m);
		if (m->o.psb_bytes && m->trace.n - m->last_psb > m->o.psb_bytes)
			model_psb(m);
	}
	if (model_one_in(m, m->o.patch))
		change_code(m);
	if (model_one_in(m, m->o.async) || (m->o.async_at && m->ran + 1 == m->o.async_at))
		interrupt(m, m->ip);
	else if (model_one_in(m, m->o.ovf))
		lose(m);
}

static void
finish(struct model *m)
{
	if (!m->on)
		return;
	if (!m->o.bare_end) {
		disable_async(m);
		return;
	}
	if (!m->o.step && model_one_in(m, 2))
		model_flush(m);
	doubt(m);
	run_on(m);
}

static void
run(struct model *m)
{
	struct ht_step_config config = {.ret_compression = (int)m->o.compress,
					.cyc = (int)m->o.cyc,
					.psb_period = m->o.psb_bytes};

	ht_step_init(&m->step, &config);
	m->mode = m->o.mode;
	m->now = 1000;
	go(m, m->blocks[0].start);
	enable(m);
	while (m->ran < m->o.insns) {
		between(m);
		execute(m);
	}
	finish(m);
	if (m->o.step) {
		m->trace.at = m->step.out.at;
		m->trace.n = m->step.out.n;
	}
}

/* -- outside ------------------------------------------------------------------- */

void
model_options(uint64_t seed, struct model_options *o)
{
	struct model m = {.seed = seed * 0x9e3779b97f4a7c15ull | 1};

	for (unsigned i = 0; i < 8; i++)
		model_rnd(&m);
#define OR(n, yes, no) (model_one_in(&m, n) ? (unsigned)(yes) : (unsigned)(no))
	/* One by one: the order of what is drawn must not be the compiler's to choose. */
	memset(o, 0, sizeof(*o));
	o->insns = 300 + (unsigned)(model_rnd(&m) % 3000);
	o->mode = OR(5, 32, 64);
	o->far = OR(5, 1, 0);
	o->kernel = OR(3, 1, 0);
	o->filter = OR(3, 1, 0);
	o->stop = OR(3, 2, 0);
	o->patch = OR(4, 40 + model_rnd(&m) % 200, 0);
	o->async = OR(2, 4 + model_rnd(&m) % 100, 0);
	o->ovf = OR(3, 50 + model_rnd(&m) % 300, 0);
	o->compress = OR(2, 1, 0);
	o->keep = OR(2, 1, 0);
	o->tnt_max = OR(2, 6, 1 + model_rnd(&m) % 47);
	o->psb_bytes = OR(4, 0, 64u << model_rnd(&m) % 7);
	o->any_ip = OR(2, 3, 0);
	o->pad = OR(4, 3, 0);
	o->cyc = OR(3, 3, 0);
	o->tsc = OR(3, 9, 0);
	o->mtc = OR(4, 5, 0);
	o->cbr = OR(6, 11, 0);
	o->ptw = OR(6, 1, 0);
	o->tsx = OR(8, 30, 0);
	o->power = OR(8, 50, 0);
	o->bare_end = OR(3, 1, 0);
	o->step = OR(4, 1, 0);
	o->defer = o->tnt_max > 6 && OR(2, 1, 0);
	if (o->step) {
		o->circles = !o->filter && OR(2, 1, 0);
		o->ptw = o->tsx = o->power = o->kernel = 0;
	}
#undef OR
}

void
model_make(struct model *m, uint64_t seed, const struct model_options *o)
{
	memset(m, 0, sizeof(*m));
	m->o = *o;
	m->seed = seed * 0xd1342543de82ef95ull | 1;
	m->last_ip = HT_PT_NO_BASE;
	model_code(m);
	run(m);
}

void
model_free(struct model *m)
{
	for (unsigned i = 0; i < m->n_patches; i++)
		free(m->patches[i].bytes);
	told_free(&m->truth);
	if (!m->o.step)
		free(m->trace.at);
	ht_step_fini(&m->step);
}

void
model_fake(const struct model *m, struct fake *f, unsigned chunks)
{
	size_t at = 0, n;

	fake_init(f);
	for (unsigned i = 0; i < m->n_regions; i++)
		fake_code(f, 0, 1, m->regions[i].base, m->regions[i].initial, m->regions[i].size);
	for (unsigned i = 0; i < m->n_patches; i++)
		fake_code(f, m->patches[i].ns, 1, m->patches[i].addr, m->patches[i].bytes,
			  m->patches[i].size);
	for (unsigned i = 0; i < chunks; i++) {
		n = i + 1 < chunks ? (m->trace.n - at) / 3 : m->trace.n - at;
		fake_trace(f, 1, 1, m->trace.at + at, n);
		at += n;
	}
}
