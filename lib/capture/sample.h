/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CAPTURE_SAMPLE_H
#define CAPTURE_SAMPLE_H

#include "capture/backend.h"

/*
 * Put a capture with branch stacks, one every config->branch_period taken branches of
 * a thread, in place of the one with trace in config->output.  0, or -HT_E...: then
 * the trace is still there.
 */
int ht_sample_branches(const struct ht_capture_config *config, struct ht_capture_result *result,
                       struct ht_diag *diag);

#endif
