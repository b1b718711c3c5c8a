/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside of a session.  session.c turns sideband records into one list of
 * changes per process; view.c applies such a list up to a moment; module.c and
 * its companions look behind a mapping.
 */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

#include <hwtrace/session.h>

#include "session/space.h"

enum ht_change_kind {
	HT_CHANGE_MAP,   /* [start, end) of module, from off */
	HT_CHANGE_UNMAP, /* [start, end) */
	HT_CHANGE_CODE,  /* bytes at [start, end) */
	HT_CHANGE_JIT,   /* [start, end) is code that a program made: of module, from off */
	HT_CHANGE_CLEAR, /* exec: everything goes */
	HT_CHANGE_FORK   /* everything goes; the parent's space as of change `off` comes */
};

struct ht_change {
	uint64_t ns;
	uint64_t start, end;
	uint64_t off;
	union {
		struct ht_module        *module;
		const uint8_t           *bytes;
		const struct ht_process *parent; /* NULL: empty space */
	} u;
	uint32_t reset; /* number of changes up to and with the last CLEAR or FORK, 0 = none */
	uint8_t  kind;  /* enum ht_change_kind */
};

struct ht_process {
	int32_t pid;
	struct { struct ht_change *at; size_t n, cap; } changes; /* in time order */
	struct ht_module
	    *names; /* perf-PID.map: behind its anonymous memory; NULL = there is none */
	int names_tried;
	struct ht_module *jitdump; /* that it mapped last; NULL = none */
};

struct ht_name {
	uint64_t    ns;
	const char *comm;
};

struct ht_task {
	struct { struct ht_name *at; size_t n, cap; } names; /* in time order */
};

/* Open-addressing table: key -> index + 1. */
struct ht_index {
	struct ht_index_slot { uint64_t key; uint32_t value; } *at;
	size_t n, cap; /* cap: power of two or 0 */
};

int ht_index_set(struct ht_index *x, uint64_t key, uint32_t value); /* 0 or -HT_ENOMEM */
/* The value, UINT32_MAX when absent. */
uint32_t ht_index_get(const struct ht_index *x, uint64_t key);
void ht_index_fini(struct ht_index *x);

#define HT_SESSION_GAPS 4096u /* each kind has one more place for the sum of what follows */

struct ht_session {
	struct ht_container *container;
	char                *symfs;
	int                  ignore_build_id;
	int may_fetch; /* of ht_session_config, as the next two */
	void (*progress)(void *arg, const char *what, uint64_t done, uint64_t total);
	void *progress_arg;
	struct ht_debuginfod *debuginfod; /* NULL until the first file is asked for */
	int cannot_fetch;                 /* there is no client */
	struct { struct ht_process **at; size_t n, cap; } processes;
	struct ht_index      by_pid;
	struct ht_process    kernel; /* mappings that every process sees */
	struct { struct ht_thread *at; size_t n, cap; } threads;
	struct { struct ht_task *at; size_t n, cap; } tasks; /* beside threads */
	struct ht_index      by_tid;
	struct ht_index by_context; /* page of the page tables -> pid */
	struct { struct ht_module **at; size_t n, cap; } modules;
	struct ht_index      by_path; /* hash of path and build-id -> first module of a chain */
	struct ht_module    *interned; /* the one asked for last */
	struct ht_module    *anon;    /* behind code that no mapping covers */
	struct { void **at; size_t n, cap; } memory; /* blocks that live as long as the session */
	struct { struct ht_switch *at; size_t n, cap; } switches; /* by CPU, then time */
	struct ht_diag       diag;    /* first damaged record */
	uint64_t             damaged; /* how many */
	struct { struct ht_gap *at; size_t n, cap; } gaps; /* at most HT_SESSION_GAPS, then sums */
	uint64_t             lost;    /* sideband records that the capture says were lost */
};

/* Copy that lives as long as the session; NULL when out of memory. */
void *ht_session_keep(struct ht_session *s, const void *data, size_t size);

/* Process `pid`; NULL when no record ever named it. */
struct ht_process *ht_session_process(const struct ht_session *s, int32_t pid);

/* -- gaps.c -------------------------------------------------------------- */

/* Each 0 or -HT_ENOMEM. */
int ht_session_lost(struct ht_session *s, const struct ht_record *rec);
/* `n` records cannot be read; `diag` (may be NULL) tells of the first.  0: it is no record. */
int ht_session_damaged(struct ht_session *s, const struct ht_diag *diag, uint64_t n);
/* The capture's early end, if it has one. */
int ht_session_cut(struct ht_session *s);

/* -- module.c ------------------------------------------------------------ */

/* Module for `path` and recorded build-id (size 0 = none); NULL when out of memory. */
struct ht_module *ht_session_intern(struct ht_session *s, const char *path,
                                    const uint8_t *build_id, unsigned build_id_size);

/* Is it memory that no file holds? */
int ht_module_is_memory(const struct ht_module *m);
/* The module of perf's map of names for process `pid`; NULL when there is none. */
struct ht_module *ht_session_perfmap(struct ht_session *s, int32_t pid);

/* The file is a dump of memory: never ELF. */
void ht_module_set_dump(struct ht_module *m);

void ht_module_free(struct ht_module *m);

/*
 * File bytes from `offset` on, as they lie in memory: *n of them (0 when there
 * are none).  Life: session.
 */
const uint8_t *ht_module_bytes(struct ht_module *m, uint64_t offset, size_t *n);

/* -- debuginfod.c -------------------------------------------------------- */

struct ht_fetch {
	const char *what; /* path of the module that the file is for */
	const uint8_t *id;
	unsigned id_size;
	int debug; /* its separate debug file */
};

/*
 * Ask the servers for a file; 1 with its path, to be freed, when it is there now.
 * Else 0, and why; NULL = nobody was asked.
 */
int ht_session_fetch(struct ht_session *s, const struct ht_fetch *f, char **path, const char **why);
void ht_debuginfod_free(struct ht_debuginfod *d);

/* -- jit.c --------------------------------------------------------------- */

/* A jitdump was mapped: from this moment its code may run. */
struct ht_jit_file {
	int32_t pid; /* as the capture counts */
	uint64_t ns;
	struct ht_module *module;
};

/* Code of it: what HT_CHANGE_JIT says. */
struct ht_jit_place {
	uint64_t ns;
	int32_t pid;
	uint64_t addr, size, offset;
};

/*
 * Read the jitdump of `f` and call `each` for the code in it, in the order of the
 * file.  What cannot be read is told by gaps of the session.  0 or what `each`
 * returned, or -HT_ENOMEM.
 */
int ht_session_jit(struct ht_session *s, const struct ht_jit_file *f,
                   int (*each)(void *arg, const struct ht_jit_place *place), void *arg);

#endif
