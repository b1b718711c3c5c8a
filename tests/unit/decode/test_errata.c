/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each row of errata.h on packets as the erratum makes them, decoded once for a
 * processor that has it and once for one that does not: the answers must differ,
 * and the first one be right.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "decode/pt/errata.h"
#include "hand.h"

#define BROADWELL_MODEL 0x3d
#define SKYLAKE_MODEL   0x5e
#define SERVER_MODEL    0x55
#define GOLDMONT_MODEL  0x5c
#define NO_ERRATA_MODEL 0x2d

/*
 *	400000	je   400005
 *	400002	nop
 *	400003	jmp  *%rax
 *	400005	call 400010
 *	40000a	jmp  400000
 *	400010	vmlaunch
 *	400013	ret
 *	400014	jmp  400000
 */
static const uint8_t program[] = {
	0x74, 0x03, 0x90, 0xff, 0xe0, 0xe8, 0x06, 0x00, 0x00, 0x00, 0xeb, 0xf4, 0x90, 0x90, 0x90, 0x90,
	0x0f, 0x01, 0xc2, 0xc3, 0xeb, 0xea,
};

#define AT(n) (HAND_BASE + (n))

/* Decode x->trace for the processor 6/`model`; what is expected as by hand_flow_is(). */
static void
on(struct hand *x, unsigned model, const char *want)
{
	x->fake.n = 0;
	x->fake.stream.n_chunks = 0;
	x->fake.stream.bytes = 0;
	x->fake.container.info.cpu = (struct ht_cpu_info){ .vendor_intel = 1, .family = 6,
		.model = (uint8_t)model };
	fake_code(&x->fake, 0, 1, HAND_BASE, program, sizeof(program));
	hand_run(x);
	hand_flow_is(x, want);
}

static void
mode_tsx(struct hand *x, unsigned bits)
{
	*x->p++ = 0x99;
	*x->p++ = (uint8_t)(0x20 | bits);
}

#define IN_TX   1u
#define ABORTED 2u

/* In a transaction: jmp *%rax to a place from which the abort's cannot be reached. */
static void
BDM64(void **state)
{
	struct hand *x = *state;

	hand_psb(x, AT(2), 0);
	mode_tsx(x, IN_TX);
	hand_ip(x, HT_PT_FUP, AT(3));
	hand_ip(x, HT_PT_TIP, AT(0));
	mode_tsx(x, ABORTED);
	hand_ip(x, HT_PT_FUP, AT(0x10));
	hand_ip(x, HT_PT_TIP, AT(5));
	hand_ip(x, HT_PT_TIP_PGD, 0);
	on(x, BROADWELL_MODEL, "2-2 1; 3-3 1; jmp* 3>10; async 10>5; "
	                       "5-5 1; call 5>10; 10-10 1; far 10>fff; off 10; ");
	on(x, NO_ERRATA_MODEL, "2-2 1; 3-3 1; jmp* 3>0; 0-0 1; gap 5; "
	                       "5-5 1; call 5>10; 10-10 1; far 10>fff; off 10; ");
}

/* The same behind an outcome: je was told as not taken, and the transaction aborted in the call. */
static void
BDM64_outcome(void **state)
{
	struct hand *x = *state;

	hand_psb(x, AT(0), 0);
	mode_tsx(x, IN_TX);
	hand_ip(x, HT_PT_FUP, AT(0));
	hand_tnt(x, "N");
	mode_tsx(x, ABORTED);
	hand_ip(x, HT_PT_FUP, AT(0x10));
	hand_ip(x, HT_PT_TIP, AT(3));
	hand_ip(x, HT_PT_TIP, AT(0x13));
	on(x, BROADWELL_MODEL, "0-0 1; cond- 0>2; async 10>3; 3-3 1; jmp* 3>13; ");
	on(x, NO_ERRATA_MODEL, "0-0 1; cond- 0>2; 2-3 2; gap 5; 3-3 1; jmp* 3>13; ");
}

static void
BDM70(void **state)
{
	struct hand *x = *state;

	hand_psb(x, AT(0x14), 0);
	hand_ip(x, HT_PT_TIP_PGE, AT(2));
	hand_ip(x, HT_PT_TIP, AT(0x10));
	on(x, BROADWELL_MODEL, "on 2; 2-3 2; jmp* 3>10; ");
	on(x, NO_ERRATA_MODEL, "gap 5; on 2; 2-3 2; jmp* 3>10; ");
	/* Where the TIP.PGE is not what follows, the FUP holds. */
	x->p = x->trace;
	hand_psb(x, AT(2), 0);
	hand_ip(x, HT_PT_TIP, AT(0x10));
	hand_ip(x, HT_PT_TIP_PGD, 0);
	hand_ip(x, HT_PT_TIP_PGE, AT(2));
	on(x, BROADWELL_MODEL, "2-3 2; jmp* 3>10; 10-10 1; far 10>fff; off 10; on 2; ");
}

