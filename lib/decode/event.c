/* SPDX-License-Identifier: BSD-2-Clause */
#include <hwtrace/event.h>

static const char *const gap_names[] = {
	[HT_GAP_OVERFLOW] = "overflow",
	[HT_GAP_AUX_LOST] = "AUX data lost",
	[HT_GAP_AUX_TRUNCATED] = "AUX data truncated",
	[HT_GAP_NO_CODE] = "missing code",
	[HT_GAP_CODE_CHANGED] = "code changed since recording",
	[HT_GAP_MISMATCH] = "trace does not fit the code",
	[HT_GAP_BAD_PACKET] = "bad packet",
	[HT_GAP_CUT] = "file cut short",
	[HT_GAP_SYNC] = "not synchronised",
	[HT_GAP_KILLED] = "killed while running",
	[HT_GAP_RECORDS] = "sideband records lost",
	[HT_GAP_SAMPLES] = "samples lost",
	[HT_GAP_DAMAGED] = "damaged records",
	[HT_GAP_UNTRACED] = "not traced",
	[HT_GAP_UNFOLLOWED] = "program not followed",
};

static const char *const insn_names[] = {
	[HT_INSN_OTHER] = "other",
	[HT_INSN_COND] = "conditional jump",
	[HT_INSN_JUMP] = "jump",
	[HT_INSN_CALL] = "call",
	[HT_INSN_JUMP_IND] = "indirect jump",
	[HT_INSN_CALL_IND] = "indirect call",
	[HT_INSN_RET] = "return",
	[HT_INSN_SYSCALL] = "system call",
	[HT_INSN_SYSRET] = "system return",
	[HT_INSN_FAR] = "far transfer",
};

_Static_assert(sizeof(gap_names) / sizeof(*gap_names) == HT_GAP_KIND_COUNT, "one name a kind");
_Static_assert(sizeof(insn_names) / sizeof(*insn_names) == HT_INSN_CLASS_COUNT, "one name a class");

const char *
ht_gap_kind_name(unsigned kind)
{
	return kind < HT_GAP_KIND_COUNT ? gap_names[kind] : "unknown";
}

const char *
ht_insn_class_name(unsigned insn)
{
	return insn < HT_INSN_CLASS_COUNT ? insn_names[insn] : "unknown";
}
