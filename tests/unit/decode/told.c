/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/vec.h"
#include "decode/insn/x86.h"
#include "told.h"

struct told_item *
told_add(struct told *t, uint8_t kind, uint64_t a, uint64_t b)
{
	struct told_item *i = ht_vec_push(t);

	if (!i)
		abort();
	*i = (struct told_item){ .a = a, .b = b, .kind = kind };
	return i;
}

void
told_free(struct told *t)
{
	ht_vec_free(t);
	memset(t, 0, sizeof(*t));
}

static void
add_block(struct told *t, struct ht_view *v, const struct ht_event *ev, unsigned mode, size_t limit)
{
	uint64_t ip = ev->a;
	struct ht_x86_insn x;
	uint8_t bytes[HT_X86_MAX];
	size_t n;

	if (ev->n == 0)
		t->wrong = "a block of no instructions";
	for (uint32_t k = 0; k < ev->n && t->n < limit; k++) {
		n = ht_view_read(v, ip, bytes, sizeof(bytes));
		if (ht_x86_decode(bytes, n, ip, mode, &x) <= 0) {
			t->nonsense = 1;
			return;
		}
		told_add(t, TOLD_INSN, ip, 0)->insn = k + 1 == ev->n ? ev->insn : HT_INSN_OTHER;
		if (k + 1 < ev->n && x.insn != HT_INSN_OTHER)
			t->wrong = "a branch inside of a block";
		if (k + 1 == ev->n && (ip != ev->b || x.size != ev->size))
			t->wrong = "a block that does not end where it says";
		ip += x.size;
		if (mode != 64)
			ip &= 0xffffffff;
	}
}

static void
add_branch(struct told *t, const struct ht_event *ev)
{
	struct told_item *i = t->n ? &t->at[t->n - 1] : NULL;

	if (!i || i->kind != TOLD_INSN || i->a != ev->a || i->branch || i->insn != ev->insn) {
		t->wrong = "a branch that is not the end of the block before";
		return;
	}
	i->branch = 1;
	i->b = ev->b;
	i->taken = ev->flags & HT_BR_TAKEN;
}

static void
add_event(struct told *t, struct ht_decoder *d, const struct ht_event *ev, unsigned *mode, size_t limit)
{
	switch (ev->kind) {
	case HT_EV_BLOCK:
		add_block(t, ht_decoder_view(d), ev, *mode, limit);
		break;
	case HT_EV_BRANCH:
		add_branch(t, ev);
		break;
	case HT_EV_MODE:
		*mode = ev->n;
		break;
	case HT_EV_ENABLE:
		told_add(t, TOLD_ENABLE, ev->b, 0);
		break;
	case HT_EV_DISABLE:
		told_add(t, TOLD_DISABLE, ev->a, 0);
		break;
	case HT_EV_ASYNC:
		told_add(t, TOLD_ASYNC, ev->a, ev->b);
		break;
	case HT_EV_GAP:
		if (t->first_gap > t->n)
			t->first_gap = t->n;
		if (!ht_decoder_gap(d, ev->n))
			t->wrong = "a gap that is not there";
		else if (ev->a < t->gap_end)
			t->wrong = "a gap in front of the end of the one before";
		else
			told_add(t, TOLD_GAP, ev->a, ev->b)->insn = ht_decoder_gap(d, ev->n)->kind;
		t->gap_end = ev->a + ev->b;
		t->gap_bytes += ev->b;
		break;
	default:
		break;
	}
}

void
told_decode(struct told *t, struct ht_session *s, const char *engine, int batch, size_t limit)
{
	struct ht_decoder_config config = { .size = sizeof(config), .engine = engine };
	struct ht_event ev[HT_BATCH];
	struct ht_decoder *d;
	unsigned mode = 64;
	int n;

	memset(t, 0, sizeof(*t));
	t->first_gap = UINT64_MAX;
	assert_int_equal(ht_decoder_new(s, 0, &config, &d, NULL), 0);
	while ((n = ht_decoder_next(d, ev, batch)) > 0)
		for (int i = 0; i < n; i++)
			if (t->n < limit && !t->wrong && !t->nonsense)
				add_event(t, d, &ev[i], &mode, limit);
	assert_int_equal(n, 0);
	t->stats = *ht_decoder_stats(d);
	if (t->first_gap > t->n)
		t->first_gap = t->n;
	ht_decoder_free(d);
}

const char *
told_text(const struct told *t, size_t i, char *buf, size_t size)
{
	static const char *const kinds[] = { "insn", "gap", "enable", "disable", "async" };
	const struct told_item *x;

	if (i >= t->n)
		return "nothing";
	x = &t->at[i];
	snprintf(buf, size, "%s %" PRIx64 " -> %" PRIx64 " %s%s%s", kinds[x->kind], x->a, x->b,
	         x->kind == TOLD_GAP ? ht_gap_kind_name(x->insn)
	         : x->kind == TOLD_INSN && x->insn ? ht_insn_class_name(x->insn) : "",
	         x->taken ? " taken" : "", x->maybe ? " maybe" : "");
	return buf;
}
