/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/pages.h"

#define HUGE_PAGE ((size_t)2 << 20)

/* Smaller tables come from the heap. */
static int
is_large(size_t size)
{
	return size >= HUGE_PAGE;
}

void *
ht_pages_alloc(size_t size)
{
	size_t before;
	char *p;

	if (size == 0 || size > SIZE_MAX / 2)
		return NULL;
	if (!is_large(size))
		return calloc(1, size);
	p = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	/* Keep the part that begins where a huge page can. */
	before = (HUGE_PAGE - (uintptr_t)p % HUGE_PAGE) % HUGE_PAGE;
	if (before)
		munmap(p, before);
	if (HUGE_PAGE - before)
		munmap(p + before + ((size + 4095) & ~(size_t)4095), HUGE_PAGE - before);
	madvise(p + before, size, MADV_HUGEPAGE);
	return p + before;
}

void
ht_pages_free(void *p, size_t size)
{
	if (p && is_large(size))
		munmap(p, size);
	else
		free(p);
}
