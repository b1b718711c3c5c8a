/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzz target: the core beside a capture.  Checked besides crashes: each mapping has a
 * program header of its own in the file, and says what that says.
 */
#include <elf.h>
#include <stdlib.h>

#include "container/perfdata_impl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(int ok)
{
	if (!ok)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ht_perfdata p = { .kcore_path = (char *)(uintptr_t) "core" };
	struct ht_diag diag = { 0 };
	int rc = ht_perf_kcore_read(&p, data, size, &diag);

	must(rc == 0 || (diag.error == HT_EFORMAT && diag.text[0]));
	must(p.kcore.n <= size / sizeof(Elf64_Phdr));
	for (size_t i = 0; i < p.kcore.n; i++) {
		const struct ht_record *r = &p.kcore.at[i];

		must(r->kind == HT_REC_MMAP && r->pid == -1 && r->u.map.len && r->u.map.path);
		must(r->u.map.flags == (HT_MAP_EXEC | HT_MAP_KERNEL | HT_MAP_DUMP));
	}
	ht_vec_free(&p.kcore);
	return 0;
}
