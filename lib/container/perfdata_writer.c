/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records and trace bytes to the file.  Sideband is collected in a small
 * buffer and goes out before the next trace bytes, so the file has the
 * caller's order.  Trace bytes go from the caller's memory to the file, filled
 * up with PAD packets so that each record starts at a multiple of 8.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "container/perfdata_writer_impl.h"

#define RECORD_MAX 0xfff8u /* header.size is 16 bits; records are multiples of 8 */
#define CODE_MAX   0xe000u /* code bytes in one TEXT_POKE; longer ones are split */
#define COMM_MAX   16
#define WHY_MAX    8192u /* of the text of a loss; a longer one is cut */

static int
io_failed(struct ht_perf_writer *w, int err)
{
	return ht_fail(&w->diag, HT_EIO, w->path, w->pos, "", "cannot write the capture: %s%s; %s",
	               strerror(err), ht_limit_hint(err),
	               w->pos > w->data_offset ? "what was written up to here can be read"
	                                       : "nothing was recorded");
}

/* Write all of `iov`, which is used up.  The first error stays. */
static int
write_all(struct ht_perf_writer *w, struct iovec *iov, int n)
{
	if (w->diag.error)
		return -w->diag.error;
	while (n > 0) {
		ssize_t done;

		if (!iov->iov_len) {
			iov++, n--;
			continue;
		}
		done = writev(w->fd, iov, n);
		if (done < 0) {
			if (errno == EINTR)
				continue;
			return io_failed(w, errno);
		}
		w->pos += (uint64_t)done;
		for (size_t left = (size_t)done; left;) {
			size_t part = left < iov->iov_len ? left : iov->iov_len;

			iov->iov_base = (char *)iov->iov_base + part;
			iov->iov_len -= part;
			left -= part;
			if (left)
				iov++, n--;
		}
	}
	return 0;
}

int
ht_perf_writer_flush(struct ht_perf_writer *w)
{
	struct iovec iov = { w->buf, w->used };

	w->used = 0;
	return write_all(w, &iov, 1);
}

int
ht_perf_writer_put(struct ht_perf_writer *w, const void *data, size_t size)
{
	struct iovec iov[2] = { { w->buf, w->used }, { (void *)(uintptr_t)data, size } };

	w->used = 0;
	return write_all(w, iov, 2);
}

uint64_t
ht_perf_writer_size(const struct ht_perf_writer *w)
{
	return w->pos + w->used;
}

const struct ht_diag *
ht_perf_writer_diag(const struct ht_perf_writer *w)
{
	return &w->diag;
}

/* -- records ---------------------------------------------------------------- */

/* Room for a record of `size` bytes (rounded up to 8) and its sample_id; zeroed. */
static uint8_t *
record_begin(struct ht_perf_writer *w, uint32_t type, uint16_t misc, size_t size)
{
	struct perf_event_header h;
	size_t all = ((size + 7) & ~(size_t)7) + SAMPLE_ID_SIZE;
	uint8_t *p;

	if (all > RECORD_MAX) {
		ht_fail(&w->diag, HT_ELIMIT, w->path, w->pos, "header.size",
		        "a record of %zu bytes", all);
		return NULL;
	}
	if (w->used + all > sizeof(w->buf) && ht_perf_writer_flush(w) < 0)
		return NULL;
	p = w->buf + w->used;
	w->used += all;
	memset(p, 0, all);
	h = (struct perf_event_header){ .type = type, .misc = misc, .size = (uint16_t)all };
	memcpy(p, &h, sizeof(h));
	return p;
}

static void
put32(uint8_t **p, uint32_t v)
{
	memcpy(*p, &v, sizeof(v));
	*p += sizeof(v);
}

static void
put64(uint8_t **p, uint64_t v)
{
	memcpy(*p, &v, sizeof(v));
	*p += sizeof(v);
}

static void
see_time(struct ht_perf_writer *w, uint64_t time)
{
	if (time && (!w->first_time || time < w->first_time))
		w->first_time = time;
	if (time > w->last_time)
		w->last_time = time;
}

/* sample_id of TID | TIME | IDENTIFIER: the last bytes of the record just made. */
static void
record_end(struct ht_perf_writer *w, int32_t pid, int32_t tid, uint64_t time, uint64_t id)
{
	uint8_t *p = w->buf + w->used - SAMPLE_ID_SIZE;

	put32(&p, (uint32_t)pid);
	put32(&p, (uint32_t)tid);
	put64(&p, time);
	put64(&p, id);
	see_time(w, time);
}

