/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "progress.h"

#define FIRST_NS  1000000000ull
#define REDRAW_NS 200000000ull
#define WIDTH     30
#define LOOK_EVERY 16 /* calls between two looks at the clock */

static uint64_t
now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void
progress_start(struct progress *p, const char *what, uint64_t total)
{
	*p = (struct progress){ .what = what, .total = total, .next_ns = UINT64_MAX };
	if (total && isatty(STDERR_FILENO))
		p->next_ns = now_ns() + FIRST_NS;
}

void
progress_start_printing(struct progress *p, const char *what, uint64_t total)
{
	progress_start(p, what, isatty(STDOUT_FILENO) ? 0 : total);
}

void
progress_at(struct progress *p, uint64_t done)
{
	if (p->next_ns != UINT64_MAX && p->calls++ % LOOK_EVERY == 0)
		progress_slow(p, done);
}

void
progress_slow(struct progress *p, uint64_t done)
{
	char bar[WIDTH + 1];
	unsigned filled;
	uint64_t now;

	if (p->next_ns == UINT64_MAX)
		return;
	now = now_ns();
	if (now < p->next_ns)
		return;
	p->next_ns = now + REDRAW_NS;
	if (done > p->total)
		done = p->total;
	filled = (unsigned)((double)done / (double)p->total * WIDTH);
	memset(bar, '-', WIDTH);
	memset(bar, '#', filled);
	bar[WIDTH] = 0;
	fprintf(stderr, "\r%s [%s] %3u%%", p->what, bar, (unsigned)((double)done / (double)p->total * 100));
	p->drawn = 1;
}

void
progress_end(struct progress *p)
{
	/* Spaces over it: terminals differ in how to wipe a line. */
	if (p->drawn)
		fprintf(stderr, "\r%*s\r", (int)strlen(p->what) + WIDTH + 8, "");
	p->next_ns = UINT64_MAX;
	p->drawn = 0;
}
