/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "session/fake.h"

static int
fake_next(struct ht_container *c, struct ht_record *rec)
{
	struct fake *f = c->state;

	if (f->at >= f->n)
		return 0;
	*rec = f->records[f->at++];
	return 1;
}

static void
fake_rewind(struct ht_container *c)
{
	struct fake *f = c->state;

	f->at = 0;
}

static unsigned
fake_build_id(const struct ht_container *c, const char *path, uint8_t id[HT_BUILD_ID_MAX])
{
	const struct fake *f = c->state;

	if (!f->id_path || strcmp(f->id_path, path) != 0)
		return 0;
	memcpy(id, f->id, f->id_size);
	return f->id_size;
}

static const struct ht_reader fake_reader = {
	.name = "fake",
	.next = fake_next,
	.rewind = fake_rewind,
	.build_id = fake_build_id,
};

void
fake_init(struct fake *f)
{
	memset(f, 0, sizeof(*f));
	f->container.reader = &fake_reader;
	f->container.state = f;
	f->container.info.format = "fake";
	f->container.info.source = HT_SOURCE_INTEL_PT;
	/* One tick is one nanosecond. */
	f->container.info.clock = (struct ht_clock){ .valid = 1, .mult = 1 };
}

struct ht_session *
fake_session(struct fake *f, const struct ht_session_config *config)
{
	struct ht_session *s = NULL;
	struct ht_diag diag = { 0 };

	assert_int_equal(ht_session_open(&f->container, config, &s, &diag), 0);
	return s;
}

static struct ht_record *
add(struct fake *f, enum ht_record_kind kind, uint64_t ns, int32_t pid, int32_t tid)
{
	struct ht_record *r = &f->records[f->n++];

	assert_true(f->n <= sizeof(f->records) / sizeof(*f->records));
	*r = (struct ht_record){ .kind = kind, .time = ns, .pid = pid, .tid = tid, .cpu = -1 };
	return r;
}

struct ht_record *
fake_map(struct fake *f, uint64_t ns, int32_t pid, uint64_t addr, uint64_t len, uint64_t pgoff,
         const char *path)
{
	struct ht_record *r = add(f, HT_REC_MMAP, ns, pid, pid);

	r->u.map.addr = addr;
	r->u.map.len = len;
	r->u.map.pgoff = pgoff;
	r->u.map.flags = HT_MAP_EXEC;
	r->u.map.path = path;
	return r;
}

struct ht_record *
fake_unmap(struct fake *f, uint64_t ns, int32_t pid, uint64_t addr, uint64_t len)
{
	struct ht_record *r = add(f, HT_REC_MUNMAP, ns, pid, pid);

	r->u.unmap.addr = addr;
	r->u.unmap.len = len;
	return r;
}

struct ht_record *
fake_code(struct fake *f, uint64_t ns, int32_t pid, uint64_t addr, const void *bytes, uint32_t len)
{
	struct ht_record *r = add(f, HT_REC_CODE, ns, pid, pid);

	r->u.code.addr = addr;
	r->u.code.bytes = bytes;
	r->u.code.len = len;
	return r;
}

struct ht_record *
fake_comm(struct fake *f, uint64_t ns, int32_t pid, int32_t tid, const char *comm, int exec)
{
	struct ht_record *r = add(f, HT_REC_COMM, ns, pid, tid);

	r->u.comm.comm = comm;
	r->u.comm.exec = exec;
	return r;
}

struct ht_record *
fake_fork(struct fake *f, uint64_t ns, int32_t pid, int32_t tid, int32_t ppid, int32_t ptid)
{
	struct ht_record *r = add(f, HT_REC_FORK, ns, pid, tid);

	r->u.fork.ppid = ppid;
	r->u.fork.ptid = ptid;
	return r;
}

struct ht_record *
fake_switch(struct fake *f, uint64_t ns, int32_t cpu, int32_t pid, int32_t tid)
{
	struct ht_record *r = add(f, HT_REC_SWITCH, ns, pid, tid);

	r->cpu = cpu;
	r->u.sw.next_prev_pid = r->u.sw.next_prev_tid = -1;
	return r;
}

struct ht_record *
fake_exit(struct fake *f, uint64_t ns, int32_t pid, int32_t tid)
{
	return add(f, HT_REC_EXIT, ns, pid, tid);
}

struct ht_chunk *
fake_trace(struct fake *f, int32_t pid, int32_t tid, const void *data, size_t size)
{
	struct ht_chunk *c = &f->chunks[f->stream.n_chunks++];

	assert_true(f->stream.n_chunks <= sizeof(f->chunks) / sizeof(*f->chunks));
	*c = (struct ht_chunk){ .data = data, .size = size, .stream_offset = f->stream.bytes };
	f->stream.source = HT_SOURCE_INTEL_PT;
	f->stream.pid = pid;
	f->stream.tid = tid;
	f->stream.cpu = -1;
	f->stream.chunks = f->chunks;
	f->stream.bytes += size;
	f->container.streams = &f->stream;
	f->container.n_streams = 1;
	return c;
}
