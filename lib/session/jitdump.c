/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/vec.h"
#include "session/jitdump.h"
#include "session/session.h"

/* [JIT "Header", "Record header"] */
#define MAGIC       0x4a695444u
#define MAGIC_OTHER 0x4454694au /* written on a machine of the other byte order */
#define VERSION     1u
#define HEADER_SIZE 40u
#define RECORD_SIZE 16u

enum record { CODE_LOAD, CODE_MOVE, CODE_DEBUG_INFO, CODE_CLOSE, CODE_UNWINDING_INFO };

static const char *const record_names[] = {
	[CODE_LOAD] = "JIT_CODE_LOAD",
	[CODE_MOVE] = "JIT_CODE_MOVE",
	[CODE_DEBUG_INFO] = "JIT_CODE_DEBUG_INFO",
	[CODE_CLOSE] = "JIT_CODE_CLOSE",
	[CODE_UNWINDING_INFO] = "JIT_CODE_UNWINDING_INFO",
};

/* One line of JIT_CODE_DEBUG_INFO, which comes before the code that it is about. */
struct debug_line {
	uint64_t addr;
	uint32_t line;
	const char *file;
};

struct reader {
	struct ht_jitdump *j;
	const char *path;
	uint64_t at; /* of the record, in the file */
	const uint8_t *body;
	size_t size;
	uint64_t time;
	struct ht_index by_index; /* code index -> codes, of loads */
	struct {
		struct debug_line *at;
		size_t n, cap;
	} debug; /* not used yet */
	uint64_t debug_addr;
};

int32_t
ht_jitdump_named(const char *path)
{
	static const char prefix[] = "jit-", suffix[] = ".dump";
	const char *slash = strrchr(path, '/'), *s = slash ? slash + 1 : path;
	int64_t pid = 0;

	if (strncmp(s, prefix, sizeof(prefix) - 1) != 0)
		return -1;
	s += sizeof(prefix) - 1;
	if (*s < '0' || *s > '9')
		return -1;
	for (; *s >= '0' && *s <= '9' && pid <= INT32_MAX; s++)
		pid = pid * 10 + (*s - '0');
	return pid <= INT32_MAX && !strcmp(s, suffix) ? (int32_t)pid : -1;
}

static void
damage(struct reader *r, const char *field, const char *what)
{
	if (!r->j->damaged++)
		ht_fail(&r->j->diag, HT_EFORMAT, r->path, r->at, field, "%s", what);
}

/* A string that ends inside of what is left; NULL when there is none. */
static const char *
take_string(struct ht_cursor *k)
{
	size_t left = ht_cursor_left(k);
	const char *s = (const char *)k->base + k->pos;
	const char *end = k->failed || !left ? NULL : memchr(s, 0, left);

	if (!end)
		k->failed = 1;
	else
		ht_cursor_take(k, (size_t)(end - s) + 1);
	return end ? s : NULL;
}

