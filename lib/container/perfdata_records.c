/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a record means.  A record of the kernel is header, body and, with
 * sample_id_all, a trailer whose fields the event's sample_type names:
 *	TID | TIME | ID | STREAM_ID | CPU | IDENTIFIER, each 8 bytes.
 * [perf_event.h "struct perf_event_header", "enum perf_event_type"]
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "container/perfdata_impl.h"

#define MAP_SHARED_BIT 1u

/* -- which event ------------------------------------------------------------------ */

/* Position of the id in a record with layout `type`; 0 when it has none. */
static uint32_t
id_position(uint64_t type, const struct ht_perf_raw *raw)
{
	uint32_t at = 8, back = 8;

	if (raw->type == PERF_RECORD_SAMPLE) {
		if (type & PERF_SAMPLE_IDENTIFIER)
			return at;
		if (!(type & PERF_SAMPLE_ID))
			return 0;
		at += type & PERF_SAMPLE_IP ? 8 : 0;
		at += type & PERF_SAMPLE_TID ? 8 : 0;
		at += type & PERF_SAMPLE_TIME ? 8 : 0;
		at += type & PERF_SAMPLE_ADDR ? 8 : 0;
		return at;
	}
	if (!(type & PERF_SAMPLE_IDENTIFIER)) {
		if (!(type & PERF_SAMPLE_ID))
			return 0;
		back += type & PERF_SAMPLE_CPU ? 8 : 0;
		back += type & PERF_SAMPLE_STREAM_ID ? 8 : 0;
	}
	return raw->size >= 8 + back ? raw->size - back : 0;
}

