/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An archive: a capture, and the files that ran, in one file that can be
 * decoded anywhere.  A tar file, zstd-compressed: `manifest`, the capture, the
 * files.  ht_container_open() reads it as it is.
 */
#ifndef HWTRACE_ARCHIVE_H
#define HWTRACE_ARCHIVE_H

#include <stddef.h>
#include <stdint.h>

#include <hwtrace/container.h>
#include <hwtrace/error.h>

/* The name that stands for the separate debug file of the file with the same build-id. */
#define HT_ARCHIVE_DEBUG ".debug"

struct ht_archive_part {
	const char *path;   /* as recorded, or HT_ARCHIVE_DEBUG */
	uint8_t     build_id[HT_BUILD_ID_MAX];
	uint8_t     build_id_size; /* 0 = it has none */
	const void *data;   /* NULL: it was not found; the manifest says so */
	size_t      size;
};

/*
 * Write the capture in `c` and `parts` to the file `out` ("-" is standard
 * output).  The same input gives the same bytes.  Errors: HT_EUNSUPPORTED (the
 * capture is not one file), HT_EPERM, HT_EIO, HT_ENOMEM; nothing is left behind
 * then.
 */
int ht_archive_write(const char *out, struct ht_container *c, const struct ht_archive_part *parts,
                     size_t n, struct ht_diag *diag);

#endif
