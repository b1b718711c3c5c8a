/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An address space: disjoint ranges sorted by address.  Putting a range over
 * others cuts and splits them.  Ranges lie in chunks, so that hundreds of
 * thousands of them can be put in any order without moving them all.
 */
#ifndef SESSION_SPACE_H
#define SESSION_SPACE_H

#include <stddef.h>
#include <stdint.h>

struct ht_module;

/* [start, end), start < end.  `off` belongs to `start` and moves with it when the range is cut. */
struct ht_entry {
	uint64_t          start, end;
	uint64_t          off;
	struct ht_module *module; /* mapping of a file, or */
	const uint8_t    *bytes;  /* bytes[off..]: content that was recorded */
	uint32_t          generation;
};

#define HT_SPACE_CHUNK 128

struct ht_space_chunk {
	unsigned        n; /* 1..HT_SPACE_CHUNK */
	struct ht_entry e[HT_SPACE_CHUNK];
};

struct ht_space {
	struct ht_space_chunk **at;
	size_t n, cap;
};

void ht_space_clear(struct ht_space *s);
void ht_space_fini(struct ht_space *s);

/* Remove [start, end). Returns 1 when anything was removed, 0 when not, -HT_ENOMEM. */
int ht_space_cut(struct ht_space *s, uint64_t start, uint64_t end);
/* Put `e` over whatever is there. 0 or -HT_ENOMEM. */
int ht_space_put(struct ht_space *s, const struct ht_entry *e);

/* First entry that ends after `addr`; it may start after it.  NULL: none.  Life: until the next change. */
struct ht_entry *ht_space_from(const struct ht_space *s, uint64_t addr);
/* Entry that covers `addr`, or NULL. */
struct ht_entry *ht_space_find(const struct ht_space *s, uint64_t addr);

#endif
