/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The body of a target that reads one container from memory: an error says what is
 * wrong, and there are no more records than bytes.
 */
#ifndef FUZZ_READER_H
#define FUZZ_READER_H

#include <stdlib.h>

#include "container/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(int ok)
{
	if (!ok)
		abort();
}

static int
fuzz_reader(const struct ht_reader *reader, const uint8_t *data, size_t size)
{
	struct ht_container *c = NULL;
	struct ht_diag diag = { 0 };
	struct ht_record r;
	unsigned long n = 0;

	if (!reader->match(data, size))
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

#endif
