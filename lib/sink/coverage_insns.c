/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/vec.h"
#include "sink/coverage_code.h"

struct ht_cov_code {
	struct cov_code  code;
	struct ht_lines *lines;
	struct cov_insns read; /* of the function at hand */
	struct { struct ht_cov_insn *at; size_t n, cap; } insns;
};

int
ht_cov_code_open(const struct ht_coverage *c, uint32_t module, struct ht_cov_code **out)
{
	struct ht_cov_code *code = module < c->modules.n ? calloc(1, sizeof(*code)) : NULL;
	int rc;

	if (!code)
		return -HT_ENOMEM;
	rc = cov_code_init(&code->code, &c->modules.at[module]);
	if (rc == 0) {
		rc = ht_module_lines(code->code.module, &code->lines, NULL);
		rc = rc == -HT_ENOMEM ? rc : 0;
	}
	if (rc == 0)
		rc = cov_code_find_bounds(&code->code, code->lines);
	if (rc < 0) {
		ht_cov_code_close(code);
		return rc;
	}
	*out = code;
	return 0;
}

void
ht_cov_code_close(struct ht_cov_code *code)
{
	if (!code)
		return;
	ht_lines_close(code->lines);
	cov_code_fini(&code->code);
	ht_vec_free(&code->read);
	ht_vec_free(&code->insns);
	free(code);
}

const struct ht_cov_insn *
ht_cov_code_function(struct ht_cov_code *code, uint64_t vaddr, size_t *n)
{
	const struct cov_bound *bound = cov_code_bound(&code->code, vaddr);

	code->insns.n = 0;
	*n = 0;
	if (!bound || cov_code_read(&code->code, bound, &code->read) < 0)
		return NULL;
	for (size_t k = 0; k < code->read.n; k++) {
		const struct cov_insn *i = &code->read.at[k];
		struct ht_cov_insn *out = ht_vec_push(&code->insns);

		if (!out)
			return NULL;
		*out = (struct ht_cov_insn){ .addr = i->addr,
			                     .target = i->x.target,
			                     .count = i->count,
			                     .taken = i->taken,
			                     .not_taken = i->not_taken,
			                     .size = i->x.size,
			                     .insn = i->x.insn,
			                     .doubt = cov_doubt(code->code.counts, i->addr) };
	}
	*n = code->insns.n;
	return code->insns.at;
}

const struct ht_lines *
ht_cov_code_lines(const struct ht_cov_code *code)
{
	return code->lines;
}

enum ht_arch
ht_cov_code_arch(const struct ht_cov_code *code)
{
	return code->code.arch;
}
