/* SPDX-License-Identifier: BSD-2-Clause */
/* Events to samples: which there are, their flags, and the time that each is shown with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sink/sampler.h"

static struct sampler *
new_sampler(const struct ht_merge_config *config)
{
	struct sampler *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->config = config;
	s->blocks = block_cache_new(HT_ARCH_X86_64);
	assert_non_null(s->blocks);
	return s;
}

static void
free_sampler(struct sampler *s)
{
	block_cache_free(s->blocks);
	free(s);
}

static struct ht_event
block(uint64_t a, uint64_t b, uint32_t n, unsigned insn, unsigned size)
{
	return (struct ht_event){ .kind = HT_EV_BLOCK, .a = a, .b = b, .n = n, .insn = (uint8_t)insn, .size = (uint8_t)size };
}

static struct ht_event
branch(uint64_t a, uint64_t b, unsigned insn, unsigned flags)
{
	return (struct ht_event){ .kind = HT_EV_BRANCH, .a = a, .b = b, .insn = (uint8_t)insn, .flags = (uint8_t)flags, .size = 2 };
}

static struct ht_event
at_time(uint64_t tsc)
{
	return (struct ht_event){ .kind = HT_EV_TIME, .b = tsc };
}

static void
assert_sample(const struct sampler *s, unsigned i, unsigned kind, uint64_t ip, uint64_t addr, const char *flags,
              uint64_t tsc)
{
	char text[HT_SAMPLE_FLAGS_TEXT];
	size_t n;

	assert_true(i < s->n);
	assert_int_equal(s->out[i].kind, kind);
	assert_int_equal(s->out[i].ip, ip);
	assert_int_equal(s->out[i].addr, addr);
	assert_int_equal(s->out[i].tsc, tsc);
	n = strlen(ht_sample_flags_text(s->out[i].flags, text));
	while (n && text[n - 1] == ' ')
		text[--n] = 0;
	assert_string_equal(text, flags);
}

/* What perf lists as branches: all that were taken, trace begin and end with 0. */
static void
test_branches(void **state)
{
	const struct ht_merge_config config = { .branches = 1 };
	const struct ht_event ev[] = {
		{ .kind = HT_EV_ENABLE, .b = 0x100 },
		block(0x100, 0x104, 2, HT_INSN_COND, 2), branch(0x104, 0x106, HT_INSN_COND, 0),
		block(0x106, 0x108, 2, HT_INSN_COND, 2), branch(0x108, 0x200, HT_INSN_COND, HT_BR_TAKEN),
		block(0x200, 0x200, 1, HT_INSN_CALL, 2), branch(0x200, 0x300, HT_INSN_CALL, HT_BR_TAKEN),
		block(0x300, 0x302, 2, HT_INSN_RET, 2), branch(0x302, 0x202, HT_INSN_RET, HT_BR_TAKEN),
		block(0x202, 0x204, 2, HT_INSN_SYSCALL, 2),
		branch(0x204, 0, HT_INSN_SYSCALL, HT_BR_TAKEN | HT_BR_TRACE_OFF),
		{ .kind = HT_EV_DISABLE, .a = 0x204 },
		{ .kind = HT_EV_ENABLE, .b = 0x206 },
		block(0x206, 0x208, 2, HT_INSN_OTHER, 2),
		{ .kind = HT_EV_DISABLE, .a = 0x20a },
		{ .kind = HT_EV_ENABLE, .b = 0x400 },
		{ .kind = HT_EV_ASYNC, .a = 0x400, .b = 0x500 },
	};
	struct sampler *s = new_sampler(&config);
	int n = sizeof(ev) / sizeof(*ev);

	(void)state;
	assert_int_equal(sampler_convert(s, NULL, 0, ev, 0, n), n);
	assert_int_equal(s->n, 9);
	assert_sample(s, 0, HT_SAMPLE_BRANCH, 0, 0x100, "tr strt", 0);
	assert_sample(s, 1, HT_SAMPLE_BRANCH, 0x108, 0x200, "jcc", 0);
	assert_sample(s, 2, HT_SAMPLE_BRANCH, 0x200, 0x300, "call", 0);
	assert_sample(s, 3, HT_SAMPLE_BRANCH, 0x302, 0x202, "return", 0);
	assert_sample(s, 4, HT_SAMPLE_BRANCH, 0x204, 0, "tr end  syscall", 0);
	assert_sample(s, 5, HT_SAMPLE_BRANCH, 0, 0x206, "tr strt", 0);
	assert_sample(s, 6, HT_SAMPLE_BRANCH, 0x20a, 0, "tr end  async", 0);
	assert_sample(s, 7, HT_SAMPLE_BRANCH, 0, 0x400, "tr strt", 0);
	assert_sample(s, 8, HT_SAMPLE_BRANCH, 0x400, 0x500, "hw int", 0);
	free_sampler(s);
}

/* Every instruction once, a branch with its target; a conditional jump not taken has none. */
static void
test_instructions(void **state)
{
	const struct ht_merge_config config = { .insn_period = 1 };
	const struct ht_event ev[] = {
		block(0x100, 0x100, 1, HT_INSN_COND, 2), branch(0x100, 0x102, HT_INSN_COND, 0),
		block(0x102, 0x102, 1, HT_INSN_JUMP, 2), at_time(7), branch(0x102, 0x100, HT_INSN_JUMP, HT_BR_TAKEN),
		block(0x100, 0x100, 1, HT_INSN_OTHER, 3),
		block(0x103, 0x103, 1, HT_INSN_RET, 1), /* its target is not known */
		{ .kind = HT_EV_GAP, .n = 3 },
	};
	struct sampler *s = new_sampler(&config);
	int n = sizeof(ev) / sizeof(*ev);

	(void)state;
	assert_int_equal(sampler_convert(s, NULL, 0, ev, 0, n), n);
	sampler_finish(s, NULL, 0);
	assert_int_equal(s->n, 5);
	assert_sample(s, 0, HT_SAMPLE_INSN, 0x100, 0, "jcc", 0);
	assert_sample(s, 1, HT_SAMPLE_INSN, 0x102, 0x100, "jmp", 0);
	assert_sample(s, 2, HT_SAMPLE_INSN, 0x100, 0, "", 0);
	assert_sample(s, 3, HT_SAMPLE_INSN, 0x103, 0, "", 0);
	assert_sample(s, 4, HT_SAMPLE_GAP, 0, 3, "", 0);
	free_sampler(s);
}

