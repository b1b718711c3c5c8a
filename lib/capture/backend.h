/* SPDX-License-Identifier: BSD-2-Clause */
/* What a capture backend is made of.  Backends are listed, best first, in capture.c. */
#ifndef CAPTURE_BACKEND_H
#define CAPTURE_BACKEND_H

#include <hwtrace/capture.h>

#include "container/perfdata_writer.h"
#include "core/program.h"

struct ht_backend {
	const char *name, *summary, *timing;
	/* Fill gates; return 1 when usable. Must be quick and change nothing. */
	int (*probe)(struct ht_backend_info *info);
	/*
	 * 0 when the backend can trace this program, else -HT_EUNSUPPORTED and why.
	 * NULL = takes all.
	 */
	int (*accepts)(const struct ht_program *program, struct ht_diag *diag);
	/*
	 * As ht_capture_run(); config->output can be created, by ht_output_open(), and
	 * `program` is config->argv[0] as found (NULL when attaching).  NULL = this
	 * version only tells about the backend's gates.
	 */
	int (*record)(const struct ht_capture_config *config, const struct ht_program *program,
	              struct ht_capture_result *result, struct ht_diag *diag);
	int (*can_attach)(void); /* NULL = cannot attach */
};

/* Begin the file of config->output, under a name of its own. */
int  ht_output_open(const struct ht_capture_config *config, const struct ht_perf_writer_config *wc,
                    struct ht_perf_writer **out, struct ht_diag *diag);
/* The program runs: the file gets its name, the one that bore it becomes output.old. */
int  ht_output_settle(const struct ht_capture_config *config, struct ht_diag *diag);
/* As ht_output_open(), to take the place of what bears the name, by ht_output_replace(). */
int ht_output_begin(const struct ht_capture_config *config, const struct ht_perf_writer_config *wc,
                    struct ht_perf_writer **out, struct ht_diag *diag);
int ht_output_replace(const struct ht_capture_config *config, struct ht_diag *diag);
/* The program never ran: the file that was begun goes. */
void ht_output_drop(const struct ht_capture_config *config);

extern const struct ht_backend ht_backend_intel_pt;
extern const struct ht_backend ht_backend_qemu;
extern const struct ht_backend ht_backend_ptrace;

#endif
