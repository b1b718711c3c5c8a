/* SPDX-License-Identifier: BSD-2-Clause */
/* simple-pt's sideband.  Its trace is not there: the text is read, and then refused. */
#include "fuzz_reader.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_reader(&ht_reader_simplept, data, size);
}