const struct ht_perf_event *
ht_perfdata_event(const struct ht_perfdata *p, const struct ht_perf_raw *raw)
{
	size_t low = 0, high = p->ids.n;
	uint32_t at;
	uint64_t id;

	if (!p->events.n)
		return NULL;
	if (p->uniform)
		return p->events.at;
	at = id_position(p->events.at[0].attr.sample_type, raw);
	if (!at || at + 8 > raw->size)
		return p->events.at;
	id = ht_le(raw->at + at, 8);
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (p->ids.at[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	/* Records that perf made itself have id 0: they have the first event's layout. */
	return low < p->ids.n && p->ids.at[low].id == id ? &p->events.at[p->ids.at[low].event]
	                                                 : p->events.at;
}

/* -- fields that kinds share ------------------------------------------------------- */

struct parse {
	struct ht_container *c;
	const struct ht_perf_raw *raw;
	const struct ht_perf_event *event; /* NULL: the file has no attributes */
	struct ht_cursor k;                /* the body */
	struct ht_record *rec;
};

/* `trailer` bytes at the end of the record are there: the caller has checked. */
static void
parse_trailer(struct parse *x)
{
	const uint8_t *t = x->raw->at + x->raw->size - x->event->trailer;
	uint64_t type = x->event->attr.sample_type;

	if (type & PERF_SAMPLE_TID) {
		x->rec->pid = (int32_t)ht_le(t, 4);
		x->rec->tid = (int32_t)ht_le(t + 4, 4);
		t += 8;
	}
	if (type & PERF_SAMPLE_TIME) {
		x->rec->time = ht_le(t, 8);
		t += 8;
	}
	t += type & PERF_SAMPLE_ID ? 8 : 0;
	t += type & PERF_SAMPLE_STREAM_ID ? 8 : 0;
	if (type & PERF_SAMPLE_CPU)
		x->rec->cpu = (int32_t)ht_le(t, 4);
}

static void
take_pid_tid(struct parse *x)
{
	x->rec->pid = (int32_t)ht_cursor_u32(&x->k);
	x->rec->tid = (int32_t)ht_cursor_u32(&x->k);
}

/* The string that fills the rest of the body, for as long as the container lives; "" in place of
 * none. */
static const char *
take_name(struct parse *x)
{
	size_t left = ht_cursor_left(&x->k);
	const char *s = ht_cursor_str(&x->k, left);
	struct ht_perfdata *p = x->c->state;

	if (!s || x->raw->mapped)
		return s ? s : "";
	if (!p->names)
		p->names = ht_intern_new();
	s = p->names ? ht_intern(p->names, s, strlen(s)) : NULL;
	if (!s)
		x->k.failed = 1;
	return s ? s : "";
}

/* -- kinds ---------------------------------------------------------------------------- */

static void
parse_mmap(struct parse *x)
{
	struct ht_record *r = x->rec;

	take_pid_tid(x);
	r->u.map.addr = ht_cursor_u64(&x->k);
	r->u.map.len = ht_cursor_u64(&x->k);
	r->u.map.pgoff = ht_cursor_u64(&x->k);
	r->u.map.flags = x->raw->misc & PERF_RECORD_MISC_MMAP_DATA ? 0 : HT_MAP_EXEC;
	if (r->pid == -1)
		r->u.map.flags |= HT_MAP_KERNEL;
	r->u.map.path = take_name(x);
}

static void
parse_file_id(struct parse *x)
{
	struct ht_record *r = x->rec;
	const uint8_t *p = ht_cursor_take(&x->k, 24);

	if (!p)
		return;
	if (!(x->raw->misc & PERF_RECORD_MISC_MMAP_BUILD_ID)) {
		r->u.map.maj = (uint32_t)ht_le(p, 4);
		r->u.map.min = (uint32_t)ht_le(p + 4, 4);
		r->u.map.ino = ht_le(p + 8, 8);
		r->u.map.ino_generation = ht_le(p + 16, 8);
		return;
	}
	r->u.map.build_id_size = p[0] < HT_BUILD_ID_MAX ? p[0] : HT_BUILD_ID_MAX;
	memcpy(r->u.map.build_id, p + 4, r->u.map.build_id_size);
}

static void
parse_mmap2(struct parse *x)
{
	struct ht_record *r = x->rec;
	uint32_t flags;
	uint64_t addr, len;

	take_pid_tid(x);
	addr = r->u.map.addr = ht_cursor_u64(&x->k);
	len = r->u.map.len = ht_cursor_u64(&x->k);
	r->u.map.pgoff = ht_cursor_u64(&x->k);
	parse_file_id(x);
	r->u.map.prot = ht_cursor_u32(&x->k);
	flags = ht_cursor_u32(&x->k);
	r->u.map.flags = (r->u.map.prot & PROT_EXEC ? HT_MAP_EXEC : 0) |
	                 (r->u.map.prot & PROT_WRITE ? HT_MAP_WRITE : 0) |
	                 (flags & MAP_SHARED_BIT ? HT_MAP_SHARED : 0) |
	                 (r->pid == -1 ? HT_MAP_KERNEL : 0);
	r->u.map.path = take_name(x);
	if (r->u.map.prot == PROT_NONE && !strcmp(r->u.map.path, HT_PERF_MUNMAP_NAME)) {
		r->kind = HT_REC_MUNMAP;
		r->u.unmap.addr = addr;
		r->u.unmap.len = len;
	}
}

static void
parse_comm(struct parse *x)
{
	take_pid_tid(x);
	x->rec->u.comm.comm = take_name(x);
	x->rec->u.comm.exec = !!(x->raw->misc & PERF_RECORD_MISC_COMM_EXEC);
}

/* FORK and EXIT have the same body, and u.fork and u.exit the same members. */
static void
parse_task(struct parse *x)
{
	uint64_t time;

	x->rec->pid = (int32_t)ht_cursor_u32(&x->k);
	x->rec->u.fork.ppid = (int32_t)ht_cursor_u32(&x->k);
	x->rec->tid = (int32_t)ht_cursor_u32(&x->k);
	x->rec->u.fork.ptid = (int32_t)ht_cursor_u32(&x->k);
	time = ht_cursor_u64(&x->k);
	if (!x->rec->time)
		x->rec->time = time;
}

static void
parse_itrace_start(struct parse *x)
{
	take_pid_tid(x);
}

static void
parse_aux(struct parse *x)
{
	x->rec->u.aux.offset = ht_cursor_u64(&x->k);
	x->rec->u.aux.size = ht_cursor_u64(&x->k);
	x->rec->u.aux.flags = ht_cursor_u64(&x->k);
}

static void
parse_lost(struct parse *x)
{
	uint64_t kind;

	x->rec->u.lost.id = ht_cursor_u64(&x->k);
	x->rec->u.lost.lost = ht_cursor_u64(&x->k);
	if (ht_cursor_left(&x->k) <= HT_PERF_LOST_WHY || ht_cursor_u64(&x->k) != HT_PERF_MARK)
		return;
	kind = ht_cursor_u64(&x->k);
	x->rec->u.lost.kind = kind < HT_GAP_KIND_COUNT ? (uint8_t)kind : HT_GAP_UNTRACED;
	x->rec->u.lost.why = take_name(x);
}

static void
parse_lost_samples(struct parse *x)
{
	x->rec->u.lost.lost = ht_cursor_u64(&x->k);
	x->rec->u.lost.samples = 1;
}

static void
parse_switch(struct parse *x)
{
	x->rec->u.sw.out = !!(x->raw->misc & PERF_RECORD_MISC_SWITCH_OUT);
	x->rec->u.sw.preempt =
	    x->rec->u.sw.out && x->raw->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
	x->rec->u.sw.next_prev_pid = x->rec->u.sw.next_prev_tid = -1;
}

static void
parse_switch_cpu_wide(struct parse *x)
{
	parse_switch(x);
	x->rec->u.sw.next_prev_pid = (int32_t)ht_cursor_u32(&x->k);
	x->rec->u.sw.next_prev_tid = (int32_t)ht_cursor_u32(&x->k);
}

static void
parse_text_poke(struct parse *x)
{
	uint64_t addr = ht_cursor_u64(&x->k);
	uint16_t old_len = ht_cursor_u16(&x->k), new_len = ht_cursor_u16(&x->k);

	ht_cursor_take(&x->k, old_len);
	x->rec->u.code.addr = addr;
	x->rec->u.code.old_len = old_len;
	x->rec->u.code.len = new_len;
	x->rec->u.code.bytes = ht_cursor_take(&x->k, new_len);
}

static void
parse_sample(struct parse *x)
{
	if (x->event)
		ht_perf_sample_parse(&x->k, &x->event->attr, x->rec);
}

/* Types of the kernel that are modelled, by number. */
static const struct {
	const char *name;
	enum ht_record_kind kind;
	void (*parse)(struct parse *x);
} kinds[] = {
	[PERF_RECORD_MMAP] = { "PERF_RECORD_MMAP", HT_REC_MMAP, parse_mmap },
	[PERF_RECORD_LOST] = { "PERF_RECORD_LOST", HT_REC_LOST, parse_lost },
	[PERF_RECORD_COMM] = { "PERF_RECORD_COMM", HT_REC_COMM, parse_comm },
	[PERF_RECORD_EXIT] = { "PERF_RECORD_EXIT", HT_REC_EXIT, parse_task },
	[PERF_RECORD_FORK] = { "PERF_RECORD_FORK", HT_REC_FORK, parse_task },
	[PERF_RECORD_SAMPLE] = { "PERF_RECORD_SAMPLE", HT_REC_SAMPLE, parse_sample },
	[PERF_RECORD_MMAP2] = { "PERF_RECORD_MMAP2", HT_REC_MMAP, parse_mmap2 },
	[PERF_RECORD_AUX] = { "PERF_RECORD_AUX", HT_REC_AUX, parse_aux },
	[PERF_RECORD_ITRACE_START] = { "PERF_RECORD_ITRACE_START", HT_REC_ITRACE_START,
	                               parse_itrace_start },
	[PERF_RECORD_LOST_SAMPLES] = { "PERF_RECORD_LOST_SAMPLES", HT_REC_LOST,
	                               parse_lost_samples },
	[PERF_RECORD_SWITCH] = { "PERF_RECORD_SWITCH", HT_REC_SWITCH, parse_switch },
	[PERF_RECORD_SWITCH_CPU_WIDE] = { "PERF_RECORD_SWITCH_CPU_WIDE", HT_REC_SWITCH,
	                                  parse_switch_cpu_wide },
	[PERF_RECORD_TEXT_POKE] = { "PERF_RECORD_TEXT_POKE", HT_REC_CODE, parse_text_poke },
};

#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static int
fail_short(struct ht_container *c, const struct ht_perf_raw *raw)
{
	return ht_fail(
	    &c->diag, HT_EFORMAT, c->path, raw->offset, kinds[raw->type].name,
	    "a record of %u bytes is too short for what it must hold, or its text has no end; "
	    "it was passed over",
	    raw->size);
}

int
ht_perfdata_parse(struct ht_container *c, const struct ht_perf_raw *raw, struct ht_record *rec)
{
	struct ht_perfdata *p = c->state;
	struct parse x = { .c = c, .raw = raw, .rec = rec };
	uint32_t trailer = 0;

	memset(rec, 0, sizeof(*rec));
	rec->raw_type = raw->type;
	rec->pid = rec->tid = rec->cpu = -1;
	rec->file_offset = raw->offset;
	rec->raw = raw->at;
	rec->raw_size = raw->size;
	rec->misc = raw->misc;
	if (raw->type >= HT_PERF_HEADER_ATTR)
		return 1;
	x.event = ht_perfdata_event(p, raw);
	if (raw->type != PERF_RECORD_SAMPLE && x.event)
		trailer = x.event->trailer;
	if (raw->type >= N_KINDS || !kinds[raw->type].parse) {
		if (trailer && raw->size >= 8 + trailer)
			parse_trailer(&x);
		return 1;
	}
	if (raw->size < 8 + trailer)
		return fail_short(c, raw);
	if (trailer)
		parse_trailer(&x);
	x.k = ht_cursor_make(raw->at + 8, raw->size - 8 - trailer);
	rec->kind = kinds[raw->type].kind;
	kinds[raw->type].parse(&x);
	return x.k.failed ? fail_short(c, raw) : 1;
}
