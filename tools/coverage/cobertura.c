/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cobertura XML, by the DTD "coverage-04".  A package is a folder, a class a
 * file; what is not known is left out.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <libxml/xmlwriter.h>

#include "cover.h"

struct out {
	xmlTextWriterPtr w;
	const struct ht_cov_report *r;
};

#define X(text) ((const xmlChar *)(text))

static void
start(struct out *o, const char *name)
{
	xmlTextWriterStartElement(o->w, X(name));
}

static void
end(struct out *o)
{
	xmlTextWriterEndElement(o->w);
}

static void
text(struct out *o, const char *name, const char *value)
{
	xmlTextWriterWriteAttribute(o->w, X(name), X(value));
}

static void
number(struct out *o, const char *name, uint64_t value)
{
	xmlTextWriterWriteFormatAttribute(o->w, X(name), "%llu", (unsigned long long)value);
}

/* Of what is known: hit by hit and missed. */
static void
rate(struct out *o, const char *name, const struct ht_cov_tally *t)
{
	uint64_t known = t->all - t->unknown;

	xmlTextWriterWriteFormatAttribute(o->w, X(name), "%.4f", known ? (double)t->hit / (double)known : 1.0);
}

static void
rates(struct out *o, const struct ht_cov_tallies *t)
{
	rate(o, "line-rate", &t->lines);
	rate(o, "branch-rate", &t->branches);
	text(o, "complexity", "0");
}

/* Outcomes of a branch that are known, and how many of them ran. */
static void
outcomes(const struct ht_cov_branch *b, unsigned *known, unsigned *hit)
{
	unsigned ran = (b->taken != 0) + (b->not_taken != 0);

	*hit += ran;
	*known += b->doubt ? ran : b->one ? 1 : 2;
}

static void
line(struct out *o, const struct ht_cov_line *l)
{
	unsigned known = 0, hit = 0;

	if (l->state == HT_COV_UNKNOWN)
		return;
	for (uint32_t k = 0; k < l->n_branches; k++)
		outcomes(&o->r->branches[l->first_branch + k], &known, &hit);
	start(o, "line");
	number(o, "number", l->line);
	number(o, "hits", l->count);
	text(o, "branch", known ? "true" : "false");
	if (known) {
		xmlTextWriterWriteFormatAttribute(o->w, X("condition-coverage"), "%u%% (%u/%u)", 100 * hit / known,
		                                  hit, known);
		start(o, "conditions");
		for (uint32_t k = 0; k < l->n_branches; k++) {
			unsigned one_known = 0, one_hit = 0;

			outcomes(&o->r->branches[l->first_branch + k], &one_known, &one_hit);
			if (!one_known)
				continue;
			start(o, "condition");
			number(o, "number", k);
			text(o, "type", "jump");
			xmlTextWriterWriteFormatAttribute(o->w, X("coverage"), "%u%%", 100 * one_hit / one_known);
			end(o);
		}
		end(o);
	}
	end(o);
}

static void
method(struct out *o, const struct ht_cov_function *fn)
{
	const char *parameters = strchr(fn->shown, '(');

	start(o, "method");
	text(o, "name", fn->shown);
	text(o, "signature", parameters ? parameters : "()");
	rates(o, &fn->tally);
	start(o, "lines");
	start(o, "line");
	number(o, "number", fn->line);
	number(o, "hits", fn->count);
	end(o);
	end(o);
	end(o);
}

/* The first function of file `i` or a later one: the table is sorted by file. */
static uint32_t
first_function(const struct ht_cov_report *r, uint32_t i)
{
	uint32_t lo = 0, hi = r->n_functions;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (r->functions[mid].file < i)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void
class(struct out *o, uint32_t i)
{
	const struct ht_cov_file *file = &o->r->files[i];
	const char *slash = strrchr(file->path, '/');

	start(o, "class");
	text(o, "name", slash ? slash + 1 : file->path);
	text(o, "filename", cover_path(file->path));
	rates(o, &file->tally);
	start(o, "methods");
	for (uint32_t k = first_function(o->r, i); k < o->r->n_functions && o->r->functions[k].file == i; k++)
		if (o->r->functions[k].line && o->r->functions[k].state != HT_COV_UNKNOWN)
			method(o, &o->r->functions[k]);
	end(o);
	start(o, "lines");
	for (uint32_t k = 0; k < file->n_lines; k++)
		line(o, &file->lines[k]);
	end(o);
	end(o);
}

static size_t
folder_length(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) : 0;
}

/* By folder, then by name: in the order of paths a folder's files stand before and after those inside it. */
static int
folder_order(const void *a, const void *b, void *arg)
{
	const struct ht_cov_file *files = arg;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	size_t n = folder_length(files[i].path), m = folder_length(files[k].path);
	int rc = memcmp(files[i].path, files[k].path, n < m ? n : m);

	if (rc)
		return rc;
	if (n != m)
		return n < m ? -1 : 1;
	return i < k ? -1 : i > k;
}

