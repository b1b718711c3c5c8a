/* SPDX-License-Identifier: BSD-2-Clause */
/* Archives: the input is the tar inside, so that mutations reach the manifest and the members. */
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "container/reader.h"

static void
must(int ok)
{
	if (!ok)
		abort();
}

static void
read_all(struct ht_container *c)
{
	struct ht_carried f;
	struct ht_record r;
	int rc;

	while ((rc = ht_container_next(c, &r)) != 0)
		if (rc > 0 && r.kind == HT_REC_MMAP &&
		    ht_container_file(c, r.u.map.path, r.u.map.build_id, r.u.map.build_id_size, &f))
			must(f.path != NULL && f.data != NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t packed[1 << 17];
	struct ht_container *c = NULL;
	struct ht_diag diag = { 0 };
	size_t n = ZSTD_compress(packed, sizeof(packed), data, size, 1);

	if (ZSTD_isError(n))
		return 0;
	if (ht_container_open_memory(packed, n, NULL, &c, &diag)) {
		must(!c && diag.error && diag.text[0]);
		return 0;
	}
	read_all(c);
	ht_container_close(c);
	return 0;
}
