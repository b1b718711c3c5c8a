/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mappings as /proc/PID/maps tells them.  Its lines have a newline of a file's name
 * as "\012", but no other character changed, and " (deleted)" behind the name of a
 * file that has none any more: what stands there may be two names.
 */
#ifndef CORE_PROCMAP_H
#define CORE_PROCMAP_H

#include <stdint.h>
#include <sys/types.h>

#define HT_PROCMAP_NAME_MAX 4096

struct ht_procmap {
	uint64_t    start, end, pgoff, ino;
	uint32_t    maj, min;
	char        prot[5]; /* "rwxp" */
	const char *path;    /* as it stands in the line, or in the buffer of ht_procmap_name() */
	/* By ht_procmap_name(): */
	int         named;   /* a file with this name is there, and is the one that is mapped */
	int         deleted; /* the kernel says that the file has no name any more */
};

/* Take a line apart, and end it at its newline; `map` points into it. 0, or -1 when it is none. */
int ht_procmap_parse(char *line, struct ht_procmap *map);

/*
 * Find the name of the file that process `pid` has mapped there.  What is no file
 * keeps the kernel's words; "//anon" is it where these are another file's name.
 * map->path may come to point into `buf`.
 */
void ht_procmap_name(pid_t pid, struct ht_procmap *map, char buf[HT_PROCMAP_NAME_MAX]);

#endif
