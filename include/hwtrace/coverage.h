/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Coverage: which instructions, branches, lines and functions ran, how often.
 *
 *	counts (struct ht_coverage)         fed with events, by module and address
 *	  --> report (struct ht_cov_report) expanded once, with lines and functions
 *
 * Counts of several streams and captures add up: a module is the same module
 * when its build-id is, or, where it has none, its path.
 */
#ifndef HWTRACE_COVERAGE_H
#define HWTRACE_COVERAGE_H

#include <stddef.h>
#include <stdint.h>

#include <hwtrace/error.h>
#include <hwtrace/event.h>
#include <hwtrace/session.h>

/* -- counts --------------------------------------------------------------- */

struct ht_coverage;

/* Without counts; to be freed.  Returns 0 or -HT_ENOMEM, as do all below that count. */
int ht_coverage_new(struct ht_coverage **out);
void ht_coverage_free(struct ht_coverage *c);

/*
 * Take note of all modules of `s`, run or not, and of what its capture left out.
 * The session is borrowed until the last report was made.
 */
int ht_coverage_add_session(struct ht_coverage *c, struct ht_session *s);
/* Count a batch of one stream; BLOCK, BRANCH and GAP matter.  Returns 0 or -HT_ENOMEM. */
int ht_coverage_events(struct ht_coverage *c, struct ht_view *view, const struct ht_event *ev, int n);
/*
 * Trace of process `pid` is missing, -1 = of any: whatever it had mapped may have
 * run unseen.  Gap events say so by themselves.  Returns 0 or -HT_ENOMEM.
 */
int ht_coverage_lose(struct ht_coverage *c, struct ht_session *s, int32_t pid);
/* To be called at the end of a stream, while its view still lives. */
int ht_coverage_end_stream(struct ht_coverage *c);
/* All counts to 0, in the middle of a stream. */
void ht_coverage_forget(struct ht_coverage *c);
/* Add all of `from` to `into`; of `from` nothing is borrowed but its sessions. */
int ht_coverage_merge(struct ht_coverage *into, const struct ht_coverage *from);

/* The same by hand: number of a module, >= 0; then counts at its vaddrs. */
int ht_coverage_module(struct ht_coverage *c, struct ht_module *m);
int ht_coverage_count_block(struct ht_coverage *c, int module, uint64_t start, uint64_t last, uint64_t count);
int ht_coverage_count_branch(struct ht_coverage *c, int module, uint64_t addr, uint64_t taken,
                             uint64_t not_taken);
/* A place where trace was lost; what that makes unknown tells ht_coverage_lose(). */
int ht_coverage_count_gap(struct ht_coverage *c, int module, uint64_t vaddr);

/*
 * Blocks of one module as they ran, whatever source they stand for: sorted by
 * start, then end; they may overlap.  `*out` is to be freed by the caller.
 * Returns 0, -HT_ENOMEM or -HT_EINVAL.
 */
struct ht_cov_run {
	uint64_t start, end; /* vaddr, [start, end) */
	uint64_t count;
	uint32_t insns;
};
int ht_coverage_runs(const struct ht_coverage *c, uint32_t module, struct ht_cov_run **out, size_t *n);
/* The handle behind the module of this number; borrowed. */
struct ht_module *ht_coverage_handle(const struct ht_coverage *c, uint32_t module);

/*
 * Why code that was not seen may have run all the same.  A recording that lost
 * trace might have shown it; one that left it out, or only sampled, does not
 * speak of it.
 */
enum ht_cov_doubt {
	HT_COV_LOST = 1,      /* trace was lost in a process that had it mapped */
	HT_COV_UNRECORDED = 2 /* outside of what was recorded, or what ran was only sampled */
};

/* -- instructions --------------------------------------------------------- */

/* The code of one module with its counts, one function after the other. */
struct ht_cov_code;

struct ht_cov_insn {
	uint64_t addr;             /* vaddr */
	uint64_t target;           /* of direct jumps and calls; else 0 */
	uint64_t count;
	uint64_t taken, not_taken; /* of conditional branches */
	uint8_t  size, insn;       /* bytes; enum ht_insn_class */
	uint8_t doubt;             /* enum ht_cov_doubt: why a count of 0 says nothing */
};

