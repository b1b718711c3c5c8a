/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Branch stacks as perf script writes them, which is what users of profile
 * guided optimisation keep:
 *
 *	perf script --show-mmap-events -F comm,pid,tid,time,ip,brstack
 *
 * A line is a mapping (PERF_RECORD_MMAP, MMAP2), a sample with its stack, or
 * neither, and then passed over.  Columns that are not there are not known: a
 * sample without process is of the one that mapped something last; without
 * any times the order of the lines is their time.
 */
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/vec.h"
#include "container/reader.h"

#define LOOK_AT   (1u << 16) /* bytes that must show what this is */
#define ENTRY_MIN 11         /* "0x1/0x2/-/-" */

/* What is left of a line, or a word of it: [p, end). */
struct text {
	const char *p, *end;
};

struct item {
	struct ht_record rec; /* of a sample: `branches` is set once all were read */
	uint64_t order;       /* of its line */
	size_t entry;         /* sample: its first byte in `entries` */
	int bad;              /* a line that cannot be read: rec.file_offset tells where */
};

struct brstack {
	struct {
		struct item *at;
		size_t n, cap;
	} items;
	struct {
		uint8_t *at;
		size_t n, cap;
	} entries;
	struct {
		struct item **at;
		size_t n, cap;
	} samples; /* by thread, then time */
	struct ht_intern *names;
	struct ht_chunk *chunks;
	size_t next;
	int32_t last_pid; /* that mapped code */
	int timed;
	/* of a sample whose stack stands on a line of its own, behind its call chain */
	struct ht_record head;
	int has_head;
};

/* -- words --------------------------------------------------------------- */

static int
digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A number in front of `t`; 0 when there is none that fits. */
static int
take_number(struct text *t, int base, uint64_t *out)
{
	const char *p = t->p;
	uint64_t v = 0;

	for (; p < t->end && digit(*p) >= 0 && digit(*p) < base; p++) {
		if (v > (UINT64_MAX - (uint64_t)digit(*p)) / (uint64_t)base)
			return 0;
		v = v * (uint64_t)base + (uint64_t)digit(*p);
	}
	if (p == t->p)
		return 0;
	t->p = p;
	*out = v;
	return 1;
}

static int
take(struct text *t, const char *what)
{
	size_t n = strlen(what);

	if ((size_t)(t->end - t->p) < n || memcmp(t->p, what, n) != 0)
		return 0;
	t->p += n;
	return 1;
}

/* 0x1f, or 0 where perf leaves the 0x out. */
static int
take_hex(struct text *t, uint64_t *out)
{
	take(t, "0x");
	return take_number(t, 16, out);
}

static int
take_int(struct text *t, int32_t *out)
{
	int minus = take(t, "-");
	uint64_t v;

	if (!take_number(t, 10, &v) || v > INT32_MAX)
		return 0;
	*out = minus ? -(int32_t)v : (int32_t)v;
	return 1;
}

static int
take_word(struct text *t, struct text *word)
{
	while (t->p < t->end && (*t->p == ' ' || *t->p == '\t'))
		t->p++;
	word->p = t->p;
	while (t->p < t->end && *t->p != ' ' && *t->p != '\t')
		t->p++;
	word->end = t->p;
	return word->end > word->p;
}

/* Up to `stop` or the end. */
static struct text
take_part(struct text *t, char stop)
{
	struct text part = { t->p, t->p };

	while (part.end < t->end && *part.end != stop)
		part.end++;
	t->p = part.end < t->end ? part.end + 1 : part.end;
	return part;
}

static int
is(struct text t, const char *what)
{
	return (size_t)(t.end - t.p) == strlen(what) && !memcmp(t.p, what, strlen(what));
}

/* -- entries ------------------------------------------------------------- */

static uint64_t
type_bits(struct text name)
{
	struct ht_branch_entry e = { .type = 0 };

	for (unsigned i = 1; i < 32 && name.end > name.p; i++) {
		e.type = (uint8_t)(i < 16 ? i : PERF_BR_EXTEND_ABI);
		e.new_type = (uint8_t)(i < 16 ? 0 : i - 16);
		if (i != PERF_BR_EXTEND_ABI && is(name, ht_branch_type_name(&e)))
			return (uint64_t)e.type << 20 | (uint64_t)e.new_type << 26;
	}
	return 0;
}

