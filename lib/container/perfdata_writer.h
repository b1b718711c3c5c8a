/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a capture as perf.data that perf itself reads.  Records go to the file
 * as they come; the header is completed by finish.  A file without finish is
 * what an interrupted recording leaves: our reader takes it up to the cut.
 *
 * Where stamps must lie so that perf decodes every instruction (found with perf
 * 6.1 and kept as tests/unit/container/test_perf_order.c):
 *   - perf applies a record stamped T when each stream was decoded up to its
 *     first packet that follows a TSC >= T.  What a packet with an older time
 *     leads to is walked in the old address space.
 *   - So a MMAP, MUNMAP, or the COMM and MMAPs of an exec, made by a syscall, are
 *     stamped <= the value of a TSC packet that stands *before* the TIP.PGE that
 *     ends this syscall.  Equal will do: ns to TSC rounds down.  A TSC after the
 *     TIP.PGE is too late when the first block is in the new code, as after exec;
 *     a stamp above the TSC loses the code up to the next TSC.
 *   - A thread that runs code which another thread mapped needs a TSC >= T of its
 *     own before the first packet that leads there.
 *   - FORK is stamped <= the TSC of the child's first PSB+, and comes before any
 *     other record of the child; EXIT is stamped >= the thread's last TSC.
 *   - Mappings that were there before the trace have time 0: perf takes them at once.
 *   - Each chunk ends at the end of a packet; a stream begins with PSB+ with a TSC.
 */
#ifndef CONTAINER_PERFDATA_WRITER_H
#define CONTAINER_PERFDATA_WRITER_H

#include <hwtrace/container.h>

struct ht_perf_writer;

struct ht_perf_writer_config {
	struct ht_clock     clock;
	struct ht_cpu_info  cpu;
	const char         *backend;          /* "qemu", "ptrace": written with `software` */
	int                 software;
	int                 ret_compression;
	int                 cyc;
	int monotonic;                        /* times are those of CLOCK_MONOTONIC */
	uint64_t branch_period; /* samples with branch stacks in place of trace; 0 = trace */
	const char         *name;             /* what messages call the file; NULL = its path */
	const char         *filter;           /* what tracing is limited to, as text; NULL = nothing */
	const char *limits; /* the same as ht_filter_build() has it; borrowed until open returned */
	size_t limits_size; /* bytes, its last NUL included; 0 = none */
	char *const        *argv;             /* of the recording tool, for HEADER_CMDLINE */
};

/* Strings of `config` are borrowed until finish or abort.  Errors: HT_EPERM, HT_EIO, HT_ENOMEM. */
int ht_perf_writer_open(const char *path, const struct ht_perf_writer_config *config,
                        struct ht_perf_writer **out, struct ht_diag *diag);

/*
 * Append a sideband record (HT_REC_MMAP, MUNMAP, COMM, FORK, EXIT, ITRACE_START, LOST, CODE).
 * LOST with `why` makes readers tell of it as of any loss.
 */
int ht_perf_writer_record(struct ht_perf_writer *w, const struct ht_record *rec);

/*
 * Append trace bytes of one stream, as AUX + AUXTRACE.  `index` is dense from
 * 0; (pid, tid) are the thread's.  `flags` are PERF_AUX_FLAG_*.  The bytes may
 * come in two parts (a ring that wraps); `b` may be NULL.  A call must end at
 * the end of a packet (perf on a 64-bit machine does not join a packet that is
 * cut by the end of an AUXTRACE record); the file gets 0 to 7 PAD packets more.
 */
int ht_perf_writer_trace(struct ht_perf_writer *w, uint32_t index, int32_t pid, int32_t tid,
                         uint64_t time, uint64_t flags, const void *a, size_t a_size,
                         const void *b, size_t b_size);

/*
 * `bytes` of the stream's trace (0: not known how many) are missing here.  The
 * bytes that come next should begin with a PSB.
 */
int ht_perf_writer_gap(struct ht_perf_writer *w, uint32_t index, int32_t pid, int32_t tid,
                       uint64_t time, uint64_t bytes);

/* The stream ends here: its thread was killed while it ran, of its last block nothing is known. */
int ht_perf_writer_killed(struct ht_perf_writer *w, uint32_t index, int32_t pid, int32_t tid,
                          uint64_t time);

#define HT_PERF_STACK_MAX 32 /* branches of one sample */

struct ht_perf_branch {
	uint64_t from, to, type; /* PERF_BR_* */
};

/* A sample with its branch stack, the newest first; `n` up to HT_PERF_STACK_MAX. */
struct ht_perf_sample {
	int32_t pid, tid;
	uint64_t time, ip, period;
	const struct ht_perf_branch *branches;
	unsigned n;
};

int ht_perf_writer_sample(struct ht_perf_writer *w, const struct ht_perf_sample *s);

/* Bytes written so far to the file. */
uint64_t ht_perf_writer_size(const struct ht_perf_writer *w);
const struct ht_diag *ht_perf_writer_diag(const struct ht_perf_writer *w);

/* Complete the header and close; frees w.  Errors: HT_EIO (disk full, ...). */
int ht_perf_writer_finish(struct ht_perf_writer *w, struct ht_diag *diag);
/* Close without completing; frees w; NULL is fine. */
void ht_perf_writer_abort(struct ht_perf_writer *w);

#endif
