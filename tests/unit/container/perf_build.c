/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <linux/perf_event.h>

#include "container/perf_build.h"
#include "container/reader.h"

#define ATTR_SIZE 112u

/* -- bytes ------------------------------------------------------------------------ */

void
pb_bytes(struct pb *b, const void *data, size_t n)
{
	while (b->cap - b->n < n) {
		b->cap = b->cap ? b->cap * 2 : 4096;
		b->at = realloc(b->at, b->cap);
		if (!b->at)
			abort();
	}
	if (n)
		memcpy(b->at + b->n, data, n);
	b->n += n;
}

void
pb_u16(struct pb *b, uint16_t v)
{
	pb_bytes(b, &v, sizeof(v));
}

void
pb_u32(struct pb *b, uint32_t v)
{
	pb_bytes(b, &v, sizeof(v));
}

void
pb_u64(struct pb *b, uint64_t v)
{
	pb_bytes(b, &v, sizeof(v));
}

static void
pad(struct pb *b, size_t from)
{
	while ((b->n - from) % 8)
		pb_bytes(b, "", 1);
}

void
pb_text(struct pb *b, const char *s)
{
	size_t from = b->n;

	pb_bytes(b, s, strlen(s) + 1);
	pad(b, from);
}

static void
patch64(struct pb *b, size_t at, uint64_t v)
{
	memcpy(b->at + at, &v, sizeof(v));
}

/* -- file ---------------------------------------------------------------------------- */

static void
put_attr(struct pb *b, const struct pb_attr *a)
{
	size_t from = b->n;

	pb_u32(b, a->type);
	pb_u32(b, ATTR_SIZE);
	pb_u64(b, a->config);
	pb_u64(b, 1);
	pb_u64(b, a->sample_type);
	pb_u64(b, a->read_format ? a->read_format : PERF_FORMAT_ID);
	pb_u64(b, a->sample_id_all ? 1ull << 18 : 0);
	while (b->n - from < offsetof(struct perf_event_attr, branch_sample_type))
		pb_bytes(b, "", 1);
	pb_u64(b, a->branch_sample_type);
	pb_u64(b, a->regs_user);
	pb_u64(b, 0); /* sample_stack_user, clockid */
	pb_u64(b, a->regs_intr);
	while (b->n - from < ATTR_SIZE)
		pb_bytes(b, "", 1);
}

void
pb_begin(struct pb *b, const struct pb_attr *attrs, unsigned n)
{
	memset(b, 0, sizeof(*b));
	memcpy(b->attrs, attrs, n * sizeof(*attrs));
	b->n_attrs = n;
	pb_bytes(b, "PERFILE2", 8);
	pb_u64(b, 104);
	pb_u64(b, ATTR_SIZE + 16);
	pb_u64(b, 104 + n * 8);
	pb_u64(b, n * (ATTR_SIZE + 16));
	b->data = 104 + n * (8 + ATTR_SIZE + 16);
	pb_u64(b, b->data);
	for (int i = 0; i < 7; i++)
		pb_u64(b, 0); /* data.size, event types, features */
	for (unsigned i = 0; i < n; i++)
		pb_u64(b, attrs[i].id);
	for (unsigned i = 0; i < n; i++) {
		put_attr(b, &attrs[i]);
		pb_u64(b, 104 + i * 8);
		pb_u64(b, attrs[i].id ? 8 : 0);
	}
}

void
pb_begin_pipe(struct pb *b, const struct pb_attr *attrs, unsigned n)
{
	memset(b, 0, sizeof(*b));
	memcpy(b->attrs, attrs, n * sizeof(*attrs));
	b->n_attrs = n;
	b->pipe = 1;
	pb_bytes(b, "PERFILE2", 8);
	pb_u64(b, 16);
	b->data = b->n;
	for (unsigned i = 0; i < n; i++) {
		pb_record(b, 64, 0);
		put_attr(b, &attrs[i]);
		if (attrs[i].id)
			pb_u64(b, attrs[i].id);
		pb_end(b, 0, NULL);
	}
}

void
pb_feature(struct pb *b, unsigned bit, const void *data, size_t size)
{
	if (b->pipe) {
		pb_record(b, 80, 0);
		pb_u64(b, bit);
		pb_bytes(b, data, size);
		pb_end(b, 0, NULL);
		return;
	}
	if (size > sizeof(b->feats[0].data))
		abort();
	b->feats[b->n_feats].bit = bit;
	b->feats[b->n_feats].size = size;
	memcpy(b->feats[b->n_feats++].data, data, size);
}

