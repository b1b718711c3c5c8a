/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is mapped is read back from /proc/self/maps after each system call that
 * may have changed it; whether it is executable for the program, QEMU knows
 * (the host's own protection of guest code is read-only).
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/procmap.h"
#include "qemu/guest.h"
#include "qemu/maps.h"
#include "qemu/qemu_api.h"
#include "qemu/sideband.h"

#define PAGE 4096

static struct ht_map *maps; /* in no order; not many */
static unsigned n_maps, cap_maps;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void
ht_maps_after_fork(void)
{
	pthread_mutex_init(&lock, NULL);
}

static int
is_exec(uint64_t addr)
{
	return page_get_flags && (page_get_flags(addr) & HT_QEMU_PAGE_EXEC);
}

static struct ht_map *
find(uint64_t addr)
{
	for (unsigned i = 0; i < n_maps; i++)
		if (addr >= maps[i].start && addr < maps[i].end)
			return &maps[i];
	return NULL;
}

int
ht_maps_find(uint64_t addr, struct ht_map *map)
{
	struct ht_map *m;

	pthread_mutex_lock(&lock);
	m = find(addr);
	if (m)
		*map = *m;
	pthread_mutex_unlock(&lock);
	return m != NULL;
}

static void
add(const struct ht_map *m)
{
	if (n_maps == cap_maps) {
		unsigned cap = cap_maps ? 2 * cap_maps : 32;
		struct ht_map *p = realloc(maps, cap * sizeof(*p));

		if (!p)
			return;
		maps = p;
		cap_maps = cap;
	}
	maps[n_maps++] = *m;
}

/* The same bytes of the same file at the same address?  It may have lost its name since. */
static int
same_mapping(const struct ht_map *a, const struct ht_map *b)
{
	return a->ino == b->ino && a->maj == b->maj && a->min == b->min && a->shared == b->shared &&
	       a->pgoff - a->start == b->pgoff - b->start && (a->ino || a->path == b->path);
}

/* Cut [start, end) out of the list, telling it when `tell`. */
static void
drop(uint64_t start, uint64_t end, int tell)
{
	for (unsigned i = 0; i < n_maps; i++) {
		struct ht_map *m = &maps[i], tail;

		if (m->end <= start || m->start >= end)
			continue;
		if (tell)
			ht_sideband_unmap(m->start > start ? m->start : start, m->end < end ? m->end : end);
		tail = *m;
		if (m->start < start) {
			m->end = start;
		} else {
			*m = maps[--n_maps];
			i--;
		}
		if (tail.end > end) {
			tail.pgoff += end - tail.start;
			tail.start = end;
			add(&tail);
		}
	}
}

/* [m->start, m->end) is executable now and lies in one mapping. */
static void
set(const struct ht_map *m)
{
	struct ht_map *have = find(m->start);

	if (have && have->end >= m->end && same_mapping(have, m))
		return;
	drop(m->start, m->end, 0);
	add(m);
	ht_sideband_map(m);
}

/* [start, end) lies in one host mapping: set its executable parts, drop the others. */
static void
split(struct ht_map m)
{
	uint64_t end = m.end;

	for (uint64_t at = m.start; at < end;) {
		int exec = is_exec(at);
		uint64_t to = at + PAGE;

		while (to < end && is_exec(to) == exec)
			to += PAGE;
		if (exec) {
			struct ht_map part = m;

			part.start = at;
			part.end = to;
			part.pgoff += at - m.start;
			set(&part);
		} else {
			drop(at, to, 1);
		}
		at = to;
	}
}

/* The same name is kept once. */
static const char *
keep_name(const char *path)
{
	static struct name {
		struct name *next;
		char text[];
	} * names[64];
	size_t n = strlen(path) + 1;
	unsigned hash = 0;
	struct name *name;

	for (const char *c = path; *c; c++)
		hash = hash * 31 + (unsigned char)*c;
	hash %= sizeof(names) / sizeof(names[0]);
	for (name = names[hash]; name; name = name->next)
		if (!strcmp(name->text, path))
			return name->text;
	name = malloc(sizeof(*name) + n);
	if (!name)
		return "//anon";
	memcpy(name->text, path, n);
	name->next = names[hash];
	names[hash] = name;
	return name->text;
}

/* Only executable parts are kept: the protection is theirs. */
static struct ht_map
from_host(struct ht_procmap *host)
{
	char buf[HT_PROCMAP_NAME_MAX];

	ht_procmap_name(getpid(), host, buf);
	return (struct ht_map){
		.start = host->start - ht_guest_base(),
		.end = host->end - ht_guest_base(),
		.pgoff = host->pgoff,
		.ino = host->ino,
		.maj = host->maj,
		.min = host->min,
		.prot = PROT_READ | PROT_EXEC,
		.shared = host->prot[3] == 's',
		.deleted = host->deleted,
		.path = host->path[0] == '/' ? keep_name(host->path) : "//anon",
	};
}

void
ht_maps_update(uint64_t start, uint64_t end)
{
	FILE *f = fopen("/proc/self/maps", "re");
	uint64_t seen = start;
	char *line = NULL;
	size_t cap = 0;

	if (!f)
		return;
	pthread_mutex_lock(&lock);
	while (getline(&line, &cap, f) > 0) {
		struct ht_procmap host;
		struct ht_map m;

		if (ht_procmap_parse(line, &host) < 0 || host.end - ht_guest_base() <= start ||
		    host.start - ht_guest_base() >= end)
			continue;
		m = from_host(&host);
		if (m.start < start) {
			m.pgoff += start - m.start;
			m.start = start;
		}
		if (m.end > end)
			m.end = end;
		drop(seen, m.start, 1);
		seen = m.end;
		split(m);
	}
	drop(seen, end, 1);
	pthread_mutex_unlock(&lock);
	free(line);
	fclose(f);
}

void
ht_maps_forget(uint64_t start, uint64_t end)
{
	pthread_mutex_lock(&lock);
	drop(start, end, 1);
	pthread_mutex_unlock(&lock);
}

static int
begin_region(void *arg, uint64_t start, uint64_t end, unsigned long prot)
{
	(void)arg;
	if (prot & HT_QEMU_PAGE_EXEC)
		ht_maps_update(start, end);
	return 0;
}

void
ht_maps_begin(void)
{
	if (walk_memory_regions)
		walk_memory_regions(NULL, begin_region);
}

/* A private page that was written to is no page of its file any more: bit 61 of its pagemap word. */
static int
is_file_page(uint64_t addr)
{
	uint64_t word = 0;
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 1;
	if (pread(fd, &word, 8, (off_t)((addr + ht_guest_base()) / PAGE * 8)) != 8)
		word = 1ull << 61;
	close(fd);
	return word >> 61 & 1;
}

int
ht_maps_clean(uint64_t start, uint64_t end)
{
	for (uint64_t page = start & ~(uint64_t)(PAGE - 1); page < end; page += PAGE) {
		struct ht_map m;

		if (!ht_maps_find(page, &m) || m.shared || m.deleted || m.path[1] == '/' || !m.ino)
			return 0;
		if (page_get_flags && (page_get_flags(page) & (HT_QEMU_PAGE_WRITE | HT_QEMU_PAGE_WRITE_ORG)))
			return 0;
		if (!is_file_page(page))
			return 0;
	}
	return 1;
}
