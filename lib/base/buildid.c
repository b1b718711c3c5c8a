/* SPDX-License-Identifier: BSD-2-Clause */
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/buildid.h"

#define NOTE_MAX 4096 /* a build-id note is some 36 bytes; larger segments are scanned up to here */

static unsigned
scan_notes(const uint8_t *p, size_t size, uint64_t align, uint8_t id[20])
{
	size_t mask = align == 8 ? 7 : 3;

	while (size >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr n;
		size_t name, desc;

		memcpy(&n, p, sizeof(n));
		name = ((size_t)n.n_namesz + mask) & ~mask;
		desc = ((size_t)n.n_descsz + mask) & ~mask;
		p += sizeof(n);
		size -= sizeof(n);
		if (name > size || desc > size - name)
			return 0;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && !memcmp(p, "GNU", 4) && n.n_descsz) {
			unsigned len = n.n_descsz > 20 ? 20 : n.n_descsz;

			memcpy(id, p + name, len);
			return len;
		}
		p += name + desc;
		size -= name + desc;
	}
	return 0;
}

static unsigned
scan_segment(int fd, uint64_t type, uint64_t off, uint64_t size, uint64_t align, uint8_t id[20])
{
	uint8_t buf[NOTE_MAX];
	ssize_t n;

	if (type != PT_NOTE)
		return 0;
	n = pread(fd, buf, size < sizeof(buf) ? (size_t)size : sizeof(buf), (off_t)off);
	return n > 0 ? scan_notes(buf, (size_t)n, align, id) : 0;
}

unsigned
ht_build_id_fd(int fd, uint8_t id[20])
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf64_Ehdr e64;
		Elf32_Ehdr e32;
	} h;
	unsigned len = 0;

	if (pread(fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h) || memcmp(h.ident, ELFMAG, SELFMAG))
		return 0;
	if (h.ident[EI_CLASS] == ELFCLASS64) {
		for (unsigned i = 0; i < h.e64.e_phnum && !len; i++) {
			Elf64_Phdr p;

			if (pread(fd, &p, sizeof(p), (off_t)(h.e64.e_phoff + i * sizeof(p))) != (ssize_t)sizeof(p))
				return 0;
			len = scan_segment(fd, p.p_type, p.p_offset, p.p_filesz, p.p_align, id);
		}
	} else {
		for (unsigned i = 0; i < h.e32.e_phnum && !len; i++) {
			Elf32_Phdr p;

			if (pread(fd, &p, sizeof(p), (off_t)(h.e32.e_phoff + i * sizeof(p))) != (ssize_t)sizeof(p))
				return 0;
			len = scan_segment(fd, p.p_type, p.p_offset, p.p_filesz, p.p_align, id);
		}
	}
	return len;
}

unsigned
ht_build_id_path(const char *path, uint8_t id[20])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	unsigned len;

	if (fd < 0)
		return 0;
	len = ht_build_id_fd(fd, id);
	close(fd);
	return len;
}
