/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <hwtrace/error.h>
#include <hwtrace/insn.h>

struct row {
	const char *bytes;
	uint8_t     n, size, insn, filler, no_next;
	uint64_t    target;
};

#define AT 0x401000u

static const struct row rows[] = {
	{ "\x90", 1, 1, HT_INSN_OTHER, 1, 0, 0 },
	{ "\x66\x90", 2, 2, HT_INSN_OTHER, 1, 0, 0 },
	{ "\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00", 10, 10, HT_INSN_OTHER, 1, 0, 0 },
	{ "\xf3\x90", 2, 2, HT_INSN_OTHER, 0, 0, 0 },          /* pause */
	{ "\xf3\x0f\x1e\xfa", 4, 4, HT_INSN_OTHER, 0, 0, 0 },  /* endbr64 */
	{ "\x41\x90", 2, 2, HT_INSN_OTHER, 0, 0, 0 },          /* xchg %eax,%r8d */
	{ "\xcc", 1, 1, HT_INSN_SYSCALL, 1, 1, 0 },
	{ "\xc3", 1, 1, HT_INSN_RET, 0, 1, 0 },
	{ "\x0f\x0b", 2, 2, HT_INSN_OTHER, 0, 1, 0 },
	{ "\xf4", 1, 1, HT_INSN_OTHER, 0, 1, 0 },
	{ "\x74\x10", 2, 2, HT_INSN_COND, 0, 0, AT + 0x12 },
	{ "\xe2\xfe", 2, 2, HT_INSN_COND, 0, 0, AT },
	{ "\xeb\xfe", 2, 2, HT_INSN_JUMP, 0, 1, AT },
	{ "\xe8\x00\x00\x00\x00", 5, 5, HT_INSN_CALL, 0, 0, AT + 5 },
	{ "\xff\xe0", 2, 2, HT_INSN_JUMP_IND, 0, 1, 0 },
	{ "\xff\xd0", 2, 2, HT_INSN_CALL_IND, 0, 0, 0 },
	{ "\x0f\x05", 2, 2, HT_INSN_SYSCALL, 0, 0, 0 },
};

static void
every_row_is_told_right(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct ht_insn x;

		assert_int_equal(ht_insn_decode(HT_ARCH_X86_64, (const uint8_t *)rows[i].bytes, rows[i].n, AT, &x), 0);
		assert_int_equal(x.size, rows[i].size);
		assert_int_equal(x.insn, rows[i].insn);
		assert_int_equal(x.filler, rows[i].filler);
		assert_int_equal(x.no_next, rows[i].no_next);
		assert_int_equal(x.target, rows[i].target);
	}
}

static void
cut_and_foreign_are_refused(void **state)
{
	struct ht_insn x;

	(void)state;
	assert_int_equal(ht_insn_decode(HT_ARCH_X86_64, (const uint8_t *)"\xe8\x00", 2, AT, &x), -HT_EFORMAT);
	assert_int_equal(ht_insn_decode(HT_ARCH_X86_64, (const uint8_t *)"", 0, AT, &x), -HT_EFORMAT);
	assert_int_equal(ht_insn_decode(HT_ARCH_AARCH64, (const uint8_t *)"\0\0\0\0", 4, AT, &x), -HT_EUNSUPPORTED);
	/* 40h is INC %eax in 32-bit code, a prefix in 64-bit code */
	assert_int_equal(ht_insn_decode(HT_ARCH_X86_32, (const uint8_t *)"\x40", 1, AT, &x), 0);
	assert_int_equal(ht_insn_decode(HT_ARCH_X86_64, (const uint8_t *)"\x40", 1, AT, &x), -HT_EFORMAT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_told_right),
		cmocka_unit_test(cut_and_foreign_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
