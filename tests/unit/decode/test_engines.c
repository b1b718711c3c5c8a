/* SPDX-License-Identifier: BSD-2-Clause */
/* Every PT engine on packets written by hand: what ran, when the code changed, what is missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "hand.h"

/*
 *	400000	nop
 *	400001	je   400005
 *	400003	nop
 *	400004	nop
 *	400005	call 400010
 *	40000a	jmp  400000
 *	400010	ret
 *	400011	jmp  *%rax
 *	400013	syscall
 *	400015	jmp  400013
 */
static const uint8_t program[] = {
	0x90, 0x74, 0x02, 0x90, 0x90, 0xe8, 0x06, 0x00, 0x00, 0x00, 0xeb, 0xf4, 0x90, 0x90, 0x90, 0x90,
	0xc3, 0xff, 0xe0, 0x0f, 0x05, 0xeb, 0xfc,
};

/* -- what ran ------------------------------------------------------------ */

static void
blocks_and_branches(void **state)
{
	struct hand *x = *state;
	const struct ht_decoder_stats *st;

	fake_code(&x->fake, 0, 1, HAND_BASE, program, sizeof(program));
	hand_psb(x, HAND_BASE, 0);
	hand_tnt(x, "NTT");  /* je not taken, ret compressed, je taken */
	hand_tnt(x, "TT");   /* and once more */
	hand_ip(x, HT_PT_TIP, HAND_BASE + 0x11); /* ret to the jmp *%rax */
	hand_ip(x, HT_PT_TIP, HAND_BASE + 0x13);
	hand_ip(x, HT_PT_TIP_PGD, 0);
	hand_run(x);
	hand_flow_is(x, "0-1 2; cond- 1>3; 3-5 3; call 5>10; 10-10 1; ret 10>a; a-a 1; jmp a>0; "
	           "0-1 2; cond 1>5; 5-5 1; call 5>10; 10-10 1; ret 10>a; a-a 1; jmp a>0; "
	           "0-1 2; cond 1>5; 5-5 1; call 5>10; 10-10 1; ret 10>11; 11-11 1; jmp* 11>13; "
	           "13-13 1; syscall 13>fff; off 13; ");
	st = ht_decoder_stats(x->d);
	assert_int_equal(st->instructions, 2 + 3 + 1 + 1 + 2 + 1 + 1 + 1 + 2 + 1 + 1 + 1 + 1);
	assert_int_equal(st->branches, 13);
	assert_int_equal(st->gaps, 0);
	assert_int_equal(st->bytes_decoded, hand_size(x));
	assert_string_equal(st->engine, hand_engine);
}

static void
signal_moves_control(void **state)
{
	struct hand *x = *state;

	fake_code(&x->fake, 0, 1, HAND_BASE, program, sizeof(program));
	hand_psb(x, HAND_BASE, 0);
	hand_ip(x, HT_PT_FUP, HAND_BASE + 1);
	hand_ip(x, HT_PT_TIP, HAND_BASE + 0x13);
	hand_ip(x, HT_PT_TIP_PGD, 0);
	hand_ip(x, HT_PT_TIP_PGE, HAND_BASE + 0x15);
	hand_ip(x, HT_PT_FUP, HAND_BASE + 0x13);
	hand_ip(x, HT_PT_TIP_PGD, 0);
	hand_run(x);
	hand_flow_is(x, "0-0 1; async 1>13; 13-13 1; syscall 13>fff; off 13; on 15; 15-15 1; jmp 15>13; off 13; ");
}

/*
 * A FUP that belongs to another packet is no branch: the TIP behind it is that of
 * the code.  libipt 2.0.5 knows but MWAIT of these.
 */
static void
fup_of_another_packet(void **state)
{
	static const struct { uint8_t bytes[10], size; } packets[] = {
		{ { 0x02, 0xc2, 0x60, 0, 0, 0, 1, 0, 0, 0 }, 10 }, /* MWAIT */
		{ { 0x02, 0x13, 0x81, 0x0e }, 4 }, /* CFE.INTR, with IP, vector 14 */
		{ { 0x99, 0x05 }, 2 }, /* MODE.Exec: the interrupt flag changed */
		{ { 0x02, 0xb3 }, 2 }, /* BEP, with IP */
		{ { 0xd9, 0x80, 0x01 }, 3 }, /* TRIG, with IP */
	};
	unsigned n = strcmp(hand_engine, "native") == 0 ? sizeof(packets) / sizeof(*packets) : 1;
	struct hand *x = *state;

	for (unsigned i = 0; i < n; i++) {
		x->p = x->trace;
		x->fake.n = 0;
		x->fake.stream.n_chunks = 0;
		x->fake.stream.bytes = 0;
		fake_code(&x->fake, 0, 1, HAND_BASE, program, sizeof(program));
		hand_psb(x, HAND_BASE, 0);
		hand_tnt(x, "N");
		hand_ip(x, HT_PT_TIP, HAND_BASE + 0x11);
		memcpy(x->p, packets[i].bytes, packets[i].size);
		x->p += packets[i].size;
		hand_ip(x, HT_PT_FUP, HAND_BASE + 0x11);
		hand_ip(x, HT_PT_TIP, HAND_BASE + 0x13);
		hand_ip(x, HT_PT_TIP_PGD, 0);
		hand_run(x);
		hand_flow_is(x, "0-1 2; cond- 1>3; 3-5 3; call 5>10; 10-10 1; ret 10>11; "
		                "11-11 1; jmp* 11>13; 13-13 1; syscall 13>fff; off 13; ");
	}
}

