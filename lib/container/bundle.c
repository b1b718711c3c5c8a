/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * LLDB's trace bundle: a folder with a description, trace.json, and the files
 * that it names: trace bytes of each thread, or of each CPU together with its
 * context switches, and copies of the modules.
 */
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cursor.h"
#include "container/bundle.h"

#define DEPTH_MAX   16         /* of the description; it needs 5 */
#define SIZE_MAX_JSON (1u << 26)

static int
bundle_match(const uint8_t *data, size_t size)
{
	size_t i = 0;

	while (i < size && (data[i] == ' ' || data[i] == '\t' || data[i] == '\r' || data[i] == '\n'))
		i++;
	return i < size && data[i] == '{';
}

static int
parse(struct ht_container *c, struct ht_bundle *b, struct ht_diag *diag)
{
	struct json_tokener *t;
	enum json_tokener_error why;
	size_t at;

	if (c->size > SIZE_MAX_JSON)
		return ht_fail(diag, HT_ELIMIT, c->path, 0, "", "too large for a description of a trace bundle");
	t = json_tokener_new_ex(DEPTH_MAX);
	if (!t)
		return ht_fail(diag, HT_ENOMEM, c->path, HT_NO_OFFSET, "", "out of memory");
	json_tokener_set_flags(t, JSON_TOKENER_STRICT);
	b->root = json_tokener_parse_ex(t, (const char *)c->data, (int)c->size);
	why = json_tokener_get_error(t);
	at = json_tokener_get_parse_end(t);
	json_tokener_free(t);
	if (why == json_tokener_continue)
		return ht_fail(diag, HT_EFORMAT, c->path, c->size, "", "the description ends early");
	if (why != json_tokener_success)
		return ht_fail(diag, HT_EFORMAT, c->path, at, "", "is no JSON: %s",
		               json_tokener_error_desc(why));
	return 0;
}

static int
set_folder(struct ht_container *c, struct ht_bundle *b)
{
	const char *slash = strrchr(c->path, '/');

	b->folder = slash ? strndup(c->path, slash > c->path ? (size_t)(slash - c->path) : 1) : strdup(".");
	return b->folder ? 0 : -HT_ENOMEM;
}

static int
bundle_open(struct ht_container *c, const struct ht_container_config *config, struct ht_diag *diag)
{
	struct ht_bundle *b = calloc(1, sizeof(*b));
	int err;

	(void)config;
	c->state = b;
	if (!b || set_folder(c, b) < 0)
		return ht_fail(diag, HT_ENOMEM, c->path, HT_NO_OFFSET, "", "out of memory");
	c->info.source = HT_SOURCE_INTEL_PT;
	c->info.arch = HT_ARCH_X86_64;
	err = parse(c, b, diag);
	if (!err)
		err = ht_bundle_read(c, diag);
	if (err)
		return err;
	/* The vectors do not move any more. */
	for (size_t i = 0; i < b->streams.n; i++)
		b->streams.at[i].chunks = &b->chunks.at[i];
	c->streams = b->streams.at;
	c->n_streams = (uint32_t)b->streams.n;
	b->streams.at = NULL;
	return 0;
}

static void
bundle_close(struct ht_container *c)
{
	struct ht_bundle *b = c->state;

	if (!b)
		return;
	for (size_t i = 0; i < b->files.n; i++)
		munmap(b->files.at[i].data, b->files.at[i].size);
	for (size_t i = 0; i < b->names.n; i++)
		free(b->names.at[i]);
	ht_vec_free(&b->records);
	ht_vec_free(&b->switches);
	ht_vec_free(&b->modules);
	ht_vec_free(&b->files);
	ht_vec_free(&b->names);
	ht_vec_free(&b->streams);
	ht_vec_free(&b->chunks);
	json_object_put(b->root);
	free(b->folder);
	free(b);
	c->state = NULL;
}

int
ht_bundle_switch(struct ht_container *c, const struct ht_bundle_switches *s, size_t *pos,
                 struct ht_record *rec, struct ht_diag *diag)
{
	const uint8_t *at;
	uint32_t type, size, body;

	(void)c;
	for (;; *pos += size) {
		size_t left = s->file.size - *pos;

		if (!left)
			return 0;
		at = (const uint8_t *)s->file.data + *pos;
		size = left >= 8 ? (uint32_t)ht_le(at + 6, 2) : 0;
		type = left >= 8 ? (uint32_t)ht_le(at, 4) : 0;
		body = type == PERF_RECORD_SWITCH_CPU_WIDE ? 16 : 8;
		if (size < 8 || size > left)
			return ht_fail(diag, HT_EFORMAT, s->path, *pos, s->field,
			               left >= 8 && size >= 8 ? "the file ends inside a record"
			                                      : "is damaged: a record has 8 bytes at least");
		if (type != PERF_RECORD_SWITCH && type != PERF_RECORD_SWITCH_CPU_WIDE)
			continue;
		if (size < body + 16)
			return ht_fail(diag, HT_EFORMAT, s->path, *pos, s->field,
			               "a context switch of %u bytes has no thread and time behind it", size);
		break;
	}
	memset(rec, 0, sizeof(*rec));
	rec->kind = HT_REC_SWITCH;
	rec->raw_type = type;
	rec->misc = (uint16_t)ht_le(at + 4, 2);
	rec->pid = (int32_t)ht_le(at + body, 4);
	rec->tid = (int32_t)ht_le(at + body + 4, 4);
	rec->time = ht_le(at + body + 8, 8);
	rec->cpu = s->cpu;
	rec->file_offset = *pos;
	rec->raw = at;
	rec->raw_size = size;
	rec->u.sw.out = !!(rec->misc & PERF_RECORD_MISC_SWITCH_OUT);
	rec->u.sw.preempt = rec->u.sw.out && rec->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
	rec->u.sw.next_prev_pid = body == 16 ? (int32_t)ht_le(at + 8, 4) : -1;
	rec->u.sw.next_prev_tid = body == 16 ? (int32_t)ht_le(at + 12, 4) : -1;
	*pos += size;
	return 1;
}

static int
bundle_next(struct ht_container *c, struct ht_record *rec)
{
	struct ht_bundle *b = c->state;
	int rc;

	if (b->warning.error && !b->warned) {
		b->warned = 1;
		c->diag = b->warning;
		return -b->warning.error;
	}
	if (b->next < b->records.n) {
		*rec = b->records.at[b->next++];
		return 1;
	}
	while (b->next_switches < b->switches.n) {
		rc = ht_bundle_switch(c, &b->switches.at[b->next_switches], &b->pos, rec, &c->diag);
		if (rc)
			return rc;
		b->next_switches++;
		b->pos = 0;
	}
	return 0;
}

static void
bundle_rewind(struct ht_container *c)
{
	struct ht_bundle *b = c->state;

	b->next = b->next_switches = b->pos = 0;
	b->warned = 0;
}

static int
bundle_file(const struct ht_container *c, const char *path, const uint8_t *id, unsigned id_size,
            struct ht_carried *out)
{
	const struct ht_bundle *b = c->state;

	(void)id;
	(void)id_size;
	for (size_t i = 0; i < b->modules.n; i++)
		if (b->modules.at[i].copy && !strcmp(b->modules.at[i].path, path)) {
			*out = (struct ht_carried){ .path = b->modules.at[i].copy };
			return 1;
		}
	return 0;
}

const struct ht_reader ht_reader_bundle = {
	.name = "LLDB trace bundle",
	.match = bundle_match,
	.open = bundle_open,
	.close = bundle_close,
	.next = bundle_next,
	.rewind = bundle_rewind,
	.file = bundle_file,
};
