/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "qemu/insn.h"

/* Bytes of ModRM, SIB and displacement, or 0 when they are not all there. */
static size_t
modrm_size(const uint8_t *p, size_t left)
{
	unsigned mod, rm;
	size_t n = 1;

	if (!left)
		return 0;
	mod = p[0] >> 6;
	rm = p[0] & 7;
	if (mod != 3 && rm == 4) {
		if (left < 2)
			return 0;
		n = 2;
		if (mod == 0 && (p[1] & 7) == 5)
			n += 4;
	} else if (mod == 0 && rm == 5) {
		n += 4;
	}
	n += mod == 1 ? 1 : mod == 2 ? 4 : 0;
	return n <= left ? n : 0;
}

static enum ht_insn_kind
relative(enum ht_insn_kind kind, const uint8_t *p, size_t left, unsigned n, uint64_t at, uint64_t *target)
{
	if (left < n)
		return HT_INSN_CUT;
	if (n == 1) {
		*target = at + 1 + (uint64_t)(int64_t)(int8_t)p[0];
	} else {
		int32_t rel;

		memcpy(&rel, p, 4);
		*target = at + 4 + (uint64_t)(int64_t)rel;
	}
	return kind;
}

static enum ht_insn_kind
group5(const uint8_t *p, size_t left)
{
	static const enum ht_insn_kind kinds[8] = {
		[2] = HT_INSN_CALL_IND, [3] = HT_INSN_FAR_IND,
		[4] = HT_INSN_JMP_IND, [5] = HT_INSN_FAR_IND,
	};

	return modrm_size(p, left) ? kinds[p[0] >> 3 & 7] : HT_INSN_CUT;
}

static enum ht_insn_kind
two_bytes(const uint8_t *p, size_t left, uint64_t at, uint64_t *target)
{
	if (!left)
		return HT_INSN_CUT;
	if (p[0] >= 0x80 && p[0] <= 0x8f)
		return relative(HT_INSN_COND, p + 1, left - 1, 4, at + 1, target);
	if (p[0] == 0x05 || p[0] == 0x34) /* SYSCALL, SYSENTER */
		return HT_INSN_FAR;
	if (p[0] == 0x07 || p[0] == 0x35)
		return HT_INSN_FAR_IND;
	return HT_INSN_NEXT;
}

static int
is_string(uint8_t op)
{
	return (op >= 0xa4 && op <= 0xa7) || (op >= 0xaa && op <= 0xaf) || (op >= 0x6c && op <= 0x6f);
}

enum ht_insn_kind
ht_insn_classify(const uint8_t *p, size_t size, uint64_t addr, uint64_t *target)
{
	int rep = 0;
	size_t i = 0;
	uint8_t op;

	for (; i < size; i++) {
		if (p[i] == 0xf2 || p[i] == 0xf3)
			rep = 1;
		else if (p[i] != 0x66 && p[i] != 0x67 && p[i] != 0xf0 && p[i] != 0x2e && p[i] != 0x36 &&
		         p[i] != 0x3e && p[i] != 0x26 && p[i] != 0x64 && p[i] != 0x65)
			break;
	}
	if (i < size && (p[i] & 0xf0) == 0x40)
		i++;
	if (i >= size)
		return HT_INSN_CUT;
	op = p[i++];
	p += i;
	size -= i;
	addr += i;
	if (op >= 0x70 && op <= 0x7f)
		return relative(HT_INSN_COND, p, size, 1, addr, target);
	if (rep && is_string(op))
		return HT_INSN_REP;
	switch (op) {
	case 0x0f: return two_bytes(p, size, addr, target);
	case 0xe0: case 0xe1: case 0xe2: case 0xe3:
		return relative(HT_INSN_COND, p, size, 1, addr, target);
	case 0xe8: return relative(HT_INSN_CALL, p, size, 4, addr, target);
	case 0xe9: return relative(HT_INSN_JMP, p, size, 4, addr, target);
	case 0xeb: return relative(HT_INSN_JMP, p, size, 1, addr, target);
	case 0xff: return group5(p, size);
	case 0xc3: return HT_INSN_RET;
	case 0xc2: return size >= 2 ? HT_INSN_RET : HT_INSN_CUT;
	case 0xcb: case 0xcf: return HT_INSN_FAR_IND;
	case 0xca: return size >= 2 ? HT_INSN_FAR_IND : HT_INSN_CUT;
	case 0xcc: case 0xf1: return HT_INSN_FAR;
	case 0xcd: return size >= 1 ? HT_INSN_FAR : HT_INSN_CUT;
	default: return HT_INSN_NEXT;
	}
}
