/* SPDX-License-Identifier: BSD-2-Clause */
/* The file behind a mapping: the one that ran, or none, and why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <cmocka.h>

#include <hwtrace/event.h>

#include "base/buildid.h"
#include "session/fake.h"

#define AT 0x10000000ull

struct fixture {
	struct fake        fake;
	struct ht_session *s;
	struct ht_view    *v;
	char               self[4096];  /* this test's own program */
	uint8_t            id[20];
	unsigned           id_size;
	char               dir[64];
	char               file[4200];  /* a copy of it under dir */
};

static void
copy(const char *from, const char *to)
{
	char line[32768];

	snprintf(line, sizeof(line), "mkdir -p \"$(dirname '%s')\" && cp '%s' '%s'", to, from, to);
	assert_int_equal(system(line), 0);
}

static int
setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));
	ssize_t n;

	fake_init(&x->fake);
	n = readlink("/proc/self/exe", x->self, sizeof(x->self) - 1);
	if (n < 0)
		return -1;
	x->self[n] = 0;
	x->id_size = ht_build_id_path(x->self, x->id);
	strcpy(x->dir, "/tmp/hwtrace-module.XXXXXX");
	if (!mkdtemp(x->dir))
		return -1;
	snprintf(x->file, sizeof(x->file), "%s/prog", x->dir);
	*state = x;
	return x->id_size ? 0 : -1;
}

static int
teardown(void **state)
{
	struct fixture *x = *state;
	char line[128];

	ht_view_free(x->v);
	ht_session_close(x->s);
	snprintf(line, sizeof(line), "rm -rf '%s'", x->dir);
	if (system(line) != 0)
		return -1;
	free(x);
	return 0;
}

/* One mapping of `path` with build-id `id`; its module. */
static struct ht_module *
go(struct fixture *x, const char *path, const uint8_t *id, unsigned n, const char *symfs, int ignore)
{
	struct ht_session_config config = { .size = sizeof(config), .symfs = symfs,
	                                    .ignore_build_id = ignore };
	struct ht_record *r = fake_map(&x->fake, 0, 1, AT, 0x1000, 0, path);
	struct ht_mapping m;

	if (n)
		memcpy(r->u.map.build_id, id, n);
	r->u.map.build_id_size = (uint8_t)n;
	x->s = fake_session(&x->fake, &config);
	assert_int_equal(ht_view_new(x->s, 1, &x->v), 0);
	assert_int_equal(ht_view_find(x->v, AT, &m), 0);
	return m.module;
}

static void
found_with_its_build_id(void **state)
{
	struct fixture *x = *state;
	const struct ht_module_info *i = ht_module_info(go(x, x->self, x->id, x->id_size, NULL, 0));
	char magic[4];

	assert_int_equal(i->state, HT_MODULE_FOUND);
	assert_string_equal(i->found_path, x->self);
	assert_true(i->is_elf);
	assert_int_equal(i->build_id_size, x->id_size);
	assert_null(i->why);
	assert_int_equal(ht_view_read(x->v, AT, magic, 4), 4);
	assert_memory_equal(magic, "\177ELF", 4);
}

/* perf stores 20 bytes, whatever the size of the id. */
static void
shorter_build_id_with_zeros(void **state)
{
	struct fixture *x = *state;
	uint8_t id[20] = { 0 };

	memcpy(id, x->id, x->id_size);
	assert_int_equal(ht_module_info(go(x, x->self, id, 20, NULL, 0))->state, HT_MODULE_FOUND);
}

