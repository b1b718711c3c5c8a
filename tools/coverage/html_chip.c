/* SPDX-License-Identifier: BSD-2-Clause */
/* A branch as two small fields: how often it was taken, and how often not. */
#include "html.h"

void
html_count(char buf[16], uint64_t n)
{
	static const char units[] = "kMGTPE";
	int u = -1;

	for (; n >= 100000 || (u >= 0 && n >= 1000); n /= 1000)
		u++;
	snprintf(buf, 16, u < 0 ? "%llu" : "%llu%c", (unsigned long long)n, u < 0 ? 0 : units[u]);
}

static void
outcome(FILE *f, const char *letter, const struct ht_cov_branch *b, int taken)
{
	unsigned state = cover_outcome(b, taken);
	char count[16] = "?";

	if (state != HT_COV_UNKNOWN)
		html_count(count, taken ? b->taken : b->not_taken);
	html(f, "<i class=\"%s\">%s%s</i>", html_class(state), letter, count);
}

static void
say_outcome(FILE *f, const char *what, const struct ht_cov_branch *b, int taken)
{
	if (cover_outcome(b, taken) == HT_COV_UNKNOWN)
		html(f, "%s unknown", what);
	else
		html(f, "%s %llu", what, (unsigned long long)(taken ? b->taken : b->not_taken));
}

void
html_chip(FILE *f, const struct ht_cov_branch *b)
{
	html(f, "<span class=\"k\" title=\"0x%llx: ", (unsigned long long)b->addr);
	say_outcome(f, "taken", b, 1);
	if (!b->one)
		say_outcome(f, ", not taken", b, 0);
	fputs("\">", f);
	outcome(f, "T", b, 1);
	if (!b->one)
		outcome(f, "N", b, 0);
	fputs("</span>", f);
}
