/* SPDX-License-Identifier: BSD-2-Clause */
#include <stddef.h>

#include "decode/pt/errata.h"

/* Processors that have their errata in common. */
enum {
	BROADWELL       = 0x01,
	SKYLAKE         = 0x02, /* to Comet Lake */
	SKYLAKE_SERVER  = 0x04, /* and Ice Lake servers */
	ICELAKE         = 0x08, /* and Cannon, Tiger, Rocket Lake */
	SAPPHIRE_RAPIDS = 0x10, /* and later servers */
	HYBRID          = 0x20, /* Alder Lake and later */
	GOLDMONT        = 0x40,
	GOLDMONT_PLUS   = 0x80  /* and later small cores */
};

static const struct {
	uint16_t family;
	uint8_t  model, group;
} cpus[] = {
	{ 6, 0x3d, BROADWELL }, { 6, 0x47, BROADWELL }, { 6, 0x4f, BROADWELL }, { 6, 0x56, BROADWELL },
	{ 6, 0x4e, SKYLAKE }, { 6, 0x5e, SKYLAKE }, { 6, 0x8e, SKYLAKE }, { 6, 0x9e, SKYLAKE },
	{ 6, 0xa5, SKYLAKE }, { 6, 0xa6, SKYLAKE },
	{ 6, 0x55, SKYLAKE_SERVER }, { 6, 0x6a, SKYLAKE_SERVER }, { 6, 0x6c, SKYLAKE_SERVER },
	{ 6, 0x66, ICELAKE }, { 6, 0x7d, ICELAKE }, { 6, 0x7e, ICELAKE }, { 6, 0x8c, ICELAKE },
	{ 6, 0x8d, ICELAKE }, { 6, 0xa7, ICELAKE }, { 6, 0xa8, ICELAKE },
	{ 6, 0x8f, SAPPHIRE_RAPIDS }, { 6, 0xcf, SAPPHIRE_RAPIDS }, { 6, 0xad, SAPPHIRE_RAPIDS },
	{ 6, 0xae, SAPPHIRE_RAPIDS }, { 19, 0x01, SAPPHIRE_RAPIDS },
	{ 6, 0x97, HYBRID }, { 6, 0x9a, HYBRID }, { 6, 0xba, HYBRID }, { 6, 0xb7, HYBRID },
	{ 6, 0xbf, HYBRID }, { 6, 0xc5, HYBRID }, { 6, 0xc6, HYBRID }, { 6, 0xb5, HYBRID },
	{ 6, 0xaa, HYBRID }, { 6, 0xac, HYBRID }, { 6, 0xbd, HYBRID }, { 6, 0xcc, HYBRID },
	{ 6, 0xd5, HYBRID }, { 18, 0x01, HYBRID }, { 18, 0x03, HYBRID },
	{ 6, 0x5c, GOLDMONT }, { 6, 0x5f, GOLDMONT },
	{ 6, 0x7a, GOLDMONT_PLUS }, { 6, 0x86, GOLDMONT_PLUS }, { 6, 0x96, GOLDMONT_PLUS },
	{ 6, 0x9c, GOLDMONT_PLUS }, { 6, 0xb6, GOLDMONT_PLUS }, { 6, 0xaf, GOLDMONT_PLUS },
	{ 6, 0xdd, GOLDMONT_PLUS },
};

static const struct ht_pt_erratum rows[] = {
#define ROW(id, cpus, also, what) { #id, also, what, cpus },
	HT_PT_ERRATA(ROW)
#undef ROW
};

const struct ht_pt_erratum *
ht_pt_erratum(unsigned i)
{
	return i < HT_PT_N_ERRATA ? &rows[i] : NULL;
}

uint32_t
ht_pt_errata_of(const struct ht_cpu_info *cpu)
{
	uint32_t mask = 0, group = 0;

	if (!cpu->vendor_intel)
		return 0;
	for (size_t i = 0; i < sizeof(cpus) / sizeof(*cpus); i++)
		if (cpus[i].family == cpu->family && cpus[i].model == cpu->model)
			group = cpus[i].group;
	for (unsigned i = 0; i < HT_PT_N_ERRATA; i++)
		if (rows[i].cpus & group)
			mask |= 1u << i;
	return mask;
}