/* cyc: first byte of a longer CYC, its rest cut by an OVF */
static void
cut_cyc(struct hand *x)
{
	*x->p++ = 0x2f;
	x->p = ht_pt_ovf(x->p);
	hand_ip(x, HT_PT_FUP, AT(2));
	hand_ip(x, HT_PT_TIP, AT(0x10));
}

static void
SKD007(void **state)
{
	struct hand *x = *state;

	hand_psb(x, AT(0), 0);
	hand_tnt(x, "T");
	cut_cyc(x);
	on(x, SKYLAKE_MODEL, "0-0 1; cond 0>5; gap 0; 2-3 2; jmp* 3>10; ");
	on(x, NO_ERRATA_MODEL, "0-0 1; cond 0>5; 5-5 1; call 5>10; 10-10 1; gap 5; ");
	/* Far from the end, where packets are taken by the memo. */
	x->p = x->trace;
	hand_psb(x, AT(0), 0);
	hand_tnt(x, "T");
	cut_cyc(x);
	for (unsigned i = 0; i < 64; i++)
		*x->p++ = 0;
	on(x, SKYLAKE_MODEL, "0-0 1; cond 0>5; gap 0; 2-3 2; jmp* 3>10; ");
}

static void
SKD010(void **state)
{
	struct hand *x = *state;

	hand_psb(x, AT(0), 0);
	x->p = ht_pt_ovf(x->p);
	hand_tnt(x, "T");
	hand_ip(x, HT_PT_TIP, AT(2));
	hand_ip(x, HT_PT_TIP, AT(0x10));
	on(x, SKYLAKE_MODEL, "gap 0; 2-3 2; jmp* 3>10; ");
	on(x, NO_ERRATA_MODEL, "gap 0; ");
}

static void
SKD022(void **state)
{
	struct hand *x = *state;

	hand_psb(x, AT(5), 0);
	hand_ip(x, HT_PT_FUP, AT(0x10));
	hand_ip(x, HT_PT_TIP_PGD, 0);
	on(x, SKYLAKE_MODEL, "5-5 1; call 5>10; 10-10 1; far 10>fff; off 10; ");
	on(x, NO_ERRATA_MODEL, "5-5 1; call 5>10; off 10; ");
	/* At another instruction it is what it says. */
	x->p = x->trace;
	hand_psb(x, AT(2), 0);
	hand_ip(x, HT_PT_FUP, AT(3));
	hand_ip(x, HT_PT_TIP_PGD, 0);
	on(x, SKYLAKE_MODEL, "2-2 1; off 3; ");
}

/* Traced is 400000 to 40000f: the call leaves it. */
static void
SKL014(void **state)
{
	struct hand *x = *state;
	static const struct ht_limit limit = { HT_LIMIT_ADDRESS, AT(0), AT(0x10), NULL };

	x->fake.container.info.limits = &limit;
	x->fake.container.info.n_limits = 1;
	hand_psb(x, AT(5), 0);
	hand_ip(x, HT_PT_TIP_PGD, 0);
	hand_ip(x, HT_PT_TIP_PGE, AT(0xa));
	hand_tnt(x, "N");
	hand_ip(x, HT_PT_TIP, AT(2));
	on(x, SKYLAKE_MODEL, "5-5 1; call 5>10; off 5; on a; a-a 1; jmp a>0; 0-0 1; cond- 0>2; 2-3 2; jmp* 3>2; ");
	on(x, NO_ERRATA_MODEL, "5-5 1; call 5>10; 10-10 1; far 10>fff; off 10; on a; a-a 1; jmp a>0; "
	                       "0-0 1; cond- 0>2; 2-3 2; jmp* 3>2; ");
	x->fake.container.info.n_limits = 0;
	on(x, SKYLAKE_MODEL, "5-5 1; call 5>10; 10-10 1; far 10>fff; off 10; on a; a-a 1; jmp a>0; "
	                     "0-0 1; cond- 0>2; 2-3 2; jmp* 3>2; ");
}

