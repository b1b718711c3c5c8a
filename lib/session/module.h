/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A module: one file that was mapped.  Nothing is opened before somebody asks.
 * file.c finds and opens it, elf.c reads its layout, debug.c finds the separate
 * debug file, symbol.c its symbols.
 */
#ifndef SESSION_MODULE_H
#define SESSION_MODULE_H

#include <libelf.h>

#include "session/jitdump.h"
#include "session/session.h"

/* A file in memory, and as ELF where it is that. */
struct ht_file {
	char          *path; /* NULL while not open */
	int            fd;   /* -1: an image in memory */
	const uint8_t *data;
	size_t         size;
	void          *map;  /* what munmap() gets, NULL when nothing is mapped */
	Elf           *elf;  /* NULL when it is no ELF file */
};

/* A loaded segment. */
struct ht_segment {
	uint64_t offset, vaddr, size; /* size: bytes that are in the file */
	int      exec;
};

struct ht_module {
	struct ht_session    *session;
	uint32_t              index;
	struct ht_module_info info;
	char                 *path;
	char                  why[512];
	uint8_t               recorded[HT_BUILD_ID_MAX];
	unsigned              recorded_size;
	struct ht_file        file;

	struct { struct ht_segment *at; size_t n, cap; } segments; /* by file offset */
	struct { struct ht_range *at; size_t n, cap; } text;
	int                   dump;     /* of memory: not to be read as ELF */
	int memory;                     /* its name is one of memory that no file holds */
	struct ht_jitdump *jit;         /* what is in it when it is one; NULL = it is none */
	struct ht_space jit_layout;     /* its code in the end; generation 1: not the first there */
	struct {
		uint32_t *at;
		size_t n, cap;
	} jit_loads;                    /* of jit->codes: no moves, none empty */
	int                   laid_out; /* segments and text were read */

	struct ht_file        debug;
	int                   debug_tried;
	void                 *dwarf;
	int                   dwarf_tried;
	struct ht_package *package;
	int package_tried;

	struct { struct ht_symbol *at; size_t n, cap; } symbols;
	uint64_t             *reach; /* beside symbols: the farthest end up to and with it */
	struct { char **at; size_t n, cap; } names; /* made up ones: foo@plt */
	int                   symbols_tried;
};

/* file.c: 0, -HT_ENOTFOUND, -HT_EPERM, -HT_ELIMIT (open files), -HT_EIO or -HT_ENOMEM. */
int ht_file_open(struct ht_file *f, const char *path);
/* Image in memory, which must live as long as the file is open. */
int ht_file_image(struct ht_file *f, const char *name, const uint8_t *data, size_t size);
/* Treat it as plain bytes. */
void ht_file_drop_elf(struct ht_file *f);
void ht_file_close(struct ht_file *f);
unsigned ht_file_build_id(const struct ht_file *f, uint8_t id[HT_BUILD_ID_MAX]);

/* Bytes that somebody else owns. */
struct ht_bytes {
	const uint8_t *at;
	size_t size;
};
/* Section `name`, without compression; empty when there is none. */
struct ht_bytes ht_elf_section(Elf *elf, const char *name);

/* elf.c: read segments and text, once. */
void ht_module_layout(struct ht_module *m);
void ht_module_layout_free(struct ht_module *m);

/* debug.c: the separate debug file of `m`, opened at the first call; NULL when there is none. */
const struct ht_file *ht_module_debug(struct ht_module *m);
void ht_module_debug_free(struct ht_module *m);
/* The package of split debug information beside it or its debug file; NULL when there is none. */
struct ht_package *ht_module_package(struct ht_module *m);

/* jit.c: code that a program made; symbols and executable ranges of such a module. */
void ht_module_jit_free(struct ht_module *m);
int ht_module_jit_symbols(struct ht_module *m); /* 1 when `symbols` is filled in, by address */
void ht_module_jit_text(struct ht_module *m);

/* perfmap.c: the names in the file of `m`, which is is_names. */
int ht_perfmap_symbols(struct ht_module *m); /* 1 when `symbols` is filled in, by address */

/* symbol.c */
void ht_module_symbols_free(struct ht_module *m);

#endif
