/* SPDX-License-Identifier: BSD-2-Clause */
/* Open a capture: map or read the file, choose the reader by its first bytes. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "container/reader.h"

static const struct ht_reader *const readers[] = {
	&ht_reader_perfdata, &ht_reader_archive,  &ht_reader_bundle,
	&ht_reader_snapshot, &ht_reader_simplept, &ht_reader_brstack,
};

#define N_READERS (sizeof(readers) / sizeof(readers[0]))

static const struct ht_reader *
choose(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < N_READERS; i++)
		if (readers[i]->match(data, size))
			return readers[i];
	return NULL;
}

static int
fail_unknown(const char *path, const uint8_t *data, size_t size, struct ht_diag *diag)
{
	if (!size)
		return ht_fail(diag, HT_EFORMAT, path, 0, "",
		               "the file is empty; was the recording interrupted?");
	if (size >= 4 && !memcmp(data, "\177ELF", 4))
		return ht_fail(
		    diag, HT_EFORMAT, path, 0, "magic",
		    "is a program or library, not a capture; name the file that was recorded");
	return ht_fail(
	    diag, HT_EFORMAT, path, 0, "magic",
	    "is no capture that hwtrace knows; it reads perf.data, LLDB trace bundles, CoreSight "
	    "snapshots, simple-pt's sideband, branch stacks as perf script writes them, raw Intel "
	    "PT with a "
	    "map, and archives of its own");
}

#define LOOK_AT    (64u << 10) /* of a pipe, before more of it is read */
#define DEVICE_MAX (1u << 20)  /* of a device, which has no end of its own */

/* The most that is read of what has no size: half of the memory, which all of it is kept in. */
static uint64_t
pipe_max(int device)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

	return device ? DEVICE_MAX : pages > 0 && size > 0 ? (uint64_t)pages / 2 * (uint64_t)size : 1u << 30;
}

/* All of a pipe, as it is: what it holds is needed in more than one order. */
static int
read_pipe(struct ht_container *c, int fd, int device, int raw, struct ht_diag *diag)
{
	uint64_t max = pipe_max(device);
	size_t cap = 0, n = 0;
	uint8_t *buf = NULL;

	for (;;) {
		ssize_t got;

		if (n > max) {
			free(buf);
			return ht_fail(diag, HT_ELIMIT, c->path, max, "",
			               device ? "is a device that gives more than a capture; name a file"
			                      : "more comes by the pipe than this machine can keep; record into a "
			                        "file, and name that");
		}
		if (!raw && n >= LOOK_AT && !choose(buf, n))
			break; /* no capture, however it goes on */
		if (n == cap) {
			size_t want = cap ? cap * 2 : 1 << 20;
			uint8_t *wide = realloc(buf, want);

			if (!wide) {
				free(buf);
				return ht_fail(diag, HT_ENOMEM, c->path, n, "",
				               "out of memory reading the capture");
			}
			buf = wide;
			cap = want;
		}
		got = read(fd, buf + n, cap - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			int err = errno;

			free(buf);
			return ht_fail(diag, HT_EIO, c->path, n, "", "cannot read: %s",
			               strerror(err));
		}
		if (!got)
			break;
		n += (size_t)got;
	}
	c->owned = buf;
	c->data = buf;
	c->size = n;
	return 0;
}

static int
load_fd(struct ht_container *c, int fd, int raw, struct ht_diag *diag)
{
	struct stat st;
	void *p;

	if (fstat(fd, &st) < 0)
		return ht_fail(diag, HT_EIO, c->path, HT_NO_OFFSET, "", "cannot read: %s",
		               strerror(errno));
	if (S_ISDIR(st.st_mode))
		return ht_fail(diag, HT_EUNSUPPORTED, c->path, HT_NO_OFFSET, "",
		               "is a folder without a capture that hwtrace knows: no trace.json "
		               "(LLDB), no snapshot.ini (CoreSight), no data (perf)");
	if (!S_ISREG(st.st_mode))
		return read_pipe(c, fd, S_ISCHR(st.st_mode) && !isatty(fd), raw, diag);
	if (st.st_size == 0)
		return 0;
	if ((uint64_t)st.st_size > SIZE_MAX)
		return ht_fail(diag, HT_ELIMIT, c->path, HT_NO_OFFSET, "",
		               "too large for this machine");
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return ht_fail(diag, HT_EIO, c->path, HT_NO_OFFSET, "", "cannot map: %s",
		               strerror(errno));
	c->mapped = p;
	c->data = p;
	c->size = (size_t)st.st_size;
	return 0;
}

