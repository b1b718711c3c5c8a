/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The last line of every report: what was lost.  Gaps are added as the decoders
 * tell them; the line goes to stderr when all is decoded.
 */
#ifndef TOOL_LOSS_H
#define TOOL_LOSS_H

#include <stdio.h>

#include <hwtrace/event.h>
#include <hwtrace/session.h>

#define LOSS_TEXT_MAX 1024 /* of one loss in words; a longer text is cut */

struct loss {
	uint64_t places[HT_GAP_KIND_COUNT];
	uint64_t bytes[HT_GAP_KIND_COUNT];
	uint64_t records[HT_GAP_KIND_COUNT];
	char     untraced[2][LOSS_TEXT_MAX]; /* HT_GAP_UNTRACED, UNFOLLOWED: who and why, the first one */
};

/* Add what `from` has. */
void loss_merge(struct loss *l, const struct loss *from);
void loss_add(struct loss *l, const struct ht_gap *gap);
/*
 * What the sideband tells, once all streams of the capture were decoded: the
 * file's early end counts only when no decoder met it.
 */
void loss_add_session(struct loss *l, const struct ht_session *s);
/* "process 12: WHY", "thread 13 of process 12: WHY" or "WHY" into `buf`, which is returned. */
const char *loss_sentence(const struct ht_gap *gap, char buf[LOSS_TEXT_MAX]);
/* Total number of places; 0 = nothing was lost. */
uint64_t loss_places(const struct loss *l);
/* The text after "lost: " into `buf`, which is returned. */
const char *loss_text(const struct loss *l, char *buf, size_t size);
/*
 * "lost: nothing" or "lost: KIND (N places, B bytes), ..." on stderr.  Returns
 * EXIT_LOSS when `fail` is set and something was lost, else EXIT_OK.
 */
int loss_report(const struct loss *l, int fail);

#endif
