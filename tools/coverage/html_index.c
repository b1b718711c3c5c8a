/* SPDX-License-Identifier: BSD-2-Clause */
/* The first page: sums, the tree of folders and files, the modules. */
#include <stdlib.h>
#include <string.h>

#include "html.h"

/* Folders deeper than this stand in one row with their files. */
#define DEEPEST 64

static void
add_tally(struct ht_cov_tally *sum, const struct ht_cov_tally *t)
{
	sum->all += t->all;
	sum->hit += t->hit;
	sum->unknown += t->unknown;
}

static void
sum_files(const struct ht_cov_file *at, uint32_t n, struct ht_cov_tallies *sum)
{
	memset(sum, 0, sizeof(*sum));
	for (uint32_t i = 0; i < n; i++) {
		add_tally(&sum->lines, &at[i].tally.lines);
		add_tally(&sum->functions, &at[i].tally.functions);
		add_tally(&sum->insns, &at[i].tally.insns);
		add_tally(&sum->branches, &at[i].tally.branches);
	}
}

static int
any_unknown(const struct ht_cov_tallies *t)
{
	return t->lines.unknown || t->branches.unknown || t->functions.unknown || t->insns.unknown;
}

static const char *const kinds[] = { "lines", "branches", "functions", "instructions" };
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static const struct ht_cov_tally *
kind_of(const struct ht_cov_tallies *t, unsigned kind)
{
	const struct ht_cov_tally *const all[] = { &t->lines, &t->branches, &t->functions,
		                                   &t->insns };

	return all[kind];
}

static void
tally_row(const struct html *h, FILE *f, const struct ht_cov_tallies *t)
{
	fputs("<td class=\"b\">", f);
	html_bar(f, &t->lines);
	fputs("</td>", f);
	for (unsigned i = 0; i < KINDS; i++)
		if (kind_of(&h->r->total, i)->all)
			html_cells(f, kind_of(t, i));
	if (any_unknown(&h->r->total))
		html(f, "<td class=\"r\">%llu</td>", (unsigned long long)t->lines.unknown);
	fputs("</tr>\n", f);
}

static void
kind_head(FILE *f, const char *kind)
{
	html(f, "<th scope=\"col\" class=\"p\">%s</th><th scope=\"col\" class=\"r\">missed</th>",
	     kind);
}

static void
files_head(const struct html *h, FILE *f)
{
	fputs("<div class=\"scroll\"><table class=\"files\" "
	      "id=\"files\"><caption>Files</caption>\n<thead><tr>"
	      "<th scope=\"col\">file</th><td class=\"b\"></td>",
	      f);
	for (unsigned i = 0; i < KINDS; i++)
		if (kind_of(&h->r->total, i)->all)
			kind_head(f, kinds[i]);
	if (any_unknown(&h->r->total))
		fputs("<th scope=\"col\" class=\"r\">unknown lines</th>", f);
	fputs("</tr></thead>\n<tbody>\n", f);
}

/* -- tree ----------------------------------------------------------------- */

/* Where the next folder of `path` behind `skip` ends, its slash included; 0: there is none. */
static size_t
folder_end(const char *path, size_t skip)
{
	const char *slash = strchr(path + skip, '/');

	return slash ? (size_t)(slash - path) + 1 : 0;
}

/* The folder that all of the sorted files are in, below `skip`. */
static size_t
common_folder(const struct ht_cov_file *at, uint32_t n, size_t skip)
{
	const char *first = at[0].path, *last = at[n - 1].path;
	size_t end;

	while ((end = folder_end(first, skip)) && !strncmp(first + skip, last + skip, end - skip))
		skip = end;
	return skip;
}

static void
file_row(const struct html *h, FILE *f, const struct ht_cov_file *file, size_t skip, unsigned depth)
{
	html(f, "<tr class=\"f\" style=\"--d:%u\"><th scope=\"row\"><a href=\"%s\">%s</a></th>",
	     depth, h->pages[file - h->r->files], file->path + skip);
	tally_row(h, f, &file->tally);
}

/* Rows of files that share `skip` bytes of their paths: folders first. */
static void
tree_rows(const struct html *h, FILE *f, const struct ht_cov_file *at, uint32_t n, size_t skip,
          unsigned depth)
{
	struct ht_cov_tallies sum;
	size_t end;
	uint32_t k;

	for (uint32_t i = 0; i < n && depth < DEEPEST; i = k) {
		end = folder_end(at[i].path, skip);
		for (k = i + 1;
		     end && k < n && !strncmp(at[i].path + skip, at[k].path + skip, end - skip);)
			k++;
		if (!end)
			continue;
		end = common_folder(at + i, k - i, end);
		sum_files(at + i, k - i, &sum);
		html(f, "<tr class=\"d\" style=\"--d:%u\"><th scope=\"row\">", depth);
		html_text(f, at[i].path + skip, end - skip);
		fputs("</th>", f);
		tally_row(h, f, &sum);
		tree_rows(h, f, at + i, k - i, end, depth + 1);
	}
	for (uint32_t i = 0; i < n; i++)
		if (depth == DEEPEST || !folder_end(at[i].path, skip))
			file_row(h, f, &at[i], skip, depth);
}

