/* SPDX-License-Identifier: BSD-2-Clause */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"
#include "container/manifest.h"
#include "container/reader.h"

struct writer {
	struct archive *a;
	const char     *out;
	int             fd;
	char           *temporary; /* renamed to `target` when complete; NULL = standard output */
	char           *target;    /* where `out` leads */
	struct ht_diag *diag;
	struct { struct ht_manifest_row *at; size_t n, cap; } rows; /* members are owned */
};

static int
no_memory(const struct writer *w)
{
	return ht_fail(w->diag, HT_ENOMEM, w->out, HT_NO_OFFSET, "", "out of memory");
}

static int
failed(const struct writer *w)
{
	int err = archive_errno(w->a);

	if (err == ENOMEM)
		return no_memory(w);
	return ht_fail(w->diag, err == EACCES || err == EPERM ? HT_EPERM : HT_EIO, w->out, HT_NO_OFFSET, "",
	               "cannot write: %s", archive_error_string(w->a));
}

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* A name for part `i` that any tar can unpack. */
static char *
member_name(const char *path, size_t i)
{
	char *name;

	if (asprintf(&name, "files/%zu-%.100s", i, base_name(path)) < 0)
		return NULL;
	for (char *p = name + strlen("files/"); *p; p++)
		if ((unsigned char)*p < ' ' || *p == '/' || *p == 0x7f)
			*p = '_';
	return name;
}

static int
add_row(struct writer *w, char kind, const struct ht_archive_part *part, char *member)
{
	struct ht_manifest_row *row = kind == 'm' || member ? ht_vec_push(&w->rows) : NULL;

	if (!row) {
		free(member);
		return no_memory(w);
	}
	*row = (struct ht_manifest_row){ .kind = kind, .member = member, .path = (char *)part->path,
		                         .size = part->size, .build_id_size = part->build_id_size };
	memcpy(row->build_id, part->build_id, sizeof(row->build_id));
	if (kind != 'm')
		ht_sha256(part->data, part->size, row->sha256);
	return 0;
}

/* Nothing of the time and place where it is made goes into it. */
static int
put_member(struct writer *w, const char *name, const void *data, size_t size)
{
	struct archive_entry *e = archive_entry_new();
	const char *p = data;
	int ok;

	if (!e)
		return no_memory(w);
	archive_entry_set_pathname(e, name);
	archive_entry_set_filetype(e, AE_IFREG);
	archive_entry_set_perm(e, 0644);
	archive_entry_set_size(e, (int64_t)size);
	archive_entry_set_mtime(e, 0, 0);
	ok = archive_write_header(w->a, e) == ARCHIVE_OK;
	archive_entry_free(e);
	while (ok && size) {
		la_ssize_t n = archive_write_data(w->a, p, size);

		ok = n > 0;
		p += ok ? n : 0;
		size -= ok ? (size_t)n : 0;
	}
	return ok ? 0 : failed(w);
}

static int
put_manifest(struct writer *w)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	int err;

	if (!f)
		return no_memory(w);
	for (size_t i = 0; i < w->rows.n; i++)
		ht_manifest_put(f, &w->rows.at[i]);
	err = fclose(f) ? no_memory(w) : put_member(w, HT_MANIFEST_NAME, text, size);
	free(text);
	return err;
}

/*
 * A file beside `out` takes its name when it is whole.  A link keeps leading
 * there; a device or pipe has no business being replaced.
 */
static int
open_temporary(struct writer *w)
{
	struct stat st;

	if (lstat(w->out, &st) == 0 && S_ISLNK(st.st_mode) && stat(w->out, &st) == 0)
		w->target = realpath(w->out, NULL);
	else
		w->target = strdup(w->out);
	if (!w->target)
		return no_memory(w);
	if (stat(w->target, &st) == 0 && !S_ISREG(st.st_mode))
		return ht_fail(w->diag, HT_EIO, w->out, HT_NO_OFFSET, "",
		               "exists and is no regular file; choose another name");
	if (asprintf(&w->temporary, "%s.%ld", w->target, (long)getpid()) < 0) {
		w->temporary = NULL;
		return no_memory(w);
	}
	/* As private as the capture. */
	w->fd = open(w->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (w->fd < 0) {
		int err = errno;

		free(w->temporary);
		w->temporary = NULL;
		return ht_fail(w->diag, err == EACCES || err == EPERM ? HT_EPERM : HT_EIO, w->out,
		               HT_NO_OFFSET, "", "cannot be made: %s", strerror(err));
	}
	return 0;
}

static int
start(struct writer *w)
{
	int err;

	w->a = archive_write_new();
	if (!w->a)
		return no_memory(w);
	if (archive_write_add_filter_zstd(w->a) != ARCHIVE_OK ||
	    archive_write_set_format_pax_restricted(w->a) != ARCHIVE_OK)
		return failed(w);
	/* No zeros behind the end, wherever it goes. */
	archive_write_set_bytes_in_last_block(w->a, 1);
	w->fd = STDOUT_FILENO;
	if (strcmp(w->out, "-") && (err = open_temporary(w)) < 0)
		return err;
	return archive_write_open_fd(w->a, w->fd) == ARCHIVE_OK ? 0 : failed(w);
}

static int
finish(struct writer *w, int err)
{
	if (!err && archive_write_close(w->a) != ARCHIVE_OK)
		err = failed(w);
	if (w->a)
		archive_write_free(w->a);
	if (w->temporary && close(w->fd) < 0 && !err)
		err = ht_fail(w->diag, HT_EIO, w->out, HT_NO_OFFSET, "", "cannot write: %s", strerror(errno));
	if (!err && w->temporary && rename(w->temporary, w->target) < 0)
		err = ht_fail(w->diag, HT_EIO, w->out, HT_NO_OFFSET, "", "cannot be written: %s",
		              strerror(errno));
	if (err && w->temporary)
		unlink(w->temporary);
	for (size_t i = 0; i < w->rows.n; i++)
		free(w->rows.at[i].member);
	ht_vec_free(&w->rows);
	free(w->temporary);
	free(w->target);
	return err;
}

int
ht_archive_write(const char *out, struct ht_container *c, const struct ht_archive_part *parts,
                 size_t n, struct ht_diag *diag)
{
	struct writer w = { .out = out, .diag = diag };
	struct ht_archive_part capture = { .path = "" };
	int err;

	capture.data = ht_container_bytes(c, &capture.size);
	if (!capture.data)
		return ht_fail(diag, HT_EUNSUPPORTED, c->path, HT_NO_OFFSET, "",
		               "a %s is made of several files; captures of one file can be archived",
		               c->info.format);
	err = add_row(&w, 'c', &capture, strdup("capture"));
	for (size_t i = 0; i < n && !err; i++)
		err = parts[i].data ? add_row(&w, 'f', &parts[i], member_name(parts[i].path, i))
		                    : add_row(&w, 'm', &parts[i], NULL);
	if (!err)
		err = start(&w);
	if (!err)
		err = put_manifest(&w);
	if (!err)
		err = put_member(&w, "capture", capture.data, capture.size);
	for (size_t i = 0; i < n && !err; i++)
		if (parts[i].data)
			err = put_member(&w, w.rows.at[i + 1].member, parts[i].data, parts[i].size);
	return finish(&w, err);
}
