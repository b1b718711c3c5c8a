/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recorder's end of drivers/core/shm.h.  The file has no name in any folder:
 * it is a memory file that others open as /proc/PID/fd/N, so that nothing is left
 * behind however the recorder ends, and no small /dev/shm limits it.
 */
#ifndef CAPTURE_SHM_H
#define CAPTURE_SHM_H

#include <stddef.h>
#include <stdint.h>

#include <hwtrace/error.h>

#include "core/shm.h"

struct ht_shm_config {
	uint32_t    flags;        /* HT_SHM_F_* */
	uint32_t    psb_period;   /* bytes; 0 = default */
	uint64_t    ring_size;    /* bytes, any number; 0 = default */
	uint64_t    sideband_size; /* power of two; 0 = default */
	uint32_t    n_slots;      /* 0 = default */
	const char *filter;       /* as in the header, or NULL */
	size_t      filter_size;  /* with both NULs at the end */
};

struct ht_shm {
	struct ht_shm_header *h;
	size_t                size;
	int                   fd;
	char                  path[64];
};

/* Errors: HT_EINVAL (filter too long), HT_EIO, HT_ENOMEM. */
int ht_shm_create(const struct ht_shm_config *config, struct ht_shm *out, struct ht_diag *diag);
/* A zeroed struct is fine. */
void ht_shm_destroy(struct ht_shm *shm);

static inline uint8_t *
ht_shm_ring_of(struct ht_shm_slot *slot)
{
	return (uint8_t *)slot + HT_SHM_PAGE;
}

#endif
