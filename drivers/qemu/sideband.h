/* SPDX-License-Identifier: BSD-2-Clause */
/* The shared memory, seen from the traced process: sideband records, and who to wake. */
#ifndef QEMU_SIDEBAND_H
#define QEMU_SIDEBAND_H

#include <stdint.h>
#include <x86intrin.h>

#include "core/shm.h"
#include "qemu/maps.h"

extern struct ht_shm_header *ht_shm;

/* Map the file; -1 when it is not what it should be. */
int ht_sideband_open(const char *path);

/* Where the shared memory is, by name. */
const char *ht_sideband_path(void);

/*
 * Are processes here numbered as the recorder knows them?  `which`: "pid" for this
 * one, "pid_for_children" for those that it will make.
 */
int ht_sideband_same_numbers(const char *which);

/* Write a record; size, tsc, pid and tid are filled in. */
void ht_sideband_write(struct ht_sb_record *record, const void *text, uint32_t text_size);
/*
 * Counts what was told of mappings and code.  A stream has a TSC packet between
 * such a record and the first run of what it tells of.
 */
uint32_t ht_sideband_generation(void);
void ht_sideband_code(uint64_t addr, const uint8_t *bytes, uint32_t size);
void ht_sideband_map(const struct ht_map *map);
void ht_sideband_unmap(uint64_t start, uint64_t end);
void ht_sideband_text(enum ht_sb_type type, const char *text);
void ht_sideband_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A loss: the calling thread is not traced, or its process, or those it makes; ... */
void ht_sideband_untraced(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* ... or the program that it is about to become. */
void ht_sideband_unfollowed(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void ht_sideband_fork(int parent_pid, int parent_tid);
void ht_sideband_child(int pid);
void ht_sideband_exit(int whole_process);
void ht_sideband_exec(const char *comm, const char *path);

void ht_doorbell_ring(void);
/* Is the recorder still there? */
int ht_recorder_alive(void);
long ht_futex_wait(void *word, uint32_t value, unsigned ms);

static inline uint64_t
ht_tsc_now(void)
{
	return __rdtsc();
}

#endif
