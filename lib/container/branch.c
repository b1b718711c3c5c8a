/* SPDX-License-Identifier: BSD-2-Clause */
#include <linux/perf_event.h>

#include <hwtrace/branch.h>

#include "base/cursor.h"

void
ht_branch_entry_read(const uint8_t *at, struct ht_branch_entry *out)
{
	uint64_t flags = ht_le(at + 16, 8);

	*out = (struct ht_branch_entry){
		.from = ht_le(at, 8),
		.to = ht_le(at + 8, 8),
		.mispred = flags & 1,
		.predicted = flags >> 1 & 1,
		.in_tx = flags >> 2 & 1,
		.abort = flags >> 3 & 1,
		.cycles = (uint16_t)(flags >> 4),
		.type = flags >> HT_BRANCH_TYPE_SHIFT & 15,
		.spec = flags >> 24 & 3,
		.new_type = flags >> 26 & 15,
		.priv = flags >> 30 & 7,
	};
}

const char *
ht_branch_type_name(const struct ht_branch_entry *e)
{
	static const char *const names[16] = {
		[PERF_BR_COND] = "COND",           [PERF_BR_UNCOND] = "UNCOND",
		[PERF_BR_IND] = "IND",             [PERF_BR_CALL] = "CALL",
		[PERF_BR_IND_CALL] = "IND_CALL",   [PERF_BR_RET] = "RET",
		[PERF_BR_SYSCALL] = "SYSCALL",     [PERF_BR_SYSRET] = "SYSRET",
		[PERF_BR_COND_CALL] = "COND_CALL", [PERF_BR_COND_RET] = "COND_RET",
		[PERF_BR_ERET] = "ERET",           [PERF_BR_IRQ] = "IRQ",
		[PERF_BR_SERROR] = "SERROR",       [PERF_BR_NO_TX] = "NO_TX",
	};
	static const char *const more[16] = {
		[PERF_BR_NEW_FAULT_ALGN] = "FAULT_ALGN", [PERF_BR_NEW_FAULT_DATA] = "FAULT_DATA",
		[PERF_BR_NEW_FAULT_INST] = "FAULT_INST", [PERF_BR_NEW_ARCH_1] = "ARCH_1",
		[PERF_BR_NEW_ARCH_2] = "ARCH_2",         [PERF_BR_NEW_ARCH_3] = "ARCH_3",
		[PERF_BR_NEW_ARCH_4] = "ARCH_4",         [PERF_BR_NEW_ARCH_5] = "ARCH_5",
	};
	const char *name = e->type == PERF_BR_EXTEND_ABI ? more[e->new_type & 15] : names[e->type & 15];

	return name ? name : "";
}

const char *
ht_branch_spec_name(const struct ht_branch_entry *e)
{
	static const char *const names[4] = { "", "WRONG_PATH", "NON_SPEC_CORRECT_PATH",
		                              "SPEC_CORRECT_PATH" };

	return names[e->spec & 3];
}
