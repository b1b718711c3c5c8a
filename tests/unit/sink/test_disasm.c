/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <hwtrace/disasm.h>
#include <hwtrace/error.h>

/* Text as objdump -d writes it, but for spaces after the mnemonic and the name of a target. */
static const struct { const char *bytes; unsigned size, bits; const char *text; } cases[] = {
	{ "\x48\x89\xe7", 3, 64, "movq %rsp, %rdi" },
	{ "\xe8\x0b\x00\x00\x00", 5, 64, "callq 0x401010" },
	{ "\xc3", 1, 64, "retq" },
	{ "\x0f\x05", 2, 64, "syscall" },
	{ "\x75\xfe", 2, 64, "jne 0x401000" },
	{ "\xf3\xa4", 2, 64, "rep movsb (%rsi), (%rdi)" },
	{ "\x55", 1, 32, "pushl %ebp" },
	/* EVEX, a mask register and rdpkru: what capstone 4 does not know */
	{ "\x62\xf1\x7c\x48\x28\xc1", 6, 64, "vmovaps %zmm1, %zmm0" },
	{ "\xc4\xe1\xf8\x98\xc1", 5, 64, "kortestq %k1, %k0" },
	{ "\x0f\x01\xee", 3, 64, "rdpkru" },
};

static void
test_text(void **state)
{
	struct ht_disasm *d;
	char text[HT_DISASM_TEXT];

	(void)state;
	assert_int_equal(ht_disasm_new(HT_ARCH_X86_64, &d), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const uint8_t *b = (const uint8_t *)cases[i].bytes;

		ht_disasm_mode(d, cases[i].bits);
		assert_int_equal(ht_disasm_text(d, 0x401000, b, cases[i].size, text), cases[i].size);
		assert_string_equal(text, cases[i].text);
		assert_int_equal(ht_disasm_length(d, b, cases[i].size), cases[i].size);
	}
	ht_disasm_free(d);
}

/* Every prefix, in a heap block of its size: too short is 0, and nothing beyond is touched. */
static void
test_cut(void **state)
{
	struct ht_disasm *d;
	char text[HT_DISASM_TEXT];

	(void)state;
	assert_int_equal(ht_disasm_new(HT_ARCH_X86_64, &d), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		ht_disasm_mode(d, cases[i].bits);
		for (unsigned n = 0; n < cases[i].size; n++) {
			uint8_t *b = malloc(n + !n);

			assert_non_null(b);
			memcpy(b, cases[i].bytes, n);
			/* a prefix may be a shorter instruction, but not one of these */
			assert_int_equal(ht_disasm_length(d, b, n), 0);
			assert_int_equal(ht_disasm_text(d, 0, b, n, text), 0);
			free(b);
		}
	}
	ht_disasm_free(d);
}

static void
test_unknown(void **state)
{
	struct ht_disasm *d;
	char text[HT_DISASM_TEXT];

	(void)state;
	assert_int_equal(ht_disasm_new(HT_ARCH_AARCH64, &d), -HT_EUNSUPPORTED);
	assert_int_equal(ht_disasm_new(HT_ARCH_X86_64, &d), 0);
	assert_int_equal(ht_disasm_text(d, 0, (const uint8_t *)"\x06", 1, text), 0);
	assert_string_equal(text, ".byte 0x06");
	assert_int_equal(ht_disasm_text(d, 0, NULL, 0, text), 0);
	assert_string_equal(text, "(bytes missing)");
	ht_disasm_free(d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
