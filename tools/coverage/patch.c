/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"
#include "patch.h"

struct reader {
	struct patch *patch;
	const char   *path;
	unsigned long row;
	uint32_t      line;       /* of the new version: the next one */
	uint64_t      old_left, new_left; /* lines of the hunk that are still to come */
	struct patch_file *file;  /* NULL: none yet, or one that was deleted */
};

static int
wrong(const struct reader *r, const char *what)
{
	return tool_error("%s:%lu: %s", r->path, r->row, what);
}

/* "+++ b/src/x.c<TAB>date"; a name in quotes has escapes, of which none is undone but the quotes. */
static int
begin_file(struct reader *r, char *name)
{
	r->file = NULL;
	name[strcspn(name, "\t")] = '\0';
	if (*name == '"') {
		name++;
		name[strcspn(name, "\"")] = '\0';
	}
	if (!strcmp(name, "/dev/null"))
		return EXIT_OK;
	if (!strncmp(name, "b/", 2))
		name += 2;
	while (!strncmp(name, "./", 2))
		name += 2;
	r->file = load_grow((void **)&r->patch->files, &r->patch->n, &r->patch->cap, sizeof(*r->patch->files));
	if (!r->file || !(r->file->path = strdup(name)))
		return tool_error("out of memory");
	return EXIT_OK;
}

/* ",4" or nothing, which is 1. */
static const char *
hunk_size(const char *p, uint64_t *n)
{
	char *end;

	*n = 1;
	if (*p != ',')
		return p;
	*n = strtoull(p + 1, &end, 10);
	return end;
}

/* "@@ -12,3 +12,4 @@" */
static int
begin_hunk(struct reader *r, const char *p)
{
	char *end;
	unsigned long long line;

	strtoull(p, &end, 10);
	p = hunk_size(end, &r->old_left);
	if (strncmp(p, " +", 2))
		return wrong(r, "a hunk without its place in the new version");
	line = strtoull(p + 2, &end, 10);
	p = hunk_size(end, &r->new_left);
	if (strncmp(p, " @@", 3) || line >= UINT32_MAX || r->new_left > UINT32_MAX - line)
		return wrong(r, "a hunk without its place in the new version");
	r->line = (uint32_t)line;
	return EXIT_OK;
}

static int
read_hunk_row(struct reader *r, char kind)
{
	uint32_t *slot;

	switch (kind) {
	case '\\': /* no newline at the end of the file */
		return EXIT_OK;
	case '-':
		r->old_left -= r->old_left != 0;
		return EXIT_OK;
	case '+':
		slot = r->file ? LOAD_PUSH(&r->file->lines) : NULL;
		if (r->file && !slot)
			return tool_error("out of memory");
		if (slot)
			*slot = r->line;
		break;
	case ' ':
	case '\0': /* an empty line whose blank was lost on the way */
		r->old_left -= r->old_left != 0;
		break;
	default:
		return wrong(r, "a line of a hunk begins with blank, + or -");
	}
	r->line++;
	r->new_left -= r->new_left != 0;
	return EXIT_OK;
}

static int
read_row(struct reader *r, char *text)
{
	if (r->old_left || r->new_left || *text == '\\')
		return read_hunk_row(r, *text);
	if (!strncmp(text, "+++ ", 4))
		return begin_file(r, text + 4);
	if (!strncmp(text, "@@ -", 4))
		return begin_hunk(r, text + 4);
	return EXIT_OK; /* talk between the files */
}

static int
number_order(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

int
patch_open(struct patch *p, const char *path)
{
	struct reader r = { .patch = p, .path = path };
	FILE *f = strcmp(path, "-") ? fopen(path, "r") : stdin;
	int status = EXIT_OK;
	char *text = NULL;
	size_t size = 0;
	ssize_t n;

	memset(p, 0, sizeof(*p));
	if (!f)
		return tool_error("%s: cannot be opened: %s", path, strerror(errno));
	while (status == EXIT_OK && (n = getline(&text, &size, f)) > 0) {
		r.row++;
		text[strcspn(text, "\r\n")] = '\0';
		status = read_row(&r, text);
	}
	if (status == EXIT_OK && (r.old_left || r.new_left))
		status = wrong(&r, "the patch ends in the middle of a hunk");
	if (status == EXIT_OK && !p->n && r.row)
		status = wrong(&r, "no file in it: a unified diff is wanted, as git diff writes it");
	for (size_t i = 0; i < p->n; i++)
		if (p->files[i].lines.n)
			qsort(p->files[i].lines.at, p->files[i].lines.n, sizeof(uint32_t), number_order);
	free(text);
	if (f != stdin)
		fclose(f);
	return status;
}

void
patch_close(struct patch *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free(p->files[i].path);
		free(p->files[i].lines.at);
	}
	free(p->files);
}

const struct patch_file *
patch_find(const struct patch *p, const char *path)
{
	size_t n = strlen(path);

	for (size_t i = 0; i < p->n; i++) {
		size_t k = strlen(p->files[i].path);

		if (k && k <= n && !strcmp(path + n - k, p->files[i].path) && (k == n || path[n - k - 1] == '/'))
			return &p->files[i];
	}
	return NULL;
}

int
patch_adds(const struct patch_file *f, uint32_t line)
{
	return f->lines.n && bsearch(&line, f->lines.at, f->lines.n, sizeof(uint32_t), number_order) != NULL;
}
