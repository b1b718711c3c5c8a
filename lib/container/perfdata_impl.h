/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside of the perf.data reader.  perfdata.c opens, perfdata_header.c reads
 * attributes and features, perfdata_walk.c goes from record to record,
 * perfdata_records.c says what a record means, perfdata_auxtrace.c builds the
 * streams of traces, perfdata_stack.c those of branch stacks, perfdata_sample.c
 * reads samples.
 */
#ifndef CONTAINER_PERFDATA_IMPL_H
#define CONTAINER_PERFDATA_IMPL_H

#include <hwtrace/container.h>

#include "base/cursor.h"
#include "base/intern.h"
#include "base/vec.h"
#include "container/perfdata_format.h"
#include "container/reader.h"

/* One event of the file: its attributes decide the layout of its records. */
struct ht_perf_event {
	struct perf_event_attr attr; /* what the file has of it; zeros behind */
	uint32_t trailer; /* bytes of sample_id behind other records; 0 without sample_id_all */
};

struct ht_perf_id {
	uint64_t id;
	uint32_t event;
};

struct ht_perf_build_id {
	const char    *path;
	const uint8_t *id;
	uint8_t        size;
};

struct ht_zstd;
struct ht_perf_stack;

/* Memory for what must outlive a compressed record. */
struct ht_perf_block {
	uint8_t *at;
	size_t   used;
};

/* A walk over the records of the data section. */
struct ht_perf_walk {
	size_t          pos;     /* next record in the file */
	struct ht_zstd *zstd;    /* NULL until the first compressed record */
	int             zstd_lost; /* compressed records cannot be read any more */
	int             done;    /* the end, or no way to go on */
	int             cut;     /* it was not a proper end */
	uint64_t        cut_at;
};

/* A record as found: header and body are `size` bytes that can be read. */
struct ht_perf_raw {
	const uint8_t *at;
	uint32_t       size;
	uint32_t       type;
	uint16_t       misc;
	uint64_t       offset;    /* in the file; of the compressed record if it was inside one */
	int            mapped;    /* `at` lives as long as the container */
	uint64_t       payload;   /* AUXTRACE: bytes behind it that are there */
	uint64_t       payload_said; /* and how many it says there are */
};

struct ht_perfdata {
	size_t data_start, data_end; /* of the records, in the file */
	int    pipe;
	int    no_features;          /* the file was not completed */
	struct { struct ht_perf_event *at; size_t n, cap; } events;
	struct { struct ht_perf_id *at; size_t n, cap; } ids; /* sorted */
	int    uniform;              /* all events have the same layout */
	int    unsorted;             /* attributes came that ht_perfdata_layouts() has not seen */
	struct { struct ht_perf_build_id *at; size_t n, cap; } build_ids; /* sorted by path */
	char  *cmdline;              /* joined, owned */
	uint64_t comp_mmap_len; /* HEADER_COMPRESSED: output of one compressed record at most */
	const uint8_t *aux_info;     /* body of AUXTRACE_INFO */
	uint32_t aux_info_size;
	int      aux_per_thread;     /* ID_INDEX: buffers belong to threads */
	struct ht_limit *limits;     /* of ht_capture_info */
	struct ht_chunk *chunks;     /* all streams' chunks, by stream */
	struct { struct ht_perf_stack *at; size_t n, cap; } stacks;
	struct { struct ht_perf_block *at; size_t n, cap; } blocks;
	char  *kcore_path;           /* --kcore: the kernel's code beside the file */
	struct { struct ht_record *at; size_t n, cap; } kcore;
	size_t kcore_next;
	struct ht_perf_walk walk;    /* of ht_container_next() */
	struct ht_intern *names;     /* strings of compressed records */
};

/* perfdata_header.c */
int ht_perfdata_header(struct ht_container *c, struct ht_diag *diag);
int ht_perfdata_attr(struct ht_container *c, const uint8_t *attr, size_t size, const uint8_t *ids,
                     size_t ids_size);
void ht_perfdata_feature(struct ht_container *c, unsigned bit, const uint8_t *data, size_t size);
int ht_perfdata_add_build_id(struct ht_container *c, const uint8_t *entry, size_t size,
                             size_t fixed);
/* Another capture behind the end of this one, which is at `end`, is told. */
void ht_perfdata_trailing(struct ht_container *c, uint64_t end);
void ht_perfdata_layouts(struct ht_container *c); /* once all attributes are known */

/* perfdata_walk.c */
void ht_perf_walk_init(struct ht_perf_walk *w, const struct ht_perfdata *p);
void ht_perf_walk_fini(struct ht_perf_walk *w);
/* 1 with *raw, valid until the next call; 0 at the end (see cut); -HT_E... (and done) */
int ht_perf_walk_next(struct ht_container *c, struct ht_perf_walk *w, struct ht_perf_raw *raw,
                      struct ht_diag *diag);

/* perfdata_zstd.c: the stream of all compressed records of the file. */
struct ht_zstd *ht_zstd_new(void);
void ht_zstd_free(struct ht_zstd *z);
/* More input; `limit` is the most that it may give. */
void ht_zstd_feed(struct ht_zstd *z, const uint8_t *in, size_t size, uint64_t offset,
                  uint64_t limit);
/* 1 with a whole record, 0 when it needs input, -HT_E... */
int ht_zstd_record(struct ht_zstd *z, struct ht_perf_raw *raw, const char *path,
                   struct ht_diag *diag);
size_t ht_zstd_pending(const struct ht_zstd *z); /* bytes of a record that is not complete */

/* perfdata_records.c */
/* The event that `raw` belongs to; NULL when the file has none. */
const struct ht_perf_event *ht_perfdata_event(const struct ht_perfdata *p,
                                              const struct ht_perf_raw *raw);
int ht_perfdata_parse(struct ht_container *c, const struct ht_perf_raw *raw, struct ht_record *rec);

/* perfdata_sample.c: the body of a sample; `k` fails when it is too short. */
void ht_perf_sample_parse(struct ht_cursor *k, const struct perf_event_attr *a,
                          struct ht_record *r);

/* `n` bytes that live as long as the container: those of a compressed record go with the next one. */
const uint8_t *ht_perf_keep(struct ht_perfdata *p, const uint8_t *at, size_t n);

/* perfdata_stack.c: note the branch stack of a sample; make the streams of all of them. */
int ht_perf_stack_add(struct ht_container *c, const struct ht_perf_raw *raw);
int ht_perf_stack_build(struct ht_container *c);
void ht_perf_stack_fini(struct ht_perfdata *p);

/* perfdata_kcore.c: the mappings of a core beside the file.  0 or -HT_E... */
int ht_perf_kcore_open(struct ht_container *c, struct ht_diag *diag);
/* Of a core that begins with the `size` bytes at `head`. */
int ht_perf_kcore_read(struct ht_perfdata *p, const uint8_t *head, size_t size,
                       struct ht_diag *diag);

/* perfdata_auxtrace.c: walk all records once; streams, clock, cpu. */
int ht_perfdata_index(struct ht_container *c, struct ht_diag *diag);

#endif
