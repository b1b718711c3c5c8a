/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The manifest of an archive: lines of fields separated by tabs.
 *
 *	hwtrace-archive	1
 *	capture	SHA-256	SIZE	MEMBER
 *	file	SHA-256	SIZE	MEMBER	BUILD-ID	PATH
 *	missing	BUILD-ID	PATH
 *
 * BUILD-ID is hex, "-" where there is none.  In PATH, which ends the line, \n and
 * \\ stand for a line feed and a backslash.
 */
#ifndef CONTAINER_MANIFEST_H
#define CONTAINER_MANIFEST_H

#include <stdio.h>

#include <hwtrace/archive.h>

#define HT_MANIFEST_NAME "manifest"
#define HT_SHA256_SIZE   64 /* hex digits */

struct ht_manifest_row {
	char     kind;   /* 'c', 'f' or 'm': the first letter of the line */
	char     sha256[HT_SHA256_SIZE + 1];
	uint64_t size;
	char    *member; /* in the manifest's own text, as is `path` */
	char    *path;
	uint8_t  build_id[HT_BUILD_ID_MAX];
	uint8_t  build_id_size;
};

struct ht_manifest {
	char *text; /* owned: rows point into it */
	struct { struct ht_manifest_row *at; size_t n, cap; } rows;
};

void ht_sha256(const void *data, size_t size, char hex[HT_SHA256_SIZE + 1]);
void ht_manifest_put(FILE *f, const struct ht_manifest_row *row);
/* Read `size` bytes of text; `path` names the archive in errors. */
int ht_manifest_read(struct ht_manifest *m, const char *text, size_t size, const char *path,
                     struct ht_diag *diag);
void ht_manifest_fini(struct ht_manifest *m);

#endif
