/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Losses: one capture a kind, made so that what ran before and behind the gap is
 * beyond doubt: tracing is off in front of it.  Every PT engine must list the
 * same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <hwtrace/losses.h>

#include "decode/hand.h"

/* 400011 jmp *%rax; 400013 syscall */
static const uint8_t program[] = { 0xff, 0xe0, 0x0f, 0x05 };

#define JUMP (HAND_BASE + 0x11)
#define CALL (HAND_BASE + 0x13)
#define FAR  (HAND_BASE + 0x5000)

/* The end of the trace: two instructions, jump and syscall. */
static void
two(struct hand *x)
{
	hand_ip(x, HT_PT_TIP, CALL);
	hand_ip(x, HT_PT_TIP_PGD, 0);
}

struct kind {
	enum ht_gap_kind kind;
	void (*make)(struct hand *x);
	unsigned chunk_lost; /* HT_LOST_*: the bytes behind the mark are a chunk of their own */
	uint64_t bytes;      /* UINT64_MAX: the engines need not agree */
	unsigned before, behind;
};

static size_t mark;

static void
overflow(struct hand *x)
{
	mark = hand_size(x);
	x->p = ht_pt_ovf(x->p);
	x->p = ht_pt_tsc(x->p, 200);
	hand_ip(x, HT_PT_TIP_PGE, JUMP);
	two(x);
}

static void
chunk(struct hand *x)
{
	mark = hand_size(x);
	hand_psb(x, JUMP, 200);
	two(x);
}

static void
bad_packet(struct hand *x)
{
	mark = hand_size(x);
	memcpy(x->p, "\x02\xff", 2); /* there is no such packet */
	x->p += 2;
	hand_psb(x, JUMP, 200);
	two(x);
}

static void
no_code(struct hand *x)
{
	hand_ip(x, HT_PT_TIP_PGE, HAND_BASE + 0x9000);
	mark = hand_size(x);
	hand_tnt(x, "T");
	hand_psb(x, JUMP, 200);
	two(x);
}

static void
changed(struct hand *x)
{
	hand_ip(x, HT_PT_TIP_PGE, FAR + 0x80);
	mark = hand_size(x);
	hand_tnt(x, "T");
	hand_psb(x, JUMP, 200);
	two(x);
}

static void
mismatch(struct hand *x)
{
	mark = hand_size(x);
	hand_tnt(x, "T"); /* although tracing is off */
	hand_psb(x, JUMP, 200);
	two(x);
}

static void
cut(struct hand *x)
{
	mark = hand_size(x);
	hand_ip(x, HT_PT_TIP_PGE, JUMP);
	x->p -= 2;
}

static const struct kind kinds[] = {
	{ HT_GAP_OVERFLOW, overflow, 0, 0, 1, 2 },
	{ HT_GAP_AUX_LOST, chunk, HT_LOST_AUX, 1000, 1, 2 },
	{ HT_GAP_AUX_TRUNCATED, chunk, HT_LOST_TRUNCATED, 0, 1, 2 },
	{ HT_GAP_NO_CODE, no_code, 0, UINT64_MAX, 1, 2 },
	{ HT_GAP_CODE_CHANGED, changed, 0, UINT64_MAX, 1, 2 },
	{ HT_GAP_MISMATCH, mismatch, 0, UINT64_MAX, 1, 2 },
	{ HT_GAP_BAD_PACKET, bad_packet, 0, 2, 1, 2 },
	{ HT_GAP_CUT, cut, 0, 5, 1, 0 },
};

static struct ht_losses *
list(struct hand *x, size_t max)
{
	struct ht_losses *l;

	assert_int_equal(ht_losses_new(max, &l), 0);
	assert_int_equal(ht_losses_events(l, x->d, x->ev, x->n), 0);
	ht_losses_end_stream(l);
	return l;
}

static void
code(struct hand *x)
{
	struct ht_record *r;

	fake_code(&x->fake, 0, 1, JUMP, program, sizeof(program));
	r = fake_map(&x->fake, 0, 1, FAR, 0x1000, 0, "/proc/self/exe");
	r->u.map.build_id_size = 20; /* zeros: not what this program has */
}

