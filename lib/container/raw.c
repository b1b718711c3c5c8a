/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A raw capture: PT bytes, and what code was where by a text map
 *
 *	# address      size     offset into the pages file
 *	0x7f0000001000 0x2000   0
 *
 * and by an ELF file that lies at a base address.  The map becomes MMAP records
 * of process 0, there from the start.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cursor.h"
#include "base/vec.h"
#include "container/reader.h"
#include "container/small.h"

struct raw_map {
	uint64_t addr, len, pgoff, line_offset;
	const char *path;
};

struct raw {
	struct { struct raw_map *at; size_t n, cap; } maps;
	size_t next;
	char  *pages, *elf; /* names, owned */
	struct ht_chunk chunk;
};

static int
add_map(struct raw *r, uint64_t addr, uint64_t len, uint64_t pgoff, const char *path,
        uint64_t line_offset)
{
	struct raw_map *m = ht_vec_push(&r->maps);

	if (!m)
		return -HT_ENOMEM;
	*m = (struct raw_map){ addr, len, pgoff, line_offset, path };
	return 0;
}

/* -- the text map ---------------------------------------------------------------------- */

static const char *
skip_blanks(const char *p)
{
	while (*p == ' ' || *p == '\t' || *p == '\r')
		p++;
	return p;
}

/* Decimal or 0x hex.  0 on success; *p goes behind the number. */
static int
take_number(const char **p, uint64_t *v)
{
	char *end;

	*p = skip_blanks(*p);
	if (**p < '0' || **p > '9')
		return -1;
	errno = 0;
	*v = strtoull(*p, &end, (*p)[0] == '0' && ((*p)[1] | 32) == 'x' ? 16 : 10);
	if (errno || (*end && !strchr(" \t\r\n#", *end)))
		return -1;
	*p = end;
	return 0;
}

static int
read_line(struct raw *r, const char *path, const char *text, const char *line, unsigned number,
          uint64_t pages_size, struct ht_diag *diag)
{
	static const char *const fields[3] = { "address", "size", "offset" };
	const char *p = skip_blanks(line);
	uint64_t v[3];

	if (!*p || *p == '\n' || *p == '#')
		return 0;
	for (int i = 0; i < 3; i++)
		if (take_number(&p, &v[i]) < 0)
			return ht_fail(diag, HT_EFORMAT, path, (uint64_t)(line - text), fields[i],
			               "line %u: no number; a line is address, size, offset "
			               "(decimal or 0x hex)",
			               number);
	p = skip_blanks(p);
	if (*p && *p != '\n' && *p != '#')
		return ht_fail(diag, HT_EFORMAT, path, (uint64_t)(p - text), "offset",
		               "line %u: more than three columns", number);
	if (!v[1] || v[1] > UINT64_MAX - v[0])
		return ht_fail(diag, HT_EFORMAT, path, (uint64_t)(line - text), "size",
		               "line %u: is %s", number, v[1] ? "too large for its address" : "0");
	if (v[2] > pages_size || v[1] > pages_size - v[2])
		return ht_fail(
		    diag, HT_EFORMAT, path, (uint64_t)(line - text), "offset",
		    "line %u: 0x%llx + 0x%llx lies outside of the pages, which are %llu bytes",
		    number, (unsigned long long)v[2], (unsigned long long)v[1],
		    (unsigned long long)pages_size);
	if (add_map(r, v[0], v[1], v[2], r->pages, (uint64_t)(line - text)) < 0)
		return ht_fail(diag, HT_ENOMEM, path, HT_NO_OFFSET, "", "out of memory");
	return 0;
}

