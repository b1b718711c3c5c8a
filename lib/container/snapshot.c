/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CoreSight snapshots: a folder with snapshot.ini, which names a file for each
 * device (cores with dumps of memory, trace sources with their registers) and
 * one for the trace: buffers, who wrote into which, which source is of which
 * core.  A stream is one buffer, as it was taken: what the formatter put
 * together is not taken apart here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/vec.h"
#include "container/reader.h"
#include "container/small.h"

#define INI_MAX    (1u << 20) /* of one description */
#define TRACE_MAX  (1ull << 32)
#define DEVICE_MAX 1024u
#define FIELD_MAX  64

/* "key=value" below "[section]"; all point into the text. */
struct ini_row {
	const char *section, *key, *value;
	size_t at; /* of the key, in the file */
};

struct ini {
	char *path, *text;
	struct {
		struct ini_row *at;
		size_t n, cap;
	} rows;
};

/* A core or a trace source. */
struct device {
	const char *name, *class, *type;
};

struct snapshot {
	char *folder;
	struct {
		struct ini *at;
		size_t n, cap;
	} files; /* stay as long as the container */
	struct {
		struct device *at;
		size_t n, cap;
	} devices;
	struct {
		struct ht_record *at;
		size_t n, cap;
	} maps;
	struct {
		struct ht_chunk *at;
		size_t n, cap;
	} chunks;
	struct {
		struct ht_stream *at;
		size_t n, cap;
	} streams;
	struct {
		void **at;
		size_t n, cap;
	} memory;
	size_t next;
};

/* -- descriptions -------------------------------------------------------- */

static char *
trim(char *from, char *to)
{
	while (from < to && strchr(" \t\r", *from))
		from++;
	while (to > from && strchr(" \t\r", to[-1]))
		to--;
	*to = 0;
	return from;
}

/* Lines of `text`, which has `n` bytes and a zero behind them, into rows.  0 or -HT_ENOMEM. */
static int
ini_parse(struct ini *ini, size_t n)
{
	char *p = ini->text, *end = p + n;
	const char *section = "";

	while (p < end) {
		char *stop = memchr(p, '\n', (size_t)(end - p)), *line, *eq;
		size_t at = (size_t)(p - ini->text);

		if (!stop)
			stop = end;
		line = trim(p, stop);
		p = stop + 1;
		if (*line == '[' && (eq = strchr(line, ']'))) {
			section = trim(line + 1, eq);
		} else if (*line && *line != ';' && *line != '#' && (eq = strchr(line, '='))) {
			struct ini_row *row = ht_vec_push(&ini->rows);

			if (!row)
				return -HT_ENOMEM;
			row->value = trim(eq + 1, line + strlen(line));
			row->key = trim(line, eq);
			row->section = section;
			row->at = at;
		}
	}
	return 0;
}

static const char *
ini_get(const struct ini *ini, const char *section, const char *key)
{
	for (size_t i = 0; i < ini->rows.n; i++)
		if (!strcmp(ini->rows.at[i].section, section) && !strcmp(ini->rows.at[i].key, key))
			return ini->rows.at[i].value;
	return NULL;
}

static int
out_of_memory(struct ht_container *c, struct ht_diag *diag)
{
	return ht_fail(diag, HT_ENOMEM, c->path, HT_NO_OFFSET, "", "out of memory");
}

/* `name` as the snapshot means it: from its folder, where it is not absolute. */
static char *
full_path(struct snapshot *s, const char *name)
{
	void **slot = ht_vec_push(&s->memory);
	char *path = NULL;

	if (!slot)
		return NULL;
	*slot = NULL;
	if (*name == '/')
		path = strdup(name);
	else if (asprintf(&path, "%s/%s", s->folder, name) < 0)
		path = NULL;
	return *slot = path;
}

/* The description `name`, which `field` of the snapshot names; its number in s->files, or -HT_E... */
static int
ini_open(struct ht_container *c, const char *name, const char *field, struct ht_diag *diag)
{
	struct snapshot *s = c->state;
	struct ini *ini = ht_vec_push(&s->files);
	size_t n = 0;
	int err = 0;

	if (!ini)
		return out_of_memory(c, diag);
	memset(ini, 0, sizeof(*ini));
	ini->path = full_path(s, name);
	if (!ini->path)
		return out_of_memory(c, diag);
	ini->text = (char *)ht_read_small(ini->path, INI_MAX, &n, &err, diag);
	if (!ini->text) {
		if (diag)
			snprintf(diag->field, sizeof(diag->field), "%s", field);
		return err;
	}
	return ini_parse(ini, n) < 0 ? out_of_memory(c, diag) : (int)s->files.n - 1;
}

