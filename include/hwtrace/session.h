/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Session: who ran which code when.  It replays the sideband of a container
 * into processes and their address spaces over time, and finds the code bytes,
 * symbols and source lines behind an address.
 *
 *	container --> session --> view (one address space at one moment)
 *	                     \--> module (one file: bytes, symbols, lines)
 */
#ifndef HWTRACE_SESSION_H
#define HWTRACE_SESSION_H

#include <stddef.h>
#include <stdint.h>

#include <hwtrace/container.h>
#include <hwtrace/error.h>
#include <hwtrace/event.h>

struct ht_session;
struct ht_view;
struct ht_module;

struct ht_session_config {
	size_t      size;            /* sizeof(struct ht_session_config) */
	const char *symfs;           /* root under which files are looked for first, copied; NULL = none */
	int         ignore_build_id; /* use a file although its build-id differs */
	/* Files that are not here may be asked for, by build-id, at the servers that the variable
	 * DEBUGINFOD_URLS of the environment names.  They then know what is decoded here. */
	int debuginfod;
	/* Called while a file comes: `done` of `total` bytes of that for module `what`.  May be NULL. */
	void (*progress)(void *arg, const char *what, uint64_t done, uint64_t total);
	void *progress_arg;
};

/*
 * Read the sideband of `c`, which is borrowed and must outlive the session, to its
 * end.  `config` may be NULL.  Damaged records are no error: see
 * ht_session_diag().  Errors: HT_EINVAL (config.size), HT_ENOMEM, HT_ELIMIT (more
 * records than 32 bits count).
 */
int ht_session_open(struct ht_container *c, const struct ht_session_config *config,
                    struct ht_session **out, struct ht_diag *diag);
/* Views and decoders must have been freed before; all that has the session's life goes. */
void ht_session_close(struct ht_session *s);
/*
 * Look for the files of all modules now.  Afterwards several threads may decode
 * streams of the session at once: with decoders, and views, of their own each.
 * Symbols, lines and whatever else is asked of a module stay one thread's.
 */
void ht_session_settle(struct ht_session *s);
/* The container that it was opened with. */
struct ht_container *ht_session_container(const struct ht_session *s);
/*
 * What the sideband lacks: number of damaged records and of records that the
 * capture says were lost (either may be NULL).  Returns the detail of the first
 * damaged one; its `error` is 0 when there is none.
 */
const struct ht_diag *ht_session_diag(const struct ht_session *s, uint64_t *damaged, uint64_t *lost);

/*
 * Loss number `i` that the sideband itself tells: records or samples that never
 * came to the file, records that cannot be read, the file's early end; in the
 * order of the file.  NULL when out of range.  Losses of trace come from the
 * decoders.  Of very many the last ones are summed up.  Life: session.
 */
const struct ht_gap *ht_session_gap(const struct ht_session *s, uint32_t i);

/* A thread's life.  Times in ns, 0 = from the start / until the end. */
struct ht_thread {
	int32_t     pid, tid, ppid; /* ppid: -1 = not known */
	uint64_t    start_ns, end_ns;
	const char *comm;    /* the last name it had; "" if none was recorded */
	uint32_t    n_comms; /* names that it had */
};

uint32_t ht_session_thread_count(const struct ht_session *s);
/* In the order in which they are first told of; NULL when out of range.  Life: session. */
const struct ht_thread *ht_session_thread(const struct ht_session *s, uint32_t i);
/* The name that thread `tid` had at `ns`; "" when not known.  Life: session. */
const char *ht_session_comm(const struct ht_session *s, int32_t tid, uint64_t ns);
/* Process that thread `tid` belongs to, -1 when not known. */
int32_t ht_session_pid_of(const struct ht_session *s, int32_t tid);

/*
 * Process with the page tables `cr3`, of which the address of the first page counts.  -1: not
 * known; -2: the capture tells of no page tables at all.
 */
int32_t ht_session_context(const struct ht_session *s, uint64_t cr3);