static int
line_order(const void *a, const void *b)
{
	const struct debug_line *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* What was told of the lines of the code at hand goes with its bytes. */
static int
take_lines(struct reader *r, const struct ht_jit_code *code)
{
	if (r->debug_addr != code->addr) {
		r->debug.n = 0;
		return 0;
	}
	for (size_t i = 0; i < r->debug.n; i++) {
		const struct debug_line *d = &r->debug.at[i];
		struct ht_jit_line *line;

		if (d->addr < code->addr || d->addr - code->addr >= code->size)
			continue;
		line = ht_vec_push(&r->j->lines);
		if (!line)
			return -HT_ENOMEM;
		*line =
		    (struct ht_jit_line){ code->offset + (d->addr - code->addr), d->line, d->file };
	}
	r->debug.n = 0;
	return 0;
}

/* [JIT "JIT_CODE_LOAD"] */
static int
read_load(struct reader *r, struct ht_cursor *k)
{
	struct ht_jit_code code = { .time = r->time, .pid = (int32_t)ht_cursor_u32(k) }, *slot;
	uint64_t index;

	ht_cursor_u32(k); /* tid */
	ht_cursor_u64(k); /* vma: where the code lies, as code_addr says for all programs known */
	code.addr = ht_cursor_u64(k);
	code.size = ht_cursor_u64(k);
	index = ht_cursor_u64(k);
	code.name = take_string(k);
	code.offset = r->at + RECORD_SIZE + k->pos;
	if (k->failed || code.size > ht_cursor_left(k) || code.size > UINT64_MAX - code.addr) {
		damage(r, record_names[CODE_LOAD],
		       "has less code than it says; it was passed over");
		r->debug.n = 0;
		return 0;
	}
	slot = ht_vec_push(&r->j->codes);
	if (!slot || ht_index_set(&r->by_index, index, (uint32_t)r->j->codes.n - 1) < 0)
		return -HT_ENOMEM;
	*slot = code;
	return take_lines(r, &code);
}

/* [JIT "JIT_CODE_MOVE"] */
static int
read_move(struct reader *r, struct ht_cursor *k)
{
	struct ht_jit_code code, *slot;
	uint64_t to, size;
	uint32_t i, pid = ht_cursor_u32(k);

	ht_cursor_u32(k); /* tid */
	ht_cursor_u64(k); /* vma */
	ht_cursor_u64(k); /* where it was: the code index tells which code it is */
	to = ht_cursor_u64(k);
	size = ht_cursor_u64(k);
	i = ht_index_get(&r->by_index, ht_cursor_u64(k));
	if (k->failed || i == UINT32_MAX || size > r->j->codes.at[i].size ||
	    size > UINT64_MAX - to) {
		damage(r, record_names[CODE_MOVE],
		       "moves code that was never loaded, or more of it than there is; it was "
		       "passed over");
		return 0;
	}
	r->j->codes.at[i].moves = 1;
	code = r->j->codes.at[i];
	code.time = r->time;
	code.pid = (int32_t)pid;
	code.addr = to;
	code.size = size;
	code.moved = 1;
	slot = ht_vec_push(&r->j->codes);
	if (!slot)
		return -HT_ENOMEM;
	*slot = code;
	return 0;
}

/* [JIT "JIT_CODE_DEBUG_INFO"]: a file name of the byte 0xff alone is the one before. */
static int
read_debug(struct reader *r, struct ht_cursor *k)
{
	const char *file = NULL;
	uint64_t n;

	r->debug.n = 0;
	r->debug_addr = ht_cursor_u64(k);
	n = ht_cursor_u64(k);
	for (uint64_t i = 0; i < n && !k->failed; i++) {
		struct debug_line d = { .addr = ht_cursor_u64(k), .line = ht_cursor_u32(k) }, *slot;
		const char *name;

		ht_cursor_u32(k); /* discriminator */
		name = take_string(k);
		if (!name)
			break;
		if (strcmp(name, "\xff") != 0)
			file = name;
		if (!file)
			continue;
		d.file = file;
		slot = ht_vec_push(&r->debug);
		if (!slot)
			return -HT_ENOMEM;
		*slot = d;
	}
	if (k->failed)
		damage(r, record_names[CODE_DEBUG_INFO],
		       "has fewer lines than it says; the rest is used");
	if (r->debug.n)
		qsort(r->debug.at, r->debug.n, sizeof(*r->debug.at), line_order);
	return 0;
}

static int
read_record(struct reader *r, uint32_t id)
{
	struct ht_cursor k = ht_cursor_make(r->body, r->size);

	switch (id) {
	case CODE_LOAD:
		return read_load(r, &k);
	case CODE_MOVE:
		return read_move(r, &k);
	case CODE_DEBUG_INFO:
		return read_debug(r, &k);
	case CODE_CLOSE:
		r->j->closed = 1;
		return 0;
	default: /* later versions may have more */
		return 0;
	}
}

static int
read_records(struct reader *r, struct ht_cursor *k)
{
	int rc = 0;

	while (rc == 0 && ht_cursor_left(k)) {
		uint32_t id, size;

		r->at = k->pos;
		id = ht_cursor_u32(k);
		size = ht_cursor_u32(k);
		r->time = ht_cursor_u64(k);
		if (!k->failed && size < RECORD_SIZE) {
			damage(r, "total_size",
			       "is less than a record's header; what follows is not read");
			return 0;
		}
		r->size = k->failed ? 0 : size - RECORD_SIZE;
		r->body = ht_cursor_take(k, r->size);
		if (k->failed) {
			damage(r, "total_size",
			       "goes beyond the end: the file is cut, or was still written");
			return 0;
		}
		rc = read_record(r, id);
	}
	return rc;
}

static int
read_header(struct ht_jitdump *j, const char *path, struct ht_cursor *k, struct ht_diag *diag)
{
	uint32_t magic = ht_cursor_u32(k), version = ht_cursor_u32(k), size = ht_cursor_u32(k);

	if (!k->failed && magic == MAGIC_OTHER)
		return ht_fail(diag, HT_EUNSUPPORTED, path, 0, "magic",
		               "is a jitdump of a machine of the other byte order; it is not read");
	if (k->failed || magic != MAGIC)
		return ht_fail(diag, HT_EFORMAT, path, 0, "magic",
		               "has the name of a jitdump, but is none");
	if (version != VERSION)
		return ht_fail(diag, HT_EUNSUPPORTED, path, 4, "version",
		               "is %u; hwtrace knows jitdumps of version 1", version);
	j->machine = ht_cursor_u32(k);
	ht_cursor_u32(k);
	j->pid = (int32_t)ht_cursor_u32(k);
	ht_cursor_u64(k); /* when it was made */
	j->flags = ht_cursor_u64(k);
	if (k->failed || size < HEADER_SIZE || ht_cursor_seek(k, size) < 0)
		return ht_fail(diag, HT_EFORMAT, path, 8, "total_size",
		               "the jitdump ends inside of its header");
	return 0;
}

int
ht_jitdump_read(struct ht_jitdump *j, const char *path, const uint8_t *data, size_t size,
                struct ht_diag *diag)
{
	struct ht_cursor k = ht_cursor_make(data, size);
	struct reader r = { .j = j, .path = path };
	int rc;

	memset(j, 0, sizeof(*j));
	rc = read_header(j, path, &k, diag);
	if (rc < 0)
		return rc;
	rc = read_records(&r, &k);
	ht_index_fini(&r.by_index);
	ht_vec_free(&r.debug);
	return rc < 0
	           ? ht_fail(diag, -rc, path, HT_NO_OFFSET, NULL, "out of memory for the jitdump")
	           : 0;
}

void
ht_jitdump_fini(struct ht_jitdump *j)
{
	ht_vec_free(&j->codes);
	ht_vec_free(&j->lines);
}
