/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One page a function: its flow graph, and its source beside its instructions.
 * Inlined functions stand in the page of what they were inlined into.
 */
#include <stdlib.h>
#include <string.h>

#include <hwtrace/demangle.h>

#include "html.h"
#include "listing.h"

/* In reports with more functions than this, those that did not run have no pages. */
#define MANY_FUNCTIONS 20000u

struct code_page {
	uint32_t module;
	uint32_t function; /* of the report; HT_COV_NONE when it is not in there */
	uint64_t addr;     /* of its first instruction */
	char *name;
};

/* Instructions in [start, end) stand in this page. */
struct code_span {
	uint32_t module, page;
	uint64_t start, end;
};

struct html_code {
	struct code_page *pages;
	size_t n_pages, cap_pages;
	struct code_span *spans;
	size_t n_spans, cap_spans, sorted; /* of the modules that are done */
	uint32_t *own; /* page of each function, one more than its number; 0 = none */
	int failed;    /* out of memory */
};

static void *
grow(void *at, size_t n, size_t *cap, size_t size)
{
	void *more;

	if (n < *cap)
		return at;
	more = reallocarray(at, *cap * 2 + 64, size);
	if (more)
		*cap = *cap * 2 + 64;
	return more;
}

/* -- which pages there are ------------------------------------------------ */

static int
span_order(const void *a, const void *b)
{
	const struct code_span *x = a, *y = b;

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->page < y->page ? -1 : x->page > y->page;
}

static void
sort_spans(struct html_code *c)
{
	if (c->sorted != c->n_spans)
		qsort(c->spans, c->n_spans, sizeof(*c->spans), span_order);
	c->sorted = c->n_spans;
}

static const struct code_page *
page_at(const struct html_code *c, uint32_t module, uint64_t vaddr)
{
	size_t lo = 0, hi = c ? c->n_spans : 0;

	while (lo < hi) { /* the last that begins at or before `vaddr` */
		size_t mid = lo + (hi - lo) / 2;
		const struct code_span *s = &c->spans[mid];

		if (s->module < module || (s->module == module && s->start <= vaddr))
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || c->spans[lo - 1].module != module || vaddr >= c->spans[lo - 1].end)
		return NULL;
	return &c->pages[c->spans[lo - 1].page];
}

const char *
html_code_at(const struct html *h, uint32_t module, uint64_t vaddr)
{
	const struct code_page *p = page_at(h->code, module, vaddr);

	return p ? p->name : NULL;
}

const char *
html_code_of(const struct html *h, uint32_t function)
{
	uint32_t page = h->code ? h->code->own[function] : 0;

	return page ? h->code->pages[page - 1].name : NULL;
}

struct collecting {
	struct html_code *c;
	uint32_t module, page;
	int any;
};

static void
collect_insn(void *arg, const struct ht_cov_insn *i)
{
	struct collecting *x = arg;
	struct html_code *c = x->c;
	struct code_span *more;

	if (!x->any++)
		c->pages[x->page].addr = i->addr;
	else if (c->spans[c->n_spans - 1].end == i->addr) {
		c->spans[c->n_spans - 1].end += i->size;
		return;
	}
	more = grow(c->spans, c->n_spans, &c->cap_spans, sizeof(*more));
	if (!more) {
		c->failed = 1;
		return;
	}
	c->spans = more;
	c->spans[c->n_spans++] =
	    (struct code_span){ x->module, x->page, i->addr, i->addr + i->size };
}

/* A page for the code around `vaddr`, when there is any. */
static void
add_page(struct html *h, struct listing *l, uint32_t module, uint64_t vaddr, uint32_t function)
{
	static const struct listing_ops ops = { .insn = collect_insn };
	struct html_code *c = h->code;
	struct collecting x = { c, module, (uint32_t)c->n_pages, 0 };
	struct code_page *more = grow(c->pages, c->n_pages, &c->cap_pages, sizeof(*more));
	struct ht_symbol symbol;
	const char *title = "code";
	char *key;

	if (!more) {
		c->failed = 1;
		return;
	}
	c->pages = more;
	c->pages[c->n_pages] = (struct code_page){ .module = module, .function = function };
	listing_walk(l, vaddr, &ops, &x);
	if (!x.any || c->failed)
		return;
	if (function != HT_COV_NONE)
		title = h->r->functions[function].name;
	else if (ht_module_symbol(l->module, vaddr, &symbol) >= 0)
		title = symbol.name;
	if (asprintf(&key, "%s %llx", h->r->modules[module].path,
	             (unsigned long long)more[c->n_pages].addr) < 0)
		key = NULL;
	c->pages[c->n_pages].name = key ? html_page_name("fn", title, key) : NULL;
	free(key);
	if (!c->pages[c->n_pages++].name)
		c->failed = 1;
	if (function != HT_COV_NONE)
		c->own[function] = (uint32_t)c->n_pages;
}

