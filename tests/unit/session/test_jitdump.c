/* SPDX-License-Identifier: BSD-2-Clause */
/* Jitdumps, written here byte by byte after the format's description; and perf's maps of names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <hwtrace/line.h>

#include "session/fake.h"
#include "session/jitdump.h"
#include "session/module.h"

struct file {
	uint8_t at[4096];
	size_t n;
};

static void
put(struct file *f, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		f->at[f->n++] = (uint8_t)(v >> (8 * i));
}

static void
put_str(struct file *f, const char *s)
{
	memcpy(f->at + f->n, s, strlen(s) + 1);
	f->n += strlen(s) + 1;
}

static void
head(struct file *f, uint64_t flags)
{
	f->n = 0;
	put(f, 0x4a695444, 4);
	put(f, 1, 4);
	put(f, 40, 4);
	put(f, EM_X86_64, 4);
	put(f, 0, 4);
	put(f, 77, 4); /* pid */
	put(f, 5, 8);  /* made at */
	put(f, flags, 8);
}

/* The header of a record; its size is filled in by end(). */
static size_t
begin(struct file *f, uint32_t id, uint64_t time)
{
	size_t at = f->n;

	put(f, id, 4);
	put(f, 0, 4);
	put(f, time, 8);
	return at;
}

static void
end(struct file *f, size_t at)
{
	size_t n = f->n;

	f->n = at + 4;
	put(f, n - at, 4);
	f->n = n;
}

static size_t
load(struct file *f, uint64_t time, uint64_t addr, uint64_t index, const char *name,
     const char *code)
{
	size_t at = begin(f, 0, time), bytes;

	put(f, 77, 4);
	put(f, 78, 4);
	put(f, addr, 8);
	put(f, addr, 8);
	put(f, strlen(code), 8);
	put(f, index, 8);
	put_str(f, name);
	bytes = f->n;
	memcpy(f->at + f->n, code, strlen(code));
	f->n += strlen(code);
	end(f, at);
	return bytes;
}

static void
move(struct file *f, uint64_t time, uint64_t from, uint64_t to, uint64_t size, uint64_t index)
{
	size_t at = begin(f, 1, time);

	put(f, 77, 4);
	put(f, 78, 4);
	put(f, to, 8);
	put(f, from, 8);
	put(f, to, 8);
	put(f, size, 8);
	put(f, index, 8);
	end(f, at);
}

static void
line(struct file *f, uint64_t addr, uint32_t no, const char *file)
{
	put(f, addr, 8);
	put(f, no, 4);
	put(f, 0, 4);
	put_str(f, file);
}

/* Everything that the format has. Offsets of the two codes' bytes in at[0] and at[1]. */
static void
everything(struct file *f, size_t at[2])
{
	size_t r;

	head(f, 0);
	r = begin(f, 2, 10); /* lines of the code that comes next */
	put(f, 0x1000, 8);
	put(f, 4, 8);
	line(f, 0x1000, 7, "/src/a.js");
	line(f, 0x1002, 9, "\xff");
	line(f, 0x1003, 2, "lib/b.js");
	line(f, 0x2000, 99, "\xff"); /* outside of the code */
	end(f, r);
	r = begin(f, 4, 11); /* how to unwind it */
	put(f, 0, 8);
	put(f, 0, 8);
	put(f, 0, 8);
	end(f, r);
	at[0] = load(f, 12, 0x1000, 3, "one", "abcd");
	r = begin(f, 99, 13); /* of a version to come */
	put(f, 1, 1);
	end(f, r);
	at[1] = load(f, 14, 0x1800, 4, "two", "xyz");
	move(f, 15, 0x1000, 0x3000, 4, 3);
	load(f, 16, 0x9000, 5, "empty", "");
	end(f, begin(f, 3, 17));
}

