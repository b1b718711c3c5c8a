/* SPDX-License-Identifier: BSD-2-Clause */
/* Symbols, against functions of this very program whose names and sizes are written down below. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <fcntl.h>
#include <gelf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/buildid.h"
#include "session/fake.h"

/* Names with and without sizes, several for one address, one inside another. */
__asm__(".pushsection .text.sym, \"ax\", @progbits\n"
        "	.p2align 6\n"
        "	.globl sym_begin\n"
        "	.hidden sym_begin\n"
        "sym_begin:\n"
        "	.type local_name, @function\n"
        "	.type weak_name_that_is_long, @function\n"
        "	.type __global, @function\n"
        "	.type global_a, @function\n"
        "	.type global_longer, @function\n"
        "	.globl __global, global_a, global_longer\n"
        "	.weak weak_name_that_is_long\n"
        "local_name:\n"
        "weak_name_that_is_long:\n"
        "__global:\n"
        "global_a:\n"
        "global_longer:\n"
        "	.skip 16, 0x90\n"                        /* +0 */
        "	.size local_name, 16\n"
        "	.size weak_name_that_is_long, 16\n"
        "	.size __global, 16\n"
        "	.size global_a, 16\n"
        "	.size global_longer, 16\n"
        "	.skip 8, 0x90\n"                         /* +16: nobody's */
        "	.type without_size, @function\n"
        "without_size:\n"
        "	.skip 40, 0x90\n"                        /* +24 */
        "	.type outer, @function\n"
        "outer:\n"
        "	.skip 16, 0x90\n"                        /* +64 */
        "	.type inner, @function\n"
        "inner:\n"
        "	.skip 16, 0x90\n"                        /* +80 */
        "	.size inner, 16\n"
        "	.skip 32, 0x90\n"                        /* +96 */
        "	.size outer, 64\n"
        "	.type object_in_text, @object\n"
        "object_in_text:\n"
        "	.skip 16, 0x90\n"                        /* +128 */
        "	.size object_in_text, 16\n"
        "	.popsection\n");

extern const char sym_begin[];

struct fixture {
	struct fake        fake;
	struct ht_session *s;
	struct ht_module  *m;
	uint64_t           base;      /* vaddr of sym_begin */
	char               self[4096];
	char               dir[64];
	char               file[128]; /* in dir */
};

static int
load_address(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	*(uint64_t *)data = info->dlpi_addr;
	return 1; /* the program itself comes first */
}

static int
setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));
	uint64_t load = 0;
	ssize_t n = readlink("/proc/self/exe", x->self, sizeof(x->self) - 1);

	if (n < 0)
		return -1;
	x->self[n] = 0;
	dl_iterate_phdr(load_address, &load);
	x->base = (uint64_t)(uintptr_t)sym_begin - load;
	fake_init(&x->fake);
	strcpy(x->dir, "/tmp/hwtrace-symbol.XXXXXX");
	if (!mkdtemp(x->dir))
		return -1;
	snprintf(x->file, sizeof(x->file), "%s/prog", x->dir);
	*state = x;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *x = *state;
	char line[128];

	ht_session_close(x->s);
	snprintf(line, sizeof(line), "rm -rf '%s'", x->dir);
	if (system(line) != 0)
		return -1;
	free(x);
	return 0;
}

static void
go(struct fixture *x, const char *path, const char *symfs)
{
	struct ht_session_config config = { .size = sizeof(config), .symfs = symfs };

	fake_map(&x->fake, 0, 1, 0x10000000, 0x1000, 0, path);
	x->s = fake_session(&x->fake, &config);
	x->m = ht_session_module(x->s, 0);
}

/* The name at sym_begin + off, "" when there is none. */
static const char *
name_at(struct fixture *x, uint64_t off)
{
	struct ht_symbol sym;

	return ht_module_symbol(x->m, x->base + off, &sym) == 0 ? sym.name : "";
}

static void
best_of_many_names(void **state)
{
	struct fixture *x = *state;
	struct ht_symbol sym;

	go(x, x->self, NULL);
	/* Global before weak and local; no underscores; the longer one. */
	assert_string_equal(name_at(x, 0), "global_longer");
	assert_int_equal(ht_module_symbol(x->m, x->base + 5, &sym), 0);
	assert_int_equal(sym.start, x->base);
	assert_int_equal(sym.size, 16);
	assert_true(sym.global);
}

static void
borders(void **state)
{
	struct fixture *x = *state;
	struct ht_symbol sym;

	go(x, x->self, NULL);
	assert_string_equal(name_at(x, 15), "global_longer");
	assert_string_equal(name_at(x, 16), "");
	assert_string_equal(name_at(x, 23), "");
	assert_string_equal(name_at(x, 24), "without_size");
	assert_string_equal(name_at(x, 63), "without_size");
	assert_int_equal(ht_module_symbol(x->m, x->base + 30, &sym), 0);
	assert_int_equal(sym.size, 40);
	assert_string_equal(name_at(x, 64), "outer");
	assert_string_equal(name_at(x, 80), "inner");
	assert_string_equal(name_at(x, 95), "inner");
	assert_string_equal(name_at(x, 96), "outer");
	assert_string_equal(name_at(x, 127), "outer");
	assert_string_equal(name_at(x, 128), "object_in_text");
	assert_int_equal(ht_module_symbol(x->m, UINT64_MAX, &sym), -HT_ENOTFOUND);
	assert_int_equal(ht_module_symbol(x->m, 0, &sym), -HT_ENOTFOUND);
}

