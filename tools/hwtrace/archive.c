/* SPDX-License-Identifier: BSD-2-Clause */
/* hwtrace archive: a capture and the files that ran, in one file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/archive.h>

#include "input.h"

extern const struct command command_archive;

struct archive_opts {
	struct input_opts input;
	const char *out;
	int debug;
};

#define AT(field) offsetof(struct archive_opts, field)

static const struct opt archive_options[] = {
	INPUT_OPTS(struct archive_opts, input),
	{ 'o', "output", "FILE", OPT_STRING, AT(out), "archive to write (default: the capture's name and .tar.zst)" },
	{ 0, "debug", NULL, OPT_FLAG, AT(debug), "with the separate debug files that are installed here" },
	OPT_END
};

struct parts {
	struct ht_archive_part *at;
	size_t n;
	unsigned missing;
};

static void
add(struct parts *p, const char *path, const struct ht_module_info *info, const void *data, size_t size)
{
	struct ht_archive_part *part = &p->at[p->n++];

	*part = (struct ht_archive_part){ .path = path, .build_id_size = info->build_id_size, .data = data,
		                          .size = size };
	memcpy(part->build_id, info->build_id, sizeof(part->build_id));
}

/* What was mapped, but for anonymous memory: its bytes, if any, are in the capture. */
static int
collect(const struct input *in, int debug, struct parts *p)
{
	uint32_t n = ht_session_module_count(in->session);

	p->at = calloc(2 * (size_t)n + 1, sizeof(*p->at));
	if (!p->at)
		return tool_error("out of memory");
	for (uint32_t i = 0; i < n; i++) {
		struct ht_module *m = ht_session_module(in->session, i);
		const struct ht_module_info *info = ht_module_info(m);
		const void *data;
		size_t size;

		if (info->state == HT_MODULE_MEMORY && !info->is_names)
			continue;
		data = ht_module_image(m, &size);
		add(p, info->path, info, data, size);
		if (!data) {
			p->missing++;
			tool_warn("not archived: %s", info->why ? info->why : info->path);
		}
		if (data && debug && (data = ht_module_debug_image(m, &size)))
			add(p, HT_ARCHIVE_DEBUG, info, data, size);
	}
	return EXIT_OK;
}

static int
write_archive(const struct input *in, const struct archive_opts *o)
{
	struct parts parts = { 0 };
	struct ht_diag diag = { 0 };
	char *out = NULL;
	int status;

	if (o->out ? !(out = strdup(o->out)) : asprintf(&out, "%s.tar.zst", in->path) < 0)
		return tool_error("out of memory");
	if (!o->out && !strcmp(in->path, "-"))
		status = tool_error("the capture comes from a pipe: name the archive with -o");
	else if ((status = input_spare(&o->input, &in->path, 1, out, "-o")) == EXIT_OK)
		status = collect(in, o->debug, &parts);
	if (!status && ht_archive_write(out, in->container, parts.at, parts.n, &diag) < 0)
		status = tool_fail(&diag);
	if (!status)
		fprintf(stderr, "hwtrace: %s: the capture and %zu files%s\n", out, parts.n - parts.missing,
		        parts.missing ? ", not all that ran" : "");
	free(parts.at);
	free(out);
	return status;
}

static int
run_archive(int argc, char **argv)
{
	struct archive_opts opts = { .debug = 0 };
	struct input in = { 0 };
	const char *operand;
	int first = opts_parse_mixed(&command_archive, argc, argv, &opts), status;

	if (first < 0)
		return first == -2 ? EXIT_OK : EXIT_USAGE;
	operand = input_operand(&command_archive, argc, argv, first, &status);
	if (!status)
		status = input_open(&in, &opts.input, operand);
	if (!status)
		status = write_archive(&in, &opts);
	input_close(&in);
	return status;
}

const struct command command_archive = {
	.name = "archive",
	.args = "[FILE]",
	.summary = "Put a capture and the files that ran into one file",
	.opts = archive_options,
	.run = run_archive,
};
