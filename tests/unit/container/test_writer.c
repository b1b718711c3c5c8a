/* SPDX-License-Identifier: BSD-2-Clause */
/* What the writer wrote is what the reader reads; and what is left when writing fails or stops. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <linux/perf_event.h>

#include "container/perf_build.h"
#include "container/perfdata_writer.h"

static char dir[64], file[80];

static const struct ht_clock perf_clock = { 1, 31, 581029125, 18444502336406842448ull };
static char *const argv[] = { "hwtrace", "record", "--", "./a b", NULL };
static const struct ht_perf_writer_config config = {
	.clock = { 1, 31, 581029125, 18444502336406842448ull },
	.backend = "qemu",
	.software = 1,
	.ret_compression = 1,
	.argv = argv,
	.cpu = { .vendor_intel = 1,
	         .family = 6,
	         .model = 85,
	         .stepping = 4,
	         .nom_freq = 37,
	         .tsc_ctc_num = 308,
	         .tsc_ctc_den = 2 },
};

static int
set_up(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/hwtrace-writer.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(file, sizeof(file), "%s/perf.data", dir);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	unlink(file);
	return rmdir(dir);
}

static struct ht_perf_writer *
start(const struct ht_perf_writer_config *with)
{
	struct ht_perf_writer *w = NULL;
	struct ht_diag diag;

	assert_int_equal(ht_perf_writer_open(file, with, &w, &diag), 0);
	return w;
}

static struct ht_container *
finish(struct ht_perf_writer *w)
{
	struct ht_container *c;
	struct ht_diag diag;
	struct stat st;
	uint64_t size = ht_perf_writer_size(w);

	assert_int_equal(ht_perf_writer_finish(w, &diag), 0);
	assert_int_equal(stat(file, &st), 0);
	assert_true((uint64_t)st.st_size > size);
	assert_int_equal(ht_container_open(file, NULL, &c, &diag), 0);
	assert_int_equal(ht_container_info(c)->truncated, 0);
	return c;
}

/* The next record of the kinds that are written on demand. */
static int
next(struct ht_container *c, struct ht_record *r)
{
	int rc;

	do {
		rc = ht_container_next(c, r);
		assert_true(rc >= 0);
	} while (rc && (r->kind == HT_REC_OTHER || r->kind == HT_REC_AUX));
	return rc;
}

static void
expect_same(const struct ht_record *want, const struct ht_record *got)
{
	assert_int_equal(got->kind, want->kind);
	assert_int_equal(got->pid, want->pid);
	assert_int_equal(got->tid, want->tid);
	assert_true(got->time == want->time);
	switch (want->kind) {
	case HT_REC_MMAP:
		assert_true(got->u.map.addr == want->u.map.addr);
		assert_true(got->u.map.len == want->u.map.len);
		assert_true(got->u.map.pgoff == want->u.map.pgoff);
		assert_int_equal(got->u.map.flags, want->u.map.flags);
		assert_int_equal(got->u.map.build_id_size, want->u.map.build_id_size);
		assert_memory_equal(got->u.map.build_id, want->u.map.build_id, 20);
		if (!want->u.map.build_id_size) {
			assert_int_equal(got->u.map.maj, want->u.map.maj);
			assert_int_equal(got->u.map.min, want->u.map.min);
			assert_true(got->u.map.ino == want->u.map.ino);
			assert_true(got->u.map.ino_generation == want->u.map.ino_generation);
		}
		assert_string_equal(got->u.map.path, want->u.map.path);
		break;
	case HT_REC_MUNMAP:
		assert_true(got->u.unmap.addr == want->u.unmap.addr);
		assert_true(got->u.unmap.len == want->u.unmap.len);
		break;
	case HT_REC_COMM:
		assert_string_equal(got->u.comm.comm, want->u.comm.comm);
		assert_int_equal(got->u.comm.exec, want->u.comm.exec);
		break;
	case HT_REC_FORK:
	case HT_REC_EXIT:
		assert_int_equal(got->u.fork.ppid, want->u.fork.ppid);
		assert_int_equal(got->u.fork.ptid, want->u.fork.ptid);
		break;
	case HT_REC_LOST:
		assert_true(got->u.lost.lost == want->u.lost.lost);
		if (!want->u.lost.why) {
			assert_null(got->u.lost.why);
			break;
		}
		assert_string_equal(got->u.lost.why, want->u.lost.why);
		assert_int_equal(got->u.lost.kind, want->u.lost.kind);
		break;
	case HT_REC_CODE:
		assert_true(got->u.code.addr == want->u.code.addr);
		assert_int_equal(got->u.code.len, want->u.code.len);
		assert_memory_equal(got->u.code.bytes, want->u.code.bytes, want->u.code.len);
		break;
	default:
		break;
	}
}