/* A block that is open when a batch ends goes on in the next one. */
static void
small_batches_give_the_same(void **state)
{
	struct hand *x = *state;
	struct ht_event all[4096];
	int n;

	fake_code(&x->fake, 0, 1, HAND_BASE, program, sizeof(program));
	hand_psb(x, HAND_BASE, 0);
	for (unsigned i = 0; i < 40; i++)
		hand_tnt(x, i % 3 ? "NTTTNT" : "TTTTNT");
	fake_trace(&x->fake, 1, 1, x->trace, hand_size(x));
	hand_decode(x, 2048);
	n = x->n;
	assert_true(n > 500);
	memcpy(all, x->ev, sizeof(all));
	hand_decode(x, 64);
	assert_int_equal(x->n, n);
	assert_memory_equal(all, x->ev, (size_t)n * sizeof(*all));
}

/* -- code that changes --------------------------------------------------- */

/* nop; nop; syscall at `at`: as long as `je; syscall` is. */
static const uint8_t two_nops[] = { 0x90, 0x90, 0x0f, 0x05 };
static const uint8_t one_long_nop[] = { 0x66, 0x90, 0x0f, 0x05 };

static unsigned
instructions_at(const struct hand *x, uint64_t first, unsigned nth)
{
	for (int i = 0; i < x->n; i++)
		if (x->ev[i].kind == HT_EV_BLOCK && x->ev[i].a == first && !nth--)
			return x->ev[i].n;
	fail_msg("no such block");
	return 0;
}

/* The two forms, the second from time `ns` on, and a beginning. */
static void
nops_change_at(struct hand *x, uint64_t ns)
{
	fake_code(&x->fake, 0, 1, HAND_BASE, two_nops, 4);
	fake_code(&x->fake, ns, 1, HAND_BASE, one_long_nop, 4);
	hand_psb(x, HAND_BASE, 500);
}

/* Instructions of each run of the code, a digit a run. */
static void
assert_runs(const struct hand *x, const char *counts)
{
	for (unsigned i = 0; counts[i]; i++)
		assert_int_equal(instructions_at(x, HAND_BASE, i), counts[i] - '0');
}

/*
 * The syscall at the end of the code replaces the code it lies in: from the
 * TIP.PGE behind it on the new bytes hold, and not an instruction earlier,
 * although libipt has read over the TSC by then.
 */
static void
change_holds_from_the_enable_on(void **state)
{
	struct hand *x = *state;

	nops_change_at(x, 1000);
	hand_ip(x, HT_PT_TIP_PGD, 0);
	hand_ip(x, HT_PT_TIP_PGE, HAND_BASE);
	x->p = ht_pt_tsc(x->p, 1001);
	hand_ip(x, HT_PT_TIP_PGD, 0);
	hand_run(x);
	assert_runs(x, "32");
	assert_int_equal(ht_decoder_stats(x->d)->gaps, 0);
}

/* The same with the TSC in front of the TIP.PGE. */
static void
change_holds_when_the_time_comes_first(void **state)
{
	struct hand *x = *state;

	nops_change_at(x, 1000);
	hand_ip(x, HT_PT_TIP_PGD, 0);
	x->p = ht_pt_tsc(x->p, 1001);
	hand_ip(x, HT_PT_TIP_PGE, HAND_BASE);
	hand_ip(x, HT_PT_TIP_PGD, 0);
	hand_run(x);
	assert_runs(x, "32");
}

/* libipt has read over the next TIP.PGD and the TSC behind it when it tells of the first TIP.PGE. */
static void
time_behind_the_next_disable_waits(void **state)
{
	struct hand *x = *state;

	nops_change_at(x, 1000);
	hand_ip(x, HT_PT_TIP_PGD, 0);
	hand_ip(x, HT_PT_TIP_PGE, HAND_BASE);
	hand_ip(x, HT_PT_TIP_PGD, 0);
	x->p = ht_pt_tsc(x->p, 1001);
	hand_ip(x, HT_PT_TIP_PGE, HAND_BASE);
	hand_ip(x, HT_PT_TIP_PGD, 0);
	hand_run(x);
	assert_runs(x, "332");
}

