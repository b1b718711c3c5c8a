/* SPDX-License-Identifier: BSD-2-Clause */
/* --itrace in perf's letters, and the lists that choose what is shown. */
#ifndef TOOL_ITRACE_H
#define TOOL_ITRACE_H

#include <stddef.h>
#include <stdint.h>

#define ITRACE_HELP "what to show: b branches, c calls, r returns, i<N>i every Nth instruction, x transactions, w ptwrite, e losses"

struct itrace {
	int      branches, calls, returns;
	uint64_t insn_period; /* 0 = no instructions */
	int      transactions, ptwrites, errors;
};

/* Returns 0, or -1 after saying on stderr what is wrong. NULL means "be". */
int itrace_parse(const char *text, struct itrace *out);

/* Numbers separated by commas, ranges as 2-5. */
struct id_list {
	struct id_range { int64_t first, last; } *at;
	unsigned n;
};

int  id_list_parse(const char *option, const char *text, struct id_list *out);
int  id_list_has(const struct id_list *l, int64_t id); /* an empty list has all */
void id_list_free(struct id_list *l);

/* Seconds with up to nine decimals, `len` bytes; 0 with *ns, or -1 without a word. */
int seconds_parse(const char *text, size_t len, uint64_t *ns);

#endif
