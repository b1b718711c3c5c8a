/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * capstone writes the text.  What its version 4 does not know (EVEX, mask
 * registers, rdpkru) Zydis writes, in the same syntax.  Lengths come from
 * Zydis alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <Zydis/Zydis.h>
#include <capstone/capstone.h>

#include <hwtrace/disasm.h>

struct ht_disasm {
	csh            capstone;
	cs_insn       *insn;
	ZydisDecoder   lengths, full;
	ZydisFormatter formatter;
	unsigned       bits;
};

static int
set_mode(struct ht_disasm *d, unsigned bits)
{
	static const struct { unsigned bits; cs_mode cs; ZydisMachineMode zy; ZydisStackWidth width; } modes[] = {
		{ 64, CS_MODE_64, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64 },
		{ 32, CS_MODE_32, ZYDIS_MACHINE_MODE_LONG_COMPAT_32, ZYDIS_STACK_WIDTH_32 },
		{ 16, CS_MODE_16, ZYDIS_MACHINE_MODE_LONG_COMPAT_16, ZYDIS_STACK_WIDTH_16 },
	};

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		if (modes[i].bits != bits)
			continue;
		if (cs_option(d->capstone, CS_OPT_MODE, modes[i].cs) != CS_ERR_OK ||
		    !ZYAN_SUCCESS(ZydisDecoderInit(&d->full, modes[i].zy, modes[i].width)))
			return -HT_EUNSUPPORTED;
		d->lengths = d->full;
		ZydisDecoderEnableMode(&d->lengths, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
		d->bits = bits;
		return 0;
	}
	return -HT_EINVAL;
}

int
ht_disasm_new(enum ht_arch arch, struct ht_disasm **out)
{
	struct ht_disasm *d;

	if (arch != HT_ARCH_X86_64 && arch != HT_ARCH_X86_32)
		return -HT_EUNSUPPORTED;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -HT_ENOMEM;
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &d->capstone) != CS_ERR_OK ||
	    cs_option(d->capstone, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT) != CS_ERR_OK ||
	    !(d->insn = cs_malloc(d->capstone)) || set_mode(d, arch == HT_ARCH_X86_64 ? 64 : 32) < 0 ||
	    !ZYAN_SUCCESS(ZydisFormatterInit(&d->formatter, ZYDIS_FORMATTER_STYLE_ATT))) {
		ht_disasm_free(d);
		return -HT_ENOMEM;
	}
	*out = d;
	return 0;
}

void
ht_disasm_free(struct ht_disasm *d)
{
	if (!d)
		return;
	if (d->insn)
		cs_free(d->insn, 1);
	if (d->capstone)
		cs_close(&d->capstone);
	free(d);
}

void
ht_disasm_mode(struct ht_disasm *d, unsigned bits)
{
	if (bits != d->bits)
		set_mode(d, bits);
}

static unsigned
by_zydis(struct ht_disasm *d, uint64_t address, const uint8_t *bytes, size_t size, char *text)
{
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&d->full, bytes, size, &insn, ops)) ||
	    !ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&d->formatter, &insn, ops,
	                                                  insn.operand_count_visible, text, HT_DISASM_TEXT,
	                                                  address, NULL)))
		return 0;
	return insn.length;
}

unsigned
ht_disasm_text(struct ht_disasm *d, uint64_t address, const uint8_t *bytes, size_t size,
               char text[HT_DISASM_TEXT])
{
	const uint8_t *p = bytes;
	size_t left = size < HT_INSN_MAX ? size : HT_INSN_MAX;
	uint64_t at = address;
	unsigned n;

	if (left && cs_disasm_iter(d->capstone, &p, &left, &at, d->insn)) {
		snprintf(text, HT_DISASM_TEXT, "%s%s%s", d->insn->mnemonic, d->insn->op_str[0] ? " " : "",
		         d->insn->op_str);
		return d->insn->size;
	}
	n = by_zydis(d, address, bytes, size < HT_INSN_MAX ? size : HT_INSN_MAX, text);
	if (!n)
		snprintf(text, HT_DISASM_TEXT, size ? ".byte 0x%02x" : "(bytes missing)", size ? bytes[0] : 0);
	return n;
}

unsigned
ht_disasm_length(struct ht_disasm *d, const uint8_t *bytes, size_t size)
{
	ZydisDecodedInstruction insn;

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&d->lengths, NULL, bytes, size, &insn)))
		return 0;
	return insn.length;
}
