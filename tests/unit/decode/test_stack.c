/* SPDX-License-Identifier: BSD-2-Clause */
/* Branch stacks: what runs between two entries, and what is told where that is not known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include <hwtrace/branch.h>
#include <hwtrace/decoder.h>

#include "session/fake.h"

/*
 *	1000  nop
 *	1001  je 1006
 *	1003  nop
 *	1004  jmp 1000
 *	1006  syscall
 *	1008  ret
 */
static const uint8_t code[] = { 0x90, 0x74, 0x03, 0x90, 0xeb, 0xfa, 0x0f, 0x05, 0xc3 };

struct entry { uint64_t from, to, flags; };

struct run {
	struct fake        fake;
	struct ht_session *session;
	struct ht_decoder *decoder;
	char               text[4096];
	uint64_t           lost;
	int                exact;
	struct ht_decoder_stats stats;
};

/* Entries in order of execution: the stack has the newest first. */
static void
add_stack(struct fake *f, const struct entry *e, unsigned n, uint64_t ns, uint8_t *out)
{
	for (unsigned i = 0; i < n; i++)
		memcpy(out + (n - 1 - i) * 24, &e[i], 24);
	fake_trace(f, 1, 1, out, n * 24)->ref = ns;
	f->stream.source = HT_SOURCE_BRANCH_STACK;
	f->stream.gapless = 1;
}

static void
describe(struct run *r, const struct ht_event *ev)
{
	size_t at = strlen(r->text);
	char *p = r->text + at;
	size_t left = sizeof(r->text) - at;
	const struct ht_gap *g;

	if (ev->kind == HT_EV_BLOCK) {
		assert_int_equal(!(ev->flags & HT_BR_SAMPLED), r->exact);
		snprintf(p, left, "%llx-%llx:%u ", (unsigned long long)ev->a, (unsigned long long)ev->b, ev->n);
	} else if (ev->kind == HT_EV_BRANCH) {
		assert_int_equal(!(ev->flags & HT_BR_SAMPLED), r->exact);
		snprintf(p, left, "%llx%s%llx%s%s ", (unsigned long long)ev->a,
		         ev->flags & HT_BR_TAKEN ? ">" : "|", (unsigned long long)ev->b,
		         ev->insn == HT_INSN_COND ? "c" : ev->insn == HT_INSN_RET ? "r"
		         : ev->insn == HT_INSN_JUMP ? "j" : "", ev->flags & HT_BR_MISPRED ? "!" : "");
	} else if (ev->kind == HT_EV_TIME) {
		snprintf(p, left, "@%llu ", (unsigned long long)ev->a);
	} else if (ev->kind == HT_EV_CYCLES) {
		snprintf(p, left, "+%llu ", (unsigned long long)ev->a);
	} else if (ev->kind == HT_EV_GAP) {
		g = ht_decoder_gap(r->decoder, ev->n);
		assert_non_null(g);
		assert_true(g->why && g->why[0]);
		r->lost += g->bytes;
		snprintf(p, left, "(%s %llu) ", ht_gap_kind_name(g->kind), (unsigned long long)g->bytes);
	}
}

/* Decode, with batches as small as they may be. */
static void
decode(struct run *r)
{
	struct ht_decoder_config config = { .size = sizeof(config) };
	struct ht_event ev[64];
	struct ht_diag diag;
	int n;

	r->session = fake_session(&r->fake, NULL);
	assert_int_equal(ht_decoder_new(r->session, 0, &config, &r->decoder, &diag), 0);
	while ((n = ht_decoder_next(r->decoder, ev, 64)) > 0)
		for (int i = 0; i < n; i++)
			describe(r, &ev[i]);
	assert_int_equal(n, 0);
	r->stats = *ht_decoder_stats(r->decoder);
	assert_int_equal(r->stats.bytes_decoded, r->stats.bytes);
	assert_int_equal(r->stats.bytes_skipped, r->lost);
	ht_decoder_free(r->decoder);
	ht_session_close(r->session);
}

static void
begin(struct run *r)
{
	memset(r, 0, sizeof(*r));
	fake_init(&r->fake);
	r->fake.container.info.arch = HT_ARCH_X86_64;
	fake_code(&r->fake, 0, 1, 0x1000, code, sizeof(code));
}

static void
expect(const struct entry *e, unsigned n, const char *want)
{
	uint8_t bytes[32 * 24];
	struct run r;

	begin(&r);
	add_stack(&r.fake, e, n, 5, bytes);
	decode(&r);
	assert_string_equal(r.text, want);
}

static void
test_walk(void **state)
{
	const struct entry e[] = { { 0x1004, 0x1000, 1 }, { 0x1004, 0x1000, 7 << 4 }, { 0x1001, 0x1006, 0 },
		                   { 0x1008, 0x2000, 0 } };

	(void)state;
	/* the jump not taken on the way; a system call on the way ends a block, no more */
	expect(e, 4, "@5 1004>1000j! 1000-1001:2 1001|1003c 1003-1004:2 +7 1004>1000j "
	             "1000-1001:2 1001>1006c 1006-1006:1 1008-1008:1 1008>2000r ");
}

/* An interrupt in front of 1003: what it interrupted did not run. */
static void
test_interrupted(void **state)
{
	const struct entry e[] = { { 0x1004, 0x1000, 0 }, { 0x1003, 0xffff0000, 0 }, { 0xffff0009, 0x1003, 0 },
		                   { 0x1004, 0x1000, 0 } };

	(void)state;
	expect(e, 4, "@5 1004>1000j 1000-1001:2 1001|1003c 1003>ffff0000 ffff0000-ffff0009:0 "
	             "ffff0009>1003 1003-1004:2 (missing code 24) 1004>1000j ");
}

