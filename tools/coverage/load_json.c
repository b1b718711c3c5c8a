/* SPDX-License-Identifier: BSD-2-Clause */
/* Our own JSON, as json.c writes it.  Nothing in the file is trusted. */
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "load.h"

struct reader {
	struct loaded *l;
	const char    *path;
	const char    *where; /* the table at hand */
	size_t         item;  /* and the item in it */
};

/* "PATH: functions[12]: TEXT" */
static int
wrong(const struct reader *r, const char *what)
{
	return tool_error("%s: %s[%zu]: %s; it was not written by hwtrace, or has been changed since", r->path,
	                  r->where, r->item, what);
}

static json_object *
get(json_object *o, const char *key, json_type type)
{
	json_object *v;

	return json_object_object_get_ex(o, key, &v) && json_object_get_type(v) == type ? v : NULL;
}

/* A number in [0, max]; `max` + 1 when it is not there or none of these. */
static uint64_t
number(json_object *o, const char *key, uint64_t max)
{
	json_object *v = get(o, key, json_type_int);
	uint64_t n = v ? json_object_get_uint64(v) : 0;

	return !v || n > max || json_object_get_int64(v) < 0 ? max + 1 : n;
}

/* Counts: nothing is 0. */
static uint64_t
count(json_object *o, const char *key)
{
	json_object *v = get(o, key, json_type_int);

	return v && json_object_get_int64(v) >= 0 ? json_object_get_uint64(v) : 0;
}

static uint32_t
small(json_object *o, const char *key)
{
	uint64_t n = number(o, key, UINT32_MAX - 1);

	return n < UINT32_MAX ? (uint32_t)n : 0;
}

static const char *
text(json_object *o, const char *key)
{
	json_object *v = get(o, key, json_type_string);

	return v ? json_object_get_string(v) : NULL;
}

static int
state(json_object *o, uint8_t *out)
{
	const char *s = text(o, "state");

	for (unsigned i = 0; s && i <= HT_COV_UNKNOWN; i++)
		if (!strcmp(s, cover_state(i))) {
			*out = (uint8_t)i;
			return 0;
		}
	return -1;
}

static uint64_t
address(json_object *o)
{
	const char *s = text(o, "address");

	return s ? strtoull(s, NULL, 16) : 0;
}

static int
flag(json_object *o, const char *key)
{
	json_object *v = get(o, key, json_type_boolean);

	return v && json_object_get_boolean(v);
}

/* Of what is unknown, why; nothing is loss. */
static uint8_t
doubt(json_object *o, uint8_t state_)
{
	uint8_t d =
	    (flag(o, "lost") ? HT_COV_LOST : 0) | (flag(o, "unrecorded") ? HT_COV_UNRECORDED : 0);

	return !d && state_ == HT_COV_UNKNOWN ? HT_COV_LOST : d;
}

static int
read_module(struct reader *r, json_object *o)
{
	static const char *const found[] = { "lines", "symbols", "unwind", "text", "report" };
	struct ht_cov_module *m = LOAD_PUSH(&r->l->modules);
	const char *by = text(o, "found_by");

	if (!m)
		return tool_error("out of memory");
	m->path = text(o, "path");
	m->build_id = text(o, "build_id");
	m->why = text(o, "why");
	m->chosen = flag(o, "covered") || m->why;
	m->executed = count(o, "executed");
	m->gaps = count(o, "gaps");
	m->damaged_units = small(o, "damaged_units");
	for (unsigned i = 0; by && i < sizeof(found) / sizeof(*found); i++)
		if (!strcmp(by, found[i]))
			m->source = (uint8_t)i;
	return m->path ? EXIT_OK : wrong(r, "a module without a path");
}

static int
read_branch(struct reader *r, json_object *o, uint32_t file, uint32_t line)
{
	struct ht_cov_branch *b = LOAD_PUSH(&r->l->branches);
	uint64_t module, function = HT_COV_NONE;

	if (!b)
		return tool_error("out of memory");
	module = number(o, "module", r->l->report.n_modules);
	if (get(o, "function", json_type_int))
		function = number(o, "function", UINT32_MAX - 1);
	b->file = file;
	b->line = line;
	b->module = (uint32_t)module;
	b->function = (uint32_t)function;
	b->addr = address(o);
	b->taken = count(o, "taken");
	b->not_taken = count(o, "not_taken");
	b->one = !get(o, "not_taken", json_type_int);
	if (module >= r->l->modules.n)
		return wrong(r, "a branch in a module that is not there");
	if (state(o, &b->state) < 0)
		return wrong(r, "a branch without a state");
	b->doubt = doubt(o, b->state);
	return EXIT_OK;
}

static int
read_branches(struct reader *r, json_object *line, uint32_t file, uint32_t number_)
{
	json_object *list = get(line, "branches", json_type_array);
	int status = EXIT_OK;

	for (size_t i = 0; list && i < json_object_array_length(list) && status == EXIT_OK; i++)
		status = read_branch(r, json_object_array_get_idx(list, i), file, number_);
	return status;
}

static int
read_file(struct reader *r, json_object *o)
{
	struct ht_cov_file *f = LOAD_PUSH(&r->l->files);
	uint32_t self = (uint32_t)r->l->files.n - 1;
	json_object *list = get(o, "lines", json_type_array);
	int status = EXIT_OK;

	if (!f)
		return tool_error("out of memory");
	f->path = text(o, "path");
	if (!f->path || !list)
		return wrong(r, "a file without a path or lines");
	for (size_t i = 0; i < json_object_array_length(list) && status == EXIT_OK; i++) {
		json_object *item = json_object_array_get_idx(list, i);
		struct ht_cov_line *l = LOAD_PUSH(&r->l->lines);

		if (!l)
			return tool_error("out of memory");
		r->l->files.at[self].n_lines++;
		l->line = small(item, "line");
		l->count = count(item, "count");
		if (!l->line || state(item, &l->state) < 0)
			return wrong(r, "a line without a number or state");
		l->doubt = doubt(item, l->state);
		status = read_branches(r, item, self, l->line);
	}
	return status;
}

