/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kept file: all numbers are of 8 bytes, little-endian.
 *	magic, version, device, inode, size, mtime s, mtime ns of the capture,
 *	streams; for each: first, last, points; for each of those: offset, tsc;
 *	then a sum over all that stands before.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cursor.h"
#include "decode/pt/seek.h"

#define MAGIC    0x6b6565732d746877ull /* "hwt-seek" */
#define FORMAT   1u
#define HEAD     8u /* numbers in front of the streams */
#define FILE_MAX (1u << 28)

#ifndef HT_VERSION
#define HT_VERSION "0"
#endif

struct bytes {
	uint8_t *at;
	size_t n, cap;
};

/* FNV-1a. */
static uint64_t
sum(const void *data, size_t n)
{
	const uint8_t *p = data;
	uint64_t h = 0xcbf29ce484222325ull;

	while (n--)
		h = (h ^ *p++) * 0x100000001b3ull;
	return h;
}

static uint64_t
version(void)
{
	return sum(HT_VERSION, sizeof(HT_VERSION)) ^ FORMAT;
}

/* What names this capture; 0 when it is not one regular file. */
static int
identity(struct ht_container *c, uint64_t id[HEAD - 1])
{
	const char *path = ht_container_info(c)->path;
	struct stat st;
	size_t size;

	if (!ht_container_bytes(c, &size) || !path || !strcmp(path, "-") || stat(path, &st) < 0 ||
	    !S_ISREG(st.st_mode) || (uint64_t)st.st_size != size)
		return 0;
	id[0] = MAGIC;
	id[1] = version();
	id[2] = st.st_dev;
	id[3] = st.st_ino;
	id[4] = (uint64_t)st.st_size;
	id[5] = (uint64_t)st.st_mtim.tv_sec;
	id[6] = (uint64_t)st.st_mtim.tv_nsec;
	return 1;
}

/* -- reading ------------------------------------------------------------- */

static uint8_t *
slurp(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	uint8_t *data = NULL;
	struct stat st;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
	    st.st_size <= FILE_MAX && (data = malloc((size_t)st.st_size))) {
		*size = (size_t)st.st_size;
		if (read(fd, data, *size) != (ssize_t)*size) {
			free(data);
			data = NULL;
		}
	}
	close(fd);
	return data;
}

/* The points of one stream; 0 when they cannot be right. */
static int
take_stream(struct ht_cursor *k, struct seek_stream *out, const struct ht_stream *stream)
{
	const struct ht_chunk *last =
	    stream->n_chunks ? &stream->chunks[stream->n_chunks - 1] : NULL;
	uint64_t end = last ? last->stream_offset + last->size : 0, n;

	out->first = ht_cursor_u64(k);
	out->last = ht_cursor_u64(k);
	n = ht_cursor_u64(k);
	if (k->failed || n > ht_cursor_left(k) / 16 || ht_vec_reserve(out, (size_t)n) < 0)
		return 0;
	for (; out->n < n; out->n++) {
		struct seek_point *p = &out->at[out->n];

		p->offset = ht_cursor_u64(k);
		p->tsc = ht_cursor_u64(k);
		if (p->offset >= end ||
		    (out->n && (p->offset <= p[-1].offset || p->tsc < p[-1].tsc)))
			return 0;
	}
	return 1;
}

static int
parse(struct ht_seek *s, struct ht_container *c, const uint64_t id[HEAD - 1], const uint8_t *data,
      size_t size)
{
	struct ht_cursor k;

	if (size < 8 * (HEAD + 1) || ht_le(data + size - 8, 8) != sum(data, size - 8))
		return 0;
	k = ht_cursor_make(data, size - 8);
	for (unsigned i = 0; i < HEAD - 1; i++)
		if (ht_cursor_u64(&k) != id[i])
			return 0;
	if (ht_cursor_u64(&k) != s->n)
		return 0;
	for (uint32_t i = 0; i < s->n; i++)
		if (!take_stream(&k, &s->streams[i], ht_container_stream(c, i)))
			return 0;
	return !k.failed && !ht_cursor_left(&k);
}

static int
load(struct ht_seek *s, struct ht_container *c, const uint64_t id[HEAD - 1], const char *path)
{
	size_t size = 0;
	uint8_t *data = slurp(path, &size);
	int good = data && parse(s, c, id, data, size);

	free(data);
	for (uint32_t i = 0; !good && i < s->n; i++) {
		ht_vec_free(&s->streams[i]);
		s->streams[i].first = s->streams[i].last = 0;
	}
	return good;
}

/* -- writing ------------------------------------------------------------- */

static int
put(struct bytes *b, uint64_t v)
{
	if (ht_vec_reserve(b, b->n + 8) < 0)
		return -HT_ENOMEM;
	for (int i = 0; i < 8; i++)
		b->at[b->n++] = (uint8_t)(v >> 8 * i);
	return 0;
}

