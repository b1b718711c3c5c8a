/* SPDX-License-Identifier: BSD-2-Clause */
#include <Zydis/Zydis.h>

#include <hwtrace/error.h>

#include "decode/insn/x86.h"

/* Jumps and calls come in three encodings under one mnemonic. */
static unsigned
transfer_class(const ZydisDecodedInstruction *z, unsigned direct, unsigned indirect)
{
	unsigned reg = z->raw.modrm.reg;

	if (z->raw.imm[0].is_relative)
		return direct;
	/* Group 5 (FFH): /2 CALL, /3 CALLF, /4 JMP, /5 JMPF; 9AH and EAH have a far immediate. */
	return z->opcode == 0xff && (reg == 2 || reg == 4) ? indirect : HT_INSN_FAR;
}

static unsigned
class_of(const ZydisDecodedInstruction *z)
{
	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_JB: case ZYDIS_MNEMONIC_JBE: case ZYDIS_MNEMONIC_JCXZ: case ZYDIS_MNEMONIC_JECXZ:
	case ZYDIS_MNEMONIC_JL: case ZYDIS_MNEMONIC_JLE: case ZYDIS_MNEMONIC_JNB: case ZYDIS_MNEMONIC_JNBE:
	case ZYDIS_MNEMONIC_JNL: case ZYDIS_MNEMONIC_JNLE: case ZYDIS_MNEMONIC_JNO: case ZYDIS_MNEMONIC_JNP:
	case ZYDIS_MNEMONIC_JNS: case ZYDIS_MNEMONIC_JNZ: case ZYDIS_MNEMONIC_JO: case ZYDIS_MNEMONIC_JP:
	case ZYDIS_MNEMONIC_JRCXZ: case ZYDIS_MNEMONIC_JS: case ZYDIS_MNEMONIC_JZ:
	case ZYDIS_MNEMONIC_LOOP: case ZYDIS_MNEMONIC_LOOPE: case ZYDIS_MNEMONIC_LOOPNE:
		return HT_INSN_COND;
	case ZYDIS_MNEMONIC_JMP:
		return transfer_class(z, HT_INSN_JUMP, HT_INSN_JUMP_IND);
	case ZYDIS_MNEMONIC_CALL:
		return transfer_class(z, HT_INSN_CALL, HT_INSN_CALL_IND);
	case ZYDIS_MNEMONIC_RET:
		return z->opcode == 0xc2 || z->opcode == 0xc3 ? HT_INSN_RET : HT_INSN_SYSRET;
	case ZYDIS_MNEMONIC_SYSCALL: case ZYDIS_MNEMONIC_SYSENTER: case ZYDIS_MNEMONIC_INT:
	case ZYDIS_MNEMONIC_INT3: case ZYDIS_MNEMONIC_INT1:
		return HT_INSN_SYSCALL;
	case ZYDIS_MNEMONIC_SYSRET: case ZYDIS_MNEMONIC_SYSEXIT: case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD: case ZYDIS_MNEMONIC_IRETQ: case ZYDIS_MNEMONIC_UIRET:
	case ZYDIS_MNEMONIC_RSM:
		return HT_INSN_SYSRET;
	case ZYDIS_MNEMONIC_VMLAUNCH: case ZYDIS_MNEMONIC_VMRESUME: case ZYDIS_MNEMONIC_VMCALL:
		return HT_INSN_FAR;
	default:
		return HT_INSN_OTHER;
	}
}

static int
has_repeat(const ZydisDecodedInstruction *z)
{
	for (unsigned i = 0; i < z->raw.prefix_count; i++)
		if (z->raw.prefixes[i].value == 0xf2 || z->raw.prefixes[i].value == 0xf3)
			return 1;
	return 0;
}

