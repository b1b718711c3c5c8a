/* SPDX-License-Identifier: BSD-2-Clause */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/program.h"
#include "qemu/exec.h"
#include "qemu/guest.h"
#include "qemu/qemu_api.h"
#include "qemu/sideband.h"

#define ARGS_MAX   65536
#define STRING_MAX 131072 /* the kernel's limit for one argument */

static char qemu_path[4096];
static char **qemu_options; /* the options before the program, without -0, -E and -U */
static size_t n_options;
static __thread int given_up; /* the call that is made again is not to be followed */

struct list {
	char **v; /* ends with NULL, for execve() */
	size_t n, cap;
};

static int
list_add(struct list *l, const char *s)
{
	if (l->n + 2 > l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 64;
		char **v = realloc(l->v, cap * sizeof(*v));

		if (!v)
			return -1;
		l->v = v;
		l->cap = cap;
	}
	l->v[l->n++] = (char *)(uintptr_t)s; /* nobody writes to it */
	l->v[l->n] = NULL;
	return s ? 0 : -1;
}

static void
list_free_strings(struct list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i]);
	free(l->v);
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

/* Variables that the host's dynamic linker would heed go to the program alone. */
static int
split_env(const struct list *env, struct list *host, struct list *options)
{
	for (size_t i = 0; i < env->n; i++) {
		if (!strncmp(env->v[i], "LD_", 3) && !strchr(env->v[i], ',')) {
			if (list_add(options, "-E") < 0 || list_add(options, env->v[i]) < 0)
				return -1;
		} else if (list_add(host, env->v[i]) < 0) {
			return -1;
		}
	}
	return 0;
}

/*
 * Execute QEMU, and lose no signal on the way.  One that QEMU has taken but not
 * yet given to the program would be gone with this QEMU: then nothing is
 * executed, and QEMU, which sees it too, gives it to the program and makes the
 * call again.  One that comes later does what it does to a new program, which
 * has no handlers; QEMU's own would block all signals on their return, for the
 * new program as well.  Returns 0 in the first case, else errno.
 */
static int
become_qemu(const char *program, char **argv, char **env)
{
	struct sigaction old[NSIG], fresh = { .sa_handler = SIG_DFL };
	uint64_t changed = 0;
	sigset_t mask;
	int err;

	sigprocmask(SIG_SETMASK, NULL, &mask);
	if (block_signals && block_signals())
		return 0;
	ht_sideband_text(HT_SB_EXECUTING, program);
	for (int sig = 1; sig < NSIG; sig++) {
		/* Other threads still live by QEMU's handlers of faults. */
		if (sig == SIGSEGV || sig == SIGBUS || sigaction(sig, NULL, &old[sig]) < 0 ||
		    old[sig].sa_handler == SIG_IGN || old[sig].sa_handler == SIG_DFL)
			continue;
		if (sigaction(sig, &fresh, NULL) == 0)
			changed |= 1ull << (sig - 1);
	}
	sigprocmask(SIG_SETMASK, &mask, NULL);
	execve(qemu_path, argv, env);
	err = errno;
	for (int sig = 1; sig < NSIG; sig++)
		if (changed >> (sig - 1) & 1)
			sigaction(sig, &old[sig], NULL);
	/* After block_signals() QEMU makes the call again; it shall then do so by itself. */
	given_up = block_signals != NULL;
	return err;
}

/* QEMU's command line into `l`, its environment into `host`; their strings are borrowed. */
static int
command_line(const struct ht_program *program, const struct list *args, const struct list *env,
             struct list *l, struct list *host)
{
	int ret = list_add(l, qemu_path);

	for (size_t i = 0; i < n_options; i++)
		ret |= list_add(l, qemu_options[i]);
	ret |= split_env(env, host, l);
	ret |= list_add(l, "-0");
	ret |= list_add(l, program->n_words ? program->words[0] : args->n ? args->v[0] : "");
	ret |= list_add(l, program->path);
	for (unsigned i = 1; i < program->n_words; i++)
		ret |= list_add(l, program->words[i]);
	for (size_t i = 1; i < args->n; i++)
		ret |= list_add(l, args->v[i]);
	return ret;
}

