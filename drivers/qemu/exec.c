/* SPDX-License-Identifier: BSD-2-Clause */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "qemu/exec.h"
#include "qemu/guest.h"
#include "qemu/qemu_api.h"
#include "qemu/sideband.h"

#define ARGS_MAX   65536
#define STRING_MAX 131072 /* the kernel's limit for one argument */
#define SCRIPT_MAX 256    /* bytes of a script's first line that count */
#define NESTING    5      /* scripts run by scripts */

static char qemu_path[4096];
static char **qemu_options; /* the options before the program, without -0, -E and -U */
static size_t n_options;

struct list {
	char **v;
	size_t n, cap;
};

static int
list_add(struct list *l, char *s)
{
	if (l->n + 2 > l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 64;
		char **v = realloc(l->v, cap * sizeof(*v));

		if (!v)
			return -1;
		l->v = v;
		l->cap = cap;
	}
	l->v[l->n++] = s;
	l->v[l->n] = NULL;
	return s ? 0 : -1;
}

/* -- how QEMU was started ------------------------------------------------------ */

static int
takes_value(const char *option)
{
	static const char *const plain[] = { "singlestep", "strace", "one-insn-per-tb" };

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (!strcmp(option, plain[i]))
			return 0;
	return 1;
}

/* -E and -U are in the environment already, -0 belongs to one program. */
static int
is_for_one(const char *option)
{
	return !strcmp(option, "0") || !strcmp(option, "E") || !strcmp(option, "U");
}

static void
keep_options(char *buf, size_t size)
{
	struct list l = { 0 };

	for (char *s = buf + strlen(buf) + 1; s < buf + size && *s == '-'; s += strlen(s) + 1) {
		const char *name = s + 1 + (s[1] == '-');
		int value = takes_value(name), keep = !is_for_one(name);

		if (!strcmp(s, "--"))
			break;
		if (keep)
			list_add(&l, s);
		if (value) {
			s += strlen(s) + 1;
			if (keep && s < buf + size)
				list_add(&l, s);
		}
	}
	qemu_options = l.v;
	n_options = l.n;
}

void
ht_exec_init(void)
{
	static char buf[65536]; /* the options point into it */
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);

	if (fd >= 0)
		close(fd);
	if (n > 0)
		keep_options(buf, (size_t)n);
	n = readlink("/proc/self/exe", qemu_path, sizeof(qemu_path) - 1);
	if (n < 0)
		qemu_path[0] = 0;
}

/* -- what the program asks for --------------------------------------------------- */

static int
read_vector(uint64_t at, struct list *l)
{
	char *buf = malloc(STRING_MAX);
	int ret = buf ? 0 : -1;

	for (; !ret && at; at += 8) {
		uint64_t p;

		if (l->n >= ARGS_MAX || ht_guest_read(at, &p, 8) < 0)
			ret = -1;
		else if (!p)
			break;
		else if (ht_guest_string(p, buf, STRING_MAX) < 0 || list_add(l, strdup(buf)) < 0)
			ret = -1;
	}
	free(buf);
	return ret;
}

/* The file that the kernel would look at. */
static int
full_path(int dirfd, const char *path, int flags, char *out, size_t size)
{
	int n;

	if (path[0] == '/' || dirfd == AT_FDCWD)
		n = snprintf(out, size, "%s", path);
	else if (!path[0] && (flags & AT_EMPTY_PATH))
		n = snprintf(out, size, "/proc/self/fd/%d", dirfd);
	else
		n = snprintf(out, size, "/proc/self/fd/%d/%s", dirfd, path);
	if (!strcmp(out, "/proc/self/exe")) {
		const char *self_path = qemu_plugin_path_to_binary ? qemu_plugin_path_to_binary() : NULL;

		if (!self_path)
			return -1;
		n = snprintf(out, size, "%s", self_path);
	}
	return n > 0 && (size_t)n < size ? 0 : -1;
}

enum image { IMAGE_FAILS, IMAGE_ELF, IMAGE_SCRIPT, IMAGE_FOREIGN };

