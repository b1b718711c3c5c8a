/* SPDX-License-Identifier: BSD-2-Clause */
/* Small files that containers of several parts are made of. */
#ifndef CONTAINER_SMALL_H
#define CONTAINER_SMALL_H

#include <stddef.h>
#include <stdint.h>

#include <hwtrace/error.h>

/* At most `max` bytes of a file, a zero byte behind them; the caller frees. NULL after ht_fail. */
uint8_t *ht_read_small(const char *path, size_t max, size_t *size, int *err, struct ht_diag *diag);

/* `at`: file offset of the program header.  Returns 0 or -HT_E..., which ends the walk. */
typedef int ht_segment_fn(void *arg, uint64_t addr, uint64_t len, uint64_t pgoff, uint64_t at);

/* Executable segments of the ELF file, loaded so that the page of its lowest address lies at `base`. */
int ht_elf_segments(const char *path, uint64_t base, ht_segment_fn *fn, void *arg,
                    struct ht_diag *diag);

#endif