/* The same with a filter by file, which lies where it was mapped. */
static void
SKL014_file(void **state)
{
	static const char path[] = "/nowhere/program";
	static const struct ht_limit limit = { HT_LIMIT_FILE, 0x3000, 0x3010, path },
		other = { HT_LIMIT_FILE, 0x3000, 0x3010, "/nowhere/other" };
	struct hand *x = *state;

	for (unsigned i = 0; i < 2; i++) {
		x->p = x->trace;
		x->fake.n = 0;
		x->fake.stream.n_chunks = 0;
		x->fake.stream.bytes = 0;
		x->fake.container.info.limits = i ? &other : &limit;
		x->fake.container.info.n_limits = 1;
		x->fake.container.info.cpu = (struct ht_cpu_info){ .vendor_intel = 1, .family = 6,
			.model = SKYLAKE_MODEL };
		fake_map(&x->fake, 0, 1, HAND_BASE, 0x1000, 0x3000, path);
		fake_code(&x->fake, 0, 1, HAND_BASE, program, sizeof(program));
		hand_psb(x, AT(0xa), 0);
		hand_ip(x, HT_PT_TIP_PGD, 0);
		hand_run(x);
		/* The jump stays in the one file, and leaves the other. */
		hand_flow_is(x, i ? "a-a 1; jmp a>0; off a; " : "a-a 1; jmp a>0; 0-0 1; off 0; ");
	}
}

/* MTC packets count the crystal's ticks; those that were dropped do not shift the ones behind them. */
static void
SKL168(void **state)
{
	struct hand *x = *state;
	const unsigned mtc[] = { 1, 3 }; /* 2 was dropped, with its CYC */
	uint64_t time[8];
	unsigned n = 0;

	x->p = ht_pt_psb(x->p);
	x->p = ht_pt_tsc(x->p, 100000);
	x->p = ht_pt_raw(x->p, 0x7302, 7); /* TMA: CTC 0, FC 0 */
	x->p = ht_pt_ip(x->p, HT_PT_FUP, AT(0), HT_PT_NO_BASE);
	x->p = ht_pt_psbend(x->p);
	for (unsigned i = 0; i < 2; i++) {
		if (i == 1)
			x->p = ht_pt_psbend(ht_pt_psb(x->p));
		*x->p++ = 0x59;
		*x->p++ = (uint8_t)mtc[i];
		hand_tnt(x, "N");
		hand_ip(x, HT_PT_TIP, AT(0));
	}
	fake_code(&x->fake, 0, 1, HAND_BASE, program, sizeof(program));
	x->fake.container.info.cpu = (struct ht_cpu_info){ .vendor_intel = 1, .family = 6,
		.model = SKYLAKE_MODEL, .tsc_ctc_num = 80, .tsc_ctc_den = 1 };
	hand_run(x);
	for (int i = 0; i < x->n; i++)
		if (x->ev[i].kind == HT_EV_TIME)
			time[n++] = x->ev[i].b;
	assert_int_equal(n, 3);
	assert_int_equal(time[0], 100000);
	assert_int_equal(time[1], 100000 + 80);
	assert_int_equal(time[2], 100000 + 3 * 80);
}

static void
SKZ84(void **state)
{
	struct hand *x = *state;
	static const uint8_t tma[] = { 0x02, 0x73, 0x12, 0x34, 0xff, 0x56, 0xff, 0x77 };

	hand_psb(x, AT(0), 0);
	memcpy(x->p, tma, sizeof(tma));
	x->p += sizeof(tma);
	hand_tnt(x, "N");
	hand_ip(x, HT_PT_TIP, AT(0x10));
	on(x, SERVER_MODEL, "0-0 1; cond- 0>2; 2-3 2; jmp* 3>10; ");
	on(x, NO_ERRATA_MODEL, "gap 6; ");
}

static void
APL11(void **state)
{
	struct hand *x = *state;

	hand_psb(x, AT(0), 500);
	x->p = ht_pt_ovf(x->p);
	hand_ip(x, HT_PT_TIP_PGD, 0);
	x->p = ht_pt_tsc(x->p, 700);
	hand_ip(x, HT_PT_TIP_PGE, AT(2));
	hand_ip(x, HT_PT_TIP, AT(0x10));
	/* The loss ends where tracing goes off, and not as it goes on again. */
	on(x, GOLDMONT_MODEL, "gap 0; on 2; 2-3 2; jmp* 3>10; ");
	assert_int_equal(ht_decoder_gap(x->d, 0)->ns_to, 500);
	on(x, NO_ERRATA_MODEL, "gap 0; on 2; 2-3 2; jmp* 3>10; ");
	assert_int_equal(ht_decoder_gap(x->d, 0)->ns_to, 700);
}

