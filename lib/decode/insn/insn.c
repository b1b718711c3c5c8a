/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include <Zydis/Zydis.h>

#include <hwtrace/insn.h>

static int
is_conditional(const ZydisDecodedInstruction *z)
{
	return z->meta.category == ZYDIS_CATEGORY_COND_BR && z->mnemonic != ZYDIS_MNEMONIC_XBEGIN;
}

static int
classify(const ZydisDecodedInstruction *z)
{
	int far_branch = z->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;
	int direct = z->raw.imm[0].is_relative;

	if (is_conditional(z))
		return HT_INSN_COND;
	switch (z->meta.category) {
	case ZYDIS_CATEGORY_UNCOND_BR:
		return far_branch ? HT_INSN_FAR : direct ? HT_INSN_JUMP : HT_INSN_JUMP_IND;
	case ZYDIS_CATEGORY_CALL:
		return far_branch ? HT_INSN_FAR : direct ? HT_INSN_CALL : HT_INSN_CALL_IND;
	case ZYDIS_CATEGORY_RET:
		return far_branch || z->mnemonic != ZYDIS_MNEMONIC_RET ? HT_INSN_SYSRET : HT_INSN_RET;
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_INTERRUPT:
		return HT_INSN_SYSCALL;
	case ZYDIS_CATEGORY_SYSRET:
		return HT_INSN_SYSRET;
	default:
		return HT_INSN_OTHER;
	}
}

static int
ends_flow(const ZydisDecodedInstruction *z, int insn)
{
	switch (insn) {
	case HT_INSN_JUMP:
	case HT_INSN_JUMP_IND:
	case HT_INSN_RET:
	case HT_INSN_SYSRET:
		return 1;
	default:
		return z->mnemonic == ZYDIS_MNEMONIC_UD0 || z->mnemonic == ZYDIS_MNEMONIC_UD1 ||
		       z->mnemonic == ZYDIS_MNEMONIC_UD2 || z->mnemonic == ZYDIS_MNEMONIC_HLT ||
		       z->mnemonic == ZYDIS_MNEMONIC_INT3;
	}
}

int
ht_insn_decode(enum ht_arch arch, const uint8_t *bytes, size_t n, uint64_t addr, struct ht_insn *out)
{
	ZydisDecoder dec;
	ZydisDecodedInstruction z;
	int wide = arch == HT_ARCH_X86_64;

	if (arch != HT_ARCH_X86_64 && arch != HT_ARCH_X86_32)
		return -HT_EUNSUPPORTED;
	if (ZYAN_FAILED(ZydisDecoderInit(&dec, wide ? ZYDIS_MACHINE_MODE_LONG_64 : ZYDIS_MACHINE_MODE_LEGACY_32,
	                                 wide ? ZYDIS_STACK_WIDTH_64 : ZYDIS_STACK_WIDTH_32)))
		return -HT_EUNSUPPORTED;
	if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&dec, NULL, bytes, n < HT_INSN_MAX ? n : HT_INSN_MAX, &z)))
		return -HT_EFORMAT;
	memset(out, 0, sizeof(*out));
	out->size = z.length;
	out->insn = (uint8_t)classify(&z);
	if (out->insn == HT_INSN_COND || out->insn == HT_INSN_JUMP || out->insn == HT_INSN_CALL)
		out->target = addr + z.length + (uint64_t)z.raw.imm[0].value.s;
	if (!wide)
		out->target &= UINT32_MAX;
	/* XCHG rAX,rAX in disguise counts as NOP in Zydis; ENDBR is no filler. */
	out->filler = z.mnemonic == ZYDIS_MNEMONIC_NOP || z.mnemonic == ZYDIS_MNEMONIC_INT3;
	out->no_next = (uint8_t)ends_flow(&z, out->insn);
	return 0;
}