static void
each_kind(void **state)
{
	struct hand *x = *state;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		const struct kind *k = &kinds[i];
		const struct ht_loss *loss;
		struct ht_losses *l;

		fake_init(&x->fake);
		x->p = x->trace;
		code(x);
		hand_psb(x, CALL, 100);
		hand_ip(x, HT_PT_TIP_PGD, 0);
		k->make(x);
		fake_trace(&x->fake, 1, 1, x->trace, k->chunk_lost ? mark : hand_size(x));
		if (k->chunk_lost) {
			struct ht_chunk *c =
			    fake_trace(&x->fake, 1, 1, x->trace + mark, hand_size(x) - mark);

			c->lost_before = (uint8_t)k->chunk_lost;
			c->stream_offset += k->bytes;
		}
		hand_decode(x, 64);
		l = list(x, 10);
		assert_int_equal(ht_losses_count(l), 1);
		loss = ht_losses_get(l, 0);
		assert_int_equal(loss->gap.kind, k->kind);
		assert_int_equal(loss->gap.stream, 0);
		assert_string_not_equal(loss->gap.why, "");
		assert_int_equal(loss->insns_before + loss->insns_after,
		                 ht_decoder_stats(x->d)->instructions);
		if (strcmp(hand_engine, "native") != 0 && k->kind == HT_GAP_BAD_PACKET) {
			/* It had read ahead, and told no instruction whose packets it had taken. */
			ht_losses_free(l);
			continue;
		}
		if (k->bytes != UINT64_MAX) {
			assert_int_equal(loss->gap.offset, mark);
			assert_int_equal(loss->gap.bytes, k->bytes);
		}
		assert_int_equal(loss->insns_before, k->before);
		assert_int_equal(loss->insns_after, k->behind);
		assert_int_equal(loss->next_ip, k->behind ? JUMP : 0);
		assert_int_equal(loss->gap.ns_from, 100);
		if (k->behind &&
		    k->make != overflow) /* libipt tells of it before the time behind it */
			assert_int_equal(loss->gap.ns_to, 200);
		assert_null(ht_losses_get(l, 1));
		ht_losses_free(l);
	}
}

/* Bytes in front of the first synchronisation point, and several gaps: what ran stands between them. */
static void
several(void **state)
{
	struct hand *x = *state;
	const struct ht_loss *a, *b, *c;
	struct ht_losses *l;

	code(x);
	hand_tnt(x, "TNT");
	hand_psb(x, JUMP, 100);
	two(x);
	overflow(x);
	overflow(x);
	hand_run(x);
	l = list(x, 10);
	assert_int_equal(ht_losses_count(l), 3);
	a = ht_losses_get(l, 0);
	b = ht_losses_get(l, 1);
	c = ht_losses_get(l, 2);
	assert_int_equal(a->gap.kind, HT_GAP_SYNC);
	assert_int_equal(a->insns_before, 0);
	assert_int_equal(a->insns_after, 2);
	assert_int_equal(b->insns_before, 2);
	assert_int_equal(b->insns_after, 2);
	assert_int_equal(c->insns_before, 2);
	assert_int_equal(c->insns_after, 2);
	assert_int_equal(a->insns_after + b->insns_after + c->insns_after,
	                 ht_decoder_stats(x->d)->instructions);
	ht_losses_free(l);
	/* A full list counts the rest, and the last that it holds ends where the next one begins. */
	l = list(x, 1);
	assert_int_equal(ht_losses_count(l), 1);
	assert_int_equal(ht_losses_more(l), 2);
	assert_int_equal(ht_losses_get(l, 0)->insns_after, 2);
	ht_losses_free(l);
	l = list(x, 0);
	assert_int_equal(ht_losses_count(l), 0);
	assert_int_equal(ht_losses_more(l), 3);
	ht_losses_free(l);
}

