/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The classifier against rows written out by hand, and against capstone over
 * the whole text of libc and python3.  Every difference must have a reason.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <unistd.h>
#include <cmocka.h>
#include <capstone/capstone.h>
#include <libelf.h>
#include <gelf.h>

#include <hwtrace/error.h>

#include "decode/insn/x86.h"

struct sample {
	uint8_t  bytes[16];
	unsigned mode;
	int      size;
	unsigned insn, flags;
	uint64_t target;
};

#define IP 0x1000u

static const struct sample samples[] = {
	{ { 0x90 }, 64, 1, HT_INSN_OTHER, 0, 0 },
	{ { 0x74, 0x10 }, 64, 2, HT_INSN_COND, 0, IP + 0x12 },
	{ { 0x0f, 0x85, 0xfa, 0xff, 0xff, 0xff }, 64, 6, HT_INSN_COND, 0, IP },
	{ { 0x0f, 0x85, 0xfc, 0xff }, 16, 4, HT_INSN_COND, 0, IP },
	{ { 0xe2, 0xfe }, 64, 2, HT_INSN_COND, HT_X86_LOOP, IP },
	{ { 0xe3, 0x00 }, 64, 2, HT_INSN_COND, HT_X86_LOOP, IP + 2 },
	{ { 0x67, 0xe3, 0x00 }, 64, 3, HT_INSN_COND, HT_X86_LOOP, IP + 3 },
	{ { 0xeb, 0x80 }, 64, 2, HT_INSN_JUMP, 0, IP + 2 - 0x80 },
	{ { 0xe9, 0, 0, 0, 0x80 }, 64, 5, HT_INSN_JUMP, 0, IP + 5 - 0x80000000ull },
	{ { 0xe9, 0, 0, 0, 0x80 }, 32, 5, HT_INSN_JUMP, 0, 0x80001005u },
	{ { 0x66, 0xe9, 0x00, 0xf0 }, 32, 4, HT_INSN_JUMP, 0, 4 },
	{ { 0x66, 0xe9, 0, 0, 0, 0 }, 64, 6, HT_INSN_JUMP, 0, IP + 6 },
	{ { 0xe8, 0, 0, 0, 0 }, 64, 5, HT_INSN_CALL, 0, IP + 5 },
	{ { 0xf2, 0xe8, 0, 0, 0, 0 }, 64, 6, HT_INSN_CALL, 0, IP + 6 },
	{ { 0xe8, 0xfd, 0xff }, 16, 3, HT_INSN_CALL, 0, IP },
	{ { 0xff, 0xe0 }, 64, 2, HT_INSN_JUMP_IND, 0, 0 },
	{ { 0x3e, 0xff, 0xe0 }, 64, 3, HT_INSN_JUMP_IND, 0, 0 },
	{ { 0xff, 0x25, 0, 0, 0, 0 }, 64, 6, HT_INSN_JUMP_IND, 0, 0 },
	{ { 0xff, 0xd0 }, 64, 2, HT_INSN_CALL_IND, 0, 0 },
	{ { 0xff, 0x18 }, 64, 2, HT_INSN_FAR, 0, 0 },
	{ { 0xff, 0x28 }, 64, 2, HT_INSN_FAR, 0, 0 },
	{ { 0xea, 0, 0, 0, 0, 8, 0 }, 32, 7, HT_INSN_FAR, 0, 0 },
	{ { 0x9a, 0, 0, 0, 0, 8, 0 }, 32, 7, HT_INSN_FAR, 0, 0 },
	{ { 0xc3 }, 64, 1, HT_INSN_RET, 0, 0 },
	{ { 0xf3, 0xc3 }, 64, 2, HT_INSN_RET, 0, 0 },
	{ { 0xc2, 8, 0 }, 64, 3, HT_INSN_RET, 0, 0 },
	{ { 0xcb }, 64, 1, HT_INSN_SYSRET, 0, 0 },
	{ { 0xca, 8, 0 }, 64, 3, HT_INSN_SYSRET, 0, 0 },
	{ { 0x48, 0xcf }, 64, 2, HT_INSN_SYSRET, 0, 0 },
	{ { 0x0f, 0x05 }, 64, 2, HT_INSN_SYSCALL, 0, 0 },
	{ { 0x0f, 0x34 }, 64, 2, HT_INSN_SYSCALL, 0, 0 },
	{ { 0xcd, 0x80 }, 64, 2, HT_INSN_SYSCALL, 0, 0 },
	{ { 0xcc }, 64, 1, HT_INSN_SYSCALL, 0, 0 },
	{ { 0xf1 }, 64, 1, HT_INSN_SYSCALL, 0, 0 },
	{ { 0xce }, 32, 1, HT_INSN_OTHER, 0, 0 },
	{ { 0x48, 0x0f, 0x07 }, 64, 3, HT_INSN_SYSRET, 0, 0 },
	{ { 0x0f, 0x35 }, 64, 2, HT_INSN_SYSRET, 0, 0 },
	{ { 0xf3, 0x0f, 0x01, 0xec }, 64, 4, HT_INSN_SYSRET, 0, 0 },
	{ { 0x0f, 0x01, 0xc2 }, 64, 3, HT_INSN_FAR, HT_X86_VMENTRY, 0 },
	{ { 0x0f, 0x01, 0xc3 }, 64, 3, HT_INSN_FAR, HT_X86_VMENTRY, 0 },
	{ { 0x0f, 0x01, 0xc1 }, 64, 3, HT_INSN_FAR, 0, 0 },
	{ { 0x0f, 0xc7, 0x30 }, 64, 3, HT_INSN_OTHER, HT_X86_VMPTRLD, 0 },
	{ { 0xf3, 0x48, 0xa5 }, 64, 3, HT_INSN_OTHER, HT_X86_REP, 0 },
	{ { 0xf2, 0xae }, 64, 2, HT_INSN_OTHER, HT_X86_REP, 0 },
	{ { 0xa4 }, 64, 1, HT_INSN_OTHER, 0, 0 },
	{ { 0xf2, 0x0f, 0x10, 0xc1 }, 64, 4, HT_INSN_OTHER, 0, 0 }, /* MOVSD of SSE2 */
	{ { 0xf3, 0x6c }, 32, 2, HT_INSN_OTHER, HT_X86_REP, 0 },
	{ { 0x0f, 0x22, 0xd8 }, 64, 3, HT_INSN_OTHER, HT_X86_CR3, 0 },
	{ { 0x0f, 0x22, 0xc0 }, 64, 3, HT_INSN_OTHER, 0, 0 },
	{ { 0xf3, 0x48, 0x0f, 0xae, 0xe0 }, 64, 5, HT_INSN_OTHER, HT_X86_PTWRITE, 0 },
	{ { 0xc7, 0xf8, 0x10, 0, 0, 0 }, 64, 6, HT_INSN_OTHER, HT_X86_XBEGIN, IP + 0x16 },
	{ { 0x62, 0xf1, 0x7c, 0x48, 0x10, 0xc0 }, 64, 6, HT_INSN_OTHER, 0, 0 },
	{ { 0xc5, 0xf8, 0x92, 0xc0 }, 64, 4, HT_INSN_OTHER, 0, 0 },
	{ { 0x06 }, 64, -HT_EFORMAT, 0, 0, 0 },
	{ { 0x06 }, 32, 1, HT_INSN_OTHER, 0, 0 },
	{ { 0x0f, 0xff, 0x04 }, 24, -HT_EINVAL, 0, 0, 0 },
};