/* -- a stream of random records and bytes ------------------------------------------------ */

static uint64_t seed;

static uint32_t
rnd(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33);
}

static uint64_t
rnd64(void)
{
	return (uint64_t)rnd() << 33 ^ rnd();
}

struct text { char at[300]; };

static void
random_record(struct ht_record *r, struct text *text)
{
	static const enum ht_record_kind kinds[] = {
		HT_REC_MMAP, HT_REC_MMAP, HT_REC_MMAP,         HT_REC_MUNMAP, HT_REC_COMM,
		HT_REC_FORK, HT_REC_EXIT, HT_REC_ITRACE_START, HT_REC_LOST,   HT_REC_CODE
	};
	unsigned n = 1 + rnd() % 14;

	memset(r, 0, sizeof(*r));
	r->kind = kinds[rnd() % (sizeof(kinds) / sizeof(kinds[0]))];
	r->pid = (int32_t)(rnd() % 100000);
	r->tid = (int32_t)(rnd() % 100000);
	r->time = 1 + rnd64();
	if (r->kind == HT_REC_MMAP)
		n = 1 + rnd() % 250;
	for (unsigned i = 0; i < n; i++)
		text->at[i] = (char)('!' + rnd() % 90);
	text->at[n] = 0;
	switch (r->kind) {
	case HT_REC_MMAP:
		r->u.map.addr = rnd64();
		r->u.map.len = rnd64();
		r->u.map.pgoff = rnd64();
		r->u.map.flags = rnd() % 8;
		r->u.map.path = text->at;
		if (rnd() % 2) {
			r->u.map.build_id_size = (uint8_t)(1 + rnd() % 20);
			for (unsigned i = 0; i < r->u.map.build_id_size; i++)
				r->u.map.build_id[i] = (uint8_t)rnd();
		} else {
			r->u.map.maj = rnd();
			r->u.map.min = rnd();
			r->u.map.ino = rnd64();
			r->u.map.ino_generation = rnd64();
		}
		break;
	case HT_REC_MUNMAP:
		r->u.unmap.addr = rnd64();
		r->u.unmap.len = rnd64();
		break;
	case HT_REC_COMM:
		r->u.comm.comm = text->at;
		r->u.comm.exec = (int)(rnd() % 2);
		break;
	case HT_REC_FORK:
	case HT_REC_EXIT:
		r->u.fork.ppid = (int32_t)rnd();
		r->u.fork.ptid = (int32_t)rnd();
		break;
	case HT_REC_LOST:
		r->u.lost.lost = rnd64();
		if (rnd() % 2) {
			r->u.lost.why = text->at;
			r->u.lost.kind = rnd() % HT_GAP_KIND_COUNT;
		}
		break;
	case HT_REC_CODE:
		r->u.code.addr = rnd64();
		r->u.code.bytes = (const uint8_t *)text->at;
		r->u.code.len = n;
		break;
	default:
		break;
	}
}

#define N_RECORDS 4000
#define N_STREAMS 7

