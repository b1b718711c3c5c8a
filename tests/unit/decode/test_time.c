/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Times against a clock that is known: a model counts TSC ticks, and writes TSC,
 * TMA, MTC and CBR packets as a processor does that runs at them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "hand.h"

/* 400000 je 400002; jmp 400000 */
static const uint8_t program[] = { 0x74, 0x00, 0xeb, 0xfc };

struct clock {
	unsigned num, den; /* TSC ticks a crystal tick */
	unsigned shift;    /* MTC: crystal ticks between two, as a power of two */
	unsigned nominal, cbr; /* ratios to the bus clock: of the TSC, of the core */
	int      cycles;   /* write CYC */
};

struct model {
	struct hand *x;
	struct clock c;
	uint64_t     tsc, cyc_tsc; /* now; at the last CYC */
	uint64_t     when[2000];   /* of each branch */
	unsigned     n;
	uint64_t     seed;
};

static uint64_t
crystal(const struct model *m, uint64_t tsc)
{
	return tsc * m->c.den / m->c.num;
}

/* Cycles up to here, in front of what they belong to. */
static void
count_cycles(struct model *m)
{
	if (!m->c.cycles)
		return;
	m->x->p = ht_pt_cyc(m->x->p, (m->tsc - m->cyc_tsc) * m->c.cbr / m->c.nominal);
	m->cyc_tsc = m->tsc;
}

static void
psb_plus(struct model *m)
{
	uint8_t *p = m->x->p;
	uint64_t ctc = crystal(m, m->tsc);
	uint64_t at = (ctc * m->c.num + m->c.den - 1) / m->c.den; /* that tick came then */

	p = ht_pt_tsc(ht_pt_psb(p), m->tsc);
	p = ht_pt_raw(p, 0x7302 | (ctc & 0xffff) << 16 | (m->tsc - at) << 40, 7); /* TMA */
	p = ht_pt_mode_exec(ht_pt_cbr(p, (uint8_t)m->c.cbr), 1, 0);
	p = ht_pt_ip(p, HT_PT_FUP, HAND_BASE, HT_PT_NO_BASE);
	m->x->p = ht_pt_psbend(p);
}

/* Time goes on by `ticks`, with an MTC at each boundary. */
static void
pass(struct model *m, uint64_t ticks)
{
	uint64_t end = m->tsc + ticks;
	uint64_t step = 1ull << m->c.shift;

	for (;;) {
		uint64_t next = (crystal(m, m->tsc) / step + 1) * step;
		uint64_t at = (next * m->c.num + m->c.den - 1) / m->c.den;

		if (at > end)
			break;
		m->tsc = at;
		count_cycles(m);
		m->x->p = ht_pt_raw(m->x->p, 0x59 | (next >> m->c.shift & 0xff) << 8, 2);
	}
	m->tsc = end;
}

static void
branch(struct model *m)
{
	count_cycles(m);
	hand_tnt(m->x, "N");
	m->when[m->n++] = m->tsc;
}

static uint64_t
rnd(struct model *m)
{
	m->seed = m->seed * 6364136223846793005ull + 1442695040888963407ull;
	return m->seed >> 33;
}

static void
record(struct model *m, struct hand *x, struct clock c, uint64_t seed)
{
	memset(m, 0, sizeof(*m));
	m->x = x;
	m->c = c;
	m->seed = seed;
	m->tsc = m->cyc_tsc = 5000000000ull + rnd(m);
	x->p = x->trace;
	memset(&x->fake, 0, sizeof(x->fake));
	fake_init(&x->fake);
	x->fake.container.info.cpu = (struct ht_cpu_info){ .vendor_intel = 1, .family = 6, .model = 0x2d,
		.mtc_freq = (uint8_t)c.shift, .nom_freq = (uint8_t)c.nominal, .tsc_ctc_num = c.num, .tsc_ctc_den = c.den };
	fake_code(&x->fake, 0, 1, HAND_BASE, program, sizeof(program));
	psb_plus(m);
	while (hand_size(x) < 800) {
		pass(m, rnd(m) % 900);
		branch(m);
		if (rnd(m) % 100 == 0) {
			count_cycles(m);
			psb_plus(m);
		}
	}
}

