/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What perf needs of the order of sideband and trace, by a capture of two
 * processes whose packets are written by hand:
 *
 *	parent  call, ret, jcc, fork | mmap lib1, call into it | mmap lib2 over it, call | ...
 *	child   jcc, exec | the new program lies where the old one was
 *
 * and the instructions perf makes of it; then what perf says of the file besides.
 * Skipped where perf is not installed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "container/perfdata_writer.h"
#include "container/pt_bytes.h"

#define PARENT 1000
#define CHILD  1001
#define BASE   0x400000ull
#define MAIN   (BASE + 0x1000)
#define LIB    0x7f0000001000ull
#define START  0x10000000ull /* TSC */

static const struct ht_clock clock_perf = { 1, 31, 581029125, 18444502336406842448ull };

/* call 20; xor; je 0b; nop nop; 0b: syscall; test; je 17; 11: syscall; call *rax; jmp 11; 17:
 * syscall; 20: nop; ret */
static const uint8_t code_main[] = {
	0xe8, 0x1b, 0, 0, 0, 0x31, 0xc0, 0x74, 2, 0x90, 0x90, 0x0f, 5, 0x85, 0xc0, 0x74, 6, 0x0f, 5,
	0xff, 0xd0, 0xeb, 0xfa, 0x0f, 5, 0, 0, 0, 0, 0, 0, 0, 0x90, 0xc3
};
static const uint8_t code_lib1[] = { 0x90, 0xeb, 0, 0xc3 };          /* nop; jmp; ret */
static const uint8_t code_lib2[] = { 0x31, 0xc0, 0xc3 };             /* xor; ret */
static const uint8_t code_prog[] = {
	0x90, 0x90, 0x74, 1, 0x90, 0x0f, 5
}; /* nop nop; je; nop; syscall */

static const char want_parent[] =
	"401000 401020 401021 401005 401007 40100b 40100d 40100f 401011 "
	"401013 7f0000001000 7f0000001001 7f0000001003 401015 401011 "
	"401013 7f0000001000 7f0000001002 401015 401011 ";
static const char want_child[] = "40100d 40100f 401017 401000 401001 401002 401004 401005 ";

struct variant {
	int tsc_after_pge; /* the TSC of a syscall's end stands after the TIP.PGE */
	int stamp;         /* stamp of the records minus that TSC, in ticks */
	int unmap;         /* 1: munmap before lib2, 2: munmap and no lib2 */
};

struct made {
	char dir[64], file[80];
	struct ht_perf_writer *w;
};

static char made_dir[64]; /* the folder of the test at hand */

static void
put(struct made *m, struct ht_record rec)
{
	assert_int_equal(ht_perf_writer_record(m->w, &rec), 0);
}

static uint64_t
ns(uint64_t tsc)
{
	return ht_clock_tsc_to_ns(&clock_perf, tsc);
}

static void
put_map(struct made *m, int pid, uint64_t time, uint64_t addr, const char *name, uint8_t id)
{
	struct ht_record r = { .kind = HT_REC_MMAP, .pid = pid, .tid = pid, .time = time };
	char path[96];

	snprintf(path, sizeof(path), "%s/%s", m->dir, name);
	r.u.map.addr = addr;
	r.u.map.len = 0x1000;
	r.u.map.pgoff = 0x1000;
	r.u.map.flags = HT_MAP_EXEC;
	r.u.map.path = path;
	r.u.map.build_id_size = 20;
	memset(r.u.map.build_id, id, 20);
	put(m, r);
}

static void
make_elf(struct made *m, const char *name, uint64_t base, const uint8_t *code, size_t size,
         uint8_t id)
{
	char path[96];
	uint8_t ids[20];

	memset(ids, id, sizeof(ids));
	snprintf(path, sizeof(path), "%s/%s", m->dir, name);
	elf_make(path, base, code, size, ids);
}

/* The end of a syscall. */
static void
resume(struct pt_bytes *b, const struct variant *v, uint64_t tsc, uint64_t ip)
{
	if (!v->tsc_after_pge)
		pt_tsc(b, tsc);
	pt_pge(b, ip);
	if (v->tsc_after_pge)
		pt_tsc(b, tsc);
}