/* The function of the report that this one of the line table is; HT_COV_NONE: none is. */
static uint32_t
find_function(const struct ht_cov_report *r, const struct ht_lines *lines,
              const struct ht_line_function *f)
{
	const char *path = ht_lines_file(lines, f->file);

	for (uint32_t lo = 0, hi = r->n_functions; path && lo < hi;) {
		uint32_t mid = lo + (hi - lo) / 2;
		const struct ht_cov_function *x = &r->functions[mid];
		int order = x->file == HT_COV_NONE ? 1 : strcmp(r->files[x->file].path, path);

		if (!order)
			order = (x->line > f->line) - (x->line < f->line);
		if (!order)
			order = strcmp(x->name, f->name);
		if (!order)
			return mid;
		if (order < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return HT_COV_NONE;
}

/* Functions that were inlined in places only: the first copy that was not is theirs. */
static void
add_copies(struct html *h, struct listing *l, uint32_t module)
{
	const struct ht_lines *lines = ht_cov_code_lines(l->code);
	const struct ht_line_function *f;
	uint32_t n = 0, number;

	f = lines ? ht_lines_functions(lines, &n) : NULL;
	for (uint32_t i = 0; i < n; i++) {
		if (f[i].parent != HT_LINE_NONE || !f[i].n_ranges ||
		    page_at(h->code, module, f[i].entry))
			continue;
		number = find_function(h->r, lines, &f[i]);
		if (number == HT_COV_NONE || !h->r->functions[number].inlined ||
		    html_code_of(h, number))
			continue;
		add_page(h, l, module, f[i].entry, number);
		sort_spans(h->code);
	}
}

static int
wanted(const struct html *h, const struct ht_cov_function *fn, uint32_t module)
{
	return fn->module == module && fn->copies &&
	       (h->r->n_functions <= MANY_FUNCTIONS || fn->state != HT_COV_NOT_HIT);
}

static void
add_pages(struct html *h, struct listing *l, uint32_t module)
{
	const struct ht_cov_report *r = h->r;

	for (uint32_t i = 0; i < r->n_functions; i++)
		if (wanted(h, &r->functions[i], module) && !r->functions[i].inlined)
			add_page(h, l, module, r->functions[i].addr, i);
	sort_spans(h->code);
	add_copies(h, l, module);
	for (uint32_t i = 0; i < r->n_functions; i++)
		if (wanted(h, &r->functions[i], module) && r->functions[i].inlined &&
		    !html_code_of(h, i) && !page_at(h->code, module, r->functions[i].addr)) {
			add_page(h, l, module, r->functions[i].addr, HT_COV_NONE);
			sort_spans(h->code);
		}
}

/* As the source has it, where the symbol is of C++ or Rust. */
static const char *
symbol_name(const struct ht_symbol *symbol, char buf[HT_DEMANGLE_MAX])
{
	return ht_demangle(symbol->name, 0, buf) ? buf : symbol->name;
}

/* -- one page ------------------------------------------------------------- */

struct writing {
	const struct html *h;
	const struct code_page *page;
	struct listing *l;
	FILE *f;
	struct html_flow *flow;
	struct ht_cov_insn *insns;
	uint32_t *lines; /* of the instructions, in the function's own file */
	size_t n, cap, cap_lines, at;
	const char *own_file, *file; /* where it is from; that was named last */
	uint32_t line;
	int failed;
};

static uint32_t
find_file(const struct ht_cov_report *r, const char *path)
{
	for (uint32_t lo = 0, hi = r->n_files; lo < hi;) {
		uint32_t mid = lo + (hi - lo) / 2;
		int order = strcmp(r->files[mid].path, path);

		if (!order)
			return mid;
		if (order < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return HT_COV_NONE;
}

static void
keep_source(void *arg, const char *path, uint32_t number, const struct ht_cov_line *line)
{
	struct writing *w = arg;

	(void)line;
	w->line = w->own_file && !strcmp(path, w->own_file) ? number : 0;
}

static void
keep_insn(void *arg, const struct ht_cov_insn *i)
{
	struct writing *w = arg;
	struct ht_cov_insn *more = grow(w->insns, w->n, &w->cap, sizeof(*more));
	uint32_t *lines = grow(w->lines, w->n, &w->cap_lines, sizeof(*lines));

	w->insns = more ? more : w->insns;
	w->lines = lines ? lines : w->lines;
	w->failed |= !more || !lines;
	if (w->failed)
		return;
	w->insns[w->n] = *i;
	w->lines[w->n++] = w->line;
}

static void
write_source(void *arg, const char *path, uint32_t number, const struct ht_cov_line *line)
{
	struct writing *w = arg;
	uint32_t file = line ? find_file(w->h->r, path) : HT_COV_NONE;
	const char *text;
	size_t n;

	if (!w->file || strcmp(w->file, path))
		html(w->f, "<div class=\"file\">%s</div>\n", cover_path(path));
	w->file = path;
	html(w->f, "<div class=\"s %s\">", line ? html_class(line->state) : "");
	if (file != HT_COV_NONE)
		html(w->f, "<a class=\"n\" href=\"../%s#L%u\">%u</a>", w->h->pages[file], number,
		     number);
	else
		html(w->f, "<span class=\"n\">%u</span>", number);
	text = listing_source(w->l, path, number, &n);
	fputs("<code>", w->f);
	html_text(w->f, text, n && text[n - 1] == '\r' ? n - 1 : n);
	fputs("</code></div>\n", w->f);
}

/* Where a direct jump or call goes, by name when it leaves the function. */
static void
write_target(struct writing *w, const struct ht_cov_insn *i)
{
	const struct code_page *to = page_at(w->h->code, w->page->module, i->target);
	unsigned long long target = i->target;
	char buf[HT_DEMANGLE_MAX];
	struct ht_symbol symbol;
	const char *name = NULL;

	if (ht_module_symbol(w->l->module, target, &symbol) >= 0 && symbol.start == target)
		name = symbol_name(&symbol, buf);
	if (to == w->page)
		html(w->f, " <a class=\"to\" href=\"#a%llx\">%s</a>", target,
		     target > i->addr ? "\xe2\x86\x93" : "\xe2\x86\x91");
	else if (to)
		html(w->f, " <a class=\"to\" href=\"../%s#a%llx\">%s</a>", to->name, target,
		     name ? name : "\xe2\x86\x92");
	else if (name)
		html(w->f, " <span class=\"to\" title=\"%s\">%s</span>", name, name);
}

static void
write_insn(void *arg, const struct ht_cov_insn *i)
{
	struct writing *w = arg;
	unsigned state = html_insn_state(i);
	unsigned long long addr = i->addr;
	char text[HT_DISASM_TEXT];

	html(w->f, "<div class=\"i %s%s\" id=\"a%llx\"><span class=\"c\">", html_class(state),
	     html_flow_begins(w->flow, w->at++) ? " k0" : "", addr);
	if (state == HT_COV_UNKNOWN)
		fputs("?", w->f);
	else
		html(w->f, "%llu", (unsigned long long)i->count);
	listing_insn(w->l, i, text);
	html(w->f, "</span><a class=\"n\" href=\"#a%llx\">%llx</a><code>%s</code>", addr, addr,
	     text);
	fputs("<span class=\"b\">", w->f);
	if (i->insn == HT_INSN_COND) {
		struct ht_cov_branch b = { .addr = i->addr,
			                   .taken = i->taken,
			                   .not_taken = i->not_taken,
			                   .doubt = i->doubt };

		html_chip(w->f, &b);
	}
	if (i->target)
		write_target(w, i);
	fputs("</span></div>\n", w->f);
}

static void
write_part(void *arg, uint64_t vaddr)
{
	struct writing *w = arg;

	html(w->f, "<div class=\"file\">0x%llx: another part of it</div>\n",
	     (unsigned long long)vaddr);
	w->file = NULL;
}

static const char *
title_of(const struct writing *w, char buf[HT_DEMANGLE_MAX])
{
	struct ht_symbol symbol;

	if (w->page->function != HT_COV_NONE && w->h->r->functions[w->page->function].shown[0])
		return w->h->r->functions[w->page->function].shown;
	if (ht_module_symbol(w->l->module, w->page->addr, &symbol) >= 0)
		return symbol_name(&symbol, buf);
	snprintf(buf, HT_DEMANGLE_MAX, "0x%llx", (unsigned long long)w->page->addr);
	return buf;
}

static void
write_head(struct writing *w, const char *title)
{
	const struct ht_cov_report *r = w->h->r;
	const struct ht_cov_function *fn = NULL;
	FILE *f = w->f;

	if (w->page->function != HT_COV_NONE)
		fn = &r->functions[w->page->function];
	fputs("<header><nav aria-label=\"report\"><a href=\"../index.html\">Coverage</a> ", f);
	if (fn && fn->file != HT_COV_NONE)
		html(f, "<span><a href=\"../%s\">%s</a></span> ", w->h->pages[fn->file],
		     cover_path(r->files[fn->file].path));
	html(f,
	     "<span>%s</span></nav></header>\n<main class=\"fn\">\n<h1>%s</h1>\n<p class=\"key\">",
	     title, title);
	html(f, "<span>%s, 0x%llx</span>\n", cover_path(r->modules[w->page->module].path),
	     (unsigned long long)w->page->addr);
	if (!fn) {
		fputs("</p>\n", f);
		return;
	}
	if (fn->state == HT_COV_HIT)
		html(f, "<span>entries <b>%llu</b></span>\n", (unsigned long long)fn->count);
	else
		html(f, "<span>%s</span>\n",
		     fn->state == HT_COV_UNKNOWN ? "unknown whether it ran" : "did not run");
	html_key(f, "lines", &fn->tally.lines);
	html_key(f, "branches", &fn->tally.branches);
	html_key(f, "instructions", &fn->tally.insns);
	if (fn->copies > 1)
		html(f, "<span>one of its %u copies, %u are inlined</span>\n", fn->copies,
		     fn->inlined);
	fputs("</p>\n", f);
}

static int
write_page(struct html *h, struct listing *l, const struct code_page *page)
{
	static const struct listing_ops keep = { .source = keep_source, .insn = keep_insn };
	static const struct listing_ops write = { write_source, write_insn, write_part };
	struct writing w = { .h = h, .page = page, .l = l };
	unsigned long long most = 0;
	char buf[HT_DEMANGLE_MAX];
	int status = EXIT_ERROR;

	if (page->function != HT_COV_NONE && h->r->functions[page->function].file != HT_COV_NONE)
		w.own_file = h->r->files[h->r->functions[page->function].file].path;
	listing_walk(l, page->addr, &keep, &w);
	if (w.failed)
		tool_error("out of memory");
	else if (html_flow_new(w.insns, w.n, &w.flow) == EXIT_OK)
		w.f = html_begin(h, page->name, "../", title_of(&w, buf));
	if (w.f) {
		for (size_t i = 0; i < w.n; i++)
			if (w.insns[i].count > most)
				most = w.insns[i].count;
		write_head(&w, title_of(&w, buf));
		fputs("<div class=\"both\">\n<section class=\"graph\" tabindex=\"0\" "
		      "aria-label=\"flow graph\">\n",
		      w.f);
		html_flow_draw(w.flow, w.f, w.lines);
		html(w.f,
		     "</section>\n<section class=\"code\" aria-label=\"instructions\" "
		     "style=\"--c:%uch\">\n",
		     (unsigned)snprintf(NULL, 0, "%llu", most));
		listing_walk(l, page->addr, &write, &w);
		fputs("</section>\n</div>\n</main>\n", w.f);
		status = html_end(h, w.f, page->name);
	}
	html_flow_free(w.flow);
	free(w.insns);
	free(w.lines);
	return status;
}

static int
write_module(struct html *h, struct listing *l, uint32_t module)
{
	size_t first = h->code->n_pages;
	int status = listing_open(l, h->c, h->r, module);

	if (status == EXIT_OK) {
		add_pages(h, l, module);
		if (h->code->failed)
			status = tool_error("out of memory");
	}
	for (size_t i = first; i < h->code->n_pages && status == EXIT_OK; i++)
		status = write_page(h, l, &h->code->pages[i]);
	return status;
}

int
html_write_code(struct html *h)
{
	struct listing l = { .quiet = 1 };
	int status = EXIT_OK;

	h->code = calloc(1, sizeof(*h->code));
	if (h->code)
		h->code->own = calloc(h->r->n_functions + 1u, sizeof(*h->code->own));
	if (!h->code || !h->code->own)
		return tool_error("out of memory");
	for (uint32_t i = 0; i < h->r->n_modules && status == EXIT_OK; i++)
		if (h->r->modules[i].chosen && !h->r->modules[i].why &&
		    h->r->modules[i].tally.functions.all)
			status = write_module(h, &l, i);
	listing_free(&l);
	return status;
}

void
html_code_free(struct html *h)
{
	if (!h->code)
		return;
	for (size_t i = 0; i < h->code->n_pages; i++)
		free(h->code->pages[i].name);
	free(h->code->pages);
	free(h->code->spans);
	free(h->code->own);
	free(h->code);
}
