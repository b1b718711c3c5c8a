/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "command.h"
#include "loss.h"

void
loss_add(struct loss *l, const struct ht_gap *gap)
{
	if (gap->kind >= HT_GAP_KIND_COUNT)
		return;
	l->places[gap->kind]++;
	l->bytes[gap->kind] += gap->bytes;
}

uint64_t
loss_places(const struct loss *l)
{
	uint64_t n = 0;

	for (unsigned k = 0; k < HT_GAP_KIND_COUNT; k++)
		n += l->places[k];
	return n;
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
		char bytes[40] = "bytes not known";

		if (!l->places[k] || used >= size)
			continue;
		if (l->bytes[k])
			snprintf(bytes, sizeof(bytes), "%llu byte%s", (unsigned long long)l->bytes[k],
			         l->bytes[k] == 1 ? "" : "s");
		used += (size_t)snprintf(buf + used, size - used, "%s%s (%llu place%s, %s)", used ? ", " : "",
		                         ht_gap_kind_name(k), (unsigned long long)l->places[k],
		                         l->places[k] == 1 ? "" : "s", bytes);
	}
	return buf;
}

int
loss_report(struct loss *l, const struct ht_capture_info *info, int fail)
{
	char text[512];

	if (info && info->truncated && !l->places[HT_GAP_CUT])
		l->places[HT_GAP_CUT]++;
	fprintf(stderr, "lost: %s\n", loss_text(l, text, sizeof(text)));
	return fail && loss_places(l) ? EXIT_LOSS : EXIT_OK;
}
