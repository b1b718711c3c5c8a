/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text by the megabyte: one large buffer in front of a file descriptor, and
 * formatting by hand, since printf costs more than decoding does.  Make room
 * once a line, then put without further checks.
 */
#ifndef HWTRACE_TEXT_H
#define HWTRACE_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HT_TEXT_ROOM 65536u /* the most that may be asked for at once */

struct ht_text {
	char  *at;
	size_t used, size;
	int    fd;
	int    error; /* errno of the first write that failed; what follows is dropped */
};

/* Returns 0 or -HT_ENOMEM. `fd` is borrowed. */
int  ht_text_init(struct ht_text *t, int fd);
/* Writes what is left.  Returns 0, or -HT_EIO with t->error set (EPIPE: the reader is gone). */
int  ht_text_flush(struct ht_text *t);
void ht_text_fini(struct ht_text *t);

/* Room for `n` (at most HT_TEXT_ROOM) further bytes; never fails, see `error`. */
static inline void
ht_text_room(struct ht_text *t, size_t n)
{
	if (t->size - t->used < n)
		ht_text_flush(t);
}

static inline void
ht_text_put(struct ht_text *t, const char *s, size_t n)
{
	memcpy(t->at + t->used, s, n);
	t->used += n;
}

static inline void
ht_text_char(struct ht_text *t, char c)
{
	t->at[t->used++] = c;
}

/* A string of any length; makes its own room. */
void ht_text_str(struct ht_text *t, const char *s);

extern const char ht_text_hex_pairs[256][2];

/* Lower-case hex, as %16llx; 16 bytes. */
static inline void
ht_text_hex16(struct ht_text *t, uint64_t v)
{
	char *p = t->at + t->used;
	unsigned lead = v ? (unsigned)__builtin_clzll(v) / 4 : 15;

	for (unsigned i = 0; i < 8; i++)
		memcpy(p + 2 * i, ht_text_hex_pairs[v >> (56 - 8 * i) & 0xff], 2);
	memset(p, ' ', lead);
	t->used += 16;
}

/* As %llx; up to 16 bytes. */
static inline void
ht_text_hex(struct ht_text *t, uint64_t v)
{
	char b[16];
	unsigned lead = v ? (unsigned)__builtin_clzll(v) / 4 : 15;

	for (unsigned i = 0; i < 8; i++)
		memcpy(b + 2 * i, ht_text_hex_pairs[v >> (56 - 8 * i) & 0xff], 2);
	ht_text_put(t, b + lead, 16 - lead);
}

/* Decimal, right-aligned with `pad` in at least `width` (at most 32) bytes. */
void ht_text_dec(struct ht_text *t, uint64_t v, unsigned width, char pad);
/* A signed number, as %*lld. */
void ht_text_int(struct ht_text *t, int64_t v, unsigned width);

/* A JSON string with its quotes; any bytes, those that are no UTF-8 become U+FFFD. Makes its own room. */
void ht_text_json(struct ht_text *t, const char *s);

#endif