/* -- devices ------------------------------------------------------------- */

static int
fail_row(const struct ini *ini, const struct ini_row *row, struct ht_diag *diag, const char *why)
{
	char field[FIELD_MAX];

	snprintf(field, sizeof(field), "%.30s.%.30s", row->section, row->key);
	return ht_fail(diag, HT_EFORMAT, ini->path, row->at, field, "%s: '%.80s'", why, row->value);
}

static int
number(const char *text, uint64_t *out)
{
	char *end;

	*out = strtoull(text, &end, 0);
	return end != text && !*end && *text != '-';
}

static int
same_map(const struct ht_record *a, const struct ht_record *b)
{
	return a->u.map.addr == b->u.map.addr && a->u.map.len == b->u.map.len &&
	       a->u.map.pgoff == b->u.map.pgoff && !strcmp(a->u.map.path, b->u.map.path);
}

/* Memory as a dump has it.  Cores state what they share each for itself. */
static int
add_dump(struct ht_container *c, const struct ini *ini, const struct ini_row *file,
         struct ht_diag *diag)
{
	static const char *const keys[] = { "address", "length", "offset" };
	struct snapshot *s = c->state;
	uint64_t v[3] = { 0 };
	struct stat st;
	struct ht_record *r, rec = { .kind = HT_REC_MMAP, .pid = -1, .tid = -1, .cpu = -1 };

	for (unsigned i = 0; i < 3; i++) {
		const char *text = ini_get(ini, file->section, keys[i]);

		if ((!text && i < 1) || (text && !number(text, &v[i])))
			return fail_row(ini, file, diag,
			                i == 0   ? "its dump has no address that is a number"
			                : i == 1 ? "its dump has a length that is no number"
			                         : "its dump has an offset that is no number");
	}
	rec.u.map.addr = v[0];
	rec.u.map.len = v[1];
	rec.u.map.pgoff = v[2];
	rec.u.map.flags = HT_MAP_EXEC | HT_MAP_KERNEL;
	rec.u.map.path = full_path(s, file->value);
	if (!rec.u.map.path)
		return out_of_memory(c, diag);
	/* Without a length it is all of the file. */
	if (!ini_get(ini, file->section, "length") && stat(rec.u.map.path, &st) == 0 &&
	    (uint64_t)st.st_size > v[2])
		rec.u.map.len = (uint64_t)st.st_size - v[2];
	for (size_t i = 0; i < s->maps.n; i++)
		if (same_map(&s->maps.at[i], &rec))
			return 0;
	r = ht_vec_push(&s->maps);
	if (!r)
		return out_of_memory(c, diag);
	*r = rec;
	return 0;
}

static int
add_device(struct ht_container *c, const char *name, const char *field, struct ht_diag *diag)
{
	struct snapshot *s = c->state;
	int i = ini_open(c, name, field, diag), err = 0;
	const struct ini *ini;
	struct device d, *slot;

	if (i < 0)
		return i;
	ini = &s->files.at[i];
	d = (struct device){ ini_get(ini, "device", "name"), ini_get(ini, "device", "class"),
		             ini_get(ini, "device", "type") };
	if (!d.name || !d.class)
		return ht_fail(diag, HT_EFORMAT, ini->path, 0, "device", "has no %s",
		               d.name ? "class" : "name");
	if (!d.type)
		d.type = "";
	slot = ht_vec_push(&s->devices);
	if (!slot)
		return out_of_memory(c, diag);
	*slot = d;
	for (size_t k = 0; !err && k < ini->rows.n; k++)
		if (!strncmp(ini->rows.at[k].section, "dump", 4) &&
		    !strcmp(ini->rows.at[k].key, "file"))
			err = add_dump(c, ini, &ini->rows.at[k], diag);
	return err;
}

/* -- trace --------------------------------------------------------------- */

/* Is `word` one of a list with commas? */
static int
in_list(const char *list, const char *word)
{
	size_t n = strlen(word);

	while (*list) {
		size_t len = strcspn(list, ", \t");

		if (len == n && !memcmp(list, word, n))
			return 1;
		list += len + (list[len] != 0);
	}
	return 0;
}

