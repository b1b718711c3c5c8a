/* SPDX-License-Identifier: BSD-2-Clause */
/* LLDB bundles from texts made here: what is read, and which field is named when it cannot be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/perf_event.h>

#include "container/reader.h"
#include "container/scratch.h"

#define CPU_INFO "\"cpuInfo\":{\"vendor\":\"GenuineIntel\",\"family\":6,\"model\":85,\"stepping\":4}"
#define CLOCK    "\"tscPerfZeroConversion\":{\"timeMult\":1000,\"timeShift\":10,\"timeZero\":\"0x10\"}"

static char folder[64];

static int
make_folder(void **state)
{
	(void)state;
	return scratch_make(folder, "bundle");
}

static int
remove_folder(void **state)
{
	(void)state;
	return scratch_remove(folder);
}

static int
open_text(const char *text, struct ht_container **c, struct ht_diag *diag)
{
	*c = NULL;
	memset(diag, 0, sizeof(*diag));
	scratch_put(folder, "trace.json", text, strlen(text));
	return ht_container_open(folder, NULL, c, diag);
}

/* -- reading ------------------------------------------------------------------------ */

static void
test_threads(void **state)
{
	struct ht_container *c;
	struct ht_diag diag;
	struct ht_record r;
	const struct ht_stream *s;

	(void)state;
	scratch_put(folder, "pt", "abc", 3);
	assert_int_equal(open_text("{\"type\":\"intel-pt\"," CPU_INFO ",\"processes\":[{\"pid\":7,\"threads\":["
	                           "{\"tid\":8,\"iptTrace\":\"pt\"}],\"modules\":[{\"systemPath\":\"/no/such\","
	                           "\"loadAddress\":\"0x7000\",\"uuid\":\"0aB1-c2\"}]}]}", &c, &diag), 0);
	assert_string_equal(ht_container_info(c)->format, "LLDB trace bundle");
	assert_int_equal(ht_container_info(c)->cpu.model, 85);
	assert_int_equal(ht_container_info(c)->clock.valid, 0);
	s = ht_container_stream(c, 0);
	assert_int_equal(s->pid, 7);
	assert_int_equal(s->tid, 8);
	assert_int_equal(s->bytes, 3);
	assert_memory_equal(s->chunks[0].data, "abc", 3);
	for (int pass = 0; pass < 2; pass++) {
		assert_int_equal(ht_container_next(c, &r), 1);
		assert_int_equal(r.kind, HT_REC_ITRACE_START);
		assert_int_equal(ht_container_next(c, &r), 1);
		assert_int_equal(r.kind, HT_REC_MMAP);
		assert_int_equal(r.u.map.addr, 0x7000);
		assert_string_equal(r.u.map.path, "/no/such");
		assert_int_equal(r.u.map.build_id_size, 3);
		assert_memory_equal(r.u.map.build_id, "\x0a\xb1\xc2", 3);
		assert_int_equal(ht_container_next(c, &r), 0);
		ht_container_rewind(c);
	}
	ht_container_close(c);
}

static size_t
put_switch(uint8_t *p, uint32_t type, uint16_t misc, const uint32_t *words, unsigned n, uint64_t time)
{
	uint16_t size = (uint16_t)(16 + n * 4);

	memcpy(p, &type, 4);
	memcpy(p + 4, &misc, 2);
	memcpy(p + 6, &size, 2);
	memcpy(p + 8, words, n * 4);
	memcpy(p + 8 + n * 4, &time, 8);
	return size;
}

#define BY_CPU "{\"type\":\"intel-pt\"," CPU_INFO "," CLOCK ",\"processes\":[{\"pid\":7,\"threads\":[{\"tid\":7}]," \
	       "\"modules\":[]}],\"cpus\":[{\"id\":3,\"iptTrace\":\"pt\",\"contextSwitchTrace\":\"sw\"}]}"

static void
test_cpus(void **state)
{
	static const uint32_t out[] = { 9, 10, 7, 7 }, in[] = { 7, 7 }, lost[] = { 1, 0, 5, 0, 0, 0 };
	uint8_t sw[128];
	size_t n = 0;
	struct ht_container *c;
	struct ht_diag diag;
	struct ht_record r;

	(void)state;
	n += put_switch(sw + n, PERF_RECORD_SWITCH, 0, in, 2, 100);
	n += put_switch(sw + n, PERF_RECORD_LOST, 0, lost, 6, 150);
	n += put_switch(sw + n, PERF_RECORD_SWITCH_CPU_WIDE, PERF_RECORD_MISC_SWITCH_OUT, out, 4, 200);
	scratch_put(folder, "pt", "", 0);
	scratch_put(folder, "sw", sw, n);
	assert_int_equal(open_text(BY_CPU, &c, &diag), 0);
	assert_int_equal(ht_container_info(c)->per_cpu, 1);
	assert_int_equal(ht_container_info(c)->clock.zero, 16);
	assert_int_equal(ht_container_stream(c, 0)->cpu, 3);
	assert_int_equal(ht_container_stream(c, 0)->tid, -1);
	assert_int_equal(ht_container_stream(c, 0)->n_chunks, 0);
	assert_int_equal(ht_container_next(c, &r), 1);
	assert_int_equal(ht_container_next(c, &r), 1);
	assert_int_equal(r.kind, HT_REC_SWITCH);
	assert_true(r.time == 100 && r.tid == 7 && r.cpu == 3 && !r.u.sw.out);
	assert_int_equal(ht_container_next(c, &r), 1);
	assert_true(r.time == 200 && r.u.sw.out && !r.u.sw.preempt && r.u.sw.next_prev_tid == 10);
	assert_int_equal(ht_container_next(c, &r), 0);
	ht_container_close(c);

	/* cut anywhere: refused, naming the member, but between two records */
	for (size_t cut = 0; cut < n; cut++) {
		int between = cut == 0 || cut == 24 || cut == 64;

		scratch_put(folder, "sw", sw, cut);
		assert_int_equal(open_text(BY_CPU, &c, &diag), between ? 0 : -HT_EFORMAT);
		if (!between)
			assert_string_equal(diag.field, "cpus[0].contextSwitchTrace");
		ht_container_close(c);
	}
}