/* A folder stands for the file in it that describes the rest. */
static int
open_in_folder(struct ht_container *c, const char *path)
{
	static const char *const names[] = { "trace.json", "snapshot.ini", "data" }; /* LLDB's, CoreSight's, perf's */
	char *full;
	int fd;

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (asprintf(&full, "%s/%s", path, names[i]) < 0)
			return -1;
		fd = open(full, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		if (fd >= 0) {
			free(c->path);
			c->info.path = c->path = full;
			return fd;
		}
		free(full);
	}
	return -1;
}

static int
load(struct ht_container *c, const char *path, int raw, struct ht_diag *diag)
{
	struct stat st;

	int fd, err;

	if (!strcmp(path, "-"))
		return load_fd(c, STDIN_FILENO, raw, diag);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0) {
		err = errno;
		return ht_fail(diag, err == EACCES || err == EPERM ? HT_EPERM : HT_EIO, path,
		               HT_NO_OFFSET, "", "cannot open: %s", strerror(err));
	}
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		int inside = open_in_folder(c, path);

		if (inside >= 0) {
			close(fd);
			fd = inside;
		}
	}
	err = load_fd(c, fd, raw, diag);
	close(fd);
	return err;
}

static struct ht_container *
container_new(const char *path)
{
	struct ht_container *c = calloc(1, sizeof(*c));

	if (c && !(c->path = strdup(path))) {
		free(c);
		return NULL;
	}
	if (c) {
		c->info.path = c->path;
		c->info.ret_compression = -1;
	}
	return c;
}

static int
start(struct ht_container *c, const struct ht_reader *reader,
      const struct ht_container_config *config, struct ht_diag *diag)
{
	if (!reader)
		return fail_unknown(c->path, c->data, c->size, diag);
	c->reader = reader;
	c->info.format = reader->name;
	return reader->open(c, config, diag);
}

int
ht_container_open(const char *path, const struct ht_container_config *config,
                  struct ht_container **out, struct ht_diag *diag)
{
	struct ht_container *c;
	int err, raw;

	if (config && config->size < sizeof(*config))
		return ht_fail(diag, HT_EINVAL, path, HT_NO_OFFSET, "config.size",
		               "the container's configuration has an unknown size");
	raw = config && config->raw.pt;
	c = container_new(raw ? config->raw.pt : path);
	if (!c)
		return ht_fail(diag, HT_ENOMEM, path, HT_NO_OFFSET, "", "out of memory");
	err = load(c, c->path, raw, diag);
	if (!err)
		err = start(c, raw ? &ht_reader_raw : choose(c->data, c->size), config, diag);
	if (err) {
		ht_container_close(c);
		return err;
	}
	*out = c;
	return 0;
}

int
ht_container_open_memory(const void *data, size_t size, const struct ht_container_config *config,
                         struct ht_container **out, struct ht_diag *diag)
{
	return ht_container_open_part("(memory)", data, size, config, out, diag);
}

int
ht_container_open_part(const char *name, const void *data, size_t size,
                       const struct ht_container_config *config, struct ht_container **out,
                       struct ht_diag *diag)
{
	struct ht_container *c = container_new(name);
	int err;

	if (!c)
		return ht_fail(diag, HT_ENOMEM, NULL, HT_NO_OFFSET, "", "out of memory");
	c->data = data;
	c->size = size;
	err = start(c, choose(data, size), config, diag);
	if (err) {
		ht_container_close(c);
		return err;
	}
	*out = c;
	return 0;
}

void
ht_container_close(struct ht_container *c)
{
	if (!c)
		return;
	if (c->reader)
		c->reader->close(c);
	free(c->streams);
	if (c->mapped)
		munmap(c->mapped, c->size);
	free(c->owned);
	free(c->path);
	free(c);
}

const struct ht_capture_info *
ht_container_info(const struct ht_container *c)
{
	return &c->info;
}

uint32_t
ht_container_stream_count(const struct ht_container *c)
{
	return c->n_streams;
}

const struct ht_stream *
ht_container_stream(const struct ht_container *c, uint32_t i)
{
	return i < c->n_streams ? &c->streams[i] : NULL;
}

int
ht_container_next(struct ht_container *c, struct ht_record *rec)
{
	return c->reader->next(c, rec);
}

void
ht_container_rewind(struct ht_container *c)
{
	c->reader->rewind(c);
}

const struct ht_diag *
ht_container_diag(const struct ht_container *c)
{
	return &c->diag;
}

unsigned
ht_container_build_id(const struct ht_container *c, const char *path, uint8_t id[HT_BUILD_ID_MAX])
{
	return c->reader->build_id ? c->reader->build_id(c, path, id) : 0;
}

int
ht_container_file(const struct ht_container *c, const char *path, const uint8_t *id,
                  unsigned id_size, struct ht_carried *out)
{
	return c->reader->file ? c->reader->file(c, path, id, id_size, out) : 0;
}

const void *
ht_container_bytes(const struct ht_container *c, size_t *size)
{
	return c->reader->bytes ? c->reader->bytes(c, size) : NULL;
}
