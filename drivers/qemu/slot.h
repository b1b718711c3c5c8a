/* SPDX-License-Identifier: BSD-2-Clause */
/* The slots of the shared memory, as a traced process claims and closes them. */
#ifndef QEMU_SLOT_H
#define QEMU_SLOT_H

#include <stdint.h>

#include "core/shm.h"

/*
 * Claim the lowest free slot for the calling thread and map its ring, twice in
 * a row.  Waits for the recorder to free one.  NULL when there is none: `why` is
 * then NULL, or says why its ring cannot be mapped.
 */
struct ht_shm_slot *ht_slot_claim(uint8_t **ring, const char **why);
void ht_slot_unmap_ring(uint8_t *ring);
/* Close slots of threads of this process that an exec has ended. */
void ht_slot_close_stale(void);
/* The stream is complete up to `head`. */
void ht_slot_close(struct ht_shm_slot *slot);

#endif
