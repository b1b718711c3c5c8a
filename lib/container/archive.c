/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An archive is read as the capture that is in it, which another reader opens
 * from memory; the files come out when the session asks for them.  Nothing is
 * written to disk.  Members are read in their order, up to the one that is
 * wanted, and kept.
 */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/vec.h"
#include "container/manifest.h"
#include "container/reader.h"

#define ZSTD_MAGIC   0xfd2fb528u
#define MANIFEST_MAX (64u << 20)
/* All that comes out of an archive, at most: traces of loops compress a thousandfold. */
#define RATIO_MAX    4096u
#define OUT_MIN      (1ull << 28)

struct member {
	char   *name;
	void   *data;
	size_t  size;
	int     bad; /* its checksum is another, or it ends early */
};

struct state {
	struct archive      *a;
	struct ht_manifest   manifest;
	struct { struct member *at; size_t n, cap; } members; /* read so far */
	uint64_t             left; /* bytes that may still come out */
	int                  ended;
	struct ht_container *inner;
	char                *format;
};

static int
archive_match(const uint8_t *data, size_t size)
{
	return size >= 4 && ht_le(data, 4) == ZSTD_MAGIC;
}

static int
failed(const struct ht_container *c, struct archive *a, struct ht_diag *diag)
{
	const char *why = archive_error_string(a);

	if (archive_errno(a) == ENOMEM)
		return ht_fail(diag, HT_ENOMEM, c->path, HT_NO_OFFSET, "", "out of memory");
	return ht_fail(diag, HT_EFORMAT, c->path, HT_NO_OFFSET, "", "the archive is damaged or cut: %s",
	               why ? why : "no reason known");
}

/* The bytes of the current member; memory grows with what is there, whatever the size it claims. */
static int
read_bytes(struct ht_container *c, struct state *s, struct member *m, struct ht_diag *diag)
{
	size_t cap = 0;

	for (;;) {
		la_ssize_t n;

		if (m->size == cap) {
			size_t want = cap ? cap * 2 : 1 << 16;
			void *wide = realloc(m->data, want);

			if (!wide)
				return ht_fail(diag, HT_ENOMEM, c->path, HT_NO_OFFSET, m->name,
				               "out of memory");
			m->data = wide;
			cap = want;
		}
		/* One byte beyond the limit tells that there is more. */
		n = archive_read_data(s->a, (char *)m->data + m->size,
		                      cap - m->size <= s->left ? cap - m->size : (size_t)s->left + 1);
		if (n < 0)
			return failed(c, s->a, diag);
		if (!n)
			return 0;
		if ((uint64_t)n > s->left)
			return ht_fail(diag, HT_ELIMIT, c->path, HT_NO_OFFSET, m->name,
			               "the archive holds more than %u times its size; this is no "
			               "archive of hwtrace", RATIO_MAX);
		s->left -= (uint64_t)n;
		m->size += (size_t)n;
	}
}

/* The next member into memory: 1 with *out, 0 at the end. */
static int
read_member(struct ht_container *c, struct state *s, struct member **out, struct ht_diag *diag)
{
	struct archive_entry *e;
	struct member *m;
	int rc = s->ended ? ARCHIVE_EOF : archive_read_next_header(s->a, &e);

	if (rc == ARCHIVE_EOF) {
		s->ended = 1;
		return 0;
	}
	if (rc != ARCHIVE_OK) {
		s->ended = 1;
		return failed(c, s->a, diag);
	}
	m = ht_vec_push(&s->members);
	if (!m)
		return ht_fail(diag, HT_ENOMEM, c->path, HT_NO_OFFSET, "", "out of memory");
	*m = (struct member){ .name = strdup(archive_entry_pathname(e) ? archive_entry_pathname(e) : "") };
	*out = m;
	rc = m->name ? read_bytes(c, s, m, diag)
	             : ht_fail(diag, HT_ENOMEM, c->path, HT_NO_OFFSET, "", "out of memory");
	if (rc < 0) {
		s->ended = m->bad = 1;
		return rc;
	}
	return 1;
}

static int
sum_fits(const struct ht_manifest_row *row, const struct member *m)
{
	char sum[HT_SHA256_SIZE + 1];

	if (m->bad || m->size != row->size)
		return 0;
	ht_sha256(m->data, m->size, sum);
	return !strcmp(sum, row->sha256);
}

/* The member that `row` names, read when it was not yet; NULL when it is not there or damaged. */
static const struct member *
get(struct ht_container *c, struct state *s, const struct ht_manifest_row *row, struct ht_diag *diag)
{
	struct member *m = NULL;

	for (size_t i = 0; i < s->members.n; i++)
		if (s->members.at[i].name && !strcmp(s->members.at[i].name, row->member))
			m = &s->members.at[i];
	while (!m && read_member(c, s, &m, diag) > 0)
		if (strcmp(m->name, row->member))
			m = NULL;
	if (!m) {
		if (diag && !diag->error)
			ht_fail(diag, HT_EFORMAT, c->path, HT_NO_OFFSET, row->member,
			        "is in the manifest, and not in the archive");
		return NULL;
	}
	if (!sum_fits(row, m)) {
		if (diag && !diag->error)
			ht_fail(diag, HT_EFORMAT, c->path, HT_NO_OFFSET, row->member,
			        "is not what was archived: its checksum differs");
		return NULL;
	}
	return m;
}

/* -- reader -------------------------------------------------------------------- */