static void
missing_is_named(void **state)
{
	struct fixture *x = *state;
	struct ht_module *m = go(x, "/nonexistent/lib.so", x->id, x->id_size, NULL, 0);
	const struct ht_module_info *i = ht_module_info(m);
	const char *why;
	uint64_t v;
	uint32_t n;

	assert_int_equal(i->state, HT_MODULE_MISSING);
	assert_non_null(strstr(i->why, "/nonexistent/lib.so"));
	assert_int_equal(i->build_id_size, x->id_size);
	assert_int_equal(ht_view_why(x->v, AT, &why), HT_GAP_NO_CODE);
	assert_string_equal(why, i->why);
	/* Nothing falls over that is asked of a file that is not there. */
	assert_int_equal(ht_module_vaddr(m, 5, &v), 0);
	assert_int_equal(v, 5);
	ht_module_symbols(m, &n);
	assert_int_equal(n, 0);
	ht_module_text(m, &n);
	assert_int_equal(n, 0);
	assert_null(ht_module_elf(m));
	assert_null(ht_module_dwarf(m));
	assert_int_equal(ht_module_read(m, 0, &v, 8), 0);
}

static void
changed_gives_no_bytes(void **state)
{
	struct fixture *x = *state;
	const struct ht_module_info *i;
	const char *why;
	uint8_t b;

	x->id[0] ^= 1;
	i = ht_module_info(go(x, x->self, x->id, x->id_size, NULL, 0));
	assert_int_equal(i->state, HT_MODULE_CHANGED);
	assert_int_equal(ht_view_read(x->v, AT, &b, 1), 0);
	assert_int_equal(ht_view_why(x->v, AT, &why), HT_GAP_CODE_CHANGED);
	assert_non_null(strstr(why, x->self));
	assert_non_null(strstr(why, "build-id"));
}

static void
changed_is_used_when_told_so(void **state)
{
	struct fixture *x = *state;
	uint8_t b;

	x->id[0] ^= 1;
	assert_int_equal(ht_module_info(go(x, x->self, x->id, x->id_size, NULL, 1))->state,
	                 HT_MODULE_FOUND);
	assert_int_equal(ht_view_read(x->v, AT, &b, 1), 1);
}

/* The build-id that the capture states beside the mapping counts as well. */
static void
build_id_from_the_header(void **state)
{
	struct fixture *x = *state;

	x->fake.id_path = x->self;
	memcpy(x->fake.id, x->id, x->id_size);
	x->fake.id_size = x->id_size;
	x->fake.id[3] ^= 0x80;
	assert_int_equal(ht_module_info(go(x, x->self, NULL, 0, NULL, 0))->state, HT_MODULE_CHANGED);
}

static void
symfs_comes_first(void **state)
{
	struct fixture *x = *state;
	const struct ht_module_info *i;
	char under[9000];

	snprintf(under, sizeof(under), "%s%s", x->dir, x->self);
	copy(x->self, under);
	i = ht_module_info(go(x, x->self, x->id, x->id_size, x->dir, 0));
	assert_int_equal(i->state, HT_MODULE_FOUND);
	assert_int_equal(strncmp(i->found_path, x->dir, strlen(x->dir)), 0);
}

/* A wrong file in symfs does not hide the right one at its own place. */
static void
wrong_file_in_symfs(void **state)
{
	struct fixture *x = *state;
	const struct ht_module_info *i;
	char under[9000];

	snprintf(under, sizeof(under), "%s%s", x->dir, x->self);
	copy("/bin/true", under);
	i = ht_module_info(go(x, x->self, x->id, x->id_size, x->dir, 0));
	assert_int_equal(i->state, HT_MODULE_FOUND);
	assert_string_equal(i->found_path, x->self);
}

static void
memory_by_name(void **state)
{
	static const char *const names[] = { "//anon", "[heap]", "[stack]", "/memfd:jit (deleted)",
	                                     "/usr/lib/x.so (deleted)", "/dev/zero", "" };
	struct fixture *x = *state;

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		fake_map(&x->fake, 0, 1, AT + 0x10000 + i * 0x1000, 0x1000, 0, names[i]);
	go(x, "//anon", NULL, 0, NULL, 0);
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct ht_mapping m;
		const char *why;

		assert_int_equal(ht_view_find(x->v, AT + 0x10000 + i * 0x1000, &m), 0);
		assert_string_equal(ht_module_info(m.module)->path, names[i]);
		assert_int_equal(ht_module_info(m.module)->state, HT_MODULE_MEMORY);
		assert_int_equal(ht_view_why(x->v, m.start, &why), HT_GAP_NO_CODE);
	}
}