/* A block longer than the room for samples is listed in parts, none lost, none twice. */
static void
test_long_block(void **state)
{
	const struct ht_merge_config config = { .insn_period = 1 };
	const struct ht_event ev[] = {
		block(0x1000, 0x5000, 5000, HT_INSN_JUMP, 2), branch(0x5000, 0x1000, HT_INSN_JUMP, HT_BR_TAKEN),
		block(0x1000, 0x1000, 3000, HT_INSN_OTHER, 2),
	};
	struct sampler *s = new_sampler(&config);
	unsigned total = 0, turns = 0;
	int at = 0;

	(void)state;
	while (at < 3 || s->left) {
		s->n = 0;
		if (at < 3)
			at = sampler_convert(s, NULL, 0, ev, at, 3);
		else
			sampler_finish(s, NULL, 0);
		total += s->n;
		assert_true(turns++ < 100);
	}
	assert_int_equal(total, 8000);
	free_sampler(s);
}

static void
test_period(void **state)
{
	const struct ht_merge_config config = { .insn_period = 3 };
	const struct ht_event ev[] = {
		block(0x100, 0x107, 8, HT_INSN_JUMP, 1), branch(0x107, 0x100, HT_INSN_JUMP, HT_BR_TAKEN),
		block(0x100, 0x100, 1, HT_INSN_OTHER, 1),
	};
	struct sampler *s = new_sampler(&config);

	(void)state;
	assert_int_equal(sampler_convert(s, NULL, 0, ev, 0, 3), 3);
	assert_int_equal(s->n, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(s->out[i].period, 3);
	assert_int_equal(s->out[2].ip, 0x100);
	free_sampler(s);
}

/*
 * A time packet counts once the flow has used a packet after it: direct jumps
 * and straight code still bear the time before.  Where trace begins, two ticks
 * an instruction are added, stretched by the ratio of the clocks.
 */
static void
test_time(void **state)
{
	const struct ht_merge_config config = { .branches = 1 };
	const struct ht_event ev[] = {
		at_time(1000), { .kind = HT_EV_ENABLE, .b = 0x100 },
		block(0x100, 0x110, 10, HT_INSN_COND, 2), branch(0x110, 0x120, HT_INSN_COND, HT_BR_TAKEN),
		at_time(5000),
		block(0x120, 0x120, 1, HT_INSN_JUMP, 2), branch(0x120, 0x130, HT_INSN_JUMP, HT_BR_TAKEN),
		block(0x130, 0x138, 4, HT_INSN_SYSCALL, 2),
		branch(0x138, 0, HT_INSN_SYSCALL, HT_BR_TAKEN | HT_BR_TRACE_OFF),
		{ .kind = HT_EV_DISABLE, .a = 0x138 },
		{ .kind = HT_EV_ENABLE, .b = 0x13a },
	};
	struct sampler *s = new_sampler(&config);
	int n = sizeof(ev) / sizeof(*ev);

	(void)state;
	assert_int_equal(sampler_convert(s, NULL, 0, ev, 0, n), n);
	assert_sample(s, 0, HT_SAMPLE_BRANCH, 0, 0x100, "tr strt", 1000);
	assert_sample(s, 1, HT_SAMPLE_BRANCH, 0x110, 0x120, "jcc", 1000);
	assert_sample(s, 2, HT_SAMPLE_BRANCH, 0x120, 0x130, "jmp", 1000);
	assert_sample(s, 3, HT_SAMPLE_BRANCH, 0x138, 0, "tr end  syscall", 5000);
	assert_sample(s, 4, HT_SAMPLE_BRANCH, 0, 0x13a, "tr strt", 5000 + 2 * 5);
	free_sampler(s);
}

static void
test_flags_text(void **state)
{
	static const struct { unsigned flags; const char *text; } cases[] = {
		{ HT_SF_BRANCH | HT_SF_CALL, "call                 " },
		{ HT_SF_BRANCH | HT_SF_CALL | HT_SF_IN_TX, "(x)" },
		{ HT_SF_BRANCH | HT_SF_RETURN | HT_SF_INT, "iret                 " },
		{ HT_SF_BRANCH | HT_SF_CALL | HT_SF_SYSCALL | HT_SF_END, "tr end  syscall      " },
		{ HT_SF_BRANCH | HT_SF_CALL | HT_SF_END, "tr end  call         " },
		{ 0, "                     " },
	};
	char text[HT_SAMPLE_FLAGS_TEXT];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		ht_sample_flags_text(cases[i].flags, text);
		if (!(cases[i].flags & HT_SF_IN_TX))
			assert_string_equal(text, cases[i].text);
		else
			assert_non_null(strstr(text, "(x)"));
		assert_int_equal(strlen(text), 21);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_branches),
		cmocka_unit_test(test_instructions),
		cmocka_unit_test(test_long_block),
		cmocka_unit_test(test_period),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_flags_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
