/* SPDX-License-Identifier: BSD-2-Clause */
/* Chooses the backend, looks the program up and keeps an older file: what all backends share. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/backend.h"
#include "capture/sample.h"

#define BEGUN ".recording" /* what the name of the file ends in while it begins */

/* Best first. */
static const struct ht_backend *const backends[] = {
	&ht_backend_intel_pt,
	&ht_backend_qemu,
	&ht_backend_ptrace,
	NULL
};

static void
probe(const struct ht_backend *b, struct ht_backend_info *info)
{
	memset(info, 0, sizeof(*info));
	info->name = b->name;
	info->summary = b->summary;
	info->timing = b->timing;
	info->can_record = b->record != NULL;
	info->can_attach = b->can_attach && b->can_attach();
	info->usable = b->probe(info) && b->record;
}

int
ht_backend_probe(unsigned i, struct ht_backend_info *info)
{
	for (unsigned n = 0; backends[n]; n++)
		if (n == i) {
			probe(backends[n], info);
			return 0;
		}
	return -HT_ENOTFOUND;
}

/* The first closed gate, as one clause. */
static void
closed_gate(const struct ht_backend_info *info, char *buf, size_t size)
{
	snprintf(buf, size, "not usable here");
	for (unsigned i = 0; i < info->n_gates; i++)
		if (!info->gates[i].open) {
			snprintf(buf, size, "%s: %s%s%s", info->gates[i].name, info->gates[i].state,
			         info->gates[i].remedy[0] ? "; " : "", info->gates[i].remedy);
			return;
		}
}

static void
say(const struct ht_capture_config *config, const char *fmt, const char *a, const char *b)
{
	char text[640];

	if (!config->note)
		return;
	snprintf(text, sizeof(text), fmt, a, b);
	config->note(config->note_arg, text);
}

static void
names(char *buf, size_t size, int attach)
{
	size_t n = 0;

	buf[0] = 0;
	for (unsigned i = 0; backends[i]; i++) {
		struct ht_backend_info info;

		probe(backends[i], &info);
		if (!info.can_record || (attach && !info.can_attach) || n >= size)
			continue;
		n += (size_t)snprintf(buf + n, size - n, "%s%s", n ? ", " : "", info.name);
	}
	if (!n)
		snprintf(buf, size, "none");
}

/* Can `b` do what is asked here?  Otherwise -HT_EUNSUPPORTED, and diag tells why. */
static int
can_serve(const struct ht_backend *b, const struct ht_capture_config *config,
          const struct ht_program *program, struct ht_diag *diag)
{
	struct ht_backend_info info;
	char why[400];

	probe(b, &info);
	if (config->pid && !info.can_attach)
		return ht_fail(diag, HT_EUNSUPPORTED, NULL, HT_NO_OFFSET, b->name,
		               "cannot attach to a running process");
	if (!info.usable) {
		closed_gate(&info, why, sizeof(why));
		return ht_fail(diag, HT_EUNSUPPORTED, NULL, HT_NO_OFFSET, b->name, "%s", why);
	}
	return program && b->accepts ? b->accepts(program, diag) : 0;
}

/* The backend that the user named. */
static int
choose_named(const struct ht_capture_config *config, const struct ht_program *program,
             const struct ht_backend **out, struct ht_diag *diag)
{
	const struct ht_backend *b = NULL;
	char list[128];
	int rc;

	for (unsigned i = 0; backends[i] && !b; i++)
		if (!strcmp(backends[i]->name, config->backend))
			b = backends[i];
	names(list, sizeof(list), config->pid != 0);
	if (!b)
		return ht_fail(diag, HT_EINVAL, NULL, HT_NO_OFFSET, "backend",
		               "there is no backend '%s'; choose one of: %s", config->backend, list);
	if (config->pid && !b->can_attach)
		return ht_fail(diag, HT_EUNSUPPORTED, NULL, HT_NO_OFFSET, b->name,
		               "cannot attach to a running process; backends that can: %s", list);
	rc = can_serve(b, config, program, diag);
	if (rc < 0)
		return rc;
	*out = b;
	return 0;
}

/* The best backend that works here and takes this program; tells what was wrong with better ones. */
static int
choose_best(const struct ht_capture_config *config, const struct ht_program *program,
            const struct ht_backend **out, struct ht_diag *diag)
{
	const struct ht_backend *chosen = NULL;
	struct ht_diag d;

	for (unsigned i = 0; backends[i] && !chosen; i++) {
		if (!backends[i]->record || (config->pid && !backends[i]->can_attach))
			continue;
		if (can_serve(backends[i], config, program, &d) == 0)
			chosen = backends[i];
		else if (diag && !diag->error)
			*diag = d;
	}
	for (unsigned i = 0; chosen && backends[i] != chosen; i++)
		if (backends[i]->record && !config->pid) {
			char line[1024];

			can_serve(backends[i], config, program, &d);
			say(config, "backend %s is not used: %s", backends[i]->name,
			    ht_diag_line(&d, line, sizeof(line)));
		}
	*out = chosen;
	if (chosen)
		return 0;
	if (!diag || !diag->error)
		return ht_fail(diag, HT_EUNSUPPORTED, NULL, HT_NO_OFFSET, "backend",
		               config->pid ? "no backend of this build can attach to a process"
		                           : "no backend works here; hwtrace check tells what each one needs");
	return -diag->error;
}