static void
test_write_then_read(void **state)
{
	struct ht_record *want = calloc(N_RECORDS, sizeof(*want)), got;
	struct text *text = calloc(N_RECORDS, sizeof(*text));
	struct { uint8_t at[400000]; size_t n; } *stream = calloc(N_STREAMS, sizeof(*stream));
	struct ht_perf_writer *w = start(&config);
	struct ht_container *c;

	(void)state;
	seed = 4711;
	for (unsigned i = 0; i < N_RECORDS; i++) {
		random_record(&want[i], &text[i]);
		assert_int_equal(ht_perf_writer_record(w, &want[i]), 0);
		if (i % 5 == 0) {
			unsigned s = i / 5 < N_STREAMS ? i / 5 : rnd() % N_STREAMS;
			size_t n = rnd() % 700, cut = n ? rnd() % n : 0;
			uint8_t *at = stream[s].at + stream[s].n;

			for (size_t j = 0; j < n; j++)
				at[j] = (uint8_t)rnd();
			assert_int_equal(
			    ht_perf_writer_trace(w, s, 50, 60 + (int)s, 1 + i, 0, at, cut,
			                         rnd() % 2 || cut < n ? at + cut : NULL, n - cut),
			    0);
			/* the file has PAD packets behind, up to a multiple of 8 */
			stream[s].n += (n + 7) & ~(size_t)7;
		}
	}
	c = finish(w);
	for (unsigned i = 0; i < N_RECORDS; i++) {
		assert_int_equal(next(c, &got), 1);
		expect_same(&want[i], &got);
	}
	assert_int_equal(next(c, &got), 0);
	assert_int_equal(ht_container_stream_count(c), N_STREAMS);
	for (unsigned i = 0; i < N_STREAMS; i++) {
		const struct ht_stream *s = ht_container_stream(c, i);
		uint64_t at = 0;

		assert_int_equal(s->pid, 50);
		assert_int_equal(s->tid, 60 + i);
		assert_int_equal(s->cpu, -1);
		assert_true(s->bytes == stream[i].n);
		for (uint32_t j = 0; j < s->n_chunks; j++) {
			assert_true(s->chunks[j].stream_offset == at);
			assert_int_equal(s->chunks[j].lost_before, 0);
			assert_int_equal(s->chunks[j].file_offset % 8, 0);
			assert_memory_equal(s->chunks[j].data, stream[i].at + at,
			                    s->chunks[j].size);
			at += s->chunks[j].size;
		}
	}
	ht_container_close(c);
	free(want);
	free(text);
	free(stream);
}

/* -- metadata ------------------------------------------------------------------------------ */

static void
expect_info(const struct ht_capture_info *i)
{
	assert_int_equal(i->source, HT_SOURCE_INTEL_PT);
	assert_int_equal(i->arch, HT_ARCH_X86_64);
	assert_int_equal(i->software, 1);
	assert_string_equal(i->backend, "qemu");
	assert_int_equal(i->per_cpu, 0);
	assert_int_equal(i->ret_compression, 1);
	assert_memory_equal(&i->clock.mult, &perf_clock.mult, sizeof(perf_clock.mult));
	assert_true(i->clock.zero == perf_clock.zero && i->clock.shift == 31 && i->clock.valid);
	assert_int_equal(i->cpu.nom_freq, 37);
	assert_int_equal(i->cpu.tsc_ctc_num, 308);
	assert_int_equal(i->cpu.tsc_ctc_den, 2);
}

static void
put_map(struct ht_perf_writer *w, const char *path, uint8_t id)
{
	struct ht_record r = { .kind = HT_REC_MMAP, .pid = 1, .tid = 1, .time = 9 };

	r.u.map.len = 4096;
	r.u.map.flags = HT_MAP_EXEC;
	r.u.map.path = path;
	r.u.map.build_id_size = id ? 20 : 0;
	memset(r.u.map.build_id, id, 20);
	assert_int_equal(ht_perf_writer_record(w, &r), 0);
}

static void
test_info(void **state)
{
	struct ht_perf_writer *w = start(&config);
	struct ht_container *c;
	const struct ht_capture_info *i;
	char path[32];
	uint8_t id[20], want[20];

	(void)state;
	for (int n = 1; n < 200; n++) {
		snprintf(path, sizeof(path), "/lib/%d", n);
		put_map(w, path, (uint8_t)n);
	}
	put_map(w, "/lib/7", 250); /* rebuilt meanwhile: the last one counts */
	put_map(w, "/none", 0);
	c = finish(w);
	i = ht_container_info(c);
	expect_info(i);
	assert_string_equal(i->cpuid, "GenuineIntel,6,85,4");
	assert_int_equal(i->cpu.family, 6);
	assert_string_equal(i->cmdline, "hwtrace record -- ./a b");
	assert_string_equal(i->version, "hwtrace " HT_VERSION);
	assert_non_null(i->hostname);
	assert_non_null(i->os_release);
	assert_non_null(i->arch_name);
	for (int n = 1; n < 200; n++) {
		snprintf(path, sizeof(path), "/lib/%d", n);
		memset(want, n == 7 ? 250 : n, sizeof(want));
		assert_int_equal(ht_container_build_id(c, path, id), 20);
		assert_memory_equal(id, want, 20);
	}
	assert_int_equal(ht_container_build_id(c, "/none", id), 0);
	ht_container_close(c);
}

