/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Moves what traced threads put into the shared memory to a sink, wakes those
 * that wait for room, completes the streams of the dead, frees slots.  After
 * the sink has failed it goes on, throwing bytes away and counting them, so that
 * the programs run on.
 */
#ifndef CAPTURE_DRAIN_H
#define CAPTURE_DRAIN_H

#include <hwtrace/container.h>

#include "capture/shm.h"

struct ht_drain_sink {
	int  (*record)(void *arg, const struct ht_record *rec);
	/* Bytes of a stream, in one part or two. */
	int  (*trace)(void *arg, uint32_t index, int32_t pid, int32_t tid, uint64_t time,
	              const void *a, size_t a_size, const void *b, size_t b_size);
	/* The next bytes of the stream are lost. */
	int  (*gap)(void *arg, uint32_t index, int32_t pid, int32_t tid, uint64_t time, uint64_t bytes);
	/* The stream ends: its thread was killed while it ran, its last block is not known. */
	int  (*killed)(void *arg, uint32_t index, int32_t pid, int32_t tid, uint64_t time);
	void (*note)(void *arg, const char *text); /* may be NULL */
	void  *arg;
};

struct ht_drain_stats {
	uint64_t trace_bytes, lost_bytes;
	uint64_t sideband_bytes;
	uint32_t processes, threads;
	uint32_t loaded;    /* trace units, whether their program came or not */
	uint32_t streams;
	uint32_t killed;    /* streams that end in front of a block of which nothing is known */
	uint32_t completed; /* streams of threads that died without closing them */
	uint32_t active;    /* slots in use at the last pass */
};

struct ht_drain_config {
	struct ht_clock      clock;
	struct ht_drain_sink sink;
};

struct ht_drain;

#define HT_DRAIN_ALL  0x1u /* rings with anything in them, not only well filled ones */
#define HT_DRAIN_REAP 0x2u /* look for dead owners */

int  ht_drain_new(struct ht_shm_header *h, const struct ht_drain_config *config, struct ht_drain **out);
void ht_drain_free(struct ht_drain *d);

/* One round over sideband and slots.  Returns 1 when something moved, 0 when not. */
int ht_drain_pass(struct ht_drain *d, unsigned how);
/* Does a process run that is traced, or was just made by one? */
int ht_drain_lives(const struct ht_drain *d);
/*
 * Tracing ends: sets header.stop.  Processes that still run are told as losses by
 * ht_drain_finish(), but for those of whose end word comes until then.
 */
void ht_drain_stop(struct ht_drain *d);
/*
 * The last round: what is in the rings of threads that live on is taken as it
 * stands; after ht_drain_stop().  No slot is freed after it.
 */
void ht_drain_finish(struct ht_drain *d);
/* 1 when no thread has anything left that only the thread itself can give. */
int  ht_drain_quiet(const struct ht_drain *d);
/* Wake all threads that wait for room, so that they see header.stop. */
void ht_drain_wake(struct ht_drain *d);
/* Wait for the doorbell since value `seen` (header.doorbell read before the pass), at most `ms`. */
void ht_drain_wait(struct ht_drain *d, uint32_t seen, unsigned ms);
uint32_t ht_drain_doorbell(const struct ht_drain *d);

const struct ht_drain_stats *ht_drain_stats(const struct ht_drain *d);
/* The first error of the sink, 0 when none. */
int ht_drain_error(const struct ht_drain *d);

#endif
