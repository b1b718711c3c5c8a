/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A jitdump: what a program that makes code while it runs tells of it, in a file
 * of its own [JIT "jitdump specification"].  Everything points into the file's
 * bytes, which the caller keeps.
 */
#ifndef SESSION_JITDUMP_H
#define SESSION_JITDUMP_H

#include <stddef.h>
#include <stdint.h>

#include <hwtrace/error.h>

#define HT_JIT_TICKS 0x1u /* header: times are of the time stamp counter, not ns */

/* Code that was put somewhere: made (JIT_CODE_LOAD), or moved (JIT_CODE_MOVE). */
struct ht_jit_code {
	uint64_t time; /* as the file has it */
	uint64_t addr, size;
	uint64_t offset; /* of its bytes in the file; a move has those of what was moved */
	int32_t pid;
	uint8_t moved; /* this is a move */
	uint8_t moves; /* it has been moved since */
	uint8_t again; /* other code was in its place before */
	const char *name;
};

/* From `offset` in the file, up to the next one or the end of the code. */
struct ht_jit_line {
	uint64_t offset;
	uint32_t line;
	const char *file;
};

struct ht_jitdump {
	int32_t pid;
	uint32_t machine; /* EM_* */
	uint64_t flags;   /* HT_JIT_* */
	int closed;       /* JIT_CODE_CLOSE was there */
	struct {
		struct ht_jit_code *at;
		size_t n, cap;
	} codes; /* in the order of the file */
	struct {
		struct ht_jit_line *at;
		size_t n, cap;
	} lines;             /* by offset */
	uint64_t damaged;    /* records that cannot be read; the file's early end is one */
	struct ht_diag diag; /* of the first of them */
};

/* PID of a path that ends in "jit-PID.dump"; else -1. */
int32_t ht_jitdump_named(const char *path);

/*
 * Read the file `path`, of `size` bytes at `data`.  Errors: HT_EFORMAT (no jitdump),
 * HT_EUNSUPPORTED (other byte order, other version), HT_ENOMEM.  Damage behind the
 * header is none: see `damaged`.  To be freed with ht_jitdump_fini() in any case.
 */
int ht_jitdump_read(struct ht_jitdump *j, const char *path, const uint8_t *data, size_t size,
                    struct ht_diag *diag);
void ht_jitdump_fini(struct ht_jitdump *j);

#endif
