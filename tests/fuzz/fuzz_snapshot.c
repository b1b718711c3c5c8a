/* SPDX-License-Identifier: BSD-2-Clause */
/* Descriptions of CoreSight snapshots.  The files that they may name are not there. */
#include <stdlib.h>
#include <string.h>

#include "container/reader.h"

static void
must(int ok)
{
	if (!ok)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ht_container *c = NULL;
	struct ht_diag diag = { 0 };
	struct ht_record r;
	unsigned long n = 0;

	if (!ht_reader_snapshot.match(data, size))
		return 0;
	if (ht_container_open_memory(data, size, NULL, &c, &diag)) {
		must(!c && diag.error && diag.text[0]);
		return 0;
	}
	while (ht_container_next(c, &r) != 0)
		must(++n <= size);
	ht_container_close(c);
	return 0;
}