static void
make_records(struct made *m, const struct variant *v)
{
	uint64_t t;

	put(m, (struct ht_record){
		   .kind = HT_REC_COMM, .pid = PARENT, .tid = PARENT, .u.comm = { "main", 1 } });
	put_map(m, PARENT, 0, MAIN, "main.elf", 0x10);
	put(m, (struct ht_record){ .kind = HT_REC_FORK,
	                           .pid = CHILD,
	                           .tid = CHILD,
	                           .time = ns(START + 1000),
	                           .u.fork = { PARENT, PARENT } });
	t = ns(START + 1500 + (uint64_t)v->stamp);
	put_map(m, PARENT, t, LIB, "lib1.so", 0x11);
	t = ns(START + 2000 + (uint64_t)v->stamp);
	put(m, (struct ht_record){ .kind = HT_REC_COMM, .pid = CHILD, .tid = CHILD, .time = t,
	                           .u.comm = { "prog", 1 } });
	put_map(m, CHILD, t, MAIN, "prog", 0x13);
	t = ns(START + 3000 + (uint64_t)v->stamp);
	if (v->unmap)
		put(m, (struct ht_record){ .kind = HT_REC_MUNMAP,
		                           .pid = PARENT,
		                           .tid = PARENT,
		                           .time = t,
		                           .u.unmap = { LIB, 0x1000 } });
	if (v->unmap < 2)
		put_map(m, PARENT, t, LIB, "lib2.so", 0x12);
	put(m, (struct ht_record){ .kind = HT_REC_CODE, .pid = PARENT, .tid = PARENT, .time = t,
	                           .u.code = { MAIN, 0, sizeof(code_main), code_main } });
	put(m, (struct ht_record){ .kind = HT_REC_EXIT,
	                           .pid = CHILD,
	                           .tid = CHILD,
	                           .time = ns(START + 4000),
	                           .u.exit = { PARENT, PARENT } });
	put(m, (struct ht_record){ .kind = HT_REC_EXIT,
	                           .pid = PARENT,
	                           .tid = PARENT,
	                           .time = ns(START + 5000),
	                           .u.exit = { 1, 1 } });
}

static void
make_trace(struct made *m, const struct variant *v)
{
	struct pt_bytes a = { 0 }, b = { 0 };

	pt_psb(&a, START + 100);
	pt_pge(&a, MAIN);
	pt_tnt(&a, "TT");
	pt_pgd(&a);
	resume(&a, v, START + 1050, MAIN + 0xd);
	pt_tnt(&a, "N");
	pt_pgd(&a);
	resume(&a, v, START + 1500, MAIN + 0x13);
	pt_tip(&a, LIB);
	pt_tnt(&a, "T");
	pt_pgd(&a);
	assert_int_equal(ht_perf_writer_trace(m->w, 0, PARENT, PARENT, ns(START + 1600), 0, a.at, 7,
	                                      a.at + 7, a.n - 7), 0);
	a.n = 0;
	resume(&a, v, START + 3000, MAIN + 0x13);
	pt_tip(&a, LIB);
	pt_tnt(&a, "T");
	pt_pgd(&a);
	pt_psb(&b, START + 1060);
	pt_pge(&b, MAIN + 0xd);
	pt_tnt(&b, "T");
	pt_pgd(&b);
	resume(&b, v, START + 2000, MAIN);
	pt_tnt(&b, "N");
	pt_pgd(&b);
	assert_int_equal(
	    ht_perf_writer_trace(m->w, 1, CHILD, CHILD, ns(START + 4000), 0, b.at, b.n, NULL, 0),
	    0);
	assert_int_equal(
	    ht_perf_writer_trace(m->w, 0, PARENT, PARENT, ns(START + 5000), 0, a.at, a.n, NULL, 0),
	    0);
}

static void
make(struct made *m, const struct variant *v)
{
	char *const argv[] = { "hwtrace", "record", NULL };
	const struct ht_perf_writer_config config = { .clock = clock_perf,
		                                      .backend = "qemu",
		                                      .software = 1,
		                                      .ret_compression = 1,
		                                      .argv = argv };
	struct ht_diag diag;

	strcpy(m->dir, "/tmp/hwtrace-order.XXXXXX");
	assert_non_null(mkdtemp(m->dir));
	strcpy(made_dir, m->dir);
	make_elf(m, "main.elf", BASE, code_main, sizeof(code_main), 0x10);
	make_elf(m, "lib1.so", 0, code_lib1, sizeof(code_lib1), 0x11);
	make_elf(m, "lib2.so", 0, code_lib2, sizeof(code_lib2), 0x12);
	make_elf(m, "prog", BASE, code_prog, sizeof(code_prog), 0x13);
	snprintf(m->file, sizeof(m->file), "%s/perf.data", m->dir);
	assert_int_equal(ht_perf_writer_open(m->file, &config, &m->w, &diag), 0);
	make_records(m, v);
	make_trace(m, v);
	assert_int_equal(ht_perf_writer_finish(m->w, &diag), 0);
}

static void
unmake(const struct made *m)
{
	char line[128];

	snprintf(line, sizeof(line), "rm -rf %s", m->dir);
	assert_int_equal(system(line), 0);
	made_dir[0] = 0;
}