static int
open_manifest(struct ht_container *c, struct state *s, struct ht_diag *diag)
{
	struct member *m;
	int rc;

	s->a = archive_read_new();
	if (!s->a)
		return ht_fail(diag, HT_ENOMEM, c->path, HT_NO_OFFSET, "", "out of memory");
	if (archive_read_support_filter_zstd(s->a) != ARCHIVE_OK ||
	    archive_read_support_format_tar(s->a) != ARCHIVE_OK ||
	    archive_read_open_memory(s->a, c->data, c->size) != ARCHIVE_OK)
		return failed(c, s->a, diag);
	rc = read_member(c, s, &m, diag);
	if (rc < 0)
		return rc;
	if (!rc || strcmp(m->name, HT_MANIFEST_NAME) || m->size > MANIFEST_MAX)
		return ht_fail(diag, HT_EFORMAT, c->path, HT_NO_OFFSET, HT_MANIFEST_NAME,
		               "is not the first file of the archive: hwtrace archive did not make it");
	return ht_manifest_read(&s->manifest, m->data, m->size, c->path, diag);
}

static int
archive_open(struct ht_container *c, const struct ht_container_config *config, struct ht_diag *diag)
{
	struct state *s = calloc(1, sizeof(*s));
	struct ht_diag why = { 0 };
	const struct member *m;
	int err;

	c->state = s;
	if (!s)
		return ht_fail(diag, HT_ENOMEM, c->path, HT_NO_OFFSET, "", "out of memory");
	s->left = c->size > UINT64_MAX / RATIO_MAX ? UINT64_MAX : (uint64_t)c->size * RATIO_MAX;
	if (s->left < OUT_MIN)
		s->left = OUT_MIN;
	err = open_manifest(c, s, diag);
	if (err)
		return err;
	m = get(c, s, &s->manifest.rows.at[0], &why);
	if (!m) {
		if (diag)
			*diag = why;
		return -why.error;
	}
	if (archive_match(m->data, m->size))
		return ht_fail(diag, HT_EFORMAT, c->path, HT_NO_OFFSET, m->name, "is an archive itself");
	err = ht_container_open_part(c->path, m->data, m->size, config, &s->inner, diag);
	if (err)
		return err;
	if (asprintf(&s->format, "archive of %s", s->inner->info.format) < 0) {
		s->format = NULL;
		return ht_fail(diag, HT_ENOMEM, c->path, HT_NO_OFFSET, "", "out of memory");
	}
	c->info = s->inner->info;
	c->info.path = c->path;
	c->info.format = s->format;
	c->streams = s->inner->streams;
	c->n_streams = s->inner->n_streams;
	return 0;
}

static void
archive_close(struct ht_container *c)
{
	struct state *s = c->state;

	if (!s)
		return;
	if (s->inner)
		c->streams = NULL; /* they are the inner one's */
	ht_container_close(s->inner);
	ht_manifest_fini(&s->manifest);
	for (size_t i = 0; i < s->members.n; i++) {
		free(s->members.at[i].name);
		free(s->members.at[i].data);
	}
	ht_vec_free(&s->members);
	if (s->a)
		archive_read_free(s->a);
	free(s->format);
	free(s);
	c->state = NULL;
}

static int
archive_next(struct ht_container *c, struct ht_record *rec)
{
	struct state *s = c->state;
	int rc = ht_container_next(s->inner, rec);

	if (rc < 0)
		c->diag = s->inner->diag;
	return rc;
}

static void
archive_rewind(struct ht_container *c)
{
	ht_container_rewind(((struct state *)c->state)->inner);
}

static unsigned
archive_build_id(const struct ht_container *c, const char *path, uint8_t id[HT_BUILD_ID_MAX])
{
	return ht_container_build_id(((struct state *)c->state)->inner, path, id);
}

static int
row_is(const struct ht_manifest_row *row, const char *path, const uint8_t *id, unsigned id_size)
{
	int debug = !strcmp(path, HT_ARCHIVE_DEBUG);
	uint8_t whole[HT_BUILD_ID_MAX] = { 0 }; /* perf fills short ones up with zeros */
	int same_id;

	if (row->kind != 'f')
		return 0;
	if (id_size)
		memcpy(whole, id, id_size < sizeof(whole) ? id_size : sizeof(whole));
	same_id = id_size && row->build_id_size && !memcmp(row->build_id, whole, sizeof(whole));

	if (debug != !strcmp(row->path, HT_ARCHIVE_DEBUG))
		return 0;
	return debug ? same_id : same_id || (!strcmp(row->path, path) && (!id_size || !row->build_id_size));
}

static int
archive_file(const struct ht_container *c, const char *path, const uint8_t *id, unsigned id_size,
             struct ht_carried *out)
{
	struct state *s = c->state;

	for (size_t i = 0; i < s->manifest.rows.n; i++) {
		const struct ht_manifest_row *row = &s->manifest.rows.at[i];
		const struct member *m;

		if (!row_is(row, path, id, id_size))
			continue;
		m = get((struct ht_container *)c, s, row, NULL);
		if (!m)
			continue;
		*out = (struct ht_carried){ .path = m->name, .data = m->data, .size = m->size };
		return 1;
	}
	return 0;
}

static const void *
archive_bytes(const struct ht_container *c, size_t *size)
{
	return ht_container_bytes(((struct state *)c->state)->inner, size);
}

const struct ht_reader ht_reader_archive = {
	.name = "archive",
	.match = archive_match,
	.open = archive_open,
	.close = archive_close,
	.next = archive_next,
	.rewind = archive_rewind,
	.build_id = archive_build_id,
	.file = archive_file,
	.bytes = archive_bytes,
};