static int
find_program(const struct ht_capture_config *config, struct ht_program *program, struct ht_diag *diag)
{
	const char *name = config->argv[0];
	int rc = ht_program_find(name, getenv("PATH"), program);

	if (!rc)
		return 0;
	if (rc == -ENOENT || rc == -ENOTDIR) {
		if (program->n_words)
			return ht_fail(diag, HT_ECHILD, NULL, HT_NO_OFFSET, "127",
			               "%s: its interpreter %s does not exist", name, program->path);
		return ht_fail(diag, HT_ECHILD, NULL, HT_NO_OFFSET, "127", "%s: %s", name,
		               strchr(name, '/') ? strerror(-rc) : "no such program in PATH");
	}
	return ht_fail(diag, HT_ECHILD, NULL, HT_NO_OFFSET, "126", "%s: cannot be executed: %s", name,
	               strerror(-rc));
}

/* Where a symbolic link leads: the file there is the one that is kept and written anew. */
static int
resolve_output(const char *output, char real[PATH_MAX], struct ht_diag *diag)
{
	struct stat st;

	if (!*output || strlen(output) + sizeof(BEGUN) > PATH_MAX)
		return ht_fail(diag, HT_EINVAL, output, HT_NO_OFFSET, "output", "not a usable file name");
	if (!strcmp(output, "-"))
		return ht_fail(diag, HT_EINVAL, NULL, HT_NO_OFFSET, "output",
		               "a capture cannot be written to standard output; name a file "
		               "(./- for one of that name)");
	snprintf(real, PATH_MAX, "%s", output);
	if (lstat(output, &st) < 0 || !S_ISLNK(st.st_mode))
		return 0;
	if (stat(output, &st) == 0 && !S_ISREG(st.st_mode))
		return 0; /* told by check_output() */
	if (!realpath(output, real) || strlen(real) + sizeof(BEGUN) > PATH_MAX)
		return ht_fail(diag, HT_EIO, output, HT_NO_OFFSET, NULL,
		               "is a symbolic link that leads to no file: %s; remove it, or choose another name with -o",
		               strerror(errno));
	return 0;
}

/* The writer holds a lock as long as it writes. */
static int
is_being_written(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), busy;

	if (fd < 0)
		return 0;
	busy = flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
	close(fd);
	return busy;
}

/* Can `output` be created, and does no other recording write it?  Changes nothing. */
static int
check_output(const char *output, struct ht_diag *diag)
{
	char dir[PATH_MAX];
	const char *slash = strrchr(output, '/');
	struct stat st;

	snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - output) : 1, slash ? output : ".");
	if (slash == output)
		snprintf(dir, sizeof(dir), "/");
	if (access(dir, F_OK) < 0)
		return ht_fail(diag, HT_EIO, output, HT_NO_OFFSET, NULL,
		               "cannot be created: folder %s: %s", dir, strerror(errno));
	if (access(dir, W_OK | X_OK) < 0)
		return ht_fail(diag, HT_EPERM, output, HT_NO_OFFSET, NULL,
		               "cannot be created: folder %s: %s; choose another place with -o", dir,
		               strerror(errno));
	if (lstat(output, &st) < 0)
		return 0;
	if (!S_ISREG(st.st_mode))
		return ht_fail(diag, HT_EIO, output, HT_NO_OFFSET, NULL,
		               "exists and is no regular file; choose another name with -o");
	if (is_being_written(output))
		return ht_fail(diag, HT_EIO, output, HT_NO_OFFSET, NULL,
		               "is being written by another recording; choose another name with -o");
	return 0;
}

/* -- the file while it begins ------------------------------------------------ */

/*
 * A recording begins in output.recording.  It gets its own name, and what bore that
 * becomes output.old, once the program runs: a recording that fails before
 * changes neither.
 */
static void
named(const char *output, const char *suffix, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s%s", output, suffix);
}

/* A file that could not be begun is none, unless another recording has it. */
static void
drop_begun(const char *path)
{
	struct stat st;

	if (lstat(path, &st) == 0 && S_ISREG(st.st_mode) && !is_being_written(path))
		unlink(path);
}

/* What a recording left that was broken off before its file had its name: the next one keeps it. */
static void
keep_begun(const struct ht_capture_config *config, const char *path)
{
	char kept[PATH_MAX];
	struct stat st;

	if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || !st.st_size || is_being_written(path) ||
	    snprintf(kept, sizeof(kept), "%s.old", path) >= (int)sizeof(kept))
		return;
	if (rename(path, kept) == 0)
		say(config, "a recording that was broken off %s %.500s", "is kept as", kept);
}

