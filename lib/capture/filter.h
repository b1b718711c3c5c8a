/* SPDX-License-Identifier: BSD-2-Clause */
/* --module and --filter into the form that the plugin reads (struct ht_shm_header.filter). */
#ifndef CAPTURE_FILTER_H
#define CAPTURE_FILTER_H

#include <stddef.h>

#include <hwtrace/capture.h>
#include <hwtrace/container.h>

#include "core/program.h"

/* Fills `buf`; returns the bytes used (0: no filter), or -HT_E... with what is wrong. */
int ht_filter_build(const struct ht_capture_config *config, const struct ht_program *program, char *buf,
                    size_t size, struct ht_diag *diag);

/* The options as they were given, for the file: "--module X --filter Y"; "" without any.  Returns buf. */
const char *ht_filter_text(const struct ht_capture_config *config, char *buf, size_t size);

/* Notes in `met` which --module and --filter the mapping `rec` satisfies; other records are none. */
void ht_filter_meet(const struct ht_capture_config *config, const struct ht_record *rec, uint64_t *met);
/* Tells of each that no mapping satisfied: a name mistyped leaves an empty trace. */
void ht_filter_tell_unmet(const struct ht_capture_config *config, uint64_t met);

#endif