/* The time of each branch event into `at`; times never go back. */
static unsigned
times(const struct hand *x, uint64_t *at)
{
	uint64_t now = 0;
	unsigned n = 0;

	for (int i = 0; i < x->n; i++) {
		if (x->ev[i].kind == HT_EV_TIME) {
			assert_true(x->ev[i].b > now);
			now = x->ev[i].b;
		}
		if (x->ev[i].kind == HT_EV_BRANCH && x->ev[i].insn == HT_INSN_COND)
			at[n++] = now;
	}
	return n;
}

static void
check(struct hand *x, struct clock c, uint64_t worst)
{
	static struct model m;
	static uint64_t ours[2000];
	uint64_t late = 0, early = 0;

	for (uint64_t seed = 1; seed <= 8; seed++) {
		record(&m, x, c, seed);
		hand_engine = "native";
		hand_run(x);
		assert_int_equal(ht_decoder_stats(x->d)->gaps, 0);
		assert_int_equal(times(x, ours), m.n);
		for (unsigned i = 0; i < m.n; i++) {
			if (m.when[i] > ours[i] && m.when[i] - ours[i] > late)
				late = m.when[i] - ours[i];
			if (ours[i] > m.when[i] && ours[i] - m.when[i] > early)
				early = ours[i] - m.when[i];
		}
	}
	print_message("at most %llu ticks behind the truth, %llu before it\n", (unsigned long long)late,
	              (unsigned long long)early);
	assert_true(late <= worst);
	/* Rounding: of crystal ticks, and of cycles. */
	assert_true(early <= (c.cycles ? 64 : 2));
}

/* With MTC alone the time is that of the last MTC: at most one period old. */
static void
by_crystal(void **state)
{
	(void)state;
	check(*state, (struct clock){ .num = 84, .den = 1, .nominal = 21, .cbr = 21 }, 84);
	check(*state, (struct clock){ .num = 308, .den = 2, .shift = 3, .nominal = 37, .cbr = 37 }, 154 * 8);
	check(*state, (struct clock){ .num = 250, .den = 3, .shift = 5, .nominal = 20, .cbr = 37 }, 84 * 32);
}

/* Cycles fill in between. */
static void
by_cycles(void **state)
{
	(void)state;
	check(*state, (struct clock){ .num = 84, .den = 1, .nominal = 21, .cbr = 21, .cycles = 1 }, 84);
	check(*state, (struct clock){ .num = 308, .den = 2, .shift = 3, .nominal = 37, .cbr = 20, .cycles = 1 }, 64);
	check(*state, (struct clock){ .num = 250, .den = 3, .shift = 9, .nominal = 20, .cbr = 37, .cycles = 1 }, 64);
}

static int
near(uint64_t a, uint64_t b)
{
	return (a > b ? a - b : b - a) <= 2;
}

/* Where no CYC makes libipt calibrate, it says the same. */
static void
as_libipt(void **state)
{
	static struct model m;
	static uint64_t ours[2000], theirs[2000];
	const struct clock c = { .num = 308, .den = 2, .shift = 3, .nominal = 37, .cbr = 37 };
	struct hand *x = *state;
	unsigned n, same = 0;

	if (!ht_engine_can("libipt", HT_SOURCE_INTEL_PT))
		skip();
	for (uint64_t seed = 11; seed <= 16; seed++) {
		record(&m, x, c, seed);
		hand_engine = "native";
		hand_run(x);
		n = times(x, ours);
		hand_engine = "libipt";
		hand_decode(x, 64);
		assert_int_equal(times(x, theirs), n);
		/* Rounding apart; and it may tell a time one branch late, but no later. */
		for (unsigned i = 1; i < n; i++) {
			assert_true(theirs[i] + 2 >= ours[i - 1] && theirs[i] <= ours[i] + 2);
			same += near(theirs[i], ours[i]);
		}
		assert_true(same * 10 >= n * 5);
		same = 0;
	}
}

#define T(f) cmocka_unit_test_setup_teardown(f, hand_setup, hand_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = { T(by_crystal), T(by_cycles), T(as_libipt) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
