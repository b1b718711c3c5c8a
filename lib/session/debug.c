/* SPDX-License-Identifier: BSD-2-Clause */
/* Separate debug files, by build-id and by .gnu_debuglink, and the DWARF handle. */
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/archive.h>

#include "session/module.h"
#include "session/package.h"

#define DEBUG_ROOT "/usr/lib/debug"

/* Open `path` if it has the build-id of `m`; 1 when it is taken. */
static int
debug_open(struct ht_module *m, const char *path)
{
	uint8_t id[HT_BUILD_ID_MAX];

	if (!strcmp(path, m->file.path) || ht_file_open(&m->debug, path) < 0)
		return 0;
	if (m->debug.elf && ht_file_build_id(&m->debug, id) == m->info.build_id_size &&
	    !memcmp(id, m->info.build_id, m->info.build_id_size))
		return 1;
	ht_file_close(&m->debug);
	return 0;
}

/* Open `path`, under --symfs first, if it has the build-id of `m`; 1 when it is taken. */
static int
debug_try(struct ht_module *m, const char *path)
{
	char full[4096];

	for (int i = m->session->symfs ? 0 : 1; i < 2; i++) {
		int n = snprintf(full, sizeof(full), "%s%s", i ? "" : m->session->symfs, path);

		if (n >= 0 && (size_t)n < sizeof(full) && debug_open(m, full))
			return 1;
	}
	return 0;
}

/* An archive may have brought it along. */
static int
debug_carried(struct ht_module *m)
{
	struct ht_carried carried;

	if (!ht_container_file(m->session->container, HT_ARCHIVE_DEBUG, m->info.build_id,
	                       m->info.build_id_size, &carried) || !carried.data ||
	    ht_file_image(&m->debug, carried.path, carried.data, carried.size) < 0)
		return 0;
	if (m->debug.elf)
		return 1;
	ht_file_close(&m->debug);
	return 0;
}

static int
debug_by_id(struct ht_module *m)
{
	char path[sizeof(DEBUG_ROOT) + 64];
	const uint8_t *id = m->info.build_id;
	int n;

	if (m->info.build_id_size < 2)
		return 0;
	n = snprintf(path, sizeof(path), DEBUG_ROOT "/.build-id/%02x/", id[0]);
	for (unsigned i = 1; i < m->info.build_id_size; i++)
		n += snprintf(path + n, sizeof(path) - (size_t)n, "%02x", id[i]);
	snprintf(path + n, sizeof(path) - (size_t)n, ".debug");
	return debug_try(m, path);
}

static int
debug_fetched(struct ht_module *m)
{
	struct ht_fetch fetch = { .what = m->path,
		                  .id = m->info.build_id,
		                  .id_size = m->info.build_id_size,
		                  .debug = 1 };
	const char *why;
	char *path;
	int taken;

	if (!ht_session_fetch(m->session, &fetch, &path, &why))
		return 0;
	taken = debug_open(m, path);
	free(path);
	return taken;
}

/* The name in .gnu_debuglink, NULL when there is none. */
static const char *
debug_link(Elf *elf)
{
	size_t names;
	Elf_Scn *scn = NULL;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return NULL;
	while ((scn = elf_nextscn(elf, scn)) != NULL) {
		GElf_Shdr sh;
		const char *name;
		Elf_Data *d;

		if (!gelf_getshdr(scn, &sh) || !(name = elf_strptr(elf, names, sh.sh_name)) ||
		    strcmp(name, ".gnu_debuglink") != 0)
			continue;
		d = elf_rawdata(scn, NULL);
		if (d && d->d_size && memchr(d->d_buf, 0, d->d_size) && !strchr(d->d_buf, '/'))
			return d->d_buf;
	}
	return NULL;
}

static int
debug_by_link(struct ht_module *m)
{
	static const char *const dirs[][2] = { { "", "" }, { "", "/.debug" }, { DEBUG_ROOT, "" } };
	const char *link = debug_link(m->file.elf), *slash = strrchr(m->path, '/');
	char path[4096];

	if (!link || !slash)
		return 0;
	for (unsigned i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
		int n = snprintf(path, sizeof(path), "%s%.*s%s/%s", dirs[i][0],
		                 (int)(slash - m->path), m->path, dirs[i][1], link);

		if (n > 0 && (size_t)n < sizeof(path) && debug_try(m, path))
			return 1;
	}
	return 0;
}

const struct ht_file *
ht_module_debug(struct ht_module *m)
{
	if (!m->debug_tried) {
		m->debug_tried = 1;
		/* Without a build-id nothing says that a debug file belongs to this very file. */
		if (ht_module_elf(m) && m->info.build_id_size && !debug_carried(m) &&
		    !debug_by_id(m) && !debug_by_link(m))
			debug_fetched(m);
	}
	return m->debug.elf ? &m->debug : NULL;
}

const void *
ht_module_debug_image(struct ht_module *m, size_t *size)
{
	const struct ht_file *f = ht_module_debug(m);

	*size = f ? f->size : 0;
	return f ? f->data : NULL;
}

/* A stripped file may keep call frame information: DWARF, but of no use here. */
static int
has_units(Dwarf *dwarf)
{
	Dwarf_Off next;
	size_t header;

	return dwarf && dwarf_nextcu(dwarf, 0, &next, &header, NULL, NULL, NULL) == 0;
}

void *
ht_module_dwarf(struct ht_module *m)
{
	const struct ht_file *debug;

	if (m->dwarf_tried)
		return m->dwarf;
	m->dwarf_tried = 1;
	if (!ht_module_elf(m))
		return NULL;
	m->dwarf = dwarf_begin_elf(m->file.elf, DWARF_C_READ, NULL);
	if (!has_units(m->dwarf) && (debug = ht_module_debug(m)) != NULL) {
		dwarf_end(m->dwarf);
		m->dwarf = dwarf_begin_elf(debug->elf, DWARF_C_READ, NULL);
	}
	return m->dwarf;
}

struct ht_package *
ht_module_package(struct ht_module *m)
{
	const char *const beside[] = { m->file.path, m->debug.path };

	if (m->package_tried)
		return m->package;
	m->package_tried = 1;
	for (unsigned i = 0; i < 2 && !m->package; i++) {
		char path[4096];
		int n = snprintf(path, sizeof(path), "%s.dwp", beside[i] ? beside[i] : "");

		if (beside[i] && n > 0 && (size_t)n < sizeof(path))
			ht_package_open(path, &m->package);
	}
	return m->package;
}

void
ht_module_debug_free(struct ht_module *m)
{
	ht_package_close(m->package);
	m->package = NULL;
	if (m->dwarf)
		dwarf_end(m->dwarf);
	m->dwarf = NULL;
	ht_file_close(&m->debug);
}
