/* SPDX-License-Identifier: BSD-2-Clause */
#include "qemu/frame.h"
#include "qemu/guest.h"

/* Offsets in the x86-64 ucontext of a signal frame. */
#define UC_RDI 104
#define UC_RDX 136
#define UC_RSP 160
#define UC_RIP 168
#define NESTED_MAX 64

int
ht_frame_signal(const struct ht_block *prev, uint64_t *ip, int *sig)
{
	static const enum ht_guest_reg regs[] = { HT_REG_RSP, HT_REG_RDX, HT_REG_RSI, HT_REG_RDI };
	uint64_t v[4], rsp, rdx;

	if (ht_guest_regs(regs, v, 4) < 0)
		return 0;
	rsp = v[0];
	rdx = v[1];
	*sig = (int)v[3];
	if (rdx != rsp + 8 || v[2] <= rdx || v[2] - rdx > 65536 || *sig < 1 || *sig > 64)
		return 0;
	/* Several signals at once: frames lie on top of each other, no handler but the last has begun. */
	for (int depth = 0; depth < NESTED_MAX; depth++) {
		uint64_t outer_rsp, outer_rdx, outer_rdi;

		if (ht_guest_read(rdx + UC_RIP, ip, 8) < 0)
			return 0;
		if (!ht_block_is_handler(*ip) || ht_guest_read(rdx + UC_RSP, &outer_rsp, 8) < 0 ||
		    ht_guest_read(rdx + UC_RDX, &outer_rdx, 8) < 0 || outer_rdx != outer_rsp + 8 ||
		    ht_guest_read(rdx + UC_RDI, &outer_rdi, 8) < 0 ||
		    (prev->kind <= HT_INSN_CALL && ht_block_leads_to(prev, *ip)))
			break;
		rdx = outer_rdx;
		*sig = (int)outer_rdi;
	}
	return 1;
}
