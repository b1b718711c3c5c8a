/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A progress bar on stderr for long work.  Silent unless stderr is a terminal
 * and the work has taken a second; wiped when done.
 */
#ifndef TOOL_PROGRESS_H
#define TOOL_PROGRESS_H

#include <stdint.h>

struct progress {
	const char *what;
	uint64_t    total;
	uint64_t    next_ns; /* when to draw again; UINT64_MAX = never */
	unsigned    calls;
	int         drawn;
};

/* `what` names the work ("decoding"), `total` its size in any unit. */
void progress_start(struct progress *p, const char *what, uint64_t total);
/* The same for work that prints lines meanwhile: silent, too, where those go to a terminal. */
void progress_start_printing(struct progress *p, const char *what, uint64_t total);
/* Cheap enough to be called once a batch. */
void progress_at(struct progress *p, uint64_t done);
/* For what calls seldom: each call may draw. */
void progress_slow(struct progress *p, uint64_t done);
void progress_end(struct progress *p);

#endif
