/* SPDX-License-Identifier: BSD-2-Clause */
/* GNU build-id of an ELF file, read through a file descriptor without moving its offset. */
#ifndef BASE_BUILDID_H
#define BASE_BUILDID_H

#include <stdint.h>

/* Returns the size in bytes (1..20; longer ones are cut), 0 when the file has none or is no ELF file. */
unsigned ht_build_id_fd(int fd, uint8_t id[20]);
unsigned ht_build_id_path(const char *path, uint8_t id[20]);

#endif
