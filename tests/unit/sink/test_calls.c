/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "sink/calls.h"

#define CALL (HT_SF_BRANCH | HT_SF_CALL)
#define RET  (HT_SF_BRANCH | HT_SF_RETURN)

static int
step(struct calls *c, uint32_t stream, unsigned flags, uint64_t ip, uint64_t to)
{
	struct ht_sample x = {
		.ip = ip, .addr = to, .flags = (uint16_t)flags, .kind = HT_SAMPLE_BRANCH, .size = 5
	};

	return calls_step(c, &(struct calls_of){ stream, -1, -1 }, &x);
}

static void
test_nested(void **state)
{
	struct calls *c = calls_new();

	(void)state;
	assert_int_equal(step(c, 0, CALL, 0x100, 0x200), 0);
	assert_int_equal(step(c, 0, CALL, 0x200, 0x300), 1);
	assert_int_equal(step(c, 1, CALL, 0x100, 0x200), 0); /* another thread */
	assert_int_equal(step(c, 0, RET, 0x310, 0x205), -1);
	assert_int_equal(step(c, 0, CALL, 0x220, 0x300), 1);
	assert_int_equal(step(c, 0, RET, 0x310, 0x225), -1);
	assert_int_equal(step(c, 0, RET, 0x230, 0x105), -1);
	assert_int_equal(step(c, 0, CALL, 0x110, 0x200), 0);
	calls_free(c);
}

static void
test_not_calls(void **state)
{
	struct calls *c = calls_new();

	(void)state;
	assert_int_equal(step(c, 0, HT_SF_BRANCH, 0x100, 0x200), -1);
	assert_int_equal(step(c, 0, CALL | HT_SF_SYSCALL, 0x100, 0), -1);
	assert_int_equal(step(c, 0, CALL | HT_SF_ASYNC | HT_SF_INT, 0x100, 0x900), -1);
	assert_int_equal(step(c, 0, CALL, 0x100, 0x105), -1); /* call +0 */
	assert_int_equal(step(c, 0, CALL, 0x100, 0x200), 0);
	calls_free(c);
}

/* longjmp: frames are left without a return; a return to an outer frame drops them all. */
static void
test_unwound(void **state)
{
	struct calls *c = calls_new();

	(void)state;
	for (int i = 0; i < 10; i++)
		assert_int_equal(step(c, 0, CALL, 0x1000 + 0x10 * (uint64_t)i, 0x5000), i);
	assert_int_equal(step(c, 0, RET, 0x5010, 0x1025), -1); /* frame 2 expects it */
	assert_int_equal(step(c, 0, CALL, 0x1030, 0x5000), 2);
	assert_int_equal(step(c, 0, RET, 0x5010, 0xdead), -1); /* none expects it */
	assert_int_equal(step(c, 0, CALL, 0x1040, 0x5000), 3);
	calls_free(c);
}

static void
test_gap(void **state)
{
	struct calls *c = calls_new();

	(void)state;
	calls_gap(c, &(struct calls_of){ 3, -1, -1 }); /* a stream that has not called yet */
	assert_int_equal(step(c, 0, CALL, 0x100, 0x200), 0);
	assert_int_equal(step(c, 0, CALL, 0x200, 0x300), 1);
	assert_int_equal(step(c, 1, CALL, 0x100, 0x200), 0);
	calls_gap(c, &(struct calls_of){ 0, -1, -1 });
	assert_int_equal(step(c, 0, RET, 0x310, 0x205), -1); /* of a frame from before */
	assert_int_equal(step(c, 0, CALL, 0x210, 0x300), 0);
	assert_int_equal(step(c, 1, CALL, 0x210, 0x300), 1); /* the other stream lost nothing */
	calls_free(c);
}

static void
test_deep(void **state)
{
	struct calls *c = calls_new();
	int depth = 0;

	(void)state;
	for (uint64_t i = 0; i < 100000; i++)
		depth = step(c, 0, CALL, 0x1000 + 0x10 * i, 0x5000);
	assert_true(depth >= 0 && depth < 4096);
	assert_int_equal(step(c, 0, RET, 0x5010, 0x1005 + 0x10 * 99999), -1);
	assert_int_equal(step(c, 0, CALL, 0x9000, 0x5000), depth);
	calls_free(c);
}

/* A call from `ip`, or a return from there, of thread `tid` on `cpu`. */
static int
on_cpu(struct calls *c, int32_t cpu, int32_t tid, unsigned flags, uint64_t ip, uint64_t to)
{
	struct ht_sample x = {
		.ip = ip, .addr = to, .flags = (uint16_t)flags, .kind = HT_SAMPLE_BRANCH, .size = 5
	};

	return calls_step(c, &(struct calls_of){ (uint32_t)cpu, cpu, tid }, &x);
}

/* Threads take turns on CPUs, and go from one to the other. */
static void
test_threads_of_cpus(void **state)
{
	struct calls *c = calls_new();

	(void)state;
	assert_int_equal(on_cpu(c, 0, 7, CALL, 0x100, 0x200), 0);
	assert_int_equal(on_cpu(c, 0, 8, CALL, 0x100, 0x200), 0);
	assert_int_equal(on_cpu(c, 0, 7, CALL, 0x200, 0x300), 1);
	assert_int_equal(on_cpu(c, 1, 7, CALL, 0x300, 0x400), 2);
	assert_int_equal(on_cpu(c, 1, 8, CALL, 0x200, 0x300), 1);
	assert_int_equal(on_cpu(c, 1, 7, RET, 0x410, 0x305), -1);
	assert_int_equal(on_cpu(c, 0, 7, CALL, 0x310, 0x400), 2);
	/* Each CPU has an idle thread of its own, and whose a call is may not be known. */
	assert_int_equal(on_cpu(c, 0, 0, CALL, 0x100, 0x200), 0);
	assert_int_equal(on_cpu(c, 1, 0, CALL, 0x100, 0x200), 0);
	assert_int_equal(on_cpu(c, 2, -1, CALL, 0x100, 0x200), 0);
	/* In a gap of one CPU any of them may have run there. */
	calls_gap(c, &(struct calls_of){ 1, 1, 7 });
	assert_int_equal(on_cpu(c, 0, 7, CALL, 0x320, 0x400), 0);
	assert_int_equal(on_cpu(c, 0, 8, CALL, 0x320, 0x400), 0);
	assert_int_equal(on_cpu(c, 0, 0, CALL, 0x200, 0x300), 1);
	calls_free(c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nested),          cmocka_unit_test(test_not_calls),
		cmocka_unit_test(test_unwound),         cmocka_unit_test(test_gap),
		cmocka_unit_test(test_threads_of_cpus), cmocka_unit_test(test_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
