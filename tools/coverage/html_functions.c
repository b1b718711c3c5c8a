/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of functions: of a file, and of a module's functions that no file is known of. */
#include <stdlib.h>

#include "html.h"

uint32_t
html_place(const struct ht_cov_file *file, uint32_t line)
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

/* To its instructions: its own page, or where it was inlined. */
static void
link_code(const struct html *h, FILE *f, const struct ht_cov_function *fn, const char *text)
{
	const char *page = html_code_of(h, (uint32_t)(fn - h->r->functions));

	if (page)
		html(f, "<a href=\"../%s\">%s</a>", page, text);
	else if ((page = html_code_at(h, fn->module, fn->addr)))
		html(f, "<a href=\"../%s#a%llx\">%s</a>", page, (unsigned long long)fn->addr, text);
	else
		html(f, "<span>%s</span>", text);
}

static void
row(const struct html *h, FILE *f, const struct ht_cov_function *fn)
{
	const struct ht_cov_file *file = fn->file != HT_COV_NONE ? &h->r->files[fn->file] : NULL;
	const char *name = fn->shown[0] ? fn->shown : "(nameless)";
	uint32_t at = file ? html_place(file, fn->line) : 0;

	html(f, "<tr class=\"%s\"><th scope=\"row\">", html_class(fn->state));
	if (at)
		html(f, "<a href=\"#L%u\">%s</a>", at, name);
	else
		link_code(h, f, fn, name);
	if (fn->inlined)
		html(f, " (inlined%s)", fn->inlined == fn->copies ? "" : " in places");
	fputs("</th><td class=\"r\">", f);
	if (fn->state == HT_COV_UNKNOWN)
		fputs("unknown", f);
	else
		html(f, "%llu", (unsigned long long)fn->count);
	fputs("</td>", f);
	if (file)
		html_cells(f, &fn->tally.lines);
	html_cells(f, &fn->tally.branches);
	html_cells(f, &fn->tally.insns);
	if (at) {
		fputs("<td>", f);
		link_code(h, f, fn, "code");
		fputs("</td>", f);
	}
	fputs("</tr>\n", f);
}

static void
head(FILE *f, const char *first, int with_lines)
{
	static const char *const kinds[] = { "lines", "branches", "instructions" };

	html(f,
	     "<div class=\"scroll\"><table class=\"fns\"><thead><tr><th scope=\"col\">%s</th>"
	     "<th scope=\"col\" class=\"r\">entries</th>",
	     first);
	for (int i = with_lines ? 0 : 1; i < 3; i++)
		html(f,
		     "<th scope=\"col\" class=\"p\">%s</th><th scope=\"col\" "
		     "class=\"r\">missed</th>",
		     kinds[i]);
	if (with_lines)
		fputs("<th scope=\"col\"><span class=\"sr\">code</span></th>", f);
	fputs("</tr></thead>\n<tbody>\n", f);
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

void
html_functions(const struct html *h, FILE *f, uint32_t file)
{
	const struct ht_cov_tally *t = &h->r->files[file].tally.functions;
	uint32_t first = first_function(h->r, file), n = first_function(h->r, file + 1) - first;

	if (!n)
		return;
	html(f, "<details class=\"functions\"><summary>%u function%s, %llu not hit</summary>\n", n,
	     n == 1 ? "" : "s", (unsigned long long)(t->all - t->hit - t->unknown));
	head(f, "function", 1);
	for (uint32_t i = first; i < first + n; i++)
		row(h, f, &h->r->functions[i]);
	fputs("</tbody></table></div></details>\n", f);
}

/* -- modules -------------------------------------------------------------- */

int
html_module_has_page(const struct html *h, uint32_t module)
{
	for (uint32_t i = first_function(h->r, h->r->n_files); i < h->r->n_functions; i++)
		if (h->r->functions[i].module == module)
			return 1;
	return 0;
}

char *
html_module_page(const struct html *h, uint32_t module)
{
	return html_page_name("mod", h->r->modules[module].path, h->r->modules[module].path);
}

static void
module_page(const struct html *h, FILE *f, uint32_t module)
{
	const struct ht_cov_module *m = &h->r->modules[module];
	const char *path = cover_path(m->path);

	html(f,
	     "<header><nav aria-label=\"report\"><a href=\"../index.html\">Coverage</a> "
	     "<span>%s</span></nav></header>\n"
	     "<main>\n<h1>%s</h1>\n<p class=\"key\">\n<span>functions found by %s</span>\n",
	     path, path, cover_found_by(m->source));
	html_key(f, "functions", &m->tally.functions);
	html_key(f, "branches", &m->tally.branches);
	html_key(f, "instructions", &m->tally.insns);
	fputs("</p>\n", f);
	head(f, m->source == HT_COV_BY_LINES ? "function without source lines" : "function", 0);
	for (uint32_t i = first_function(h->r, h->r->n_files); i < h->r->n_functions; i++)
		if (h->r->functions[i].module == module)
			row(h, f, &h->r->functions[i]);
	fputs("</tbody></table></div>\n</main>\n", f);
}

int
html_write_module(const struct html *h, uint32_t module)
{
	char *page = html_module_page(h, module);
	FILE *f = page ? html_begin(h, page, "../", cover_path(h->r->modules[module].path)) : NULL;
	int status = page ? EXIT_ERROR : tool_error("out of memory");

	if (f) {
		module_page(h, f, module);
		status = html_end(h, f, page);
	}
	free(page);
	return status;
}