static int
same_folder(const char *a, const char *b)
{
	size_t n = folder_length(a);

	return n == folder_length(b) && !strncmp(a, b, n);
}

/* "src.base" of src/base/file.c; "." of a file in the working folder. */
static void
package_name(struct out *o, const char *path)
{
	const char *shown = cover_path(path);
	size_t n = folder_length(shown);
	char *name = strndup(*shown == '/' ? shown + 1 : shown, *shown == '/' && n ? n - 1 : n);

	for (char *p = name; p && *p; p++)
		if (*p == '/')
			*p = '.';
	text(o, "name", name && *name ? name : ".");
	free(name);
}

static void
add_rates(struct ht_cov_tallies *into, const struct ht_cov_tallies *t)
{
	into->lines.all += t->lines.all;
	into->lines.hit += t->lines.hit;
	into->lines.unknown += t->lines.unknown;
	into->branches.all += t->branches.all;
	into->branches.hit += t->branches.hit;
	into->branches.unknown += t->branches.unknown;
}

static void
package(struct out *o, const uint32_t *files, uint32_t n)
{
	struct ht_cov_tallies sum = { .lines = { 0 } };

	for (uint32_t i = 0; i < n; i++)
		add_rates(&sum, &o->r->files[files[i]].tally);
	start(o, "package");
	package_name(o, o->r->files[files[0]].path);
	rates(o, &sum);
	start(o, "classes");
	for (uint32_t i = 0; i < n; i++)
		class(o, files[i]);
	end(o);
	end(o);
}

static int
packages(struct out *o)
{
	uint32_t n = o->r->n_files, *order = calloc(n + 1u, sizeof(*order));

	if (!order)
		return -1;
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	if (n)
		qsort_r(order, n, sizeof(*order), folder_order, (void *)(uintptr_t)o->r->files);
	start(o, "packages");
	for (uint32_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && same_folder(o->r->files[order[i]].path, o->r->files[order[k]].path); k++)
			;
		package(o, order + i, k - i);
	}
	end(o);
	free(order);
	return 0;
}

/* Builds that shall be equal byte by byte set the time in the environment. */
static void
timestamp(struct out *o)
{
	const char *fixed = getenv("SOURCE_DATE_EPOCH");

	number(o, "timestamp", fixed ? strtoull(fixed, NULL, 10) : (uint64_t)time(NULL));
}

static int
coverage(struct out *o)
{
	const struct ht_cov_tallies *t = &o->r->total;
	struct ht_cov_tallies sum = { .lines = { 0 } };
	char cwd[4096];

	for (uint32_t i = 0; i < o->r->n_files; i++)
		add_rates(&sum, &o->r->files[i].tally);
	start(o, "coverage");
	rate(o, "line-rate", &sum.lines);
	rate(o, "branch-rate", &sum.branches);
	number(o, "lines-covered", t->lines.hit);
	number(o, "lines-valid", t->lines.all - t->lines.unknown);
	number(o, "branches-covered", sum.branches.hit);
	number(o, "branches-valid", sum.branches.all - sum.branches.unknown);
	text(o, "complexity", "0");
	text(o, "version", "hwtrace " HT_VERSION);
	timestamp(o);
	start(o, "sources");
	xmlTextWriterWriteElement(o->w, X("source"), X(getcwd(cwd, sizeof(cwd)) ? cwd : "."));
	end(o);
	if (packages(o) < 0)
		return -1;
	end(o);
	return 0;
}

int
cover_write_cobertura(const char *path, const struct cover *c, const struct ht_cov_report *r)
{
	FILE *f = cover_open(path);
	xmlBufferPtr buffer = f ? xmlBufferCreate() : NULL;
	struct out o = { buffer ? xmlNewTextWriterMemory(buffer, 0) : NULL, r };
	int status, rc;

	(void)c;
	if (!f)
		return EXIT_ERROR;
	if (!o.w) {
		xmlBufferFree(buffer);
		cover_close(f, path);
		return tool_error("out of memory");
	}
	xmlTextWriterSetIndent(o.w, 1);
	xmlTextWriterSetIndentString(o.w, X(" "));
	xmlTextWriterStartDocument(o.w, "1.0", "UTF-8", NULL);
	xmlTextWriterWriteDTD(o.w, X("coverage"), NULL,
	                      X("http://cobertura.sourceforge.net/xml/coverage-04.dtd"), NULL);
	rc = coverage(&o);
	xmlTextWriterEndDocument(o.w);
	xmlFreeTextWriter(o.w);
	fwrite(xmlBufferContent(buffer), 1, (size_t)xmlBufferLength(buffer), f);
	status = cover_close(f, path);
	xmlBufferFree(buffer);
	return rc < 0 ? tool_error("out of memory") : status;
}
