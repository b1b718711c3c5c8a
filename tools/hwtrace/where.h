/* SPDX-License-Identifier: BSD-2-Clause */
/* Which code is asked for: files and functions, for figures of what ran there. */
#ifndef TOOL_WHERE_H
#define TOOL_WHERE_H

#include <hwtrace/demangle.h>

#include "filter.h"

struct where_opts {
	struct opt_list dsos, syms;
};

#define WHERE_OPTS(type, member)                                                                   \
	{ 0, "dso", "FILE", OPT_LIST, offsetof(type, member.dsos),                                 \
	  "count only what runs in this file; may be given again" },                               \
	{ 0, "sym", "NAME", OPT_LIST, offsetof(type, member.syms),                                 \
	  "count only what runs in this function; may be given again" }

#define WHERE_SLOTS 8192

struct where {
	const struct where_opts *opts;
	const struct input      *in;
	uint8_t                 *dso_seen, *sym_seen; /* one a name asked for */
	char                     name[HT_DEMANGLE_MAX];
	struct where_slot { /* of [start, end) all is wanted, or nothing */
		uint64_t start, end, generation;
		int      wanted;
	} slots[WHERE_SLOTS];
};

/* 0 or -HT_ENOMEM. */
int  where_init(struct where *w, const struct where_opts *opts, const struct input *in);
void where_fini(struct where *w);
/* A new stream begins: what is kept is of other address spaces. */
void where_stream(struct where *w);
/* Instructions of the BLOCK `ev`, 0 or 1 for a BRANCH, that are asked for. */
uint64_t where_count(struct where *w, struct ht_view *view, const struct ht_event *ev);
void where_tell_unmatched(const struct where *w);

#endif