/* The limit on the size of files is told by an error, not by a signal: the program's is as it was. */
static int
open_writer(const char *path, const struct ht_perf_writer_config *wc, struct ht_perf_writer **out,
            struct ht_diag *diag)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, old;
	int rc;

	sigaction(SIGXFSZ, &ignore, &old);
	rc = ht_perf_writer_open(path, wc, out, diag);
	sigaction(SIGXFSZ, &old, NULL);
	return rc;
}

int
ht_output_begin(const struct ht_capture_config *config, const struct ht_perf_writer_config *wc,
                struct ht_perf_writer **out, struct ht_diag *diag)
{
	struct ht_perf_writer_config mine = *wc;
	char path[PATH_MAX];
	int rc;

	mine.name = config->output;
	named(config->output, BEGUN, path);
	keep_begun(config, path);
	rc = open_writer(path, &mine, out, diag);
	if (rc < 0)
		drop_begun(path);
	return rc;
}

int
ht_output_open(const struct ht_capture_config *config, const struct ht_perf_writer_config *wc,
               struct ht_perf_writer **out, struct ht_diag *diag)
{
	char path[PATH_MAX];
	int rc = ht_output_begin(config, wc, out, diag);

	if (rc < 0)
		return rc;
	named(config->output, BEGUN, path);
	/* Of two that begin at one moment, one had the lock first; by now it may have its name. */
	rc = check_output(config->output, diag);
	if (rc == 0)
		return 0;
	ht_perf_writer_abort(*out);
	*out = NULL;
	unlink(path);
	return rc;
}

int
ht_output_replace(const struct ht_capture_config *config, struct ht_diag *diag)
{
	char path[PATH_MAX];

	named(config->output, BEGUN, path);
	if (rename(path, config->output) == 0)
		return 0;
	return ht_fail(diag, HT_EIO, config->output, HT_NO_OFFSET, NULL,
	               "cannot be named so: %s; it has the trace, the samples are in %s",
	               strerror(errno), path);
}

int
ht_output_settle(const struct ht_capture_config *config, struct ht_diag *diag)
{
	char path[PATH_MAX], old[PATH_MAX];

	named(config->output, BEGUN, path);
	named(config->output, ".old", old);
	if (rename(config->output, old) < 0 && errno != ENOENT)
		return ht_fail(diag, errno == EACCES || errno == EPERM ? HT_EPERM : HT_EIO, config->output,
		               HT_NO_OFFSET, NULL, "cannot be kept as %s: %s; the recording is in %s", old,
		               strerror(errno), path);
	if (rename(path, config->output) < 0)
		return ht_fail(diag, HT_EIO, config->output, HT_NO_OFFSET, NULL,
		               "cannot be named so: %s; the recording is in %s", strerror(errno), path);
	return 0;
}

void
ht_output_drop(const struct ht_capture_config *config)
{
	char path[PATH_MAX];

	named(config->output, BEGUN, path);
	unlink(path);
}

static int
record_to(const struct ht_backend *b, const struct ht_capture_config *config,
          const struct ht_program *program, struct ht_capture_result *result, struct ht_diag *diag)
{
	struct ht_capture_config there = *config;
	char real[PATH_MAX];
	int rc = resolve_output(config->output, real, diag);

	if (rc == 0)
		rc = check_output(real, diag);
	if (rc < 0)
		return rc;
	there.output = real;
	rc = b->record(&there, program, result, diag);
	return rc == 0 && config->branch_period ? ht_sample_branches(&there, result, diag) : rc;
}

int
ht_capture_run(const struct ht_capture_config *config, struct ht_capture_result *result,
               struct ht_diag *diag)
{
	const struct ht_backend *b = NULL;
	struct ht_program *program = NULL;
	struct ht_diag local = { 0 };
	int rc;

	if (!diag)
		diag = &local;
	memset(diag, 0, sizeof(*diag));
	memset(result, 0, sizeof(*result));
	if (config->size < sizeof(*config))
		return ht_fail(diag, HT_EINVAL, NULL, HT_NO_OFFSET, "config.size",
		               "the recording's configuration has an unknown size");
	if (!config->output || (!config->pid && (!config->argv || !config->argv[0])))
		return ht_fail(diag, HT_EINVAL, NULL, HT_NO_OFFSET, NULL, "no program and no process to record");
	if (!config->pid) {
		program = calloc(1, sizeof(*program));
		if (!program)
			return ht_fail(diag, HT_ENOMEM, NULL, HT_NO_OFFSET, NULL, "for the program's name");
		rc = find_program(config, program, diag);
		if (rc < 0)
			goto out;
	}
	rc = config->backend ? choose_named(config, program, &b, diag)
	                     : choose_best(config, program, &b, diag);
	if (rc < 0)
		goto out;
	memset(diag, 0, sizeof(*diag));
	result->backend = b->name;
	rc = record_to(b, config, program, result, diag);
out:
	free(program);
	return rc;
}
