/* SPDX-License-Identifier: BSD-2-Clause */
/* Intel PT packets and small ELF files made by hand, for tests that need a trace whose meaning is
 * known. */
#ifndef TESTS_PT_BYTES_H
#define TESTS_PT_BYTES_H

#include <stddef.h>
#include <stdint.h>

struct pt_bytes {
	size_t  n;
	uint8_t at[4096];
};

void pt_psb(struct pt_bytes *b, uint64_t tsc); /* PSB, TSC, MODE.Exec 64 bit, PSBEND */
void pt_tsc(struct pt_bytes *b, uint64_t tsc);
void pt_tnt(struct pt_bytes *b, const char *bits); /* "TN..", oldest first, 1 to 6 */
void pt_tip(struct pt_bytes *b, uint64_t ip);
void pt_pge(struct pt_bytes *b, uint64_t ip);
void pt_pgd(struct pt_bytes *b);  /* without IP, as at a syscall */

/* A static x86-64 ELF file: `code` at file offset 0x1000, vaddr base + 0x1000, with a build-id. */
void elf_make(const char *path, uint64_t base, const uint8_t *code, size_t size,
              const uint8_t id[20]);

#endif
