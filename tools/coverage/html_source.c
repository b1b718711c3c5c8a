/* SPDX-License-Identifier: BSD-2-Clause */
/* One page a file: its functions, and its source with counts and the outcomes of branches. */
#include <stdlib.h>
#include <string.h>

#include "html.h"

/* Lines that the browser lays out together, when they come into view. */
#define CHUNK 256u
/* Branches of a line that stand in the open. */
#define OPEN_BRANCHES 2u

struct page {
	const struct html *h;
	const struct ht_cov_file *file;
	FILE *f;
	uint32_t line; /* lines written */
};

/* -- branches ------------------------------------------------------------- */

/* A branch leads to its instruction, where the instructions are part of the report. */
static void
chip(const struct page *p, const struct ht_cov_branch *b)
{
	const char *page = html_code_at(p->h, b->module, b->addr);

	if (page)
		html(p->f, "<a href=\"../%s#a%llx\">", page, (unsigned long long)b->addr);
	html_chip(p->f, b);
	if (page)
		fputs("</a>", p->f);
}

/* Outcomes of the branches of a line. */
struct outcomes {
	unsigned hit, known, all;
};

static struct outcomes
outcomes(const struct page *p, const struct ht_cov_line *l)
{
	struct outcomes o = { 0, 0, 0 };

	for (uint32_t k = 0; k < l->n_branches; k++) {
		const struct ht_cov_branch *b = &p->h->r->branches[l->first_branch + k];

		for (int taken = b->one ? 1 : 0; taken < 2; taken++) {
			o.hit += cover_outcome(b, taken) == HT_COV_HIT;
			o.known += cover_outcome(b, taken) != HT_COV_UNKNOWN;
			o.all++;
		}
	}
	return o;
}

/* Two stand in the open; more are summed up, to be opened. */
static void
branches(const struct page *p, const struct ht_cov_line *l, const struct outcomes *o)
{
	int many = l->n_branches > OPEN_BRANCHES;
	unsigned state = HT_COV_HIT;

	if (!l->n_branches)
		return;
	if (o->hit < o->all)
		state = o->hit < o->known ? HT_COV_NOT_HIT : HT_COV_UNKNOWN;
	if (many) {
		html(p->f, "<details class=\"b\"><summary><i class=\"%s\">%u/%u", html_class(state),
		     o->hit, o->known);
		if (o->known < o->all)
			html(p->f, ", %u?", o->all - o->known);
		fputs("</i></summary>", p->f);
	} else {
		fputs("<span class=\"b\">", p->f);
	}
	for (uint32_t k = 0; k < l->n_branches; k++)
		chip(p, &p->h->r->branches[l->first_branch + k]);
	fputs(many ? "</details>" : "</span>", p->f);
}

/* -- lines ---------------------------------------------------------------- */

static void
count(const struct page *p, const struct ht_cov_line *l)
{
	if (l->state == HT_COV_UNKNOWN)
		html(p->f, "<span class=\"c\" title=\"unknown: %s\">?</span>",
		     l->doubt & HT_COV_LOST ? "trace was lost" : "not recorded");
	else
		html(p->f, "<span class=\"c\">%llu</span>", (unsigned long long)l->count);
}

/* One line; `l` is NULL where there is no code. */
static void
line(struct page *p, uint32_t number, const struct ht_cov_line *l, const char *text, size_t n)
{
	struct outcomes o = { 0, 0, 0 };
	const char *class = "";

	if (p->line % CHUNK == 0)
		fputs(p->line ? "</div>\n<div class=\"chunk\">\n" : "<div class=\"chunk\">\n",
		      p->f);
	p->line++;
	if (l) {
		o = outcomes(p, l);
		class = l->state == HT_COV_HIT && o.hit < o.known ? "p" : html_class(l->state);
	}
	html(p->f, "<div class=\"l%s%s\" id=\"L%u\"><a class=\"n\" href=\"#L%u\">%u</a>",
	     l ? " " : "", class, number, number, number);
	if (l) {
		count(p, l);
		branches(p, l, &o);
	}
	fputs("<code>", p->f);
	html_text(p->f, text, n);
	fputs("</code></div>\n", p->f);
}