/* A time between TIP.PGD and TIP.PGE is not that of the branch that turned tracing off. */
static void
time_while_off_is_of_what_follows(void **state)
{
	struct hand *x = *state;
	uint64_t now = 0;
	unsigned branches = 0;

	x->fake.container.info.cpu = (struct ht_cpu_info){ .nom_freq = 20 }; /* libipt tells times, too */
	fake_code(&x->fake, 0, 1, HAND_BASE, program, sizeof(program));
	hand_psb(x, HAND_BASE + 0x13, 500);
	for (unsigned i = 1; i <= 4; i++) {
		hand_ip(x, HT_PT_TIP_PGD, 0);
		x->p = ht_pt_tsc(x->p, 500 + i);
		hand_ip(x, HT_PT_TIP_PGE, HAND_BASE + 0x13);
	}
	hand_ip(x, HT_PT_TIP_PGD, 0);
	hand_run(x);
	for (int i = 0; i < x->n; i++) {
		if (x->ev[i].kind == HT_EV_TIME)
			now = x->ev[i].b;
		if (x->ev[i].kind == HT_EV_BRANCH)
			assert_int_equal(now, 500 + branches++);
	}
	assert_int_equal(branches, 5);
}

/* A change that is stamped later than the TSC does not hold yet. */
static void
later_change_waits(void **state)
{
	struct hand *x = *state;

	nops_change_at(x, 1002);
	for (unsigned i = 0; i < 2; i++) {
		hand_ip(x, HT_PT_TIP_PGD, 0);
		hand_ip(x, HT_PT_TIP_PGE, HAND_BASE);
		x->p = ht_pt_tsc(x->p, 1001 + i);
	}
	hand_ip(x, HT_PT_TIP_PGD, 0);
	hand_run(x);
	assert_runs(x, "332");
}

/*
 * Self-modifying code: no syscall, the time stands between the outcomes before
 * the change and those behind it.  The code is
 *	400000	je 400000; nop; nop; jmp 400000		then
 *	400000	je 400000; xchg %ax,%ax; jmp 400000
 */
static void
self_modifying_code(void **state)
{
	struct hand *x = *state;
	static const uint8_t before[] = { 0x74, 0xfe, 0x90, 0x90, 0xeb, 0xfa };
	static const uint8_t after[] = { 0x74, 0xfe, 0x66, 0x90, 0xeb, 0xfa };

	fake_code(&x->fake, 0, 1, HAND_BASE, before, 6);
	fake_code(&x->fake, 1000, 1, HAND_BASE, after, 6);
	hand_psb(x, HAND_BASE, 500);
	hand_tnt(x, "NNN");
	x->p = ht_pt_tsc(x->p, 1001);
	hand_tnt(x, "NN");
	hand_run(x);
	assert_int_equal(instructions_at(x, HAND_BASE + 2, 0), 3);
	assert_int_equal(instructions_at(x, HAND_BASE + 2, 1), 3);
	/* The third outcome is the last before the change: what follows it is new. */
	assert_int_equal(instructions_at(x, HAND_BASE + 2, 2), 2);
	assert_int_equal(instructions_at(x, HAND_BASE + 2, 3), 2);
}

/* exec: the first instruction behind the TIP.PGE is in the new address space alone. */
static void
exec_moves_to_new_code(void **state)
{
	struct hand *x = *state;
	const uint64_t other = HAND_BASE + 0x1000;

	fake_code(&x->fake, 0, 1, HAND_BASE, two_nops, 4);
	fake_comm(&x->fake, 900, 1, 1, "new", 1);
	fake_code(&x->fake, 901, 1, other, one_long_nop, 4);
	hand_psb(x, HAND_BASE, 500);
	hand_ip(x, HT_PT_TIP_PGD, 0);
	hand_ip(x, HT_PT_TIP_PGE, other);
	x->p = ht_pt_tsc(x->p, 1001);
	hand_ip(x, HT_PT_TIP_PGD, 0);
	hand_run(x);
	hand_flow_is(x, "0-2 3; syscall 2>fff; off 2; on 1000; 1000-1002 2; syscall 1002>fff; off 1002; ");
	assert_int_equal(ht_decoder_stats(x->d)->gaps, 0);
	for (int i = 1; i < x->n; i++)
		if (x->ev[i].kind == HT_EV_BLOCK && x->ev[i].a == other)
			assert_int_not_equal(x->generation[i], x->generation[0]);
}