/* What a test that failed halfway left behind. */
static int
clean(void **state)
{
	char line[128];

	(void)state;
	if (!made_dir[0])
		return 0;
	snprintf(line, sizeof(line), "rm -rf %s", made_dir);
	made_dir[0] = 0;
	return system(line);
}

static void
read_command(const struct made *m, const char *command, char *buf, size_t size)
{
	char line[256];
	FILE *f;
	size_t n;

	snprintf(line, sizeof(line), command, m->file);
	f = popen(line, "r");
	assert_non_null(f);
	n = fread(buf, 1, size - 1, f);
	buf[n] = 0;
	assert_int_equal(pclose(f), 0);
}

/* Addresses of thread `tid` in the lines "tid ip", joined by blanks. */
static void
pick(const char *text, int tid, char *buf, size_t size)
{
	size_t used = 0;

	buf[0] = 0;
	while (*text) {
		char ip[32];
		int t;

		if (sscanf(text, "%d %31s", &t, ip) == 2 && t == tid)
			used += (size_t)snprintf(buf + used, size - used, "%s ", ip);
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
}

/* What perf makes of the variant; 1 when there were no decode errors. */
static int
decode(const struct variant *v, char parent[1024], char child[1024])
{
	struct made m;
	char text[8192];
	int flawless;

	make(&m, v);
	read_command(&m, "perf script -i %s --itrace=i1i -F tid,ip 2>/dev/null", text,
	             sizeof(text));
	pick(text, PARENT, parent, 1024);
	pick(text, CHILD, child, 1024);
	read_command(&m, "perf script -i %s --itrace=e -F tid,ip 2>/dev/null", text, sizeof(text));
	flawless = !*text;
	unmake(&m);
	return flawless;
}

static void
need_perf(void)
{
	if (system("perf version >/dev/null 2>&1")) {
		print_message("skip test_perf_order: perf is not installed\n");
		skip();
	}
}

static void
expect_all(const struct variant *v)
{
	char parent[1024], child[1024];
	int flawless;

	need_perf();
	flawless = decode(v, parent, child);
	assert_string_equal(parent, want_parent);
	assert_string_equal(child, want_child);
	assert_true(flawless);
}

static void
test_stamp_before_tsc(void **state)
{
	(void)state;
	expect_all(&(struct variant){ .stamp = -10 });
}

static void
test_stamp_equals_tsc(void **state)
{
	(void)state;
	expect_all(&(struct variant){ .stamp = 0 });
}

static void
test_munmap_then_mmap(void **state)
{
	(void)state;
	expect_all(&(struct variant){ .stamp = 0, .unmap = 1 });
}

static void
test_munmap_takes_code_away(void **state)
{
	char parent[1024], child[1024];

	(void)state;
	need_perf();
	assert_false(decode(&(struct variant){ .unmap = 2 }, parent, child));
	assert_null(strstr(parent, "7f0000001002"));
	assert_string_equal(child, want_child);
}

/* The two mistakes that the rule in perfdata_writer.h is about: perf loses code with either. */
static void
test_stamp_after_tsc_loses(void **state)
{
	char parent[1024], child[1024];

	(void)state;
	need_perf();
	assert_false(decode(&(struct variant){ .stamp = 10 }, parent, child));
	assert_string_not_equal(parent, want_parent);
	assert_string_not_equal(child, want_child);
}

static void
test_tsc_after_pge_loses_exec(void **state)
{
	char parent[1024], child[1024];

	(void)state;
	need_perf();
	assert_false(decode(&(struct variant){ .tsc_after_pge = 1, .stamp = -10 }, parent, child));
	assert_string_equal(parent, want_parent);
	assert_string_not_equal(child, want_child);
}

/* -- what else perf says of the file ------------------------------------------------ */

/* In the order in which perf lists them: by time, those of time 0 first. */
static const char *const want_dump[] = {
	"PERF_RECORD_AUXTRACE_INFO type: 1",
	"PERF_RECORD_TIME_CONV",
	"PERF_RECORD_COMM exec: main:1000/1000",
	"PERF_RECORD_MMAP2 1000/1000: [0x401000(0x1000) @ 0x1000 "
	"<1010101010101010101010101010101010101010>]: r-xp ",
	"PERF_RECORD_AUXTRACE size: 0x50  offset: 0  ref: 0x1000063e  idx: 0  tid: 1000  cpu: -1",
	"PERF_RECORD_AUXTRACE size: 0x38  offset: 0  ref: 0x10000f9c  idx: 1  tid: 1001  cpu: -1",
	"PERF_RECORD_AUXTRACE size: 0x18  offset: 0x50  ref: 0x10001386  idx: 0  tid: 1000  cpu: "
	"-1",
	"PERF_RECORD_FORK(1001:1001):(1000:1000)",
	"PERF_RECORD_MMAP2 1000/1000: [0x7f0000001000(0x1000) @ 0x1000 "
	"<1111111111111111111111111111111111111111>]: r-xp ",
	"PERF_RECORD_AUX offset: 0 size: 0x50 flags: 0 []",
	"PERF_RECORD_COMM exec: prog:1001/1001",
	"PERF_RECORD_MMAP2 1001/1001: [0x401000(0x1000) @ 0x1000 "
	"<1313131313131313131313131313131313131313>]: r-xp ",
	"PERF_RECORD_MMAP2 1000/1000: [0x7f0000001000(0x1000) @ 0 00:00 0 0]: ---p "
	"[hwtrace:unmapped]",
	"PERF_RECORD_MMAP2 1000/1000: [0x7f0000001000(0x1000) @ 0x1000 "
	"<1212121212121212121212121212121212121212>]: r-xp ",
	"PERF_RECORD_TEXT_POKE 401000  old len 0 new len 34",
	"PERF_RECORD_EXIT(1001:1001):(1000:1000)",
	"PERF_RECORD_AUX offset: 0 size: 0x38 flags: 0 []",
	"PERF_RECORD_EXIT(1000:1000):(1:1)",
	"PERF_RECORD_AUX offset: 0x50 size: 0x18 flags: 0 []",
};

static void
test_perf_lists_the_records(void **state)
{
	static char text[65536];
	const char *at = text;
	struct made m;

	(void)state;
	need_perf();
	make(&m, &(struct variant){ .unmap = 1 });
	read_command(&m, "perf report -D -i %s 2>/dev/null | grep -o 'PERF_RECORD_.*'", text,
	             sizeof(text));
	for (unsigned i = 0; i < sizeof(want_dump) / sizeof(want_dump[0]); i++) {
		assert_memory_equal(at, want_dump[i], strlen(want_dump[i]));
		at += strcspn(at, "\n");
		at += *at == '\n';
	}
	assert_string_equal(at, "");
	unmake(&m);
}

static void
test_perf_lists_build_ids(void **state)
{
	static const struct { const char *name; char digit; } files[] = {
		{ "main.elf", '0' }, { "lib1.so", '1' }, { "prog", '3' }, { "lib2.so", '2' }
	};
	char text[1024], want[1024];
	size_t n = 0;
	struct made m;

	(void)state;
	need_perf();
	make(&m, &(struct variant){ .unmap = 1 });
	for (unsigned i = 0; i < 4; i++) {
		for (unsigned j = 0; j < 20; j++)
			n += (size_t)sprintf(want + n, "1%c", files[i].digit);
		n += (size_t)sprintf(want + n, " %s/%s\n", m.dir, files[i].name);
	}
	read_command(&m, "perf buildid-list -i %s 2>/dev/null; echo", text, sizeof(text));
	text[strlen(want)] = 0; /* perf ends the list without a line feed */
	assert_string_equal(text, want);
	unmake(&m);
}

static void
test_perf_reads_the_header(void **state)
{
	static char text[16384];
	static const char *const lines[] = {
		"# cpudesc : software trace unit (qemu): branches exact, times emulated; on ",
		"# cmdline : hwtrace record ",
		"# contains AUX area data",
		"# pmu mappings: software = 1, intel_pt = 8",
		"# perf version : hwtrace " HT_VERSION,
		"# event : name = intel_pt//u, ",
		"# event : name = dummy:u, ",
	};
	struct made m;

	(void)state;
	need_perf();
	make(&m, &(struct variant){ 0 });
	read_command(&m, "perf report --header-only -i %s 2>&1", text, sizeof(text));
	for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (!strstr(text, lines[i]))
			fail_msg("no '%s' in:\n%s", lines[i], text);
	unmake(&m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_stamp_before_tsc, clean),
		cmocka_unit_test_teardown(test_stamp_equals_tsc, clean),
		cmocka_unit_test_teardown(test_munmap_then_mmap, clean),
		cmocka_unit_test_teardown(test_munmap_takes_code_away, clean),
		cmocka_unit_test_teardown(test_stamp_after_tsc_loses, clean),
		cmocka_unit_test_teardown(test_tsc_after_pge_loses_exec, clean),
		cmocka_unit_test_teardown(test_perf_lists_the_records, clean),
		cmocka_unit_test_teardown(test_perf_lists_build_ids, clean),
		cmocka_unit_test_teardown(test_perf_reads_the_header, clean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
