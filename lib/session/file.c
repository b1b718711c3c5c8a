/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buildid.h"
#include "session/module.h"

static int
file_map(struct ht_file *f)
{
	struct stat st;

	if (fstat(f->fd, &st) < 0)
		return -HT_EIO;
	/* Devices and pipes hold no code, and reading them may never end. */
	if (!S_ISREG(st.st_mode))
		return -HT_ENOTFOUND;
	f->size = (size_t)st.st_size;
	if (!f->size)
		return 0;
	f->map = mmap(NULL, f->size, PROT_READ, MAP_PRIVATE, f->fd, 0);
	if (f->map == MAP_FAILED) {
		f->map = NULL;
		return -HT_EIO;
	}
	f->data = f->map;
	return 0;
}

static void
file_elf(struct ht_file *f)
{
	elf_version(EV_CURRENT);
	if (f->size < EI_NIDENT || memcmp(f->data, ELFMAG, SELFMAG) != 0)
		return;
	f->elf = f->fd >= 0 ? elf_begin(f->fd, ELF_C_READ_MMAP, NULL)
	                    : elf_memory((char *)(uintptr_t)f->data, f->size);
	if (f->elf && elf_kind(f->elf) != ELF_K_ELF) {
		elf_end(f->elf);
		f->elf = NULL;
	}
}

int
ht_file_open(struct ht_file *f, const char *path)
{
	int r;

	*f = (struct ht_file){ .fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) };
	if (f->fd < 0) {
		r = errno == EACCES || errno == EPERM    ? -HT_EPERM
		    : errno == EMFILE || errno == ENFILE ? -HT_ELIMIT
		                                         : -HT_ENOTFOUND;
		*f = (struct ht_file){ .fd = -1 };
		return r;
	}
	f->path = strdup(path);
	r = f->path ? file_map(f) : -HT_ENOMEM;
	if (r < 0) {
		ht_file_close(f);
		return r;
	}
	file_elf(f);
	return 0;
}

int
ht_file_image(struct ht_file *f, const char *name, const uint8_t *data, size_t size)
{
	*f = (struct ht_file){ .fd = -1, .data = data, .size = size, .path = strdup(name) };
	if (!f->path)
		return -HT_ENOMEM;
	file_elf(f);
	return 0;
}

void
ht_file_drop_elf(struct ht_file *f)
{
	if (f->elf)
		elf_end(f->elf);
	f->elf = NULL;
}

void
ht_file_close(struct ht_file *f)
{
	ht_file_drop_elf(f);
	if (f->map)
		munmap(f->map, f->size);
	if (f->path && f->fd >= 0)
		close(f->fd);
	free(f->path);
	*f = (struct ht_file){ .fd = -1 };
}

/* The note segments of an image in memory. */
static unsigned
image_build_id(const struct ht_file *f, uint8_t id[HT_BUILD_ID_MAX])
{
	size_t n = 0;

	if (!f->elf || elf_getphdrnum(f->elf, &n) < 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr ph;
		GElf_Nhdr nh;
		Elf_Data *d;
		size_t at = 0, next, name, desc;

		if (!gelf_getphdr(f->elf, (int)i, &ph) || ph.p_type != PT_NOTE)
			continue;
		d = elf_getdata_rawchunk(f->elf, (int64_t)ph.p_offset, ph.p_filesz, ELF_T_NHDR);
		while (d && (next = gelf_getnote(d, at, &nh, &name, &desc)) > 0) {
			if (nh.n_type == NT_GNU_BUILD_ID && nh.n_namesz == 4 && nh.n_descsz &&
			    nh.n_descsz <= HT_BUILD_ID_MAX && !memcmp((char *)d->d_buf + name, "GNU", 4)) {
				memcpy(id, (char *)d->d_buf + desc, nh.n_descsz);
				return nh.n_descsz;
			}
			at = next;
		}
	}
	return 0;
}

unsigned
ht_file_build_id(const struct ht_file *f, uint8_t id[HT_BUILD_ID_MAX])
{
	return f->fd >= 0 ? ht_build_id_fd(f->fd, id) : image_build_id(f, id);
}

struct ht_bytes
ht_elf_section(Elf *elf, const char *name)
{
	struct ht_bytes none = { NULL, 0 };
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return none;
	while ((scn = elf_nextscn(elf, scn)) != NULL) {
		GElf_Shdr sh;
		const char *s;
		Elf_Data *d;

		if (!gelf_getshdr(scn, &sh) || !(s = elf_strptr(elf, names, sh.sh_name)) || strcmp(s, name))
			continue;
		if (sh.sh_flags & SHF_COMPRESSED && elf_compress(scn, 0, 0) < 0)
			return none;
		d = elf_getdata(scn, NULL);
		return d && d->d_buf ? (struct ht_bytes){ d->d_buf, d->d_size } : none;
	}
	return none;
}
