/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Our own JSON, which says everything the report knows, the third state
 * included.  Objects and lists keep the order of the report, so that equal
 * coverage gives equal bytes.
 */
#include <json-c/json.h>

#include "cover.h"

#define VERSION 1

static void
put(json_object *o, const char *key, json_object *value)
{
	json_object_object_add(o, key, value);
}

static void
put_number(json_object *o, const char *key, uint64_t v)
{
	put(o, key, json_object_new_uint64(v));
}

static void
put_text(json_object *o, const char *key, const char *s)
{
	if (s)
		put(o, key, json_object_new_string(s));
}

static void
put_address(json_object *o, const char *key, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)v);
	put_text(o, key, text);
}

static json_object *
tally(const struct ht_cov_tally *t)
{
	json_object *o = json_object_new_object();

	put_number(o, "all", t->all);
	put_number(o, "hit", t->hit);
	put_number(o, "unknown", t->unknown);
	return o;
}

static json_object *
tallies(const struct ht_cov_tallies *t, int with_functions, int with_lines)
{
	json_object *o = json_object_new_object();

	if (with_lines)
		put(o, "lines", tally(&t->lines));
	put(o, "branches", tally(&t->branches));
	if (with_functions)
		put(o, "functions", tally(&t->functions));
	put(o, "instructions", tally(&t->insns));
	put(o, "calls", tally(&t->calls));
	put(o, "blocks", tally(&t->blocks));
	return o;
}

static json_object *
modules(const struct ht_cov_report *r)
{
	static const char *const found[] = { "lines", "symbols", "unwind", "text", "report" };
	json_object *list = json_object_new_array();

	for (uint32_t i = 0; i < r->n_modules; i++) {
		const struct ht_cov_module *m = &r->modules[i];
		json_object *o = json_object_new_object();

		put_text(o, "path", m->path);
		put_text(o, "build_id", m->build_id);
		put(o, "covered", json_object_new_boolean(m->chosen && !m->why));
		put_text(o, "why", m->why);
		put_number(o, "executed", m->executed);
		put_number(o, "gaps", m->gaps);
		if (m->chosen && !m->why) {
			put_text(o, "found_by", found[m->source]);
			put_number(o, "damaged_units", m->damaged_units);
			put_number(o, "split_missing", m->split_missing);
			put_number(o, "without_lines", m->without_lines);
			put(o, "totals", tallies(&m->tally, 1, 0));
		}
		json_object_array_add(list, o);
	}
	return list;
}

/* Why a thing that was not seen is unknown. */
static void
put_doubt(json_object *o, unsigned doubt)
{
	if (doubt & HT_COV_LOST)
		put(o, "lost", json_object_new_boolean(1));
	if (doubt & HT_COV_UNRECORDED)
		put(o, "unrecorded", json_object_new_boolean(1));
}

static json_object *
branch(const struct ht_cov_branch *b)
{
	json_object *o = json_object_new_object();

	put_address(o, "address", b->addr);
	put_number(o, "module", b->module);
	if (b->function != HT_COV_NONE)
		put_number(o, "function", b->function);
	put_text(o, "state", cover_state(b->state));
	put_number(o, "taken", b->taken);
	if (!b->one)
		put_number(o, "not_taken", b->not_taken);
	put_doubt(o, b->doubt);
	return o;
}

static json_object *
lines(const struct ht_cov_report *r, const struct ht_cov_file *file)
{
	json_object *list = json_object_new_array();

	for (uint32_t i = 0; i < file->n_lines; i++) {
		const struct ht_cov_line *l = &file->lines[i];
		json_object *o = json_object_new_object(), *branches;

		put_number(o, "line", l->line);
		put_number(o, "count", l->count);
		put_text(o, "state", cover_state(l->state));
		put_doubt(o, l->doubt);
		if (l->n_branches) {
			branches = json_object_new_array();
			for (uint32_t k = 0; k < l->n_branches; k++)
				json_object_array_add(branches, branch(&r->branches[l->first_branch + k]));
			put(o, "branches", branches);
		}
		json_object_array_add(list, o);
	}
	return list;
}

/* Branches that no line of the report stands for: of programs without lines, above all. */
static json_object *
other_branches(const struct ht_cov_report *r)
{
	json_object *list = json_object_new_array();
	uint32_t i = 0;

	for (uint32_t f = 0; f <= r->n_files; f++)
		for (uint32_t k = 0; f == r->n_files ? k == 0 : k < r->files[f].n_lines; k++) {
			const struct ht_cov_line *l = f < r->n_files ? &r->files[f].lines[k] : NULL;
			uint32_t next = l ? l->first_branch : r->n_branches;

			for (; i < next; i++) {
				const struct ht_cov_branch *b = &r->branches[i];
				json_object *o = branch(b);

				if (b->file != HT_COV_NONE) {
					put_number(o, "file", b->file);
					put_number(o, "line", b->line);
				}
				json_object_array_add(list, o);
			}
			if (l)
				i = l->first_branch + l->n_branches;
		}
	return list;
}

