/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random walks through random code, encoded step by step and decoded again by
 * libipt, which has to find the same instructions, all of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <intel-pt.h>

#include "encode/pt.h"
#include "encode/step.h"

#define BASE    0x401000u
#define INSNS   48u
#define STEPS   600u
#define ROUNDS  400u

static uint64_t seed;

static uint64_t
rnd(uint64_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed * 0x2545f4914f6cdd1dull >> 20) % n;
}

struct world {
	uint8_t  code[INSNS * 5 + 16];
	uint64_t at[INSNS];        /* addresses of the instructions */
	uint64_t stack[256];
	unsigned depth;
	uint64_t truth[STEPS + 8];
	unsigned n_truth;
	uint64_t tsc;
	struct ht_step step;
};

/* All instructions are five bytes, so that branches can be chosen before their targets are known. */
static void
make_code(struct world *w)
{
	static const char *const plain[] = { "\x0f\x1f\x44\x00\x00", "\xb8\x01\x02\x03\x04" };

	for (unsigned i = 0; i < INSNS; i++)
		w->at[i] = BASE + 5 * i;
	for (unsigned i = 0; i < INSNS; i++) {
		uint8_t *p = w->code + 5 * i;
		int32_t rel = (int32_t)(w->at[rnd(INSNS)] - (w->at[i] + 5));

		switch (i == INSNS - 1 ? 6 : rnd(10)) {
		case 0: case 1: case 2: /* pad + jcc rel8, when it reaches; the pad belongs to it */
			memcpy(p, "\x3e\x3e\x3e\x75", 4);
			p[4] = (uint8_t)(rel >= -128 && rel <= 127 ? rel : -5);
			break;
		case 3: case 4:
			p[0] = 0xe9;
			memcpy(p + 1, &rel, 4);
			break;
		case 5:
			p[0] = 0xe8;
			memcpy(p + 1, &rel, 4);
			break;
		case 6:
			memcpy(p, "\x3e\x3e\x3e\xff\xe0", 5);
			break;
		case 7:
			memcpy(p, rnd(2) ? "\x3e\x3e\x3e\x3e\xc3" : "\x3e\x3e\x3e\xff\xd0", 5);
			break;
		case 8:
			memcpy(p, rnd(3) ? plain[0] : "\x3e\x3e\x3e\x0f\x05", 5);
			break;
		default:
			memcpy(p, plain[rnd(2)], 5);
			break;
		}
	}
}

/* Where control goes after the instruction, with the outcome by lot. */
static uint64_t
next_of(struct world *w, uint64_t ip, const struct ht_x86_insn *insn)
{
	uint64_t next = ip + insn->size;

	switch (insn->insn) {
	case HT_INSN_COND:
		return rnd(2) ? insn->target : next;
	case HT_INSN_JUMP:
		return insn->target;
	case HT_INSN_CALL:
	case HT_INSN_CALL_IND:
		w->stack[w->depth++ % 256] = next;
		return insn->insn == HT_INSN_CALL ? insn->target : w->at[rnd(INSNS)];
	case HT_INSN_RET:
		if (w->depth && rnd(8))
			return w->stack[--w->depth % 256];
		return w->at[rnd(INSNS)];
	case HT_INSN_JUMP_IND:
		return w->at[rnd(INSNS)];
	default:
		return next;
	}
}

static void
walk(struct world *w)
{
	struct ht_x86_insn insn;
	uint64_t ip = w->at[rnd(INSNS)], next;

	ht_step_enable(&w->step, ip, ++w->tsc);
	while (w->n_truth < STEPS) {
		if (!rnd(40)) { /* a signal */
			ht_step_async(&w->step, ip);
			ip = rnd(2) ? ip : w->at[rnd(INSNS)];
			ht_step_enable(&w->step, ip, ++w->tsc);
		} else if (!rnd(60)) {
			ht_step_resync(&w->step, ip, ++w->tsc);
		}
		assert_int_equal(ht_x86_decode(w->code + (ip - BASE), 15, ip, 64, &insn), 5);
		w->truth[w->n_truth++] = ip;
		next = next_of(w, ip, &insn);
		if (insn.insn == HT_INSN_SYSCALL) {
			ht_step_syscall(&w->step, ip);
			ht_step_enable(&w->step, next, ++w->tsc);
		} else if (!rnd(50)) { /* out of what is traced, and in again */
			assert_int_equal(ht_step_leave(&w->step, ip, &insn, next, ++w->tsc), 0);
			next = w->at[rnd(INSNS)];
			ht_step_enable(&w->step, next, ++w->tsc);
		} else {
			assert_int_equal(ht_step_insn(&w->step, ip, &insn, next, ++w->tsc), 0);
		}
		ip = next;
	}
	ht_step_async(&w->step, ip);
}