static void
files(const struct html *h, FILE *f)
{
	const struct ht_cov_report *r = h->r;
	size_t skip;

	if (!r->n_files) {
		fputs("<p>No module of this report has source lines.</p>\n", f);
		return;
	}
	skip = common_folder(r->files, r->n_files, 0);
	files_head(h, f);
	if (skip > 1) {
		size_t above = (size_t)(cover_path(r->files[0].path) - r->files[0].path);
		struct ht_cov_tallies sum;

		if (above > skip)
			above = 0;
		sum_files(r->files, r->n_files, &sum);
		/* The names of files begin with what is seen from the working folder. */
		fputs("<tr class=\"d\" style=\"--d:0\" data-path=\"", f);
		html_text(f, r->files[0].path + above, skip - above);
		fputs("\"><th scope=\"row\">", f);
		html_text(f, r->files[0].path + above % skip, skip - above % skip);
		fputs("</th>", f);
		tally_row(h, f, &sum);
	}
	tree_rows(h, f, r->files, r->n_files, skip, skip > 1);
	fputs("</tbody></table></div>\n", f);
}

/* -- the rest ------------------------------------------------------------- */

static void
sum(FILE *f, const char *name, const struct ht_cov_tally *t)
{
	if (!t->all) /* of merged reports: their instructions */
		return;
	html(f, "<div><dt>%s</dt><dd><b>", name);
	html_percent(f, t);
	html(f, "</b> <span>%llu of %llu</span>", (unsigned long long)t->hit,
	     (unsigned long long)(t->all - t->unknown));
	if (t->unknown)
		html(f, " &middot; <span class=\"unknown\">%llu unknown</span>",
		     (unsigned long long)t->unknown);
	html_bar(f, t);
	fputs("</dd></div>\n", f);
}

static void
sums(const struct html *h, FILE *f)
{
	const struct ht_cov_report *r = h->r;

	fputs("<dl class=\"sums\">\n", f);
	sum(f, "lines", &r->total.lines);
	sum(f, "branches", &r->total.branches);
	sum(f, "functions", &r->total.functions);
	sum(f, "instructions", &r->total.insns);
	fputs("</dl>\n", f);
	if (r->gaps)
		html(f, "<p class=\"note\">Trace was lost at %llu places: ",
		     (unsigned long long)r->gaps);
	else if (any_unknown(&r->total))
		fputs("<p class=\"note\">Not all of the program was recorded: ", f);
	if (r->gaps || any_unknown(&r->total))
		fputs("what was not seen there is <span class=\"unknown\">unknown</span> and counts "
		      "as neither hit nor missed.</p>\n",
		      f);
}

static void
module_row(const struct html *h, FILE *f, uint32_t number)
{
	const struct ht_cov_module *m = &h->r->modules[number];
	char *page = html_module_has_page(h, number) ? html_module_page(h, number) : NULL;

	fputs("<tr><th scope=\"row\">", f);
	if (page)
		html(f, "<a href=\"%s\">%s</a>", page, cover_path(m->path));
	else
		html(f, "%s", cover_path(m->path));
	fputs("</th>", f);
	free(page);
	if (m->why) {
		html(f, "<td class=\"missed\" colspan=\"7\">not covered: %s</td>", m->why);
	} else {
		html_cells(f, &m->tally.branches);
		html_cells(f, &m->tally.functions);
		html_cells(f, &m->tally.insns);
		html(f, "<td>%s</td>", cover_found_by(m->source));
	}
	html(f, "<td class=\"id\">%s</td></tr>\n", m->build_id ? m->build_id : "");
}

static void
modules(const struct html *h, FILE *f)
{
	const struct ht_cov_report *r = h->r;
	int any = 0;

	for (uint32_t i = 0; i < r->n_modules; i++) {
		const struct ht_cov_module *m = &r->modules[i];

		if (!m->chosen || (!m->why && !m->tally.functions.all))
			continue;
		if (!any++) {
			fputs("<div class=\"scroll\"><table "
			      "id=\"modules\"><caption>Modules</caption>\n<thead><tr>"
			      "<th scope=\"col\">module</th>",
			      f);
			for (unsigned k = 1; k < KINDS; k++)
				kind_head(f, kinds[k]);
			fputs("<th scope=\"col\">functions found by</th>"
			      "<th scope=\"col\">build-id</th></tr></thead>\n<tbody>\n",
			      f);
		}
		module_row(h, f, i);
	}
	if (any)
		fputs("</tbody></table></div>\n", f);
}

int
html_write_index(const struct html *h)
{
	const char *label = cover_label(h->c);
	FILE *f = html_begin(h, "index.html", "", "Coverage");

	if (!f)
		return EXIT_ERROR;
	fputs("<header><nav aria-label=\"report\"><a href=\"index.html\" "
	      "aria-current=\"page\">Coverage</a></nav></header>\n"
	      "<main>\n<h1 class=\"sr\">Coverage</h1>\n",
	      f);
	sums(h, f);
	files(h, f);
	modules(h, f);
	fputs("<footer><p>Made by hwtrace", f);
	for (size_t i = 0; i < h->c->n_sources; i++)
		html(f, "%s%s", i ? ", " : " from ", h->c->sources[i]);
	html(f, "%s%s.</p></footer>\n</main>\n", label ? "; recorded in software: " : "",
	     label ? label : "");
	return html_end(h, f, "index.html");
}
