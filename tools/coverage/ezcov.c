/* SPDX-License-Identifier: BSD-2-Clause */
/* EZCOV, which Cartographer shows in Ghidra: blocks of one program, where Ghidra loads it. */
#include "runs.h"

#define GHIDRA_BASE 0x100000u /* of what can be loaded anywhere */

int
cover_write_ezcov(const char *path, const struct cover *c, const struct ht_cov_report *r)
{
	struct runs runs;
	int status = runs_open(&runs, c, r);
	const struct runs_module *m = runs.modules;
	FILE *f;

	if (status == EXIT_OK && runs.n != 1)
		status = tool_error("%s: EZCOV is of one module, and %zu ran; --module GLOB chooses one", path, runs.n);
	f = status == EXIT_OK ? cover_open(path) : NULL;
	if (!f) {
		runs_close(&runs);
		return EXIT_ERROR;
	}
	fputs("EZCOV VERSION: 1\n", f);
	for (size_t i = 0; i < m->n_runs; i++)
		fprintf(f, "0x%08llx, %8llu, [  ]\n",
		        (unsigned long long)(m->runs[i].start + (m->fixed ? 0 : GHIDRA_BASE - m->base)),
		        (unsigned long long)(m->runs[i].end - m->runs[i].start));
	runs_close(&runs);
	return cover_close(f, path);
}
