/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls, jumps through tables and basic blocks of the module that is walked. */
#ifndef SINK_COVERAGE_SITES_H
#define SINK_COVERAGE_SITES_H

#include "sink/coverage_build.h"

struct cov_sites {
	struct cov_builder *b;
	const struct ht_coverage *c;
	uint32_t module;
	struct {
		struct cov_slot *at;
		size_t n, cap;
	} seen; /* targets of indirect branches, sorted */
	struct cov_insns insns; /* of one function */
	struct cov_leads leads; /* where jumps in it lead to, sorted */
};

/* Both: 0 or -HT_ENOMEM. */
int cov_sites_init(struct cov_sites *s, struct cov_builder *b, const struct ht_coverage *c,
                   uint32_t module);
/* All instructions of `bound` into s->insns. */
int cov_sites_read(struct cov_sites *s, struct cov_code *code, const struct cov_bound *bound);
void cov_sites_fini(struct cov_sites *s);
/* Does a basic block begin with instruction `k` of s->insns? */
int cov_sites_leads(const struct cov_sites *s, size_t k);
/* Note `insn`, when it is one, as a site; `like` has its function, file, line and doubt. 0 or -HT_ENOMEM. */
int cov_sites_add(struct cov_sites *s, const struct cov_insn *insn, const struct ht_cov_site *like);

#endif
