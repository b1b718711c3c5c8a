/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files by build-id from the servers that DEBUGINFOD_URLS names, by elfutils' client,
 * which keeps them in its cache.  It comes with libdw, but brings an HTTP client and
 * cryptography along: it is loaded when the first file is asked for, which nobody
 * does who was not allowed to.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "session/module.h"

#define SONAME "libdebuginfod.so.1"

struct ht_debuginfod {
	void *client;
	struct ht_session *session;
	const char *what; /* path of the module at hand */
};

/* [DEBUGINFOD "debuginfod_find_debuginfo"] */
typedef int progress_fn(void *client, long done, long total);
typedef int find_fn(void *client, const unsigned char *id, int id_size, char **path);

/* What is used of the library; once loaded it stays, since what it brings along expects that. */
static struct {
	void *(*begin)(void);
	void (*end)(void *client);
	find_fn *executable, *debuginfo;
	void (*set_progress)(void *client, progress_fn *f);
	void (*set_user_data)(void *client, void *data);
	void *(*user_data)(void *client);
} api;

static int
load(void)
{
	static const struct {
		const char *name;
		void *to;
	} rows[] = {
		{ "debuginfod_begin", &api.begin },
		{ "debuginfod_end", &api.end },
		{ "debuginfod_find_executable", &api.executable },
		{ "debuginfod_find_debuginfo", &api.debuginfo },
		{ "debuginfod_set_progressfn", &api.set_progress },
		{ "debuginfod_set_user_data", &api.set_user_data },
		{ "debuginfod_get_user_data", &api.user_data },
	};
	void *library = dlopen(SONAME, RTLD_NOW);

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		void *f = library ? dlsym(library, rows[i].name) : NULL;

		if (!f)
			return 0;
		memcpy(rows[i].to, &f, sizeof(f));
	}
	return 1;
}

static int
progress(void *client, long done, long total)
{
	const struct ht_debuginfod *d = api.user_data(client);
	struct ht_session *s = d->session;

	if (s->progress && done >= 0 && total > 0)
		s->progress(s->progress_arg, d->what, (uint64_t)done, (uint64_t)total);
	return 0;
}

void
ht_debuginfod_free(struct ht_debuginfod *d)
{
	if (d)
		api.end(d->client);
	free(d);
}

static struct ht_debuginfod *
debuginfod_new(struct ht_session *s)
{
	struct ht_debuginfod *d = load() ? calloc(1, sizeof(*d)) : NULL;

	if (!d)
		return NULL;
	d->session = s;
	d->client = api.begin();
	if (!d->client) {
		free(d);
		return NULL;
	}
	api.set_user_data(d->client, d);
	api.set_progress(d->client, progress);
	return d;
}

/* perf fills short build-ids up with zeros; the sizes in use are 20, 16 and 8 bytes. */
static unsigned
id_size(const uint8_t *id, unsigned n)
{
	unsigned used = n, size;

	while (used && !id[used - 1])
		used--;
	size = used > 16 ? n : used > 8 ? 16 : 8;
	return size < n ? size : n;
}

int
ht_session_fetch(struct ht_session *s, const struct ht_fetch *f, char **path, const char **why)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	int fd;

	*why = NULL;
	if (!s->may_fetch || !f->id_size || !urls || !*urls)
		return 0;
	if (!s->debuginfod && !s->cannot_fetch) {
		s->debuginfod = debuginfod_new(s);
		s->cannot_fetch = !s->debuginfod;
	}
	if (!s->debuginfod) {
		*why = SONAME " cannot be loaded";
		return 0;
	}
	s->debuginfod->what = f->what;
	fd = (f->debug ? api.debuginfo : api.executable)(s->debuginfod->client, f->id,
	                                                 (int)id_size(f->id, f->id_size), path);
	if (fd < 0) {
		*why = fd == -ENOENT ? "no server of DEBUGINFOD_URLS has it" : strerror(-fd);
		return 0;
	}
	close(fd);
	return 1;
}
