/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What execve() would load for a path: `#!` chains followed, the kind of the
 * ELF file named.  QEMU loads no scripts and no other kind, so that both the
 * recorder and the plugin must know before they start it.
 */
#ifndef CORE_PROGRAM_H
#define CORE_PROGRAM_H

#include <stddef.h>

#define HT_PROGRAM_PATH_MAX  4096
#define HT_PROGRAM_WORDS_MAX 16   /* five levels of interpreter, argument, script */
#define HT_PROGRAM_TEXT_MAX  8192

enum ht_program_kind {
	HT_PROGRAM_X86_64 = 0,
	HT_PROGRAM_I386,    /* 32-bit x86 */
	HT_PROGRAM_FOREIGN  /* ELF file of another architecture */
};

struct ht_program {
	enum ht_program_kind kind;
	int         set_id;  /* set-user-id or set-group-id that would change who it runs as */
	char        path[HT_PROGRAM_PATH_MAX]; /* the ELF file to load */
	/* Words that take the place of argv[0]; none when `path` is no interpreter. */
	unsigned    n_words;
	const char *words[HT_PROGRAM_WORDS_MAX];
	char        text[HT_PROGRAM_TEXT_MAX]; /* what words[] points into */
	size_t      text_used;
};

/*
 * Resolve `path` (no search in PATH).  Returns 0, or the negative errno that
 * execve() would give: -ENOENT, -EACCES, -ENOEXEC (neither ELF nor script),
 * -ELOOP (too many interpreters), -ENAMETOOLONG, ...; also -EACCES for what can
 * be executed but not read.  out->path is the file looked at last.
 */
int ht_program_resolve(const char *path, struct ht_program *out);

/*
 * Give `path` the folder that it is relative to.  QEMU keeps the name that it is
 * started with, and what /proc/self/exe is must not depend on where a program
 * has gone since.  Nothing happens where the folder is not known.
 */
void ht_program_anchor(char path[HT_PROGRAM_PATH_MAX]);

/*
 * As execvp() finds a program: `name` with a slash stands for itself, else the
 * folders of `search` (PATH; NULL = the system's default) are tried.  What is
 * neither ELF nor script is run by /bin/sh.  Returns as ht_program_resolve().
 */
int ht_program_find(const char *name, const char *search, struct ht_program *out);

#endif
