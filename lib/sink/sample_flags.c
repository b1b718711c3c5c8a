/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include <hwtrace/sample.h>

static const struct { unsigned flags; const char *name; } names[] = {
	{ HT_SF_BRANCH | HT_SF_CALL, "call" },
	{ HT_SF_BRANCH | HT_SF_RETURN, "return" },
	{ HT_SF_BRANCH | HT_SF_COND, "jcc" },
	{ HT_SF_BRANCH, "jmp" },
	{ HT_SF_BRANCH | HT_SF_CALL | HT_SF_INT, "int" },
	{ HT_SF_BRANCH | HT_SF_RETURN | HT_SF_INT, "iret" },
	{ HT_SF_BRANCH | HT_SF_CALL | HT_SF_SYSCALL, "syscall" },
	{ HT_SF_BRANCH | HT_SF_RETURN | HT_SF_SYSCALL, "sysret" },
	{ HT_SF_BRANCH | HT_SF_ASYNC, "async" },
	{ HT_SF_BRANCH | HT_SF_CALL | HT_SF_ASYNC | HT_SF_INT, "hw int" },
	{ HT_SF_BRANCH | HT_SF_TX_ABORT, "tx abrt" },
	{ HT_SF_BRANCH | HT_SF_BEGIN, "tr strt" },
	{ HT_SF_BRANCH | HT_SF_END, "tr end" },
};

static const char *
name_of(unsigned flags)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].flags == flags)
			return names[i].name;
	return NULL;
}

const char *
ht_sample_flags_text(unsigned flags, char buf[HT_SAMPLE_FLAGS_TEXT])
{
	const char *tx = flags & HT_SF_IN_TX ? "(x)" : "";
	const char *name;

	flags &= ~HT_SF_IN_TX;
	if ((name = name_of(flags)))
		snprintf(buf, HT_SAMPLE_FLAGS_TEXT, "%-15s%6s", name, tx);
	else if (flags & HT_SF_BEGIN && (name = name_of(flags & ~HT_SF_BEGIN)))
		snprintf(buf, HT_SAMPLE_FLAGS_TEXT, "tr strt %-7s%6s", name, tx);
	else if (flags & HT_SF_END && (name = name_of(flags & ~HT_SF_END)))
		snprintf(buf, HT_SAMPLE_FLAGS_TEXT, "tr end  %-7s%6s", name, tx);
	else
		snprintf(buf, HT_SAMPLE_FLAGS_TEXT, "%-15s%6s", "", tx);
	return buf;
}
