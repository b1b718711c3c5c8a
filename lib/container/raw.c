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
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/vec.h"
#include "container/reader.h"

#define ELF_HEAD_MAX (1u << 20) /* header and program headers of an ELF file lie in this */

#define PIPE_MAX (64u << 20) /* of a map that comes through a pipe */

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

/* A whole small file; the caller frees. NULL after ht_fail. */
static uint8_t *
read_small(const char *path, size_t max, size_t *size, int *err, struct ht_diag *diag)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct stat st;
	uint8_t *buf;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0) {
		int e = errno;

		if (fd >= 0)
			close(fd);
		*err = ht_fail(diag, e == EACCES ? HT_EPERM : HT_EIO, path, HT_NO_OFFSET, "",
		               "cannot open: %s", strerror(e));
		return NULL;
	}
	if (S_ISREG(st.st_mode) && (uint64_t)st.st_size < max)
		max = (size_t)st.st_size;
	else if (max > PIPE_MAX)
		max = PIPE_MAX;
	buf = malloc(max + 1);
	*size = 0;
	while (buf && *size < max && (n = read(fd, buf + *size, max - *size)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			*err = ht_fail(diag, HT_EIO, path, *size, "", "cannot read: %s",
			               strerror(errno));
			free(buf);
			close(fd);
			return NULL;
		}
		*size += (size_t)n;
	}
	close(fd);
	if (!buf)
		*err = ht_fail(diag, HT_ENOMEM, path, HT_NO_OFFSET, "", "out of memory");
	else
		buf[*size] = 0;
	return buf;
}

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
	text = (char *)read_small(path, SIZE_MAX / 2, &size, &err, diag);
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

static int
read_phdr(struct raw *r, const char *path, const Elf64_Phdr *p, uint64_t at, uint64_t slide,
          struct ht_diag *diag)
{
	if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || !p->p_filesz)
		return 0;
	if (p->p_filesz > UINT64_MAX - (p->p_vaddr + slide))
		return ht_fail(diag, HT_EFORMAT, path, at, "p_filesz",
		               "is too large for its address");
	if (add_map(r, p->p_vaddr + slide, p->p_filesz, p->p_offset, r->elf, at) < 0)
		return ht_fail(diag, HT_ENOMEM, path, HT_NO_OFFSET, "", "out of memory");
	return 0;
}

/* Executable segments at base + (vaddr - the lowest vaddr's page). */
static int
read_segments(struct raw *r, const uint8_t *data, size_t size, uint64_t base, struct ht_diag *diag)
{
	struct ht_cursor k = ht_cursor_make(data, size);
	const uint8_t *head = ht_cursor_take(&k, sizeof(Elf64_Ehdr)), *table;
	uint64_t low = UINT64_MAX;
	Elf64_Ehdr e;
	Elf64_Phdr p;
	int err = 0;

	if (!head || memcmp(head, ELFMAG, SELFMAG) || head[EI_CLASS] != ELFCLASS64 ||
	    head[EI_DATA] != ELFDATA2LSB)
		return ht_fail(diag, HT_EFORMAT, r->elf, 0, "e_ident",
		               "is no 64-bit little-endian ELF file");
	memcpy(&e, head, sizeof(e));
	ht_cursor_seek(&k, e.e_phoff);
	table = ht_cursor_take(&k, (size_t)e.e_phnum * sizeof(p));
	if (!table || e.e_phentsize != sizeof(p))
		return ht_fail(diag, HT_EFORMAT, r->elf, offsetof(Elf64_Ehdr, e_phoff), "e_phoff",
		               "the program headers lie outside of the file");
	for (unsigned i = 0; i < e.e_phnum; i++) {
		memcpy(&p, table + i * sizeof(p), sizeof(p));
		if (p.p_type == PT_LOAD && p.p_vaddr < low)
			low = p.p_vaddr & ~0xfffull;
	}
	for (unsigned i = 0; i < e.e_phnum && !err; i++) {
		memcpy(&p, table + i * sizeof(p), sizeof(p));
		err = read_phdr(r, r->elf, &p, e.e_phoff + i * sizeof(p), base - low, diag);
	}
	return err;
}

/* "FILE@BASE"; the last '@' counts. */
static int
read_elf(struct raw *r, const char *spec, struct ht_diag *diag)
{
	const char *at = strrchr(spec, '@'), *p = at ? at + 1 : "";
	uint64_t base;
	uint8_t *data;
	size_t size;
	int err = 0;

	if (!at || at == spec || take_number(&p, &base) < 0 || *p)
		return ht_fail(
		    diag, HT_EINVAL, spec, HT_NO_OFFSET, "base",
		    "write FILE@BASE, BASE being the address that the file lies at (0x hex)");
	r->elf = strndup(spec, (size_t)(at - spec));
	if (!r->elf)
		return ht_fail(diag, HT_ENOMEM, spec, HT_NO_OFFSET, "", "out of memory");
	data = read_small(r->elf, ELF_HEAD_MAX, &size, &err, diag);
	if (!data)
		return err;
	err = read_segments(r, data, size, base, diag);
	free(data);
	return err;
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
