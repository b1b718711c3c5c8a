/* SPDX-License-Identifier: BSD-2-Clause */
/* A folder of a test's own for the files that it reads. */
#ifndef CONTAINER_SCRATCH_H
#define CONTAINER_SCRATCH_H

#include <stddef.h>

/* A new one, whose name has `about` in it. 0 or -1. */
int  scratch_make(char folder[64], const char *about);
/* A file with these bytes in it, in place of the one that was there; a failure fails the test. */
void scratch_put(const char *folder, const char *name, const void *data, size_t n);
/* With all that is in it. 0 or -1. */
int  scratch_remove(const char *folder);

#endif
