/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/demangle.h>

#include "base/vec.h"
#include "sink/coverage_build.h"

const char *
cov_string(struct cov_builder *b, const char *s)
{
	char **slot = ht_vec_push(&b->strings);

	if (!slot)
		return NULL;
	*slot = strdup(s);
	if (!*slot)
		b->strings.n--;
	return *slot;
}

static uint64_t
hash(uint64_t h, const char *s)
{
	for (; s && *s; s++)
		h = (h ^ (uint8_t)*s) * 0x100000001b3u;
	return (h ^ 0xff) * 0x100000001b3u;
}

uint32_t
cov_file(struct cov_builder *b, const char *path)
{
	uint64_t h = hash(0xcbf29ce484222325u, path);
	struct ht_cov_file *f;
	struct cov_marks *marks;
	struct cov_slot *s;
	uint64_t n = 0;

	while ((s = cov_table_find(&b->file_ids, h, n)) && strcmp(b->files.at[s->count].path, path))
		n++;
	if (s)
		return (uint32_t)s->count;
	s = cov_table_add(&b->file_ids, h, n);
	if (!s)
		return HT_COV_NONE;
	s->n = 1;
	s->count = b->files.n;
	f = ht_vec_push(&b->files);
	marks = ht_vec_push(&b->marks);
	if (!f || !marks)
		return HT_COV_NONE;
	memset(f, 0, sizeof(*f));
	memset(marks, 0, sizeof(*marks));
	if (b->config && !b->config->no_markers && cov_marks_read(marks, path, &f->unclosed) < 0)
		return HT_COV_NONE;
	f->path = cov_string(b, path);
	return f->path ? (uint32_t)s->count : HT_COV_NONE;
}

/* What tells functions apart that stand in one place: names of the linker, where there are some. */
static const char *
identity(const struct ht_cov_function *f)
{
	return f->linkage ? f->linkage : f->name;
}

/* With a place in the source, that and the name; else module and address. */
static int
same_function(const struct ht_cov_function *f, const struct ht_cov_function *like)
{
	if (f->file != like->file || f->line != like->line || strcmp(identity(f), identity(like)))
		return 0;
	return f->file != HT_COV_NONE || (f->module == like->module && f->addr == like->addr);
}

uint32_t
cov_function(struct cov_builder *b, const struct ht_cov_function *wanted)
{
	struct ht_cov_function key = *wanted, *like = &key, *f;
	char shown[HT_DEMANGLE_MAX];
	uint64_t h;
	struct cov_slot *s;
	uint64_t n = 0;

	if (key.linkage && !strcmp(key.linkage, key.name))
		key.linkage = NULL;
	h = hash(0xcbf29ce484222325u ^ key.line ^ (uint64_t)key.file << 32, identity(&key));
	while ((s = cov_table_find(&b->function_ids, h, n)) && !same_function(&b->functions.at[s->count], like))
		n++;
	if (s)
		return (uint32_t)s->count;
	s = cov_table_add(&b->function_ids, h, n);
	if (!s)
		return HT_COV_NONE;
	s->n = 1;
	s->count = b->functions.n;
	f = ht_vec_push(&b->functions);
	if (!f)
		return HT_COV_NONE;
	*f = *like;
	f->doubt = b->merging ? HT_COV_UNRECORDED : 0; /* which cov_doubts() does not change */
	f->name = cov_string(b, like->name);
	if (!f->name)
		return HT_COV_NONE;
	f->linkage = like->linkage ? cov_string(b, like->linkage) : NULL;
	f->shown = ht_demangle(f->linkage ? f->linkage : f->name, HT_DEMANGLE_PARAMS, shown)
	    ? cov_string(b, shown) : f->name;
	return f->shown ? (uint32_t)s->count : HT_COV_NONE;
}

/* NULL when there is none, and when memory is out: an identity less, no lie. */
static const char *
build_id_text(struct cov_builder *b, const struct cov_module *m)
{
	char text[2 * HT_BUILD_ID_MAX + 1] = "";

	for (unsigned i = 0; i < m->build_id_size; i++)
		snprintf(text + 2 * i, 3, "%02x", m->build_id[i]);
	return m->build_id_size ? cov_string(b, text) : NULL;
}

