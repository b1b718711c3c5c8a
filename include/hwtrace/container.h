/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Containers: a capture file as streams of trace bytes, sideband records and
 * metadata.  The reader is chosen by content, never by name.  The file is
 * mapped; what is handed out points into the mapping and lives as long as the
 * container.
 */
#ifndef HWTRACE_CONTAINER_H
#define HWTRACE_CONTAINER_H

#include <stddef.h>
#include <stdint.h>

#include <hwtrace/branch.h>
#include <hwtrace/error.h>
#include <hwtrace/event.h>

struct ht_container;

enum ht_trace_source {
	HT_SOURCE_NONE = 0,
	HT_SOURCE_INTEL_PT,
	HT_SOURCE_INTEL_BTS,
	HT_SOURCE_CORESIGHT,
	HT_SOURCE_ARM_SPE,
	HT_SOURCE_BRANCH_STACK,
	HT_SOURCE_S390_CPUMSF,
	HT_SOURCE_HISI_PTT,
	HT_SOURCE_OTHER
};

enum ht_arch { HT_ARCH_UNKNOWN = 0, HT_ARCH_X86_64, HT_ARCH_X86_32, HT_ARCH_AARCH64, HT_ARCH_ARM };

/* tsc -> ns as perf states it: [perf_event.h "struct perf_event_mmap_page"]
 * ns = time_zero + (tsc >> shift) * mult + (((tsc & ((1<<shift)-1)) * mult) >> shift) */
struct ht_clock {
	uint8_t  valid;
	uint16_t shift;
	uint32_t mult;
	uint64_t zero;
};

uint64_t ht_clock_tsc_to_ns(const struct ht_clock *clock, uint64_t tsc);
uint64_t ht_clock_ns_to_tsc(const struct ht_clock *clock, uint64_t ns);

/* What the decoders need to know of the processor that was traced. */
struct ht_cpu_info {
	uint8_t  vendor_intel; /* 0 = other or not known */
	uint16_t family;
	uint8_t  model, stepping;
	uint8_t  mtc_freq;     /* IA32_RTIT_CTL.MTCFreq */
	uint8_t  nom_freq;     /* max non-turbo ratio */
	uint32_t tsc_ctc_num, tsc_ctc_den; /* CPUID 15H EBX, EAX */
};

/* One thing that a recorder was told to limit tracing to; code is recorded when one of all fits it. */
enum ht_limit_kind {
	HT_LIMIT_MODULE, /* files whose path or base name the glob `name` matches */
	HT_LIMIT_FILE,   /* bytes from `start` up to `end` of the file `name` */
	HT_LIMIT_ADDRESS /* addresses, likewise; `name` is NULL */
};

struct ht_limit {
	uint8_t kind; /* enum ht_limit_kind */
	uint64_t start, end;
	const char *name;
};

/* Metadata of the whole capture.  Strings live as long as the container; NULL = absent. */
struct ht_capture_info {
	const char          *format;   /* "perf.data", "raw", ... */
	const char          *path;
	enum ht_trace_source source;
	enum ht_arch         arch;
	struct ht_clock      clock;
	struct ht_cpu_info   cpu;
	const char          *filter;   /* what the recorder was told to limit tracing to, its options as text */
	const struct ht_limit
	    *limits; /* the same to the byte; none although there is `filter`: not known */
	uint32_t n_limits;
	int                  software; /* recorded by the software trace unit: branches exact, times emulated */
	int                  sampled;  /* what ran was sampled (branch stacks): what was not seen is not known */
	int monotonic;                 /* times of records are those of CLOCK_MONOTONIC */
	int                  per_cpu;  /* streams are per CPU (else per thread) */
	int                  ret_compression; /* 1 on, 0 off, -1 not known */
	int                  truncated;       /* the file ends early; what is there was read */
	uint64_t             trailing;        /* bytes behind the end of the capture; they were not read */
	uint64_t             trailing_at;     /* file offset of those */
	uint64_t             truncated_at;    /* file offset of the cut */
	const char          *hostname, *os_release, *version, *arch_name, *cmdline, *cpuid, *backend;
};

