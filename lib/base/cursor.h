/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A byte cursor that cannot overrun.  All outside bytes go through it: sizes
 * are compared, `end + n` is never formed, a failed read changes nothing but
 * the sticky `failed` flag.  Little-endian, as every format read here.
 */
#ifndef BASE_CURSOR_H
#define BASE_CURSOR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct ht_cursor {
	const uint8_t *base;
	size_t         size;
	size_t         pos;
	int            failed;
};

static inline struct ht_cursor
ht_cursor_make(const void *base, size_t size)
{
	return (struct ht_cursor){ .base = base, .size = size };
}

static inline size_t
ht_cursor_left(const struct ht_cursor *c)
{
	return c->size - c->pos;
}

/* The next `n` bytes, or NULL (and failed) when fewer are left. */
static inline const uint8_t *
ht_cursor_take(struct ht_cursor *c, size_t n)
{
	const uint8_t *p;

	if (c->failed || n > c->size - c->pos) {
		c->failed = 1;
		return NULL;
	}
	p = c->base + c->pos;
	c->pos += n;
	return p;
}

/* Go to absolute position `pos`. */
static inline int
ht_cursor_seek(struct ht_cursor *c, uint64_t pos)
{
	if (pos > c->size) {
		c->failed = 1;
		return -1;
	}
	c->pos = (size_t)pos;
	return 0;
}

static inline uint64_t
ht_le(const uint8_t *p, unsigned n)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < n; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

static inline uint64_t
ht_cursor_uint(struct ht_cursor *c, unsigned n)
{
	const uint8_t *p = ht_cursor_take(c, n);

	return p ? ht_le(p, n) : 0;
}

static inline uint8_t  ht_cursor_u8(struct ht_cursor *c)  { return (uint8_t)ht_cursor_uint(c, 1); }
static inline uint16_t ht_cursor_u16(struct ht_cursor *c) { return (uint16_t)ht_cursor_uint(c, 2); }
static inline uint32_t ht_cursor_u32(struct ht_cursor *c) { return (uint32_t)ht_cursor_uint(c, 4); }
static inline uint64_t ht_cursor_u64(struct ht_cursor *c) { return ht_cursor_uint(c, 8); }

/* A NUL-terminated string inside the next `field` bytes, which are consumed; NULL if there is no NUL. */
static inline const char *
ht_cursor_str(struct ht_cursor *c, size_t field)
{
	const uint8_t *p = ht_cursor_take(c, field);

	if (p && !memchr(p, 0, field)) {
		c->failed = 1;
		return NULL;
	}
	return (const char *)p;
}

#endif
