/* SPDX-License-Identifier: BSD-2-Clause */
/* hwtrace info: what a capture holds, and what it lacks. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "info.h"
#include "progress.h"

extern const struct command command_info;

#define LOSSES_MAX 1000000 /* listed; more are counted: about 100 bytes each */

struct info_opts {
	struct input_opts input;
	struct filter_opts filter;
	struct where_opts where;
	int index, maps, decode, losses, json, fail_on_loss;
};

#define AT(field) offsetof(struct info_opts, field)

static const struct opt info_options[] = {
	INPUT_OPTS(struct info_opts, input),
	FILTER_OPTS(struct info_opts, filter),
	WHERE_OPTS(struct info_opts, where),
	{ 0, "maps", NULL, OPT_FLAG, AT(maps), "list every mapping" },
	{ 0, "decode", NULL, OPT_FLAG, AT(decode),
	  "decode, and count bytes, instructions and branches" },
	{ 0, "losses", NULL, OPT_FLAG, AT(losses),
	  "decode, and list every place where something is missing" },
	{ 0, "index", NULL, OPT_FLAG, AT(index),
	  "keep an index of times beside the capture, so that --time finds its place at once" },
	{ 0, "json", NULL, OPT_FLAG, AT(json), "one JSON object" },
	{ 0, "fail-on-loss", NULL, OPT_FLAG, AT(fail_on_loss),
	  "decode, and exit with status 65 when something was lost" },
	OPT_END
};

const char *
info_source_name(enum ht_trace_source source)
{
	static const char *const names[] = {
		[HT_SOURCE_NONE] = "no trace", [HT_SOURCE_INTEL_PT] = "Intel PT",
		[HT_SOURCE_INTEL_BTS] = "Intel BTS", [HT_SOURCE_CORESIGHT] = "CoreSight",
		[HT_SOURCE_ARM_SPE] = "Arm SPE", [HT_SOURCE_BRANCH_STACK] = "branch stacks",
		[HT_SOURCE_S390_CPUMSF] = "s390 CPU measurement", [HT_SOURCE_HISI_PTT] = "HiSilicon PTT",
		[HT_SOURCE_OTHER] = "other",
	};

	return (size_t)source < sizeof(names) / sizeof(*names) ? names[source] : "other";
}

const char *
info_arch_name(enum ht_arch arch)
{
	static const char *const names[] = {
		[HT_ARCH_UNKNOWN] = "unknown", [HT_ARCH_X86_64] = "x86-64", [HT_ARCH_X86_32] = "i386",
		[HT_ARCH_AARCH64] = "AArch64", [HT_ARCH_ARM] = "Arm",
	};

	return (size_t)arch < sizeof(names) / sizeof(*names) ? names[arch] : "unknown";
}

const char *
info_record_name(unsigned kind)
{
	static const char *const names[HT_REC_KIND_COUNT] = {
		[HT_REC_OTHER] = "other",     [HT_REC_MMAP] = "mmap",
		[HT_REC_MUNMAP] = "munmap",   [HT_REC_COMM] = "comm",
		[HT_REC_FORK] = "fork",       [HT_REC_EXIT] = "exit",
		[HT_REC_SWITCH] = "switch",   [HT_REC_ITRACE_START] = "itrace_start",
		[HT_REC_AUX] = "aux",         [HT_REC_LOST] = "lost",
		[HT_REC_CODE] = "code",       [HT_REC_SAMPLE] = "sample",
		[HT_REC_CONTEXT] = "context",
	};

	return kind < HT_REC_KIND_COUNT && names[kind] ? names[kind] : "other";
}

const char *
info_module_state(enum ht_module_state state)
{
	switch (state) {
	case HT_MODULE_FOUND: return "found";
	case HT_MODULE_MISSING: return "missing";
	case HT_MODULE_CHANGED: return "changed";
	case HT_MODULE_MEMORY: return "memory";
	default: return "untried";
	}
}

