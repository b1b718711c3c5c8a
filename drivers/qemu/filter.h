/* SPDX-License-Identifier: BSD-2-Clause */
/* Which code is recorded: the recorder's list of module globs and address ranges. */
#ifndef QEMU_FILTER_H
#define QEMU_FILTER_H

#include <stdint.h>

/* Read the list: NUL-separated, ended by an empty string. Returns 0 when everything is recorded. */
int ht_filter_init(const char *list);
/* Is the block [start, end) recorded?  One that is partly inside of a range is, as a whole. */
int ht_filter_has(uint64_t start, uint64_t end);

#endif