static void
run_qemu(const struct ht_program *program, uint64_t argv, uint64_t envp)
{
	static char *none[] = { NULL };
	struct list args = { 0 }, env = { 0 }, l = { 0 }, host = { 0 };
	int err = 0;

	if (read_vector(argv, &args) == 0 && read_vector(envp, &env) == 0) {
		err = command_line(program, &args, &env, &l, &host) < 0
		              ? ENOMEM : become_qemu(program->path, l.v, host.v ? host.v : none);
	}
	if (err)
		ht_sideband_unfollowed("%s is not followed: qemu-x86_64 could not be run again: %s",
		                       program->path, strerror(err));
	free(l.v);
	free(host.v);
	list_free_strings(&args);
	list_free_strings(&env);
}

static int
may(const char *path, int how)
{
	return faccessat(AT_FDCWD, path, how, AT_EACCESS) == 0;
}

/*
 * QEMU opens the program, the plugin and the shared memory by name and anew:
 * as whoever the process is by now, in the file system that it sees now.
 */
static const char *
out_of_reach(void)
{
	struct stat shm;
	Dl_info self;

	/* Capabilities that reach it now may not outlive the exec: the owner's user or root counts. */
	if (!may(ht_sideband_path(), R_OK | W_OK) || stat(ht_sideband_path(), &shm) < 0 ||
	    (geteuid() && geteuid() != shm.st_uid))
		return "its process has become another user or sees another file system, "
		       "and cannot reach the recorder";
	if (!may(qemu_path, R_OK | X_OK) || (dladdr(qemu_path, &self) && !may(self.dli_fname, R_OK)))
		return "its process cannot reach qemu-x86_64 or its plugin any more";
	return NULL;
}

/* A descriptor's file by its own name, since the exec may close it.  0 when it has none. */
static int
leave_proc(char path[HT_PROGRAM_PATH_MAX])
{
	char real[HT_PROGRAM_PATH_MAX];
	struct stat a, b;

	if (strncmp(path, "/proc/", 6) && strncmp(path, "/dev/fd/", 8))
		return 1;
	if (!realpath(path, real) || stat(path, &a) < 0 || stat(real, &b) < 0 || a.st_dev != b.st_dev ||
	    a.st_ino != b.st_ino)
		return 0;
	memcpy(path, real, sizeof(real));
	return 1;
}

/* Why a program that can be executed is not followed; NULL when it is. */
static const char *
why_not(const struct ht_program *program, int ret)
{
	struct stat st;

	if (ret == -EACCES && access(program->path, X_OK) == 0 && stat(program->path, &st) == 0 &&
	    S_ISREG(st.st_mode))
		return "it cannot be read";
	if (ret < 0)
		return NULL;
	if (program->set_id)
		return "it is set-user-ID or set-group-ID";
	if (program->kind == HT_PROGRAM_I386)
		return "it is an i386 program";
	return program->kind == HT_PROGRAM_FOREIGN ? "it is for another machine" : out_of_reach();
}

void
ht_exec_follow(int dirfd, uint64_t path, uint64_t argv, uint64_t envp, int flags)
{
	char name[HT_PROGRAM_PATH_MAX], file[HT_PROGRAM_PATH_MAX];
	struct ht_program program;
	const char *why;
	int ret;

	if (given_up || !qemu_path[0]) {
		given_up = 0;
		return;
	}
	if (!ht_recorder_alive() || ht_guest_string(path, name, sizeof(name)) < 0 ||
	    full_path(dirfd, name, flags, file, sizeof(file)) < 0)
		return;
	ret = ht_program_resolve(file, &program);
	why = why_not(&program, ret);
	if (!ret && !why && !leave_proc(program.path))
		why = "its file has no name any more";
	if (why) {
		ht_sideband_unfollowed("%s is not followed: %s; it runs untraced", program.path,
		                       why);
	} else if (ret == 0) {
		ht_program_anchor(program.path);
		run_qemu(&program, argv, envp);
	}
}