static int
encode(const struct ht_seek *s, const uint64_t id[HEAD - 1], struct bytes *b)
{
	int rc = 0;

	for (unsigned i = 0; i < HEAD - 1; i++)
		rc |= put(b, id[i]);
	rc |= put(b, s->n);
	for (uint32_t i = 0; i < s->n; i++) {
		const struct seek_stream *t = &s->streams[i];

		rc |= put(b, t->first) | put(b, t->last) | put(b, t->n);
		for (size_t k = 0; k < t->n; k++)
			rc |= put(b, t->at[k].offset) | put(b, t->at[k].tsc);
	}
	return rc ? -HT_ENOMEM : put(b, sum(b->at, b->n));
}

/* Is there something at `path` that is none of ours?  It stays. */
static int
of_others(const char *path)
{
	uint8_t head[8];
	struct stat st;
	int fd, ours;

	if (lstat(path, &st) < 0)
		return 0;
	if (!S_ISREG(st.st_mode))
		return 1;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ours = fd >= 0 && read(fd, head, 8) == 8 && ht_le(head, 8) == MAGIC;
	if (fd >= 0)
		close(fd);
	return !ours;
}

/* Under a name of its own first: a reader sees all of it or nothing.  0 or an errno. */
static int
store(const char *path, const struct bytes *b)
{
	char *made;
	int fd, err = 0;

	if (of_others(path))
		return EEXIST;
	if (asprintf(&made, "%s.XXXXXX", path) < 0)
		return ENOMEM;
	fd = mkostemp(made, O_CLOEXEC);
	if (fd < 0) {
		err = errno;
		free(made);
		return err;
	}
	errno = ENOSPC;
	if (write(fd, b->at, b->n) != (ssize_t)b->n || fchmod(fd, 0644) < 0)
		err = errno;
	if (close(fd) < 0 && !err)
		err = errno;
	if (!err && rename(made, path) < 0)
		err = errno;
	if (err)
		unlink(made);
	free(made);
	return err;
}

static int
keep_file(const struct ht_seek *s, const uint64_t id[HEAD - 1], const char *path,
          struct ht_diag *diag)
{
	struct bytes b = { 0 };
	int rc = encode(s, id, &b), err = rc ? ENOMEM : store(path, &b);

	ht_vec_free(&b);
	if (!err)
		return 0;
	return ht_fail(diag, HT_EIO, path, HT_NO_OFFSET, NULL, "cannot be written: %s",
	               err == EEXIST ? "something else bears this name" : strerror(err));
}

/* -- both ---------------------------------------------------------------- */

static int
is_long(const struct ht_container *c)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < ht_container_stream_count(c); i++)
		if (ht_container_stream(c, i)->source == HT_SOURCE_INTEL_PT)
			bytes += ht_container_stream(c, i)->bytes;
	return bytes >= HT_SEEK_LONG_BYTES;
}

static int
fill(struct ht_seek *s, struct ht_container *c, enum ht_seek_keep keep, struct ht_diag *diag)
{
	uint64_t id[HEAD - 1];
	int one = keep != HT_SEEK_NEVER && identity(c, id), rc;
	char *path = NULL;

	if (one && asprintf(&path, "%s" HT_SEEK_SUFFIX, ht_container_info(c)->path) < 0)
		return -HT_ENOMEM;
	if (!one && keep == HT_SEEK_ALWAYS)
		return ht_fail(diag, HT_EUNSUPPORTED, ht_container_info(c)->path, HT_NO_OFFSET,
		               NULL, "is not one file: no index of its times can be kept");
	s->kept = one && keep != HT_SEEK_ALWAYS && load(s, c, id, path);
	rc = s->kept ? 0 : ht_seek_scan(s, c);
	if (rc == 0 && one && keep == HT_SEEK_ALWAYS)
		rc = keep_file(s, id, path, diag);
	else if (rc == 0 && one && !s->kept && keep == HT_SEEK_LONG && is_long(c))
		keep_file(s, id, path,
		          NULL); /* without it the next time takes as long as this one */
	free(path);
	return rc;
}

int
ht_seek_open(struct ht_container *c, enum ht_seek_keep keep, struct ht_seek **out,
             struct ht_diag *diag)
{
	struct ht_seek *s = calloc(1, sizeof(*s));
	struct ht_diag own = { 0 };
	int rc = -HT_ENOMEM;

	if (s) {
		s->n = ht_container_stream_count(c);
		s->streams = calloc(s->n + 1, sizeof(*s->streams));
		if (s->streams)
			rc = fill(s, c, keep, diag ? diag : &own);
	}
	if (rc < 0) {
		ht_seek_close(s);
		return rc == -HT_ENOMEM
		           ? ht_fail(diag, HT_ENOMEM, NULL, HT_NO_OFFSET, NULL, "out of memory")
		           : rc;
	}
	*out = s;
	return 0;
}
