/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "decode/pt/time.h"

void
ht_pt_time_init(struct ht_pt_time *t, const struct ht_cpu_info *cpu)
{
	memset(t, 0, sizeof(*t));
	t->num = cpu->tsc_ctc_num;
	t->den = cpu->tsc_ctc_den;
	t->shift = cpu->mtc_freq;
	t->nominal = cpu->nom_freq;
}

static void
raise_to(struct ht_pt_time *t, uint64_t tsc)
{
	if (tsc > t->tsc)
		t->tsc = tsc;
}

static uint64_t
ctc_to_tsc(const struct ht_pt_time *t, uint64_t ctc)
{
	return ctc / t->den * t->num + ctc % t->den * t->num / t->den;
}

static int
can_mtc(const struct ht_pt_time *t)
{
	return t->num && t->den && t->shift < 16;
}

/* [PT 33.4.2.13]: the TSC packet before gave the time at `fc` ticks behind CTC value `ctc`. */
static void
take_tma(struct ht_pt_time *t, uint32_t ctc, uint32_t fc)
{
	uint32_t below;

	if (!can_mtc(t) || !t->exact)
		return;
	below = ctc & ((1u << t->shift) - 1);
	t->last_mtc = ctc >> t->shift & 0xff;
	t->ctc_tsc = t->exact - fc - ctc_to_tsc(t, below);
	t->ctc = 0;
	t->have_tma = t->mtc_after_tma = 1;
}

static void
take_mtc(struct ht_pt_time *t, uint32_t mtc)
{
	uint32_t mask = 0xff;
	uint64_t tsc;

	if (!can_mtc(t) || !t->have_tma)
		return;
	/* The TMA gave 16 bits of the crystal's count: with a shift above 8 not all that an MTC has. */
	if (t->mtc_after_tma && t->shift > 8)
		mask = (1u << (16 - t->shift)) - 1;
	t->mtc_after_tma = 0;
	t->ctc += (uint64_t)((mtc - t->last_mtc) & mask) << t->shift;
	t->last_mtc = mtc;
	tsc = t->ctc_tsc + ctc_to_tsc(t, t->ctc);
	if (tsc > t->exact)
		t->exact = tsc;
	t->cycles = 0;
	raise_to(t, tsc);
}

void
ht_pt_time_cycles(struct ht_pt_time *t, uint64_t cycles)
{
	t->total_cycles += cycles;
	if (!t->exact)
		return;
	t->cycles += cycles;
	if (t->cbr && t->nominal && t->cycles < 1ull << 40)
		raise_to(t, t->exact + t->cycles * t->nominal / t->cbr);
}

int
ht_pt_time_packet(struct ht_pt_time *t, const struct ht_pt_packet *p)
{
	switch (p->kind) {
	case HT_PT_TSC:
		t->exact = p->value;
		t->cycles = 0;
		t->have_tma = 0;
		raise_to(t, p->value);
		return 1;
	case HT_PT_TMA:
		take_tma(t, (uint32_t)p->value, p->extra);
		return 1;
	case HT_PT_MTC:
		take_mtc(t, (uint32_t)p->value);
		return 1;
	case HT_PT_CYC:
		ht_pt_time_cycles(t, p->value);
		return 1;
	case HT_PT_CBR:
		t->cbr = (uint32_t)p->value & 0xff;
		t->exact = t->tsc; /* cycles before and after were of different length */
		t->cycles = 0;
		return 1;
	default:
		return 0;
	}
}
