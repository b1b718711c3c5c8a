/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <hwtrace/error.h>
#include <hwtrace/text.h>

#define BUFFER_SIZE (1u << 20)

_Static_assert(BUFFER_SIZE >= 2 * HT_TEXT_ROOM, "room can always be made");

#define HEX1(h, l) { h, l }
#define HEX16(h)                                                                                \
	HEX1(h, '0'), HEX1(h, '1'), HEX1(h, '2'), HEX1(h, '3'), HEX1(h, '4'), HEX1(h, '5'),     \
	HEX1(h, '6'), HEX1(h, '7'), HEX1(h, '8'), HEX1(h, '9'), HEX1(h, 'a'), HEX1(h, 'b'),     \
	HEX1(h, 'c'), HEX1(h, 'd'), HEX1(h, 'e'), HEX1(h, 'f')

const char ht_text_hex_pairs[256][2] = {
	HEX16('0'), HEX16('1'), HEX16('2'), HEX16('3'), HEX16('4'), HEX16('5'), HEX16('6'), HEX16('7'),
	HEX16('8'), HEX16('9'), HEX16('a'), HEX16('b'), HEX16('c'), HEX16('d'), HEX16('e'), HEX16('f')
};

int
ht_text_init(struct ht_text *t, int fd)
{
	*t = (struct ht_text){ .fd = fd, .size = BUFFER_SIZE };
	t->at = malloc(t->size);
	return t->at ? 0 : -HT_ENOMEM;
}

void
ht_text_fini(struct ht_text *t)
{
	free(t->at);
	t->at = NULL;
}

int
ht_text_flush(struct ht_text *t)
{
	size_t done = 0;

	while (!t->error && done < t->used) {
		ssize_t n = write(t->fd, t->at + done, t->used - done);

		if (n > 0)
			done += (size_t)n;
		else if (n < 0 && errno != EINTR)
			t->error = errno;
	}
	t->used = 0;
	return t->error ? -HT_EIO : 0;
}

void
ht_text_str(struct ht_text *t, const char *s)
{
	size_t left = strlen(s);

	while (left) {
		size_t n = left < HT_TEXT_ROOM ? left : HT_TEXT_ROOM;

		ht_text_room(t, n);
		ht_text_put(t, s, n);
		s += n;
		left -= n;
	}
}

void
ht_text_dec(struct ht_text *t, uint64_t v, unsigned width, char pad)
{
	char b[32];
	unsigned at = sizeof(b);

	do
		b[--at] = (char)('0' + v % 10);
	while (v /= 10);
	while (sizeof(b) - at < width && at)
		b[--at] = pad;
	ht_text_put(t, b + at, sizeof(b) - at);
}

void
ht_text_int(struct ht_text *t, int64_t v, unsigned width)
{
	char b[32];
	uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
	unsigned at = sizeof(b);

	do
		b[--at] = (char)('0' + u % 10);
	while (u /= 10);
	if (v < 0)
		b[--at] = '-';
	while (sizeof(b) - at < width && at)
		b[--at] = ' ';
	ht_text_put(t, b + at, sizeof(b) - at);
}

/* Bytes of the well-formed UTF-8 sequence at `s` (NUL-terminated), 0 when there is none. */
static unsigned
utf8_length(const unsigned char *s)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned n = *s < 0x80 ? 1 : *s >= 0xf8 ? 0 : *s >= 0xf0 ? 4 : *s >= 0xe0 ? 3 : *s >= 0xc0 ? 2 : 0;
	uint32_t c;

	if (n < 2)
		return n;
	c = *s & (0x7fu >> n);
	for (unsigned i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	return c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : n;
}

void
ht_text_json(struct ht_text *t, const char *str)
{
	const unsigned char *s = (const unsigned char *)str;

	ht_text_room(t, 1);
	ht_text_char(t, '"');
	while (*s) {
		unsigned n = utf8_length(s);

		ht_text_room(t, 16);
		if (!n) {
			ht_text_put(t, "\\ufffd", 6);
			n = 1;
		} else if (*s == '"' || *s == '\\') {
			ht_text_char(t, '\\');
			ht_text_char(t, (char)*s);
		} else if (*s < 0x20 || *s == 0x7f) {
			ht_text_put(t, "\\u00", 4);
			ht_text_put(t, ht_text_hex_pairs[*s], 2);
		} else {
			ht_text_put(t, (const char *)s, n);
		}
		s += n;
	}
	ht_text_room(t, 1);
	ht_text_char(t, '"');
}
