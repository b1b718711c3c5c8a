/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "input.h"

static int
usage_error(const char *text)
{
	fprintf(stderr, "hwtrace: %s\n", text);
	return EXIT_USAGE;
}

/* The parts of a raw capture make sense together only. */
static int
check_raw(const struct input_opts *o, const char *operand)
{
	if (!o->pt) {
		if (o->pages || o->map || o->elf)
			return usage_error("--pages, --map and --elf belong to a raw capture: name its "
			                   "trace bytes with --pt");
		return EXIT_OK;
	}
	if (o->file || operand)
		return usage_error("a raw capture (--pt) and a capture file exclude each other");
	if (!o->pages != !o->map)
		return usage_error("--pages and --map go together: the map says where the pages lie");
	if (o->elf) {
		const char *at = strrchr(o->elf, '@');

		if (!at || at == o->elf || !at[1])
			return usage_error("--elf takes FILE@BASE, for example --elf ./prog@0x400000");
	}
	return EXIT_OK;
}

static int
check_engine(const char *name)
{
	const char *e;

	if (!name)
		return EXIT_OK;
	for (uint32_t i = 0; (e = ht_engine_name(i)); i++)
		if (!strcmp(e, name))
			return EXIT_OK;
	fprintf(stderr, "hwtrace: no engine named '%s'; this build has:", name);
	for (uint32_t i = 0; (e = ht_engine_name(i)); i++)
		fprintf(stderr, " %s", e);
	fputc('\n', stderr);
	return EXIT_USAGE;
}

/* Errors that a person meets daily get a hint that the library cannot know. */
static int
open_failed(const char *path, const struct ht_diag *diag)
{
	char begun[4096];
	struct stat st;

	if (!strcmp(path, "-") || stat(path, &st) == 0 || errno != ENOENT)
		return tool_fail(diag);
	if (snprintf(begun, sizeof(begun), "%s.recording", path) < (int)sizeof(begun) &&
	    stat(begun, &st) == 0)
		return tool_error(
		    "%s: no such file; a recording of this name was broken off, or is just "
		    "beginning: what there is of it is read with -i %s",
		    path, begun);
	return tool_error("%s: no such file; make one with 'hwtrace record -o %s -- PROGRAM', "
	                  "or name another with -i",
	                  path, path);
}

int
input_open_container(struct input *in, const struct input_opts *o, const char *operand)
{
	struct ht_container_config config = { .size = sizeof(config) };
	struct ht_diag diag = { 0 };
	int status;

	memset(in, 0, sizeof(*in));
	if (o->file && operand)
		return usage_error("name one capture: either as operand or with -i");
	if ((status = check_raw(o, operand)) || (status = check_engine(o->engine)))
		return status;
	config.raw = (struct ht_raw_config){
		.pt = o->pt, .pages = o->pages, .map = o->map, .elf = o->elf
	};
	in->engine = o->engine;
	in->path = o->pt ? o->pt : operand ? operand : o->file ? o->file : INPUT_DEFAULT;
	if (ht_container_open(in->path, &config, &in->container, &diag) < 0)
		return o->pt ? tool_fail(&diag) : open_failed(in->path, &diag);
	in->info = ht_container_info(in->container);
	if (in->info->software && !o->own)
		fprintf(stderr, "hwtrace: %s: recorded by the software trace unit: branches exact, times emulated\n",
		        in->path);
	if (in->info->filter && !o->own)
		fprintf(stderr, "hwtrace: %s: recorded with %s: what lies outside was not recorded\n", in->path,
		        in->info->filter);
	if (in->info->trailing)
		tool_warn("%s: another capture begins at byte %llu: its %llu bytes are not read; captures cannot be "
		          "joined by cat", in->path, (unsigned long long)in->info->trailing_at,
		          (unsigned long long)in->info->trailing);
	if (in->info->truncated)
		tool_warn("%s: the file ends early, at byte %llu: read up to there", in->path,
		          (unsigned long long)in->info->truncated_at);
	return EXIT_OK;
}

/* Sideband that could not be read: the first of it stands for all. */
static void
warn_damaged(const struct ht_session *s)
{
	uint64_t damaged;
	const struct ht_diag *first = ht_session_diag(s, &damaged, NULL);
	char line[1024];

	if (damaged)
		tool_warn("%s%s", ht_diag_line(first, line, sizeof(line)),
		          damaged > 1 ? " (and more like it)" : "");
}

