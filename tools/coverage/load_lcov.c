/* SPDX-License-Identifier: BSD-2-Clause */
/* lcov tracefiles of any dialect, of instrumented builds above all. [geninfo(1) "FILES"] */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

#define RANGES_MAX 1000000u /* FNL records of one file */

struct reader {
	struct loaded *l;
	const char    *path;
	unsigned long  row;
	uint32_t       file;            /* HT_COV_NONE: outside of a record */
	size_t         first_function;  /* of this record */
	size_t         first_branch;
	size_t         hint;            /* counts come in the order of the functions */
	struct { struct { uint32_t first, last; } *at; size_t n, cap; } ranges; /* FNL, by index */
};

static int
wrong(const struct reader *r, const char *what)
{
	return tool_error("%s:%lu: %s", r->path, r->row, what);
}

/* A number and what must follow it; 0 = there was one. */
static int
number(char **p, char after, uint64_t *out)
{
	char *end;

	if (**p < '0' || **p > '9')
		return -1;
	errno = 0;
	*out = strtoull(*p, &end, 10);
	if (errno || *end != after)
		return -1;
	*p = end + (after != '\0');
	return 0;
}

/* The same, which fits a line number. */
static int
line_number(char **p, char after, uint32_t *out)
{
	uint64_t n;

	if (number(p, after, &n) < 0 || n >= UINT32_MAX)
		return -1;
	*out = (uint32_t)n;
	return 0;
}

static int
begin_file(struct reader *r, const char *path)
{
	struct ht_cov_file *f = LOAD_PUSH(&r->l->files);

	if (!f || !(f->path = load_string(r->l, path, strlen(path))))
		return tool_error("out of memory");
	r->file = (uint32_t)r->l->files.n - 1;
	r->first_function = r->l->functions.n;
	r->first_branch = r->l->branches.n;
	r->ranges.n = 0;
	return EXIT_OK;
}

static struct ht_cov_function *
function(struct reader *r, const char *name)
{
	struct ht_cov_function *f = r->l->functions.at + r->first_function;
	size_t n = r->l->functions.n - r->first_function;

	for (size_t i = 0; i < n; i++) {
		size_t at = (r->hint + i) % n;

		if (!strcmp(f[at].name, name)) {
			r->hint = at + 1;
			return &f[at];
		}
	}
	return NULL;
}

static int
add_function(struct reader *r, uint32_t first, uint32_t last, const char *name)
{
	struct ht_cov_function *f = function(r, name);

	if (f && f->line == first)
		return EXIT_OK;
	f = LOAD_PUSH(&r->l->functions);
	if (!f || !(f->name = load_string(r->l, name, strlen(name))))
		return tool_error("out of memory");
	f->shown = f->name;
	f->file = r->file;
	f->line = first;
	f->end_line = last;
	f->copies = 1;
	return EXIT_OK;
}

static int
count_function(struct reader *r, uint64_t count, const char *name)
{
	struct ht_cov_function *f = function(r, name);

	if (!f)
		return wrong(r, "a count for a function that was not named before");
	f->count = count > UINT64_MAX - f->count ? UINT64_MAX : f->count + count;
	if (count)
		f->state = HT_COV_HIT;
	return EXIT_OK;
}

/* FN:line,name or FN:line,last,name */
static int
read_fn(struct reader *r, char *p)
{
	uint32_t first, last = 0;
	char *q;

	if (line_number(&p, ',', &first) < 0)
		return wrong(r, "FN without a line number");
	q = p;
	if (line_number(&q, ',', &last) == 0 && *q)
		p = q;
	else
		last = 0;
	return add_function(r, first, last, p);
}

static int
read_fnda(struct reader *r, char *p)
{
	uint64_t count;

	return number(&p, ',', &count) < 0 ? wrong(r, "FNDA without a count") : count_function(r, count, p);
}

/* FNL:index,first[,last] */
static int
read_fnl(struct reader *r, char *p)
{
	uint64_t index;
	uint32_t first, last = 0;

	if (number(&p, ',', &index) < 0 || index >= RANGES_MAX ||
	    (line_number(&p, ',', &first) < 0 ? line_number(&p, '\0', &first) < 0 : line_number(&p, '\0', &last) < 0))
		return wrong(r, "FNL is index, first and last line");
	while (r->ranges.n <= index)
		if (!LOAD_PUSH(&r->ranges))
			return tool_error("out of memory");
	r->ranges.at[index].first = first;
	r->ranges.at[index].last = last;
	return EXIT_OK;
}

/* FNA:index,count,name */
static int
read_fna(struct reader *r, char *p)
{
	uint64_t index, count;
	int status;

	if (number(&p, ',', &index) < 0 || number(&p, ',', &count) < 0 || index >= r->ranges.n)
		return wrong(r, "FNA is an index that FNL gave, a count and a name");
	status = add_function(r, r->ranges.at[index].first, r->ranges.at[index].last, p);
	return status == EXIT_OK ? count_function(r, count, p) : status;
}

/* DA:line,count[,checksum] */
static int
read_da(struct reader *r, char *p)
{
	struct ht_cov_line *l;
	uint64_t count;
	uint32_t line;

	p[strcspn(p, ",") + 1 + strcspn(p + strcspn(p, ",") + 1, ",")] = '\0';
	if (line_number(&p, ',', &line) < 0 || !line || number(&p, '\0', &count) < 0)
		return wrong(r, "DA is a line number and a count");
	l = LOAD_PUSH(&r->l->lines);
	if (!l)
		return tool_error("out of memory");
	l->line = line;
	l->count = count;
	l->state = count ? HT_COV_HIT : HT_COV_NOT_HIT;
	r->l->files.at[r->file].n_lines++;
	return EXIT_OK;
}

