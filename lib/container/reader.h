/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a container reader is made of.  container.c owns the struct, maps the
 * file and picks the reader from its table by content.
 */
#ifndef CONTAINER_READER_H
#define CONTAINER_READER_H

#include <hwtrace/container.h>

struct ht_reader {
	const char *name;
	/* 1 when the first bytes look like this format. */
	int (*match)(const uint8_t *data, size_t size);
	/* Fill info and streams, private state in c->state; close is called even after a failure. */
	int (*open)(struct ht_container *c, const struct ht_container_config *config,
	            struct ht_diag *diag);
	void (*close)(struct ht_container *c);
	int (*next)(struct ht_container *c, struct ht_record *rec);
	void (*rewind)(struct ht_container *c);
	unsigned (*build_id)(const struct ht_container *c, const char *path,
	                     uint8_t id[HT_BUILD_ID_MAX]);
	/* As ht_container_file(); NULL = it carries none. */
	int (*file)(const struct ht_container *c, const char *path, const uint8_t *id,
	            unsigned id_size, struct ht_carried *out);
	/* As ht_container_bytes(); NULL = it is made of several files. */
	const void *(*bytes)(const struct ht_container *c, size_t *size);
};

struct ht_container {
	const struct ht_reader *reader;
	void                   *state;
	char                   *path;
	const uint8_t          *data;   /* the file; for raw the trace bytes */
	size_t                  size;
	void                   *mapped; /* data, when it is a mapping of ours */
	void                   *owned;  /* data, when it is on the heap */
	struct ht_capture_info  info;
	struct ht_stream       *streams;
	uint32_t                n_streams;
	struct ht_diag          diag;
};

/*
 * As ht_container_open(), of a file that is in memory already; `data` is
 * borrowed until close.  For tests and fuzzing.
 */
int ht_container_open_memory(const void *data, size_t size,
                             const struct ht_container_config *config, struct ht_container **out,
                             struct ht_diag *diag);

/* The same, under a name for its errors. */
int ht_container_open_part(const char *name, const void *data, size_t size,
                           const struct ht_container_config *config, struct ht_container **out,
                           struct ht_diag *diag);

extern const struct ht_reader ht_reader_perfdata;
extern const struct ht_reader ht_reader_archive;
extern const struct ht_reader ht_reader_bundle;
extern const struct ht_reader ht_reader_brstack;
extern const struct ht_reader ht_reader_snapshot;
extern const struct ht_reader ht_reader_simplept;
extern const struct ht_reader ht_reader_raw; /* never matched by content */

#endif
