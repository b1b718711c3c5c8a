/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Branch stacks: the last branches before a sample, as Intel LBR, AMD LbrExtV2
 * and Arm BRBE record them.  A capture keeps the kernel's entries as they are,
 * 24 bytes each, the newest first.
 * [perf_event.h "struct perf_branch_entry"]
 */
#ifndef HWTRACE_BRANCH_H
#define HWTRACE_BRANCH_H

#include <stdint.h>

#define HT_BRANCH_ENTRY_SIZE 24
#define HT_BRANCH_TYPE_SHIFT 20 /* in the third word, 4 bits: PERF_BR_* */

enum ht_branch_spec {
	HT_SPEC_NA = 0,
	HT_SPEC_WRONG,       /* speculated, and thrown away: it never ran */
	HT_SPEC_NONE_RIGHT,  /* not speculated */
	HT_SPEC_RIGHT
};

/* Field values are the kernel's; 0 = the machine does not tell. */
struct ht_branch_entry {
	uint64_t from, to;  /* both 0: the slot was empty */
	uint16_t cycles;    /* since the entry before */
	uint8_t  mispred, predicted, in_tx, abort;
	uint8_t  type;      /* PERF_BR_* */
	uint8_t  new_type;  /* PERF_BR_NEW_*, when type is PERF_BR_EXTEND_ABI */
	uint8_t  spec;      /* enum ht_branch_spec */
	uint8_t  priv;      /* PERF_BR_PRIV_* */
};

/* The entry at `at`, which has HT_BRANCH_ENTRY_SIZE bytes. */
void ht_branch_entry_read(const uint8_t *at, struct ht_branch_entry *out);
/* perf's word for the kind of branch ("COND", "CALL", ...); "" when it is not told. */
const char *ht_branch_type_name(const struct ht_branch_entry *e);
/* perf's word for the speculation ("WRONG_PATH", ...); "" when it is not told. */
const char *ht_branch_spec_name(const struct ht_branch_entry *e);

#endif
