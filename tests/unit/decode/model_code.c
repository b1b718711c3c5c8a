/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "model.h"

struct bytes { uint8_t size, at[15]; };

/* Of each size from 1 to 15 bytes; those behind COMMON are for 64-bit code alone. */
static const struct bytes fillers[] = {
	{ 1, { 0x90 } }, { 2, { 0x66, 0x90 } }, { 2, { 0xf3, 0xa4 } }, { 3, { 0x0f, 0x1f, 0x00 } },
	{ 3, { 0x83, 0xc0, 0xe8 } }, { 3, { 0xc5, 0xf8, 0x77 } }, { 3, { 0xf0, 0xff, 0x00 } },
	{ 4, { 0x8d, 0x44, 0x24, 0xc3 } }, { 4, { 0xf3, 0x0f, 0x1e, 0xfa } },
	{ 5, { 0xb8, 0xe8, 0x00, 0x00, 0xc3 } }, { 5, { 0x0f, 0x1f, 0x44, 0x00, 0x00 } },
	{ 6, { 0x81, 0xc3, 0xeb, 0xfe, 0x0f, 0x05 } }, { 6, { 0x62, 0xf1, 0x7c, 0x48, 0x10, 0x00 } },
	{ 7, { 0x0f, 0x1f, 0x80 } }, { 8, { 0x0f, 0x1f, 0x84 } }, { 9, { 0x66, 0x0f, 0x1f, 0x84 } },
	{ 10, { 0x66, 0x2e, 0x0f, 0x1f, 0x84 } }, { 11, { 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84 } },
	{ 12, { 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84 } },
	{ 13, { 0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84 } },
	{ 14, { 0x66, 0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84 } },
	{ 15, { 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84 } },
	{ 3, { 0x48, 0x89, 0xe5 } }, { 3, { 0xf3, 0x48, 0xab } },
	{ 10, { 0x48, 0xb8, 0xff, 0xe0, 0xc3, 0xcc, 0xeb, 0xfe, 0xe8, 0xe9 } },
	{ 9, { 0xc4, 0xe2, 0x7d, 0x18, 0x05, 0xc3, 0xc3, 0xc3, 0xc3 } },
};

#define FILLERS (sizeof(fillers) / sizeof(*fillers))
#define COMMON  (FILLERS - 4)

/* Ways to write each end; the displacement, if any, fills the last `rel` bytes. */
struct form { uint8_t end, mode, rel; struct bytes bytes; };

static const struct form forms[] = {
	{ END_JCC, 0, 1, { 2, { 0x74 } } }, { END_JCC, 0, 1, { 2, { 0x7f } } },
	{ END_JCC, 0, 4, { 6, { 0x0f, 0x85 } } }, { END_JCC, 0, 4, { 7, { 0x3e, 0x0f, 0x88 } } },
	{ END_LOOP, 0, 1, { 2, { 0xe2 } } }, { END_LOOP, 0, 1, { 2, { 0xe3 } } },
	{ END_LOOP, 0, 1, { 2, { 0xe0 } } },
	{ END_JMP, 0, 1, { 2, { 0xeb } } }, { END_JMP, 0, 4, { 5, { 0xe9 } } },
	{ END_CALL, 0, 4, { 5, { 0xe8 } } }, { END_CALL, 64, 4, { 6, { 0x48, 0xe8 } } },
	{ END_CALL_NEXT, 0, 4, { 5, { 0xe8 } } },
	{ END_JMP_IND, 0, 0, { 2, { 0xff, 0xe0 } } }, { END_JMP_IND, 0, 0, { 6, { 0xff, 0x25 } } },
	{ END_JMP_IND, 0, 0, { 3, { 0x3e, 0xff, 0xe1 } } }, { END_JMP_IND, 64, 0, { 3, { 0x41, 0xff, 0xe3 } } },
	{ END_CALL_IND, 0, 0, { 2, { 0xff, 0xd0 } } }, { END_CALL_IND, 0, 0, { 6, { 0xff, 0x15 } } },
	{ END_CALL_IND, 64, 0, { 4, { 0x41, 0xff, 0x53, 0x08 } } },
	{ END_RET, 0, 0, { 1, { 0xc3 } } }, { END_RET, 0, 0, { 2, { 0xf3, 0xc3 } } },
	{ END_RET, 0, 0, { 3, { 0xc2, 0x08, 0x00 } } },
	{ END_SYSCALL, 64, 0, { 2, { 0x0f, 0x05 } } }, { END_SYSCALL, 0, 0, { 2, { 0x0f, 0x34 } } },
	{ END_INT, 0, 0, { 2, { 0xcd, 0x80 } } }, { END_INT, 0, 0, { 1, { 0xcc } } },
	{ END_FAULT, 0, 0, { 2, { 0x0f, 0x0b } } }, { END_FAULT, 0, 0, { 2, { 0x8b, 0x00 } } },
	{ END_IRET, 32, 0, { 1, { 0xcf } } }, { END_IRET, 64, 0, { 2, { 0x48, 0xcf } } },
	{ END_SYSRET, 64, 0, { 3, { 0x48, 0x0f, 0x07 } } }, { END_SYSRET, 32, 0, { 2, { 0x0f, 0x35 } } },
	{ END_FAR, 64, 0, { 3, { 0xff, 0x2c, 0x24 } } }, { END_FAR, 32, 0, { 7, { 0xea } } },
	{ END_PTWRITE, 0, 0, { 4, { 0xf3, 0x0f, 0xae, 0xe0 } } },
	{ END_XBEGIN, 0, 4, { 6, { 0xc7, 0xf8 } } },
};