static void
test_flags_of_the_trace(void **state)
{
	struct ht_perf_writer_config with = config;
	struct ht_container *c;

	(void)state;
	with.ret_compression = 0;
	with.software = 0;
	with.cyc = 1;
	with.backend = "ptrace";
	with.argv = NULL;
	c = finish(start(&with));
	assert_int_equal(ht_container_info(c)->ret_compression, 0);
	assert_int_equal(ht_container_info(c)->software, 0);
	assert_string_equal(ht_container_info(c)->backend, "ptrace");
	assert_null(ht_container_info(c)->cmdline);
	assert_int_equal(ht_container_stream_count(c), 0);
	ht_container_close(c);
}

/* -- limits of the format ------------------------------------------------------------------ */

static void
test_long_texts(void **state)
{
	struct ht_perf_writer *w = start(&config);
	struct ht_record r = { .kind = HT_REC_COMM, .pid = 1, .tid = 1, .time = 9 };
	struct ht_container *c;
	char path[5000];

	(void)state;
	memset(path, 'p', sizeof(path));
	path[4095] = 0;
	put_map(w, path, 3);
	path[4095] = 'p';
	path[4096] = 0; /* longer than a path can be */
	put_map(w, path, 0);
	put_map(w, "", 0);
	r.u.comm.comm = "a name of more than fifteen bytes";
	assert_int_equal(ht_perf_writer_record(w, &r), 0);
	r.kind = HT_REC_SAMPLE; /* not one that is written */
	assert_int_equal(ht_perf_writer_record(w, &r), -HT_EINVAL);
	c = finish(w);
	assert_int_equal(next(c, &r), 1);
	path[4095] = 0;
	assert_string_equal(r.u.map.path, path);
	assert_int_equal(next(c, &r), 1);
	assert_string_equal(r.u.map.path, "//toolong");
	assert_int_equal(next(c, &r), 1);
	assert_string_equal(r.u.map.path, "//anon");
	assert_int_equal(next(c, &r), 1);
	assert_string_equal(r.u.comm.comm, "a name of more ");
	assert_int_equal(next(c, &r), 0);
	ht_container_close(c);
}

/* A record holds less than 64 KiB of code: more is split, and still all there in order. */
static void
test_large_code(void **state)
{
	enum { SIZE = 300001 };
	struct ht_perf_writer *w = start(&config);
	struct ht_record r = { .kind = HT_REC_CODE, .pid = 1, .tid = 1, .time = 9 };
	uint8_t *code = malloc(SIZE), *got = calloc(1, SIZE);
	struct ht_container *c;
	size_t n = 0;

	(void)state;
	seed = 5;
	for (int i = 0; i < SIZE; i++)
		code[i] = (uint8_t)rnd();
	r.u.code.addr = 0x1000;
	r.u.code.len = SIZE;
	r.u.code.bytes = code;
	assert_int_equal(ht_perf_writer_record(w, &r), 0);
	c = finish(w);
	while (next(c, &r)) {
		assert_int_equal(r.kind, HT_REC_CODE);
		assert_int_equal(r.u.code.addr, 0x1000 + n);
		assert_true(n + r.u.code.len <= SIZE);
		memcpy(got + n, r.u.code.bytes, r.u.code.len);
		n += r.u.code.len;
	}
	assert_int_equal(n, SIZE);
	assert_memory_equal(code, got, SIZE);
	ht_container_close(c);
	free(code);
	free(got);
}

/* -- loss ------------------------------------------------------------------------------------ */

static void
test_gaps(void **state)
{
	struct ht_perf_writer *w = start(&config);
	struct ht_container *c;
	const struct ht_stream *s;

	(void)state;
	assert_int_equal(ht_perf_writer_gap(w, 0, 1, 1, 5, 1000), 0); /* the ring was overwritten */
	assert_int_equal(ht_perf_writer_trace(w, 0, 1, 1, 6, 0, "12345678", 8, NULL, 0), 0);
	assert_int_equal(ht_perf_writer_gap(w, 0, 1, 1, 7, 0), 0);    /* nobody knows how many */
	assert_int_equal(ht_perf_writer_trace(w, 0, 1, 1, 8, 0, "abcdefgh", 8, NULL, 0), 0);
	assert_int_equal(
	    ht_perf_writer_trace(w, 0, 1, 1, 8, PERF_AUX_FLAG_TRUNCATED, "ABCDEFGH", 8, NULL, 0),
	    0);
	assert_int_equal(ht_perf_writer_trace(w, 1, 1, 2, 8, 0, "ijklmnop", 8, NULL, 0), 0);
	assert_int_equal(ht_perf_writer_trace(w, 3, 1, 2, 8, 0, "ijklmnop", 8, NULL, 0),
	                 -HT_EINVAL);
	ht_perf_writer_abort(w);
	assert_int_equal(ht_container_open(file, NULL, &c, NULL), 0);
	s = ht_container_stream(c, 0);
	assert_int_equal(s->n_chunks, 4);
	assert_int_equal(s->chunks[0].stream_offset, 1000);
	assert_int_equal(s->chunks[0].lost_before, 1);
	assert_memory_equal(s->chunks[1].data, "abcdefgh", 8);
	assert_int_equal(s->chunks[1].lost_before, HT_LOST_TRUNCATED);
	assert_int_equal(s->chunks[2].lost_before, 0);
	assert_int_equal(s->chunks[3].size, 0);
	assert_int_equal(s->chunks[3].lost_before, HT_LOST_TRUNCATED);
	s = ht_container_stream(c, 1);
	assert_int_equal(s->n_chunks, 1);
	ht_container_close(c);
}