static uint64_t
spec_bits(struct text name)
{
	struct ht_branch_entry e = { .spec = 0 };

	for (e.spec = 1; e.spec < 4; e.spec++)
		if (is(name, ht_branch_spec_name(&e)))
			return (uint64_t)e.spec << 24;
	return 0;
}

/* 0xFROM/0xTO/M/X/A/CYCLES/KIND/SPECULATION; what stands behind the third part may be missing. */
static int
parse_entry(struct text t, uint64_t out[3])
{
	uint64_t cycles = 0;
	struct text part;

	if (!take(&t, "0x") || !take_number(&t, 16, &out[0]) || !take(&t, "/0x") ||
	    !take_number(&t, 16, &out[1]) || !take(&t, "/"))
		return 0;
	part = take_part(&t, '/');
	if (!is(part, "M") && !is(part, "P") && !is(part, "-"))
		return 0;
	out[2] = is(part, "M") ? 1 : is(part, "P") ? 2 : 0;
	part = take_part(&t, '/');
	out[2] |= is(part, "X") ? 4 : 0;
	part = take_part(&t, '/');
	out[2] |= is(part, "A") ? 8 : 0;
	part = take_part(&t, '/');
	if (part.p < part.end &&
	    (!take_number(&part, 10, &cycles) || part.p < part.end || cycles > UINT16_MAX))
		return 0;
	out[2] |= cycles << 4;
	out[2] |= type_bits(take_part(&t, '/'));
	out[2] |= spec_bits(take_part(&t, '/'));
	return 1;
}

/* Does the word look like an entry, be it a whole one or not? */
static int
is_entry(struct text t)
{
	uint64_t v;

	return take(&t, "0x") && take_number(&t, 16, &v) && take(&t, "/");
}

static int
add_entry(struct brstack *b, const uint64_t e[3])
{
	if (ht_vec_reserve(&b->entries, b->entries.n + HT_BRANCH_ENTRY_SIZE) < 0)
		return -HT_ENOMEM;
	for (unsigned i = 0; i < 3; i++)
		for (unsigned k = 0; k < 8; k++)
			b->entries.at[b->entries.n++] = (uint8_t)(e[i] >> 8 * k);
	return 0;
}

/* -- lines --------------------------------------------------------------- */

/* "12.345678:" */
static int
parse_time(struct text t, uint64_t *ns)
{
	uint64_t s, part, unit = 1000000000;
	const char *from;

	if (!take_number(&t, 10, &s) || s > UINT64_MAX / 1000000000 - 1 || !take(&t, "."))
		return 0;
	from = t.p;
	if (!take_number(&t, 10, &part) || t.p - from > 9 || !take(&t, ":") || t.p < t.end)
		return 0;
	for (; from < t.end - 1; from++)
		unit /= 10;
	*ns = s * 1000000000 + part * unit;
	return 1;
}

/*
 * Columns in front of what a line is about, as far as they are there: name,
 * PID/TID or TID, [CPU], time and, of a sample, its address, which is last.
 */
static void
parse_head(struct text t, struct ht_record *r, uint64_t *ip)
{
	struct text w, rest;
	uint64_t v, before = UINT64_MAX, last = UINT64_MAX;
	int timed = 0, decimal = 0;

	while (take_word(&t, &w)) {
		int32_t pid, tid;

		rest = w;
		decimal = 0;
		if (parse_time(w, &v)) {
			r->time = v;
			/* the number in front of the time and the CPU is the thread */
			if (r->tid < 0 && last <= INT32_MAX)
				r->tid = (int32_t)last;
			before = last = UINT64_MAX;
			timed = 1;
		} else if (take(&rest, "[") && take_int(&rest, &pid) && is(rest, "]")) {
			r->cpu = pid;
		} else if ((rest = w, take_int(&rest, &pid)) && take(&rest, "/") &&
		           take_int(&rest, &tid) && rest.p == rest.end) {
			r->pid = pid;
			r->tid = tid;
			before = last = UINT64_MAX;
		} else if ((rest = w, take_number(&rest, 10, &v)) && rest.p == rest.end) {
			before = last;
			last = v;
			decimal = 1;
		}
		rest = w;
		if (!take_number(&rest, 16, ip) || rest.p < rest.end)
			*ip = 0;
	}
	/* Without a time the number in front of the address, which may have decimal digits alone, is the thread. */
	v = decimal ? before : last;
	if (!timed && r->tid < 0 && v <= INT32_MAX)
		r->tid = (int32_t)v;
}