#define FORMS    (sizeof(forms) / sizeof(*forms))
#define LONG_JCC 2

static const uint8_t class_of[] = {
	[END_JCC] = HT_INSN_COND, [END_LOOP] = HT_INSN_COND, [END_JMP] = HT_INSN_JUMP,
	[END_CALL] = HT_INSN_CALL,
	[END_CALL_NEXT] = HT_INSN_CALL, [END_JMP_IND] = HT_INSN_JUMP_IND, [END_CALL_IND] = HT_INSN_CALL_IND,
	[END_RET] = HT_INSN_RET, [END_SYSCALL] = HT_INSN_SYSCALL, [END_INT] = HT_INSN_SYSCALL,
	[END_IRET] = HT_INSN_SYSRET, [END_SYSRET] = HT_INSN_SYSRET, [END_FAR] = HT_INSN_FAR,
	[END_XBEGIN] = HT_INSN_OTHER,
};

uint64_t
model_rnd(struct model *m)
{
	m->seed ^= m->seed << 13;
	m->seed ^= m->seed >> 7;
	m->seed ^= m->seed << 17;
	return m->seed * 0x2545f4914f6cdd1dull >> 16;
}

int
model_one_in(struct model *m, unsigned n)
{
	return n && model_rnd(m) % n == 0;
}

/* -- finding one's way ----------------------------------------------------- */

struct model_region *
model_region_of(struct model *m, uint64_t ip)
{
	for (unsigned i = 0; i < m->n_regions; i++)
		if (ip - m->regions[i].base < m->regions[i].size)
			return &m->regions[i];
	fail_msg("the model left its code: %llx", (unsigned long long)ip);
	return NULL;
}

const struct model_insn *
model_insn_at(struct model *m, uint64_t ip)
{
	struct model_region *r = model_region_of(m, ip);
	const struct model_insn *x = &r->insns[ip - r->base];

	assert_true(x->size > 0);
	return x;
}

struct model_block *
model_block_of(struct model *m, uint64_t ip)
{
	struct model_region *r = model_region_of(m, ip);

	for (unsigned i = r->first; i < r->first + r->n; i++)
		if (ip >= m->blocks[i].start && ip < m->blocks[i].end)
			return &m->blocks[i];
	fail_msg("no block at %llx", (unsigned long long)ip);
	return NULL;
}

/* -- choosing ---------------------------------------------------------------- */

