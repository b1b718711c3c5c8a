/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include <hwtrace/insn.h>

#include "decode/insn/x86.h"

/* Skip prefixes that leave a NOP a NOP: size, segment, repeat and REX. */
static size_t
skip_prefixes(const uint8_t *b, size_t n, int wide)
{
	size_t i = 0;

	while (i < n && (b[i] == 0x66 || b[i] == 0x67 || b[i] == 0x2e || b[i] == 0x3e || b[i] == 0x26 ||
	                 b[i] == 0x36 || b[i] == 0xf2))
		i++;
	if (wide && i < n && (b[i] & 0xf8) == 0x48) /* REX.W without extension of a register */
		i++;
	return i;
}

static int
is_filler(const uint8_t *b, size_t n, int wide)
{
	size_t i = skip_prefixes(b, n, wide);

	if (b[0] == 0xcc)
		return 1; /* INT3 */
	if (i < n && b[i] == 0x90)
		return 1; /* NOP, XCHG %ax,%ax */
	return i + 1 < n && b[i] == 0x0f && b[i + 1] == 0x1f; /* long NOP */
}

static int
ends_flow(const uint8_t *b, size_t n, unsigned insn)
{
	switch (insn) {
	case HT_INSN_JUMP:
	case HT_INSN_JUMP_IND:
	case HT_INSN_RET:
	case HT_INSN_SYSRET:
		return 1;
	default: /* INT3, HLT, UD2 */
		return b[0] == 0xcc || b[0] == 0xf4 || (n >= 2 && b[0] == 0x0f && b[1] == 0x0b);
	}
}

int
ht_insn_decode(enum ht_arch arch, const uint8_t *bytes, size_t n, uint64_t addr, struct ht_insn *out)
{
	int wide = arch == HT_ARCH_X86_64;
	struct ht_x86_insn x;

	if (arch != HT_ARCH_X86_64 && arch != HT_ARCH_X86_32)
		return -HT_EUNSUPPORTED;
	if (ht_x86_decode(bytes, n, addr, wide ? 64 : 32, &x) <= 0)
		return -HT_EFORMAT;
	memset(out, 0, sizeof(*out));
	out->size = x.size;
	out->insn = x.insn;
	out->target = x.target;
	out->filler = (uint8_t)is_filler(bytes, x.size, wide);
	out->no_next = (uint8_t)ends_flow(bytes, x.size, x.insn);
	return 0;
}