static int
read_map(struct raw *r, const char *path, struct ht_diag *diag)
{
	struct stat st;
	size_t size;
	int err = 0;
	unsigned number = 1;
	char *text;

	if (!r->pages)
		return ht_fail(diag, HT_EINVAL, path, HT_NO_OFFSET, "pages",
		               "a map needs the pages that it maps");
	if (stat(r->pages, &st) < 0)
		return ht_fail(diag, errno == EACCES ? HT_EPERM : HT_EIO, r->pages, HT_NO_OFFSET,
		               "", "cannot open: %s", strerror(errno));
	text = (char *)ht_read_small(path, SIZE_MAX / 2, &size, &err, diag);
	if (!text)
		return err;
	if (strlen(text) != size)
		err = ht_fail(diag, HT_EFORMAT, path, strlen(text), "",
		              "a zero byte: the map must be text");
	for (const char *line = text; !err && *line; number++) {
		err = read_line(r, path, text, line, number, (uint64_t)st.st_size, diag);
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	free(text);
	return err;
}

/* -- the ELF file ------------------------------------------------------------------------ */

struct elf_arg {
	struct raw *raw;
	struct ht_diag *diag;
};

static int
add_segment(void *arg, uint64_t addr, uint64_t len, uint64_t pgoff, uint64_t at)
{
	struct elf_arg *x = arg;

	if (add_map(x->raw, addr, len, pgoff, x->raw->elf, at) < 0)
		return ht_fail(x->diag, HT_ENOMEM, x->raw->elf, HT_NO_OFFSET, "", "out of memory");
	return 0;
}

/* "FILE@BASE"; the last '@' counts. */
static int
read_elf(struct raw *r, const char *spec, struct ht_diag *diag)
{
	const char *at = strrchr(spec, '@'), *p = at ? at + 1 : "";
	uint64_t base;
	struct elf_arg arg = { r, diag };

	if (!at || at == spec || take_number(&p, &base) < 0 || *p)
		return ht_fail(
		    diag, HT_EINVAL, spec, HT_NO_OFFSET, "base",
		    "write FILE@BASE, BASE being the address that the file lies at (0x hex)");
	r->elf = strndup(spec, (size_t)(at - spec));
	if (!r->elf)
		return ht_fail(diag, HT_ENOMEM, spec, HT_NO_OFFSET, "", "out of memory");
	return ht_elf_segments(r->elf, base, add_segment, &arg, diag);
}

/* -- reader --------------------------------------------------------------------------------- */

static int
raw_open(struct ht_container *c, const struct ht_container_config *config, struct ht_diag *diag)
{
	const struct ht_raw_config *raw = &config->raw;
	struct raw *r = calloc(1, sizeof(*r));
	int err = 0;

	c->state = r;
	c->streams = calloc(1, sizeof(*c->streams));
	if (r && raw->pages)
		r->pages = strdup(raw->pages);
	if (!r || !c->streams || (raw->pages && !r->pages))
		return ht_fail(diag, HT_ENOMEM, c->path, HT_NO_OFFSET, "", "out of memory");
	if (raw->pages && !raw->map)
		return ht_fail(diag, HT_EINVAL, raw->pages, HT_NO_OFFSET, "map",
		               "pages need a map that says at which addresses they lie");
	if (raw->map)
		err = read_map(r, raw->map, diag);
	if (!err && raw->elf)
		err = read_elf(r, raw->elf, diag);
	if (err)
		return err;
	r->chunk = (struct ht_chunk){ .data = c->data, .size = c->size };
	c->streams[0] = (struct ht_stream){ .source = HT_SOURCE_INTEL_PT,
		                            .pid = 0,
		                            .tid = 0,
		                            .cpu = -1,
		                            .chunks = &r->chunk,
		                            .n_chunks = c->size > 0,
		                            .bytes = c->size };
	c->n_streams = 1;
	c->info.source = HT_SOURCE_INTEL_PT;
	c->info.arch = HT_ARCH_X86_64;
	return 0;
}

static void
raw_close(struct ht_container *c)
{
	struct raw *r = c->state;

	if (!r)
		return;
	ht_vec_free(&r->maps);
	free(r->pages);
	free(r->elf);
	free(r);
	c->state = NULL;
}

static int
raw_next(struct ht_container *c, struct ht_record *rec)
{
	struct raw *r = c->state;
	const struct raw_map *m;

	if (r->next == r->maps.n)
		return 0;
	m = &r->maps.at[r->next++];
	memset(rec, 0, sizeof(*rec));
	rec->kind = HT_REC_MMAP;
	rec->cpu = -1;
	rec->file_offset = m->line_offset;
	rec->u.map.addr = m->addr;
	rec->u.map.len = m->len;
	rec->u.map.pgoff = m->pgoff;
	rec->u.map.flags = HT_MAP_EXEC | (m->path == r->pages ? HT_MAP_DUMP : 0);
	rec->u.map.prot = PROT_READ | PROT_EXEC;
	rec->u.map.path = m->path;
	return 1;
}

static void
raw_rewind(struct ht_container *c)
{
	((struct raw *)c->state)->next = 0;
}

const struct ht_reader ht_reader_raw = {
	.name = "raw",
	.open = raw_open,
	.close = raw_close,
	.next = raw_next,
	.rewind = raw_rewind,
};
