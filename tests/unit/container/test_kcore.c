/* SPDX-License-Identifier: BSD-2-Clause */
/* perf record --kcore: a folder, whose core file is what kernel code is read from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <elf.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <hwtrace/session.h>

#include "container/perf_build.h"
#include "container/scratch.h"

#define KERNEL 0xffffffff81000000ull
#define CODE   "the kernel's code"

static char folder[64];

/* A core with one segment of code and one that has nothing in the file. */
static size_t
make_core(uint8_t *out)
{
	Elf64_Ehdr eh = { .e_ident = ELFMAG,
		          .e_type = ET_CORE,
		          .e_phoff = sizeof(eh),
		          .e_phnum = 2,
		          .e_phentsize = sizeof(Elf64_Phdr) };
	Elf64_Phdr ph[2] = {
		{ .p_type = PT_LOAD, .p_vaddr = KERNEL, .p_memsz = 0x1000, .p_flags = 7 },
		{ .p_type = PT_LOAD, .p_vaddr = KERNEL + 0x8000, .p_memsz = 0x1000 }
	};

	eh.e_ident[EI_CLASS] = ELFCLASS64;
	eh.e_ident[EI_DATA] = ELFDATA2LSB;
	ph[0].p_offset = sizeof(eh) + sizeof(ph);
	ph[0].p_filesz = sizeof(CODE);
	memcpy(out, &eh, sizeof(eh));
	memcpy(out + sizeof(eh), ph, sizeof(ph));
	memcpy(out + sizeof(eh) + sizeof(ph), CODE, sizeof(CODE));
	return sizeof(eh) + sizeof(ph) + sizeof(CODE);
}

static int
make_folder(void **state)
{
	static const struct pb_attr attr = {
		.type = 8, .sample_type = PERF_SAMPLE_TID, .sample_id_all = 1, .id = 5
	};
	static const struct pb_id id = { .pid = (uint32_t)-1 };
	char path[160];
	struct pb b;

	(void)state;
	if (scratch_make(folder, "kcore") < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/kcore_dir", folder);
	if (mkdir(path, 0700) < 0)
		return -1;
	pb_begin(&b, &attr, 1);
	pb_mmap2(&b, 0, &id, KERNEL, 0x2000, 0, PROT_READ | PROT_EXEC, "[kernel.kallsyms]_text");
	pb_finish(&b);
	scratch_put(folder, "data", b.at, b.n);
	pb_free(&b);
	return 0;
}

static int
remove_folder(void **state)
{
	(void)state;
	return scratch_remove(folder);
}

static void
test_code(void **state)
{
	uint8_t core[512];
	size_t n = make_core(core);
	char got[sizeof(CODE)];
	struct ht_container *c;
	struct ht_session *s;
	struct ht_view *v;
	struct ht_record r;
	unsigned maps = 0;

	(void)state;
	scratch_put(folder, "kcore_dir/kcore", core, n);
	assert_int_equal(ht_container_open(folder, NULL, &c, NULL), 0);
	for (int twice = 0; twice < 2; twice++) {
		while (ht_container_next(c, &r) > 0)
			maps += r.kind == HT_REC_MMAP;
		ht_container_rewind(c);
	}
	assert_int_equal(maps, 4); /* the record's and the core's, twice */
	assert_int_equal(ht_session_open(c, NULL, &s, NULL), 0);
	assert_int_equal(ht_view_new(s, 77, &v), 0);
	ht_view_advance(v, UINT64_MAX);
	assert_int_equal(ht_view_read(v, KERNEL, got, sizeof(got)), sizeof(CODE));
	assert_memory_equal(got, CODE, sizeof(CODE));
	ht_view_free(v);
	ht_session_close(s);
	ht_container_close(c);
}

static void
test_every_prefix(void **state)
{
	uint8_t core[512];
	size_t n = make_core(core), headers = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr);

	(void)state;
	for (size_t cut = 0; cut <= n; cut++) {
		struct ht_diag diag = { 0 };
		struct ht_container *c = NULL;

		scratch_put(folder, "kcore_dir/kcore", core, cut);
		assert_int_equal(ht_container_open(folder, NULL, &c, &diag),
		                 cut < headers ? -HT_EFORMAT : 0);
		if (cut < headers)
			assert_non_null(strstr(diag.file, "kcore"));
		ht_container_close(c);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_code),
		cmocka_unit_test(test_every_prefix),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
