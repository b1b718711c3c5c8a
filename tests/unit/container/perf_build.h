/* SPDX-License-Identifier: BSD-2-Clause */
/* perf.data files made by hand in memory, field by field, without any code of the reader or the
 * writer. */
#ifndef TESTS_PERF_BUILD_H
#define TESTS_PERF_BUILD_H

#include <stddef.h>
#include <stdint.h>

#include <hwtrace/container.h>

#define PB_ATTRS 4

struct pb_attr {
	uint32_t type;
	uint64_t config, sample_type;
	int      sample_id_all;
	uint64_t id; /* 0 = none */
	uint64_t read_format; /* 0 = PERF_FORMAT_ID */
	uint64_t branch_sample_type, regs_user, regs_intr;
};

/* What a trailer says; fields that the attribute does not name are left out. */
struct pb_id {
	uint32_t pid, tid;
	uint64_t time, id, stream_id;
	uint32_t cpu;
};

struct pb {
	uint8_t *at;
	size_t   n, cap;
	size_t   data;    /* file offset of the data section */
	size_t   record;  /* of the record being made */
	int      pipe;
	struct pb_attr attrs[PB_ATTRS];
	unsigned n_attrs;
	struct { unsigned bit; uint8_t data[512]; size_t size; } feats[32];
	unsigned n_feats;
};

void pb_begin(struct pb *b, const struct pb_attr *attrs, unsigned n);
void pb_begin_pipe(struct pb *b, const struct pb_attr *attrs, unsigned n);
/* A record: pb_record(), body by pb_u32() .. pb_text(), pb_end(). */
void pb_record(struct pb *b, uint32_t type, uint16_t misc);
void pb_u16(struct pb *b, uint16_t v);
void pb_u32(struct pb *b, uint32_t v);
void pb_u64(struct pb *b, uint64_t v);
void pb_bytes(struct pb *b, const void *data, size_t n);
void pb_text(struct pb *b, const char *s); /* with NUL, filled up to 8 */
/* Close the record; `id` (may be NULL) makes the trailer that attribute `attr` asks for. */
void pb_end(struct pb *b, unsigned attr, const struct pb_id *id);
/* Whole records. */
void pb_mmap2(struct pb *b, unsigned attr, const struct pb_id *id, uint64_t addr, uint64_t len,
              uint64_t pgoff, uint32_t prot, const char *path);
void pb_aux(struct pb *b, unsigned attr, const struct pb_id *id, uint64_t offset, uint64_t size,
            uint64_t flags);
void pb_auxtrace(struct pb *b, uint32_t idx, uint32_t tid, uint32_t cpu, uint64_t offset,
                 const void *data, size_t size);
void pb_auxtrace_info(struct pb *b, uint32_t type, const uint64_t *words, unsigned n);
/* Features, by rising bit; the last call of a file is pb_finish(). */
void pb_feature(struct pb *b, unsigned bit, const void *data, size_t size);
void pb_feature_text(struct pb *b, unsigned bit, const char *s);
void pb_finish(struct pb *b);
void pb_free(struct pb *b);

/* A file with one of everything, as small as it goes; `flavour` chooses among layouts. */
void pb_sample_file(struct pb *b, unsigned flavour);
#define PB_FLAVOURS 7

/* Open the first `size` bytes of it in an exact heap block, so that ASan sees the first byte too
 * far. */
struct pb_open {
	uint8_t *block;
	struct ht_container *c;
	struct ht_diag diag;
	int rc;
};

void pb_open(struct pb_open *o, const void *data, size_t size);
void pb_close(struct pb_open *o);
/* Read everything there is: each byte of chunks, paths and records. Returns records read. */
unsigned long pb_drain(struct pb_open *o);

#endif
