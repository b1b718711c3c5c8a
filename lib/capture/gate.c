/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stdio.h>

#include "capture/gate.h"

void
ht_gate_add(struct ht_backend_info *info, const char *name, int open, const char *remedy,
            const char *fmt, ...)
{
	struct ht_gate *g;
	va_list ap;

	if (info->n_gates == HT_GATE_MAX)
		return;
	g = &info->gates[info->n_gates++];
	g->name = name;
	g->open = open;
	va_start(ap, fmt);
	vsnprintf(g->state, sizeof(g->state), fmt, ap);
	va_end(ap);
	snprintf(g->remedy, sizeof(g->remedy), "%s", open ? "" : remedy);
}
