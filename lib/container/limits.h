/* SPDX-License-Identifier: BSD-2-Clause */
/* What tracing was limited to, as a recorder writes it into its file. */
#ifndef CONTAINER_LIMITS_H
#define CONTAINER_LIMITS_H

#include <hwtrace/container.h>

/*
 * The list that ht_filter_build() makes: texts with a NUL each, and one more at
 * the end.  `*out` is to be freed by the caller; its names lie in `list`.  What
 * is no such list gives none.  Returns 0 or -HT_ENOMEM.
 */
int ht_limits_read(const char *list, size_t size, struct ht_limit **out, uint32_t *n);

/*
 * An address filter as perf writes it, "filter 0x1000/0x200@/bin/ls,...".  As
 * above, but the names lie in `*out` itself.  A text with what is no range to be
 * traced ("tracestop") gives none.
 */
int ht_limits_perf(const char *text, size_t size, struct ht_limit **out, uint32_t *n);

#endif
