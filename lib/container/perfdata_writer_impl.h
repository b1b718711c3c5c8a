/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside of the writer: perfdata_writer.c (records, trace), perfdata_writer_file.c (the rest). */
#ifndef CONTAINER_PERFDATA_WRITER_IMPL_H
#define CONTAINER_PERFDATA_WRITER_IMPL_H

#include <stdint.h>
#include <sys/uio.h>

#include "base/vec.h"
#include "container/perfdata_format.h"
#include "container/perfdata_writer.h"

#define TRACE_ID 1u /* id of the intel_pt event */
#define TRACK_ID 2u /* id of the dummy event that carries the sideband */
#define SAMPLE_TYPE (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_IDENTIFIER)
#define SAMPLE_ID_SIZE 24u
#define AUXTRACE_SIZE  48u

struct ht_perf_writer_stream {
	int32_t  pid, tid;
	uint64_t offset;    /* of the next byte, in the stream */
};

/* HEADER_AUXTRACE: where each AUXTRACE record is. */
struct ht_perf_writer_entry {
	uint64_t offset, size;
};

struct ht_perf_writer_file {
	char   *path;
	uint8_t build_id[HT_BUILD_ID_MAX];
	uint8_t build_id_size;
};

struct ht_perf_writer {
	int              fd;
	char            *path;
	struct ht_diag   diag;  /* sticky */
	uint64_t         pos;   /* bytes written */
	uint64_t         data_offset;
	uint64_t         first_time, last_time;
	struct ht_clock  clock;
	struct ht_perf_writer_config config;
	struct { struct ht_perf_writer_stream *at; size_t n, cap; } streams;
	struct { struct ht_perf_writer_entry *at; size_t n, cap; } index;
	struct { struct ht_perf_writer_file *at; size_t n, cap; } files;
	/* open addressing over files; 0 = free, else index + 1 */
	struct { uint32_t *at; size_t n, cap; } hash;
	size_t           used;
	uint8_t          buf[1 << 17];
};

int ht_perf_writer_flush(struct ht_perf_writer *w);
/* Flush, then write `size` bytes. */
int ht_perf_writer_put(struct ht_perf_writer *w, const void *data, size_t size);
/* Remember a file for HEADER_BUILD_ID. */
int ht_perf_writer_see_file(struct ht_perf_writer *w, const char *path, const uint8_t *id,
                            unsigned size);

#endif