static void
APL12(void **state)
{
	struct hand *x = *state;

	hand_psb(x, AT(0), 0);
	x->p = ht_pt_ovf(x->p);
	hand_ip(x, HT_PT_FUP, AT(0x14));
	hand_ip(x, HT_PT_TIP_PGE, AT(2));
	hand_ip(x, HT_PT_TIP, AT(0x10));
	on(x, GOLDMONT_MODEL, "gap 0; on 2; 2-3 2; jmp* 3>10; ");
	on(x, NO_ERRATA_MODEL, "gap 0; gap 5; on 2; 2-3 2; jmp* 3>10; ");
	/* Where a branch follows, tracing was on. */
	x->p = x->trace;
	hand_psb(x, AT(0), 0);
	x->p = ht_pt_ovf(x->p);
	hand_ip(x, HT_PT_FUP, AT(2));
	hand_ip(x, HT_PT_TIP, AT(0x10));
	on(x, GOLDMONT_MODEL, "gap 0; 2-3 2; jmp* 3>10; ");
}

/* An interrupt as jmp *%rax was to run. */
static void
NEXT_IP(void **state)
{
	struct hand *x = *state;

	hand_psb(x, AT(2), 0);
	hand_ip(x, HT_PT_FUP, AT(5));
	hand_ip(x, HT_PT_TIP, AT(0x10));
	on(x, GOLDMONT_MODEL, "2-2 1; async 3>10; ");
	on(x, NO_ERRATA_MODEL, "2-3 2; gap 5; ");
}

/* A trace of the software unit has none of them. */
static void
software(void **state)
{
	struct hand *x = *state;

	x->fake.container.info.software = 1;
	hand_psb(x, AT(0), 0);
	x->p = ht_pt_ovf(x->p);
	hand_ip(x, HT_PT_TIP, AT(2));
	on(x, SKYLAKE_MODEL, "gap 0; ");
}

#define T(f) cmocka_unit_test_setup_teardown(f, hand_setup, hand_teardown)
#define ROW(id, ...) T(id),

static const struct CMUnitTest tests[] = {
	HT_PT_ERRATA(ROW)
	T(BDM64_outcome),
	T(SKL014_file),
	T(software),
};

static uint32_t
errata_of(unsigned vendor, unsigned family, unsigned model)
{
	struct ht_cpu_info cpu = { .vendor_intel = (uint8_t)vendor, .family = (uint16_t)family,
		                   .model = (uint8_t)model };

	return ht_pt_errata_of(&cpu);
}

static void
processors(void **state)
{
	(void)state;
	assert_int_equal(errata_of(1, 6, BROADWELL_MODEL), HT_PT_BDM64 | HT_PT_BDM70);
	assert_int_equal(errata_of(1, 6, SKYLAKE_MODEL), HT_PT_BDM70 | HT_PT_SKD007 | HT_PT_SKD010 |
	                 HT_PT_SKD022 | HT_PT_SKL014 | HT_PT_SKL168);
	assert_int_equal(errata_of(1, 6, SERVER_MODEL),
	                 HT_PT_BDM70 | HT_PT_SKD022 | HT_PT_SKL014 | HT_PT_SKZ84);
	assert_int_equal(errata_of(1, 6, GOLDMONT_MODEL), HT_PT_APL11 | HT_PT_APL12 | HT_PT_NEXT_IP);
	assert_int_equal(errata_of(1, 6, NO_ERRATA_MODEL), 0);
	assert_int_equal(errata_of(0, 6, SKYLAKE_MODEL), 0);
	assert_int_equal(errata_of(1, 15, SKYLAKE_MODEL), 0);
	for (unsigned i = 0; ht_pt_erratum(i); i++) {
		assert_int_not_equal(ht_pt_erratum(i)->cpus, 0);
		assert_true(strlen(ht_pt_erratum(i)->what) > 20);
		assert_string_equal(ht_pt_erratum(i)->id, tests[i].name);
	}
}

int
main(void)
{
	const struct CMUnitTest table[] = { cmocka_unit_test(processors) };

	hand_engine = "native";
	return cmocka_run_group_tests(table, NULL, NULL) + cmocka_run_group_tests_name("errata", tests, NULL, NULL);
}