static void
list_is_sorted_and_unique(void **state)
{
	struct fixture *x = *state;
	const struct ht_symbol *list;
	uint32_t n;

	go(x, x->self, NULL);
	list = ht_module_symbols(x->m, &n);
	assert_true(n > 100);
	for (uint32_t i = 1; i < n; i++)
		assert_true(list[i - 1].start < list[i].start);
	for (uint32_t i = 0; i < n; i++)
		assert_true(list[i].size > 0 && list[i].name[0]);
}

/* Name that relocation of the GOT slot at `slot` is about, as libelf gives it; "" when none is. */
static const char *
relocated(Elf *elf, uint64_t slot)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn)) != NULL) {
		GElf_Shdr sh, symsh;
		Elf_Data *d;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_RELA)
			continue;
		d = elf_getdata(scn, NULL);
		for (size_t i = 0; i < sh.sh_size / sh.sh_entsize; i++) {
			GElf_Rela r;
			GElf_Sym sym;
			Elf_Scn *symscn = elf_getscn(elf, sh.sh_link);

			if (!gelf_getrela(d, (int)i, &r) || r.r_offset != slot ||
			    !gelf_getshdr(symscn, &symsh) ||
			    !gelf_getsym(elf_getdata(symscn, NULL), (int)GELF_R_SYM(r.r_info), &sym))
				continue;
			return elf_strptr(elf, symsh.sh_link, sym.st_name);
		}
	}
	return "";
}

/* The code of a PLT entry says through which GOT slot it jumps, and a relocation whose that is. */
static void
plt_entries(void **state)
{
	struct fixture *x = *state;
	const struct ht_symbol *list;
	uint32_t n, entries = 0;

	go(x, x->self, NULL);
	list = ht_module_symbols(x->m, &n);
	for (uint32_t i = 0; i < n; i++) {
		const char *at = strstr(list[i].name, "@plt");
		unsigned skip = 0;
		uint8_t code[16];
		int32_t disp;
		const char *name;

		if (!at)
			continue;
		entries++;
		assert_int_equal(ht_module_read(x->m, list[i].start, code, 16), 16);
		if (!memcmp(code, "\xf3\x0f\x1e\xfa", 4)) /* endbr64 */
			skip = 4;
		skip += code[skip] == 0xf2; /* bnd */
		assert_int_equal(code[skip], 0xff);
		assert_int_equal(code[skip + 1], 0x25);
		memcpy(&disp, code + skip + 2, 4);
		name = relocated(ht_module_elf(x->m), list[i].start + skip + 6 + (uint64_t)(int64_t)disp);
		assert_int_equal(strlen(name), at - list[i].name);
		assert_memory_equal(name, list[i].name, strlen(name));
	}
	assert_true(entries > 10);
}

/* -- separate debug files ------------------------------------------------ */

static void
strip_into(struct fixture *x, const char *debug)
{
	char line[20000];

	snprintf(line, sizeof(line),
	         "cp '%s' '%s' && mkdir -p \"$(dirname '%s')\" && objcopy --only-keep-debug '%s' '%s' && "
	         "strip '%s'", x->self, x->file, debug, x->file, debug, x->file);
	assert_int_equal(system(line), 0);
}

static void
stripped_has_less(void **state)
{
	struct fixture *x = *state;
	char debug[200];

	snprintf(debug, sizeof(debug), "%s/elsewhere/prog.debug", x->dir);
	strip_into(x, debug);
	go(x, x->file, NULL);
	assert_string_equal(name_at(x, 0), "");
	assert_null(ht_module_dwarf(x->m));
}

static void
debug_file_by_link(void **state)
{
	struct fixture *x = *state;
	char debug[200], line[1000];

	snprintf(debug, sizeof(debug), "%s/.debug/prog.debug", x->dir);
	strip_into(x, debug);
	snprintf(line, sizeof(line), "objcopy --add-gnu-debuglink='%s' '%s'", debug, x->file);
	assert_int_equal(system(line), 0);
	go(x, x->file, NULL);
	assert_string_equal(name_at(x, 80), "inner");
	assert_non_null(ht_module_dwarf(x->m));
}

static void
debug_file_by_build_id(void **state)
{
	struct fixture *x = *state;
	char debug[200];
	uint8_t id[20];
	unsigned n = ht_build_id_path(x->self, id);
	int at = snprintf(debug, sizeof(debug), "%s/usr/lib/debug/.build-id/%02x/", x->dir, id[0]);

	for (unsigned i = 1; i < n; i++)
		at += snprintf(debug + at, sizeof(debug) - (size_t)at, "%02x", id[i]);
	snprintf(debug + at, sizeof(debug) - (size_t)at, ".debug");
	strip_into(x, debug);
	go(x, x->file, x->dir);
	assert_string_equal(name_at(x, 80), "inner");
	assert_non_null(ht_module_dwarf(x->m));
}

/* A debug file of another program is not taken. */
static void
debug_file_of_another_program(void **state)
{
	struct fixture *x = *state;
	char debug[200], line[1000];

	snprintf(debug, sizeof(debug), "%s/prog.debug", x->dir);
	strip_into(x, debug);
	snprintf(line, sizeof(line), "objcopy --add-gnu-debuglink='%s' '%s' && cp /bin/true '%s'",
	         debug, x->file, debug);
	assert_int_equal(system(line), 0);
	go(x, x->file, NULL);
	assert_string_equal(name_at(x, 80), "");
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(best_of_many_names),
		T(borders),
		T(list_is_sorted_and_unique),
		T(plt_entries),
		T(stripped_has_less),
		T(debug_file_by_link),
		T(debug_file_by_build_id),
		T(debug_file_of_another_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