/* A file comes from a server. */
static void
fetching(void *arg, const char *what, uint64_t done, uint64_t total)
{
	struct progress *p = &((struct input *)arg)->fetching;

	if (p->what != what || p->total != total) {
		progress_end(p);
		progress_start(p, what, total);
	}
	progress_slow(p, done);
	if (done >= total)
		progress_end(p);
}

int
input_open(struct input *in, const struct input_opts *o, const char *operand)
{
	struct ht_session_config config = {
		.size = sizeof(config),
		.symfs = o->symfs,
		.ignore_build_id = o->ignore_build_id,
		.debuginfod = o->debuginfod,
		.progress = fetching,
		.progress_arg = in,
	};
	struct ht_diag diag = { 0 };
	int status = input_open_container(in, o, operand);

	if (status)
		return status;
	if (o->debuginfod && (!getenv("DEBUGINFOD_URLS") || !*getenv("DEBUGINFOD_URLS")))
		tool_warn("--debuginfod: DEBUGINFOD_URLS is not set: it names the servers to ask");
	if (ht_session_open(in->container, &config, &in->session, &diag) < 0)
		return tool_fail(&diag);
	warn_damaged(in->session);
	return EXIT_OK;
}

void
input_close(struct input *in)
{
	ht_session_close(in->session);
	ht_container_close(in->container);
	in->session = NULL;
	in->container = NULL;
}

/* Is `out` the regular file `path`, or to become it?  "-" is standard input. */
static int
same_file(const char *path, const char *out)
{
	struct stat in, st;
	int rc = strcmp(path, "-") ? stat(path, &in) : fstat(STDIN_FILENO, &in);

	if (rc < 0)
		return !strcmp(path, out);
	return S_ISREG(in.st_mode) && stat(out, &st) == 0 && in.st_dev == st.st_dev &&
	       in.st_ino == st.st_ino;
}

/* As same_file(), of an option FILE@BASE. */
static int
same_elf(const char *elf, const char *out)
{
	const char *at = strrchr(elf, '@');
	char *path = at ? strndup(elf, (size_t)(at - elf)) : NULL;
	int same = path && same_file(path, out);

	free(path);
	return same;
}

int
input_spare(const struct input_opts *o, const char *const *paths, int n, const char *out,
            const char *option)
{
	const char *named[] = { o->file, o->pt, o->pages, o->map };
	int same = 0;

	if (!out || !strcmp(out, "-"))
		return EXIT_OK;
	for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++)
		same |= named[i] && same_file(named[i], out);
	for (int i = 0; i < n; i++)
		same |= same_file(paths[i], out);
	same |= o->elf && same_elf(o->elf, out);
	same |= !n && !o->file && !o->pt && same_file(INPUT_DEFAULT, out);
	if (!same)
		return EXIT_OK;
	return tool_error("%s: is %s itself; name another file with %s", out,
	                  n > 1 ? "one of the inputs" : "the capture", option);
}

static const char *
source_name(enum ht_trace_source source)
{
	switch (source) {
	case HT_SOURCE_INTEL_PT: return "Intel PT";
	case HT_SOURCE_INTEL_BTS: return "Intel BTS";
	case HT_SOURCE_CORESIGHT: return "CoreSight";
	case HT_SOURCE_ARM_SPE: return "Arm SPE";
	case HT_SOURCE_BRANCH_STACK: return "branch stacks";
	case HT_SOURCE_S390_CPUMSF: return "s390 CPU measurement";
	case HT_SOURCE_HISI_PTT: return "HiSilicon PTT";
	default: return "of an unknown source";
	}
}

int
input_decode_failed(const struct input *in, const struct ht_diag *diag)
{
	if (diag->error == HT_EUNSUPPORTED)
		return tool_error("%s: its trace is %s; %s%s does not decode that", in->path,
		                  source_name(in->info->source), in->engine ? "engine " : "this version of hwtrace",
		                  in->engine ? in->engine : "");
	return tool_fail(diag);
}

const char *
input_operand(const struct command *cmd, int argc, char **argv, int first, int *status)
{
	*status = EXIT_OK;
	if (argc - first > 1) {
		fprintf(stderr, "hwtrace %s: one capture at a time, '%s' is too many\n", cmd->name,
		        argv[first + 1]);
		*status = EXIT_USAGE;
		return NULL;
	}
	return first < argc ? argv[first] : NULL;
}