/* Another thread mapped the code after this one's last TSC, and before its next. */
static void
code_mapped_by_another_thread(void **state)
{
	struct hand *x = *state;
	static const uint8_t jump[] = { 0xff, 0xe0 };
	const uint64_t other = HAND_BASE + 0x1000;

	fake_code(&x->fake, 0, 1, HAND_BASE, jump, 2);
	fake_code(&x->fake, 700, 1, HAND_BASE + 0x2000, jump, 2);
	fake_code(&x->fake, 800, 1, other, two_nops, 4);
	fake_code(&x->fake, 950, 1, other, one_long_nop, 4);
	hand_psb(x, HAND_BASE, 500);
	hand_ip(x, HT_PT_TIP, other);
	hand_ip(x, HT_PT_TIP_PGD, 0);
	hand_ip(x, HT_PT_TIP_PGE, other);
	x->p = ht_pt_tsc(x->p, 900);
	hand_ip(x, HT_PT_TIP_PGD, 0);
	hand_run(x);
	assert_int_equal(ht_decoder_stats(x->d)->gaps, 0);
	/* The time was not passed by more than was needed. */
	assert_int_equal(instructions_at(x, other, 0), 3);
	assert_int_equal(instructions_at(x, other, 1), 3);
}

/* A CPU goes from one process to another that has other code at the same address, and back. */
static void
cpu_changes_hands(void **state)
{
	struct hand *x = *state;
	int switches = 0, tid = -1;

	fake_code(&x->fake, 0, 1, HAND_BASE, two_nops, 4);
	fake_code(&x->fake, 0, 2, HAND_BASE, one_long_nop, 4);
	fake_switch(&x->fake, 400, 3, 1, 11);
	fake_switch(&x->fake, 900, 4, 7, 77); /* another CPU */
	fake_switch(&x->fake, 1000, 3, 2, 22);
	fake_switch(&x->fake, 2000, 3, 1, 11);
	hand_psb(x, HAND_BASE, 500);
	for (unsigned i = 1; i < 3; i++) {
		hand_ip(x, HT_PT_TIP_PGD, 0);
		hand_ip(x, HT_PT_TIP_PGE, HAND_BASE);
		x->p = ht_pt_tsc(x->p, i * 1000 + 1);
	}
	hand_ip(x, HT_PT_TIP_PGD, 0);
	fake_trace(&x->fake, -1, -1, x->trace, hand_size(x));
	x->fake.stream.cpu = 3;
	hand_decode(x, 64);
	assert_int_equal(instructions_at(x, HAND_BASE, 0), 3);
	assert_int_equal(instructions_at(x, HAND_BASE, 1), 2);
	assert_int_equal(instructions_at(x, HAND_BASE, 2), 3);
	assert_int_equal(ht_decoder_stats(x->d)->gaps, 0);
	for (int i = 0; i < x->n; i++) {
		if (x->ev[i].kind == HT_EV_SWITCH) {
			switches++;
			tid = (int)x->ev[i].b;
		}
		if (x->ev[i].kind == HT_EV_BLOCK)
			assert_int_equal(tid, x->ev[i].n == 3 ? 11 : 22);
	}
	assert_int_equal(switches, 3);
	assert_int_equal(ht_decoder_tid(x->d), 11);
	assert_int_equal(ht_decoder_pid(x->d), 1);
}

/* -- time ---------------------------------------------------------------- */

static void
time_when_it_changes(void **state)
{
	struct hand *x = *state;
	uint64_t times[8];
	unsigned n = 0;

	fake_code(&x->fake, 0, 1, HAND_BASE, two_nops, 4);
	hand_psb(x, HAND_BASE, 500);
	for (unsigned i = 0; i < 3; i++) {
		hand_ip(x, HT_PT_TIP_PGD, 0);
		hand_ip(x, HT_PT_TIP_PGE, HAND_BASE);
		x->p = ht_pt_tsc(x->p, i == 1 ? 600 : 600 + i);
	}
	hand_ip(x, HT_PT_TIP_PGD, 0);
	hand_run(x);
	for (int i = 0; i < x->n; i++)
		if (x->ev[i].kind == HT_EV_TIME) {
			assert_true(n < 8);
			assert_int_equal(x->ev[i].a, x->ev[i].b);
			times[n++] = x->ev[i].a;
		}
	assert_int_equal(n, 3);
	assert_int_equal(times[0], 500);
	assert_int_equal(times[1], 600);
	assert_int_equal(times[2], 602);
}

/* -- what is missing ----------------------------------------------------- */

static const struct ht_gap *
only_gap(const struct hand *x, unsigned kind)
{
	const struct ht_gap *g = ht_decoder_gap(x->d, 0);

	assert_int_equal(ht_decoder_stats(x->d)->gaps, 1);
	assert_int_equal(g->kind, kind);
	assert_non_null(g->why);
	assert_null(ht_decoder_gap(x->d, 1));
	return g;
}

