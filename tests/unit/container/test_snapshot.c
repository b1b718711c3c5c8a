/* SPDX-License-Identifier: BSD-2-Clause */
/* CoreSight snapshots made here: what is read, which field is named when it cannot be, every prefix. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "container/reader.h"

static char folder[64];

static const char *const names[] = { "snapshot.ini", "trace.ini", "core.ini", "core2.ini",
	                             "etm.ini",      "one.bin",   "two.bin",  "dump.bin" };

static const char whole[] =
    "; made by hand\n[snapshot]\nversion=1.0\n\n[device_list]\ndevice0=core.ini\n"
    "device1 = core2.ini\r\ndevice2=etm.ini\n[trace]\nmetadata=trace.ini\n";
static const char trace[] =
    "[trace_buffers]\nbuffers=b0, b1\n[b0]\nname=ETB_1\nfile=one.bin\nformat=coresight\n"
    "[b1]\nname=ETB_10\nfile=two.bin\n[source_buffers]\nETM_0=ETB_1\nETM_1=ETB_1,ETB_10\n"
    "[core_trace_sources]\ncpu_0=ETM_0\ncpu_3=ETM_1\n";
static const char core[] =
    "[device]\nname=cpu_0\nclass=core\ntype=Cortex-A53\n[dump1]\nfile=dump.bin\n"
    "address=0x1000\nlength=0x10\noffset=4\n[dump2]\nfile=/no/such\naddress=0x2000\nlength=8\n";
static const char core2[] =
    "[device]\nname=cpu_3\nclass=core\n[dump1]\nfile=dump.bin\naddress=4096\nlength=16\noffset=4\n"
    "[dump7]\nfile=dump.bin\naddress=0x3000\n";
static const char etm[] =
    "[device]\nname=ETM_0\nclass=trace_source\ntype=ETM4\n[regs]\nTRCTRACEIDR(id:0x10)=0x10\n";

static void
put_file(const char *name, const char *text)
{
	char path[160];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
	assert_int_equal(fclose(f), 0);
}

static int
make_folder(void **state)
{
	const char *const texts[] = { whole, trace,   core,         core2,
		                      etm,   "first", "the second", "0123456789abcdefghijkl" };

	(void)state;
	strcpy(folder, "/tmp/hwtrace-snapshot.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	for (unsigned i = 0; i < 8; i++)
		put_file(names[i], texts[i]);
	return 0;
}

static int
remove_folder(void **state)
{
	char path[160];

	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	return rmdir(folder);
}

static void
expect_map(struct ht_container *c, uint64_t addr, uint64_t len, uint64_t off, const char *name)
{
	struct ht_record r;

	assert_int_equal(ht_container_next(c, &r), 1);
	assert_int_equal(r.kind, HT_REC_MMAP);
	assert_int_equal(r.u.map.addr, addr);
	assert_int_equal(r.u.map.len, len);
	assert_int_equal(r.u.map.pgoff, off);
	assert_string_equal(strrchr(r.u.map.path, '/') + 1, name);
}

static void
test_all(void **state)
{
	struct ht_container *c;
	struct ht_record r;
	const struct ht_stream *s;

	(void)state;
	assert_int_equal(ht_container_open(folder, NULL, &c, NULL), 0);
	assert_string_equal(ht_container_info(c)->format, "CoreSight snapshot");
	assert_int_equal(ht_container_info(c)->source, HT_SOURCE_CORESIGHT);
	assert_int_equal(ht_container_info(c)->arch, HT_ARCH_AARCH64);
	/* What both cores have is there once; without a length it is the file. */
	expect_map(c, 0x1000, 0x10, 4, "dump.bin");
	expect_map(c, 0x2000, 8, 0, "such");
	expect_map(c, 0x3000, 22, 0, "dump.bin");
	assert_int_equal(ht_container_next(c, &r), 0);
	ht_container_rewind(c);
	assert_int_equal(ht_container_next(c, &r), 1);
	/* Two sessions: the first of two cores, the second of one. */
	assert_int_equal(ht_container_stream_count(c), 2);
	s = ht_container_stream(c, 0);
	assert_int_equal(s->cpu, -1);
	assert_int_equal(s->bytes, 5);
	assert_memory_equal(s->chunks[0].data, "first", 5);
	s = ht_container_stream(c, 1);
	assert_int_equal(s->cpu, 3);
	assert_int_equal(s->bytes, 10);
	assert_memory_equal(s->chunks[0].data, "the second", 10);
	ht_container_close(c);
}

/* One file is replaced: the error names file and field. */
static void
test_damaged(void **state)
{
	static const struct {
		const char *name, *text, *word;
		int error;
	} cases[] = {
		{ "snapshot.ini", "[snapshot]\nversion=2.0\n", "snapshot.version",
		  HT_EUNSUPPORTED },
		{ "snapshot.ini", "[snapshot]\nversion=1.0\n", "trace.metadata", HT_EFORMAT },
		{ "snapshot.ini",
		  "[snapshot]\n[device_list]\ndevice7=none.ini\n[trace]\nmetadata=trace.ini\n",
		  "device_list.device7", HT_EIO },
		{ "snapshot.ini", "[snapshot]\n[trace]\nmetadata=none.ini\n", "trace.metadata",
		  HT_EIO },
		{ "trace.ini", "[trace_buffers]\n", "trace_buffers.buffers", HT_EFORMAT },
		{ "trace.ini", "[trace_buffers]\nbuffers=b\n[b]\nname=x\n", "b", HT_EFORMAT },
		{ "core.ini", "[device]\nname=x\n", "device", HT_EFORMAT },
		{ "core.ini", "[device]\nname=x\nclass=core\n[dump3]\nfile=f\n", "dump3.file",
		  HT_EFORMAT },
		{ "core.ini",
		  "[device]\nname=x\nclass=core\n[dump3]\nfile=f\naddress=0\nlength=no\n",
		  "dump3.file", HT_EFORMAT },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct ht_diag diag = { 0 };
		struct ht_container *c = NULL;

		put_file(cases[i].name, cases[i].text);
		assert_int_equal(ht_container_open(folder, NULL, &c, &diag), -cases[i].error);
		assert_null(c);
		assert_string_equal(diag.field, cases[i].word);
		assert_string_not_equal(diag.text, "");
		put_file("snapshot.ini", whole);
		put_file("trace.ini", trace);
		put_file("core.ini", core);
	}
}

/* Each of the texts cut short, in turn. */
static void
test_every_prefix(void **state)
{
	const char *const texts[] = { whole, trace, core, core2, etm };
	unsigned opened = 0;

	(void)state;
	for (unsigned k = 0; k < 5; k++) {
		char cut[1024];

		for (size_t n = 0; n < strlen(texts[k]); n++) {
			struct ht_diag diag = { 0 };
			struct ht_container *c = NULL;
			struct ht_record r;

			snprintf(cut, sizeof(cut), "%.*s", (int)n, texts[k]);
			put_file(names[k], cut);
			if (ht_container_open(folder, NULL, &c, &diag) < 0) {
				assert_string_not_equal(diag.text, "");
				continue;
			}
			opened++;
			while (ht_container_next(c, &r) > 0)
				assert_non_null(r.u.map.path);
			ht_container_close(c);
		}
		put_file(names[k], texts[k]);
	}
	assert_true(opened > 50);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_every_prefix),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