static void
test_rows_and_prefixes(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(samples) / sizeof(*samples); i++) {
		const struct sample *s = &samples[i];
		struct ht_x86_insn x;
		int rc = ht_x86_decode(s->bytes, sizeof(s->bytes), IP, s->mode, &x);

		if (rc != s->size)
			print_error("row %u\n", i);
		assert_int_equal(rc, s->size);
		if (rc < 0)
			continue;
		if (x.insn != s->insn || x.flags != s->flags || x.target != s->target)
			print_error("row %u: class %u flags %x target %llx\n", i, x.insn, x.flags,
			            (unsigned long long)x.target);
		assert_int_equal(x.size, s->size);
		assert_int_equal(x.insn, s->insn);
		assert_int_equal(x.flags, s->flags);
		assert_int_equal(x.target, s->target);
		for (int n = 0; n < rc; n++) {
			uint8_t *copy = malloc(n ? (size_t)n : 1);

			memcpy(copy, s->bytes, (size_t)n);
			assert_int_equal(ht_x86_decode(copy, (size_t)n, IP, s->mode, &x), 0);
			free(copy);
		}
	}
}

static unsigned
capstone_class(const cs_insn *in)
{
	const cs_x86_op *op = in->detail->x86.operands;
	int direct = in->detail->x86.op_count > 0 && op[0].type == X86_OP_IMM;

	switch (in->id) {
	case X86_INS_JMP: return direct ? HT_INSN_JUMP : HT_INSN_JUMP_IND;
	case X86_INS_CALL: return direct ? HT_INSN_CALL : HT_INSN_CALL_IND;
	case X86_INS_LJMP: case X86_INS_LCALL: case X86_INS_VMLAUNCH: case X86_INS_VMRESUME:
	case X86_INS_VMCALL: return HT_INSN_FAR;
	case X86_INS_RET: return HT_INSN_RET;
	case X86_INS_RETF: case X86_INS_RETFQ: case X86_INS_IRET: case X86_INS_IRETD: case X86_INS_IRETQ:
	case X86_INS_SYSRET: case X86_INS_SYSEXIT: case X86_INS_RSM: return HT_INSN_SYSRET;
	case X86_INS_SYSCALL: case X86_INS_SYSENTER: case X86_INS_INT: case X86_INS_INT1:
	case X86_INS_INT3: return HT_INSN_SYSCALL;
	case X86_INS_LOOP: case X86_INS_LOOPE: case X86_INS_LOOPNE: return HT_INSN_COND;
	default:
		for (unsigned i = 0; i < in->detail->groups_count; i++)
			if (in->detail->groups[i] == X86_GRP_JUMP)
				return in->id == X86_INS_XBEGIN ? HT_INSN_OTHER : HT_INSN_COND;
		return HT_INSN_OTHER;
	}
}

