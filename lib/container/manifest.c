/* SPDX-License-Identifier: BSD-2-Clause */
#include <sys/types.h>
#include <errno.h>
#include <sha2.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "container/manifest.h"

#define FIRST_LINE "hwtrace-archive\t1\n"

void
ht_sha256(const void *data, size_t size, char hex[HT_SHA256_SIZE + 1])
{
	SHA256Data(data, size, hex);
}

/* -- writing ------------------------------------------------------------------- */

static void
put_id(FILE *f, const struct ht_manifest_row *row)
{
	for (unsigned i = 0; i < row->build_id_size; i++)
		fprintf(f, "%02x", row->build_id[i]);
	fputs(row->build_id_size ? "\t" : "-\t", f);
	for (const char *p = row->path; *p; p++) {
		if (*p == '\n')
			fputs("\\n", f);
		else if (*p == '\\')
			fputs("\\\\", f);
		else
			fputc(*p, f);
	}
}

void
ht_manifest_put(FILE *f, const struct ht_manifest_row *row)
{
	if (row->kind == 'c')
		fputs(FIRST_LINE, f);
	if (row->kind == 'm')
		fputs("missing\t", f);
	else
		fprintf(f, "%s\t%s\t%llu\t%s%s", row->kind == 'c' ? "capture" : "file", row->sha256,
		        (unsigned long long)row->size, row->member, row->kind == 'c' ? "" : "\t");
	if (row->kind != 'c')
		put_id(f, row);
	fputc('\n', f);
}

/* -- reading --------------------------------------------------------------------- */

/* The text up to the next tab, which becomes its end; NULL when the line has no more. */
static char *
take(char **p)
{
	char *field = *p, *tab = strchr(field, '\t');

	if (!tab)
		return NULL;
	*tab = 0;
	*p = tab + 1;
	return field;
}

static int
read_sum(struct ht_manifest_row *row, char **p)
{
	char *sum = take(p), *size = sum ? take(p) : NULL, *end;

	if (!size || strlen(sum) != HT_SHA256_SIZE || size[0] < '0' || size[0] > '9')
		return -1;
	memcpy(row->sha256, sum, HT_SHA256_SIZE + 1);
	errno = 0;
	row->size = strtoull(size, &end, 10);
	return errno || *end ? -1 : 0;
}

static int
read_id(struct ht_manifest_row *row, char **p)
{
	const char *id = take(p);
	size_t n = id ? strlen(id) : 0;

	if (!id || !strcmp(id, "-"))
		return id ? 0 : -1;
	if (!n || n % 2 || n > 2 * HT_BUILD_ID_MAX || strspn(id, "0123456789abcdef") != n)
		return -1;
	for (size_t i = 0; i < n; i++) {
		unsigned d = (unsigned)(id[i] <= '9' ? id[i] - '0' : id[i] - 'a' + 10);

		row->build_id[i / 2] = (uint8_t)(row->build_id[i / 2] << 4 | d);
	}
	row->build_id_size = (uint8_t)(n / 2);
	return 0;
}

/* The rest of the line, in place. */
static void
read_path(struct ht_manifest_row *row, char *p)
{
	char *out = p;

	row->path = p;
	for (; *p; p++) {
		if (*p == '\\' && p[1]) {
			p++;
			*out++ = *p == 'n' ? '\n' : *p;
		} else {
			*out++ = *p;
		}
	}
	*out = 0;
}

static int
read_row(struct ht_manifest_row *row, char *line)
{
	const char *kind = take(&line);

	*row = (struct ht_manifest_row){ .kind = kind ? kind[0] : 0 };
	if (!kind)
		return -1;
	if (!strcmp(kind, "missing")) {
		if (read_id(row, &line) < 0)
			return -1;
		read_path(row, line);
		return 0;
	}
	if (read_sum(row, &line) < 0)
		return -1;
	if (!strcmp(kind, "capture")) {
		row->member = line;
		return 0;
	}
	row->member = take(&line);
	if (strcmp(kind, "file") || !row->member || read_id(row, &line) < 0)
		return -1;
	read_path(row, line);
	return 0;
}

int
ht_manifest_read(struct ht_manifest *m, const char *text, size_t size, const char *path,
                 struct ht_diag *diag)
{
	size_t head = strlen(FIRST_LINE);
	char *line, *end;

	if (size < head || memcmp(text, FIRST_LINE, head) || memchr(text, 0, size))
		return ht_fail(diag, HT_EFORMAT, path, HT_NO_OFFSET, HT_MANIFEST_NAME,
		               "is no list of an archive that this version of hwtrace knows");
	m->text = strndup(text, size);
	if (!m->text)
		return ht_fail(diag, HT_ENOMEM, path, HT_NO_OFFSET, "", "out of memory");
	for (line = m->text + head; *line; line = end + 1) {
		struct ht_manifest_row *row = ht_vec_push(&m->rows);

		if (!row)
			return ht_fail(diag, HT_ENOMEM, path, HT_NO_OFFSET, "", "out of memory");
		end = strchr(line, '\n');
		if (!end)
			return ht_fail(diag, HT_EFORMAT, path, HT_NO_OFFSET, HT_MANIFEST_NAME,
			               "line %zu has no end", m->rows.n + 1);
		*end = 0;
		if (read_row(row, line) < 0)
			return ht_fail(diag, HT_EFORMAT, path, HT_NO_OFFSET, HT_MANIFEST_NAME,
			               "line %zu cannot be understood", m->rows.n + 1);
	}
	if (!m->rows.n || m->rows.at[0].kind != 'c')
		return ht_fail(diag, HT_EFORMAT, path, HT_NO_OFFSET, HT_MANIFEST_NAME,
		               "names no capture");
	return 0;
}

void
ht_manifest_fini(struct ht_manifest *m)
{
	ht_vec_free(&m->rows);
	free(m->text);
	m->text = NULL;
}
