/* SPDX-License-Identifier: BSD-2-Clause */
/* Text into pages: the one place that escapes. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "html.h"

/* Bytes of the UTF-8 character at `s`, `n` at most; 0: it is none that may stand in a page. */
static size_t
character(const unsigned char *s, size_t n)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t len = s[0] < 0x80   ? 1
	             : s[0] < 0xc2 ? 0
	             : s[0] < 0xe0 ? 2
	             : s[0] < 0xf0 ? 3
	             : s[0] < 0xf5 ? 4
	                           : 0;
	uint32_t c = len > 1 ? s[0] & (0x7fu >> len) : s[0];

	if (!len || len > n)
		return 0;
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least[len] || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff || (c & 0xfffe) == 0xfffe)
		return 0;
	/* Controls, and marks that turn the order of text around: a line shall look as it is. */
	if ((c < 0x20 && c != '\t') || (c >= 0x7f && c < 0xa0) || (c >= 0x202a && c <= 0x202e) ||
	    (c >= 0x2066 && c <= 0x2069) || (c >= 0xfdd0 && c <= 0xfdef))
		return 0;
	return len;
}

void
html_text(FILE *f, const char *s, size_t n)
{
	size_t len;

	for (size_t i = 0; i < n; i += len) {
		len = character((const unsigned char *)s + i, n - i);
		if (len == 0) {
			fputs("\xef\xbf\xbd", f);
			len = 1;
		} else if (s[i] == '<') {
			fputs("&lt;", f);
		} else if (s[i] == '>') {
			fputs("&gt;", f);
		} else if (s[i] == '&') {
			fputs("&amp;", f);
		} else if (s[i] == '"') {
			fputs("&quot;", f);
		} else if (s[i] == '\'') {
			fputs("&#39;", f);
		} else {
			fwrite(s + i, 1, len, f);
		}
	}
}

void
html(FILE *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	for (const char *p = fmt; *p; p++) {
		if (*p != '%') {
			putc(*p, f);
			continue;
		}
		if (*++p == 's') {
			const char *s = va_arg(ap, const char *);

			html_text(f, s, strlen(s));
		} else if (*p == 'u') {
			fprintf(f, "%u", va_arg(ap, unsigned));
		} else if (!strncmp(p, "llu", 3)) {
			fprintf(f, "%llu", va_arg(ap, unsigned long long));
			p += 2;
		} else if (!strncmp(p, "llx", 3)) {
			fprintf(f, "%llx", va_arg(ap, unsigned long long));
			p += 2;
		} else {
			putc('%', f);
		}
	}
	va_end(ap);
}

const char *
html_class(unsigned state)
{
	return state == HT_COV_HIT ? "h" : state == HT_COV_UNKNOWN ? "u" : "m";
}

void
html_percent(FILE *f, const struct ht_cov_tally *t)
{
	if (t->all == t->unknown)
		fputs("\xe2\x80\x93", f);
	else
		fprintf(f, "%.1f%%", ht_cov_percent(t));
}

void
html_bar(FILE *f, const struct ht_cov_tally *t)
{
	double all = t->all ? (double)t->all : 1;

	if (!t->all)
		return;
	fprintf(f, "<span class=\"bar\"><i style=\"width:%.1f%%\"></i>",
	        100 * (double)t->hit / all);
	if (t->unknown)
		fprintf(f, "<i class=\"u\" style=\"width:%.1f%%\"></i>",
		        100 * (double)t->unknown / all);
	fputs("</span>", f);
}

void
html_cells(FILE *f, const struct ht_cov_tally *t)
{
	unsigned long long known = t->all - t->unknown;

	fputs("<td class=\"p\">", f);
	html_percent(f, t);
	if (known)
		html(f, "</td><td class=\"r\">%llu<span>/%llu</span></td>", known - t->hit, known);
	else
		fputs("</td><td class=\"r\"></td>", f);
}

void
html_key(FILE *f, const char *name, const struct ht_cov_tally *t)
{
	html(f, "<span>%s <b>", name);
	html_percent(f, t);
	html(f, "</b> %llu of %llu", (unsigned long long)t->hit,
	     (unsigned long long)(t->all - t->unknown));
	if (t->unknown)
		html(f, ", %llu unknown", (unsigned long long)t->unknown);
	fputs("</span>\n", f);
}

char *
html_page_name(const char *folder, const char *name, const char *key)
{
	const char *base = strrchr(name, '/');
	uint64_t h = 0xcbf29ce484222325u;
	char plain[61], *out;
	size_t n = 0;

	for (const char *s = base ? base + 1 : name; *s && n < sizeof(plain) - 1; s++)
		plain[n++] =
		    (char)(strchr(
			       "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._",
			       *s)
		               ? *s
		               : '-');
	plain[n] = '\0';
	for (const char *s = key; *s; s++)
		h = (h ^ (uint8_t)*s) * 0x100000001b3u;
	if (asprintf(&out, "%s/%s-%016llx.html", folder, plain, (unsigned long long)h) < 0)
		return NULL;
	return out;
}