/* What could not be traced, in a file that was not completed too. */
static void
test_untraced(void **state)
{
	struct ht_record r = { .kind = HT_REC_LOST, .pid = 7, .tid = 8, .cpu = -1, .time = 99 },
			 got;
	static char why[20000];

	(void)state;
	memset(why, 'w', sizeof(why) - 1);
	for (int completed = 0; completed < 2; completed++) {
		struct ht_perf_writer *w = start(&config);
		struct ht_container *c;

		r.u.lost.kind = HT_GAP_UNTRACED;
		r.u.lost.why = "it is not followed";
		assert_int_equal(ht_perf_writer_record(w, &r), 0);
		r.u.lost.why = why; /* cut, not refused */
		assert_int_equal(ht_perf_writer_record(w, &r), 0);
		assert_int_equal(ht_perf_writer_trace(w, 0, 1, 1, 6, 0, "12345678", 8, NULL, 0), 0);
		if (completed) {
			c = finish(w);
		} else {
			ht_perf_writer_abort(w);
			assert_int_equal(ht_container_open(file, NULL, &c, NULL), 0);
		}
		assert_int_equal(next(c, &got), 1);
		assert_int_equal(got.kind, HT_REC_LOST);
		assert_int_equal(got.u.lost.kind, HT_GAP_UNTRACED);
		assert_int_equal(got.pid, 7);
		assert_int_equal(got.tid, 8);
		assert_int_equal(got.time, 99);
		assert_string_equal(got.u.lost.why, "it is not followed");
		assert_int_equal(next(c, &got), 1);
		assert_true(strlen(got.u.lost.why) > 4096);
		assert_memory_equal(got.u.lost.why, why, strlen(got.u.lost.why));
		assert_int_equal(next(c, &got), 0);
		assert_int_equal(ht_container_stream(c, 0)->bytes, 8);
		ht_container_close(c);
	}
}

/* A thread that was killed while it ran: its stream ends with a loss of its own kind. */
static void
test_killed(void **state)
{
	struct ht_perf_writer *w = start(&config);
	struct ht_container *c;
	const struct ht_stream *s;

	(void)state;
	/* One tid, two streams: exec.  Two others: bytes are lost as well; nothing is. */
	assert_int_equal(ht_perf_writer_trace(w, 0, 1, 1, 6, 0, "12345678", 8, NULL, 0), 0);
	assert_int_equal(ht_perf_writer_killed(w, 0, 1, 1, 7), 0);
	assert_int_equal(ht_perf_writer_trace(w, 1, 1, 1, 8, 0, "abcdefgh", 8, NULL, 0), 0);
	assert_int_equal(ht_perf_writer_trace(w, 2, 1, 2, 8, 0, "ABCDEFGH", 8, NULL, 0), 0);
	assert_int_equal(ht_perf_writer_gap(w, 2, 1, 2, 9, 0), 0);
	assert_int_equal(ht_perf_writer_killed(w, 2, 1, 2, 9), 0);
	assert_int_equal(ht_perf_writer_trace(w, 3, 1, 3, 9, 0, "ijklmnop", 8, NULL, 0), 0);
	c = finish(w);
	s = ht_container_stream(c, 0);
	assert_int_equal(s->n_chunks, 2);
	assert_int_equal(s->chunks[0].lost_before, 0);
	assert_int_equal(s->chunks[1].lost_before, HT_LOST_BLOCK);
	assert_int_equal(s->chunks[1].size, 0);
	assert_int_equal(s->chunks[1].stream_offset, 8);
	s = ht_container_stream(c, 1);
	assert_int_equal(s->n_chunks, 1);
	assert_int_equal(s->chunks[0].lost_before, 0);
	s = ht_container_stream(c, 2);
	assert_int_equal(s->n_chunks, 2);
	assert_int_equal(s->chunks[1].lost_before, HT_LOST_TRUNCATED);
	assert_int_equal(ht_container_stream(c, 3)->n_chunks, 1);
	ht_container_close(c);
}