static int
put_map(struct ht_perf_writer *w, const struct ht_record *rec, uint64_t addr, uint64_t len,
        uint32_t prot, const char *path)
{
	int has_id = rec->kind == HT_REC_MMAP && rec->u.map.build_id_size > 0;
	int kernel = rec->kind == HT_REC_MMAP && (rec->u.map.flags & HT_MAP_KERNEL);
	size_t n = strlen(path);
	uint8_t *p, *id;

	if (n >= PATH_MAX) { /* the kernel's own words for such a path */
		path = "//toolong";
		n = strlen(path);
	}
	p = record_begin(w, PERF_RECORD_MMAP2,
	                 (uint16_t)((kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER) |
	                            (has_id ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0) |
	                            (prot & PROT_EXEC ? 0 : PERF_RECORD_MISC_MMAP_DATA)),
	                 72 + n + 1);
	if (!p)
		return -w->diag.error;
	p += 8;
	put32(&p, (uint32_t)rec->pid);
	put32(&p, (uint32_t)rec->tid);
	put64(&p, addr);
	put64(&p, len);
	put64(&p, rec->kind == HT_REC_MMAP ? rec->u.map.pgoff : 0);
	id = p;
	p += 24;
	if (has_id) {
		id[0] = rec->u.map.build_id_size;
		memcpy(id + 4, rec->u.map.build_id, HT_BUILD_ID_MAX);
	} else if (rec->kind == HT_REC_MMAP) {
		put32(&id, rec->u.map.maj);
		put32(&id, rec->u.map.min);
		put64(&id, rec->u.map.ino);
		put64(&id, rec->u.map.ino_generation);
	}
	put32(&p, prot);
	put32(&p, rec->kind == HT_REC_MMAP && (rec->u.map.flags & HT_MAP_SHARED) ? MAP_SHARED
	                                                                         : MAP_PRIVATE);
	memcpy(p, path, n + 1);
	record_end(w, rec->pid, rec->tid, rec->time, TRACK_ID);
	return 0;
}

static int
put_mmap(struct ht_perf_writer *w, const struct ht_record *rec)
{
	const char *path = rec->u.map.path ? rec->u.map.path : "";
	uint32_t prot = rec->u.map.prot;
	int err;

	if (!prot)
		prot = PROT_READ | (rec->u.map.flags & HT_MAP_EXEC ? PROT_EXEC : 0) |
		       (rec->u.map.flags & HT_MAP_WRITE ? PROT_WRITE : 0);
	err = put_map(w, rec, rec->u.map.addr, rec->u.map.len, prot, *path ? path : "//anon");
	if (!err && rec->u.map.build_id_size)
		err =
		    ht_perf_writer_see_file(w, path, rec->u.map.build_id, rec->u.map.build_id_size);
	return err;
}

static int
put_comm(struct ht_perf_writer *w, const struct ht_record *rec)
{
	const char *comm = rec->u.comm.comm ? rec->u.comm.comm : "";
	size_t n = strnlen(comm, COMM_MAX - 1);
	uint8_t *p = record_begin(w, PERF_RECORD_COMM,
	                          rec->u.comm.exec ? PERF_RECORD_MISC_COMM_EXEC : 0, 16 + n + 1);

	if (!p)
		return -w->diag.error;
	p += 8;
	put32(&p, (uint32_t)rec->pid);
	put32(&p, (uint32_t)rec->tid);
	memcpy(p, comm, n);
	record_end(w, rec->pid, rec->tid, rec->time, TRACK_ID);
	return 0;
}

static int
put_task(struct ht_perf_writer *w, const struct ht_record *rec, uint32_t type, int32_t ppid,
         int32_t ptid)
{
	uint8_t *p = record_begin(w, type, 0, 32);

	if (!p)
		return -w->diag.error;
	p += 8;
	put32(&p, (uint32_t)rec->pid);
	put32(&p, (uint32_t)ppid);
	put32(&p, (uint32_t)rec->tid);
	put32(&p, (uint32_t)ptid);
	put64(&p, rec->time);
	record_end(w, rec->pid, rec->tid, rec->time, TRACK_ID);
	return 0;
}

static int
put_itrace_start(struct ht_perf_writer *w, const struct ht_record *rec)
{
	uint8_t *p = record_begin(w, PERF_RECORD_ITRACE_START, 0, 16);

	if (!p)
		return -w->diag.error;
	p += 8;
	put32(&p, (uint32_t)rec->pid);
	put32(&p, (uint32_t)rec->tid);
	record_end(w, rec->pid, rec->tid, rec->time, TRACE_ID);
	return 0;
}

