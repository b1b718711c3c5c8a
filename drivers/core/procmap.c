/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/procmap.h"

static const char newline[] = "\\012", deleted[] = " (deleted)";

int
ht_procmap_parse(char *line, struct ht_procmap *map)
{
	int path = 0;

	memset(map, 0, sizeof(*map));
	line[strcspn(line, "\n")] = 0;
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &map->start, &map->end,
	           map->prot, &map->pgoff, &map->maj, &map->min, &map->ino, &path) < 7 || !path)
		return -1;
	map->path = line + path;
	return 0;
}

static int
is_mapped_file(const struct ht_procmap *map, const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_ino == map->ino && S_ISREG(st.st_mode);
}

static int
says_deleted(const char *path)
{
	size_t n = strlen(path), m = sizeof(deleted) - 1;

	return n > m && !strcmp(path + n - m, deleted);
}

/* The link of the mapping has the name as it is; 0 when there is none, or it does not fit. */
static int
read_link(pid_t pid, const struct ht_procmap *map, char buf[HT_PROCMAP_NAME_MAX])
{
	char link[96];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, map->start, map->end);
	n = readlink(link, buf, HT_PROCMAP_NAME_MAX);
	if (n <= 0 || n == HT_PROCMAP_NAME_MAX)
		return 0;
	buf[n] = 0;
	return 1;
}

/* Every "\012" taken for a newline; 0 when it does not fit. */
static int
unescape(const char *path, char buf[HT_PROCMAP_NAME_MAX])
{
	size_t n = 0;

	while (*path && n + 1 < HT_PROCMAP_NAME_MAX) {
		int is = !strncmp(path, newline, sizeof(newline) - 1);

		buf[n++] = is ? '\n' : *path;
		path += is ? sizeof(newline) - 1 : 1;
	}
	buf[n] = 0;
	return !*path;
}

void
ht_procmap_name(pid_t pid, struct ht_procmap *map, char buf[HT_PROCMAP_NAME_MAX])
{
	map->named = map->deleted = 0;
	if (map->path[0] != '/')
		return;
	if (strstr(map->path, newline) || says_deleted(map->path)) {
		if (read_link(pid, map, buf))
			map->path = buf;
		else if (!is_mapped_file(map, map->path) && unescape(map->path, buf) && is_mapped_file(map, buf))
			map->path = buf;
	}
	map->named = is_mapped_file(map, map->path);
	map->deleted = !map->named && says_deleted(map->path);
	if (map->deleted && access(map->path, F_OK) == 0)
		map->path = "//anon";
}