static enum model_end
choose_end(struct model *m, const struct model_region *r, unsigned i)
{
	static const uint8_t user[] = { END_JCC, END_JCC, END_JCC, END_JCC, END_JCC, END_LOOP, END_JMP,
		END_CALL,
		END_CALL, END_CALL, END_CALL_NEXT, END_JMP_IND, END_CALL_IND, END_RET, END_RET, END_RET,
		END_NONE,
		END_SYSCALL, END_INT, END_FAULT };
	enum model_end end = user[model_rnd(m) % sizeof(user)];

	if (i + 1 == r->n)
		return END_RET; /* nothing behind it to go on to */
	if (i + 2 == r->n)
		return END_IRET;
	if (i + 3 == r->n && r->kernel)
		return END_SYSRET;
	if (i + 3 == r->n && m->o.far)
		return END_FAR;
	if (i % 8 == 0)
		return END_JCC; /* the head of a function: no call goes on without an outcome */
	if (i % 16 == 1)
		return END_CALL; /* of its own function, which returns as soon as it is back */
	if (i % 16 == 2)
		return END_RET;
	if (r->kernel && (end == END_SYSCALL || end == END_INT))
		return END_RET;
	if (m->o.ptw && model_one_in(m, 8))
		return END_PTWRITE;
	if (m->o.tsx && model_one_in(m, 8))
		return END_XBEGIN;
	return end;
}

/* The block that a direct branch of block `i` leads to. */
static unsigned
choose_to(struct model *m, const struct model_region *r, const struct model_block *b, unsigned i)
{
	unsigned near = i + (unsigned)(model_rnd(m) % 13);

	if (b->last == END_CALL)
		return i % 16 == 1 ? i - 1 : (unsigned)(model_rnd(m) % ((r->n + 7) / 8)) * 8;
	if (b->last == END_CALL_NEXT || b->last == END_XBEGIN)
		return i + 1;
	if (b->last == END_JMP && !m->o.circles)
		return i + 1 + (unsigned)(model_rnd(m) % 3) % (r->n - i - 1); /* no circle without an outcome */
	return (near < 6 ? 0 : near - 6) % r->n;
}

static const struct form *
choose_form(struct model *m, const struct model_region *r, unsigned end, int near)
{
	unsigned first = (unsigned)(model_rnd(m) % FORMS);

	for (unsigned i = 0; i < FORMS; i++) {
		const struct form *f = &forms[(first + i) % FORMS];

		if (f->end == end && (!f->mode || f->mode == r->mode) && (near || f->rel != 1) &&
		    !(end == END_SYSCALL && !f->mode && r->mode == 64))
			return f;
	}
	return choose_form(m, r, END_JCC, 0); /* a LOOP that would have to go too far */
}

/* -- laying out ---------------------------------------------------------------- */

static void
put_insn(struct model_region *r, uint64_t at, const struct bytes *b, unsigned insn, unsigned end,
         uint64_t target)
{
	memcpy(r->bytes + (at - r->base), b->at, b->size);
	r->insns[at - r->base] = (struct model_insn){ .target = target, .size = b->size,
		.insn = (uint8_t)insn, .end = (uint8_t)end };
}

static uint64_t
put_body(struct model *m, struct model_region *r, struct model_block *b, uint64_t at)
{
	b->n_body = (unsigned)(model_rnd(m) % (MODEL_BODY + 1));
	if (b->last == END_NONE && !b->n_body)
		b->n_body = 1;
	for (unsigned i = 0; i < b->n_body; i++) {
		b->body[i] = (uint8_t)(model_rnd(m) % (r->mode == 64 ? FILLERS : COMMON));
		put_insn(r, at, &fillers[b->body[i]], HT_INSN_OTHER, END_NONE, 0);
		at += fillers[b->body[i]].size;
	}
	return at;
}

static void
put_end(struct model *m, struct model_region *r, struct model_block *b, const struct form *f)
{
	struct bytes x = f->bytes;
	uint64_t target = f->rel ? m->blocks[b->to].start : 0;
	int64_t rel = (int64_t)(target - b->branch - x.size);

	for (unsigned i = 0; i < f->rel; i++)
		x.at[x.size - f->rel + i] = (uint8_t)((uint64_t)rel >> 8 * i);
	put_insn(r, b->branch, &x, class_of[f->end], f->end, f->end == END_XBEGIN ? 0 : target);
}