static void
lines_of_text(struct page *p, FILE *source)
{
	const struct ht_cov_file *file = p->file;
	uint32_t number = 0, k = 0;
	char *text = NULL;
	size_t size = 0;
	ssize_t n;

	while ((n = getline(&text, &size, source)) >= 0) {
		const struct ht_cov_line *l = NULL;

		number++;
		while (n && (text[n - 1] == '\n' || text[n - 1] == '\r'))
			n--;
		while (k < file->n_lines && file->lines[k].line <= number)
			l = &file->lines[k++];
		line(p, number, l, text, (size_t)n);
	}
	free(text);
	if (k < file->n_lines)
		fputs("</div>\n<p class=\"note\">The program has lines past the end of this file: "
		      "it was built from another "
		      "text.</p>\n<div class=\"chunk\">\n",
		      p->f);
	for (; k < file->n_lines; k++)
		line(p, file->lines[k].line, &file->lines[k], "", 0);
}

static void
source(struct page *p)
{
	const struct ht_cov_file *file = p->file;
	unsigned long long most = 0;
	int chips = 0;
	FILE *text = fopen(file->path, "r");

	for (uint32_t k = 0; k < file->n_lines; k++) {
		if (file->lines[k].count > most)
			most = file->lines[k].count;
		chips |= file->lines[k].n_branches > 0;
	}
	if (!text)
		html(p->f,
		     "<p class=\"note\">%s cannot be read: its lines are shown without text.</p>\n",
		     file->path);
	html(p->f, "<div class=\"src\" style=\"--c:%uch;--b:%uch\">\n",
	     (unsigned)snprintf(NULL, 0, "%llu", most), chips ? 14 : 0);
	if (text) {
		lines_of_text(p, text);
		fclose(text);
	} else {
		for (uint32_t k = 0; k < file->n_lines; k++)
			line(p, file->lines[k].line, &file->lines[k], "", 0);
	}
	fputs(p->line ? "</div>\n</div>\n" : "</div>\n", p->f);
}

/* -- the page ------------------------------------------------------------- */

static void
head(const struct page *p, uint32_t index)
{
	const struct ht_cov_report *r = p->h->r;
	FILE *f = p->f;

	html(f,
	     "<header><nav aria-label=\"report\"><a href=\"../index.html\">Coverage</a> "
	     "<span>%s</span></nav>",
	     cover_path(p->file->path));
	fputs("<nav aria-label=\"files\" class=\"near\">", f);
	if (index)
		html(f, "<a rel=\"prev\" href=\"../%s\">previous</a> ", p->h->pages[index - 1]);
	if (index + 1 < r->n_files)
		html(f, "<a rel=\"next\" href=\"../%s\">next</a>", p->h->pages[index + 1]);
	html(f, "</nav></header>\n<main>\n<h1>%s</h1>\n", cover_path(p->file->path));
}

int
html_write_source(const struct html *h, uint32_t index)
{
	struct page p = { .h = h, .file = &h->r->files[index] };
	const char *page = h->pages[index];

	p.f = html_begin(h, page, "../", cover_path(p.file->path));
	if (!p.f)
		return EXIT_ERROR;
	head(&p, index);
	fputs("<p class=\"key\">\n", p.f);
	html_key(p.f, "lines", &p.file->tally.lines);
	html_key(p.f, "branches", &p.file->tally.branches);
	html_key(p.f, "functions", &p.file->tally.functions);
	fputs("<span class=\"legend\"><span class=\"k\"><i class=\"h\">T5</i><i "
	      "class=\"m\">N0</i></span> "
	      "a branch: taken 5 times, not taken 0 times; <span class=\"k\"><i "
	      "class=\"u\">T?</i></span> "
	      "unknown</span>\n</p>\n",
	      p.f);
	html_functions(h, p.f, index);
	source(&p);
	fputs("</main>\n", p.f);
	return html_end(h, p.f, page);
}
