/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Seek: at which place of a stream is which time, so that a slice of a long
 * trace need not be decoded from its start.  One quick look over all Intel PT
 * streams finds some of their synchronisation points (PSB) and the times there
 * (TSC); what was found can be kept in a file beside the capture.
 *
 * The kept file only saves the look: it is used when it was made from this very
 * capture (device, inode, size, time of last change), by this version, and is
 * whole; else it is as if it were not there.
 */
#ifndef HWTRACE_SEEK_H
#define HWTRACE_SEEK_H

#include <stddef.h>
#include <stdint.h>

#include <hwtrace/container.h>
#include <hwtrace/error.h>

struct ht_seek;

enum ht_seek_keep {
	HT_SEEK_READ = 0, /* use a kept file, make none */
	HT_SEEK_LONG,     /* make one too, of long captures (HT_SEEK_LONG_BYTES of trace), where that can be done */
	HT_SEEK_ALWAYS,   /* make one, or fail */
	HT_SEEK_NEVER     /* do not even read one */
};

#define HT_SEEK_LONG_BYTES (64ull << 20)
#define HT_SEEK_SUFFIX     ".seek"

/*
 * `c` is borrowed.  Errors: HT_ENOMEM; with HT_SEEK_ALWAYS also HT_EUNSUPPORTED
 * (the capture is not one file) and HT_EIO.
 */
int  ht_seek_open(struct ht_container *c, enum ht_seek_keep keep, struct ht_seek **out, struct ht_diag *diag);
void ht_seek_close(struct ht_seek *s); /* NULL is fine */
/* 1 when a kept file was used. */
int  ht_seek_kept(const struct ht_seek *s);
/*
 * The first and the last time that the streams tell, in ticks (ns of branch
 * stacks).  0, or -HT_ENOTFOUND when there is none.
 */
int  ht_seek_span(const struct ht_seek *s, uint64_t *first, uint64_t *last);
/*
 * Offset in stream `i` where decoding may begin so that all from time `tsc` on
 * is as if it had begun at the start: a PSB some way before it.  0 = the start.
 */
uint64_t ht_seek_start(const struct ht_seek *s, uint32_t i, uint64_t tsc);

#endif
