/* SPDX-License-Identifier: BSD-2-Clause */
/* The threads of a recording by single-step, and the streams that their packets go to. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "capture/ptrace.h"

#define FLUSH_BYTES     (256u << 10)
#define OVERWRITE_BYTES (4u << 20)

static struct ht_pthread **
bucket_of(struct ht_ptrace *r, pid_t tid)
{
	return &r->threads[(unsigned)tid % HT_TID_BUCKETS];
}

struct ht_pthread *
ht_pthread_find(struct ht_ptrace *r, pid_t tid)
{
	struct ht_pthread *t = *bucket_of(r, tid);

	while (t && t->tid != tid)
		t = t->next;
	return t;
}

int
ht_pthread_parents(pid_t tid, pid_t *pid, pid_t *ppid)
{
	char name[48], line[256];
	int got = 0, v;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/status", (int)tid);
	f = fopen(name, "re");
	if (!f)
		return -HT_ENOTFOUND;
	while (got < 2 && fgets(line, sizeof(line), f))
		if (sscanf(line, "Tgid: %d", &v) == 1) {
			*pid = v;
			got++;
		} else if (sscanf(line, "PPid: %d", &v) == 1) {
			*ppid = v;
			got++;
		}
	fclose(f);
	return got == 2 ? 0 : -HT_ENOTFOUND;
}

static void
record_fork(struct ht_ptrace *r, const struct ht_pthread *t, pid_t ppid, pid_t ptid)
{
	struct ht_record rec = { .kind = HT_REC_FORK, .pid = t->proc->pid, .tid = t->tid, .cpu = -1 };

	rec.time = ht_ptrace_stamp(r);
	rec.u.fork.ppid = ppid;
	rec.u.fork.ptid = ptid;
	ht_ptrace_record(r, &rec);
}

static struct ht_pproc *
process_of(struct ht_ptrace *r, pid_t pid, pid_t ppid, const struct ht_pthread *from)
{
	struct ht_pthread *leader;
	const struct ht_pproc *like = from ? from->proc : NULL;
	struct ht_pproc *p;

	if (from && from->proc->pid == pid)
		return from->proc;
	for (unsigned i = 0; i < HT_TID_BUCKETS; i++)
		for (leader = r->threads[i]; leader; leader = leader->next) {
			if (leader->proc->pid == pid)
				return leader->proc;
			if (!like && leader->proc->pid == ppid)
				like = leader->proc;
		}
	p = ht_pproc_new(r, pid, like);
	if (p)
		r->result->processes++;
	return p;
}

struct ht_pthread *
ht_pthread_add(struct ht_ptrace *r, pid_t tid, const struct ht_pthread *from)
{
	struct ht_step_config step = {
		.ret_compression = !(r->config->flags & HT_CAPTURE_NO_RETCOMP),
		.cyc = !!(r->config->flags & HT_CAPTURE_CYC),
		.psb_period = r->config->psb_period,
	};
	struct ht_pthread *t = calloc(1, sizeof(*t));
	pid_t pid = tid, ppid = -1;

	ht_pthread_parents(tid, &pid, &ppid);
	if (t)
		t->proc = process_of(r, pid, ppid, from);
	if (!t || !t->proc) {
		free(t);
		return NULL;
	}
	t->tid = tid;
	t->mode = from ? from->mode : 64;
	t->proc->refs++;
	ht_step_init(&t->step, &step);
	t->next = *bucket_of(r, tid);
	*bucket_of(r, tid) = t;
	r->n_threads++;
	r->result->threads++;
	if (from)
		record_fork(r, t, from->proc->pid, from->tid);
	else if (r->n_threads > 1)
		record_fork(r, t, pid == tid ? ppid : pid, pid == tid ? ppid : pid);
	ht_ppin_thread(r, t, from);
	return t;
}

int
ht_pthread_comm(pid_t pid, pid_t tid, char comm[32])
{
	char name[64];
	ssize_t n;
	int fd;

	comm[0] = 0;
	snprintf(name, sizeof(name), "/proc/%d/task/%d/comm", (int)pid, (int)tid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -HT_ENOTFOUND;
	n = read(fd, comm, 31);
	close(fd);
	comm[n > 0 ? n - 1 : 0] = 0; /* the newline */
	return n > 0 ? 0 : -HT_ENOTFOUND;
}