void
pb_feature_text(struct pb *b, unsigned bit, const char *s)
{
	uint8_t buf[256] = { 0 };
	uint32_t n = (uint32_t)(strlen(s) + 64) & ~63u;

	memcpy(buf, &n, 4);
	memcpy(buf + 4, s, strlen(s));
	pb_feature(b, bit, buf, 4 + n);
}

void
pb_finish(struct pb *b)
{
	uint64_t at;

	if (b->pipe)
		return;
	patch64(b, 48, b->n - b->data);
	at = b->n + b->n_feats * 16;
	for (unsigned i = 0; i < b->n_feats; i++) {
		pb_u64(b, at);
		pb_u64(b, b->feats[i].size);
		at += b->feats[i].size;
		b->at[72 + b->feats[i].bit / 8] |= (uint8_t)(1u << (b->feats[i].bit % 8));
	}
	for (unsigned i = 0; i < b->n_feats; i++)
		pb_bytes(b, b->feats[i].data, b->feats[i].size);
}

void
pb_free(struct pb *b)
{
	free(b->at);
	b->at = NULL;
}

/* -- records ---------------------------------------------------------------------------- */

void
pb_record(struct pb *b, uint32_t type, uint16_t misc)
{
	b->record = b->n;
	pb_u32(b, type);
	pb_u16(b, misc);
	pb_u16(b, 0);
}

void
pb_end(struct pb *b, unsigned attr, const struct pb_id *id)
{
	uint64_t t = id && b->attrs[attr].sample_id_all ? b->attrs[attr].sample_type : 0;
	uint16_t size;

	if (t & PERF_SAMPLE_TID) {
		pb_u32(b, id->pid);
		pb_u32(b, id->tid);
	}
	if (t & PERF_SAMPLE_TIME)
		pb_u64(b, id->time);
	if (t & PERF_SAMPLE_ID)
		pb_u64(b, id->id);
	if (t & PERF_SAMPLE_STREAM_ID)
		pb_u64(b, id->stream_id);
	if (t & PERF_SAMPLE_CPU) {
		pb_u32(b, id->cpu);
		pb_u32(b, 0);
	}
	if (t & PERF_SAMPLE_IDENTIFIER)
		pb_u64(b, id->id);
	size = (uint16_t)(b->n - b->record);
	memcpy(b->at + b->record + 6, &size, 2);
}