/* A thread of a process of the bundle that its list lacks is told once, and switches are read. */
static void
test_unknown_thread(void **state)
{
	static const uint32_t in[] = { 7, 99 };
	uint8_t sw[64];
	struct ht_container *c;
	struct ht_diag diag;
	struct ht_record r;

	(void)state;
	scratch_put(folder, "pt", "", 0);
	scratch_put(folder, "sw", sw, put_switch(sw, PERF_RECORD_SWITCH, 0, in, 2, 100));
	assert_int_equal(open_text(BY_CPU, &c, &diag), 0);
	assert_int_equal(ht_container_next(c, &r), -HT_EFORMAT);
	assert_string_equal(ht_container_diag(c)->field, "processes.threads");
	assert_int_equal(ht_container_next(c, &r), 1);
	assert_int_equal(ht_container_next(c, &r), 1);
	assert_int_equal(r.tid, 99);
	assert_int_equal(ht_container_next(c, &r), 0);
	ht_container_close(c);
}

/* -- refusing ------------------------------------------------------------------------- */

#define HEAD "{\"type\":\"intel-pt\"," CPU_INFO ","

static void
test_bad_fields(void **state)
{
	static const struct { const char *text, *field; } rows[] = {
		{ "{}", "type" },
		{ "{\"type\":\"arm-etm\"}", "type" },
		{ "{\"type\":7}", "type" },
		{ "{\"type\":\"intel-pt\"}", "cpuInfo" },
		{ HEAD "\"processes\":{}}", "processes" },
		{ HEAD "\"processes\":[[]]}", "processes[0]" },
		{ HEAD "\"processes\":[{\"pid\":-1}]}", "processes[0].pid" },
		{ HEAD "\"processes\":[{\"pid\":1.5}]}", "processes[0].pid" },
		{ HEAD "\"processes\":[{\"pid\":4294967296}]}", "processes[0].pid" },
		{ HEAD "\"processes\":[{\"pid\":1}]}", "processes[0].threads" },
		{ HEAD "\"processes\":[{\"pid\":1,\"threads\":[{\"tid\":1}]}]}", "processes[0].threads[0].iptTrace" },
		{ HEAD "\"processes\":[{\"pid\":1,\"threads\":[{\"tid\":1,\"iptTrace\":\"none\"}]}]}",
		  "processes[0].threads[0].iptTrace" },
		{ HEAD "\"processes\":[{\"pid\":1,\"threads\":[{\"tid\":1,\"iptTrace\":\".\"}]}]}",
		  "processes[0].threads[0].iptTrace" },
		{ HEAD "\"processes\":[{\"pid\":1,\"threads\":[]}]}", "processes[0].modules" },
		{ HEAD "\"processes\":[{\"pid\":1,\"threads\":[],\"modules\":[{}]}]}",
		  "processes[0].modules[0].systemPath" },
		{ HEAD "\"processes\":[{\"pid\":1,\"threads\":[],\"modules\":[{\"systemPath\":\"x\","
		  "\"loadAddress\":\"12x\"}]}]}", "processes[0].modules[0].loadAddress" },
		{ HEAD "\"processes\":[{\"pid\":1,\"threads\":[],\"modules\":[{\"systemPath\":\"x\","
		  "\"loadAddress\":0,\"uuid\":\"xyz\"}]}]}", "processes[0].modules[0].uuid" },
		{ HEAD "\"processes\":[],\"cpus\":[]}", "tscPerfZeroConversion" },
		{ HEAD CLOCK ",\"processes\":[],\"cpus\":[{\"id\":1}]}", "cpus[0].iptTrace" },
		{ HEAD "\"tscPerfZeroConversion\":{\"timeMult\":1,\"timeShift\":64,\"timeZero\":0}}",
		  "tscPerfZeroConversion.timeShift" },
		{ HEAD "\"processes\":[],\"kernel\":{}}", "kernel.file" },
	};
	struct ht_container *c;
	struct ht_diag diag;

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int rc = open_text(rows[i].text, &c, &diag);

		if (rc != -HT_EFORMAT || strcmp(diag.field, rows[i].field))
			fail_msg("row %u: %d, field '%s', wanted '%s'", i, rc, diag.field, rows[i].field);
		assert_true(diag.text[0]);
	}
}

static void
test_every_prefix(void **state)
{
	static const char text[] = BY_CPU;
	struct ht_container *c;
	struct ht_diag diag;
	size_t whole = sizeof(text) - 1;

	(void)state;
	scratch_put(folder, "pt", "", 0);
	scratch_put(folder, "sw", "", 0);
	for (size_t n = 0; n < whole; n++) {
		scratch_put(folder, "trace.json", text, n);
		assert_int_equal(ht_container_open(folder, NULL, &c, &diag), -HT_EFORMAT);
		assert_true(diag.text[0]);
	}
	scratch_put(folder, "trace.json", "{\"type\":nonsense}", 17);
	assert_int_equal(ht_container_open(folder, NULL, &c, &diag), -HT_EFORMAT);
	assert_int_equal(diag.has_offset, 1);
	assert_int_equal(diag.offset, 9);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_threads, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_cpus, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_unknown_thread, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_bad_fields, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_every_prefix, make_folder, remove_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