/* The kernel's own code, which no file holds: this process has it, if it is the same kernel. */
static void
vdso_of_this_kernel(void **state)
{
	struct fixture *x = *state;
	const uint8_t *own = (const uint8_t *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	struct ht_module *m;
	struct utsname u;
	uint8_t bytes[64];

	if (!own)
		skip();
	assert_int_equal(uname(&u), 0);
	x->fake.container.info.hostname = u.nodename;
	x->fake.container.info.os_release = "0.0.0-other";
	m = go(x, "[vdso]", NULL, 0, NULL, 0);
	assert_int_equal(ht_module_info(m)->state, HT_MODULE_MEMORY);
	ht_view_free(x->v);
	ht_session_close(x->s);
	x->fake.n = 0;
	x->fake.container.info.os_release = u.release;
	m = go(x, "[vdso]", NULL, 0, NULL, 0);
	assert_int_equal(ht_module_info(m)->state, HT_MODULE_FOUND);
	assert_int_equal(ht_view_read(x->v, AT, bytes, sizeof(bytes)), sizeof(bytes));
	assert_memory_equal(bytes, own, sizeof(bytes));
}

static void
vdso_of_another_kernel(void **state)
{
	struct fixture *x = *state;
	struct ht_module *m = go(x, "[vdso]", x->id, x->id_size, NULL, 0);

	if (!getauxval(AT_SYSINFO_EHDR))
		skip();
	assert_int_equal(ht_module_info(m)->state, HT_MODULE_MISSING);
	assert_non_null(strstr(ht_module_info(m)->why, "kernel"));
}

static void
devices_are_not_opened(void **state)
{
	struct fixture *x = *state;

	assert_int_equal(ht_module_info(go(x, "/dev/tty", NULL, 0, NULL, 0))->state, HT_MODULE_MISSING);
}

static void
one_module_for_one_file(void **state)
{
	struct fixture *x = *state;
	struct ht_record *r;

	fake_map(&x->fake, 0, 2, AT, 0x1000, 0, x->self);
	r = fake_map(&x->fake, 0, 3, AT, 0x1000, 0, x->self);
	r->u.map.build_id_size = 20; /* another file of that name */
	go(x, x->self, NULL, 0, NULL, 0);
	/* Two of that name, and the one for memory. */
	assert_int_equal(ht_session_module_count(x->s), 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(ht_module_index(ht_session_module(x->s, i)), i);
	assert_null(ht_session_module(x->s, 3));
}

/* -- places in an ELF file ----------------------------------------------- */

static void
vaddr_and_offset(void **state)
{
	struct fixture *x = *state;
	struct ht_module *m = go(x, x->self, x->id, x->id_size, NULL, 0), *found;
	uint32_t n;
	const struct ht_range *text = ht_module_text(m, &n);

	assert_true(n > 0);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t off, back;
		uint8_t a[16], b[16];
		size_t want = text[i].end - text[i].start < 16 ? text[i].end - text[i].start : 16;
		FILE *f = fopen(x->self, "rb");

		assert_true(text[i].start < text[i].end);
		assert_int_equal(ht_module_offset(m, text[i].start, &off), 0);
		assert_int_equal(ht_module_vaddr(m, off, &back), 0);
		assert_int_equal(back, text[i].start);
		assert_int_equal(ht_module_read(m, text[i].start, a, want), want);
		fseek(f, (long)off, SEEK_SET);
		assert_int_equal(fread(b, 1, want, f), want);
		fclose(f);
		assert_memory_equal(a, b, want);
	}
	assert_int_equal(ht_module_offset(m, 0x7fffffff0000, &(uint64_t){ 0 }), -HT_ENOTFOUND);
	assert_int_equal(ht_view_resolve(x->v, AT + 0x10, &found, &(uint64_t){ 0 }), 0);
	assert_ptr_equal(found, m);
	assert_int_equal(ht_view_resolve(x->v, AT - 1, &found, &(uint64_t){ 0 }), -HT_ENOTFOUND);
}

/* A dump of memory that begins like an ELF file is none. */
static void
dump_is_no_elf(void **state)
{
	struct fixture *x = *state;
	struct ht_module *m;
	uint64_t v;

	fake_map(&x->fake, 0, 1, AT + 0x100000, 0x1000, 0, x->self)->u.map.flags |= HT_MAP_DUMP;
	m = go(x, x->self, NULL, 0, NULL, 0);
	assert_int_equal(ht_module_info(m)->state, HT_MODULE_FOUND);
	assert_false(ht_module_info(m)->is_elf);
	assert_null(ht_module_elf(m));
	assert_int_equal(ht_module_vaddr(m, 0x123456, &v), 0);
	assert_int_equal(v, 0x123456);
}

static void
ask_everything(struct fixture *x, const char *path)
{
	struct ht_module *m = go(x, path, NULL, 0, NULL, 0);
	struct ht_symbol sym;
	uint32_t n;

	ht_module_text(m, &n);
	ht_module_symbols(m, &n);
	ht_module_symbol(m, 0x1234, &sym);
	ht_module_dwarf(m);
	ht_module_read(m, 0x1000, &sym, sizeof(sym));
	ht_view_free(x->v);
	ht_session_close(x->s);
	x->v = NULL;
	x->s = NULL;
	x->fake.n = 0;
}

/* Every prefix of the head of an ELF file, then cuts of the whole: no crash, whatever is asked. */
static void
cut_elf_files(void **state)
{
	static const char *const programs[] = { "/bin/true", "/proc/self/exe" };
	struct fixture *x = *state;

	for (unsigned p = 0; p < 2; p++) {
		static uint8_t data[1 << 22];
		FILE *f = fopen(programs[p], "rb");
		size_t size = fread(data, 1, sizeof(data), f);

		fclose(f);
		for (size_t i = 0; i < 1000; i++) {
			size_t cut = i < 900 ? i : size / 100 * (i - 900);

			f = fopen(x->file, "wb");
			assert_int_equal(fwrite(data, 1, cut, f), cut);
			fclose(f);
			ask_everything(x, x->file);
		}
	}
}

/* Single bytes of the headers changed. */
static void
damaged_elf_headers(void **state)
{
	static uint8_t data[1 << 22];
	struct fixture *x = *state;
	FILE *f = fopen("/bin/true", "rb");
	size_t size = fread(data, 1, sizeof(data), f);

	fclose(f);
	/* ELF header and program headers; and the section headers, which lie at the end. */
	for (size_t i = 4; i < 2000; i += 3) {
		size_t at = i < 1000 ? i : size - (i - 999);
		uint8_t was = data[at];

		data[at] = (uint8_t)(i % 2 ? 0xff : was + 1);
		f = fopen(x->file, "wb");
		assert_int_equal(fwrite(data, 1, size, f), size);
		fclose(f);
		ask_everything(x, x->file);
		data[at] = was;
	}
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(found_with_its_build_id),
		T(shorter_build_id_with_zeros),
		T(missing_is_named),
		T(changed_gives_no_bytes),
		T(changed_is_used_when_told_so),
		T(build_id_from_the_header),
		T(symfs_comes_first),
		T(wrong_file_in_symfs),
		T(memory_by_name),
		T(vdso_of_this_kernel),
		T(vdso_of_another_kernel),
		T(devices_are_not_opened),
		T(one_module_for_one_file),
		T(vaddr_and_offset),
		T(dump_is_no_elf),
		T(cut_elf_files),
		T(damaged_elf_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
