/* SPDX-License-Identifier: BSD-2-Clause */
/* File header, attributes and feature sections: what is known before the first record. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "container/perfdata_impl.h"

/* -- attributes ----------------------------------------------------------------- */

static uint32_t
trailer_size(const struct perf_event_attr *a)
{
	const uint64_t fields[] = {
		PERF_SAMPLE_TID,       PERF_SAMPLE_TIME, PERF_SAMPLE_ID,
		PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,  PERF_SAMPLE_IDENTIFIER
	};
	uint32_t n = 0;

	for (unsigned i = 0; a->sample_id_all && i < sizeof(fields) / sizeof(fields[0]); i++)
		n += a->sample_type & fields[i] ? 8 : 0;
	return n;
}

int
ht_perfdata_attr(struct ht_container *c, const uint8_t *attr, size_t size, const uint8_t *ids,
                 size_t ids_size)
{
	struct ht_perfdata *p = c->state;
	struct ht_perf_event *e = ht_vec_push(&p->events);

	if (!e)
		return -HT_ENOMEM;
	memset(e, 0, sizeof(*e));
	memcpy(&e->attr, attr, size < sizeof(e->attr) ? size : sizeof(e->attr));
	e->trailer = trailer_size(&e->attr);
	c->info.monotonic =
	    e->attr.use_clockid && e->attr.clockid == CLOCK_MONOTONIC; /* one for all events */
	for (size_t i = 0; i + 8 <= ids_size; i += 8) {
		struct ht_perf_id *id = ht_vec_push(&p->ids);

		if (!id)
			return -HT_ENOMEM;
		*id = (struct ht_perf_id){ ht_le(ids + i, 8), (uint32_t)p->events.n - 1 };
	}
	return 0;
}