void
ht_pthread_rename(struct ht_ptrace *r, const struct ht_pthread *t, int exec)
{
	struct ht_record rec = {
		.kind = HT_REC_COMM, .pid = t->proc->pid, .tid = t->tid, .cpu = -1
	};
	char comm[32];

	if (ht_pthread_comm(t->proc->pid, t->tid, comm) < 0)
		return;
	rec.time = ht_ptrace_stamp(r);
	rec.u.comm.comm = comm;
	rec.u.comm.exec = exec;
	ht_ptrace_record(r, &rec);
}

/* -- streams -------------------------------------------------------------- */

/* Keep the last bytes only, from a PSB on. */
static void
overwrite(struct ht_ptrace *r, struct ht_pthread *t, int all)
{
	static const uint8_t psb[16] = { 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82 };
	uint64_t keep = r->config->buffer_bytes ? r->config->buffer_bytes : OVERWRITE_BYTES;
	size_t n = t->step.out.n, cut;
	const uint8_t *at;

	if (n <= keep || (!all && n < 2 * keep))
		return;
	cut = n - (size_t)keep;
	at = memmem(t->step.out.at + cut, n - cut, psb, sizeof(psb));
	cut = at ? (size_t)(at - t->step.out.at) : n;
	memmove(t->step.out.at, t->step.out.at + cut, n - cut);
	t->step.out.n = n - cut;
	t->dropped += cut;
	r->result->lost_bytes += cut;
}

void
ht_pthread_start(struct ht_ptrace *r, struct ht_pthread *t)
{
	struct ht_record rec = { .kind = HT_REC_ITRACE_START, .pid = t->proc->pid, .tid = t->tid, .cpu = -1 };

	if (t->started)
		return;
	t->started = 1;
	rec.time = ht_ptrace_stamp(r);
	ht_ptrace_record(r, &rec);
}

void
ht_pthread_flush(struct ht_ptrace *r, struct ht_pthread *t, int all)
{
	size_t n;

	if (r->config->flags & HT_CAPTURE_OVERWRITE)
		overwrite(r, t, all);
	n = t->step.out.n;
	if (!all && (n < FLUSH_BYTES || r->config->flags & HT_CAPTURE_OVERWRITE))
		return;
	t->step.out.n = 0;
	if (t->step.nomem)
		ht_ptrace_fail(r, -HT_ENOMEM, NULL);
	if (!n || r->failed)
		return;
	if (!t->has_index)
		t->index = r->n_streams++;
	t->has_index = 1;
	if (t->dropped && ht_perf_writer_gap(r->writer, t->index, t->proc->pid, t->tid, r->now, t->dropped) < 0)
		ht_ptrace_fail(r, -HT_EIO, ht_perf_writer_diag(r->writer));
	t->dropped = 0;
	if (!r->failed && ht_perf_writer_trace(r->writer, t->index, t->proc->pid, t->tid, r->now, 0,
	                                       t->step.out.at, n, NULL, 0) < 0)
		ht_ptrace_fail(r, -HT_EIO, ht_perf_writer_diag(r->writer));
	r->result->trace_bytes += n;
}

void
ht_pthread_end(struct ht_ptrace *r, struct ht_pthread *t)
{
	struct ht_record rec = { .kind = HT_REC_EXIT, .pid = t->proc->pid, .tid = t->tid, .cpu = -1 };
	struct ht_pthread **at = bucket_of(r, t->tid);

	ht_pthread_flush(r, t, 1);
	rec.time = ht_ptrace_stamp(r);
	rec.u.exit.ppid = rec.u.exit.ptid = t->proc->pid;
	if (!r->stopping)
		ht_ptrace_record(r, &rec);
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	r->n_threads--;
	ht_step_fini(&t->step);
	if (!--t->proc->refs)
		ht_pproc_free(t->proc);
	free(t);
}