/* Missing code: the range is told, gaps that follow each other are one. */
static void
test_no_code(void **state)
{
	const struct entry e[] = { { 0x5004, 0x5000, 1 << 20 }, { 0x5004, 0x5000, 6 << 20 }, { 0x5004, 0x5000, 0 } };

	(void)state;
	expect(e, 3, "@5 5004>5000c 5000-5004:0 5004>5000r 5000-5004:0 5004>5000 (missing code 48) ");
}

static void
test_mismatch(void **state)
{
	const struct entry back[] = { { 0x1004, 0x1003, 0 }, { 0x1001, 0x1006, 0 } };
	const struct entry over[] = { { 0x1001, 0x1006, 0 }, { 0x1020, 0x1000, 0 } };
	const struct entry middle[] = { { 0x1004, 0x1000, 0 }, { 0x1002, 0x1000, 0 } };

	(void)state;
	expect(back, 2, "@5 1004>1003j 1001>1006c (trace does not fit the code 24) ");
	expect(over, 2, "@5 1001>1006c 1006-1006:1 1020>1000 (trace does not fit the code 24) ");
	expect(middle, 2, "@5 1004>1000j 1000-1001:2 1001|1003c 1002>1000 (trace does not fit the code 24) ");
}

/* Empty slots and what was speculated in vain are no branches; they break nothing. */
static void
test_not_run(void **state)
{
	const struct entry e[] = { { 0, 0, 0 }, { 0x1004, 0x1000, 0 }, { 0x1004, 0x1006, 1 << 24 },
		                   { 0x1001, 0x1006, 3 << 24 } };

	(void)state;
	expect(e, 4, "@5 1004>1000j 1000-1001:2 1001>1006c ");
}

/* Filtered by kind, entries do not follow each other. */
static void
test_filtered(void **state)
{
	const struct entry e[] = { { 0x1004, 0x1000, 0 }, { 0x1001, 0x1006, 0 } };
	uint8_t bytes[48];
	struct run r;

	(void)state;
	begin(&r);
	add_stack(&r.fake, e, 2, 5, bytes);
	r.fake.stream.gapless = 0;
	decode(&r);
	assert_string_equal(r.text, "@5 1004>1000j 1001>1006c ");
}

/* Two samples do not follow each other, and each is walked in the code of its time. */
static void
test_samples(void **state)
{
	static const uint8_t later[] = { 0x90, 0x90, 0x90, 0x90, 0xeb, 0xfa };
	const struct entry e[] = { { 0x1004, 0x1000, 0 }, { 0x1001, 0x1006, 0 } };
	const struct entry f[] = { { 0x1004, 0x1000, 0 }, { 0x1004, 0x1000, 0 } };
	uint8_t one[48], two[48];
	struct run r;

	(void)state;
	begin(&r);
	fake_code(&r.fake, 8, 1, 0x1000, later, sizeof(later));
	add_stack(&r.fake, e, 2, 5, one);
	add_stack(&r.fake, f, 2, 9, two);
	decode(&r);
	assert_string_equal(r.text, "@5 1004>1000j 1000-1001:2 1001>1006c @9 1004>1000j 1000-1004:5 1004>1000j ");
	assert_int_equal(r.stats.branches, 4);
	assert_int_equal(r.stats.instructions, 7);
	assert_string_equal(r.stats.engine, "stack");
}

/* AArch64: four bytes an instruction; no stack in any file is large enough to be walked for ever. */
static void
test_other_arch(void **state)
{
	const struct entry e[] = { { 0x1004, 0x1000, 0 }, { 0x100c, 0x2000, 0 }, { 0x900000, 0x1000, 0 } };
	uint8_t bytes[72];
	struct run r;

	(void)state;
	begin(&r);
	r.fake.container.info.arch = HT_ARCH_AARCH64;
	add_stack(&r.fake, e, 3, 5, bytes);
	decode(&r);
	assert_string_equal(r.text, "@5 1004>1000 1000-100c:4 100c>2000 900000>1000 "
	                            "(trace does not fit the code 24) ");
}

/* Intel BTS: in order, nothing left out, on from chunk to chunk unless bytes are missing. */
static void
test_bts(void **state)
{
	static const struct entry e[] = { { 0x1004, 0x1000, 0x10 }, { 0x1001, 0x1006, 0 }, { 0, 0, 0 },
		                          { 0x1008, 0x1000, 0x10 }, { 0x1004, 0x1000, 0x10 } };
	struct run r;
	struct ht_chunk *c;

	(void)state;
	begin(&r);
	r.exact = 1;
	fake_trace(&r.fake, 1, 1, &e[0], 24);
	fake_trace(&r.fake, 1, 1, &e[1], 72);
	c = fake_trace(&r.fake, 1, 1, &e[4], 24);
	c->lost_before = 1;
	r.fake.stream.source = HT_SOURCE_INTEL_BTS;
	r.fake.stream.gapless = 1;
	decode(&r);
	assert_string_equal(r.text, "1004>1000j 1000-1001:2 1001>1006c! 1006-1006:1 1008-1008:1 1008>1000r "
	                            "(AUX data lost 0) 1004>1000j ");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_walk),       cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_no_code),    cmocka_unit_test(test_mismatch),
		cmocka_unit_test(test_not_run),    cmocka_unit_test(test_filtered),
		cmocka_unit_test(test_samples),    cmocka_unit_test(test_other_arch),
		cmocka_unit_test(test_bts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
