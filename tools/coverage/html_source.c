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

/* Short enough for a chip: the exact count is in its title. */
static void
short_count(char buf[16], uint64_t n)
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
		short_count(count, taken ? b->taken : b->not_taken);
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

static void
chip(const struct page *p, const struct ht_cov_branch *b)
{
	html(p->f, "<span class=\"k\" title=\"0x%llx: ", (unsigned long long)b->addr);
	say_outcome(p->f, "taken", b, 1);
	if (!b->one)
		say_outcome(p->f, ", not taken", b, 0);
	fputs("\">", p->f);
	outcome(p->f, "T", b, 1);
	if (!b->one)
		outcome(p->f, "N", b, 0);
	fputs("</span>", p->f);
}

/* Outcomes of a line's branches that are hit, and that are known. */
static void
outcomes(const struct page *p, const struct ht_cov_line *l, unsigned *hit, unsigned *known)
{
	*hit = *known = 0;
	for (uint32_t k = 0; k < l->n_branches; k++) {
		const struct ht_cov_branch *b = &p->h->r->branches[l->first_branch + k];

		for (int taken = b->one ? 1 : 0; taken < 2; taken++) {
			*hit += cover_outcome(b, taken) == HT_COV_HIT;
			*known += cover_outcome(b, taken) != HT_COV_UNKNOWN;
		}
	}
}

static void
branches(const struct page *p, const struct ht_cov_line *l, unsigned hit, unsigned known)
{
	unsigned state = hit < known ? HT_COV_NOT_HIT : known ? HT_COV_HIT : HT_COV_UNKNOWN;
	int many = l->n_branches > OPEN_BRANCHES;

	if (!l->n_branches)
		return;
	if (many)
		html(p->f, "<details class=\"b\"><summary><i class=\"%s\">%u/%u</i></summary>",
		     html_class(state), hit, known);
	else
		fputs("<span class=\"b\">", p->f);
	for (uint32_t k = 0; k < l->n_branches; k++)
		chip(p, &p->h->r->branches[l->first_branch + k]);
	fputs(many ? "</details>" : "</span>", p->f);
}

/* -- lines ---------------------------------------------------------------- */

static void
count(const struct page *p, const struct ht_cov_line *l)
{
	if (l->state == HT_COV_UNKNOWN)
		fputs("<span class=\"c\" title=\"unknown: trace was lost here\">?</span>", p->f);
	else
		html(p->f, "<span class=\"c\">%llu</span>", (unsigned long long)l->count);
}

/* One line; `l` is NULL where there is no code. */
static void
line(struct page *p, uint32_t number, const struct ht_cov_line *l, const char *text, size_t n)
{
	unsigned hit = 0, known = 0;
	const char *class = "";

	if (p->line % CHUNK == 0)
		html(p->f, "%s<div class=\"chunk\">\n", p->line ? "</div>\n" : "");
	p->line++;
	if (l) {
		outcomes(p, l, &hit, &known);
		class = l->state == HT_COV_HIT && hit < known ? "p" : html_class(l->state);
	}
	html(p->f, "<div class=\"l%s%s\" id=\"L%u\"><a class=\"n\" href=\"#L%u\">%u</a>",
	     l ? " " : "", class, number, number, number);
	if (l) {
		count(p, l);
		branches(p, l, hit, known);
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

/* -- functions ------------------------------------------------------------ */

/* The first line with code at or behind `line`, which always has a place in the page; 0 = none. */
static uint32_t
place(const struct ht_cov_file *file, uint32_t line)
{
	uint32_t lo = 0, hi = file->n_lines;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (file->lines[mid].line < line)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < file->n_lines ? file->lines[lo].line : 0;
}

static void
function(const struct page *p, const struct ht_cov_function *fn)
{
	const char *name = fn->shown[0] ? fn->shown : "(nameless)";
	uint32_t at = place(p->file, fn->line);
	FILE *f = p->f;

	html(f, "<tr class=\"%s\"><th scope=\"row\">", html_class(fn->state));
	if (at)
		html(f, "<a href=\"#L%u\">%s</a>", at, name);
	else
		html(f, "<span>%s</span>", name);
	if (fn->inlined)
		html(f, " (inlined%s)", fn->inlined == fn->copies ? "" : " in places");
	fputs("</th><td class=\"r\">", f);
	if (fn->state == HT_COV_UNKNOWN)
		fputs("unknown", f);
	else
		html(f, "%llu", (unsigned long long)fn->count);
	fputs("</td>", f);
	html_cells(f, &fn->tally.lines);
	html_cells(f, &fn->tally.branches);
	html_cells(f, &fn->tally.insns);
	fputs("</tr>\n", f);
}

/* The first function of file `index`, or what would follow it. */
static uint32_t
first_function(const struct ht_cov_report *r, uint32_t index)
{
	uint32_t lo = 0, hi = r->n_functions;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (r->functions[mid].file < index)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void
functions(const struct page *p, uint32_t index)
{
	const struct ht_cov_report *r = p->h->r;
	uint32_t first = first_function(r, index), n = first_function(r, index + 1) - first;

	if (!n)
		return;
	html(p->f,
	     "<details class=\"fns\"><summary>%u function%s, %llu not hit</summary>\n<div "
	     "class=\"scroll\"><table>"
	     "<thead><tr><th scope=\"col\">function</th><th scope=\"col\" class=\"r\">entries</th>"
	     "<th scope=\"col\">lines</th><th scope=\"col\" class=\"r\">missed</th>"
	     "<th scope=\"col\">branches</th><th scope=\"col\" class=\"r\">missed</th>"
	     "<th scope=\"col\">instructions</th><th scope=\"col\" "
	     "class=\"r\">missed</th></tr></thead>\n<tbody>\n",
	     n, n == 1 ? "" : "s",
	     (unsigned long long)(p->file->tally.functions.all - p->file->tally.functions.hit -
	                          p->file->tally.functions.unknown));
	for (uint32_t i = first; i < first + n; i++)
		function(p, &r->functions[i]);
	fputs("</tbody></table></div></details>\n", p->f);
}

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

static void
key(const struct page *p, const char *name, const struct ht_cov_tally *t)
{
	html(p->f, "<span>%s <b>", name);
	html_percent(p->f, t);
	html(p->f, "</b> %llu of %llu", (unsigned long long)t->hit,
	     (unsigned long long)(t->all - t->unknown));
	if (t->unknown)
		html(p->f, ", %llu unknown", (unsigned long long)t->unknown);
	fputs("</span>\n", p->f);
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
	key(&p, "lines", &p.file->tally.lines);
	key(&p, "branches", &p.file->tally.branches);
	key(&p, "functions", &p.file->tally.functions);
	fputs(
	    "<span class=\"legend\"><span class=\"k\"><i class=\"h\">T5</i><i "
	    "class=\"m\">N0</i></span> a branch taken 5 times, "
	    "not taken never; <span class=\"k\"><i class=\"u\">?</i></span> unknown</span>\n</p>\n",
	    p.f);
	functions(&p, index);
	source(&p);
	fputs("</main>\n", p.f);
	return html_end(h, p.f, page);
}