/*
 * A run of trace bytes that lie together in the file.  What is missing at a
 * stream's end is told by a last chunk of size 0 with lost_before.
 * BRANCH_STACK: a chunk is the stack of one sample, entries as in branch.h.
 */
struct ht_chunk {
	const uint8_t *data;
	uint64_t       size;          /* bytes */
	uint64_t       stream_offset; /* of data[0], counted from the stream's start */
	uint64_t       file_offset;
	uint64_t       ref;           /* as stored (perf: auxtrace reference); BRANCH_STACK: ns */
	uint8_t        lost_before;   /* HT_LOST_*: bytes are missing before this chunk; 0 = none */
};

#define HT_LOST_AUX       1u
#define HT_LOST_TRUNCATED 2u /* the kernel had no room left for them */
#define HT_LOST_BLOCK     3u /* no bytes: at most the block that the thread ran when it was killed */

/* One stream: the trace of one thread or one CPU, in order. */
struct ht_stream {
	uint32_t             index;   /* position in the container's table */
	enum ht_trace_source source;
	int32_t              pid, tid; /* -1 = not per thread / not known until sideband says */
	int32_t              cpu;      /* -1 = not per CPU */
	const struct ht_chunk *chunks;
	uint32_t             n_chunks;
	uint64_t             bytes;   /* sum of the chunks */
	uint8_t              gapless; /* BRANCH_STACK: no kind of branch was left out between two entries */
};

enum ht_record_kind {
	HT_REC_OTHER = 0, /* a record kept but not modelled: raw bytes only */
	HT_REC_MMAP,      /* mapping of code or data */
	HT_REC_MUNMAP,    /* ours: [addr, addr+len) unmapped or no longer executable */
	HT_REC_COMM,
	HT_REC_FORK,
	HT_REC_EXIT,
	HT_REC_SWITCH,
	HT_REC_ITRACE_START,
	HT_REC_AUX,
	HT_REC_LOST,
	HT_REC_CODE, /* code bytes as of this time (perf: TEXT_POKE) */
	HT_REC_SAMPLE,
	HT_REC_CONTEXT, /* page tables of a process, as PIP packets name them */
	HT_REC_KIND_COUNT
};

#define HT_MAP_EXEC    0x1u
#define HT_MAP_WRITE   0x2u
#define HT_MAP_SHARED  0x4u
#define HT_MAP_DUMP    0x10u /* the file holds memory as it was, whatever its first bytes look like */
#define HT_MAP_KERNEL  0x8u  /* kernel or module mapping (pid -1) */

#define HT_BUILD_ID_MAX 20

/* One sideband record.  Pointers live until the next ht_container_next() unless said otherwise. */
struct ht_record {
	enum ht_record_kind kind;
	uint32_t raw_type;     /* type number in the file's own format */
	int32_t  pid, tid;     /* -1 = none */
	int32_t  cpu;          /* -1 = none */
	uint64_t time;         /* ns; 0 = before everything (synthesised) or none */
	uint64_t file_offset;
	const uint8_t *raw;    /* whole record, header included */
	uint32_t raw_size;
	uint16_t misc;         /* perf: header.misc */
	union {
		struct {
			uint64_t addr, len, pgoff;
			uint32_t flags;         /* HT_MAP_* */
			uint32_t prot;          /* PROT_*; 0 if not recorded */
			uint32_t maj, min;
			uint64_t ino, ino_generation;
			uint8_t  build_id[HT_BUILD_ID_MAX];
			uint8_t  build_id_size; /* 0 = not recorded */
			const char *path;       /* life: container */
		} map;
		struct { uint64_t addr, len; } unmap;
		struct { const char *comm; int exec; } comm; /* exec: the address space was replaced */
		struct { int32_t ppid, ptid; } fork;  /* pid == ppid: a new thread */
		struct { int32_t ppid, ptid; } exit;
		struct { int out, preempt; int32_t next_prev_pid, next_prev_tid; } sw;
		struct { uint64_t offset, size, flags; } aux;   /* PERF_AUX_FLAG_* */
		/* samples: else records of any kind.  why: what our recorder could not trace, a
		 * loss of this kind (enum ht_gap_kind); NULL = none.  Life: container */
		struct { uint64_t id, lost; int samples; uint8_t kind; const char *why; } lost;
		struct { uint64_t addr; uint32_t old_len, len; const uint8_t *bytes; } code;
		struct {
			uint64_t cr3;
		} context;
		struct {
			uint64_t id, ip, addr, period;
			/* a branch stack: n_branches entries (branch.h), the newest first */
			const uint8_t *branches;
			uint32_t n_branches;
			uint64_t hw_idx;         /* register of the newest entry, where recorded */
			const uint8_t *counters; /* 8 bytes an entry; NULL = not recorded */
			const uint8_t *aux;      /* trace bytes taken with the sample */
			uint32_t aux_size;
		} sample;
	} u;
};