static int
add_modules(struct cov_builder *b, const struct ht_coverage *c)
{
	for (size_t i = 0; i < c->modules.n; i++) {
		const struct cov_module *m = &c->modules.at[i];
		const struct ht_module_info *info = ht_module_info(m->handle);
		struct ht_cov_module *out = ht_vec_push(&b->modules);

		if (!out)
			return -HT_ENOMEM;
		*out = (struct ht_cov_module){ .path = cov_string(b, m->path),
			.build_id = build_id_text(b, m), .executed = m->executed };
		COV_EACH(g, &m->gaps)
			out->gaps += g->count;
		if (info->state == HT_MODULE_MISSING || info->state == HT_MODULE_CHANGED)
			out->why = cov_string(b, info->why ? info->why : ht_strerror(HT_ENOTFOUND));
		if (!out->path)
			return -HT_ENOMEM;
	}
	return 0;
}

void
cov_build_finish(struct cov_builder *b)
{
	b->config = NULL;
	b->r.modules = b->modules.at;
	b->r.n_modules = (uint32_t)b->modules.n;
	b->r.files = b->files.at;
	b->r.n_files = (uint32_t)b->files.n;
	b->r.functions = b->functions.at;
	b->r.n_functions = (uint32_t)b->functions.n;
	b->r.branches = b->branches.at;
	b->r.n_branches = (uint32_t)b->branches.n;
	b->r.sites = b->sites.at;
	b->r.n_sites = (uint32_t)b->sites.n;
	b->r.targets = b->targets.at;
	b->r.n_targets = (uint32_t)b->targets.n;
}

int
ht_cov_report_new(struct ht_coverage *c, const struct ht_cov_config *config,
                  struct ht_cov_report **out, struct ht_diag *diag)
{
	struct cov_builder *b;
	int rc;

	if (config->size < sizeof(*config))
		return ht_fail(diag, HT_EINVAL, NULL, HT_NO_OFFSET, "config.size",
		               "the report's configuration has an unknown size");
	b = calloc(1, sizeof(*b));
	rc = b ? 0 : -HT_ENOMEM;
	if (b) {
		b->config = config;
		rc = add_modules(b, c);
	}
	if (rc == 0)
		cov_choose(b, c);
	for (uint32_t i = 0; rc == 0 && i < b->modules.n; i++)
		if (b->modules.at[i].chosen && !b->modules.at[i].why)
			rc = cov_build_module(b, c, i);
	if (rc == 0)
		rc = cov_build_sum(b);
	if (rc < 0) {
		ht_cov_report_free(b ? &b->r : NULL);
		return ht_fail(diag, -rc, NULL, HT_NO_OFFSET, NULL, "out of memory while the report was made");
	}
	cov_build_finish(b);
	b->r.gaps = c->gaps;
	b->r.unresolved = c->unresolved;
	*out = &b->r;
	return 0;
}

void
ht_cov_report_free(struct ht_cov_report *r)
{
	struct cov_builder *b = (struct cov_builder *)r; /* its first member */

	if (!b)
		return;
	for (size_t i = 0; i < b->strings.n; i++)
		free(b->strings.at[i]);
	ht_vec_free(&b->strings);
	ht_vec_free(&b->modules);
	ht_vec_free(&b->files);
	for (size_t i = 0; i < b->marks.n; i++)
		cov_marks_fini(&b->marks.at[i]);
	ht_vec_free(&b->marks);
	ht_vec_free(&b->functions);
	ht_vec_free(&b->branches);
	ht_vec_free(&b->sites);
	ht_vec_free(&b->targets);
	ht_vec_free(&b->lines);
	ht_vec_free(&b->recs);
	cov_table_fini(&b->file_ids);
	cov_table_fini(&b->function_ids);
	free(b);
}

double
ht_cov_percent(const struct ht_cov_tally *t)
{
	uint64_t known = t->all - t->unknown;
	double p;

	if (!known)
		return -1;
	if (!t->hit || t->hit == known)
		return t->hit ? 100 : 0;
	p = 100.0 * (double)t->hit / (double)known;
	return p < 0.1 ? 0.1 : p > 99.9 ? 99.9 : p;
}
