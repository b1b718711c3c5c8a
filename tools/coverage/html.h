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
	struct html_code *code; /* pages of functions; NULL without captures */
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
/* "lines 78.3% 47 of 60, 2 unknown". */
void html_key(FILE *f, const char *name, const struct ht_cov_tally *t);
/* "FOLDER/NAME-HASH.html": a file's name that `name` and `key` give, the same in each report. */
char *html_page_name(const char *folder, const char *name, const char *key);

/* html.c: a file in the report's folder; NULL and EXIT_ERROR are told. */
FILE *html_open(const struct html *h, const char *name);
int html_close(const struct html *h, FILE *f, const char *name);
/*
 * A page of the report from its head to the opening of its content, and
 * the end of it.  `up` leads to the report's folder: "" or "../".
 */
FILE *html_begin(const struct html *h, const char *page, const char *up, const char *title);
int html_end(const struct html *h, FILE *f, const char *page);

/* html_search.c: the names, for the script; after the pages of functions. */
int html_write_search(const struct html *h);

/* html_functions.c: the functions of a file, and of a module those that no file is known of. */
/* The first line with code at or behind `line`, which always has a place in the page; 0 = none. */
uint32_t html_place(const struct ht_cov_file *file, uint32_t line);
void html_functions(const struct html *h, FILE *f, uint32_t file);
int html_module_has_page(const struct html *h, uint32_t module);
/* Its name, to be freed; NULL: out of memory. */
char *html_module_page(const struct html *h, uint32_t module);
int html_write_module(const struct html *h, uint32_t module);

/* html_index.c, html_source.c: the pages.  EXIT_OK or EXIT_ERROR, which is told. */
int html_write_index(const struct html *h);
int html_write_source(const struct html *h, uint32_t file);

/*
 * html_chip.c: a count in five characters or so, and a branch as two of them;
 * the exact counts are in its title.
 */
void html_count(char buf[16], uint64_t n);
void html_chip(FILE *f, const struct ht_cov_branch *b);

/*
 * html_code.c: a page for each function's instructions.  To be written before
 * the pages that lead to them.
 */
int html_write_code(struct html *h);
void html_code_free(struct html *h);
/* The page with the instruction at `vaddr`, under the id "aVADDR", in hexadecimal; or NULL. */
const char *html_code_at(const struct html *h, uint32_t module, uint64_t vaddr);
/* The page of the function itself, NULL when it has none. */
const char *html_code_of(const struct html *h, uint32_t function);

/* html_flow.c: the instructions of a function as a graph of blocks. */
struct html_flow;
int html_flow_new(const struct ht_cov_insn *insns, size_t n, struct html_flow **out);
void html_flow_free(struct html_flow *flow);
/* Is instruction number `i` the first of a block? */
int html_flow_begins(const struct html_flow *flow, size_t i);
/* Draw it; `lines` are the source lines of the instructions, 0 = none. */
void html_flow_draw(struct html_flow *f, FILE *out, const uint32_t *lines);
/* The state of an instruction. */
unsigned html_insn_state(const struct ht_cov_insn *i);

/* html_assets.c: files that are the same in each report; the last has no name. */
struct html_asset {
	const char *name, *start, *end;
};
extern const struct html_asset html_assets[];

#endif