/* "pid/tid: [addr(len) @ pgoff ...]: r-xp path" */
static int
parse_map(struct brstack *b, struct text t, struct ht_record *r)
{
	struct text inside, prot;
	int32_t pid, tid;

	if (!take(&t, " ") || !take_int(&t, &pid) || !take(&t, "/") || !take_int(&t, &tid) ||
	    !take(&t, ": ["))
		return 0;
	inside = take_part(&t, ']');
	if (!take(&t, ":") || !take_hex(&inside, &r->u.map.addr) || !take(&inside, "(") ||
	    !take_hex(&inside, &r->u.map.len) || !take(&inside, ") @ ") ||
	    !take_hex(&inside, &r->u.map.pgoff) || !take_word(&t, &prot))
		return 0;
	take(&t, " ");
	r->kind = HT_REC_MMAP;
	r->pid = pid;
	r->tid = tid;
	r->u.map.flags = (memchr(prot.p, 'x', (size_t)(prot.end - prot.p)) ? HT_MAP_EXEC : 0) |
	                 (memchr(prot.p, 'w', (size_t)(prot.end - prot.p)) ? HT_MAP_WRITE : 0) |
	                 (pid == -1 ? HT_MAP_KERNEL : 0);
	r->u.map.path = ht_intern(b->names, t.p, (size_t)(t.end - t.p));
	if (take(&inside, " <"))
		while (r->u.map.build_id_size < HT_BUILD_ID_MAX && inside.end - inside.p >= 2 &&
		       digit(inside.p[0]) >= 0 && digit(inside.p[1]) >= 0) {
			r->u.map.build_id[r->u.map.build_id_size++] =
			    (uint8_t)(digit(inside.p[0]) << 4 | digit(inside.p[1]));
			inside.p += 2;
		}
	if (pid >= 0 && r->u.map.flags & HT_MAP_EXEC)
		b->last_pid = pid;
	return r->u.map.path ? 1 : -HT_ENOMEM;
}

/* Entries from the word `w` on, which is the first, to the end of the line.  1, 0 (damaged) or -HT_ENOMEM. */
static int
parse_stack(struct brstack *b, struct text t, struct text w, struct item *it)
{
	uint64_t e[3];

	it->entry = b->entries.n;
	do {
		if (!parse_entry(w, e)) {
			b->entries.n = it->entry;
			return 0;
		}
		if (add_entry(b, e) < 0)
			return -HT_ENOMEM;
		it->rec.u.sample.n_branches++;
	} while (take_word(&t, &w));
	return 1;
}

/* A line that is neither: the columns of a sample, its call chain, or an empty one, behind the sample. */
static void
note_head(struct brstack *b, struct text line)
{
	struct ht_record head = { .pid = -1, .tid = -1, .cpu = -1 };
	struct text t = line, w;
	uint64_t ip;

	if (!take_word(&t, &w)) {
		b->has_head = 0;
		return;
	}
	parse_head(line, &head, &ip);
	if (head.time) {
		b->head = head;
		b->has_head = 1;
	}
}

