/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Samples.  Fields stand in a fixed order, each there when its bit of the
 * event's sample_type is set; several have a length of their own, so that what
 * stands behind them is found only by reading them.
 * [perf_event.h "enum perf_event_type", PERF_RECORD_SAMPLE]
 */
#include "container/perfdata_impl.h"

/* Above what a record can hold; keeps products of counts small. */
#define COUNT_MAX 8192u

static void
skip_words(struct ht_cursor *k, uint64_t n)
{
	if (n > COUNT_MAX)
		k->failed = 1;
	else
		ht_cursor_take(k, (size_t)n * 8);
}

static void
skip_read(struct ht_cursor *k, uint64_t format)
{
	uint64_t each = 1 + !!(format & PERF_FORMAT_ID) + !!(format & PERF_FORMAT_LOST);
	uint64_t times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
	                 !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	uint64_t n = 1;

	if (format & PERF_FORMAT_GROUP)
		n = ht_cursor_u64(k);
	if (n > COUNT_MAX)
		k->failed = 1;
	else
		skip_words(k, times + n * each);
}

static void
skip_raw(struct ht_cursor *k)
{
	ht_cursor_take(k, ht_cursor_u32(k));
}

static void
take_stack(struct ht_cursor *k, const struct perf_event_attr *a, struct ht_record *r)
{
	uint64_t n = ht_cursor_u64(k);

	if (a->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
		r->u.sample.hw_idx = ht_cursor_u64(k);
	if (n > COUNT_MAX) {
		k->failed = 1;
		return;
	}
	r->u.sample.branches = ht_cursor_take(k, (size_t)n * HT_BRANCH_ENTRY_SIZE);
	r->u.sample.n_branches = k->failed ? 0 : (uint32_t)n;
	if (a->branch_sample_type & HT_PERF_SAMPLE_BRANCH_COUNTERS)
		r->u.sample.counters = ht_cursor_take(k, (size_t)n * 8);
}

static void
skip_regs(struct ht_cursor *k, uint64_t mask)
{
	if (ht_cursor_u64(k)) /* abi; 0 = none */
		skip_words(k, (uint64_t)__builtin_popcountll(mask));
}

static void
skip_stack_copy(struct ht_cursor *k)
{
	uint64_t n = ht_cursor_u64(k);

	if (n > UINT16_MAX) {
		k->failed = 1;
	} else if (n) {
		ht_cursor_take(k, (size_t)n);
		ht_cursor_u64(k); /* how much of it was filled */
	}
}

static void
take_aux(struct ht_cursor *k, struct ht_record *r)
{
	uint64_t n = ht_cursor_u64(k);

	if (n > UINT16_MAX) {
		k->failed = 1;
		return;
	}
	r->u.sample.aux = ht_cursor_take(k, (size_t)n);
	r->u.sample.aux_size = k->failed ? 0 : (uint32_t)n;
}

static void
take_fixed(struct ht_cursor *k, uint64_t type, struct ht_record *r)
{
	if (type & PERF_SAMPLE_IDENTIFIER)
		r->u.sample.id = ht_cursor_u64(k);
	if (type & PERF_SAMPLE_IP)
		r->u.sample.ip = ht_cursor_u64(k);
	if (type & PERF_SAMPLE_TID) {
		r->pid = (int32_t)ht_cursor_u32(k);
		r->tid = (int32_t)ht_cursor_u32(k);
	}
	if (type & PERF_SAMPLE_TIME)
		r->time = ht_cursor_u64(k);
	if (type & PERF_SAMPLE_ADDR)
		r->u.sample.addr = ht_cursor_u64(k);
	if (type & PERF_SAMPLE_ID)
		r->u.sample.id = ht_cursor_u64(k);
	if (type & PERF_SAMPLE_STREAM_ID)
		ht_cursor_u64(k);
	if (type & PERF_SAMPLE_CPU) {
		r->cpu = (int32_t)ht_cursor_u32(k);
		ht_cursor_u32(k);
	}
	if (type & PERF_SAMPLE_PERIOD)
		r->u.sample.period = ht_cursor_u64(k);
}

void
ht_perf_sample_parse(struct ht_cursor *k, const struct perf_event_attr *a, struct ht_record *r)
{
	static const uint64_t words[] = { /* behind the registers, 8 bytes each */
		PERF_SAMPLE_PHYS_ADDR, PERF_SAMPLE_CGROUP, PERF_SAMPLE_DATA_PAGE_SIZE,
		PERF_SAMPLE_CODE_PAGE_SIZE
	};
	uint64_t type = a->sample_type;

	take_fixed(k, type, r);
	if (type & PERF_SAMPLE_READ)
		skip_read(k, a->read_format);
	if (type & PERF_SAMPLE_CALLCHAIN)
		skip_words(k, ht_cursor_u64(k));
	if (type & PERF_SAMPLE_RAW)
		skip_raw(k);
	if (type & PERF_SAMPLE_BRANCH_STACK)
		take_stack(k, a, r);
	if (type & PERF_SAMPLE_REGS_USER)
		skip_regs(k, a->sample_regs_user);
	if (type & PERF_SAMPLE_STACK_USER)
		skip_stack_copy(k);
	if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
		ht_cursor_u64(k);
	if (type & PERF_SAMPLE_DATA_SRC)
		ht_cursor_u64(k);
	if (type & PERF_SAMPLE_TRANSACTION)
		ht_cursor_u64(k);
	if (type & PERF_SAMPLE_REGS_INTR)
		skip_regs(k, a->sample_regs_intr);
	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (type & words[i])
			ht_cursor_u64(k);
	if (type & PERF_SAMPLE_AUX)
		take_aux(k, r);
}