/* What kind of program is it?  `line`: the first bytes, for a script. */
static enum image
look_at(const char *path, char line[SCRIPT_MAX + 1], const char **why)
{
	struct stat st;
	ssize_t n;
	Elf64_Ehdr h;
	int fd;

	if (access(path, X_OK) < 0 || stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return IMAGE_FAILS;
	if ((st.st_mode & S_ISUID) || ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP))) {
		*why = "it is set-user-ID or set-group-ID";
		return IMAGE_FOREIGN;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		*why = "it cannot be read";
		return IMAGE_FOREIGN;
	}
	memset(line, 0, SCRIPT_MAX + 1);
	n = read(fd, line, SCRIPT_MAX);
	close(fd);
	if (n >= 2 && line[0] == '#' && line[1] == '!')
		return IMAGE_SCRIPT;
	memcpy(&h, line, sizeof(h));
	if (n < (ssize_t)sizeof(h) || memcmp(h.e_ident, ELFMAG, SELFMAG))
		return IMAGE_FAILS;
	if (h.e_ident[EI_CLASS] == ELFCLASS64 && h.e_machine == EM_X86_64)
		return IMAGE_ELF;
	*why = h.e_machine == EM_386 ? "it is an i386 program" : "it is for another machine";
	return IMAGE_FOREIGN;
}

/* Put the interpreter of the script in front: `args` becomes interp [arg] path args[1...]. */
static int
enter_script(char *line, const char *path, struct list *args, char *out, size_t size)
{
	struct list l = { 0 };
	char *interp = line + 2 + strspn(line + 2, " \t"), *arg, *end;

	interp[strcspn(interp, "\n")] = 0;
	for (end = interp + strlen(interp); end > interp && (end[-1] == ' ' || end[-1] == '\t');)
		*--end = 0;
	arg = interp + strcspn(interp, " \t");
	if (*arg) {
		*arg++ = 0;
		arg += strspn(arg, " \t");
	}
	if (!*interp || snprintf(out, size, "%s", interp) >= (int)size)
		return -1;
	if (list_add(&l, strdup(interp)) < 0 || (*arg && list_add(&l, strdup(arg)) < 0) ||
	    list_add(&l, strdup(path)) < 0)
		return -1;
	for (size_t i = 1; i < args->n; i++)
		list_add(&l, args->v[i]);
	*args = l;
	return 0;
}

/* Variables that the host's dynamic linker would heed go to the program alone. */
static int
split_env(const struct list *env, struct list *host, struct list *options)
{
	for (size_t i = 0; i < env->n; i++) {
		if (!strncmp(env->v[i], "LD_", 3) && !strchr(env->v[i], ',')) {
			if (list_add(options, strdup("-E")) < 0 || list_add(options, env->v[i]) < 0)
				return -1;
		} else if (list_add(host, env->v[i]) < 0) {
			return -1;
		}
	}
	return 0;
}

static void
run_qemu(const char *path, const struct list *args, const struct list *env)
{
	static char *none[] = { NULL };
	struct list l = { 0 }, host = { 0 };
	int ret = list_add(&l, qemu_path);

	for (size_t i = 0; i < n_options; i++)
		ret |= list_add(&l, qemu_options[i]);
	ret |= split_env(env, &host, &l);
	ret |= list_add(&l, strdup("-0")) | list_add(&l, args->n ? args->v[0] : strdup(""));
	ret |= list_add(&l, strdup(path));
	for (size_t i = 1; i < args->n; i++)
		ret |= list_add(&l, args->v[i]);
	if (!ret)
		execve(qemu_path, l.v, host.v ? host.v : none);
	ht_sideband_note("%s is not followed: qemu-x86_64 could not be run again: %s", path, strerror(errno));
	free(l.v);
	free(host.v);
}

void
ht_exec_follow(int dirfd, uint64_t path, uint64_t argv, uint64_t envp, int flags)
{
	char name[4096], file[8192], line[SCRIPT_MAX + 1];
	struct list args = { 0 }, env = { 0 };
	const char *why = NULL;
	enum image kind;

	if (!qemu_path[0] || ht_guest_string(path, name, sizeof(name)) < 0 ||
	    full_path(dirfd, name, flags, file, sizeof(file)) < 0)
		return;
	kind = look_at(file, line, &why);
	if (kind == IMAGE_FAILS)
		return;
	if (read_vector(argv, &args) < 0 || read_vector(envp, &env) < 0)
		return;
	for (int depth = 0; kind == IMAGE_SCRIPT && depth < NESTING; depth++) {
		char script[8192];

		memcpy(script, file, sizeof(script));
		if (enter_script(line, script, &args, file, sizeof(file)) < 0)
			return;
		kind = look_at(file, line, &why);
	}
	if (kind == IMAGE_FOREIGN)
		ht_sideband_note("%s is not followed: %s; it runs untraced", file, why);
	else if (kind == IMAGE_ELF)
		run_qemu(file, &args, &env);
}