static int
read_code(uint8_t *buf, size_t size, const struct pt_asid *asid, uint64_t ip, void *context)
{
	const struct world *w = context;
	size_t have;

	(void)asid;
	if (ip < BASE || ip >= BASE + INSNS * 5)
		return -pte_nomap;
	have = BASE + INSNS * 5 - ip;
	memcpy(buf, w->code + (ip - BASE), size < have ? size : have);
	return (int)(size < have ? size : have);
}

static void
decode(struct world *w)
{
	struct pt_config config = { .size = sizeof(config), .begin = w->step.out.at,
	                            .end = w->step.out.at + w->step.out.n };
	struct pt_image *image = pt_image_alloc("code");
	struct pt_insn_decoder *d = pt_insn_alloc_decoder(&config);
	unsigned n = 0;
	int status;

	assert_non_null(d);
	assert_int_equal(pt_image_set_callback(image, read_code, w), 0);
	assert_int_equal(pt_insn_set_image(d, image), 0);
	status = pt_insn_sync_forward(d);
	while (status >= 0 && !(status & pts_eos)) {
		struct pt_insn insn;
		struct pt_event event;

		while (status & pts_event_pending)
			if ((status = pt_insn_event(d, &event, sizeof(event))) < 0)
				break;
		if (status < 0 || status & pts_eos)
			break;
		status = pt_insn_next(d, &insn, sizeof(insn));
		if (insn.iclass == ptic_error && status < 0)
			break;
		if (n == w->n_truth || insn.ip != w->truth[n])
			fail_msg("instruction %u of %u is 0x%lx, not 0x%lx", n, w->n_truth,
			         (unsigned long)insn.ip, n < w->n_truth ? (unsigned long)w->truth[n] : 0ul);
		n++;
	}
	if (status < 0 && status != -pte_eos)
		fail_msg("after %u of %u instructions: %s", n, w->n_truth, pt_errstr(pt_errcode(status)));
	assert_int_equal(n, w->n_truth);
	pt_insn_free_decoder(d);
	pt_image_free(image);
}

static void
test_random_walks(void **state)
{
	struct world *w = malloc(sizeof(*w));

	(void)state;
	assert_non_null(w);
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct ht_step_config config = { .ret_compression = round & 1, .cyc = 0,
		                                 .psb_period = round & 2 ? 48 : 0 };

		seed = 0x9e3779b97f4a7c15ull * (round + 1);
		memset(w, 0, sizeof(*w));
		make_code(w);
		ht_step_init(&w->step, &config);
		walk(w);
		decode(w);
		ht_step_fini(&w->step);
	}
	free(w);
}

/* What an instruction cannot do is refused, and leaves no packet. */
static void
test_impossible(void **state)
{
	static const struct ht_step_config config = { .ret_compression = 1 };
	struct ht_x86_insn nop = { .size = 1, .insn = HT_INSN_OTHER };
	struct ht_x86_insn jump = { .size = 2, .insn = HT_INSN_JUMP, .target = 0x500 };
	struct ht_x86_insn cond = { .size = 2, .insn = HT_INSN_COND, .target = 0x500 };
	struct ht_step s;
	size_t n;

	(void)state;
	ht_step_init(&s, &config);
	ht_step_enable(&s, 0x400, 1);
	n = s.out.n;
	assert_int_equal(ht_step_insn(&s, 0x400, &nop, 0x402, 2), -1);
	assert_int_equal(ht_step_insn(&s, 0x400, &jump, 0x402, 2), -1);
	assert_int_equal(ht_step_insn(&s, 0x400, &cond, 0x403, 2), -1);
	assert_int_equal(s.out.n, n);
	assert_int_equal(s.tnt_bits, 0);
	assert_int_equal(ht_step_insn(&s, 0x400, &cond, 0x500, 2), 0);
	assert_int_equal(s.tnt_bits, 1);
	ht_step_fini(&s);
}

/* In 32-bit code addresses end at 4 GiB. */
static void
test_wraps(void **state)
{
	static const struct ht_step_config config = { 0 };
	struct ht_x86_insn nop = { .size = 1, .insn = HT_INSN_OTHER };
	struct ht_step s;

	(void)state;
	ht_step_init(&s, &config);
	ht_step_mode(&s, 32);
	ht_step_enable(&s, 0xffffffff, 1);
	assert_int_equal(ht_step_insn(&s, 0xffffffff, &nop, 0, 2), 0);
	assert_int_equal(ht_step_insn(&s, 0xffffffff, &nop, 0x100000000ull, 2), -1);
	ht_step_fini(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_walks),
		cmocka_unit_test(test_impossible),
		cmocka_unit_test(test_wraps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
