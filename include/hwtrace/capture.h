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

/* What to record, and how.  All is borrowed until ht_capture_run() returns. */
struct ht_capture_config {
	size_t        size;        /* sizeof(struct ht_capture_config) */
	const char   *backend;     /* a name of ht_backend_info; NULL = the best that works */
	const char   *output;      /* file to write; an existing one is kept as output.old */
	char *const  *argv;        /* program and arguments, NULL-terminated; NULL when attaching */
	pid_t         pid;         /* attach to this process; 0 = run argv */
	unsigned      flags;       /* HT_CAPTURE_* */
	/* Bytes for each stream.  qemu: of the ring between program and recorder, rounded
	 * up to a power of two from 64 KiB to 1 GiB; 0 = 256 KiB.  ptrace: what is kept
	 * with HT_CAPTURE_OVERWRITE, any number; 0 = 4 MiB. */
	uint64_t      buffer_bytes;
	/* Trace bytes between two PSB packets.  0 = 16384 (qemu) or 4096 (ptrace); qemu
	 * takes no less than 512. */
	uint32_t      psb_period;
	/* Other than 0: keep no trace, but the last 32 branches at every so many branches that a
	 * thread takes: samples with branch stacks, as perf record -b writes them. */
	uint64_t branch_period;
	const char *const *modules; /* globs of module paths or base names to trace, NULL-terminated; NULL = all */
	const char *const *filters; /* address ranges "0xA-0xB" or "SYM[+len]@MODULE", NULL-terminated; NULL = none */
	char *const  *cmdline;     /* of the tool, kept in the file; NULL = argv */
	/* A warning meant for the user: one sentence, without newline; its life is the call. May be NULL. */
	void        (*note)(void *arg, const char *text);
	void         *note_arg;    /* handed to `note` */
};

struct ht_capture_result {
	const char *backend;     /* that recorded; static */
	uint32_t    processes;   /* that were recorded, the program included */
	uint32_t    threads;     /* that were recorded */
	uint64_t    trace_bytes; /* in the file */
	uint64_t samples;        /* in the file, in place of the trace; 0 without branch_period */
	uint64_t    lost_bytes;  /* that are not; each loss stands in the file as well */
	int         wait_status; /* of the program, as from waitpid(2); 0 when attached */
};

/*
 * Record until the program ends; what it left behind runs on untraced.  SIGINT,
 * SIGTERM and the like are passed on to the program; of an attachment they are
 * the end.  For that, signal actions of the whole process, its interval timer
 * and (ptrace) its CPU mask are other ones meanwhile, and children are waited
 * for: one recording at a time, and no other children.
 *
 * Returns 0 when a complete file was written, whatever the program's own status;
 * *result is filled in.  Errors, which leave the output and its .old as they were
 * when nothing was recorded:
 *	HT_ECHILD	program not found or not executable: diag.field is "127" or "126"
 *	HT_EINVAL	no output, nothing to record, no such backend, filter or file name
 *	HT_EUNSUPPORTED	no backend can record this here; the text says why
 *	HT_ENOTFOUND	no process `pid`; no function that a filter names
 *	HT_EPERM	the process may not be traced, the folder not be written
 *	HT_EIO		the file cannot be written (any more): the program ran to its end
 *	HT_ENOMEM
 */
int ht_capture_run(const struct ht_capture_config *config, struct ht_capture_result *result,
                   struct ht_diag *diag);

/* One thing that must hold for a backend to work here. */
struct ht_gate {
	const char *name;        /* "qemu-x86_64", "perf_event_paranoid", ...; static */
	int         open;        /* 1: it holds */
	char        state[160];  /* what was found */
	char        remedy[200]; /* how to open it; "" when open */
};

#define HT_GATE_MAX 16

/* A backend, and what it takes here.  Strings are static. */
struct ht_backend_info {
	const char *name, *summary; /* "qemu"; what it is, in a few words */
	const char *timing;     /* where times come from: "emulated", "none", "hardware" */
	int         usable;     /* 1: all gates that it needs are open, and it can record */
	int         can_record; /* 0: this version only tells about its gates */
	int         can_attach; /* to a process that runs already */
	struct ht_gate gates[HT_GATE_MAX];
	unsigned    n_gates;    /* of them, in the order of looking */
};

/*
 * Probe backend number `i`, best first: looks at files and the kernel, and may run
 * a helper program for a moment.  Returns 0, or -HT_ENOTFOUND past the end.
 */
int ht_backend_probe(unsigned i, struct ht_backend_info *info);

#endif