/*
 * BRDA:line,block,branch,taken.  Outcomes come in pairs, the way compilers count
 * them: even and odd are the two ways of one branch.
 */
static int
read_brda(struct reader *r, char *p)
{
	char *comma = strrchr(p, ',');
	struct ht_cov_branch *b;
	uint64_t block, outcome, taken = 0;
	uint32_t line;

	if (!comma || line_number(&p, ',', &line) < 0 || !line)
		return wrong(r, "BRDA is line, block, branch and count");
	p += strspn(p, "efU"); /* marks of lcov 2 */
	if (number(&p, ',', &block) < 0 || block > UINT32_MAX || p > comma)
		return wrong(r, "BRDA without a number of the block");
	*comma++ = '\0';
	if (number(&p, '\0', &outcome) < 0 || outcome > UINT32_MAX) /* an expression: by its place */
		outcome = r->l->branches.n - r->first_branch;
	if (strcmp(comma, "-") && number(&comma, '\0', &taken) < 0)
		return wrong(r, "BRDA without a count");
	b = LOAD_PUSH(&r->l->branches);
	if (!b)
		return tool_error("out of memory");
	*b = (struct ht_cov_branch){ .file = r->file, .line = line, .function = HT_COV_NONE,
		.addr = block << 32 | outcome / 2, .taken = outcome % 2 ? 0 : taken,
		.not_taken = outcome % 2 ? taken : 0, .one = outcome % 2 == 0,
		.state = taken ? HT_COV_HIT : HT_COV_NOT_HIT };
	return EXIT_OK;
}

static int
line_order(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Functions that tell no last line reach as far as the next one begins. */
static int
end_file(struct reader *r)
{
	size_t n = r->l->functions.n - r->first_function;
	struct ht_cov_function *f = r->l->functions.at + r->first_function;
	uint32_t *starts = calloc(n + 1, sizeof(*starts));

	if (!starts)
		return tool_error("out of memory");
	for (size_t i = 0; i < n; i++)
		starts[i] = f[i].line;
	qsort(starts, n, sizeof(*starts), line_order);
	for (size_t i = 0; i < n; i++) {
		size_t lo = 0, hi = n;

		while (lo < hi) {
			size_t mid = lo + (hi - lo) / 2;

			if (starts[mid] <= f[i].line)
				lo = mid + 1;
			else
				hi = mid;
		}
		if (!f[i].end_line)
			f[i].end_line = lo < n ? starts[lo] - 1 : UINT32_MAX - 1;
	}
	free(starts);
	r->file = HT_COV_NONE;
	return EXIT_OK;
}

static const struct row {
	const char *key;
	int (*read)(struct reader *r, char *value); /* NULL: sums, and what is not kept */
} rows[] = {
	{ "FN:", read_fn }, { "FNDA:", read_fnda }, { "FNL:", read_fnl }, { "FNA:", read_fna }, { "DA:", read_da },
	{ "BRDA:", read_brda }, { "FNF:", NULL }, { "FNH:", NULL }, { "LF:", NULL }, { "LH:", NULL },
	{ "BRF:", NULL }, { "BRH:", NULL }, { "VER:", NULL }, { "MCDC:", NULL }, { "MCF:", NULL }, { "MCH:", NULL },
};

static int
read_row(struct reader *r, char *text)
{
	if (!*text || *text == '#' || !strncmp(text, "TN:", 3))
		return EXIT_OK;
	if (!strncmp(text, "SF:", 3))
		return r->file != HT_COV_NONE ? wrong(r, "SF before the end_of_record of the file before")
		                              : begin_file(r, text + 3);
	if (!strcmp(text, "end_of_record"))
		return r->file == HT_COV_NONE ? EXIT_OK : end_file(r);
	if (r->file == HT_COV_NONE)
		return wrong(r, "a record outside of a file's part");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (!strncmp(text, rows[i].key, strlen(rows[i].key)))
			return rows[i].read ? rows[i].read(r, text + strlen(rows[i].key)) : EXIT_OK;
	return wrong(r, "a keyword that lcov does not have");
}

int
load_lcov(const char *path, struct loaded *l)
{
	struct reader r = { .l = l, .path = path, .file = HT_COV_NONE };
	struct ht_cov_module *m = LOAD_PUSH(&l->modules);
	FILE *f = fopen(path, "r");
	int status = EXIT_OK;
	char *text = NULL;
	size_t size = 0;
	ssize_t n;

	if (!f)
		return tool_error("%s: cannot be opened: %s", path, strerror(errno));
	if (m)
		*m = (struct ht_cov_module){ .path = "(lcov)", .chosen = 1, .source = HT_COV_BY_REPORT };
	else
		status = tool_error("out of memory");
	while (status == EXIT_OK && (n = getline(&text, &size, f)) > 0) {
		r.row++;
		while (n && (text[n - 1] == '\n' || text[n - 1] == '\r'))
			text[--n] = '\0';
		status = strlen(text) == (size_t)n ? read_row(&r, text) : wrong(&r, "a byte of 0 in text");
	}
	if (status == EXIT_OK && ferror(f))
		status = tool_error("%s: cannot be read: %s", path, strerror(errno));
	if (status == EXIT_OK && r.file != HT_COV_NONE)
		status = wrong(&r, "the file ends without end_of_record");
	free(text);
	free(r.ranges.at);
	fclose(f);
	loaded_finish(l);
	return status;
}