static int
put_lost(struct ht_perf_writer *w, const struct ht_record *rec)
{
	const char *why = rec->u.lost.why;
	size_t n = why ? strnlen(why, WHY_MAX) : 0;
	uint8_t *p = record_begin(w, PERF_RECORD_LOST, 0, why ? 24 + HT_PERF_LOST_WHY + n + 1 : 24);

	if (!p)
		return -w->diag.error;
	p += 8;
	put64(&p, TRACE_ID);
	put64(&p, rec->u.lost.lost);
	if (why) {
		put64(&p, HT_PERF_MARK);
		put64(&p, rec->u.lost.kind);
		memcpy(p, why, n);
	}
	record_end(w, rec->pid, rec->tid, rec->time, TRACK_ID);
	return 0;
}

/* perf applies TEXT_POKE to the kernel only and passes over those of user space. */
static int
put_code(struct ht_perf_writer *w, const struct ht_record *rec)
{
	uint32_t done = 0;

	while (done < rec->u.code.len) {
		uint32_t n = rec->u.code.len - done;
		uint16_t old_len = 0, new_len;
		uint8_t *p;

		if (n > CODE_MAX)
			n = CODE_MAX;
		new_len = (uint16_t)n;
		p = record_begin(w, PERF_RECORD_TEXT_POKE, PERF_RECORD_MISC_USER, 20 + n);
		if (!p)
			return -w->diag.error;
		p += 8;
		put64(&p, rec->u.code.addr + done);
		memcpy(p, &old_len, 2);
		memcpy(p + 2, &new_len, 2);
		memcpy(p + 4, rec->u.code.bytes + done, n);
		record_end(w, rec->pid, rec->tid, rec->time, TRACK_ID);
		done += n;
	}
	return 0;
}

int
ht_perf_writer_record(struct ht_perf_writer *w, const struct ht_record *rec)
{
	if (w->diag.error)
		return -w->diag.error;
	switch (rec->kind) {
	case HT_REC_MMAP:
		return put_mmap(w, rec);
	case HT_REC_MUNMAP:
		return put_map(w, rec, rec->u.unmap.addr, rec->u.unmap.len, PROT_NONE,
		               HT_PERF_MUNMAP_NAME);
	case HT_REC_COMM:
		return put_comm(w, rec);
	case HT_REC_FORK:
		return put_task(w, rec, PERF_RECORD_FORK, rec->u.fork.ppid, rec->u.fork.ptid);
	case HT_REC_EXIT:
		return put_task(w, rec, PERF_RECORD_EXIT, rec->u.exit.ppid, rec->u.exit.ptid);
	case HT_REC_ITRACE_START:
		return put_itrace_start(w, rec);
	case HT_REC_LOST:
		return put_lost(w, rec);
	case HT_REC_CODE:
		return put_code(w, rec);
	default:
		return -HT_EINVAL; /* a mistake of the caller's, not of the file: the writer goes on
		                    */
	}
}

int
ht_perf_writer_sample(struct ht_perf_writer *w, const struct ht_perf_sample *s)
{
	const size_t size = 8 + 6 * 8 + (size_t)s->n * HT_BRANCH_ENTRY_SIZE;
	uint8_t *p;

	if (w->diag.error)
		return -w->diag.error;
	if (s->n > HT_PERF_STACK_MAX)
		return -HT_EINVAL;
	p = record_begin(w, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, size - SAMPLE_ID_SIZE);
	if (!p)
		return -w->diag.error;
	p += 8;
	put64(&p, TRACE_ID);
	put64(&p, s->ip);
	put32(&p, (uint32_t)s->pid);
	put32(&p, (uint32_t)s->tid);
	put64(&p, s->time);
	put64(&p, s->period);
	put64(&p, s->n);
	for (unsigned i = 0; i < s->n; i++) {
		put64(&p, s->branches[i].from);
		put64(&p, s->branches[i].to);
		put64(&p, s->branches[i].type << HT_BRANCH_TYPE_SHIFT);
	}
	see_time(w, s->time);
	return 0;
}

/* -- trace ------------------------------------------------------------------- */