/* Files by path: functions name theirs. */
static int
path_order(const void *a, const void *b)
{
	return strcmp((*(const struct ht_cov_file *const *)a)->path, (*(const struct ht_cov_file *const *)b)->path);
}

static int
read_functions(struct reader *r, json_object *list)
{
	size_t n = r->l->files.n;
	const struct ht_cov_file **sorted = calloc(n + 1, sizeof(*sorted));
	int status = sorted ? EXIT_OK : tool_error("out of memory");

	for (size_t i = 0; sorted && i < n; i++)
		sorted[i] = &r->l->files.at[i];
	if (sorted && n)
		qsort(sorted, n, sizeof(*sorted), path_order);
	for (r->item = 0; r->item < json_object_array_length(list) && status == EXIT_OK; r->item++) {
		json_object *o = json_object_array_get_idx(list, r->item);
		struct ht_cov_function *f = LOAD_PUSH(&r->l->functions);
		struct ht_cov_file like = { .path = text(o, "file") };
		const struct ht_cov_file *key = &like, **at;

		if (!f) {
			status = tool_error("out of memory");
			break;
		}
		at = like.path ? bsearch(&key, sorted, n, sizeof(*sorted), path_order) : NULL;
		f->name = f->shown = text(o, "name");
		f->linkage = text(o, "linkage_name");
		f->file = at ? (uint32_t)(*at - r->l->files.at) : HT_COV_NONE;
		f->line = small(o, "line");
		f->end_line = small(o, "end_line");
		f->module = (uint32_t)number(o, "module", r->l->report.n_modules);
		f->addr = address(o);
		f->count = count(o, "entries");
		f->copies = small(o, "copies");
		f->inlined = small(o, "inlined");
		if (!f->name || f->module >= r->l->modules.n || (like.path && !at) || state(o, &f->state) < 0)
			status = wrong(r, "a function without name, module, file or state");
		f->doubt = doubt(o, f->state);
	}
	free(sorted);
	return status;
}

static int
read_other(struct reader *r, json_object *o)
{
	uint64_t file = HT_COV_NONE;

	if (get(o, "file", json_type_int)) {
		file = number(o, "file", UINT32_MAX - 1);
		if (file >= r->l->files.n)
			return wrong(r, "a branch in a file that is not there");
	}
	return read_branch(r, o, (uint32_t)file, small(o, "line"));
}

/* Each item of the list `key` by `each`. */
static int
read_list(struct reader *r, json_object *o, const char *key, int (*each)(struct reader *, json_object *))
{
	json_object *list = get(o, key, json_type_array);
	int status = EXIT_OK;

	r->where = key;
	r->item = 0;
	if (!list)
		return wrong(r, "the list is missing");
	for (; r->item < json_object_array_length(list) && status == EXIT_OK; r->item++)
		status = each(r, json_object_array_get_idx(list, r->item));
	return status;
}

static int
read_all(struct reader *r, json_object *o)
{
	json_object *list = get(o, "functions", json_type_array), *modules = get(o, "modules", json_type_array);
	const char *format = text(o, "format");
	int status;

	if (!format || strcmp(format, "hwtrace-coverage") || number(o, "version", 1) != 1)
		return tool_error("%s: JSON, but not a report of hwtrace coverage --json that this version reads", r->path);
	if (!list || !modules)
		return tool_error("%s: a report without modules or functions", r->path);
	r->l->software = flag(o, "software");
	r->l->report.gaps = count(o, "gaps");
	r->l->report.unresolved = count(o, "unresolved_instructions");
	r->l->report.n_modules = (uint32_t)json_object_array_length(modules);
	status = read_list(r, o, "modules", read_module);
	if (status == EXIT_OK)
		status = read_list(r, o, "files", read_file);
	r->where = "functions";
	if (status == EXIT_OK)
		status = read_functions(r, list);
	if (status == EXIT_OK)
		status = read_list(r, o, "other_branches", read_other);
	for (size_t i = 0; i < r->l->branches.n && status == EXIT_OK; i++)
		if (r->l->branches.at[i].function != HT_COV_NONE && r->l->branches.at[i].function >= r->l->functions.n)
			status = wrong(r, "a branch in a function that is not there");
	return status;
}

int
load_json(const char *path, struct loaded *l)
{
	struct reader r = { .l = l, .path = path };
	json_object *o = json_object_from_file(path);
	int status;

	if (!o) {
		const char *why = json_util_get_last_err();
		size_t n = why ? strcspn(why, "\n") : 0;

		return tool_error("%s: not JSON to the end: %.*s", path, (int)n, why ? why : "");
	}
	l->json = o; /* the texts are in there */
	status = json_object_get_type(o) == json_type_object ? read_all(&r, o)
	                                                      : tool_error("%s: JSON, but not a report", path);
	loaded_finish(l);
	return status;
}

int
load_json_sources(const struct loaded *l, struct cover *c)
{
	json_object *list = get(l->json, "captures", json_type_array);
	int status = EXIT_OK;

	for (size_t i = 0; list && i < json_object_array_length(list) && status == EXIT_OK; i++) {
		const char *path = json_object_get_string(json_object_array_get_idx(list, i));

		if (path)
			status = cover_add_source(c, path);
	}
	return status;
}

void
load_json_free(void *json)
{
	json_object_put(json);
}
