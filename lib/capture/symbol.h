/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a function lies in an ELF file, for --filter SYMBOL@MODULE. */
#ifndef CAPTURE_SYMBOL_H
#define CAPTURE_SYMBOL_H

#include <stdint.h>

#include <hwtrace/error.h>

/*
 * File offsets [start, end) of function `name` of the file `path`; `length` 0
 * means all of it.  Errors: HT_EIO, HT_EFORMAT, HT_ENOTFOUND.
 */
int ht_symbol_range(const char *path, const char *name, uint64_t length, uint64_t *start, uint64_t *end,
                    struct ht_diag *diag);

#endif