const char *
info_build_id(const uint8_t *id, unsigned size, char *buf)
{
	for (unsigned i = 0; i < size && i < HT_BUILD_ID_MAX; i++)
		memcpy(buf + 2 * i, ht_text_hex_pairs[id[i]], 2);
	buf[2 * (size < HT_BUILD_ID_MAX ? size : HT_BUILD_ID_MAX)] = 0;
	return buf;
}

uint64_t
info_decoded_by(const struct info_report *r, const char *engine)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < ht_container_stream_count(r->in->container); i++)
		if (r->figures[i].engine && !strcmp(r->figures[i].engine, engine))
			bytes += r->figures[i].stats.bytes_decoded;
	return bytes;
}

static int
count_records(struct info_report *r)
{
	struct ht_record rec;
	int err;

	ht_container_rewind(r->in->container);
	while ((err = ht_container_next(r->in->container, &rec)) != 0) {
		if (err < 0)
			r->damaged++;
		else if (rec.kind < HT_REC_KIND_COUNT)
			r->records[rec.kind]++;
	}
	return 0;
}

/* What passed the filter, in place of the decoder's own figures. */
static void
count_events(struct where *w, struct ht_view *view, struct ht_decoder_stats *sum,
             const struct ht_event *ev, int n)
{
	for (int i = 0; i < n; i++) {
		if (ev[i].kind == HT_EV_BLOCK)
			sum->instructions += w ? where_count(w, view, &ev[i]) : ev[i].n;
		else if (ev[i].kind == HT_EV_BRANCH)
			sum->branches += w ? where_count(w, view, &ev[i]) : 1;
		sum->gaps += ev[i].kind == HT_EV_GAP;
	}
}

static int
take_events(struct info_report *r, struct ht_decoder *d, struct ht_event *ev, int n,
            struct ht_decoder_stats *sum)
{
	n = filter_events(r->filter, d, ev, n);
	count_events(r->where, ht_decoder_view(d), sum, ev, n);
	for (int i = 0; i < n; i++) {
		const struct ht_gap *g = ev[i].kind == HT_EV_GAP ? ht_decoder_gap(d, ev[i].n) : NULL;

		if (g)
			loss_add(&r->loss, g);
	}
	return r->losses ? ht_losses_events(r->losses, d, ev, n) : 0;
}

static int
decode_stream(struct info_report *r, uint32_t stream, struct progress *p, uint64_t before)
{
	struct ht_decoder_config config = { .size = sizeof(config), .engine = r->in->engine,
		.start = r->filter->start[stream] };
	static struct ht_event ev[HT_BATCH];
	struct stream_figures *f = &r->figures[stream];
	struct ht_decoder_stats sum = { 0 };
	struct ht_decoder *d = NULL;
	struct ht_diag diag = { 0 };
	int n = 0, status = EXIT_OK;

	f->left_out = r->filter->skip[stream];
	if (f->left_out)
		return EXIT_OK;
	if (ht_decoder_new(r->in->session, stream, &config, &d, &diag) < 0)
		return input_decode_failed(r->in, &diag);
	filter_stream(r->filter);
	if (r->where)
		where_stream(r->where);
	while (!r->filter->over && (n = ht_decoder_next(d, ev, HT_BATCH)) > 0) {
		if (take_events(r, d, ev, n, &sum) < 0) {
			n = -HT_ENOMEM;
			break;
		}
		progress_at(p, before + ht_decoder_stats(d)->bytes_decoded);
	}
	if (r->losses)
		ht_losses_end_stream(r->losses);
	if (n == -HT_ENOMEM)
		status = tool_error("out of memory");
	else if (n < 0)
		status = tool_fail(ht_decoder_diag(d));
	f->stats = *ht_decoder_stats(d);
	f->engine = f->stats.engine;
	if (r->filter->active || r->where) {
		f->stats.instructions = sum.instructions;
		f->stats.branches = sum.branches;
		f->stats.gaps = sum.gaps;
	}
	ht_decoder_free(d);
	return status;
}