/* 1 with *it, 0 when the line says nothing of ours, or -HT_ENOMEM. */
static int
parse_line(struct brstack *b, struct text line, struct item *it)
{
	static const char *const maps[] = { "PERF_RECORD_MMAP2", "PERF_RECORD_MMAP" };
	struct text t = line, w = { line.p, line.p };
	int rc = 0;

	it->rec.pid = it->rec.tid = it->rec.cpu = -1;
	while (take_word(&t, &w)) {
		for (unsigned i = 0; i < 2; i++) {
			if (!is(w, maps[i]))
				continue;
			parse_head((struct text){ line.p, w.p }, &it->rec, &it->rec.u.map.ino);
			it->rec.u.map.ino = 0;
			rc = parse_map(b, t, &it->rec);
			it->bad = !rc;
			return rc < 0 ? rc : 1;
		}
		if (!is_entry(w))
			continue;
		it->rec.kind = HT_REC_SAMPLE;
		parse_head((struct text){ line.p, w.p }, &it->rec, &it->rec.u.sample.ip);
		if (!it->rec.time && b->has_head) {
			it->rec.time = b->head.time;
			it->rec.pid = b->head.pid;
			it->rec.tid = b->head.tid;
			it->rec.cpu = b->head.cpu;
			it->rec.u.sample.ip = 0;
		}
		b->has_head = 0;
		if (it->rec.pid < 0)
			it->rec.pid = b->last_pid;
		if (it->rec.tid < 0)
			it->rec.tid = it->rec.pid;
		it->rec.u.sample.period = 1;
		rc = parse_stack(b, t, w, it);
		it->bad = !rc;
		return rc < 0 ? rc : 1;
	}
	note_head(b, line);
	return 0;
}

static int
read_lines(struct ht_container *c, struct brstack *b)
{
	const char *p = (const char *)c->data, *end = p + c->size;
	uint64_t order = 0;

	while (p < end) {
		const char *stop = memchr(p, '\n', (size_t)(end - p));
		struct text line = { p, stop ? stop : end };
		struct item it = { .order = order + 1 };
		int rc = parse_line(b, line, &it);

		if (rc < 0)
			return rc;
		if (rc) {
			struct item *slot = ht_vec_push(&b->items);

			if (!slot)
				return -HT_ENOMEM;
			it.rec.file_offset = (uint64_t)(p - (const char *)c->data);
			it.rec.raw = (const uint8_t *)p;
			it.rec.raw_size = (uint32_t)(line.end - p);
			b->timed |= it.rec.time != 0;
			*slot = it;
		}
		order++;
		p = stop ? stop + 1 : end;
	}
	return 0;
}

/* -- streams ------------------------------------------------------------- */

