/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What some processors do otherwise than the manual says, one row each, from
 * Intel's specification updates.  The row says on which processors; what is done
 * about it stands where the packets are taken (native_errata.c), behind a test of
 * the erratum's bit.
 */
#ifndef DECODE_PT_ERRATA_H
#define DECODE_PT_ERRATA_H

#include <stdint.h>

#include <hwtrace/container.h>

/* id, processors (groups of errata.c), other ids of the same, what happens. */
#define HT_PT_ERRATA(X)                                                                            \
	X(BDM64, BROADWELL, "",                                                                    \
	  "the target of a branch is wrong where a transaction aborts right behind it")            \
	X(BDM70, BROADWELL | SKYLAKE | SKYLAKE_SERVER | ICELAKE | SAPPHIRE_RAPIDS | HYBRID,        \
	  "SKD024 SKL021 KBL021",                                                                  \
	  "a PSB+ in front of a TIP.PGE has a FUP, although tracing is off")                       \
	X(SKD007, SKYLAKE, "SKL049 KBL041",                                                        \
	  "an OVF comes behind the first byte of a longer CYC, in place of its rest")              \
	X(SKD010, SKYLAKE, "SKD014 SKL033 KBL030",                                                 \
	  "no FUP or TIP.PGE follows an OVF")                                                      \
	X(SKD022, SKYLAKE | SKYLAKE_SERVER | ICELAKE | SAPPHIRE_RAPIDS | HYBRID, "SKL024 KBL023",  \
	  "a VM entry that turns tracing off has a FUP in front of its TIP.PGD, as if it had not run") \
	X(SKL014, SKYLAKE | SKYLAKE_SERVER | ICELAKE, "KBL014",                                    \
	  "a direct jump or call out of the traced addresses makes a TIP.PGD without its target")  \
	X(SKL168, SKYLAKE, "",                                                                     \
	  "a CYC in front of a PSB, and an MTC with it, are dropped")                              \
	X(SKZ84, SKYLAKE_SERVER | SAPPHIRE_RAPIDS, "",                                             \
	  "TMA packets of virtual machines hold wrong values, and one byte too many")              \
	X(APL11, GOLDMONT | GOLDMONT_PLUS | HYBRID, "",                                            \
	  "an OVF is followed by a TIP.PGD")                                                       \
	X(APL12, GOLDMONT, "",                                                                     \
	  "an OVF is followed by a FUP, although tracing is off")                                  \
	/* Without a number: perf knows of it. */                                                  \
	X(NEXT_IP, GOLDMONT, "",                                                                   \
	  "an event at an indirect branch has a FUP with the address behind the branch")

enum ht_pt_erratum_bit {
#define BIT(id, ...) HT_PT_BIT_##id,
	HT_PT_ERRATA(BIT)
#undef BIT
	HT_PT_N_ERRATA
};

enum {
#define MASK(id, ...) HT_PT_##id = 1 << HT_PT_BIT_##id,
	HT_PT_ERRATA(MASK)
#undef MASK
	HT_PT_NO_ERRATA = 0
};

struct ht_pt_erratum {
	const char *id;
	const char *also; /* other ids, with spaces between */
	const char *what;
	uint32_t    cpus; /* groups */
};

/* Row `i`; NULL past the end. */
const struct ht_pt_erratum *ht_pt_erratum(unsigned i);
/* Those of `cpu`, as bits HT_PT_*. */
uint32_t ht_pt_errata_of(const struct ht_cpu_info *cpu);

#endif