/* `c` is borrowed. Returns 0 or -HT_ENOMEM; a `module` that cannot be read has no instructions. */
int ht_cov_code_open(const struct ht_coverage *c, uint32_t module, struct ht_cov_code **out);
void ht_cov_code_close(struct ht_cov_code *code);
/*
 * The instructions of the function, or the part of one, that holds `vaddr`, in
 * order: life until the next call.  NULL and 0 when there is none, or no memory.
 */
const struct ht_cov_insn *ht_cov_code_function(struct ht_cov_code *code, uint64_t vaddr, size_t *n);
/* Its line table; NULL when there is none. */
struct ht_lines;
const struct ht_lines *ht_cov_code_lines(const struct ht_cov_code *code);
enum ht_arch ht_cov_code_arch(const struct ht_cov_code *code);

/* -- report --------------------------------------------------------------- */

/*
 * Hit; not hit; or not known, for one of the reasons below.  What is not known
 * counts as neither.
 */
enum ht_cov_state { HT_COV_NOT_HIT = 0, HT_COV_HIT, HT_COV_UNKNOWN };

#define HT_COV_NONE UINT32_MAX

/* How the functions of a module were found. */
enum ht_cov_source {
	HT_COV_BY_LINES,   /* debug information */
	HT_COV_BY_SYMBOLS, /* the symbol table, and unwind tables where it has none */
	HT_COV_BY_UNWIND,  /* bounds in .eh_frame, no names */
	HT_COV_BY_TEXT,    /* nothing but the text: one function a range */
	HT_COV_BY_REPORT   /* told by the report of another tool */
};

/* Things of one kind: all = hit + missed + unknown. */
struct ht_cov_tally {
	uint64_t all, hit, unknown;
};

struct ht_cov_tallies {
	struct ht_cov_tally lines, functions, insns;
	struct ht_cov_tally branches; /* two outcomes for each conditional branch */
	struct ht_cov_tally calls;    /* call instructions */
	struct ht_cov_tally blocks;   /* basic blocks; a call does not end one */
};

struct ht_cov_line {
	uint32_t line;
	uint8_t  state;  /* enum ht_cov_state */
	uint8_t doubt;   /* of one that is unknown: enum ht_cov_doubt */
	uint64_t count;  /* executions: the most that one of its instructions ran, summed up over
	                  * the copies of its function.  Exact where the compiler kept the line together */
	uint32_t first_branch, n_branches; /* in report->branches */
};

struct ht_cov_branch {
	uint32_t file, line;   /* HT_COV_NONE and 0 when no line stands for it */
	uint32_t function, module; /* `function` is HT_COV_NONE in the reports of other tools */
	uint64_t addr;         /* vaddr of the instruction, in the first module that has it; by other
	                        * tools, a number that tells the branches of a line apart */
	uint64_t taken, not_taken;
	uint8_t  one;          /* it has one outcome only, `taken` */
	uint8_t  state;        /* HT_COV_HIT: it was executed */
	uint8_t doubt;         /* enum ht_cov_doubt: why an outcome that was not seen is unknown */
};

/* Where an indirect branch went. */
struct ht_cov_target {
	uint32_t module; /* HT_COV_NONE: none that is known */
	uint64_t addr;   /* vaddr there; else the address */
	uint64_t count;
	const char *name; /* of the symbol that begins there; NULL when none does */
};

/* A call, or a jump through a table. */
struct ht_cov_site {
	uint32_t file, line; /* HT_COV_NONE and 0 when not known */
	uint32_t function, module;
	uint64_t addr; /* vaddr */
	uint64_t count;
	uint64_t to;                      /* of a direct call: vaddr of what it calls */
	const char *name;                 /* its symbol; NULL when there is none */
	uint32_t first_target, n_targets; /* in report->targets: what was seen of an indirect one */
	uint8_t insn;                     /* HT_INSN_CALL, HT_INSN_CALL_IND or HT_INSN_JUMP_IND */
	uint8_t state;
	uint8_t doubt; /* of one that is unknown: enum ht_cov_doubt */
};

struct ht_cov_file {
	const char *path;
	const struct ht_cov_line *lines; /* sorted */
	uint32_t n_lines;
	uint32_t unclosed;     /* line of an EXCL_START mark without its STOP; 0 = none */
	struct ht_cov_tallies tally;
};

