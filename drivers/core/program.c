/* SPDX-License-Identifier: BSD-2-Clause */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/program.h"

#define HEAD_SIZE  256 /* what the kernel looks at [binfmt_script] */
#define LEVELS_MAX 5

/* Put `n` bytes as a word in front of the words there are. */
static int
word_prepend(struct ht_program *p, const char *word, size_t n)
{
	char *to = p->text + p->text_used;

	if (p->n_words == HT_PROGRAM_WORDS_MAX || n >= sizeof(p->text) - p->text_used)
		return -E2BIG;
	memcpy(to, word, n);
	to[n] = 0;
	p->text_used += n + 1;
	memmove(p->words + 1, p->words, p->n_words * sizeof(*p->words));
	p->words[0] = to;
	p->n_words++;
	return 0;
}

static int
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/*
 * "#! INTERPRETER [ARGUMENT]": the rest of the line is one argument, as the
 * kernel has it.  The words become INTERPRETER [ARGUMENT] SCRIPT and what
 * followed the script's own name.
 */
static int
follow_script(struct ht_program *p, const char *head, size_t size)
{
	const char *nl = memchr(head, '\n', size), *nul = memchr(head, 0, size);
	size_t end = nl ? (size_t)(nl - head) : size, at = 2, interp, interp_len;
	int rc;

	/* The kernel keeps the last byte of its buffer for a NUL. */
	if (!nl && size == HEAD_SIZE)
		end = HEAD_SIZE - 1;
	if (!nl && nul)
		end = (size_t)(nul - head);
	while (end > at && is_blank(head[end - 1]))
		end--;
	while (at < end && is_blank(head[at]))
		at++;
	interp = at;
	while (at < end && !is_blank(head[at]) && head[at])
		at++;
	interp_len = at - interp;
	/* A name that the head cuts off cannot be told from a longer one. */
	if (!interp_len || (!nl && at == HEAD_SIZE - 1))
		return -ENOEXEC;
	while (at < end && is_blank(head[at]))
		at++;
	if (p->n_words) { /* the first word named this script: its path takes its place below */
		p->n_words--;
		memmove(p->words, p->words + 1, p->n_words * sizeof(*p->words));
	}
	rc = word_prepend(p, p->path, strlen(p->path));
	if (!rc && at < end)
		rc = word_prepend(p, head + at, strnlen(head + at, end - at));
	if (!rc)
		rc = word_prepend(p, head + interp, interp_len);
	if (rc)
		return rc;
	memcpy(p->path, head + interp, interp_len);
	p->path[interp_len] = 0;
	return 0;
}

static int
classify_elf(struct ht_program *p, const unsigned char *head, size_t size)
{
	unsigned machine;

	if (size < sizeof(Elf32_Ehdr))
		return -ENOEXEC;
	machine = head[EI_DATA] == ELFDATA2MSB ? (unsigned)head[18] << 8 | head[19]
	                                       : (unsigned)head[19] << 8 | head[18];
	if (machine == EM_X86_64 && head[EI_CLASS] == ELFCLASS64)
		p->kind = HT_PROGRAM_X86_64;
	else if (machine == EM_386)
		p->kind = HT_PROGRAM_I386;
	else
		p->kind = HT_PROGRAM_FOREIGN;
	return 0;
}

static int
gains_privilege(const struct stat *st)
{
	if ((st->st_mode & S_ISUID) && st->st_uid != geteuid())
		return 1;
	return (st->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st->st_gid != getegid();
}

/* Read the head of p->path; returns its size or -errno. */
static ssize_t
read_head(struct ht_program *p, unsigned char head[HEAD_SIZE])
{
	struct stat st;
	ssize_t n;
	int fd;

	if (stat(p->path, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || faccessat(AT_FDCWD, p->path, X_OK, AT_EACCESS) < 0)
		return -EACCES;
	fd = open(p->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno; /* executable but not readable: QEMU could not load it either */
	n = pread(fd, head, HEAD_SIZE, 0);
	if (n < 0)
		n = -errno;
	close(fd);
	p->set_id = gains_privilege(&st);
	return n;
}

int
ht_program_resolve(const char *path, struct ht_program *out)
{
	unsigned char head[HEAD_SIZE];
	size_t len = strlen(path);

	if (!len)
		return -ENOENT;
	if (len >= sizeof(out->path))
		return -ENAMETOOLONG;
	out->n_words = 0;
	out->text_used = 0;
	memcpy(out->path, path, len + 1);
	for (int level = 0; level <= LEVELS_MAX; level++) {
		ssize_t n = read_head(out, head);
		int rc;

		if (n < 0)
			return (int)n;
		if (n >= 4 && !memcmp(head, ELFMAG, SELFMAG))
			return classify_elf(out, head, (size_t)n);
		if (n < 2 || head[0] != '#' || head[1] != '!')
			return -ENOEXEC;
		rc = follow_script(out, (const char *)head, (size_t)n);
		if (rc < 0)
			return rc;
	}
	return -ELOOP;
}

void
ht_program_anchor(char path[HT_PROGRAM_PATH_MAX])
{
	char dir[HT_PROGRAM_PATH_MAX];
	size_t n, len = strlen(path);

	if (path[0] == '/' || !getcwd(dir, sizeof(dir)) || dir[0] != '/')
		return;
	n = strlen(dir);
	if (n + 1 + len + 1 > sizeof(dir))
		return;
	memmove(path + n + 1, path, len + 1);
	memcpy(path, dir, n);
	path[n] = '/';
}

/* What execvp() does with a file that the kernel does not know. */
static int
by_shell(const char *path, struct ht_program *out)
{
	int rc = ht_program_resolve("/bin/sh", out);

	if (!rc)
		rc = word_prepend(out, path, strlen(path));
	return rc ? rc : word_prepend(out, "/bin/sh", 7);
}

static int
resolve_or_shell(const char *path, struct ht_program *out)
{
	int rc = ht_program_resolve(path, out);

	return rc == -ENOEXEC && !out->n_words ? by_shell(path, out) : rc;
}

int
ht_program_find(const char *name, const char *search, struct ht_program *out)
{
	size_t name_len = strlen(name);
	int rc = -ENOENT, denied = 0;

	if (strchr(name, '/'))
		return resolve_or_shell(name, out);
	if (!name_len)
		return -ENOENT;
	if (!search)
		search = "/bin:/usr/bin";
	for (const char *dir = search;; dir++) {
		size_t n = strcspn(dir, ":");
		char path[HT_PROGRAM_PATH_MAX];

		if (n + name_len + 2 <= sizeof(path)) {
			snprintf(path, sizeof(path), "%.*s%s%s", (int)n, dir, n ? "/" : "", name);
			rc = access(path, F_OK) < 0 ? -errno : resolve_or_shell(path, out);
			if (!rc || (rc != -ENOENT && rc != -ENOTDIR && rc != -EACCES))
				return rc;
			denied |= rc == -EACCES;
			/* A script that is there, with an interpreter that is not. */
			if (rc == -ENOENT && access(path, F_OK) == 0)
				return rc;
		}
		dir += n;
		if (!*dir)
			return denied ? -EACCES : -ENOENT;
	}
}