/* The core whose trace alone is in the buffer, by the digits of its name; -1 = more than one, or not known. */
static int32_t
cpu_of(const struct ini *meta, const char *buffer)
{
	const char *source = NULL, *digits;
	unsigned n = 0;

	for (size_t i = 0; i < meta->rows.n; i++)
		if (!strcmp(meta->rows.at[i].section, "source_buffers") &&
		    in_list(meta->rows.at[i].value, buffer)) {
			source = meta->rows.at[i].key;
			n++;
		}
	for (size_t i = 0; n == 1 && i < meta->rows.n; i++) {
		const struct ini_row *row = &meta->rows.at[i];

		if (strcmp(row->section, "core_trace_sources") != 0 ||
		    strcmp(row->value, source) != 0)
			continue;
		digits = strrchr(row->key, '_');
		return digits && digits[1] >= '0' && digits[1] <= '9'
		           ? (int32_t)(strtoul(digits + 1, NULL, 10) & 0xffff)
		           : -1;
	}
	return -1;
}

/* One session of trace: the buffer that `section` describes. */
static int
add_buffer(struct ht_container *c, const struct ini *meta, const char *section,
           struct ht_diag *diag)
{
	struct snapshot *s = c->state;
	const char *name = ini_get(meta, section, "name"), *file = ini_get(meta, section, "file"),
		   *path;
	struct ht_chunk *chunk;
	struct ht_stream *stream;
	void **slot;
	size_t n = 0;
	int err = 0;

	if (!file)
		return ht_fail(diag, HT_EFORMAT, meta->path, 0, section,
		               "the trace buffer has no file");
	path = full_path(s, file);
	slot = ht_vec_push(&s->memory);
	chunk = ht_vec_push(&s->chunks);
	stream = ht_vec_push(&s->streams);
	if (slot)
		*slot = NULL;
	if (!path || !slot || !chunk || !stream)
		return out_of_memory(c, diag);
	*slot = ht_read_small(path, TRACE_MAX, &n, &err, diag);
	if (!*slot)
		return err;
	*chunk = (struct ht_chunk){ .data = *slot, .size = n };
	*stream = (struct ht_stream){ .index = (uint32_t)s->streams.n - 1,
		                      .source = HT_SOURCE_CORESIGHT,
		                      .pid = -1,
		                      .tid = -1,
		                      .cpu = name ? cpu_of(meta, name) : -1,
		                      .n_chunks = 1,
		                      .bytes = n };
	return 0;
}

static int
read_trace(struct ht_container *c, const char *name, struct ht_diag *diag)
{
	struct snapshot *s = c->state;
	int i = ini_open(c, name, "trace.metadata", diag), err = 0;
	const struct ini *meta;
	const char *list;
	char section[FIELD_MAX];

	if (i < 0)
		return i;
	meta = &s->files.at[i];
	list = ini_get(meta, "trace_buffers", "buffers");
	if (!list)
		return ht_fail(diag, HT_EFORMAT, meta->path, 0, "trace_buffers.buffers",
		               "is missing: no trace is named");
	while (!err && *list) {
		size_t n = strcspn(list, ", \t");

		if (n >= sizeof(section) || s->streams.n >= DEVICE_MAX)
			return ht_fail(diag, HT_ELIMIT, meta->path, 0, "trace_buffers.buffers",
			               "names too much");
		snprintf(section, sizeof(section), "%.*s", (int)n, list);
		if (n)
			err = add_buffer(c, meta, section, diag);
		list += n + (list[n] != 0);
	}
	return err;
}

/* -- the whole ----------------------------------------------------------- */

static int
snapshot_match(const uint8_t *data, size_t size)
{
	const char *p = (const char *)data, *end = p + size;

	while (p < end && (*p == ';' || *p == '#' || strchr(" \t\r\n", *p))) {
		if (*p == ';' || *p == '#')
			while (p < end && *p != '\n')
				p++;
		else
			p++;
	}
	return end - p >= 10 && !memcmp(p, "[snapshot]", 10);
}

/* Of the file at hand, which describes the rest. */
static int
open_main(struct ht_container *c, struct ht_diag *diag)
{
	struct snapshot *s = c->state;
	const char *slash = strrchr(c->path, '/');
	struct ini *ini;

	if (c->size > INI_MAX)
		return ht_fail(diag, HT_ELIMIT, c->path, 0, "",
		               "too large for a description of a snapshot");
	s->folder =
	    slash ? strndup(c->path, slash > c->path ? (size_t)(slash - c->path) : 1) : strdup(".");
	ini = ht_vec_push(&s->files);
	if (ini)
		memset(ini, 0, sizeof(*ini));
	if (!s->folder || !ini || !(ini->text = malloc(c->size + 1)))
		return out_of_memory(c, diag);
	ini->path = c->path;
	memcpy(ini->text, c->data, c->size);
	ini->text[c->size] = 0;
	return ini_parse(ini, c->size) < 0 ? out_of_memory(c, diag) : 0;
}