static int
by_thread(const void *x, const void *y)
{
	const struct item *a = *(struct item *const *)x, *b = *(struct item *const *)y;

	if (a->rec.pid != b->rec.pid)
		return a->rec.pid < b->rec.pid ? -1 : 1;
	if (a->rec.tid != b->rec.tid)
		return a->rec.tid < b->rec.tid ? -1 : 1;
	if (a->rec.time != b->rec.time)
		return a->rec.time < b->rec.time ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* Entries stay where they are now: records and chunks may point at them. */
static int
settle(struct brstack *b)
{
	for (size_t i = 0; i < b->items.n; i++) {
		struct item *it = &b->items.at[i], **slot;

		if (!b->timed)
			it->rec.time = it->order;
		if (it->bad || it->rec.kind != HT_REC_SAMPLE)
			continue;
		it->rec.u.sample.branches = b->entries.at + it->entry;
		slot = ht_vec_push(&b->samples);
		if (!slot)
			return -HT_ENOMEM;
		*slot = it;
	}
	if (b->samples.n)
		qsort(b->samples.at, b->samples.n, sizeof(*b->samples.at), by_thread);
	return 0;
}

static int
build(struct ht_container *c, struct brstack *b)
{
	struct ht_stream *s = NULL;

	if (settle(b) < 0)
		return -HT_ENOMEM;
	b->chunks = calloc(b->samples.n + 1, sizeof(*b->chunks));
	c->streams = calloc(b->samples.n + 1, sizeof(*c->streams));
	if (!b->chunks || !c->streams)
		return -HT_ENOMEM;
	for (size_t i = 0; i < b->samples.n; i++) {
		const struct ht_record *r = &b->samples.at[i]->rec;

		if (!s || s->pid != r->pid || s->tid != r->tid) {
			s = &c->streams[c->n_streams];
			/* Whether kinds of branches were left out is not told. */
			*s = (struct ht_stream){ .index = c->n_streams++,
				                 .source = HT_SOURCE_BRANCH_STACK,
				                 .pid = r->pid,
				                 .tid = r->tid,
				                 .cpu = -1,
				                 .chunks = b->chunks + i };
		}
		b->chunks[i] = (struct ht_chunk){ .data = r->u.sample.branches,
			                          .stream_offset = s->bytes,
			                          .size = (uint64_t)r->u.sample.n_branches *
			                                  HT_BRANCH_ENTRY_SIZE,
			                          .ref = r->time,
			                          .file_offset = r->file_offset };
		s->bytes += b->chunks[i].size;
		s->n_chunks++;
	}
	return 0;
}

/* -- the reader ---------------------------------------------------------- */

/* Text in which a mapping or an entry of a stack stands. */
static int
brstack_match(const uint8_t *data, size_t size)
{
	struct text t = { (const char *)data,
		          (const char *)data + (size < LOOK_AT ? size : LOOK_AT) },
		    line, w;
	uint64_t e[3];

	if (size < ENTRY_MIN || memchr(t.p, 0, (size_t)(t.end - t.p)))
		return 0;
	while (t.p < t.end) {
		line = take_part(&t, '\n');
		while (take_word(&line, &w))
			if (is(w, "PERF_RECORD_MMAP") || is(w, "PERF_RECORD_MMAP2") ||
			    (is_entry(w) && parse_entry(w, e)))
				return 1;
	}
	return 0;
}

static int
brstack_open(struct ht_container *c, const struct ht_container_config *config, struct ht_diag *diag)
{
	struct brstack *b = calloc(1, sizeof(*b));

	(void)config;
	c->state = b;
	if (!b || !(b->names = ht_intern_new()) || read_lines(c, b) < 0 || build(c, b) < 0)
		return ht_fail(diag, HT_ENOMEM, c->path, HT_NO_OFFSET, "", "out of memory");
	c->info.source = HT_SOURCE_BRANCH_STACK;
	c->info.arch = HT_ARCH_X86_64;
	c->info.sampled = 1;
	c->info.clock = (struct ht_clock){ .valid = 1, .mult = 1 }; /* its times are ns */
	if (!c->n_streams)
		return ht_fail(
		    diag, HT_EFORMAT, c->path, HT_NO_OFFSET, "brstack",
		    "has mappings but no branch stacks; perf script -F ip,brstack writes them");
	return 0;
}

static void
brstack_close(struct ht_container *c)
{
	struct brstack *b = c->state;

	if (!b)
		return;
	ht_vec_free(&b->items);
	ht_vec_free(&b->entries);
	ht_vec_free(&b->samples);
	ht_intern_free(b->names);
	free(b->chunks);
	free(b);
	c->state = NULL;
}

static int
brstack_next(struct ht_container *c, struct ht_record *rec)
{
	struct brstack *b = c->state;
	const struct item *it;

	if (b->next == b->items.n)
		return 0;
	it = &b->items.at[b->next++];
	if (it->bad)
		return ht_fail(&c->diag, HT_EFORMAT, c->path, it->rec.file_offset,
		               it->rec.kind == HT_REC_SAMPLE ? "brstack" : "PERF_RECORD_MMAP",
		               "line %llu is not as perf script writes it, and was passed over",
		               (unsigned long long)it->order);
	*rec = it->rec;
	return 1;
}

static void
brstack_rewind(struct ht_container *c)
{
	((struct brstack *)c->state)->next = 0;
}

static const void *
brstack_bytes(const struct ht_container *c, size_t *size)
{
	*size = c->size;
	return c->data;
}

const struct ht_reader ht_reader_brstack = {
	.name = "perf script text",
	.match = brstack_match,
	.open = brstack_open,
	.close = brstack_close,
	.next = brstack_next,
	.rewind = brstack_rewind,
	.bytes = brstack_bytes,
};