void
pb_mmap2(struct pb *b, unsigned attr, const struct pb_id *id, uint64_t addr, uint64_t len,
         uint64_t pgoff, uint32_t prot, const char *path)
{
	pb_record(b, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
	pb_u32(b, id->pid);
	pb_u32(b, id->tid);
	pb_u64(b, addr);
	pb_u64(b, len);
	pb_u64(b, pgoff);
	pb_u32(b, 8);
	pb_u32(b, 1);
	pb_u64(b, 4711);
	pb_u64(b, 42);
	pb_u32(b, prot);
	pb_u32(b, 2);
	pb_text(b, path);
	pb_end(b, attr, id);
}

void
pb_aux(struct pb *b, unsigned attr, const struct pb_id *id, uint64_t offset, uint64_t size,
       uint64_t flags)
{
	pb_record(b, PERF_RECORD_AUX, 0);
	pb_u64(b, offset);
	pb_u64(b, size);
	pb_u64(b, flags);
	pb_end(b, attr, id);
}

void
pb_auxtrace(struct pb *b, uint32_t idx, uint32_t tid, uint32_t cpu, uint64_t offset,
            const void *data, size_t size)
{
	pb_record(b, 71, 0);
	pb_u64(b, size);
	pb_u64(b, offset);
	pb_u64(b, 0x1234);
	pb_u32(b, idx);
	pb_u32(b, tid);
	pb_u32(b, cpu);
	pb_u32(b, 0);
	pb_end(b, 0, NULL);
	pb_bytes(b, data, size);
}

void
pb_auxtrace_info(struct pb *b, uint32_t type, const uint64_t *words, unsigned n)
{
	pb_record(b, 70, 0);
	pb_u32(b, type);
	pb_u32(b, 0);
	pb_bytes(b, words, n * sizeof(*words));
	pb_end(b, 0, NULL);
}

/* -- a small file of everything ------------------------------------------------------------ */

static const uint64_t layouts[PB_FLAVOURS] = {
	PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_IDENTIFIER,
	PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
	    PERF_SAMPLE_IDENTIFIER,
	PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
	    PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU,
	PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
	0,
	PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
	    PERF_SAMPLE_PERIOD | PERF_SAMPLE_IDENTIFIER,
	PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_BRANCH_STACK |
	    PERF_SAMPLE_AUX,
};

static void
sample_records(struct pb *b, const struct pb_id *id)
{
	uint64_t t = b->attrs[0].sample_type;

	pb_mmap2(b, 1, id, 0x401000, 0x2000, 0x1000, 5, "/bin/thing");
	pb_record(b, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL);
	pb_u32(b, UINT32_MAX);
	pb_u32(b, 0);
	pb_u64(b, 0xffffffff81000000);
	pb_u64(b, 0x1000000);
	pb_u64(b, 0);
	pb_text(b, "[kernel.kallsyms]_text");
	pb_end(b, 1, id);
	pb_record(b, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	pb_u32(b, id->pid);
	pb_u32(b, id->tid);
	pb_text(b, "thing");
	pb_end(b, 1, id);
	for (int i = 0; i < 2; i++) {
		pb_record(b, i ? PERF_RECORD_EXIT : PERF_RECORD_FORK, 0);
		pb_u32(b, id->pid + 1);
		pb_u32(b, id->pid);
		pb_u32(b, id->tid + 1);
		pb_u32(b, id->tid);
		pb_u64(b, id->time);
		pb_end(b, 1, id);
	}
	pb_record(b, PERF_RECORD_ITRACE_START, 0);
	pb_u32(b, id->pid);
	pb_u32(b, id->tid);
	pb_end(b, 0, id);
	pb_record(b, PERF_RECORD_SWITCH_CPU_WIDE, PERF_RECORD_MISC_SWITCH_OUT);
	pb_u32(b, 77);
	pb_u32(b, 78);
	pb_end(b, 1, id);
	pb_record(b, PERF_RECORD_TEXT_POKE, PERF_RECORD_MISC_USER);
	pb_u64(b, 0x401100);
	pb_u16(b, 2);
	pb_u16(b, 3);
	pb_bytes(b, "\1\2\3\4\5\0\0\0\0", 8);
	pb_bytes(b, "\0\0\0\0", 4);
	pb_end(b, 1, id);
	pb_record(b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	if (t & PERF_SAMPLE_IDENTIFIER)
		pb_u64(b, b->attrs[0].id);
	if (t & PERF_SAMPLE_IP)
		pb_u64(b, 0x401234);
	if (t & PERF_SAMPLE_TID)
		pb_u64(b, (uint64_t)id->tid << 32 | id->pid);
	if (t & PERF_SAMPLE_TIME)
		pb_u64(b, id->time);
	if (t & PERF_SAMPLE_ADDR)
		pb_u64(b, 0xadd7);
	if (t & PERF_SAMPLE_ID)
		pb_u64(b, b->attrs[0].id);
	if (t & PERF_SAMPLE_STREAM_ID)
		pb_u64(b, 9);
	if (t & PERF_SAMPLE_CPU)
		pb_u64(b, id->cpu);
	if (t & PERF_SAMPLE_PERIOD)
		pb_u64(b, 4000);
	if (t & PERF_SAMPLE_BRANCH_STACK) {
		pb_u64(b, 2);
		for (int i = 0; i < 2; i++) {
			pb_u64(b, 0x401010);
			pb_u64(b, 0x401000);
			pb_u64(b, 1);
		}
	}
	if (t & PERF_SAMPLE_AUX) {
		pb_u64(b, 8);
		pb_u64(b, 0);
	}
	pb_end(b, 0, NULL);
	pb_record(b, 200, 0); /* a type from the future */
	pb_u64(b, 1);
	pb_end(b, 0, NULL);
}

void
pb_sample_file(struct pb *b, unsigned flavour)
{
	const uint64_t words[] = { 8, 31,     581029125, 1000, 1,   1 << 10, 1 << 11, 0, 0,
		                   0, 1 << 9, 0xf << 14, 2,    308, 2,       37,      0, 0 };
	const struct pb_attr attrs[2] = {
		{ .type = 8,
		  .config = 0x2401,
		  .sample_type = layouts[flavour],
		  .branch_sample_type = PERF_SAMPLE_BRANCH_ANY,
		  .sample_id_all = 1,
		  .id = 5 },
		{ .type = 1,
		  .config = 9,
		  .sample_type = layouts[flavour],
		  .branch_sample_type = PERF_SAMPLE_BRANCH_ANY,
		  .sample_id_all = 1,
		  .id = 6 },
	};
	struct pb_id id = { 100, 101, 5000, 5, 0, 2 };
	int per_cpu = flavour == 1;
	uint8_t trace[40];

	for (unsigned i = 0; i < sizeof(trace); i++)
		trace[i] = (uint8_t)(i + 1);
	if (flavour == 5)
		pb_begin_pipe(b, attrs, 2);
	else
		pb_begin(b, attrs, 2);
	if (flavour != 6) { /* the last one has branch stacks and no trace */
		pb_auxtrace_info(b, 1, words, sizeof(words) / sizeof(words[0]));
		pb_aux(b, 0, &id, 0, 24, 1);
		pb_auxtrace(b, 0, per_cpu ? UINT32_MAX : 101, per_cpu ? 2 : UINT32_MAX, 0, trace, 24);
	}
	id.id = 6;
	sample_records(b, &id);
	id.id = 5;
	if (flavour != 6) {
		pb_aux(b, 0, &id, 24, 16, 0);
		pb_auxtrace(b, 0, per_cpu ? UINT32_MAX : 101, per_cpu ? 2 : UINT32_MAX, 24, trace + 24, 16);
	}
	pb_feature(b, 2,
	           "\x43\0\0\0\x02\x80\x34\0\xff\xff\xff\xff"
	           "abcdefghijklmnopqrst\x14\0\0\0"
	           "/bin/thing\0\0\0\0\0\0",
	           52);
	pb_feature_text(b, 3, "host");
	pb_feature_text(b, 6, "x86_64");
	pb_feature_text(b, 9, "GenuineIntel,6,85,4");
	pb_finish(b);
}

/* -- opening ---------------------------------------------------------------------------------- */

void
pb_open(struct pb_open *o, const void *data, size_t size)
{
	memset(o, 0, sizeof(*o));
	o->block = malloc(size ? size : 1);
	if (!o->block)
		abort();
	if (size)
		memcpy(o->block, data, size);
	o->rc = ht_container_open_memory(o->block, size, NULL, &o->c, &o->diag);
}

void
pb_close(struct pb_open *o)
{
	ht_container_close(o->c);
	free(o->block);
}

static volatile uint64_t sink;

static void
touch(const void *data, size_t n)
{
	const uint8_t *p = data;

	while (n--)
		sink += *p++;
}

unsigned long
pb_drain(struct pb_open *o)
{
	unsigned long n = 0, errors = 0;
	struct ht_record r;
	uint8_t id[HT_BUILD_ID_MAX];
	int rc;

	if (o->rc)
		return 0;
	for (uint32_t i = 0; i < ht_container_stream_count(o->c); i++) {
		const struct ht_stream *s = ht_container_stream(o->c, i);
		uint64_t end = 0;

		for (uint32_t j = 0; j < s->n_chunks; j++) {
			if (s->chunks[j].stream_offset < end)
				abort();
			end = s->chunks[j].stream_offset + s->chunks[j].size;
			touch(s->chunks[j].data, s->chunks[j].size);
		}
	}
	while ((rc = ht_container_next(o->c, &r)) != 0) {
		if (rc < 0) {
			if (++errors > o->c->size)
				abort();
			continue;
		}
		n++;
		touch(r.raw, r.raw_size);
		if (r.kind == HT_REC_MMAP) {
			touch(r.u.map.path, strlen(r.u.map.path));
			ht_container_build_id(o->c, r.u.map.path, id);
		} else if (r.kind == HT_REC_COMM) {
			touch(r.u.comm.comm, strlen(r.u.comm.comm));
		} else if (r.kind == HT_REC_CODE) {
			touch(r.u.code.bytes, r.u.code.len);
		}
	}
	return n;
}
