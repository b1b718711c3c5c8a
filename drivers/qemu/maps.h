/* SPDX-License-Identifier: BSD-2-Clause */
/* The executable mappings of this process, as told to the recorder. */
#ifndef QEMU_MAPS_H
#define QEMU_MAPS_H

#include <stddef.h>
#include <stdint.h>

struct ht_map {
	uint64_t start, end, pgoff;
	uint64_t ino;
	uint32_t maj, min, prot;
	int      shared;
	int deleted;      /* the file had no name any more when it was mapped */
	const char *path; /* lives as long as the process */
};

/* Look at [start, end) again, after a system call that may have changed it, and tell what changed. */
void ht_maps_update(uint64_t start, uint64_t end);

/* [start, end) is, or is about to be, no longer executable. */
void ht_maps_forget(uint64_t start, uint64_t end);
/* Tell the executable mappings of a new program image. */
void ht_maps_begin(void);

/* Are the bytes of [start, end) those of the mapped file? */
int ht_maps_clean(uint64_t start, uint64_t end);

/* The mapping of `addr`, copied to `map`; 0 when there is none. */
int ht_maps_find(uint64_t addr, struct ht_map *map);

void ht_maps_after_fork(void);

#endif
