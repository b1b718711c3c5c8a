/* SPDX-License-Identifier: BSD-2-Clause */
/* The JSON of gcovr 5.2, format 0.3: it reads it, merges it with its own, and makes its reports. */
#include <stdlib.h>

#include <json-c/json.h>

#include "cover.h"
#include "names.h"

static void
put(json_object *o, const char *key, json_object *value)
{
	json_object_object_add(o, key, value);
}

static void
put_outcome(json_object *list, const struct ht_cov_branch *b, uint64_t count, int falls_through)
{
	json_object *o;

	if (!count && b->doubt)
		return;
	o = json_object_new_object();
	put(o, "count", json_object_new_uint64(count));
	put(o, "fallthrough", json_object_new_boolean(falls_through));
	put(o, "throw", json_object_new_boolean(0));
	json_object_array_add(list, o);
}

static json_object *
lines(const struct ht_cov_report *r, const struct ht_cov_file *file)
{
	json_object *list = json_object_new_array();

	for (uint32_t i = 0; i < file->n_lines; i++) {
		const struct ht_cov_line *l = &file->lines[i];
		json_object *o, *branches;

		if (l->state == HT_COV_UNKNOWN)
			continue;
		o = json_object_new_object();
		branches = json_object_new_array();
		put(o, "line_number", json_object_new_uint64(l->line));
		put(o, "count", json_object_new_uint64(l->count));
		for (uint32_t k = 0; k < l->n_branches; k++) {
			const struct ht_cov_branch *b = &r->branches[l->first_branch + k];

			put_outcome(branches, b, b->taken, 0);
			if (!b->one)
				put_outcome(branches, b, b->not_taken, 1);
		}
		put(o, "branches", branches);
		put(o, "gcovr/noncode", json_object_new_boolean(0));
		put(o, "gcovr/excluded", json_object_new_boolean(0));
		json_object_array_add(list, o);
	}
	return list;
}

static json_object *
functions(const struct ht_cov_report *r, uint32_t file, uint32_t *at, struct names *taken)
{
	json_object *list = json_object_new_array();

	names_clear(taken);

	for (; *at < r->n_functions && r->functions[*at].file == file; ++*at) {
		const struct ht_cov_function *fn = &r->functions[*at];
		json_object *o;
		char *name = NULL;

		if (!fn->line || fn->state == HT_COV_UNKNOWN)
			continue;
		/* gcovr knows a function by its name, which has one line in a file. */
		if (names_add(taken, fn->shown) && asprintf(&name, "%s@%u", fn->linkage ? fn->linkage : fn->name, fn->line) < 0)
			continue;
		o = json_object_new_object();
		put(o, "name", json_object_new_string(name ? name : fn->shown));
		put(o, "lineno", json_object_new_uint64(fn->line));
		put(o, "execution_count", json_object_new_uint64(fn->count));
		json_object_array_add(list, o);
		free(name);
	}
	return list;
}

int
cover_write_gcovr(const char *path, const struct cover *c, const struct ht_cov_report *r)
{
	json_object *o, *files;
	FILE *f = cover_open(path);
	struct names taken = { 0 };
	uint32_t at = 0;

	(void)c;
	if (!f)
		return EXIT_ERROR;
	o = json_object_new_object();
	files = json_object_new_array();
	for (uint32_t i = 0; i < r->n_files; i++) {
		json_object *file = json_object_new_object();

		while (at < r->n_functions && r->functions[at].file < i)
			at++;
		put(file, "file", json_object_new_string(cover_path(r->files[i].path)));
		put(file, "lines", lines(r, &r->files[i]));
		put(file, "functions", functions(r, i, &at, &taken));
		json_object_array_add(files, file);
	}
	put(o, "gcovr/format_version", json_object_new_string("0.3"));
	put(o, "files", files);
	fputs(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE), f);
	fputc('\n', f);
	json_object_put(o);
	names_fini(&taken);
	return cover_close(f, path);
}