/* Named parts that a raw capture is made of; see ht_container_open(). */
struct ht_raw_config {
	const char *pt;      /* raw PT bytes */
	const char *pages;   /* code bytes */
	const char *map;     /* text: address, size, offset into pages; '#' starts a comment */
	const char *elf;     /* "FILE@BASE", may be NULL */
};

struct ht_container_config {
	size_t size;               /* sizeof(struct ht_container_config) */
	struct ht_raw_config raw;  /* raw.pt set: open a raw capture, `path` is ignored */
};

/*
 * Open the capture at `path` ("-" is standard input).  `config` may be NULL.
 * Errors: HT_EINVAL (config.size), HT_EIO, HT_EPERM, HT_EFORMAT (not a capture, or
 * damaged before any trace), HT_EUNSUPPORTED (other byte order, unknown version),
 * HT_ENOMEM.  A file that is cut is opened: see ht_capture_info.truncated.
 */
int ht_container_open(const char *path, const struct ht_container_config *config,
                      struct ht_container **out, struct ht_diag *diag);
void ht_container_close(struct ht_container *c); /* NULL is fine */

const struct ht_capture_info *ht_container_info(const struct ht_container *c);
uint32_t ht_container_stream_count(const struct ht_container *c);
/* NULL when `i` is out of range. */
const struct ht_stream *ht_container_stream(const struct ht_container *c, uint32_t i);

/*
 * Sideband, in file order.  Returns 1 with *rec filled, 0 at the end, -HT_E...
 * on a damaged record (diag by ht_container_diag; the next call goes on after
 * it where the format allows, else returns 0).
 */
int ht_container_next(struct ht_container *c, struct ht_record *rec);
void ht_container_rewind(struct ht_container *c);
const struct ht_diag *ht_container_diag(const struct ht_container *c);

/*
 * Build-id that the capture states for the file `path` outside of its mapping
 * records (perf: HEADER_BUILD_ID).  Returns its size in bytes, 0 when absent.
 */
unsigned ht_container_build_id(const struct ht_container *c, const char *path,
                               uint8_t id[HT_BUILD_ID_MAX]);

/* A file that came with the capture: bytes in memory, or (data NULL) a copy at `path`. Life: container. */
struct ht_carried {
	const char    *path; /* where it is, for people and for opening */
	const uint8_t *data;
	size_t         size;
};

/*
 * What the capture brings along for the file recorded as `path` with build-id
 * `id` (size 0 = not known).  Returns 1 with *out, 0 when it has none.
 */
int ht_container_file(const struct ht_container *c, const char *path, const uint8_t *id,
                      unsigned id_size, struct ht_carried *out);

/* The capture as it is, when it is one file; else NULL. */
const void *ht_container_bytes(const struct ht_container *c, size_t *size);

#endif
