/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The report as a folder of pages: index.html, src/ with one page a file, the
 * style and the script beside them.  All that stands in the pages goes through
 * html(), which escapes text, so that no name or source line becomes markup.
 */
#ifndef COVERAGE_HTML_H
#define COVERAGE_HTML_H

#include "cover.h"

struct html {
	const char *dir;
	const struct cover *c;
	const struct ht_cov_report *r;
	char **pages; /* of r->files, "src/NAME.html" */
};

/* html_text.c: as printf, with %s, %u, %llu, %llx and %%; each %s is escaped. */
void html(FILE *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* `n` bytes as text: what is no UTF-8, and control characters, become U+FFFD. */
void html_text(FILE *f, const char *s, size_t n);
/* The class of what is hit, missed, unknown. */
const char *html_class(unsigned state);
/* "78.3%", or a dash when nothing is known. */
void html_percent(FILE *f, const struct ht_cov_tally *t);
/* A bar of what was hit, missed, unknown; says nothing that does not stand beside it. */
void html_bar(FILE *f, const struct ht_cov_tally *t);
/* Two cells: per cent, and "missed / known". */
void html_cells(FILE *f, const struct ht_cov_tally *t);
/* "FOLDER/NAME-HASH.html": a file's name that `name` and `key` give, the same in each report. */
char *html_page_name(const char *folder, const char *name, const char *key);

/*
 * html.c: a page of the report from its head to the opening of its content, and
 * the end of it.  `up` leads to the report's folder: "" or "../".
 */
FILE *html_begin(const struct html *h, const char *page, const char *up, const char *title);
int html_end(const struct html *h, FILE *f, const char *page);

/* html_index.c, html_source.c: the pages.  EXIT_OK or EXIT_ERROR, which is told. */
int html_write_index(const struct html *h);
int html_write_source(const struct html *h, uint32_t file);

/* html_assets.c: files that are the same in each report; the last has no name. */
struct html_asset {
	const char *name, *start, *end;
};
extern const struct html_asset html_assets[];

#endif