static void
missing_code_is_a_gap(void **state)
{
	struct hand *x = *state;
	const struct ht_gap *g;
	uint64_t second, from;

	fake_code(&x->fake, 0, 1, HAND_BASE, program, sizeof(program));
	fake_map(&x->fake, 0, 1, HAND_BASE + 0x1000, 0x1000, 0, "/nonexistent/library.so");
	hand_psb(x, HAND_BASE + 0x11, 0);
	from = hand_size(x);
	hand_ip(x, HT_PT_TIP, HAND_BASE + 0x1234);
	hand_tnt(x, "TNTN");
	second = hand_size(x);
	hand_psb(x, HAND_BASE + 0x13, 0);
	hand_ip(x, HT_PT_TIP_PGD, 0);
	hand_run(x);
	hand_flow_is(x, "11-11 1; jmp* 11>1234; gap 3; 13-13 1; syscall 13>fff; off 13; ");
	g = only_gap(x, HT_GAP_NO_CODE);
	assert_int_equal(g->ip, HAND_BASE + 0x1234);
	if (!strcmp(hand_engine, "native"))
		from += 7; /* it reads the TIP, and has to stop at the outcomes behind it */
	assert_int_equal(g->offset, from);
	assert_int_equal(g->bytes, second - from);
	assert_non_null(strstr(g->why, "/nonexistent/library.so"));
}

static void
trace_that_does_not_fit(void **state)
{
	struct hand *x = *state;

	fake_code(&x->fake, 0, 1, HAND_BASE, program, sizeof(program));
	hand_psb(x, HAND_BASE, 0);
	hand_ip(x, HT_PT_TIP, HAND_BASE); /* the code wants an outcome */
	hand_psb(x, HAND_BASE + 0x13, 0);
	hand_ip(x, HT_PT_TIP_PGD, 0);
	hand_run(x);
	only_gap(x, HT_GAP_MISMATCH);
	hand_flow_is(x, "0-1 2; gap 5; 13-13 1; syscall 13>fff; off 13; ");
}

/* An event at a place that the code never comes by. */
static void
circle_of_jumps(void **state)
{
	static const uint8_t circle[] = { 0xeb, 0x02, 0x90, 0x90, 0xeb, 0xfa };
	struct hand *x = *state;

	fake_code(&x->fake, 0, 1, HAND_BASE, circle, sizeof(circle));
	hand_psb(x, HAND_BASE, 0);
	hand_ip(x, HT_PT_FUP, HAND_BASE + 2);
	hand_ip(x, HT_PT_TIP_PGD, 0);
	alarm(300); /* no engine may walk it for ever */
	hand_run(x);
	alarm(0);
	only_gap(x, HT_GAP_MISMATCH);
	assert_true(x->n < 64);
}

/* Targets in a file that is not there are one loss, though other code is still to be mapped. */
static void
targets_in_missing_code(void **state)
{
	struct hand *x = *state;

	if (strcmp(hand_engine, "native") != 0)
		skip(); /* libipt goes on at the next PSB */
	fake_code(&x->fake, 0, 1, HAND_BASE, program, sizeof(program));
	fake_map(&x->fake, 0, 1, HAND_BASE + 0x100000, 0x1000, 0, "/nowhere/library");
	fake_code(&x->fake, 9000, 1, HAND_BASE + 0x200000, program, sizeof(program));
	hand_psb(x, HAND_BASE + 0x11, 500);
	for (unsigned i = 0; i < 5; i++) {
		hand_ip(x, HT_PT_TIP, HAND_BASE + 0x100000 + i * 0x10);
		x->p = ht_pt_tsc(x->p, 600 + i);
	}
	hand_ip(x, HT_PT_TIP, HAND_BASE + 0x13);
	hand_ip(x, HT_PT_TIP_PGD, 0);
	hand_run(x);
	only_gap(x, HT_GAP_NO_CODE);
}

/*
 * Each near return takes its call off the stack, [PT 33.4.2.2], also one that goes
 * elsewhere; libipt lets that call stay.  A retpoline, entered by a call:
 *	400000	call 400010
 *	400005	jmp  400000
 *	400010	call 400020
 *	400015	pause
 *	400017	jmp  400015
 *	400020	mov  %rax,(%rsp)
 *	400024	ret			to 400030, told
 *	400030	ret			to 400005, compressed
 */
