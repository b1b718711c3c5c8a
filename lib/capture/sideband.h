/* SPDX-License-Identifier: BSD-2-Clause */
/* Sideband records of the shared memory into records of a capture file. */
#ifndef CAPTURE_SIDEBAND_H
#define CAPTURE_SIDEBAND_H

#include <stddef.h>
#include <stdint.h>

#include <hwtrace/container.h>

struct ht_sideband_process {
	int32_t pid;
	int     met;        /* it told of itself, not its parent alone */
	int     forked;     /* its FORK record was written */
	int     unfollowed; /* what it runs now is not traced, and that was told */
	int     outlives;   /* ht_sideband_part() */
	char    comm[16];
};

/* A process that was about to execute `path`. */
struct ht_sideband_image {
	int32_t pid;
	int     loaded; /* the trace unit is there, the program not yet */
	char   *path;
};

struct ht_sideband_note {
	char    *text;
	uint32_t times;
};

struct ht_sideband {
	struct ht_clock clock;
	void (*record)(void *arg, const struct ht_record *rec);
	void (*note)(void *arg, const char *text);
	void  *arg;
	uint32_t processes, threads; /* that were met */
	uint32_t loaded; /* trace units, with a program or not */
	int      parted; /* ht_sideband_part() */
	/* processes that live, sorted */
	struct { struct ht_sideband_process *at; size_t n, cap; } pids;
	struct { struct ht_sideband_note *at; size_t n, cap; } notes; /* that were told, no two alike */
	struct { struct ht_sideband_image *at; size_t n, cap; } awaited; /* of whom nothing was heard yet */
};

/* Convert one record; `at` is 8-byte aligned and holds `size` bytes, as the record states. */
void ht_sideband_convert(struct ht_sideband *s, const void *at, size_t size);
/* The end of a thread that could not tell of it. */
void ht_sideband_exit(struct ht_sideband *s, int32_t pid, int32_t tid, uint64_t time);
/* Does a process run of which more is to come? */
int ht_sideband_lives(const struct ht_sideband *s);
/*
 * The recording is about to end: processes that run now and of whose end nothing
 * comes until ht_sideband_finish() go on without being traced, which is a loss.
 */
void ht_sideband_part(struct ht_sideband *s);
/*
 * The recording is over, at `time` ns: names the programs that were to be traced and
 * never were and the processes that go on, counts repeated notes.
 */
void ht_sideband_finish(struct ht_sideband *s, uint64_t time);
void ht_sideband_fini(struct ht_sideband *s);

#endif