/* What the sideband says. */
static void
of_the_session(void **state)
{
	struct hand *x = *state;
	struct ht_record *r;
	const struct ht_loss *a;
	struct ht_losses *l;

	code(x);
	for (int i = 0; i < 2; i++) {
		r = fake_exit(&x->fake, 70 + (uint64_t)i, 1, 1);
		r->kind = HT_REC_LOST;
		r->file_offset = 0x123;
		r->u.lost.id = 0;
		r->u.lost.lost = 17;
		r->u.lost.samples = i;
	}
	x->fake.container.info.truncated = 1;
	x->fake.container.info.truncated_at = 0x456;
	hand_psb(x, JUMP, 100);
	two(x);
	hand_run(x);
	l = list(x, 10);
	assert_int_equal(ht_losses_session(l, x->s), 0);
	assert_int_equal(ht_losses_count(l), 3);
	for (int i = 0; i < 2; i++) {
		a = ht_losses_get(l, (size_t)i);
		assert_int_equal(a->gap.kind, i ? HT_GAP_SAMPLES : HT_GAP_RECORDS);
		assert_int_equal(a->gap.stream, HT_NO_STREAM);
		assert_int_equal(a->gap.offset, 0x123);
		assert_int_equal(a->gap.records, 17);
		assert_int_equal(a->gap.ns_from, 70 + i);
	}
	a = ht_losses_get(l, 2);
	assert_int_equal(a->gap.kind, HT_GAP_CUT);
	assert_int_equal(a->gap.offset, 0x456);
	ht_losses_free(l);
}

/* What was not traced: who, and why. */
static void
of_nobody_traced(void **state)
{
	struct hand *x = *state;
	const struct ht_loss *a;
	struct ht_losses *l;

	code(x);
	for (int i = 0; i < 2; i++) {
		struct ht_record *r = fake_exit(&x->fake, 70, 1, 2 - i);

		r->kind = HT_REC_LOST;
		memset(&r->u, 0, sizeof(r->u));
		r->u.lost.kind = i ? HT_GAP_UNFOLLOWED : HT_GAP_UNTRACED;
		r->u.lost.why = i ? "it is for another machine" : "there is no room";
	}
	hand_psb(x, JUMP, 100);
	two(x);
	hand_run(x);
	l = list(x, 10);
	assert_int_equal(ht_losses_session(l, x->s), 0);
	assert_int_equal(ht_losses_count(l), 2);
	for (int i = 0; i < 2; i++) {
		a = ht_losses_get(l, (size_t)i);
		assert_int_equal(a->gap.kind, i ? HT_GAP_UNFOLLOWED : HT_GAP_UNTRACED);
		assert_int_equal(a->gap.pid, 1);
		assert_int_equal(a->gap.tid, 2 - i);
		assert_int_equal(a->gap.records, 0);
		assert_int_equal(a->gap.ns_from, 70);
		assert_string_equal(a->gap.why,
		                    i ? "it is for another machine" : "there is no room");
	}
	ht_losses_free(l);
}

/* A cut that a stream told of is not told twice. */
static void
one_cut(void **state)
{
	struct hand *x = *state;
	struct ht_losses *l;

	code(x);
	x->fake.container.info.truncated = 1;
	hand_psb(x, CALL, 100);
	hand_ip(x, HT_PT_TIP_PGD, 0);
	cut(x);
	hand_run(x);
	l = list(x, 10);
	assert_int_equal(ht_losses_session(l, x->s), 0);
	assert_int_equal(ht_losses_count(l), 1);
	assert_int_equal(ht_losses_get(l, 0)->gap.stream, 0);
	ht_losses_free(l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_kind, hand_setup, hand_teardown),
		cmocka_unit_test_setup_teardown(several, hand_setup, hand_teardown),
		cmocka_unit_test_setup_teardown(of_the_session, hand_setup, hand_teardown),
		cmocka_unit_test_setup_teardown(of_nobody_traced, hand_setup, hand_teardown),
		cmocka_unit_test_setup_teardown(one_cut, hand_setup, hand_teardown),
	};
	int failed = 0;

	for (uint32_t i = 0; (hand_engine = ht_engine_name(i)); i++)
		if (ht_engine_can(hand_engine, HT_SOURCE_INTEL_PT))
			failed += cmocka_run_group_tests_name(hand_engine, tests, NULL, NULL);
	return failed;
}
