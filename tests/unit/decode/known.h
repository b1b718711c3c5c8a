/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the native engine and libipt are known to read differently, and no
 * processor makes: rows of docs/DIFFERENCES.md.
 */
#ifndef TEST_KNOWN_H
#define TEST_KNOWN_H

#include <stddef.h>
#include <stdint.h>

/* Does a damaged trace have one of them that can be told by its packets? */
int known_difference(const uint8_t *bytes, size_t size);
/*
 * Is the packet at `offset`, or the next one of the flow, a TIP.PGD without an
 * address and a FUP?  libipt wants a far branch for it.
 */
int known_disable(const uint8_t *bytes, size_t size, size_t offset);
/* So far an engine may have read which stands at the packet at `offset`: over some packets of the flow. */
size_t known_reach(const uint8_t *bytes, size_t size, size_t offset);
/* Does the trace end with a FUP, an OVF or a PSB+?  How far it is told then is each engine's own affair. */
int known_half(const uint8_t *bytes, size_t size);
/* Does no packet of the flow stand behind the one at `offset`?  libipt does not say how a trace ends. */
int known_end(const uint8_t *bytes, size_t size, size_t offset);

#endif
