/* SPDX-License-Identifier: BSD-2-Clause */
/* Descriptions of CoreSight snapshots.  The files that they may name are not there. */
#include "fuzz_reader.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_reader(&ht_reader_snapshot, data, size);
}