static int
read_file(struct ht_jitdump *j, const struct file *f, struct ht_diag *diag)
{
	uint8_t *exact = malloc(f->n ? f->n : 1);
	int rc;

	memcpy(exact, f->at, f->n);
	rc = ht_jitdump_read(j, "a.dump", exact, f->n, diag);
	/* Names lie in what is given away here: they are read while it is there. */
	for (size_t i = 0; rc == 0 && i < j->codes.n; i++)
		assert_true((const uint8_t *)j->codes.at[i].name > exact &&
		            (const uint8_t *)j->codes.at[i].name + strlen(j->codes.at[i].name) <
		                exact + f->n);
	for (size_t i = 0; rc == 0 && i < j->lines.n; i++)
		assert_true((const uint8_t *)j->lines.at[i].file + strlen(j->lines.at[i].file) <
		            exact + f->n);
	free(exact);
	return rc;
}

static void
all_records(void **state)
{
	struct ht_jitdump j;
	struct ht_diag diag = { 0 };
	struct file f;
	size_t at[2];

	(void)state;
	everything(&f, at);
	assert_int_equal(ht_jitdump_read(&j, "a.dump", f.at, f.n, &diag), 0);
	assert_int_equal(j.pid, 77);
	assert_int_equal(j.machine, EM_X86_64);
	assert_int_equal(j.closed, 1);
	assert_int_equal(j.damaged, 0);
	assert_int_equal(j.codes.n, 4);
	assert_string_equal(j.codes.at[0].name, "one");
	assert_int_equal(j.codes.at[0].addr, 0x1000);
	assert_int_equal(j.codes.at[0].size, 4);
	assert_int_equal(j.codes.at[0].time, 12);
	assert_int_equal(j.codes.at[0].offset, at[0]);
	assert_memory_equal(f.at + j.codes.at[0].offset, "abcd", 4);
	assert_int_equal(j.codes.at[0].moves, 1);
	assert_string_equal(j.codes.at[1].name, "two");
	assert_int_equal(j.codes.at[1].offset, at[1]);
	assert_int_equal(j.codes.at[2].moved, 1);
	assert_int_equal(j.codes.at[2].addr, 0x3000);
	assert_int_equal(j.codes.at[2].time, 15);
	assert_int_equal(j.codes.at[2].offset, at[0]);
	assert_int_equal(j.codes.at[3].size, 0);
	assert_int_equal(j.lines.n, 3);
	assert_int_equal(j.lines.at[0].offset, at[0]);
	assert_int_equal(j.lines.at[0].line, 7);
	assert_string_equal(j.lines.at[0].file, "/src/a.js");
	assert_int_equal(j.lines.at[1].offset, at[0] + 2);
	assert_int_equal(j.lines.at[1].line, 9);
	assert_string_equal(j.lines.at[1].file, "/src/a.js");
	assert_string_equal(j.lines.at[2].file, "lib/b.js");
	ht_jitdump_fini(&j);
}

/* Only a cut between two records is none, since the file may end anywhere. */
static void
every_prefix(void **state)
{
	struct file f;
	size_t at[2], whole, starts[16], n = 0;

	(void)state;
	everything(&f, at);
	whole = f.n;
	for (size_t p = 40; p < whole; p += (size_t)f.at[p + 4] | (size_t)f.at[p + 5] << 8)
		starts[n++] = p;
	assert_int_equal(n, 8);
	for (f.n = 0; f.n <= whole; f.n++) {
		struct ht_jitdump j;
		struct ht_diag diag = { 0 };
		int rc = read_file(&j, &f, &diag), between = f.n == whole;

		for (size_t i = 0; i < n; i++)
			between |= starts[i] == f.n;
		assert_int_equal(rc, f.n < 40 ? -HT_EFORMAT : 0);
		if (rc == 0) {
			assert_int_equal(j.damaged, !between);
			assert_true(j.codes.n <= 4 && j.lines.n <= 3);
			if (!between)
				assert_int_equal(j.diag.error, HT_EFORMAT);
		}
		ht_jitdump_fini(&j);
	}
}

