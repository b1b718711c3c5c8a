/* SPDX-License-Identifier: BSD-2-Clause */
/* Losses that the sideband itself tells, and those of the files that belong to it. */
#include <string.h>

#include "base/vec.h"
#include "session/session.h"

/* Note a loss; a file full of them costs no more than HT_SESSION_GAPS. */
static int
gap_add(struct ht_session *s, struct ht_gap gap)
{
	struct ht_gap *at = NULL;

	gap.stream = HT_NO_STREAM;
	for (size_t i = HT_SESSION_GAPS; i < s->gaps.n && !at; i++)
		if (s->gaps.at[i].kind == gap.kind)
			at = &s->gaps.at[i];
	if (at) {
		at->records += gap.records;
		at->bytes += gap.bytes;
		at->ns_to = gap.ns_to;
		return 0;
	}
	at = ht_vec_push(&s->gaps);
	if (!at)
		return -HT_ENOMEM;
	*at = gap;
	return 0;
}

int
ht_session_lost(struct ht_session *s, const struct ht_record *rec)
{
	int samples = rec->u.lost.samples;

	s->lost += rec->u.lost.lost;
	if (rec->u.lost.why)
		return gap_add(s, (struct ht_gap){ .kind = rec->u.lost.kind,
		                                   .offset = rec->file_offset,
		                                   .why = rec->u.lost.why,
		                                   .pid = rec->pid > 0 ? rec->pid : 0,
		                                   .tid = rec->tid > 0 ? rec->tid : 0,
		                                   .ns_from = rec->time,
		                                   .ns_to = rec->time });
	return gap_add(s, (struct ht_gap){ .kind = samples ? HT_GAP_SAMPLES : HT_GAP_RECORDS,
	                                   .offset = rec->file_offset,
	                                   .records = rec->u.lost.lost,
	                                   .ns_from = rec->time,
	                                   .ns_to = rec->time,
	                                   .why = samples
	                                              ? "the kernel had no room for samples"
	                                              : "the recorder was too slow for the kernel: "
	                                                "mappings and threads may be missing" });
}

int
ht_session_damaged(struct ht_session *s, const struct ht_diag *diag, uint64_t n)
{
	char line[1024];
	const char *why = diag ? ht_diag_line(diag, line, sizeof(line)) : "a record cannot be read";

	if (!s->damaged && diag)
		s->diag = *diag;
	s->damaged += n;
	why = s->gaps.n < HT_SESSION_GAPS ? ht_session_keep(s, why, strlen(why) + 1)
	                                  : "more records that cannot be read";
	return why ? gap_add(s, (struct ht_gap){ .kind = HT_GAP_DAMAGED,
	                                         .records = n,
	                                         .why = why,
	                                         .offset = diag && diag->offset != HT_NO_OFFSET
	                                                       ? diag->offset
	                                                       : 0 })
	           : -HT_ENOMEM;
}

/* The file's early end.  A cut in the trace is the decoder's to tell: it knows what was there. */
int
ht_session_cut(struct ht_session *s)
{
	const struct ht_capture_info *info = ht_container_info(s->container);

	if (!info->truncated)
		return 0;
	return gap_add(
	    s, (struct ht_gap){
		   .kind = HT_GAP_CUT,
		   .offset = info->truncated_at,
		   .why = "the file ends early: what the recorder had still to write is missing" });
}

const struct ht_diag *
ht_session_diag(const struct ht_session *s, uint64_t *damaged, uint64_t *lost)
{
	if (damaged)
		*damaged = s->damaged;
	if (lost)
		*lost = s->lost;
	return &s->diag;
}

const struct ht_gap *
ht_session_gap(const struct ht_session *s, uint32_t i)
{
	return i < s->gaps.n ? &s->gaps.at[i] : NULL;
}