struct ht_cov_function {
	const char *name;     /* as in the source; by symbol; or "module+0xADDR" */
	const char *linkage;  /* mangled name, NULL when there is none or it is the same */
	const char *shown;    /* with its scope and parameters, where there is a mangled name; else `name` */
	uint32_t    file, line; /* HT_COV_NONE and 0 when not known */
	uint32_t    end_line; /* the last line of `file` with code of its own; 0 when there is none */
	uint32_t    module;   /* the first that has it */
	uint64_t    addr;     /* vaddr of its first copy there */
	uint64_t    count;    /* entries, inlined copies included; at least 1 when it ran.  Of an
	                       * optimised copy the executions of what is left of its entry */
	uint32_t    copies, inlined; /* places of code; how many of them inlined */
	uint8_t     state;
	uint8_t doubt; /* enum ht_cov_doubt, of all its code */
	struct ht_cov_tallies tally;
};

struct ht_cov_module {
	const char *path;
	const char *build_id; /* hexadecimal; NULL when there is none */
	uint8_t     source;   /* enum ht_cov_source */
	uint8_t     chosen;   /* part of this report; else only the counts below hold */
	const char *why;      /* the file could not be read: one sentence; else NULL */
	uint64_t    executed; /* instructions, all repetitions */
	uint64_t    gaps;     /* places where trace was lost */
	uint32_t    damaged_units; /* of its debug information */
	uint32_t split_missing;    /* units whose split debug information was not found */
	uint32_t without_lines;    /* functions that were left out for that; see all_functions */
	const char *first_without; /* the name of one of them, NULL when there are none */
	struct ht_cov_tallies tally; /* but for lines: they belong to files */
};

struct ht_cov_report {
	const struct ht_cov_module   *modules;   uint32_t n_modules;
	const struct ht_cov_file     *files;     uint32_t n_files;     /* by path */
	const struct ht_cov_function *functions; uint32_t n_functions; /* by file, line, name */
	const struct ht_cov_branch   *branches;  uint32_t n_branches;  /* by file, line, address */
	/* By module and address; in sums of reports there are none, nor calls and blocks. */
	const struct ht_cov_site *sites;
	uint32_t n_sites;
	const struct ht_cov_target *targets;
	uint32_t n_targets;
	struct ht_cov_tallies         total;
	uint64_t gaps;          /* in all streams */
	uint64_t unresolved;    /* instructions in no known module */
};

struct ht_cov_config {
	size_t size; /* sizeof(struct ht_cov_config) */
	/* Globs of module paths or base names, NULL-terminated; NULL = the modules
	 * outside of the system's folders, else the programs themselves. */
	const char *const *modules;
	int all_modules;
	int all_functions; /* functions without lines too, in modules that have lines; else they are counted only */
	/* Globs of source paths, NULL-terminated: only these, and not those.  With
	 * neither, headers of the system are left out. */
	const char *const *include, *const *exclude;
	/* "OLD=NEW", NULL-terminated: sources under OLD are found under NEW. */
	const char *const *source_map;
	int no_markers; /* do not look for LCOV_EXCL_ and GCOV_EXCL_ marks in the sources */
};

/* `path` under the first rule of `map` (may be NULL) that fits, into `buf`; or `path` itself. */
const char *ht_cov_map_source(const char *const *map, const char *path, char *buf, size_t size);

/*
 * Work out what the counts mean.  The sessions of `c` are needed for the call alone:
 * the report owns all that it shows.  Reads binaries, debug information and, for
 * marks, sources; what cannot be read is told in ht_cov_module.why.  Errors:
 * HT_EINVAL (config.size), HT_ENOMEM.
 */
int ht_cov_report_new(struct ht_coverage *c, const struct ht_cov_config *config,
                      struct ht_cov_report **out, struct ht_diag *diag);
void ht_cov_report_free(struct ht_cov_report *r);
/*
 * Add up `n` reports: the same whatever their order, and whatever of them was
 * added up before.  What they told of a place is hit when one hit it, else
 * unknown when one lost trace there, else not hit when one saw that, else unknown:
 * a recording that left something out says nothing about it.  Instructions are not counted any more, since
 * reports tell only how many there were; a function's lines are those from its
 * first to its last.  Of `in` nothing is borrowed, and no tally is looked at.
 */
int ht_cov_report_merge(const struct ht_cov_report *const *in, size_t n, struct ht_cov_report **out,
                        struct ht_diag *diag);

/*
 * Per cent of what is known, rounded so that 100 means all and 0 means none; -1
 * when nothing is known.
 */
double ht_cov_percent(const struct ht_cov_tally *t);

#endif
