/* SPDX-License-Identifier: BSD-2-Clause */
/* Branch stacks as perf script writes them. */
#include "fuzz_reader.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_reader(&ht_reader_brstack, data, size);
}
