/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside of the LLDB bundle reader: bundle.c opens and gives records out,
 * bundle_json.c asks the description, bundle_read.c goes through it.
 */
#ifndef CONTAINER_BUNDLE_H
#define CONTAINER_BUNDLE_H

#include <json-c/json.h>

#include "base/vec.h"
#include "container/reader.h"

/* A part of the description, and its name: "processes[0].threads[1]". */
struct ht_json_at {
	struct ht_container *c;
	struct ht_diag      *diag;
	json_object         *value;
	char                 name[64];
};

/* A file of the bundle, in memory. */
struct ht_bundle_file {
	void  *data; /* NULL when it is empty */
	size_t size;
};

/* Which thread ran on a CPU when: records of the kernel. */
struct ht_bundle_switches {
	struct ht_bundle_file file;
	int32_t     cpu;
	const char *path;
	char        field[64]; /* of the description */
};

struct ht_bundle_module {
	const char *path; /* as recorded */
	char       *copy; /* in the bundle; NULL = none */
};

struct ht_bundle {
	json_object *root;  /* strings of records are its */
	char        *folder;
	struct { struct ht_record *at; size_t n, cap; } records;   /* of the description */
	struct { struct ht_bundle_switches *at; size_t n, cap; } switches;
	struct { struct ht_bundle_module *at; size_t n, cap; } modules;
	struct { struct ht_bundle_file *at; size_t n, cap; } files;
	struct { char **at; size_t n, cap; } names;                 /* paths, owned */
	struct { struct ht_stream *at; size_t n, cap; } streams;
	struct { struct ht_chunk *at; size_t n, cap; } chunks;      /* one a stream */
	struct ht_diag warning; /* something is not as it should be, and was read nevertheless */
	/* of next() */
	size_t next, next_switches, pos;
	int    warned;
};

/* bundle_json.c: fill *out, or fail naming the field. */
int ht_json_fail(const struct ht_json_at *at, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int ht_json_has(const struct ht_json_at *at, const char *key);
int ht_json_object(const struct ht_json_at *at, const char *key, struct ht_json_at *out);
int ht_json_array(const struct ht_json_at *at, const char *key, struct ht_json_at *out, size_t *n);
int ht_json_item(const struct ht_json_at *array, size_t i, struct ht_json_at *out); /* an object */
int ht_json_string(const struct ht_json_at *at, const char *key, const char **out);
/* A number from 0 to `max`; `text`: a string that holds one will do. */
int ht_json_number(const struct ht_json_at *at, const char *key, uint64_t max, int text,
                   uint64_t *out);

/* bundle_read.c: all of the description into streams and records. */
int ht_bundle_read(struct ht_container *c, struct ht_diag *diag);

/* bundle.c: a context switch of `s` at *pos, which goes behind it; 0 at the end, -HT_E... */
int ht_bundle_switch(struct ht_container *c, const struct ht_bundle_switches *s, size_t *pos,
                     struct ht_record *rec, struct ht_diag *diag);

#endif
