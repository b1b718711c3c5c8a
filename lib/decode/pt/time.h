/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Time from TSC, TMA, MTC, CYC and CBR packets, in TSC ticks; it never goes back.
 *
 * A TSC packet is exact.  MTC packets count the crystal clock (CTC), tied to the
 * TSC by a TMA packet and the ratio of CPUID 15H, [PT 33.8.3 "Timing packets"].
 * CYC packets count core cycles between those, at the ratio of the last CBR.
 */
#ifndef DECODE_PT_TIME_H
#define DECODE_PT_TIME_H

#include <hwtrace/container.h>
#include <hwtrace/pt_packet.h>

struct ht_pt_time {
	uint64_t tsc;      /* best estimate; 0 = none yet */
	uint64_t exact;    /* of the last TSC or MTC packet */
	uint64_t cycles;   /* counted since `exact` */
	uint64_t total_cycles;
	uint32_t cbr;
	/* MTC */
	uint32_t num, den, shift, nominal; /* tsc = ctc * num / den */
	uint64_t ctc_tsc;  /* TSC at CTC `ctc_base` */
	uint64_t ctc;      /* ticks since then */
	uint32_t last_mtc;
	int      have_tma, mtc_after_tma;
};

void ht_pt_time_init(struct ht_pt_time *t, const struct ht_cpu_info *cpu);
/* A CYC packet. */
void ht_pt_time_cycles(struct ht_pt_time *t, uint64_t cycles);
/* 1 when the packet was a timing packet, else 0. */
int ht_pt_time_packet(struct ht_pt_time *t, const struct ht_pt_packet *p);

#endif
