/* SPDX-License-Identifier: BSD-2-Clause */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cursor.h"
#include "container/small.h"

#define ELF_HEAD_MAX (1u << 20) /* header and program headers of an ELF file lie in this */
#define PIPE_MAX     (64u << 20) /* of a file that comes through a pipe */

uint8_t *
ht_read_small(const char *path, size_t max, size_t *size, int *err, struct ht_diag *diag)
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
read_phdr(const char *path, const Elf64_Phdr *p, uint64_t at, uint64_t slide, ht_segment_fn *fn,
          void *arg, struct ht_diag *diag)
{
	if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || !p->p_filesz)
		return 0;
	if (p->p_filesz > UINT64_MAX - (p->p_vaddr + slide))
		return ht_fail(diag, HT_EFORMAT, path, at, "p_filesz",
		               "is too large for its address");
	return fn(arg, p->p_vaddr + slide, p->p_filesz, p->p_offset, at);
}

static int
read_segments(const char *path, const uint8_t *data, size_t size, uint64_t base, ht_segment_fn *fn,
              void *arg, struct ht_diag *diag)
{
	struct ht_cursor k = ht_cursor_make(data, size);
	const uint8_t *head = ht_cursor_take(&k, sizeof(Elf64_Ehdr)), *table;
	uint64_t low = UINT64_MAX;
	Elf64_Ehdr e;
	Elf64_Phdr p;
	int err = 0;

	if (!head || memcmp(head, ELFMAG, SELFMAG) || head[EI_CLASS] != ELFCLASS64 ||
	    head[EI_DATA] != ELFDATA2LSB)
		return ht_fail(diag, HT_EFORMAT, path, 0, "e_ident",
		               "is no 64-bit little-endian ELF file");
	memcpy(&e, head, sizeof(e));
	ht_cursor_seek(&k, e.e_phoff);
	table = ht_cursor_take(&k, (size_t)e.e_phnum * sizeof(p));
	if (!table || e.e_phentsize != sizeof(p))
		return ht_fail(diag, HT_EFORMAT, path, offsetof(Elf64_Ehdr, e_phoff), "e_phoff",
		               "the program headers lie outside of the file");
	for (unsigned i = 0; i < e.e_phnum; i++) {
		memcpy(&p, table + i * sizeof(p), sizeof(p));
		if (p.p_type == PT_LOAD && p.p_vaddr < low)
			low = p.p_vaddr & ~0xfffull;
	}
	for (unsigned i = 0; i < e.e_phnum && !err; i++) {
		memcpy(&p, table + i * sizeof(p), sizeof(p));
		err = read_phdr(path, &p, e.e_phoff + i * sizeof(p), base - low, fn, arg, diag);
	}
	return err;
}

int
ht_elf_segments(const char *path, uint64_t base, ht_segment_fn *fn, void *arg, struct ht_diag *diag)
{
	size_t size;
	int err = 0;
	uint8_t *data = ht_read_small(path, ELF_HEAD_MAX, &size, &err, diag);

	if (!data)
		return err;
	err = read_segments(path, data, size, base, fn, arg, diag);
	free(data);
	return err;
}