static void
refused(void **state)
{
	struct ht_jitdump j;
	struct ht_diag diag = { 0 };
	struct file f;
	size_t at[2];

	(void)state;
	everything(&f, at);
	memcpy(f.at, "\x4a\x69\x54\x44", 4); /* as a big-endian machine writes it */
	assert_int_equal(read_file(&j, &f, &diag), -HT_EUNSUPPORTED);
	assert_non_null(strstr(diag.text, "byte order"));
	ht_jitdump_fini(&j);
	memcpy(f.at, "ELF?", 4);
	assert_int_equal(read_file(&j, &f, &diag), -HT_EFORMAT);
	ht_jitdump_fini(&j);
	everything(&f, at);
	f.at[4] = 2;
	assert_int_equal(read_file(&j, &f, &diag), -HT_EUNSUPPORTED);
	ht_jitdump_fini(&j);
	everything(&f, at);
	f.at[8] = 39;
	assert_int_equal(read_file(&j, &f, &diag), -HT_EFORMAT);
	ht_jitdump_fini(&j);
	f.at[8] = f.at[9] = 0xff; /* a header longer than the file */
	assert_int_equal(read_file(&j, &f, &diag), -HT_EFORMAT);
	ht_jitdump_fini(&j);
}

static void
damaged_records(void **state)
{
	struct ht_jitdump j;
	struct ht_diag diag = { 0 };
	struct file f;
	size_t code;

	(void)state;
	head(&f, 0);
	move(&f, 1, 0, 0x10, 4, 1); /* of nothing */
	code = load(&f, 2, 0x1000, 1, "one", "abcd");
	f.at[code - 4 - 16]++; /* more code than there is */
	load(&f, 3, 0x1000, 1, "two", "abcd");
	move(&f, 4, 0x1000, 0x2000, 5, 1);               /* more than there is */
	load(&f, 5, UINT64_MAX - 2, 1, "three", "abcd"); /* beyond the end of memory */
	put(&f, 0, 4);
	put(&f, 15, 4); /* smaller than its own header */
	put(&f, 0, 8);
	load(&f, 6, 0x3000, 1, "four", "abcd"); /* nobody knows where that begins */
	assert_int_equal(read_file(&j, &f, &diag), 0);
	assert_int_equal(j.codes.n, 1);
	assert_int_equal(j.codes.at[0].time, 3);
	assert_int_equal(j.damaged, 5);
	assert_string_equal(j.diag.field, "JIT_CODE_MOVE");
	assert_int_equal(j.diag.offset, 40);
	ht_jitdump_fini(&j);
}

static void
names(void **state)
{
	(void)state;
	assert_int_equal(ht_jitdump_named("/tmp/a/jit-123.dump"), 123);
	assert_int_equal(ht_jitdump_named("jit-0.dump"), 0);
	assert_int_equal(ht_jitdump_named("/tmp/jit-.dump"), -1);
	assert_int_equal(ht_jitdump_named("/tmp/jit-1.dumps"), -1);
	assert_int_equal(ht_jitdump_named("/tmp/jit-1a.dump"), -1);
	assert_int_equal(ht_jitdump_named("/tmp/jit-9999999999.dump"), -1);
	assert_int_equal(ht_jitdump_named("/jit-1.dump/x"), -1);
}

/* -- in a session -------------------------------------------------------------- */

struct fixture {
	struct fake fake;
	struct ht_session *s;
	struct ht_view *v;
	char dir[64], path[128];
};

static int
setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	fake_init(&x->fake);
	strcpy(x->dir, "/tmp/hwtrace-jitdump.XXXXXX");
	if (!mkdtemp(x->dir))
		return -1;
	snprintf(x->path, sizeof(x->path), "%s/jit-77.dump", x->dir);
	*state = x;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *x = *state;
	char command[128];

	ht_view_free(x->v);
	ht_session_close(x->s);
	snprintf(command, sizeof(command), "rm -rf '%s'", x->dir);
	if (system(command) != 0)
		return -1;
	free(x);
	return 0;
}

static void
write_file(const char *path, const void *data, size_t n)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

/* Process 77 has anonymous memory at 0x1000-0x5000, and the jitdump is mapped at time `ns`. */
static void
mark(struct fixture *x, uint64_t ns, const struct file *f)
{
	if (f)
		write_file(x->path, f->at, f->n);
	fake_map(&x->fake, 0, 77, 0x1000, 0x4000, 0x1000, "//anon");
	fake_map(&x->fake, ns, 77, 0x100000, 0x1000, 0, x->path);
}

static void
go(struct fixture *x)
{
	x->s = fake_session(&x->fake, NULL);
	assert_int_equal(ht_view_new(x->s, 77, &x->v), 0);
}

