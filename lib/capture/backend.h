/* SPDX-License-Identifier: BSD-2-Clause */
/* What a capture backend is made of.  Backends are listed, best first, in capture.c. */
#ifndef CAPTURE_BACKEND_H
#define CAPTURE_BACKEND_H

#include <hwtrace/capture.h>

struct ht_backend {
	const char *name, *summary, *timing;
	/* Fill gates; return 1 when usable. Must be quick and change nothing. */
	int (*probe)(struct ht_backend_info *info);
	/* As ht_capture_run(); config->output is already free to be created. */
	int (*record)(const struct ht_capture_config *config, struct ht_capture_result *result,
	              struct ht_diag *diag);
	int (*can_attach)(void); /* NULL = cannot attach */
};

extern const struct ht_backend ht_backend_qemu;
extern const struct ht_backend ht_backend_ptrace;

#endif