static void
retpoline(void **state)
{
	static const uint8_t code[] = {
		0xe8, 0x0b, 0x00, 0x00, 0x00, 0xeb, 0xf9, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
		0xe8, 0x0b, 0x00, 0x00, 0x00, 0xf3, 0x90, 0xeb, 0xfc, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
		0x48, 0x89, 0x04, 0x24, 0xc3, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
		0xc3,
	};
	struct hand *x = *state;
	char want[2048] = "";

	if (strcmp(hand_engine, "native") != 0)
		skip();
	fake_code(&x->fake, 0, 1, HAND_BASE, code, sizeof(code));
	hand_psb(x, HAND_BASE, 0);
	for (unsigned i = 0; i < 12; i++) {
		hand_ip(x, HT_PT_TIP, HAND_BASE + 0x30);
		hand_tnt(x, "T");
		strcat(want, i ? "5-5 1; jmp 5>0; " : "");
		strcat(want, "0-0 1; call 0>10; 10-10 1; call 10>20; 20-24 2; ret 24>30; 30-30 1; ret 30>5; ");
	}
	hand_run(x);
	hand_flow_is(x, want);
}

/* A packet whose FUP is missing, and a change of mode without its branch: something was lost. */
static void
half_an_event(void **state)
{
	static const struct { uint8_t bytes[2], size; } packets[] = {
		{ { 0x02, 0xe2 }, 2 }, /* EXSTOP, with IP */
		{ { 0x99, 0x01 }, 2 }, /* MODE.Exec */
		{ { 0x02, 0x83 }, 2 }, /* TraceSTOP, with the trace on */
	};
	struct hand *x = *state;

	for (unsigned i = 0; i < sizeof(packets) / sizeof(*packets); i++) {
		x->p = x->trace;
		x->fake.n = 0;
		x->fake.stream.n_chunks = 0;
		x->fake.stream.bytes = 0;
		fake_code(&x->fake, 0, 1, HAND_BASE, program, sizeof(program));
		hand_psb(x, HAND_BASE, 0);
		memcpy(x->p, packets[i].bytes, packets[i].size);
		x->p += packets[i].size;
		hand_tnt(x, "N");
		hand_psb(x, HAND_BASE + 0x13, 0);
		hand_ip(x, HT_PT_TIP_PGD, 0);
		hand_run(x);
		only_gap(x, HT_GAP_MISMATCH);
	}
}

/* Tracing must have gone on unseen between two disables, [PT 33.4.2.5]. */
static void
disabled_twice(void **state)
{
	struct hand *x = *state;

	fake_code(&x->fake, 0, 1, HAND_BASE, program, sizeof(program));
	hand_psb(x, HAND_BASE + 0x13, 0);
	hand_ip(x, HT_PT_TIP_PGD, 0);
	hand_ip(x, HT_PT_TIP_PGD, 0);
	hand_psb(x, 0, 0);
	hand_ip(x, HT_PT_TIP_PGE, HAND_BASE);
	hand_tnt(x, "N");
	hand_run(x);
	only_gap(x, HT_GAP_MISMATCH);
	hand_flow_is(x, "13-13 1; syscall 13>fff; off 13; gap 5; on 0; 0-1 2; cond- 1>3; ");
}

static void
bad_packet(void **state)
{
	struct hand *x = *state;

	fake_code(&x->fake, 0, 1, HAND_BASE, program, sizeof(program));
	hand_psb(x, HAND_BASE, 0);
	hand_tnt(x, "N");
	*x->p++ = 0x02; /* there is no packet 02 ff */
	*x->p++ = 0xff;
	hand_psb(x, HAND_BASE + 0x13, 0);
	hand_ip(x, HT_PT_TIP_PGD, 0);
	hand_run(x);
	only_gap(x, HT_GAP_BAD_PACKET);
}

static void
overflow_goes_on(void **state)
{
	struct hand *x = *state;

	fake_code(&x->fake, 0, 1, HAND_BASE, program, sizeof(program));
	hand_psb(x, HAND_BASE, 0);
	hand_tnt(x, "N");
	x->p = ht_pt_ovf(x->p);
	hand_ip(x, HT_PT_FUP, HAND_BASE + 0x13);
	hand_ip(x, HT_PT_TIP_PGD, 0);
	hand_run(x);
	only_gap(x, HT_GAP_OVERFLOW);
	assert_int_equal(x->ev[x->n - 1].kind, HT_EV_DISABLE);
	assert_int_equal(ht_decoder_stats(x->d)->bytes_decoded, hand_size(x));
}

static void
bytes_before_the_first_psb(void **state)
{
	struct hand *x = *state;
	const struct ht_gap *g;

	fake_code(&x->fake, 0, 1, HAND_BASE, program, sizeof(program));
	hand_tnt(x, "TNT");
	hand_psb(x, HAND_BASE + 0x13, 0);
	hand_ip(x, HT_PT_TIP_PGD, 0);
	hand_run(x);
	g = only_gap(x, HT_GAP_SYNC);
	assert_int_equal(g->offset, 0);
	assert_int_equal(g->bytes, 1);
	/* Padding is none. */
	x->trace[0] = 0;
	hand_decode(x, 64);
	assert_int_equal(ht_decoder_stats(x->d)->gaps, 0);
	assert_int_equal(ht_decoder_stats(x->d)->bytes_decoded, hand_size(x));
}