/* A CPU runs another thread from `ns` on.  tid 0 is idle, -1 not known. */
struct ht_switch {
	uint64_t ns;
	int32_t  pid, tid;
	int32_t  cpu;
	uint32_t order; /* among equal times */
};

/* The switches of `cpu` in time order; *n may be 0.  For streams that are per CPU.  Life: session. */
const struct ht_switch *ht_session_switches(const struct ht_session *s, int32_t cpu, size_t *n);

/* -- modules ------------------------------------------------------------ */

enum ht_module_state {
	HT_MODULE_UNTRIED = 0,
	HT_MODULE_FOUND,
	HT_MODULE_MISSING, /* no such file */
	HT_MODULE_CHANGED, /* build-id differs from the recorded one */
	HT_MODULE_MEMORY   /* anonymous memory: bytes come from HT_REC_CODE records; see is_names */
};

struct ht_module_info {
	const char *path;       /* as recorded */
	const char *found_path; /* where it was found, NULL if not */
	enum ht_module_state state;
	int         is_elf;     /* 1: an ELF file; 0: its bytes stand as they are, or are not there */
	int is_names;           /* perf's map of names for anonymous memory: its image is no code */
	uint8_t     build_id[HT_BUILD_ID_MAX]; /* as recorded */
	uint8_t     build_id_size; /* bytes; 0 = not recorded */
	int         by_build_id; /* FOUND: its build-id is the recorded one; else it was taken by its name */
	const char *why;        /* for MISSING and CHANGED: one sentence; else NULL */
};

/* Looks for the file at the first call.  Never NULL.  Life: session. */
const struct ht_module_info *ht_module_info(struct ht_module *m);
/* Its number in the session, from 0 without a hole: for tables. */
uint32_t ht_module_index(const struct ht_module *m);
/* All that was ever mapped, executable or not. */
uint32_t ht_session_module_count(const struct ht_session *s);
/* NULL when out of range.  Life: session. */
struct ht_module *ht_session_module(const struct ht_session *s, uint32_t i);

/*
 * Two ways to name a place in a module: `file offset`, and `vaddr`, the
 * address that the ELF file itself uses (symbols, DWARF).  For what is no ELF
 * file the two are equal.  Return 0, or -HT_ENOTFOUND when no segment has it.
 */
int ht_module_vaddr(struct ht_module *m, uint64_t file_offset, uint64_t *vaddr);
int ht_module_offset(struct ht_module *m, uint64_t vaddr, uint64_t *file_offset);
/* Up to `size` bytes by vaddr into `buf`; returns how many were there (0..size). */
size_t ht_module_read(struct ht_module *m, uint64_t vaddr, void *buf, size_t size);

/* An ELF symbol.  `name` is as in the file (mangled); life: session. */
struct ht_symbol {
	const char *name;
	uint64_t    start, size; /* vaddr, bytes; a size of 0 was extended to the next symbol */
	int         global;
};

/* Symbol that covers `vaddr`: .symtab, else .dynsym, else separate debug file. Returns 0 or -HT_ENOTFOUND. */
int ht_module_symbol(struct ht_module *m, uint64_t vaddr, struct ht_symbol *out);
/* All function symbols by start address, duplicates removed; *n may be 0. Life: session. */
const struct ht_symbol *ht_module_symbols(struct ht_module *m, uint32_t *n);
/* Executable ranges [start, end) in vaddr, sorted; *n may be 0.  Life: session. */
struct ht_range { uint64_t start, end; };
const struct ht_range *ht_module_text(struct ht_module *m, uint32_t *n);
/* The whole file as it is; NULL when it was not found.  Life: session. */
const void *ht_module_image(struct ht_module *m, size_t *size);
/* Its separate debug file; NULL when there is none.  Life: session. */
const void *ht_module_debug_image(struct ht_module *m, size_t *size);
/*
 * Where the direct branch at `from`, which says that it goes to `target` (both vaddr),
 * leads: code that a program made lies in its jitdump side by side, not as in memory.
 * UINT64_MAX: not known, or out of the module.
 */