/* In one region; short forms are used where the layout with long ones says that they reach. */
static void
lay_out(struct model *m, struct model_region *r, const struct form **form)
{
	uint64_t at = r->base;

	for (unsigned i = 0; i < r->n; i++) {
		struct model_block *b = &m->blocks[r->first + i];

		b->start = at;
		b->region = (unsigned)(r - m->regions);
		b->last = choose_end(m, r, i);
		b->head = i % 8 == 0;
		b->to = r->first + choose_to(m, r, b, i);
		if (m->o.filter && i > 8 && i + 8 < r->n && !r->kernel)
			b->out = i % 16 >= 12;
		/* Straight on into a block that is not traced is no branch. */
		if (!b->out && m->o.filter && i % 16 == 11 && i + 8 < r->n && b->last != END_JMP_IND)
			b->last = END_RET;
		at = put_body(m, r, b, at);
		b->branch = at;
		if (b->last != END_NONE) {
			/* With bodies of 75 bytes at most, one block further is always in reach. */
			int near = (b->to == r->first + i + 1) || b->to == r->first + i;

			if (b->to < r->first + i)
				near = b->branch - m->blocks[b->to].start < 110;
			form[i] = choose_form(m, r, b->last, near);
			b->last = form[i]->end;
			at += form[i]->bytes.size;
		}
		b->end = at;
		assert_true(at - r->base <= MODEL_SPAN);
	}
	r->size = (unsigned)(at - r->base);
	for (unsigned i = 0; i < r->n; i++)
		if (m->blocks[r->first + i].last != END_NONE)
			put_end(m, r, &m->blocks[r->first + i], form[i]);
}

static void
add_region(struct model *m, uint64_t base, unsigned mode, int kernel, unsigned blocks)
{
	const struct form *form[MODEL_BLOCKS];
	struct model_region *r = &m->regions[m->n_regions++];

	r->base = base;
	r->mode = mode;
	r->kernel = (unsigned)kernel;
	r->first = m->n_blocks;
	r->n = blocks;
	m->n_blocks += blocks;
	lay_out(m, r, form);
	memcpy(r->initial, r->bytes, sizeof(r->initial));
}

void
model_code(struct model *m)
{
	static const uint64_t bases[] = { 0x401000, 0x7f123455ff40, 0x7f12ffffff00, 0x5555555540c0,
		0xffff8000ffffff40 };
	unsigned pick = (unsigned)(model_rnd(m) % 5);

	if (m->o.mode == 64)
		add_region(m, bases[pick], 64, 0, 40);
	else
		add_region(m, 0x8048000, 32, 0, 40);
	if (m->o.far)
		add_region(m, 0xf7fdff80, m->o.mode == 64 ? 32 : 64, 0, 20);
	else if (m->o.mode == 64)
		add_region(m, bases[(pick + 1) % 5], 64, 0, 20);
	if (m->o.kernel)
		add_region(m, m->o.mode == 64 ? 0xffffffff81000f80 : 0xc1000000, m->o.mode, 1, 16);
}

int
model_recode(struct model *m, struct model_block *b)
{
	struct model_region *r = &m->regions[b->region];
	uint64_t at = b->start, size = b->end - b->start, left;
	unsigned k;

	if (b->last != END_JCC || size <= forms[LONG_JCC].bytes.size)
		return 0;
	left = size - forms[LONG_JCC].bytes.size;
	memset(r->insns + (b->start - r->base), 0, size * sizeof(*r->insns));
	while (left > 0) {
		k = (unsigned)(model_rnd(m) % COMMON);
		if (fillers[k].size > left)
			continue;
		put_insn(r, at, &fillers[k], HT_INSN_OTHER, END_NONE, 0);
		at += fillers[k].size;
		left -= fillers[k].size;
	}
	b->branch = at;
	b->to = r->first + (unsigned)(model_rnd(m) % r->n);
	if (m->blocks[b->to].out)
		b->to = r->first;
	put_end(m, r, b, &forms[LONG_JCC]);
	return 1;
}