static void
no_psb_at_all(void **state)
{
	struct hand *x = *state;

	memset(x->trace, 0x06, 100);
	x->p += 100;
	hand_run(x);
	assert_int_equal(only_gap(x, HT_GAP_SYNC)->bytes, 100);
}

static void
cut_inside_a_packet(void **state)
{
	struct hand *x = *state;
	const struct ht_gap *g;

	fake_code(&x->fake, 0, 1, HAND_BASE, program, sizeof(program));
	hand_psb(x, HAND_BASE, 0);
	hand_tnt(x, "N");
	hand_ip(x, HT_PT_TIP, HAND_BASE);
	x->p -= 2;
	hand_run(x);
	g = only_gap(x, HT_GAP_CUT);
	assert_int_equal(g->offset + g->bytes, hand_size(x));
}

static void
chunks_and_loss(void **state)
{
	struct hand *x = *state;
	struct ht_chunk *c;
	size_t half, end;

	fake_code(&x->fake, 0, 1, HAND_BASE, program, sizeof(program));
	hand_psb(x, HAND_BASE, 0);
	hand_tnt(x, "NTTT");
	half = hand_size(x);
	hand_psb(x, HAND_BASE + 0x13, 0);
	hand_ip(x, HT_PT_TIP_PGD, 0);
	end = hand_size(x);
	/* In three chunks, cut in the middle of packets: the same as in one. */
	fake_trace(&x->fake, 1, 1, x->trace, 5);
	fake_trace(&x->fake, 1, 1, x->trace + 5, half - 5 + 3);
	fake_trace(&x->fake, 1, 1, x->trace + half + 3, end - half - 3);
	hand_decode(x, 64);
	/* The second PSB+ is elsewhere: the outcomes before it do not lead there. */
	/* libipt gives up at the last outcome; the native engine goes on at the PSB itself. */
	assert_int_equal(only_gap(x, HT_GAP_MISMATCH)->bytes, !strcmp(hand_engine, "native") ? 0 : 1);
	assert_int_equal(x->ev[x->n - 1].kind, HT_EV_DISABLE);

	x->fake.stream.n_chunks = 0;
	x->fake.stream.bytes = 0;
	fake_trace(&x->fake, 1, 1, x->trace, half);
	c = fake_trace(&x->fake, 1, 1, x->trace + half, end - half);
	c->lost_before = 1;
	c->stream_offset += 1000;
	hand_decode(x, 64);
	assert_int_equal(only_gap(x, HT_GAP_AUX_LOST)->bytes, 1000);
	assert_int_equal(only_gap(x, HT_GAP_AUX_LOST)->offset, half);
	assert_int_equal(ht_decoder_stats(x->d)->bytes_decoded, end);

	/* The same in front of all: what an overwritten buffer keeps, which begins anywhere. */
	x->fake.stream.n_chunks = 0;
	x->fake.stream.bytes = 0;
	c = fake_trace(&x->fake, 1, 1, x->trace + 8, end - 8);
	c->lost_before = 1;
	c->stream_offset = 1000;
	hand_decode(x, 64);
	assert_int_equal(ht_decoder_stats(x->d)->gaps, 2);
	assert_int_equal(ht_decoder_gap(x->d, 0)->kind, HT_GAP_AUX_LOST);
	assert_int_equal(ht_decoder_gap(x->d, 0)->offset, 0);
	assert_int_equal(ht_decoder_gap(x->d, 0)->bytes, 1000);
	assert_int_equal(ht_decoder_gap(x->d, 1)->kind, HT_GAP_SYNC);
	assert_int_equal(ht_decoder_gap(x->d, 1)->offset, 1000);
	assert_int_equal(ht_decoder_gap(x->d, 1)->bytes, half - 8);
	assert_int_equal(x->ev[x->n - 1].kind, HT_EV_DISABLE);
}

/* The thread was killed while it ran: a loss of no bytes, at the block that begins there. */
static void
killed(void **state)
{
	struct hand *x = *state;
	struct ht_chunk *c;

	fake_code(&x->fake, 0, 1, HAND_BASE, program, sizeof(program));
	hand_psb(x, HAND_BASE, 0);
	hand_tnt(x, "N");
	hand_ip(x, HT_PT_FUP, HAND_BASE + 3);
	hand_ip(x, HT_PT_TIP_PGD, 0);
	fake_trace(&x->fake, 1, 1, x->trace, hand_size(x));
	c = fake_trace(&x->fake, 1, 1, x->trace, 0);
	c->lost_before = HT_LOST_BLOCK;
	hand_decode(x, 64);
	assert_int_equal(only_gap(x, HT_GAP_KILLED)->bytes, 0);
	assert_int_equal(only_gap(x, HT_GAP_KILLED)->offset, hand_size(x));
	assert_int_equal(only_gap(x, HT_GAP_KILLED)->ip, HAND_BASE + 3);
	assert_int_equal(ht_decoder_stats(x->d)->bytes_decoded, hand_size(x));
	assert_int_equal(ht_decoder_stats(x->d)->bytes_skipped, 0);
	assert_int_equal(x->ev[x->n - 1].kind, HT_EV_GAP);
}

