/* SPDX-License-Identifier: BSD-2-Clause */
/* Which modules and sources a report is about when the user names none. */
#include <fnmatch.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>

#include "sink/coverage_build.h"

static int
begins_with_one(const char *path, const char *const *prefixes)
{
	for (; *prefixes; prefixes++)
		if (!strncmp(path, *prefixes, strlen(*prefixes)))
			return 1;
	return 0;
}

int
cov_system_module(const char *path)
{
	static const char *const system[] = { "/lib", "/usr/", "/bin/", "/sbin/", "[", "//", "anon_inode:",
	                                      "/dev/", "/memfd:", "/SYSV", NULL };
	static const char *const own[] = { "/usr/local/", "/usr/src/", NULL };

	return begins_with_one(path, system) && !begins_with_one(path, own);
}

static int
matches(const char *path, const char *const *globs)
{
	const char *slash = strrchr(path, '/');

	for (; *globs; globs++)
		if (!fnmatch(*globs, path, 0) || (slash && !fnmatch(*globs, slash + 1, 0)))
			return 1;
	return 0;
}

int
cov_source_wanted(const struct ht_cov_config *config, const char *path)
{
	static const char *const system[] = { "/usr/include/", "/usr/lib/", "/usr/lib32/", "/usr/lib64/",
	                                      "/usr/local/include/", "/rustc/", "/rust/deps/", NULL };

	if (config->exclude && matches(path, config->exclude))
		return 0;
	return config->include ? matches(path, config->include) : !begins_with_one(path, system);
}

const char *
ht_cov_map_source(const char *const *map, const char *path, char *buf, size_t size)
{
	for (; map && *map; map++) {
		const char *eq = strchr(*map, '=');
		size_t n = eq ? (size_t)(eq - *map) : 0;

		while (n && (*map)[n - 1] == '/')
			n--;
		if (!eq || strncmp(path, *map, n) || (path[n] && path[n] != '/'))
			continue;
		if ((size_t)snprintf(buf, size, "%s%s", eq + 1, path + n) < size)
			return buf;
	}
	return path;
}

static int
has_soname(Elf *elf)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;
		Elf_Data *d;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_DYNAMIC || !sh.sh_entsize ||
		    !(d = elf_getdata(scn, NULL)))
			continue;
		for (size_t i = 0; i < d->d_size / sh.sh_entsize && i < INT32_MAX; i++) {
			GElf_Dyn dyn;

			if (gelf_getdyn(d, (int)i, &dyn) && dyn.d_tag == DT_SONAME)
				return 1;
		}
	}
	return 0;
}

/* A program rather than a library, and neither the kernel's nor the loader. */
static int
is_program(const struct cov_module *m)
{
	Elf *elf = ht_module_info(m->handle)->state == HT_MODULE_FOUND ? ht_module_elf(m->handle) : NULL;
	GElf_Ehdr eh;
	GElf_Phdr ph;
	size_t n;

	if (!elf || !gelf_getehdr(elf, &eh) || m->path[0] == '[')
		return 0;
	if (eh.e_type == ET_EXEC)
		return 1;
	if (eh.e_type != ET_DYN || elf_getphdrnum(elf, &n) != 0 || has_soname(elf))
		return 0;
	for (size_t i = 0; i < n && i < INT32_MAX; i++)
		if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_INTERP)
			return 1;
	return 0;
}

void
cov_choose(struct cov_builder *b, const struct ht_coverage *c)
{
	const struct ht_cov_config *config = b->config;
	int some = 0;

	for (size_t i = 0; i < b->modules.n; i++) {
		struct ht_cov_module *m = &b->modules.at[i];

		m->chosen = config->modules ? matches(m->path, config->modules)
		                            : config->all_modules || !cov_system_module(m->path);
		some |= m->chosen;
	}
	if (some || config->modules)
		return;
	for (size_t i = 0; i < b->modules.n; i++)
		some |= b->modules.at[i].chosen = (uint8_t)is_program(&c->modules.at[i]);
	for (size_t i = 0; i < b->modules.n && !some; i++)
		b->modules.at[i].chosen = c->modules.at[i].blocks.used != 0;
}
