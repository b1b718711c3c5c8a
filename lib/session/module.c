/* SPDX-License-Identifier: BSD-2-Clause */
/* The modules of a session, and the file behind each: the right one, or none. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/vec.h"
#include "session/module.h"

#define VDSO_MAX 0x10000 /* no system has a larger one */

/* -- the table ----------------------------------------------------------- */

static uint64_t
module_key(const char *path, const uint8_t *id, unsigned n)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (; *path; path++)
		h = (h ^ (uint8_t)*path) * 0x100000001b3ull;
	for (unsigned i = 0; i < n; i++)
		h = (h ^ id[i]) * 0x100000001b3ull;
	return h;
}

static int
module_is(const struct ht_module *m, const char *path, const uint8_t *id, unsigned n)
{
	return m->recorded_size == n && (!n || !memcmp(m->recorded, id, n)) && !strcmp(m->path, path);
}

static int
starts(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

/* The kernel's words for a file that has no name any more, or a name that ends like them. */
static int
says_deleted(const char *path)
{
	static const char deleted[] = " (deleted)";
	size_t n = strlen(path);

	return path[0] == '/' && n >= sizeof(deleted) &&
	       !strcmp(path + n - sizeof(deleted) + 1, deleted);
}

/* Is this the name of memory that no file holds? */
static int
names_memory(const char *path)
{
	return !*path || starts(path, "//anon") || starts(path, "anon_inode:") ||
	       starts(path, "/memfd:") || starts(path, "/dev/zero") || starts(path, "/SYSV") ||
	       starts(path, "/anon_hugepage") || (path[0] == '[' && !starts(path, "[kernel"));
}

/* Anonymous memory, whatever the capture calls it; the kernel's own in brackets are none. */
static int
is_anonymous(const char *path)
{
	return names_memory(path) && (path[0] != '[' || starts(path, "[anon") ||
	                              starts(path, "[heap]") || starts(path, "[stack"));
}

static struct ht_module *
module_new(struct ht_session *s, uint32_t index, const char *path, const uint8_t *id, unsigned n)
{
	struct ht_module *m = calloc(1, sizeof(*m));

	if (!m || !(m->path = strdup(path))) {
		free(m);
		return NULL;
	}
	m->session = s;
	m->index = index;
	m->file.fd = m->debug.fd = -1;
	if (n)
		memcpy(m->recorded, id, n);
	m->recorded_size = n;
	m->info.path = m->path;
	m->memory = is_anonymous(path) || (says_deleted(path) && !n && access(path, F_OK) < 0);
	return m;
}

void
ht_module_free(struct ht_module *m)
{
	if (!m)
		return;
	ht_module_symbols_free(m);
	ht_module_jit_free(m);
	ht_module_debug_free(m);
	ht_module_layout_free(m);
	ht_file_close(&m->file);
	free(m->path);
	free(m);
}

struct ht_module *
ht_session_intern(struct ht_session *s, const char *path, const uint8_t *id, unsigned n)
{
	uint64_t key;
	struct ht_module **slot;

	if (n > HT_BUILD_ID_MAX)
		n = HT_BUILD_ID_MAX;
	if (s->interned && module_is(s->interned, path, id, n))
		return s->interned; /* mappings of one file come in a row */
	/* Of two files with one hash the second lies at the next key. */
	for (key = module_key(path, id, n);; key++) {
		uint32_t i = ht_index_get(&s->by_path, key);

		if (i == UINT32_MAX)
			break;
		if (module_is(s->modules.at[i], path, id, n))
			return s->interned = s->modules.at[i];
	}
	slot = ht_vec_push(&s->modules);
	if (!slot)
		return NULL;
	*slot = module_new(s, (uint32_t)s->modules.n - 1, path, id, n);
	if (!*slot || ht_index_set(&s->by_path, key, (uint32_t)s->modules.n - 1) < 0) {
		ht_module_free(*slot);
		s->modules.n--;
		return NULL;
	}
	return s->interned = *slot;
}

void
ht_session_settle(struct ht_session *s)
{
	for (size_t i = 0; i < s->modules.n; i++)
		ht_module_layout(s->modules.at[i]); /* finds the file, too */
}

uint32_t
ht_session_module_count(const struct ht_session *s)
{
	return (uint32_t)s->modules.n;
}

struct ht_module *
ht_session_module(const struct ht_session *s, uint32_t i)
{
	return i < s->modules.n ? s->modules.at[i] : NULL;
}

uint32_t
ht_module_index(const struct ht_module *m)
{
	return m->index;
}

int
ht_module_is_memory(const struct ht_module *m)
{
	return m->memory;
}

void
ht_module_set_dump(struct ht_module *m)
{
	m->dump = 1;
}

/* -- finding the file ---------------------------------------------------- */

/* Build-ids are equal when one is the other with zeros behind it (perf stores 20 bytes). */
static int
same_id(const uint8_t *a, unsigned n, const uint8_t *b, unsigned m)
{
	for (unsigned i = 0; i < HT_BUILD_ID_MAX; i++)
		if ((i < n ? a[i] : 0) != (i < m ? b[i] : 0))
			return 0;
	return n && m;
}

static const char *
hex(const uint8_t *id, unsigned n, char out[2 * HT_BUILD_ID_MAX + 1])
{
	for (unsigned i = 0; i < n; i++)
		snprintf(out + 2 * i, 3, "%02x", id[i]);
	out[2 * n] = 0;
	return n ? out : "none";
}

/*
 * Take the open file if it is the one that was recorded; 1 when it was taken.
 * Else it is closed, and the state says that there was another one.
 */
static int
module_take(struct ht_module *m, struct ht_file *f)
{
	char was[2 * HT_BUILD_ID_MAX + 1], is[2 * HT_BUILD_ID_MAX + 1];
	uint8_t id[HT_BUILD_ID_MAX];
	unsigned n;

	if (m->dump)
		ht_file_drop_elf(f);
	n = f->elf ? ht_file_build_id(f, id) : 0;

	if (m->recorded_size && !m->session->ignore_build_id &&
	    !same_id(id, n, m->recorded, m->recorded_size)) {
		m->info.state = HT_MODULE_CHANGED;
		snprintf(m->why, sizeof(m->why), "%.200s is not the file that ran: its build-id is %s, "
		         "recorded was %s; give the old file with --symfs", f->path,
		         hex(id, n, is), hex(m->recorded, m->recorded_size, was));
		ht_file_close(f);
		return 0;
	}
	m->file = *f;
	m->why[0] = 0; /* of another file that was tried before */
	m->info.state = HT_MODULE_FOUND;
	m->info.by_build_id = m->recorded_size && same_id(id, n, m->recorded, m->recorded_size);
	m->info.found_path = f->path;
	m->info.is_elf = f->elf != NULL;
	if (n)
		memcpy(m->info.build_id, id, n);
	m->info.build_id_size = (uint8_t)n;
	return 1;
}

/* Was the capture made on this machine, under the kernel that runs now? */
static int
same_system(const struct ht_module *m)
{
	const struct ht_capture_info *info = ht_container_info(m->session->container);
	struct utsname u;

	return uname(&u) == 0 && info->hostname && info->os_release &&
	       !strcmp(u.nodename, info->hostname) && !strcmp(u.release, info->os_release);
}

/* The vdso is the kernel's: this process has the one of this kernel. */
static void
module_find_vdso(struct ht_module *m)
{
	const uint8_t *image = (const uint8_t *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	struct ht_file f;
	Elf64_Ehdr eh;
	uint64_t size;

	m->info.state = HT_MODULE_MEMORY;
	if (!image || (!m->recorded_size && !same_system(m)))
		return;
	memcpy(&eh, image, sizeof(eh));
	size = eh.e_shoff + (uint64_t)eh.e_shnum * eh.e_shentsize;
	if (memcmp(eh.e_ident, ELFMAG, SELFMAG) || size < sizeof(eh) || size > VDSO_MAX)
		return;
	if (ht_file_image(&f, m->path, image, (size_t)size) == 0 && !module_take(m, &f)) {
		m->info.state = HT_MODULE_MISSING;
		snprintf(m->why, sizeof(m->why),
		         "the vdso that ran belongs to another kernel than the one that runs here");
	}
}

/* The capture may have brought the file along; 1 when it was taken. */
static int
module_carried(struct ht_module *m)
{
	struct ht_carried carried;
	struct ht_file f;
	int r;

	if (!ht_container_file(m->session->container, m->path, m->recorded, m->recorded_size, &carried))
		return 0;
	r = carried.data ? ht_file_image(&f, carried.path, carried.data, carried.size)
	                 : ht_file_open(&f, carried.path);
	return r == 0 && module_take(m, &f);
}

/* perf keeps what it recorded in ~/.debug, by build-id. */
static int
module_in_cache(struct ht_module *m)
{
	static const char *const ends[] = { "/elf", "" };
	char id[2 * HT_BUILD_ID_MAX + 1], path[4096];
	const char *home = getenv("HOME");
	struct ht_file f;

	if (!home || m->recorded_size < 2)
		return 0;
	hex(m->recorded, m->recorded_size, id);
	for (unsigned i = 0; i < 2; i++) {
		int n = snprintf(path, sizeof(path), "%s/.debug/.build-id/%.2s/%s%s", home, id, id + 2, ends[i]);

		if (n > 0 && (size_t)n < sizeof(path) && ht_file_open(&f, path) == 0 && module_take(m, &f))
			return 1;
	}
	return 0;
}

/* Ask for it at the servers, if allowed; 1 when it was taken, else maybe a word on why not. */
static int
module_fetch(struct ht_module *m, const char **why)
{
	struct ht_fetch fetch = { .what = m->path, .id = m->recorded, .id_size = m->recorded_size };
	struct ht_file f;
	char *path;
	int r;

	if (!ht_session_fetch(m->session, &fetch, &path, why))
		return 0;
	r = ht_file_open(&f, path);
	free(path);
	return r == 0 && module_take(m, &f);
}

/* Find the file, or say why there is none. */
static void
module_find(struct ht_module *m)
{
	const char *symfs = m->session->symfs;
	char id[2 * HT_BUILD_ID_MAX + 1], *path = NULL;
	const char *unfetched;
	struct ht_file f;
	int r = -HT_ENOTFOUND;

	if (symfs && asprintf(&path, "%s/%s", symfs, m->path) >= 0) {
		r = ht_file_open(&f, path);
		free(path);
		if (r == 0 && module_take(m, &f))
			return;
	}
	if (module_carried(m) || module_in_cache(m))
		return;
	r = ht_file_open(&f, m->path);
	if (r == 0 && module_take(m, &f))
		return;
	if (module_fetch(m, &unfetched) || m->info.state == HT_MODULE_CHANGED)
		return;
	if (says_deleted(m->path) && !m->recorded_size) {
		m->info.state = HT_MODULE_MEMORY;
		return;
	}
	m->info.state = HT_MODULE_MISSING;
	if (r == -HT_ELIMIT) {
		snprintf(m->why, sizeof(m->why), "%.300s cannot be opened: too many open files%s",
		         m->path, ht_limit_hint(EMFILE));
		return;
	}
	snprintf(m->why, sizeof(m->why),
	         "%.300s (build-id %s) %s%s%s%.60s; give a folder that has it with --symfs",
	         m->path,
	         m->recorded_size ? hex(m->recorded, m->recorded_size, id) : "not recorded",
	         r == -HT_EPERM ? "may not be read" : "was not found",
	         symfs ? ", neither in the folder of --symfs" : "",
	         unfetched ? "; debuginfod: " : "", unfetched ? unfetched : "");
}

const struct ht_module_info *
ht_module_info(struct ht_module *m)
{
	if (m->info.state != HT_MODULE_UNTRIED)
		return &m->info;
	if (!m->recorded_size)
		m->recorded_size = ht_container_build_id(m->session->container, m->path, m->recorded);
	if (starts(m->path, "[vdso]")) {
		if (!module_carried(m))
			module_find_vdso(m);
	} else if (names_memory(m->path))
		m->info.state = HT_MODULE_MEMORY;
	else
		module_find(m);
	if (m->info.state != HT_MODULE_FOUND && m->recorded_size) {
		memcpy(m->info.build_id, m->recorded, m->recorded_size);
		m->info.build_id_size = (uint8_t)m->recorded_size;
	}
	m->info.why = m->why[0] ? m->why : NULL;
	return &m->info;
}

const uint8_t *
ht_module_bytes(struct ht_module *m, uint64_t offset, size_t *n)
{
	*n = 0;
	if (ht_module_info(m)->state != HT_MODULE_FOUND || offset >= m->file.size)
		return NULL;
	*n = m->file.size - (size_t)offset;
	return m->file.data + offset;
}

const void *
ht_module_image(struct ht_module *m, size_t *size)
{
	if (m->info.is_names) {
		*size = m->file.size;
		return m->file.data;
	}
	return (const void *)ht_module_bytes(m, 0, size);
}