static unsigned
flags_of(const ZydisDecodedInstruction *z)
{
	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_MOVSB: case ZYDIS_MNEMONIC_MOVSW: case ZYDIS_MNEMONIC_MOVSD:
	case ZYDIS_MNEMONIC_MOVSQ: case ZYDIS_MNEMONIC_STOSB: case ZYDIS_MNEMONIC_STOSW:
	case ZYDIS_MNEMONIC_STOSD: case ZYDIS_MNEMONIC_STOSQ: case ZYDIS_MNEMONIC_LODSB:
	case ZYDIS_MNEMONIC_LODSW: case ZYDIS_MNEMONIC_LODSD: case ZYDIS_MNEMONIC_LODSQ:
	case ZYDIS_MNEMONIC_CMPSB: case ZYDIS_MNEMONIC_CMPSW: case ZYDIS_MNEMONIC_CMPSD:
	case ZYDIS_MNEMONIC_CMPSQ: case ZYDIS_MNEMONIC_SCASB: case ZYDIS_MNEMONIC_SCASW:
	case ZYDIS_MNEMONIC_SCASD: case ZYDIS_MNEMONIC_SCASQ: case ZYDIS_MNEMONIC_INSB:
	case ZYDIS_MNEMONIC_INSW: case ZYDIS_MNEMONIC_INSD: case ZYDIS_MNEMONIC_OUTSB:
	case ZYDIS_MNEMONIC_OUTSW: case ZYDIS_MNEMONIC_OUTSD:
		/* The SSE2 instructions MOVSD and CMPSD share a name with two of these. */
		return z->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && has_repeat(z) ? HT_X86_REP : 0;
	case ZYDIS_MNEMONIC_PTWRITE:
		return HT_X86_PTWRITE;
	case ZYDIS_MNEMONIC_MOV:
		return z->opcode_map == ZYDIS_OPCODE_MAP_0F && z->opcode == 0x22 && z->raw.modrm.reg == 3
			? HT_X86_CR3 : 0;
	case ZYDIS_MNEMONIC_VMLAUNCH: case ZYDIS_MNEMONIC_VMRESUME:
		return HT_X86_VMENTRY;
	case ZYDIS_MNEMONIC_VMPTRLD:
		return HT_X86_VMPTRLD;
	case ZYDIS_MNEMONIC_XBEGIN:
		return HT_X86_XBEGIN;
	case ZYDIS_MNEMONIC_LOOP: case ZYDIS_MNEMONIC_LOOPE: case ZYDIS_MNEMONIC_LOOPNE:
	case ZYDIS_MNEMONIC_JCXZ: case ZYDIS_MNEMONIC_JECXZ: case ZYDIS_MNEMONIC_JRCXZ:
		return HT_X86_LOOP;
	default:
		return 0;
	}
}

static uint64_t
target_of(const ZydisDecodedInstruction *z, uint64_t ip, unsigned mode)
{
	uint64_t target = ip + z->length + (uint64_t)z->raw.imm[0].value.s;

	if (mode == 64)
		return target;
	/* In 16-bit code addresses have the base of the segment in them, which does not wrap. */
	return mode == 32 && z->operand_width == 16 ? target & 0xffff : target & 0xffffffff;
}

int
ht_x86_decode(const uint8_t *bytes, size_t len, uint64_t ip, unsigned mode, struct ht_x86_insn *out)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction z;
	ZyanStatus status;

	switch (mode) {
	case 64:
		ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
		break;
	case 32:
		ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LEGACY_32, ZYDIS_STACK_WIDTH_32);
		break;
	case 16:
		ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LEGACY_16, ZYDIS_STACK_WIDTH_16);
		break;
	default:
		return -HT_EINVAL;
	}
	ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
	if (len > HT_X86_MAX)
		len = HT_X86_MAX;
	status = len ? ZydisDecoderDecodeInstruction(&decoder, NULL, bytes, len, &z) : ZYDIS_STATUS_NO_MORE_DATA;
	if (!ZYAN_SUCCESS(status))
		return status == ZYDIS_STATUS_NO_MORE_DATA && len < HT_X86_MAX ? 0 : -HT_EFORMAT;
	out->size = z.length;
	out->insn = (uint8_t)class_of(&z);
	out->flags = (uint8_t)flags_of(&z);
	out->target = z.raw.imm[0].is_relative ? target_of(&z, ip, mode) : 0;
	return z.length;
}