static int
by_id(const void *a, const void *b)
{
	const struct ht_perf_id *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static int
same_layout(const struct ht_perf_event *a, const struct ht_perf_event *b)
{
	return a->attr.sample_type == b->attr.sample_type && a->trailer == b->trailer &&
	       a->attr.read_format == b->attr.read_format &&
	       a->attr.branch_sample_type == b->attr.branch_sample_type &&
	       a->attr.sample_regs_user == b->attr.sample_regs_user &&
	       a->attr.sample_regs_intr == b->attr.sample_regs_intr;
}

void
ht_perfdata_layouts(struct ht_container *c)
{
	struct ht_perfdata *p = c->state;

	p->unsorted = 0;
	p->uniform = 1;
	for (size_t i = 1; i < p->events.n; i++)
		p->uniform &= same_layout(&p->events.at[0], &p->events.at[i]);
	if (p->ids.n)
		qsort(p->ids.at, p->ids.n, sizeof(*p->ids.at), by_id);
}

static int
read_attrs(struct ht_container *c, uint64_t offset, uint64_t size, uint64_t entry,
           struct ht_diag *diag)
{
	if (entry < PERF_ATTR_SIZE_VER0 + 16 || entry > 4096)
		return ht_fail(diag, HT_EFORMAT, c->path, 16, "attr_size",
		               "is %llu; an event attribute has 80 to 4096 bytes",
		               (unsigned long long)entry);
	if (offset > c->size || size > c->size - offset)
		return ht_fail(
		    diag, HT_EFORMAT, c->path, 24, "attrs",
		    "lie at 0x%llx + %llu, the file has %zu bytes; it is cut before any trace",
		    (unsigned long long)offset, (unsigned long long)size, c->size);
	for (uint64_t at = offset; size >= entry; at += entry, size -= entry) {
		const uint8_t *attr = c->data + at;
		uint32_t own = (uint32_t)ht_le(attr + 4, 4);
		uint64_t ids = ht_le(attr + entry - 16, 8), ids_size = ht_le(attr + entry - 8, 8);

		if (own < PERF_ATTR_SIZE_VER0 || own > entry - 16)
			own = own ? (uint32_t)entry - 16 : PERF_ATTR_SIZE_VER0;
		if (ids > c->size || ids_size > c->size - ids)
			return ht_fail(diag, HT_EFORMAT, c->path, at + entry - 16, "attr.ids",
			               "lie at 0x%llx + %llu, the file has %zu bytes",
			               (unsigned long long)ids, (unsigned long long)ids_size,
			               c->size);
		if (ht_perfdata_attr(c, attr, own, c->data + ids, (size_t)ids_size) < 0)
			return ht_fail(diag, HT_ENOMEM, c->path, at, "attrs", "out of memory");
	}
	return 0;
}

/* -- features ------------------------------------------------------------------- */

/* u32 length and that many bytes with a NUL among them; NULL when not so. */
static const char *
take_string(struct ht_cursor *k)
{
	uint32_t n = ht_cursor_u32(k);

	return k->failed ? NULL : ht_cursor_str(k, n);
}

/* What stands behind the first NUL is padding. */
static const char *
feature_string(const uint8_t *data, size_t size)
{
	struct ht_cursor k = ht_cursor_make(data, size);

	return take_string(&k);
}

static void
feature_cmdline(struct ht_perfdata *p, const uint8_t *data, size_t size)
{
	struct ht_cursor k = ht_cursor_make(data, size);
	uint32_t n = ht_cursor_u32(&k);
	size_t used = 0;
	char *text;

	/* Each argument has more than its text in the section: `size` bytes hold them all. */
	if (p->cmdline || !(text = malloc(size + 1)))
		return;
	text[0] = 0;
	for (uint32_t i = 0; i < n; i++) {
		const char *s = take_string(&k);
		size_t len;

		if (!s)
			break;
		len = strlen(s);
		if (i)
			text[used++] = ' ';
		memcpy(text + used, s, len + 1);
		used += len;
	}
	p->cmdline = text;
}

static void
feature_cpuid(struct ht_container *c, const char *text)
{
	unsigned family, model, step;

	c->info.cpuid = text;
	if (text && sscanf(text, "GenuineIntel,%u,%u,%u", &family, &model, &step) == 3) {
		c->info.cpu.vendor_intel = 1;
		c->info.cpu.family = (uint16_t)family;
		c->info.cpu.model = (uint8_t)model;
		c->info.cpu.stepping = (uint8_t)step;
	}
}

static void
feature_arch(struct ht_container *c, const char *text)
{
	static const struct { const char *prefix; enum ht_arch arch;
	} rows[] = {
		{ "x86_64", HT_ARCH_X86_64 }, { "i386", HT_ARCH_X86_32 },
		{ "i486", HT_ARCH_X86_32 },   { "i586", HT_ARCH_X86_32 },
		{ "i686", HT_ARCH_X86_32 },   { "aarch64", HT_ARCH_AARCH64 },
		{ "arm64", HT_ARCH_AARCH64 }, { "arm", HT_ARCH_ARM },
	};

	c->info.arch_name = text;
	for (unsigned i = 0; text && i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strncmp(text, rows[i].prefix, strlen(rows[i].prefix))) {
			c->info.arch = rows[i].arch;
			return;
		}
}

static void
feature_hwtrace(struct ht_container *c, const uint8_t *data, size_t size)
{
	struct ht_cursor k = ht_cursor_make(data, size);
	uint32_t n = ht_cursor_u32(&k);

	while (n-- && !k.failed) {
		const char *s = take_string(&k);

		if (s && !strncmp(s, "backend=", 8) && s[8])
			c->info.backend = s + 8;
		else if (s && !strncmp(s, "software=", 9))
			c->info.software = s[9] == '1';
	}
}

int
ht_perfdata_add_build_id(struct ht_container *c, const uint8_t *entry, size_t size, size_t fixed)
{
	struct ht_perfdata *p = c->state;
	struct ht_perf_build_id *b;
	uint16_t misc = (uint16_t)ht_le(entry + 4, 2);
	const uint8_t *id = entry + fixed - 24;

	if (size <= fixed || !memchr(entry + fixed, 0, size - fixed))
		return 0;
	b = ht_vec_push(&p->build_ids);
	if (!b)
		return -HT_ENOMEM;
	*b = (struct ht_perf_build_id){ (const char *)entry + fixed, id, HT_BUILD_ID_MAX };
	if (misc & HT_PERF_MISC_BUILD_ID_SIZE && id[20] > 0 && id[20] < HT_BUILD_ID_MAX)
		b->size = id[20];
	else if (!(misc & HT_PERF_MISC_BUILD_ID_SIZE) && !ht_le(id + 16, 4)) /* an MD5, filled up */
		b->size = 16;
	return 0;
}

/* Entries are records: header, i32 pid, 24 bytes of id, path.  Before Linux 2.6.35 there was no
 * pid. */
static int
feature_build_ids(struct ht_container *c, const uint8_t *data, size_t size)
{
	size_t fixed = 36;

	if (size > 36 + 13 && !memcmp(data + 36, "nel.kallsyms]", 13))
		fixed = 32;
	while (size >= fixed) {
		size_t n = ht_le(data + 6, 2);

		if (n < fixed || n > size)
			break;
		if (ht_perfdata_add_build_id(c, data, n, fixed) < 0)
			return -HT_ENOMEM;
		data += n;
		size -= n;
	}
	return 0;
}

void
ht_perfdata_feature(struct ht_container *c, unsigned bit, const uint8_t *data, size_t size)
{
	struct ht_perfdata *p = c->state;

	switch (bit) {
	case HT_PERF_FEAT_BUILD_ID:
		feature_build_ids(c, data, size);
		break;
	case HT_PERF_FEAT_HOSTNAME:
		c->info.hostname = feature_string(data, size);
		break;
	case HT_PERF_FEAT_OSRELEASE:
		c->info.os_release = feature_string(data, size);
		break;
	case HT_PERF_FEAT_VERSION:
		c->info.version = feature_string(data, size);
		break;
	case HT_PERF_FEAT_ARCH:
		feature_arch(c, feature_string(data, size));
		break;
	case HT_PERF_FEAT_CPUID:
		feature_cpuid(c, feature_string(data, size));
		break;
	case HT_PERF_FEAT_CMDLINE:
		feature_cmdline(p, data, size);
		c->info.cmdline = p->cmdline;
		break;
	case HT_PERF_FEAT_COMPRESSED: /* version, type, level, ratio, mmap_len */
		if (size >= 20)
			p->comp_mmap_len = ht_le(data + 16, 4);
		break;
	case HT_PERF_FEAT_HWTRACE:
		feature_hwtrace(c, data, size);
		break;
	default:
		break;
	}
}

/* One (offset, size) for each bit, behind the data; what is cut off is left out. */
static int
read_features(struct ht_container *c, const uint8_t *bits, struct ht_diag *diag)
{
	struct ht_perfdata *p = c->state;
	struct ht_cursor k = ht_cursor_make(c->data, c->size);
	uint64_t end = p->data_end;

	ht_cursor_seek(&k, p->data_end);
	for (unsigned bit = 0; bit < HT_PERF_FEAT_COUNT; bit++) {
		uint64_t offset, size;

		if (!(bits[bit / 8] >> (bit % 8) & 1))
			continue;
		offset = ht_cursor_u64(&k);
		size = ht_cursor_u64(&k);
		if (k.failed || offset > c->size || size > c->size - offset) {
			c->info.truncated = 1;
			c->info.truncated_at = k.failed ? k.pos : c->size;
			continue;
		}
		if (bit == HT_PERF_FEAT_DIR_FORMAT)
			return ht_fail(
			    diag, HT_EUNSUPPORTED, c->path, k.pos - 16, "HEADER_DIR_FORMAT",
			    "the records are in other files of a directory; record into one file");
		ht_perfdata_feature(c, bit, c->data + offset, (size_t)size);
		if (offset + size > end)
			end = offset + size;
	}
	ht_perfdata_trailing(c, k.pos > end ? k.pos : end);
	return 0;
}

void
ht_perfdata_trailing(struct ht_container *c, uint64_t end)
{
	if (end < c->size && c->size - end >= 8 && ht_le(c->data + end, 8) == HT_PERF_MAGIC) {
		c->info.trailing_at = end;
		c->info.trailing = c->size - end;
	}
}

/* -- header ---------------------------------------------------------------------- */

/* Where the records end: the header's word, or the end of a file that was not completed or was cut.
 */
static void
data_range(struct ht_container *c, uint64_t offset, uint64_t size)
{
	struct ht_perfdata *p = c->state;

	p->data_start = (size_t)offset;
	p->no_features = !size || size > c->size - offset;
	p->data_end = p->no_features ? c->size : (size_t)(offset + size);
	if (p->no_features) {
		c->info.truncated = 1;
		c->info.truncated_at = c->size;
	}
}

static int
read_file_header(struct ht_container *c, struct ht_diag *diag)
{
	struct ht_cursor k = ht_cursor_make(c->data, c->size);
	uint64_t size, attr_size, attrs, attrs_size, data, data_size;
	const uint8_t *bits;
	int err;

	ht_cursor_u64(&k);
	size = ht_cursor_u64(&k);
	attr_size = ht_cursor_u64(&k);
	attrs = ht_cursor_u64(&k);
	attrs_size = ht_cursor_u64(&k);
	data = ht_cursor_u64(&k);
	data_size = ht_cursor_u64(&k);
	ht_cursor_take(&k, 16); /* event types: no longer used */
	bits = ht_cursor_take(&k, HT_PERF_FEAT_COUNT / 8);
	if (k.failed)
		return ht_fail(diag, HT_EFORMAT, c->path, c->size, "header",
		               "the file ends inside its header; nothing was recorded");
	if (size != HT_PERF_HEADER_SIZE)
		return ht_fail(diag, HT_EUNSUPPORTED, c->path, 8, "header.size",
		               "is %llu; perf.data has %u (a pipe has %u)",
		               (unsigned long long)size, HT_PERF_HEADER_SIZE,
		               HT_PERF_PIPE_HEADER_SIZE);
	err = read_attrs(c, attrs, attrs_size, attr_size, diag);
	if (err)
		return err;
	if (data > c->size || data < HT_PERF_HEADER_SIZE)
		return ht_fail(diag, HT_EFORMAT, c->path, 40, "data.offset",
		               "is 0x%llx, the file has %zu bytes; nothing was recorded",
		               (unsigned long long)data, c->size);
	data_range(c, data, data_size);
	ht_perfdata_layouts(c);
	return ((struct ht_perfdata *)c->state)->no_features ? 0 : read_features(c, bits, diag);
}

int
ht_perfdata_header(struct ht_container *c, struct ht_diag *diag)
{
	struct ht_perfdata *p = c->state;
	uint64_t magic = c->size >= 8 ? ht_le(c->data, 8) : 0;

	if (magic == HT_PERF_MAGIC_SWAPPED)
		return ht_fail(diag, HT_EUNSUPPORTED, c->path, 0, "magic",
		               "recorded on a machine of the other byte order, which is not read");
	if (magic == HT_PERF_MAGIC_1)
		return ht_fail(diag, HT_EUNSUPPORTED, c->path, 0, "magic",
		               "perf.data of version 1 (before Linux 2.6.39) is not read");
	if (c->size < HT_PERF_PIPE_HEADER_SIZE)
		return ht_fail(diag, HT_EFORMAT, c->path, c->size, "header",
		               "the file ends inside its header; nothing was recorded");
	if (ht_le(c->data + 8, 8) != HT_PERF_PIPE_HEADER_SIZE)
		return read_file_header(c, diag);
	p->pipe = 1;
	p->data_start = HT_PERF_PIPE_HEADER_SIZE;
	p->data_end = c->size;
	return 0;
}
