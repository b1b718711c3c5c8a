/* SPDX-License-Identifier: BSD-2-Clause */
/* The writer against printf, over a pipe and over a reader that goes away. */
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include <hwtrace/error.h>
#include <hwtrace/text.h>

static const uint64_t values[] = {
	0, 1, 9, 10, 15, 16, 99, 255, 256, 0xfff, 0x1000, 4095, 99999, 100000, 0x7fffffff, 0xffffffff,
	0x100000000, 0x7f0123456789, 0xffffffff81000000, INT64_MAX, UINT64_MAX - 1, UINT64_MAX
};

#define N (sizeof(values) / sizeof(*values))

/* What stands in the buffer, as a string. */
static const char *
content(struct ht_text *t)
{
	static char copy[4096];

	assert_true(t->used < sizeof(copy));
	memcpy(copy, t->at, t->used);
	copy[t->used] = 0;
	t->used = 0;
	return copy;
}

static void
test_hex(void **state)
{
	struct ht_text t;
	char want[64];

	(void)state;
	assert_int_equal(ht_text_init(&t, -1), 0);
	for (size_t i = 0; i < N; i++) {
		ht_text_hex16(&t, values[i]);
		snprintf(want, sizeof(want), "%16llx", (unsigned long long)values[i]);
		assert_string_equal(content(&t), want);
		ht_text_hex(&t, values[i]);
		snprintf(want, sizeof(want), "%llx", (unsigned long long)values[i]);
		assert_string_equal(content(&t), want);
	}
	ht_text_fini(&t);
}

static void
test_decimal(void **state)
{
	static const int widths[] = { 0, 1, 3, 5, 10, 20, 32 };
	struct ht_text t;
	char want[64];

	(void)state;
	assert_int_equal(ht_text_init(&t, -1), 0);
	for (size_t i = 0; i < N; i++)
		for (size_t w = 0; w < sizeof(widths) / sizeof(*widths); w++) {
			ht_text_dec(&t, values[i], (unsigned)widths[w], ' ');
			snprintf(want, sizeof(want), "%*llu", widths[w], (unsigned long long)values[i]);
			assert_string_equal(content(&t), want);
			ht_text_dec(&t, values[i], (unsigned)widths[w], '0');
			snprintf(want, sizeof(want), "%0*llu", widths[w], (unsigned long long)values[i]);
			assert_string_equal(content(&t), want);
			ht_text_int(&t, (int64_t)values[i], (unsigned)widths[w]);
			snprintf(want, sizeof(want), "%*lld", widths[w], (long long)values[i]);
			assert_string_equal(content(&t), want);
		}
	ht_text_int(&t, INT64_MIN, 0);
	assert_string_equal(content(&t), "-9223372036854775808");
	ht_text_fini(&t);
}

static void
test_json(void **state)
{
	static const struct { const char *in, *out; } cases[] = {
		{ "", "\"\"" },
		{ "plain", "\"plain\"" },
		{ "a\"b\\c/", "\"a\\\"b\\\\c/\"" },
		{ "\n\t\x01\x7f", "\"\\u000a\\u0009\\u0001\\u007f\"" },
		{ "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"" },
		{ "\xff", "\"\\ufffd\"" },                     /* no UTF-8 */
		{ "\xc0\xaf", "\"\\ufffd\\ufffd\"" },          /* overlong */
		{ "\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"" }, /* surrogate */
		{ "\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"" }, /* beyond U+10FFFF */
		{ "x\xe2\x82", "\"x\\ufffd\\ufffd\"" },        /* cut */
	};
	struct ht_text t;

	(void)state;
	assert_int_equal(ht_text_init(&t, -1), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		ht_text_json(&t, cases[i].in);
		assert_string_equal(content(&t), cases[i].out);
	}
	ht_text_fini(&t);
}

/* More than the buffer holds comes out whole and in order. */
static void
test_flush(void **state)
{
	char name[] = "/tmp/hwtrace-text.XXXXXX", *big;
	int fd = mkstemp(name);
	struct ht_text t;
	FILE *f;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(ht_text_init(&t, fd), 0);
	for (unsigned i = 0; i < 300000; i++) {
		ht_text_room(&t, 32);
		ht_text_dec(&t, i, 8, '0');
		ht_text_char(&t, '\n');
	}
	big = calloc(1, 3 * HT_TEXT_ROOM + 1);
	assert_non_null(big);
	memset(big, 'x', 3 * HT_TEXT_ROOM);
	ht_text_str(&t, big);
	free(big);
	assert_int_equal(ht_text_flush(&t), 0);
	ht_text_fini(&t);
	f = fopen(name, "r");
	assert_non_null(f);
	for (unsigned i = 0; i < 300000; i++) {
		unsigned got;

		assert_int_equal(fscanf(f, "%8u\n", &got), 1);
		assert_int_equal(got, i);
	}
	for (unsigned i = 0; i < 3 * HT_TEXT_ROOM; i++)
		assert_int_equal(fgetc(f), 'x');
	assert_int_equal(fgetc(f), EOF);
	fclose(f);
	close(fd);
	unlink(name);
}

static void
test_reader_gone(void **state)
{
	struct ht_text t;
	int fds[2];

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(fds), 0);
	close(fds[0]);
	assert_int_equal(ht_text_init(&t, fds[1]), 0);
	for (unsigned i = 0; i < 1000; i++) {
		ht_text_room(&t, HT_TEXT_ROOM);
		memset(t.at + t.used, 'a', HT_TEXT_ROOM);
		t.used += HT_TEXT_ROOM;
	}
	assert_int_equal(ht_text_flush(&t), -HT_EIO);
	assert_int_equal(t.error, EPIPE);
	ht_text_fini(&t);
	close(fds[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hex),
		cmocka_unit_test(test_decimal),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_flush),
		cmocka_unit_test(test_reader_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