uint64_t ht_module_target(const struct ht_module *m, uint64_t from, uint64_t target);
/* libdw handle (Dwarf *) or NULL; owned by the session.  For line tables. */
void *ht_module_dwarf(struct ht_module *m);
/* libelf handle (Elf *) or NULL; owned by the session. */
void *ht_module_elf(struct ht_module *m);

/*
 * Call `each` for every mapping of code that process `pid` ever had, those of
 * the processes it was forked from and of the kernel included; pid -1 = of all
 * processes.  Some may come twice.  Stops when `each` returns other than 0, and
 * returns that; else 0, or -HT_ENOMEM.
 */
struct ht_mapping;
int ht_session_mappings(const struct ht_session *s, int32_t pid,
                        int (*each)(void *arg, const struct ht_mapping *m), void *arg);

/* -- views -------------------------------------------------------------- */

struct ht_mapping {
	uint64_t          start, end;  /* [start, end) in the address space */
	uint64_t          pgoff;       /* file offset of `start` */
	struct ht_module *module;      /* never NULL */
	uint32_t          generation;  /* changes when the bytes behind it change */
};

/*
 * The address space of process `pid` at a moment, at first its beginning.  A view
 * is a cursor: it goes forward with ht_view_advance() and is owned by the caller;
 * `s` is borrowed.  A process that nothing is known of has an empty one.  Returns
 * 0 or -HT_ENOMEM.
 */
int ht_view_new(struct ht_session *s, int32_t pid, struct ht_view **out);
void ht_view_free(struct ht_view *v);
/* Move to another process (per-CPU streams) at `ns`, at or after the time it had.  Returns 0 or -HT_ENOMEM. */
int ht_view_switch(struct ht_view *v, int32_t pid, uint64_t ns);
int32_t ht_view_pid(const struct ht_view *v);
struct ht_session *ht_view_session(const struct ht_view *v);
/* Apply all changes stamped <= ns.  Returns 1 when executable content changed, 0 when not, -HT_ENOMEM. */
int ht_view_advance(struct ht_view *v, uint64_t ns);
/* Counts the changes of executable content, switches included: equal numbers of one view mean equal code. */
uint64_t ht_view_generation(const struct ht_view *v);
/* Time of the next change that is not yet applied; UINT64_MAX = none. */
uint64_t ht_view_next_change(const struct ht_view *v);
/* Ranges, sorted and apart, changed by the last advance that returned 1 (or by switch): life until the next call. */
const struct ht_range *ht_view_changes(const struct ht_view *v, uint32_t *n);

/* Two views of one session with equal marks have the same process and the same code. */
struct ht_view_mark {
	int32_t  pid;
	uint64_t changes, kernel_changes; /* applied so far */
};
void ht_view_mark(const struct ht_view *v, struct ht_view_mark *out);

/* Mapping that covers `addr`. Returns 0 or -HT_ENOTFOUND; out->module has the session's life. */
int ht_view_find(struct ht_view *v, uint64_t addr, struct ht_mapping *out);
/* All mappings, sorted by address. Life: until the view changes. */
const struct ht_mapping *ht_view_mappings(struct ht_view *v, uint32_t *n);
/*
 * Code bytes at `addr`, up to `size`, across mappings; later HT_REC_CODE bytes
 * win over the file.  Returns the count (0..size).  A return short of `size`
 * means the next byte is missing; ht_view_why() tells why in one sentence.
 */
size_t ht_view_read(struct ht_view *v, uint64_t addr, void *buf, size_t size);
/* enum ht_gap_kind, and in *why one sentence, for a byte that ht_view_read() could not give.  Life: session. */
int ht_view_why(struct ht_view *v, uint64_t addr, const char **why);

/* addr -> (module, vaddr). Returns 0 or -HT_ENOTFOUND. */
int ht_view_resolve(struct ht_view *v, uint64_t addr, struct ht_module **m, uint64_t *vaddr);

#endif