/* Whatever is cut off: no crash under the sanitizers, every byte accounted for (see hand_decode()). */
static void
every_prefix(void **state)
{
	struct hand *x = *state;
	uint8_t *exact;

	fake_code(&x->fake, 0, 1, HAND_BASE, program, sizeof(program));
	fake_code(&x->fake, 1000, 1, HAND_BASE, program, sizeof(program));
	hand_psb(x, HAND_BASE, 500);
	hand_tnt(x, "NTTTN");
	hand_ip(x, HT_PT_FUP, HAND_BASE + 3);
	hand_ip(x, HT_PT_TIP, HAND_BASE + 0x13);
	hand_ip(x, HT_PT_TIP_PGD, 0);
	hand_ip(x, HT_PT_TIP_PGE, HAND_BASE);
	x->p = ht_pt_tsc(x->p, 1001);
	x->p = ht_pt_tnt_long(x->p, 0x1f0f0f0f0full);
	hand_psb(x, HAND_BASE, 1002);
	x->p = ht_pt_ovf(x->p);
	hand_ip(x, HT_PT_FUP, HAND_BASE);
	hand_tnt(x, "TT");
	for (size_t n = 1; n <= hand_size(x); n++) {
		exact = malloc(n);
		memcpy(exact, x->trace, n);
		x->fake.stream.n_chunks = 0;
		x->fake.stream.bytes = 0;
		fake_trace(&x->fake, 1, 1, exact, n);
		hand_decode(x, 64);
		ht_decoder_free(x->d);
		x->d = NULL;
		free(exact);
	}
}

/* Single bytes changed all over: gaps, never a crash or an endless loop. */
static void
every_byte_damaged(void **state)
{
	struct hand *x = *state;

	fake_code(&x->fake, 0, 1, HAND_BASE, program, sizeof(program));
	hand_psb(x, HAND_BASE, 500);
	hand_tnt(x, "NTTTN");
	hand_ip(x, HT_PT_FUP, HAND_BASE + 3);
	hand_ip(x, HT_PT_TIP, HAND_BASE + 0x13);
	hand_ip(x, HT_PT_TIP_PGD, 0);
	hand_ip(x, HT_PT_TIP_PGE, HAND_BASE);
	x->p = ht_pt_tsc(x->p, 1001);
	hand_tnt(x, "TTN");
	hand_psb(x, HAND_BASE, 1002);
	hand_tnt(x, "TT");
	fake_trace(&x->fake, 1, 1, x->trace, hand_size(x));
	for (size_t i = 0; i < hand_size(x); i++)
		for (unsigned v = 0; v < 256; v += 5) {
			uint8_t was = x->trace[i];

			x->trace[i] = (uint8_t)v;
			hand_decode(x, 64);
			x->trace[i] = was;
		}
}

#define T(f) cmocka_unit_test_setup_teardown(f, hand_setup, hand_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(blocks_and_branches),
		T(signal_moves_control),
		T(fup_of_another_packet),
		T(half_an_event),
		T(small_batches_give_the_same),
		T(change_holds_from_the_enable_on),
		T(change_holds_when_the_time_comes_first),
		T(time_behind_the_next_disable_waits),
		T(time_while_off_is_of_what_follows),
		T(later_change_waits),
		T(self_modifying_code),
		T(exec_moves_to_new_code),
		T(code_mapped_by_another_thread),
		T(cpu_changes_hands),
		T(time_when_it_changes),
		T(missing_code_is_a_gap),
		T(trace_that_does_not_fit),
		T(circle_of_jumps),
		T(targets_in_missing_code),
		T(retpoline),
		T(disabled_twice),
		T(bad_packet),
		T(overflow_goes_on),
		T(bytes_before_the_first_psb),
		T(no_psb_at_all),
		T(cut_inside_a_packet),
		T(chunks_and_loss),
		T(killed),
		T(every_prefix),
		T(every_byte_damaged),
	};

	int failed = 0;

	for (uint32_t i = 0; (hand_engine = ht_engine_name(i)); i++)
		if (ht_engine_can(hand_engine, HT_SOURCE_INTEL_PT))
			failed += cmocka_run_group_tests_name(hand_engine, tests, NULL, NULL);
	return failed;
}
