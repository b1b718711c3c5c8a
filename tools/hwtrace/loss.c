/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "command.h"
#include "loss.h"

/* Where the text of such a loss is kept; NULL = of another kind. */
static char *
untraced(struct loss *l, unsigned kind)
{
	return kind == HT_GAP_UNTRACED     ? l->untraced[0]
	       : kind == HT_GAP_UNFOLLOWED ? l->untraced[1]
	                                   : NULL;
}

const char *
loss_sentence(const struct ht_gap *gap, char buf[LOSS_TEXT_MAX])
{
	char who[64] = "";

	if (gap->pid && gap->tid && gap->tid != gap->pid)
		snprintf(who, sizeof(who), "thread %d of process %d: ", gap->tid, gap->pid);
	else if (gap->pid)
		snprintf(who, sizeof(who), "process %d: ", gap->pid);
	snprintf(buf, LOSS_TEXT_MAX, "%s%s", who, gap->why);
	return buf;
}

void
loss_add(struct loss *l, const struct ht_gap *gap)
{
	char *text = untraced(l, gap->kind);

	if (gap->kind >= HT_GAP_KIND_COUNT)
		return;
	l->places[gap->kind]++;
	l->bytes[gap->kind] += gap->bytes;
	l->records[gap->kind] += gap->records;
	if (text && !text[0])
		loss_sentence(gap, text);
}

void
loss_add_session(struct loss *l, const struct ht_session *s)
{
	int cut = l->places[HT_GAP_CUT] != 0;
	const struct ht_gap *gap;

	for (uint32_t i = 0; s && (gap = ht_session_gap(s, i)); i++)
		if (gap->kind != HT_GAP_CUT || !cut)
			loss_add(l, gap);
}

void
loss_merge(struct loss *l, const struct loss *from)
{
	for (unsigned k = 0; k < HT_GAP_KIND_COUNT; k++) {
		l->places[k] += from->places[k];
		l->bytes[k] += from->bytes[k];
		l->records[k] += from->records[k];
	}
	for (unsigned i = 0; i < 2; i++)
		if (!l->untraced[i][0])
			memcpy(l->untraced[i], from->untraced[i], LOSS_TEXT_MAX);
}

uint64_t
loss_places(const struct loss *l)
{
	uint64_t n = 0;

	for (unsigned k = 0; k < HT_GAP_KIND_COUNT; k++)
		n += l->places[k];
	return n;
}

/* What is known of the size of what was lost, or who it is, behind the number of places. */
static const char *
size_text(const struct loss *l, unsigned kind, char *buf, size_t size)
{
	unsigned long long bytes = l->bytes[kind], records = l->records[kind];

	const char *who = untraced((struct loss *)l, kind);

	if (who)
		snprintf(buf, size, l->places[kind] == 1 ? ": %s" : ", the first: %s", who);
	else if (kind == HT_GAP_KILLED)
		snprintf(buf, size, ", at most one block%s", l->places[kind] == 1 ? "" : " each");
	else if (bytes)
		snprintf(buf, size, ", %llu byte%s", bytes, bytes == 1 ? "" : "s");
	else if (records)
		snprintf(buf, size, ", %llu record%s", records, records == 1 ? "" : "s");
	else
		snprintf(buf, size, ", bytes not known");
	return buf;
}

const char *
loss_text(const struct loss *l, char *buf, size_t size)
{
	size_t used = 0;

	if (!loss_places(l)) {
		snprintf(buf, size, "nothing");
		return buf;
	}
	buf[0] = 0;
	for (unsigned k = 0; k < HT_GAP_KIND_COUNT; k++) {
		char bytes[LOSS_TEXT_MAX + 32];

		if (!l->places[k] || used >= size)
			continue;
		used += (size_t)snprintf(
		    buf + used, size - used, "%s%s (%llu place%s%s)", used ? ", " : "",
		    ht_gap_kind_name(k), (unsigned long long)l->places[k],
		    l->places[k] == 1 ? "" : "s", size_text(l, k, bytes, sizeof(bytes)));
	}
	return buf;
}

int
loss_report(const struct loss *l, int fail)
{
	char text[4 * LOSS_TEXT_MAX];

	if ((l->places[HT_GAP_NO_CODE] || l->places[HT_GAP_CODE_CHANGED]) &&
	    l->places[HT_GAP_MISMATCH])
		tool_warn("code is missing, and what returns into it cannot be followed either: "
		          "that the trace "
		          "does not fit the code may be a consequence, too");
	fprintf(stderr, "lost: %s\n", loss_text(l, text, sizeof(text)));
	return fail && loss_places(l) ? EXIT_LOSS : EXIT_OK;
}
