/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf record --kcore: the capture is a folder, and beside its records lies
 * kcore_dir/kcore, the kernel's code as it was, an ELF core file.  Its segments
 * are mappings that come after those of the records, so that they are what is
 * read: modules as loaded, code as patched.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "container/perfdata_impl.h"
#include "container/small.h"

#define HEADERS_MAX (1u << 20) /* ELF header and program headers lie in this */

/* The core beside the file; NULL when there is none, or -1 in *err. */
static char *
core_path(const char *path, int *err)
{
	const char *slash = strrchr(path, '/');
	char *core;

	*err = 0;
	if (!slash || strcmp(slash + 1, "data") != 0)
		return NULL;
	if (asprintf(&core, "%.*s/kcore_dir/kcore", (int)(slash - path), path) < 0) {
		*err = -HT_ENOMEM;
		return NULL;
	}
	if (access(core, R_OK) == 0)
		return core;
	free(core);
	return NULL;
}

static int
add_segment(struct ht_perfdata *p, const uint8_t *ph)
{
	struct ht_record *r;

	if (ht_le(ph, 4) != PT_LOAD || !ht_le(ph + offsetof(Elf64_Phdr, p_filesz), 8))
		return 0;
	r = ht_vec_push(&p->kcore);
	if (!r)
		return -HT_ENOMEM;
	*r = (struct ht_record){ .kind = HT_REC_MMAP, .pid = -1, .tid = -1, .cpu = -1 };
	r->u.map.addr = ht_le(ph + offsetof(Elf64_Phdr, p_vaddr), 8);
	r->u.map.len = ht_le(ph + offsetof(Elf64_Phdr, p_filesz), 8);
	r->u.map.pgoff = ht_le(ph + offsetof(Elf64_Phdr, p_offset), 8);
	r->u.map.flags = HT_MAP_EXEC | HT_MAP_KERNEL | HT_MAP_DUMP;
	r->u.map.path = p->kcore_path;
	return 0;
}

int
ht_perf_kcore_read(struct ht_perfdata *p, const uint8_t *head, size_t size, struct ht_diag *diag)
{
	struct ht_cursor k = ht_cursor_make(head, size);
	uint64_t at, n, each;

	if (size < sizeof(Elf64_Ehdr) || memcmp(head, ELFMAG "\2\1", 6) != 0 ||
	    ht_le(head + offsetof(Elf64_Ehdr, e_type), 2) != ET_CORE)
		return ht_fail(diag, HT_EFORMAT, p->kcore_path, 0, "e_ident",
		               "is no ELF core file of 64 bits: the kernel's code is not in it");
	at = ht_le(head + offsetof(Elf64_Ehdr, e_phoff), 8);
	n = ht_le(head + offsetof(Elf64_Ehdr, e_phnum), 2);
	each = ht_le(head + offsetof(Elf64_Ehdr, e_phentsize), 2);
	ht_cursor_seek(&k, at);
	for (; n && each >= sizeof(Elf64_Phdr); n--) {
		const uint8_t *ph = ht_cursor_take(&k, (size_t)each);

		if (!ph)
			return ht_fail(diag, HT_EFORMAT, p->kcore_path, at, "e_phnum",
			               "the file ends inside its program headers");
		if (add_segment(p, ph) < 0)
			return -HT_ENOMEM;
	}
	return 0;
}

int
ht_perf_kcore_open(struct ht_container *c, struct ht_diag *diag)
{
	struct ht_perfdata *p = c->state;
	uint8_t *head;
	size_t size;
	int err;

	p->kcore_path = core_path(c->path, &err);
	if (!p->kcore_path)
		return err;
	head = ht_read_small(p->kcore_path, HEADERS_MAX, &size, &err, diag);
	if (!head)
		return err;
	err = ht_perf_kcore_read(p, head, size, diag);
	free(head);
	return err;
}
