/* SPDX-License-Identifier: BSD-2-Clause */
/* Gates: what must hold for a backend, what was found, how to open it. */
#ifndef CAPTURE_GATE_H
#define CAPTURE_GATE_H

#include <hwtrace/capture.h>

/* Append a gate to info; `remedy` is kept when it is closed.  `fmt` is what was found. */
void ht_gate_add(struct ht_backend_info *info, const char *name, int open, const char *remedy,
                 const char *fmt, ...) __attribute__((format(printf, 5, 6)));

#endif
