/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The entries (DIEs) of one unit in the order in which they lie, each read once.
 * libdw goes from one to its sibling, which reads the attributes of both again and
 * again; here how to pass over an entry is worked out once for each abbreviation.
 * What attributes mean is left to libdw.
 */
#ifndef SESSION_DIE_H
#define SESSION_DIE_H

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

#include "session/module.h"

/* Attributes that functions have. */
enum ht_die_slot {
	HT_DIE_NAME = 1, HT_DIE_LINKAGE, HT_DIE_LOW, HT_DIE_HIGH, HT_DIE_RANGES, HT_DIE_ENTRY, HT_DIE_FILE, HT_DIE_LINE,
	HT_DIE_CALL_FILE, HT_DIE_CALL_LINE, HT_DIE_ORIGIN, HT_DIE_SPECIFICATION, HT_DIE_SLOTS
};

struct ht_die {
	const uint8_t *at;
	unsigned tag; /* 0 = the end of its siblings */
	int children;
	Dwarf_Attribute attrs[HT_DIE_SLOTS]; /* valp NULL = it has none */
};

struct ht_die_kind;

struct ht_dies {
	Dwarf_CU *cu;
	const uint8_t *start; /* of the unit, which offsets are relative to */
	const uint8_t *first, *end;
	unsigned version, offset_size, addr_size;
	const void *of; /* the Dwarf that these sections are of */
	struct ht_bytes abbrevs, info;
	struct { struct ht_die_kind *at; size_t n, cap; } kinds;
	struct { struct ht_die_field *at; size_t n, cap; } fields;
	struct { uint32_t *at; size_t n, cap; } by_code; /* of small codes: kind + 1 */
};

/*
 * Begin with the unit of `unit`; `d` is zero at first, and may be used again for others.
 * 0; -HT_ENOMEM; -HT_EFORMAT when it cannot be read this way.
 */
int ht_dies_open(struct ht_dies *d, Dwarf_Die *unit);
void ht_dies_close(struct ht_dies *d);
/* The entry at `at`, which is inside of the unit; *next is where the next one lies. 0 or -HT_EFORMAT. */
int ht_dies_read(const struct ht_dies *d, const uint8_t *at, struct ht_die *out, const uint8_t **next);
/* What `attr` refers to in the same unit; NULL when it lies elsewhere. */
const uint8_t *ht_dies_refer(const struct ht_dies *d, const Dwarf_Attribute *attr);

#endif
