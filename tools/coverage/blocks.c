/* SPDX-License-Identifier: BSD-2-Clause */
/* "module+0xoffset", one line a block: base name of the file, offset from its lowest address. */
#include <string.h>

#include "runs.h"

int
cover_write_blocks(const char *path, const struct cover *c, const struct ht_cov_report *r)
{
	struct runs runs;
	int status = runs_open(&runs, c, r);
	FILE *f = status == EXIT_OK ? cover_open(path) : NULL;

	for (size_t i = 0; f && i < runs.n; i++) {
		const struct runs_module *m = &runs.modules[i];
		const char *slash = strrchr(m->path, '/');
		uint64_t before = UINT64_MAX;

		for (size_t k = 0; k < m->n_runs; before = m->runs[k++].start)
			if (m->runs[k].start != before)
				fprintf(f, "%s+0x%llx\n", slash ? slash + 1 : m->path,
				        (unsigned long long)(m->runs[k].start - m->base));
	}
	runs_close(&runs);
	return f ? cover_close(f, path) : EXIT_ERROR;
}
