/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls and jumps through tables as a list: how often, and where to. */
#include <hwtrace/demangle.h>

#include "cover.h"

const char *
cover_site_kind(const struct ht_cov_site *s)
{
	return s->insn == HT_INSN_CALL       ? "call"
	       : s->insn == HT_INSN_CALL_IND ? "indirect call"
	                                     : "indirect jump";
}

static void
print_place(FILE *f, const struct ht_cov_report *r, const struct ht_cov_site *s)
{
	if (s->file != HT_COV_NONE)
		fprintf(f, "%s:%u: ", cover_path(r->files[s->file].path), s->line);
	else
		fprintf(f, "%s: ", cover_path(r->modules[s->module].path));
	fprintf(f, "%s 0x%llx: %s", r->functions[s->function].shown, (unsigned long long)s->addr,
	        cover_site_kind(s));
}

/* The name of the source, without parameters, or the address. */
static void
print_name(FILE *f, const char *name, uint64_t addr)
{
	char buf[HT_DEMANGLE_MAX];

	if (!name)
		fprintf(f, "0x%llx", (unsigned long long)addr);
	else
		fputs(ht_demangle(name, 0, buf) ? buf : name, f);
}

static void
print_target(FILE *f, const struct ht_cov_report *r, uint32_t from, const struct ht_cov_target *t)
{
	fputs("    to ", f);
	print_name(f, t->name, t->addr);
	if (t->module == HT_COV_NONE)
		fputs(" in unknown memory", f);
	else if (t->module != from)
		fprintf(f, " in %s", cover_path(r->modules[t->module].path));
	fprintf(f, ": %llu\n", (unsigned long long)t->count);
}

void
cover_print_calls(FILE *f, const struct ht_cov_report *r)
{
	fputc('\n', f);
	for (uint32_t i = 0; i < r->n_sites; i++) {
		const struct ht_cov_site *s = &r->sites[i];

		print_place(f, r, s);
		if (s->insn == HT_INSN_CALL) {
			fputs(" of ", f);
			print_name(f, s->name, s->to);
		}
		if (s->state == HT_COV_HIT)
			fprintf(f, ": %llu\n", (unsigned long long)s->count);
		else
			fprintf(f, ": %s\n",
			        s->state == HT_COV_UNKNOWN ? "unknown" : "not executed");
		for (uint32_t k = 0; k < s->n_targets; k++)
			print_target(f, r, s->module, &r->targets[s->first_target + k]);
	}
}