static int
decode_all(struct info_report *r)
{
	uint32_t n = ht_container_stream_count(r->in->container);
	struct progress p;
	uint64_t total = 0, before = 0;
	int status = EXIT_OK;

	r->figures = calloc(n + 1, sizeof(*r->figures));
	if (!r->figures)
		return tool_error("out of memory");
	for (uint32_t i = 0; i < n; i++)
		total += ht_container_stream(r->in->container, i)->bytes;
	progress_start(&p, "decoding", total);
	for (uint32_t i = 0; i < n && !status; i++) {
		status = decode_stream(r, i, &p, before);
		before += ht_container_stream(r->in->container, i)->bytes;
	}
	progress_end(&p);
	loss_add_session(&r->loss, r->in->session);
	if (r->losses && ht_losses_session(r->losses, r->in->session) < 0)
		return tool_error("out of memory");
	return status;
}

static void
report_free(struct info_report *r)
{
	ht_losses_free(r->losses);
	free(r->figures);
}

static int
write_report(const struct info_report *r, int json)
{
	struct ht_text t;
	int status = EXIT_OK;

	if (ht_text_init(&t, STDOUT_FILENO) < 0)
		return tool_error("out of memory");
	if (json)
		info_write_json(r, &t);
	else
		info_write_text(r, &t);
	ht_text_flush(&t);
	if (t.error && t.error != EPIPE)
		status = tool_error("standard output: %s", strerror(t.error));
	ht_text_fini(&t);
	return status;
}

static int
keep_index(const struct input *in)
{
	struct ht_diag diag = { 0 };
	struct ht_seek *seek;

	if (ht_seek_open(in->container, HT_SEEK_ALWAYS, &seek, &diag) < 0)
		return tool_fail(&diag);
	ht_seek_close(seek);
	return EXIT_OK;
}

static int
run_info(int argc, char **argv)
{
	struct info_opts opts = { .maps = 0 };
	struct input in = { 0 };
	struct filter filter = { .active = 0 };
	struct info_report r = { .in = &in, .filter = &filter };
	struct where *where = NULL;
	const char *operand;
	int first = opts_parse_mixed(&command_info, argc, argv, &opts), status, decode;

	if (first < 0)
		return first == -2 ? EXIT_OK : EXIT_USAGE;
	status = filter_parse(&filter, &opts.filter);
	decode = opts.where.dsos.n || opts.where.syms.n || opts.decode || opts.losses ||
	         opts.fail_on_loss || filter.active;
	r.with_maps = opts.maps;
	operand = status ? NULL : input_operand(&command_info, argc, argv, first, &status);
	if (!status)
		status = input_open(&in, &opts.input, operand);
	if (!status && opts.index)
		status = keep_index(&in);
	if (!status)
		status = filter_open(&filter, &in, 0);
	if (!status)
		status = count_records(&r);
	if (!status && (opts.where.dsos.n || opts.where.syms.n)) {
		r.where = where = calloc(1, sizeof(*where));
		if (!where || where_init(where, &opts.where, &in) < 0)
			status = tool_error("out of memory");
	}
	if (!status && opts.losses && ht_losses_new(LOSSES_MAX, &r.losses) < 0)
		status = tool_error("out of memory");
	if (!status && decode)
		status = decode_all(&r);
	if (!status)
		status = write_report(&r, opts.json);
	if (!status && decode)
		filter_tell_unmatched(&filter);
	if (!status && where)
		where_tell_unmatched(where);
	if (!status && decode)
		status = loss_report(&r.loss, opts.fail_on_loss);
	report_free(&r);
	filter_close(&filter);
	free(opts.filter.comms.at);
	if (where)
		where_fini(where);
	free(where);
	free(opts.where.dsos.at);
	free(opts.where.syms.at);
	input_close(&in);
	return status;
}

const struct command command_info = {
	.name = "info",
	.args = "[FILE]",
	.summary = "Tell what a capture holds, and what it lacks",
	.opts = info_options,
	.run = run_info,
};