static json_object *
files(const struct ht_cov_report *r)
{
	json_object *list = json_object_new_array();

	for (uint32_t i = 0; i < r->n_files; i++) {
		json_object *o = json_object_new_object();

		put_text(o, "path", r->files[i].path);
		put(o, "totals", tallies(&r->files[i].tally, 1, 1));
		put(o, "lines", lines(r, &r->files[i]));
		json_object_array_add(list, o);
	}
	return list;
}

static json_object *
functions(const struct ht_cov_report *r)
{
	json_object *list = json_object_new_array();

	for (uint32_t i = 0; i < r->n_functions; i++) {
		const struct ht_cov_function *fn = &r->functions[i];
		json_object *o = json_object_new_object();

		put_text(o, "name", fn->name);
		put_text(o, "linkage_name", fn->linkage);
		if (fn->shown != fn->name)
			put_text(o, "full_name", fn->shown);
		if (fn->file != HT_COV_NONE) {
			put_text(o, "file", r->files[fn->file].path);
			put_number(o, "line", fn->line);
			put_number(o, "end_line", fn->end_line);
		}
		put_number(o, "module", fn->module);
		put_address(o, "address", fn->addr);
		put_text(o, "state", cover_state(fn->state));
		if (fn->state == HT_COV_UNKNOWN)
			put_doubt(o, fn->doubt);
		put_number(o, "entries", fn->count);
		put_number(o, "copies", fn->copies);
		put_number(o, "inlined", fn->inlined);
		put(o, "totals", tallies(&fn->tally, 0, 1));
		json_object_array_add(list, o);
	}
	return list;
}

static json_object *
targets(const struct ht_cov_report *r, const struct ht_cov_site *s)
{
	json_object *list = json_object_new_array();

	for (uint32_t i = 0; i < s->n_targets; i++) {
		const struct ht_cov_target *t = &r->targets[s->first_target + i];
		json_object *o = json_object_new_object();

		if (t->module != HT_COV_NONE)
			put_number(o, "module", t->module);
		put_address(o, "address", t->addr);
		put_text(o, "name", t->name);
		put_number(o, "count", t->count);
		json_object_array_add(list, o);
	}
	return list;
}

/* Calls and indirect jumps, with what was seen of where they go. */
static json_object *
sites(const struct ht_cov_report *r)
{
	json_object *list = json_object_new_array();

	for (uint32_t i = 0; i < r->n_sites; i++) {
		const struct ht_cov_site *s = &r->sites[i];
		json_object *o = json_object_new_object();

		put_text(o, "kind", cover_site_kind(s));
		put_number(o, "module", s->module);
		put_address(o, "address", s->addr);
		put_number(o, "function", s->function);
		if (s->file != HT_COV_NONE) {
			put_number(o, "file", s->file);
			put_number(o, "line", s->line);
		}
		put_text(o, "state", cover_state(s->state));
		if (s->state == HT_COV_UNKNOWN)
			put_doubt(o, s->doubt);
		put_number(o, "count", s->count);
		if (s->insn == HT_INSN_CALL) {
			put_address(o, "to", s->to);
			put_text(o, "name", s->name);
		} else {
			put(o, "targets", targets(r, s));
		}
		json_object_array_add(list, o);
	}
	return list;
}

int
cover_write_json(const char *path, const struct cover *c, const struct ht_cov_report *r)
{
	json_object *o = json_object_new_object(), *captures = json_object_new_array();
	FILE *f = cover_open(path);

	if (!f) {
		json_object_put(o);
		json_object_put(captures);
		return EXIT_ERROR;
	}
	put_text(o, "format", "hwtrace-coverage");
	put_number(o, "version", VERSION);
	put(o, "software", json_object_new_boolean(c->software));
	put_text(o, "label", cover_label(c));
	for (size_t i = 0; i < c->n_sources; i++)
		json_object_array_add(captures, json_object_new_string(c->sources[i]));
	put(o, "captures", captures);
	put_number(o, "gaps", r->gaps);
	put_number(o, "unresolved_instructions", r->unresolved);
	put(o, "totals", tallies(&r->total, 1, 1));
	put(o, "modules", modules(r));
	put(o, "files", files(r));
	put(o, "functions", functions(r));
	put(o, "other_branches", other_branches(r));
	put(o, "calls", sites(r));
	fputs(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE), f);
	fputc('\n', f);
	json_object_put(o);
	return cover_close(f, path);
}