/* Why capstone 4.0.2 may be silent where Zydis reads an instruction; NULL: no reason known. */
static const char *
capstone_lacks(const uint8_t *b, size_t len)
{
	size_t i = 0;

	while (i + 2 < len && (b[i] == 0x66 || b[i] == 0xf2 || b[i] == 0xf3 || b[i] == 0x2e ||
	                       b[i] == 0x3e || b[i] == 0x64 || b[i] == 0x65 || (b[i] & 0xf0) == 0x40))
		i++;
	if (b[i] == 0x62)
		return "EVEX";
	if (b[i] == 0xc4 || b[i] == 0xc5)
		return "VEX of a later processor: mask registers, VNNI, VAES";
	if (b[i] == 0x0f && b[i + 1] == 0x01)
		return "system instruction of group 7: RDPKRU, WRPKRU, XGETBV and kin";
	if (b[i] == 0x0f && (b[i + 1] == 0xae || b[i + 1] == 0xc7))
		return "group 9 or 15: XSAVEC, RDPID, CLWB and kin";
	if (b[i] == 0x0f && (b[i + 1] == 0x38 || b[i + 1] == 0x3a))
		return "0F38 or 0F3A instruction of a later processor";
	if (b[i] == 0x0f && (b[i + 1] == 0x0d || (b[i + 1] >= 0x18 && b[i + 1] <= 0x1f)))
		return "hint or NOP form";
	if (b[i] == 0x8c || b[i] == 0x8e)
		return "MOV of a segment register whose REX.R is set (ignored by processors)";
	return NULL;
}

/* Why the two may read one instruction differently; NULL: no reason known. */
static const char *
known_difference(const cs_insn *in, const uint8_t *b)
{
	if (in->id == X86_INS_UD0 || in->id == X86_INS_UD2B)
		return "UD0 and UD1 have a ModRM byte on Intel processors";
	if (b[0] == 0x66 && (in->id == X86_INS_JMP || in->id == X86_INS_CALL))
		return "the operand size prefix of a near branch counts on AMD processors only";
	return NULL;
}

