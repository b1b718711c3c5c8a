/* SPDX-License-Identifier: BSD-2-Clause */
/* --module and --filter into the form that the plugin reads (struct ht_shm_header.filter). */
#ifndef CAPTURE_FILTER_H
#define CAPTURE_FILTER_H

#include <stddef.h>

#include <hwtrace/capture.h>

#include "core/program.h"

/* Fills `buf`; returns the bytes used (0: no filter), or -HT_E... with what is wrong. */
int ht_filter_build(const struct ht_capture_config *config, const struct ht_program *program, char *buf,
                    size_t size, struct ht_diag *diag);

#endif
