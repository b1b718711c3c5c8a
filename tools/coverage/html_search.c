/* SPDX-License-Identifier: BSD-2-Clause */
/* What the search of the pages knows: names of files and functions, and where they stand. */
#include <stdlib.h>

#include <json-c/json.h>

#include "html.h"

static void
entry(FILE *f, int *any, const char *name, const char *page, const char *state)
{
	json_object *row = json_object_new_array();

	json_object_array_add(row, json_object_new_string(name));
	json_object_array_add(row, json_object_new_string(page));
	if (state)
		json_object_array_add(row, json_object_new_string(state));
	fprintf(f, "%s\n%s", (*any)++ ? "," : "",
	        json_object_to_json_string_ext(row, JSON_C_TO_STRING_PLAIN));
	json_object_put(row);
}

/* To its line; else to its instructions. */
static void
function(const struct html *h, FILE *f, int *any, const struct ht_cov_function *fn)
{
	uint32_t line = fn->file != HT_COV_NONE ? html_place(&h->r->files[fn->file], fn->line) : 0;
	const char *page = html_code_of(h, (uint32_t)(fn - h->r->functions));
	char *where = NULL;

	if (line && asprintf(&where, "%s#L%u", h->pages[fn->file], line) < 0)
		where = NULL;
	if (where || page)
		entry(f, any, fn->shown, where ? where : page, html_class(fn->state));
	free(where);
}

int
html_write_search(const struct html *h)
{
	FILE *f = html_open(h, "search.js");
	int any = 0;

	if (!f)
		return EXIT_ERROR;
	fputs("hwtraceSearch([", f);
	for (uint32_t i = 0; i < h->r->n_files; i++)
		entry(f, &any, cover_path(h->r->files[i].path), h->pages[i], NULL);
	for (uint32_t i = 0; i < h->r->n_functions; i++)
		if (h->r->functions[i].shown[0])
			function(h, f, &any, &h->r->functions[i]);
	fputs("\n]);\n", f);
	return html_close(h, f, "search.js");
}
