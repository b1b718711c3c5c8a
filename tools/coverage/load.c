/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

void *
load_grow(void **at, size_t *n, size_t *cap, size_t item)
{
	if (*n == *cap) {
		size_t more = *cap ? *cap * 2 : 16;
		void *bigger = reallocarray(*at, more, item);

		if (!bigger)
			return NULL;
		*at = bigger;
		*cap = more;
	}
	return memset((char *)*at + (*n)++ * item, 0, item);
}

const char *
load_string(struct loaded *l, const char *s, size_t len)
{
	char **slot = LOAD_PUSH(&l->strings);

	if (slot)
		*slot = strndup(s, len);
	return slot ? *slot : NULL;
}

void
loaded_finish(struct loaded *l)
{
	size_t line = 0;

	for (size_t i = 0; i < l->files.n; i++) {
		l->files.at[i].lines = l->lines.at + line;
		line += l->files.at[i].n_lines;
	}
	l->report.modules = l->modules.at;
	l->report.n_modules = (uint32_t)l->modules.n;
	l->report.files = l->files.at;
	l->report.n_files = (uint32_t)l->files.n;
	l->report.functions = l->functions.at;
	l->report.n_functions = (uint32_t)l->functions.n;
	l->report.branches = l->branches.at;
	l->report.n_branches = (uint32_t)l->branches.n;
}

void
loaded_free(struct loaded *l)
{
	for (size_t i = 0; i < l->strings.n; i++)
		free(l->strings.at[i]);
	free(l->strings.at);
	free(l->modules.at);
	free(l->files.at);
	free(l->functions.at);
	free(l->branches.at);
	free(l->lines.at);
	load_json_free(l->json);
	ht_cov_report_free(l->whole);
	memset(l, 0, sizeof(*l));
}

/* What a file is, by its first byte that is no white space: '{' is JSON, a keyword lcov. */
enum kind { CAPTURE, JSON, LCOV };

static int
kind_of(const char *path, enum kind *kind)
{
	FILE *f = fopen(path, "r");
	char head[64] = "";
	const char *p = head;
	size_t n;

	if (!f)
		return tool_error("%s: cannot be opened: %s", path, strerror(errno));
	n = fread(head, 1, sizeof(head) - 1, f);
	fclose(f);
	head[n] = '\0';
	p += strspn(p, " \t\r\n");
	*kind = *p == '{' ? JSON : !strncmp(p, "TN:", 3) || !strncmp(p, "SF:", 3) || *p == '#' ? LCOV : CAPTURE;
	return EXIT_OK;
}

static int
load_capture(const struct load_opts *o, const char *path, struct cover *told, struct loaded *l)
{
	struct ht_cov_config config = { .size = sizeof(config), .modules = o->modules.at,
		.all_modules = o->all_modules, .all_functions = o->all_functions,
		.source_map = o->source_map.at };
	struct cover c = { 0 };
	struct ht_diag diag = { 0 };
	struct input in = { 0 };
	int status = ht_coverage_new(&c.counts) < 0 ? tool_error("out of memory") : input_open(&in, &o->input, path);

	if (status == EXIT_OK)
		status = cover_count(&c, &in);
	if (status == EXIT_OK && ht_cov_report_new(c.counts, &config, &l->whole, &diag) < 0)
		status = tool_fail(&diag);
	if (l->whole)
		l->report = *l->whole;
	told->software |= c.software;
	told->decoded++;
	loss_merge(&told->loss, &c.loss);
	ht_coverage_free(c.counts);
	input_close(&in);
	return status;
}

/* Paths of a report that was made elsewhere. */
static int
map_files(const struct load_opts *o, struct loaded *l)
{
	char buf[4096];

	for (size_t i = 0; o->source_map.n && i < l->files.n; i++) {
		const char *path = ht_cov_map_source(o->source_map.at, l->files.at[i].path, buf, sizeof(buf));

		if (path == buf && !(l->files.at[i].path = load_string(l, buf, strlen(buf))))
			return tool_error("out of memory");
	}
	return EXIT_OK;
}

static int
load(const struct load_opts *o, const char *path, struct cover *c, struct loaded *l)
{
	enum kind kind;
	int status = kind_of(path, &kind);

	if (status == EXIT_OK)
		status = kind == JSON ? load_json(path, l) : kind == LCOV ? load_lcov(path, l)
		                                                          : load_capture(o, path, c, l);
	c->software |= l->software;
	if (status == EXIT_OK)
		status = map_files(o, l);
	if (status != EXIT_OK)
		return status;
	return kind == JSON ? load_json_sources(l, c) : cover_add_source(c, path);
}

int
load_merged(const struct load_opts *o, char **paths, int n, struct cover *c, struct ht_cov_report **out)
{
	struct loaded *all = calloc((size_t)n + 1, sizeof(*all));
	const struct ht_cov_report **in = calloc((size_t)n + 1, sizeof(*in));
	struct ht_diag diag = { 0 };
	int status = all && in ? EXIT_OK : tool_error("out of memory");

	for (int i = 0; i < n && status == EXIT_OK; i++) {
		status = load(o, paths[i], c, &all[i]);
		in[i] = &all[i].report;
	}
	cover_sort_sources(c);
	if (status == EXIT_OK && ht_cov_report_merge(in, (size_t)n, out, &diag) < 0)
		status = tool_fail(&diag);
	for (int i = 0; all && i < n; i++)
		loaded_free(&all[i]);
	free(all);
	free(in);
	return status;
}
