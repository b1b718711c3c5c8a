/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "hand.h"

const char *hand_engine;

int
hand_setup(void **state)
{
	struct hand *x = calloc(1, sizeof(*x));

	fake_init(&x->fake);
	x->p = x->trace;
	*state = x;
	return 0;
}

int
hand_teardown(void **state)
{
	struct hand *x = *state;

	ht_decoder_free(x->d);
	ht_session_close(x->s);
	free(x);
	return 0;
}

/* PSB+ that says: 64-bit code, at `ip` (0: tracing is off), time `tsc` (0: none). */
void
hand_psb(struct hand *x, uint64_t ip, uint64_t tsc)
{
	x->p = ht_pt_psb(x->p);
	if (tsc)
		x->p = ht_pt_tsc(x->p, tsc);
	x->p = ht_pt_mode_exec(x->p, 1, 0);
	if (ip)
		x->p = ht_pt_ip(x->p, HT_PT_FUP, ip, HT_PT_NO_BASE);
	x->p = ht_pt_psbend(x->p);
}

void
hand_ip(struct hand *x, enum ht_pt_kind kind, uint64_t ip)
{
	x->p = ip ? ht_pt_ip(x->p, kind, ip, HT_PT_NO_BASE) : ht_pt_ip_none(x->p, kind);
}

/* Outcomes as text, oldest first: "TNT". */
void
hand_tnt(struct hand *x, const char *outcomes)
{
	uint64_t bits = 1;

	for (; *outcomes; outcomes++)
		bits = bits << 1 | (*outcomes == 'T');
	x->p = ht_pt_tnt_short(x->p, bits);
}

size_t
hand_size(const struct hand *x)
{
	return (size_t)(x->p - x->trace);
}

/* Decode the stream that the fake has, `batch` events at a time. */
void
hand_decode(struct hand *x, int batch)
{
	struct ht_decoder_config config = { .size = sizeof(config), .engine = hand_engine };
	struct ht_diag diag = { 0 };
	int n;

	ht_decoder_free(x->d);
	ht_session_close(x->s);
	x->d = NULL;
	x->n = 0;
	x->s = fake_session(&x->fake, NULL);
	assert_int_equal(ht_decoder_new(x->s, 0, &config, &x->d, &diag), 0);
	while ((n = ht_decoder_next(x->d, x->ev + x->n, batch)) > 0) {
		for (int i = 0; i < n; i++)
			x->generation[x->n + i] = ht_view_generation(ht_decoder_view(x->d));
		x->n += n;
		assert_true(x->n + batch <= 4096);
	}
	assert_int_equal(n, 0);
	assert_int_equal(ht_decoder_next(x->d, x->ev, batch), 0);
	assert_int_equal(ht_decoder_stats(x->d)->bytes, x->fake.stream.bytes);
	assert_true(ht_decoder_stats(x->d)->bytes_skipped <= x->fake.stream.bytes);
	assert_int_equal(ht_decoder_stats(x->d)->bytes_decoded + ht_decoder_stats(x->d)->bytes_skipped,
	                 x->fake.stream.bytes);
}

void
hand_run(struct hand *x)
{
	fake_trace(&x->fake, 1, 1, x->trace, hand_size(x));
	hand_decode(x, 64);
}

/* Flow events as text: one line each, addresses relative to HAND_BASE. */
static const char *
flow(const struct hand *x, char *buf, size_t room)
{
	static const char *const names[] = {
		[HT_INSN_COND] = "cond", [HT_INSN_JUMP] = "jmp", [HT_INSN_CALL] = "call",
		[HT_INSN_JUMP_IND] = "jmp*", [HT_INSN_CALL_IND] = "call*", [HT_INSN_RET] = "ret",
		[HT_INSN_SYSCALL] = "syscall", [HT_INSN_SYSRET] = "sysret", [HT_INSN_FAR] = "far",
		[HT_INSN_OTHER] = "?",
	};
	size_t n = 0;

	buf[0] = 0;
	for (int i = 0; i < x->n && n < room; i++) {
		const struct ht_event *e = &x->ev[i];
		unsigned a = (unsigned)(e->a - HAND_BASE), b = (unsigned)(e->b - HAND_BASE);

		if (e->kind == HT_EV_BLOCK)
			n += (size_t)snprintf(buf + n, room - n, "%x-%x %u; ", a, b, e->n);
		if (e->kind == HT_EV_BRANCH)
			n += (size_t)snprintf(buf + n, room - n, "%s%s %x>%x; ", names[e->insn],
			                      e->flags & HT_BR_TAKEN ? "" : "-", a, e->b ? b : 0xfff);
		if (e->kind == HT_EV_DISABLE)
			n += (size_t)snprintf(buf + n, room - n, "off %x; ", a);
		if (e->kind == HT_EV_ENABLE)
			n += (size_t)snprintf(buf + n, room - n, "on %x; ", b);
		if (e->kind == HT_EV_ASYNC)
			n += (size_t)snprintf(buf + n, room - n, "async %x>%x; ", a, b);
		if (e->kind == HT_EV_GAP)
			n += (size_t)snprintf(buf + n, room - n, "gap %u; ",
			                      ht_decoder_gap(x->d, e->n)->kind);
	}
	return buf;
}

void
hand_flow_is(const struct hand *x, const char *want)
{
	char buf[8192];

	assert_string_equal(flow(x, buf, sizeof(buf)), want);
}