/* What a view shows at `addr`: its bytes, and the name there. */
static void
shows(struct fixture *x, uint64_t addr, const char *bytes, const char *name)
{
	size_t n = bytes ? strlen(bytes) : 1;
	struct ht_symbol sym;
	struct ht_module *m;
	uint64_t vaddr;
	char got[64];

	assert_int_equal(ht_view_read(x->v, addr, got, n), bytes ? n : 0);
	if (bytes)
		assert_memory_equal(got, bytes, n);
	assert_int_equal(ht_view_resolve(x->v, addr, &m, &vaddr), 0);
	assert_int_equal(ht_module_symbol(m, vaddr, &sym), name ? 0 : -HT_ENOTFOUND);
	if (name)
		assert_string_equal(sym.name, name);
}

static void
at_its_time(void **state)
{
	struct fixture *x = *state;
	struct file f;

	head(&f, HT_JIT_TICKS);
	load(&f, 100, 0x1000, 1, "early", "abcd");
	load(&f, 200, 0x1002, 2, "late", "uvwx"); /* over its end */
	move(&f, 300, 0x1002, 0x4000, 4, 2);
	mark(x, 50, &f);
	x->fake.container.info.clock = (struct ht_clock){ .valid = 1, .mult = 2, .zero = 1000 };
	go(x);
	shows(x, 0x1000, NULL, NULL);
	/* Until other code came there, the code is there from the mark on. */
	ht_view_advance(x->v, 50);
	shows(x, 0x1000, "abcd", "early");
	shows(x, 0x1003, "d", "early");
	shows(x, 0x1004, NULL, NULL);
	shows(x, 0x4000, "uvwx", "late");
	/* 200 ticks are 1400 ns. */
	assert_int_equal(ht_view_advance(x->v, 1399), 0);
	shows(x, 0x1000, "abcd", "early");
	assert_int_equal(ht_view_advance(x->v, 1400), 1);
	shows(x, 0x1000, "abuvwx", "early");
	shows(x, 0x1002, "uvwx", "late");
	assert_int_equal(ht_session_diag(x->s, NULL, NULL)->error, 0);
}

/* Memory that is written and run in turn keeps its code; a file in its place ends it. */
static void
goes_with_its_memory(void **state)
{
	struct fixture *x = *state;
	struct file f;

	head(&f, HT_JIT_TICKS);
	load(&f, 10, 0x1ffe, 1, "one", "abcd");
	load(&f, 10, 0x3000, 1, "two", "efgh");
	mark(x, 5, &f);
	fake_unmap(&x->fake, 20, 77, 0x1000, 0x4000);
	fake_map(&x->fake, 30, 77, 0x1000, 0x1000, 0x1000, "//anon");
	fake_map(&x->fake, 40, 77, 0x3000, 0x1000, 0, "/nonexistent");
	fake_map(&x->fake, 50, 77, 0x2000, 0x3000, 0x2000, "//anon");
	go(x);
	ht_view_advance(x->v, 10);
	shows(x, 0x1ffe, "abcd", "one");
	ht_view_advance(x->v, 20);
	assert_int_equal(ht_view_read(x->v, 0x1ffe, (char[1]){ 0 }, 1), 0);
	ht_view_advance(x->v, 30);
	shows(x, 0x1ffe, "ab", "one");
	assert_int_equal(ht_view_read(x->v, 0x2000, (char[1]){ 0 }, 1), 0);
	ht_view_advance(x->v, 50);
	shows(x, 0x1ffe, "abcd", "one");
	shows(x, 0x3000, NULL, NULL);
}

/* Bytes that the recorder saw are what ran; the name is the program's. */
static void
recorded_bytes_win(void **state)
{
	struct fixture *x = *state;
	struct file f;

	head(&f, HT_JIT_TICKS);
	load(&f, 20, 0x1000, 1, "one", "abcd");
	mark(x, 5, &f);
	fake_code(&x->fake, 10, 77, 0x1001, "XY", 2);
	go(x);
	ht_view_advance(x->v, 30);
	shows(x, 0x1000, "aXYd", "one");
}

