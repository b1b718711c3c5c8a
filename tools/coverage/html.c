/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "html.h"

FILE *
html_open(const struct html *h, const char *name)
{
	char *path;
	FILE *f;

	if (asprintf(&path, "%s/%s", h->dir, name) < 0) {
		tool_error("out of memory");
		return NULL;
	}
	f = cover_open(path);
	free(path);
	return f;
}

int
html_close(const struct html *h, FILE *f, const char *name)
{
	char *path;
	int status;

	if (asprintf(&path, "%s/%s", h->dir, name) < 0) {
		fclose(f);
		return tool_error("out of memory");
	}
	status = cover_close(f, path);
	free(path);
	return status;
}

FILE *
html_begin(const struct html *h, const char *page, const char *up, const char *title)
{
	FILE *f = html_open(h, page);

	if (!f)
		return NULL;
	/* The policy keeps the promise that a report asks no network for anything. */
	html(f,
	     "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src &#39;none&#39;; "
	     "style-src &#39;self&#39; file: &#39;unsafe-inline&#39;; script-src &#39;self&#39; "
	     "file:; img-src data:\">\n"
	     "<title>%s</title>\n<link rel=\"icon\" href=\"data:,\">\n"
	     "<link rel=\"stylesheet\" href=\"%sreport.css\">\n<script "
	     "src=\"%sreport.js\"></script>\n"
	     "</head>\n<body data-up=\"%s\">\n",
	     title, up, up, up);
	return f;
}

int
html_end(const struct html *h, FILE *f, const char *page)
{
	fputs("</body>\n</html>\n", f);
	return html_close(h, f, page);
}

static int
make_folder(const char *dir, const char *name)
{
	struct stat st;
	char *path;
	int status = EXIT_OK;

	if (asprintf(&path, "%s%s%s", dir, *name ? "/" : "", name) < 0)
		return tool_error("out of memory");
	if (mkdir(path, 0777) < 0 &&
	    (errno != EEXIST || stat(path, &st) < 0 || !S_ISDIR(st.st_mode)))
		status = tool_error("%s: cannot be made a folder: %s", path, strerror(errno));
	free(path);
	return status;
}

static int
write_asset(const struct html *h, const struct html_asset *a)
{
	FILE *f = html_open(h, a->name);

	if (!f)
		return EXIT_ERROR;
	fwrite(a->start, 1, (size_t)(a->end - a->start), f);
	return html_close(h, f, a->name);
}

static int
name_pages(struct html *h)
{
	h->pages = calloc(h->r->n_files + 1u, sizeof(*h->pages));
	if (!h->pages)
		return tool_error("out of memory");
	for (uint32_t i = 0; i < h->r->n_files; i++) {
		h->pages[i] = html_page_name("src", h->r->files[i].path, h->r->files[i].path);
		if (!h->pages[i])
			return tool_error("out of memory");
	}
	return EXIT_OK;
}

/* The index comes last: where it stands, the report is whole. */
static int
write_all(struct html *h)
{
	static const char *const folders[] = { "", "src", "fn", "mod", NULL };
	int status = name_pages(h);

	for (int i = 0; folders[i] && status == EXIT_OK; i++)
		status = make_folder(h->dir, folders[i]);
	for (const struct html_asset *a = html_assets; a->name && status == EXIT_OK; a++)
		status = write_asset(h, a);
	if (status == EXIT_OK && h->c->counts)
		status = html_write_code(h);
	for (uint32_t i = 0; i < h->r->n_files && status == EXIT_OK; i++)
		status = html_write_source(h, i);
	for (uint32_t i = 0; i < h->r->n_modules && status == EXIT_OK; i++)
		if (html_module_has_page(h, i))
			status = html_write_module(h, i);
	if (status == EXIT_OK)
		status = html_write_search(h);
	return status == EXIT_OK ? html_write_index(h) : status;
}

int
cover_write_html(const char *dir, const struct cover *c, const struct ht_cov_report *r)
{
	struct html h = { .dir = dir, .c = c, .r = r };
	int status = write_all(&h);

	for (uint32_t i = 0; h.pages && i < r->n_files; i++)
		free(h.pages[i]);
	free(h.pages);
	html_code_free(&h);
	return status;
}
