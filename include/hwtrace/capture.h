/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Capture: run or attach to a program and put its trace into a file.  A
 * backend is one file in lib/capture and one line in its table, best first.
 */
#ifndef HWTRACE_CAPTURE_H
#define HWTRACE_CAPTURE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <hwtrace/error.h>

#define HT_CAPTURE_NO_INHERIT 0x01u /* only the first process */
#define HT_CAPTURE_NO_RETCOMP 0x02u /* no return compression */
#define HT_CAPTURE_CYC        0x04u /* cycle packets; the software unit counts instructions */
#define HT_CAPTURE_OVERWRITE  0x08u /* keep the last `buffer_bytes` of each stream only */

struct ht_capture_config {
	size_t        size;
	const char   *backend;     /* NULL = the best that works */
	const char   *output;      /* file to write; an existing one is kept as output.old */
	char *const  *argv;        /* program and arguments, NULL-terminated; NULL when attaching */
	pid_t         pid;         /* attach to this process; 0 = run argv */
	unsigned      flags;       /* HT_CAPTURE_* */
	uint64_t      buffer_bytes; /* per stream; 0 = default */
	uint32_t      psb_period;  /* bytes between PSB packets; 0 = default */
	const char *const *modules; /* globs of module paths or base names to trace, NULL-terminated; NULL = all */
	const char *const *filters; /* address ranges "0xA-0xB" or "SYM[+len]@MODULE", NULL-terminated */
	char *const  *cmdline; /* of the tool, kept in the file; NULL = argv */
	void        (*note)(void *arg, const char *text); /* warnings meant for the user; may be NULL */
	void         *note_arg;
};

struct ht_capture_result {
	const char *backend;
	uint32_t    processes, threads;
	uint64_t    trace_bytes, lost_bytes;
	int         wait_status; /* of the program, as from waitpid(2); 0 when attached */
};

/*
 * Record.  Returns 0 when a complete file was written, whatever the program's
 * own status.  Errors: HT_ECHILD (program not found or not executable: diag.field
 * is "126" or "127"), HT_EUNSUPPORTED (no backend can, text says why), HT_EPERM, HT_EIO.
 */
int ht_capture_run(const struct ht_capture_config *config, struct ht_capture_result *result,
                   struct ht_diag *diag);

/* One thing that must hold for a backend to work here. */
struct ht_gate {
	const char *name;      /* "qemu-x86_64", "perf_event_paranoid", ... */
	int         open;
	char        state[160]; /* what was found */
	char        remedy[200]; /* how to open it; "" when open */
};

#define HT_GATE_MAX 16

struct ht_backend_info {
	const char *name, *summary;
	const char *timing;    /* "emulated", "none", "hardware" */
	int         usable;
	int         can_record; /* 0: this version only tells about its gates */
	int         can_attach; /* to a process that runs already */
	struct ht_gate gates[HT_GATE_MAX];
	unsigned    n_gates;
};

/* Probe backend number `i`, best first.  Returns 0, or -HT_ENOTFOUND past the end. */
int ht_backend_probe(unsigned i, struct ht_backend_info *info);

#endif