static void
fork_and_exec(void **state)
{
	struct fixture *x = *state;
	struct file f;

	head(&f, HT_JIT_TICKS);
	load(&f, 10, 0x1000, 1, "one", "abcd");
	mark(x, 5, &f);
	fake_fork(&x->fake, 20, 88, 88, 77, 77);
	fake_comm(&x->fake, 30, 77, 77, "other", 1);
	fake_map(&x->fake, 30, 77, 0x1000, 0x4000, 0x1000, "//anon");
	go(x);
	ht_view_advance(x->v, 30);
	shows(x, 0x1000, NULL, NULL);
	assert_int_equal(ht_view_switch(x->v, 88, 30), 0);
	shows(x, 0x1000, "abcd", "one");
}

/* By another clock than the capture's: told only where it matters. */
static void
other_clock(void **state)
{
	struct fixture *x = *state;
	struct file f;

	head(&f, 0);
	load(&f, 10, 0x1000, 1, "one", "abcd");
	mark(x, 5, &f);
	go(x);
	assert_null(ht_session_gap(x->s, 0));
	ht_view_free(x->v);
	ht_session_close(x->s);
	load(&f, 20, 0x1000, 2, "two", "abcd");
	write_file(x->path, f.at, f.n);
	go(x);
	assert_non_null(ht_session_gap(x->s, 0));
	assert_int_equal(ht_session_gap(x->s, 0)->kind, HT_GAP_DAMAGED);
	assert_non_null(strstr(ht_session_gap(x->s, 0)->why, "another clock"));
	ht_view_free(x->v);
	ht_session_close(x->s);
	x->fake.container.info.monotonic = 1;
	go(x);
	assert_null(ht_session_gap(x->s, 0));
}

/* A jitdump that is not what its name says is a loss, and no more. */
static void
no_jitdump(void **state)
{
	struct fixture *x = *state;
	struct file f;
	uint64_t damaged;

	head(&f, 0);
	f.at[12] = EM_AARCH64; /* of another machine */
	load(&f, 10, 0x1000, 1, "one", "abcd");
	mark(x, 5, &f);
	x->fake.container.info.arch = HT_ARCH_X86_64;
	go(x);
	assert_int_equal(ht_session_diag(x->s, &damaged, NULL)->error, HT_EUNSUPPORTED);
	assert_int_equal(damaged, 1);
	ht_view_advance(x->v, 30);
	shows(x, 0x1000, NULL, NULL);
}

static void
not_there(void **state)
{
	struct fixture *x = *state;
	const char *why;

	mark(x, 5, NULL);
	go(x);
	ht_view_advance(x->v, 30);
	assert_int_equal(ht_view_why(x->v, 0x1000, &why), HT_GAP_NO_CODE);
	assert_non_null(strstr(why, "jit-77.dump"));
	assert_non_null(strstr(why, "not found"));
}

/* Functions and lines as from debug information; direct branches lead where they led in memory. */
static void
lines_and_targets(void **state)
{
	struct fixture *x = *state;
	const struct ht_line_function *fn;
	const struct ht_line_row *row;
	struct ht_mapping map;
	struct ht_lines *l;
	struct file f;
	size_t at[2];
	uint32_t n;

	everything(&f, at);
	mark(x, 5, &f);
	go(x);
	ht_view_advance(x->v, 30);
	assert_int_equal(ht_view_find(x->v, 0x1000, &map), 0);
	assert_int_equal(map.pgoff, at[0]);
	assert_int_equal(ht_module_lines(map.module, &l, NULL), 0);
	row = ht_lines_find(l, at[0] + 1);
	assert_int_equal(row->line, 7);
	assert_string_equal(ht_lines_file(l, row->file), "/src/a.js");
	row = ht_lines_find(l, at[0] + 3);
	assert_int_equal(row->line, 2);
	assert_int_equal(row->end, at[0] + 4);
	assert_null(ht_lines_find(l, at[1]));
	fn = ht_lines_functions(l, &n);
	assert_int_equal(n, 1);
	assert_string_equal(fn->name, "one");
	assert_int_equal(fn->line, 7);
	ht_lines_close(l);
	/* From `two` at 0x1800 to `one`, which was moved, and past all that there is. */
	assert_int_equal(ht_module_target(map.module, at[1], at[1] + 1), at[1] + 1);
	assert_int_equal(ht_module_target(map.module, at[1], at[1] - 0x800 + 2), at[0] + 2);
	assert_int_equal(ht_module_target(map.module, at[1], at[1] - 0x900), UINT64_MAX);
	assert_int_equal(ht_module_target(map.module, at[0], at[0] + 0x800), UINT64_MAX);
}