struct sweep { unsigned insns, lacking, unknown, known, differ; };

static void
compare(csh cs, cs_insn *in, const uint8_t *p, size_t left, uint64_t ip, struct sweep *sum, int *step)
{
	struct ht_x86_insn x;
	int rc = ht_x86_decode(p, left, ip, 64, &x);
	const uint8_t *code = p;
	size_t size = left > 15 ? 15 : left;
	uint64_t address = ip;
	int theirs = cs_disasm_iter(cs, &code, &size, &address, in) ? in->size : -1;

	*step = rc > 0 ? rc : 1;
	sum->insns += rc > 0;
	if (rc <= 0) {
		sum->unknown++; /* data in the text; a table in the assembly parts */
		return;
	}
	if (theirs < 0) {
		sum->lacking++;
		if (!capstone_lacks(p, left)) {
			print_error("%llx: capstone fails on %02x %02x %02x %02x\n", (unsigned long long)ip,
			            p[0], p[1], p[2], p[3]);
			sum->differ++;
		}
		return;
	}
	if (theirs != rc || capstone_class(in) != x.insn ||
	    (x.insn >= HT_INSN_COND && x.insn <= HT_INSN_CALL &&
	     (uint64_t)in->detail->x86.operands[0].imm != x.target)) {
		if (known_difference(in, p)) {
			sum->known++;
			return;
		}
		print_error("%llx: %s %s: %d bytes class %u, here %d bytes class %u\n", (unsigned long long)ip,
		            in->mnemonic, in->op_str, theirs, capstone_class(in), rc, x.insn);
		sum->differ++;
	}
}

/* Sweep .text of `path`; 0 when there is no such file. */
static int
sweep_file(const char *path, struct sweep *sum)
{
	int fd = open(path, O_RDONLY);
	Elf *elf;
	Elf_Scn *scn = NULL;
	size_t strings;
	csh cs;
	cs_insn *in;

	if (fd < 0)
		return 0;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	assert_non_null(elf);
	assert_int_equal(elf_getshdrstrndx(elf, &strings), 0);
	assert_int_equal(cs_open(CS_ARCH_X86, CS_MODE_64, &cs), CS_ERR_OK);
	cs_option(cs, CS_OPT_DETAIL, CS_OPT_ON);
	in = cs_malloc(cs);
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;
		Elf_Data *data;

		assert_non_null(gelf_getshdr(scn, &sh));
		if (strcmp(elf_strptr(elf, strings, sh.sh_name), ".text") || !(data = elf_rawdata(scn, NULL)))
			continue;
		for (size_t at = 0; at < data->d_size;) {
			int step;

			compare(cs, in, (const uint8_t *)data->d_buf + at, data->d_size - at, sh.sh_addr + at,
			        sum, &step);
			at += (size_t)step;
		}
	}
	cs_free(in, 1);
	cs_close(&cs);
	elf_end(elf);
	close(fd);
	return 1;
}

static void
sweep(const char *path)
{
	struct sweep sum = { 0 };

	if (!sweep_file(path, &sum))
		skip();
	print_message("%s: %u instructions, capstone lacks %u, not code %u, differ for a known reason %u, "
	              "differ %u\n", path, sum.insns, sum.lacking, sum.unknown, sum.known, sum.differ);
	assert_true(sum.insns > 100000);
	assert_true(sum.unknown < sum.insns / 50); /* libcrypto has tables in its text */
	assert_int_equal(sum.differ, 0);
}

static void
test_sweep_libc(void **state)
{
	(void)state;
	sweep("/lib/x86_64-linux-gnu/libc.so.6");
}

static void
test_sweep_python(void **state)
{
	(void)state;
	sweep("/usr/bin/python3.11");
}

static void
test_sweep_libcrypto(void **state)
{
	(void)state;
	sweep("/lib/x86_64-linux-gnu/libcrypto.so.3");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_and_prefixes),
		cmocka_unit_test(test_sweep_libc),
		cmocka_unit_test(test_sweep_python),
		cmocka_unit_test(test_sweep_libcrypto),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
