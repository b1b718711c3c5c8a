/* SPDX-License-Identifier: BSD-2-Clause */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "container/pt_bytes.h"

static void
put(struct pt_bytes *b, const void *data, size_t n)
{
	if (n > sizeof(b->at) - b->n)
		abort();
	memcpy(b->at + b->n, data, n);
	b->n += n;
}

static void
put_number(struct pt_bytes *b, uint8_t head, uint64_t v, unsigned n)
{
	put(b, &head, 1);
	for (unsigned i = 0; i < n; i++) {
		uint8_t byte = (uint8_t)(v >> (8 * i));

		put(b, &byte, 1);
	}
}

void
pt_psb(struct pt_bytes *b, uint64_t tsc)
{
	for (int i = 0; i < 8; i++)
		put(b, "\x02\x82", 2);
	pt_tsc(b, tsc);
	put(b, "\x99\x01", 2);
	put(b, "\x02\x23", 2);
}

void
pt_tsc(struct pt_bytes *b, uint64_t tsc)
{
	put_number(b, 0x19, tsc, 7);
}

void
pt_tnt(struct pt_bytes *b, const char *bits)
{
	unsigned v = 1;

	for (const char *p = bits; *p; p++)
		v = v << 1 | (*p == 'T');
	put_number(b, (uint8_t)(v << 1), 0, 0);
}

void
pt_tip(struct pt_bytes *b, uint64_t ip)
{
	put_number(b, 0x6d, ip, 6);
}

void
pt_pge(struct pt_bytes *b, uint64_t ip)
{
	put_number(b, 0x71, ip, 6);
}

void
pt_pgd(struct pt_bytes *b)
{
	put_number(b, 0x01, 0, 0);
}

void
elf_make(const char *path, uint64_t base, const uint8_t *code, size_t size, const uint8_t id[20])
{
	static const char names[] = "\0.note.gnu.build-id\0.text\0.shstrtab";
	struct {
		Elf64_Ehdr e;
		Elf64_Phdr p[2];
		Elf64_Shdr s[4];
		Elf64_Nhdr n;
		char gnu[4];
		uint8_t id[20];
		char names[sizeof(names)];
	} f;
	FILE *out = fopen(path, "w");

	if (!out)
		abort();
	memset(&f, 0, sizeof(f));
	memcpy(f.e.e_ident, ELFMAG "\2\1\1", 7);
	f.e.e_type = ET_EXEC;
	f.e.e_machine = EM_X86_64;
	f.e.e_version = 1;
	f.e.e_entry = base + 0x1000;
	f.e.e_phoff = offsetof(__typeof__(f), p);
	f.e.e_shoff = offsetof(__typeof__(f), s);
	f.e.e_ehsize = sizeof(f.e);
	f.e.e_phentsize = sizeof(f.p[0]);
	f.e.e_phnum = 2;
	f.e.e_shentsize = sizeof(f.s[0]);
	f.e.e_shnum = 4;
	f.e.e_shstrndx = 3;
	f.p[0] = (Elf64_Phdr){ .p_type = PT_LOAD,
		               .p_flags = PF_R | PF_X,
		               .p_vaddr = base,
		               .p_paddr = base,
		               .p_filesz = 0x1000 + size,
		               .p_memsz = 0x1000 + size,
		               .p_align = 0x1000 };
	f.p[1] = (Elf64_Phdr){ .p_type = PT_NOTE,
		               .p_flags = PF_R,
		               .p_offset = offsetof(__typeof__(f), n),
		               .p_filesz = 36,
		               .p_memsz = 36,
		               .p_align = 4 };
	f.s[1] = (Elf64_Shdr){ .sh_name = 1, .sh_type = SHT_NOTE, .sh_addralign = 4,
	                       .sh_offset = offsetof(__typeof__(f), n), .sh_size = 36 };
	f.s[2] = (Elf64_Shdr){ .sh_name = 20,
		               .sh_type = SHT_PROGBITS,
		               .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
		               .sh_addr = base + 0x1000,
		               .sh_offset = 0x1000,
		               .sh_size = size };
	f.s[3] = (Elf64_Shdr){ .sh_name = 26,
		               .sh_type = SHT_STRTAB,
		               .sh_offset = offsetof(__typeof__(f), names),
		               .sh_size = sizeof(names) };
	f.n = (Elf64_Nhdr){ 4, 20, NT_GNU_BUILD_ID };
	memcpy(f.gnu, "GNU", 4);
	memcpy(f.id, id, 20);
	memcpy(f.names, names, sizeof(names));
	if (fwrite(&f, sizeof(f), 1, out) != 1 || fseek(out, 0x1000, SEEK_SET) < 0 ||
	    fwrite(code, size, 1, out) != 1 || fclose(out))
		abort();
}