/* -- perf's map of names ---------------------------------------------------------- */

static void
map_of_names(void **state)
{
	static const char text[] = "1000 10 first one\n"
				   "2000 20 old\n"
				   "bad line\n"
				   "3000\n"
				   "zz 10 x\n"
				   "4000 0 empty\n"
				   "11112222333344445 1 long\n"
				   "0x1008 0x8 inner\n"
				   "2000 10 new\n"
				   "FFFFFFFFFFFFFFFF 10 beyond\n"
				   "5000 10 the last, without an end";
	static const char *const want[] = { "first one", "inner", "new",
		                            "the last, without an end" };
	struct ht_module m = { 0 };

	(void)state;
	for (size_t n = sizeof(text) - 1; n; n--) { /* and each prefix, in a block of its size */
		char *exact = malloc(n);

		memcpy(exact, text, n);
		m = (struct ht_module){ .file = { .data = (uint8_t *)exact, .size = n } };
		ht_perfmap_symbols(&m);
		for (size_t i = 1; i < m.symbols.n; i++)
			assert_true(m.symbols.at[i - 1].start < m.symbols.at[i].start);
		if (n == sizeof(text) - 1) {
			assert_int_equal(m.symbols.n, 4);
			for (unsigned i = 0; i < 4; i++)
				assert_string_equal(m.symbols.at[i].name, want[i]);
			assert_int_equal(m.symbols.at[2].size, 0x10);
		}
		ht_module_symbols_free(&m);
		free(exact);
	}
}

/* Of this process, which is what the capture claims to be of. */
static void
names_of_memory(void **state)
{
	struct fixture *x = *state;
	char path[64];
	const char *why;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	write_file(path, "1010 10 named\n", 14);
	fake_map(&x->fake, 0, getpid(), 0x1000, 0x1000, 0, "//anon");
	fake_map(&x->fake, 0, getpid(), 0x8000, 0x1000, 0, "[vdso]");
	fake_code(&x->fake, 1, getpid(), 0x1010, "abcd", 4);
	x->s = fake_session(&x->fake, NULL);
	assert_int_equal(ht_view_new(x->s, getpid(), &x->v), 0);
	unlink(path);
	ht_view_advance(x->v, 1);
	shows(x, 0x1010, "abcd", "named");
	shows(x, 0x101f, NULL, "named");
	shows(x, 0x1020, NULL, NULL);
	assert_int_equal(ht_view_why(x->v, 0x1018, &why), HT_GAP_NO_CODE);
	assert_non_null(strstr(why, "[jit]"));
	ht_view_free(x->v);
	ht_session_close(x->s);
	/* Of another machine it says nothing. */
	write_file(path, "1010 10 named\n", 14);
	x->fake.container.info.hostname = "elsewhere.invalid";
	x->s = fake_session(&x->fake, NULL);
	assert_int_equal(ht_view_new(x->s, getpid(), &x->v), 0);
	unlink(path);
	ht_view_advance(x->v, 1);
	shows(x, 0x1010, "abcd", NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_records),
		cmocka_unit_test(every_prefix),
		cmocka_unit_test(refused),
		cmocka_unit_test(damaged_records),
		cmocka_unit_test(names),
		cmocka_unit_test_setup_teardown(at_its_time, setup, teardown),
		cmocka_unit_test_setup_teardown(goes_with_its_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(recorded_bytes_win, setup, teardown),
		cmocka_unit_test_setup_teardown(fork_and_exec, setup, teardown),
		cmocka_unit_test_setup_teardown(other_clock, setup, teardown),
		cmocka_unit_test_setup_teardown(no_jitdump, setup, teardown),
		cmocka_unit_test_setup_teardown(not_there, setup, teardown),
		cmocka_unit_test_setup_teardown(lines_and_targets, setup, teardown),
		cmocka_unit_test(map_of_names),
		cmocka_unit_test_setup_teardown(names_of_memory, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