static int
read_all(struct ht_container *c, struct ht_diag *diag)
{
	struct snapshot *s = c->state;
	struct {
		struct ini_row *at;
		size_t n;
	} rows = { s->files.at[0].rows.at, s->files.at[0].rows.n };
	const char *version = ini_get(&s->files.at[0], "snapshot", "version");
	const char *trace = ini_get(&s->files.at[0], "trace", "metadata");
	char field[FIELD_MAX];
	int err = 0;

	if (version && strncmp(version, "1.", 2) != 0)
		return ht_fail(diag, HT_EUNSUPPORTED, c->path, 0, "snapshot.version",
		               "is %.20s; 1.0 is read", version);
	if (!trace)
		return ht_fail(diag, HT_EFORMAT, c->path, 0, "trace.metadata",
		               "is missing: the snapshot holds no trace");
	for (size_t i = 0; !err && i < rows.n; i++) {
		if (strcmp(rows.at[i].section, "device_list") != 0)
			continue;
		if (s->devices.n >= DEVICE_MAX)
			return ht_fail(diag, HT_ELIMIT, c->path, rows.at[i].at, "device_list",
			               "has too many devices");
		snprintf(field, sizeof(field), "device_list.%.40s", rows.at[i].key);
		err = add_device(c, rows.at[i].value, field, diag);
	}
	return err ? err : read_trace(c, trace, diag);
}

/* 64-bit cores have ETMv4 or ETE. */
static enum ht_arch
arch_of(const struct snapshot *s)
{
	for (size_t i = 0; i < s->devices.n; i++)
		if (!strncmp(s->devices.at[i].type, "ETM4", 4) ||
		    !strncmp(s->devices.at[i].type, "ETE", 3))
			return HT_ARCH_AARCH64;
	return HT_ARCH_ARM;
}

static int
snapshot_open(struct ht_container *c, const struct ht_container_config *config,
              struct ht_diag *diag)
{
	struct snapshot *s = calloc(1, sizeof(*s));
	int err;

	(void)config;
	c->state = s;
	if (!s)
		return out_of_memory(c, diag);
	err = open_main(c, diag);
	if (!err)
		err = read_all(c, diag);
	if (err)
		return err;
	/* The vectors do not move any more. */
	for (size_t i = 0; i < s->streams.n; i++)
		s->streams.at[i].chunks = &s->chunks.at[i];
	c->info.source = HT_SOURCE_CORESIGHT;
	c->info.arch = arch_of(s);
	c->info.per_cpu = 1;
	for (size_t i = 0; i < s->streams.n; i++)
		c->info.per_cpu &= s->streams.at[i].cpu >= 0;
	c->streams = s->streams.at;
	c->n_streams = (uint32_t)s->streams.n;
	s->streams.at = NULL;
	return 0;
}

static void
snapshot_close(struct ht_container *c)
{
	struct snapshot *s = c->state;

	if (!s)
		return;
	for (size_t i = 0; i < s->files.n; i++) {
		free(s->files.at[i].text);
		ht_vec_free(&s->files.at[i].rows);
	}
	for (size_t i = 0; i < s->memory.n; i++)
		free(s->memory.at[i]);
	ht_vec_free(&s->files);
	ht_vec_free(&s->devices);
	ht_vec_free(&s->maps);
	ht_vec_free(&s->chunks);
	ht_vec_free(&s->streams);
	ht_vec_free(&s->memory);
	free(s->folder);
	free(s);
	c->state = NULL;
}

static int
snapshot_next(struct ht_container *c, struct ht_record *rec)
{
	struct snapshot *s = c->state;

	if (s->next == s->maps.n)
		return 0;
	*rec = s->maps.at[s->next++];
	return 1;
}

static void
snapshot_rewind(struct ht_container *c)
{
	((struct snapshot *)c->state)->next = 0;
}

const struct ht_reader ht_reader_snapshot = {
	.name = "CoreSight snapshot",
	.match = snapshot_match,
	.open = snapshot_open,
	.close = snapshot_close,
	.next = snapshot_next,
	.rewind = snapshot_rewind,
};