static struct ht_perf_writer_stream *
stream_of(struct ht_perf_writer *w, uint32_t index, int32_t pid, int32_t tid)
{
	struct ht_perf_writer_stream *s = NULL;

	if (index < w->streams.n)
		return &w->streams.at[index];
	if (index == w->streams.n)
		s = ht_vec_push(&w->streams);
	if (s)
		*s = (struct ht_perf_writer_stream){ .pid = pid, .tid = tid };
	else
		ht_fail(&w->diag, index > w->streams.n ? HT_EINVAL : HT_ENOMEM, w->path,
		        ht_perf_writer_size(w), "stream",
		        "stream %u cannot be added after %zu others", index, w->streams.n);
	return s;
}

static int
put_aux(struct ht_perf_writer *w, const struct ht_perf_writer_stream *s, uint64_t size,
        uint64_t time, uint64_t flags)
{
	uint8_t *p = record_begin(w, PERF_RECORD_AUX, 0, 32);

	if (!p)
		return -w->diag.error;
	p += 8;
	put64(&p, s->offset);
	put64(&p, size);
	put64(&p, flags);
	record_end(w, s->pid, s->tid, time, TRACE_ID);
	return 0;
}

/* The AUXTRACE record, into the buffer; its `size` bytes must follow at once. */
static int
put_auxtrace(struct ht_perf_writer *w, uint32_t index, uint64_t size, uint64_t time)
{
	const struct ht_perf_writer_stream *s = &w->streams.at[index];
	struct perf_event_header h = { .type = HT_PERF_AUXTRACE, .size = AUXTRACE_SIZE };
	struct ht_perf_writer_entry *e;
	uint8_t *p;

	if (w->used + AUXTRACE_SIZE > sizeof(w->buf) && ht_perf_writer_flush(w) < 0)
		return -w->diag.error;
	e = ht_vec_push(&w->index);
	if (!e)
		return ht_fail(&w->diag, HT_ENOMEM, w->path, w->pos, "",
		               "out of memory for the index");
	*e = (struct ht_perf_writer_entry){ ht_perf_writer_size(w), AUXTRACE_SIZE };
	p = w->buf + w->used;
	memcpy(p, &h, sizeof(h));
	p += sizeof(h);
	put64(&p, size);
	put64(&p, s->offset);
	put64(&p, time && w->clock.valid ? ht_clock_ns_to_tsc(&w->clock, time) : 0);
	put32(&p, index);
	put32(&p, (uint32_t)s->tid);
	put32(&p, UINT32_MAX); /* cpu: none, the stream is a thread's */
	put32(&p, 0);
	w->used += AUXTRACE_SIZE;
	return 0;
}

int
ht_perf_writer_trace(struct ht_perf_writer *w, uint32_t index, int32_t pid, int32_t tid,
                     uint64_t time, uint64_t flags, const void *a, size_t a_size,
                     const void *b, size_t b_size)
{
	static const uint8_t pad[8]; /* PAD packets */
	uint64_t size = (uint64_t)a_size + (b ? b_size : 0), all = (size + 7) & ~(uint64_t)7;
	struct ht_perf_writer_stream *s;
	struct iovec iov[4];

	if (w->diag.error)
		return -w->diag.error;
	s = stream_of(w, index, pid, tid);
	if (!s || put_aux(w, s, all, time, flags) < 0)
		return -w->diag.error;
	if (!all)
		return 0;
	if (put_auxtrace(w, index, all, time) < 0)
		return -w->diag.error;
	s->offset += all;
	iov[0] = (struct iovec){ w->buf, w->used };
	iov[1] = (struct iovec){ (void *)(uintptr_t)a, a_size };
	iov[2] = (struct iovec){ (void *)(uintptr_t)b, b ? b_size : 0 };
	iov[3] = (struct iovec){ (void *)(uintptr_t)pad, all - size };
	w->used = 0;
	return write_all(w, iov, 4);
}

int
ht_perf_writer_gap(struct ht_perf_writer *w, uint32_t index, int32_t pid, int32_t tid,
                   uint64_t time, uint64_t bytes)
{
	struct ht_perf_writer_stream *s;

	if (w->diag.error)
		return -w->diag.error;
	s = stream_of(w, index, pid, tid);
	if (!s)
		return -w->diag.error;
	s->offset += bytes;
	return put_aux(w, s, 0, time, PERF_AUX_FLAG_TRUNCATED);
}

int
ht_perf_writer_killed(struct ht_perf_writer *w, uint32_t index, int32_t pid, int32_t tid,
                      uint64_t time)
{
	struct ht_perf_writer_stream *s = w->diag.error ? NULL : stream_of(w, index, pid, tid);

	return s ? put_aux(w, s, 0, time, PERF_AUX_FLAG_TRUNCATED | HT_PERF_AUX_FLAG_KILLED)
	         : -w->diag.error;
}