/* The recorder was killed: no features, no size, but records, trace and mark are there. */
static void
test_aborted(void **state)
{
	struct ht_perf_writer *w = start(&config);
	struct ht_container *c;
	struct ht_record r;

	(void)state;
	put_map(w, "/bin/x", 1);
	assert_int_equal(ht_perf_writer_trace(w, 0, 1, 1, 6, 0, "12345678", 8, NULL, 0), 0);
	put_map(w, "/lost/in/the/buffer", 1);
	ht_perf_writer_abort(w);
	assert_int_equal(ht_container_open(file, NULL, &c, NULL), 0);
	assert_int_equal(ht_container_info(c)->truncated, 1);
	expect_info(ht_container_info(c));
	assert_int_equal(next(c, &r), 1);
	assert_string_equal(r.u.map.path, "/bin/x");
	assert_int_equal(ht_container_stream(c, 0)->bytes, 8);
	ht_container_close(c);
	ht_perf_writer_abort(NULL);
}

/* A full disk: the first error stays, with the offset; later calls do nothing. */
static void
test_disk_full(void **state)
{
	struct ht_perf_writer *w = NULL;
	struct ht_diag diag = { 0 };

	(void)state;
	if (access("/dev/full", W_OK))
		skip();
	assert_int_equal(ht_perf_writer_open("/dev/full", &config, &w, &diag), -HT_EIO);
	assert_null(w);
	assert_string_equal(diag.file, "/dev/full");
	assert_int_equal(diag.has_offset, 1);
	assert_non_null(strstr(diag.text, "No space left"));
}

/* The same in the middle: a file may not grow past its limit. */
static void
test_disk_full_later(void **state)
{
	char line[256];

	(void)state;
	/* A process of its own, as the limit holds for all that it does. */
	snprintf(line, sizeof(line),
	         "ulimit -f 400; trap '' XFSZ; HT_WRITER_CHILD=%s exec /proc/%d/exe", file,
	         (int)getpid());
	assert_int_equal(system(line), 0);
}

static int
child_disk_full(const char *path)
{
	static uint8_t big[1 << 16];
	struct ht_perf_writer *w;
	struct ht_diag diag = { 0 };
	uint64_t size;
	int n = 0, err = 0;

	strcpy(file, path);
	if (ht_perf_writer_open(file, &config, &w, &diag))
		return 10;
	while (!err && n < 100) {
		err = ht_perf_writer_trace(w, 0, 1, 1, 5, 0, big, sizeof(big), NULL, 0);
		n++;
	}
	if (err != -HT_EIO || n == 1)
		return 11;
	size = ht_perf_writer_diag(w)->offset;
	if (!size || size != ht_perf_writer_size(w))
		return 12;
	if (ht_perf_writer_trace(w, 0, 1, 1, 5, 0, big, 8, NULL, 0) != -HT_EIO)
		return 13;
	if (ht_perf_writer_finish(w, &diag) != -HT_EIO || diag.offset != size)
		return 14;
	return 0;
}

static void
test_cannot_create(void **state)
{
	struct ht_perf_writer *w = NULL;
	struct ht_diag diag;
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/no/such/folder", dir);
	assert_int_equal(ht_perf_writer_open(path, &config, &w, &diag), -HT_EIO);
	assert_string_equal(diag.file, path);
	assert_null(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_write_then_read),
		cmocka_unit_test(test_info),
		cmocka_unit_test(test_flags_of_the_trace),
		cmocka_unit_test(test_long_texts),
		cmocka_unit_test(test_large_code),
		cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_untraced),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_aborted),
		cmocka_unit_test(test_disk_full),
		cmocka_unit_test(test_disk_full_later),
		cmocka_unit_test(test_cannot_create),
	};

	if (getenv("HT_WRITER_CHILD"))
		return child_disk_full(getenv("HT_WRITER_CHILD"));
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
