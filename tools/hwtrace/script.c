/* SPDX-License-Identifier: BSD-2-Clause */
/* hwtrace script: the trace as lines of text, in perf's words. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hwtrace/script.h>

#include "filter.h"
#include "loss.h"
#include "progress.h"
#include "stack.h"

extern const struct command command_script;

struct script_opts {
	struct input_opts input;
	struct filter_opts filter;
	const char *itrace, *fields;
	struct opt_list dsos, syms;
	int call_trace, json, ns, no_demangle, fail_on_loss;
};

#define AT(field) offsetof(struct script_opts, field)

static const struct opt script_options[] = {
	INPUT_OPTS(struct script_opts, input),
	{ 0, "itrace", "LETTERS", OPT_STRING, AT(itrace), ITRACE_HELP },
	{ 'F', "fields", "LIST", OPT_STRING, AT(fields),
	  "columns: comm,tid,pid,cpu,time,event,period,flags,ip,sym,symoff,dso,addr,insn,insnlen,disasm,brstack; "
	  "+x adds to the usual ones, -x takes away" },
	FILTER_OPTS(struct script_opts, filter),
	{ 0, "dso", "FILE", OPT_LIST, AT(dsos), "only what runs in this file; may be given again" },
	{ 0, "sym", "NAME", OPT_LIST, AT(syms), "only what runs in this function; may be given again" },
	{ 0, "call-trace", NULL, OPT_FLAG, AT(call_trace), "calls alone, indented by depth" },
	{ 0, "json", NULL, OPT_FLAG, AT(json), "one JSON object a line" },
	{ 0, "no-demangle", NULL, OPT_FLAG, AT(no_demangle), "names of C++ and Rust symbols as they are in the file" },
	{ 0, "ns", NULL, OPT_FLAG, AT(ns), "times with nine decimals" },
	{ 0, "fail-on-loss", NULL, OPT_FLAG, AT(fail_on_loss), "exit with status 65 when something was lost" },
	OPT_END
};

#define FIELDS_USUAL (HT_FIELD_COMM | HT_FIELD_TID | HT_FIELD_TIME | HT_FIELD_PERIOD | HT_FIELD_EVENT | \
                      HT_FIELD_IP | HT_FIELD_SYM | HT_FIELD_SYMOFF | HT_FIELD_DSO | HT_FIELD_ADDR)
#define FIELDS_CALLS (HT_FIELD_COMM | HT_FIELD_TID | HT_FIELD_TIME | HT_FIELD_SYM | HT_FIELD_DSO)
#define FIELDS_JSON  (FIELDS_USUAL | HT_FIELD_PID | HT_FIELD_CPU | HT_FIELD_FLAGS)

/* perf makes the event column as wide as the longest name: intel_pt//u, else instructions:u. */
#define EVENT_WIDTH_MIN 11
#define EVENT_WIDTH_MAX 14

/* All that a run needs, in one place so that it is freed in one place. */
struct job {
	struct script_opts   opts;
	struct itrace        itrace;
	struct filter        filter;
	uint32_t             fields;
	struct input         in;
	struct loss          loss;
	struct ht_text       text;
	struct ht_merge     *merge;
	struct ht_script    *script;
	struct progress      progress;
};

static int
parse_fields(const char *text, uint32_t usual, uint32_t *out)
{
	const char *p = text;
	int sign = text && (*text == '+' || *text == '-');

	*out = sign || !text ? usual : 0;
	while (p && *p) {
		char how = *p == '+' || *p == '-' ? *p++ : 0;
		size_t len = strcspn(p, ",");
		uint32_t bit = ht_field_by_name(p, len);

		if (!bit || (!how && sign && p == text)) {
			fprintf(stderr, "hwtrace script: no field '%.*s'; there are:", (int)len, p);
			for (unsigned i = 0; ht_field_name(i); i++)
				fprintf(stderr, " %s", ht_field_name(i));
			fputc('\n', stderr);
			return -1;
		}
		*out = how == '-' ? *out & ~bit : *out | bit;
		p += len;
		p += *p == ',';
	}
	return 0;
}

static int
parse(struct job *j)
{
	uint32_t usual = j->opts.call_trace ? FIELDS_CALLS : j->opts.json ? FIELDS_JSON : FIELDS_USUAL;

	if (j->opts.call_trace && j->opts.json) {
		tool_error("--call-trace and --json exclude each other");
		return EXIT_USAGE;
	}
	if (itrace_parse(j->opts.itrace, &j->itrace) < 0 || parse_fields(j->opts.fields, usual, &j->fields) < 0)
		return EXIT_USAGE;
	return filter_parse(&j->filter, &j->opts.filter);
}

static int
start(struct job *j)
{
	struct ht_merge_config merge = {
		.size = sizeof(merge),
		.engine = j->in.engine,
		.branches = j->itrace.branches || j->itrace.calls || j->itrace.returns || j->opts.call_trace,
		.insn_period = j->opts.call_trace ? 0 : j->itrace.insn_period,
		.transactions = j->itrace.transactions,
		.ptwrites = j->itrace.ptwrites,
		.branch_flags = j->opts.call_trace || j->itrace.branches ? 0
		    : (j->itrace.calls ? HT_SF_CALL | HT_SF_BEGIN | HT_SF_END : 0) |
		      (j->itrace.returns ? HT_SF_RETURN | HT_SF_BEGIN : 0),
		.skip = j->filter.skip,
		/* Which is every Nth instruction depends on all before. */
		.start = j->itrace.insn_period > 1 && !j->opts.call_trace ? NULL : j->filter.start,
		.tsc_end = filter_tsc_end(&j->filter),
	};
	struct ht_script_config script = {
		.size = sizeof(script),
		.fields = j->fields,
		.style = j->opts.call_trace ? HT_SCRIPT_CALLS : j->opts.json ? HT_SCRIPT_JSON : HT_SCRIPT_TEXT,
		.nanoseconds = j->opts.ns,
		.mangled = j->opts.no_demangle,
		.dsos = j->opts.dsos.n ? j->opts.dsos.at : NULL,
		.syms = j->opts.syms.n ? j->opts.syms.at : NULL,
		.gaps = j->itrace.errors,
		.branch_addr = !j->opts.fields || !strstr(j->opts.fields, "addr"),
		.event_width = merge.transactions || merge.insn_period ? EVENT_WIDTH_MAX : EVENT_WIDTH_MIN,
	};
	struct ht_diag diag = { 0 };

	if (ht_text_init(&j->text, STDOUT_FILENO) < 0 ||
	    ht_script_new(j->in.session, &script, &j->text, &j->script) < 0)
		return tool_error("out of memory");
	if (ht_merge_new(j->in.session, &merge, &j->merge, &diag) < 0)
		return input_decode_failed(&j->in, &diag);
	return EXIT_OK;
}

static int
has_module(const struct ht_session *s, const char *name)
{
	for (uint32_t i = 0; i < ht_session_module_count(s); i++) {
		const char *path = ht_module_info(ht_session_module(s, i))->path, *slash = strrchr(path, '/');

		if (!strcmp(name, path) || (slash && !strcmp(name, slash + 1)))
			return 1;
	}
	return 0;
}

/* Names that nothing bore are mistyped more often than not. */
static void
warn_unmatched(const struct job *j)
{
	filter_tell_unmatched(&j->filter);
	for (size_t i = 0; i < j->opts.dsos.n; i++)
		if (j->opts.dsos.at[i][0] != '[' && !has_module(j->in.session, j->opts.dsos.at[i]))
			tool_warn("--dso %s: no file of this name in the capture; hwtrace info lists them",
			          j->opts.dsos.at[i]);
	for (size_t i = 0; i < j->opts.syms.n; i++)
		if (!ht_script_saw(j->script, i))
			tool_warn("--sym %s: no function of this name ran in what was decoded", j->opts.syms.at[i]);
}

/* A gap passes all filters but that of time. */
static void
show_gap(struct job *j, const struct ht_sample *x, const struct ht_lane *lane)
{
	const struct ht_gap *g = ht_decoder_gap(lane->decoder, (uint32_t)x->addr);

	if (!g || !filter_wants_gap(&j->filter, g))
		return;
	loss_add(&j->loss, g);
	ht_script_show(j->script, x, 1, lane);
}

/* A run in parts of equal time, each wanted or not. */
static void
show(struct job *j, const struct ht_sample *run, int n, const struct ht_lane *lane)
{
	const struct ht_clock *clock = &j->in.info->clock;

	for (int i = 0, k; i < n; i = k) {
		int same = !j->filter.active;
		uint64_t ns;

		k = i + 1;
		if (run[i].kind == HT_SAMPLE_GAP) {
			show_gap(j, &run[i], lane);
			continue;
		}
		while (k < n && run[k].kind != HT_SAMPLE_GAP && (same || run[k].tsc == run[i].tsc))
			k++;
		/* No ticks: no time was told yet. */
		ns = clock->valid && run[i].tsc ? ht_clock_tsc_to_ns(clock, run[i].tsc) : run[i].tsc;
		if (same || filter_wants(&j->filter, lane->pid, lane->tid, ns))
			ht_script_show(j->script, run + i, k - i, lane);
	}
}

/* Who was not traced stands first. */
static void
show_untraced(struct job *j)
{
	const struct ht_gap *g;

	for (uint32_t i = 0; (g = ht_session_gap(j->in.session, i)); i++)
		if ((g->kind == HT_GAP_UNTRACED || g->kind == HT_GAP_UNFOLLOWED) &&
		    filter_wants_gap(&j->filter, g))
			ht_script_show_gap(j->script, g);
}

static int
decode(struct job *j)
{
	const struct ht_sample *run;
	const struct ht_lane *lane;
	uint64_t total;
	int n;

	show_untraced(j);
	ht_merge_done(j->merge, &total);
	progress_start_printing(&j->progress, "decoding", total);
	while ((n = ht_merge_next(j->merge, &run, &lane)) > 0 && !j->text.error) {
		show(j, run, n, lane);
		progress_at(&j->progress, ht_merge_done(j->merge, &total));
	}
	progress_end(&j->progress);
	ht_text_flush(&j->text);
	if (j->text.error == EPIPE)
		return EXIT_OK; /* the reader has seen enough */
	if (j->text.error)
		return tool_error("standard output: %s", strerror(j->text.error));
	if (n < 0)
		return tool_fail(ht_merge_diag(j->merge));
	warn_unmatched(j);
	loss_add_session(&j->loss, j->in.session);
	return loss_report(&j->loss, j->opts.fail_on_loss);
}

/* Samples as they are recorded, nothing decoded. */
static int
stacks(struct job *j)
{
	struct stack_want want = {
		.fields = j->fields, .filter = &j->filter, .nanoseconds = j->opts.ns,
		.fail_on_loss = j->opts.fail_on_loss,
	};

	if (j->opts.call_trace || j->opts.json || j->opts.dsos.n || j->opts.syms.n) {
		tool_error("-F brstack shows whole samples: --call-trace, --json, --dso and --sym are for branches");
		return EXIT_USAGE;
	}
	return stack_show(&j->in, &want);
}

static void
finish(struct job *j)
{
	ht_script_free(j->script);
	ht_merge_free(j->merge);
	ht_text_fini(&j->text);
	input_close(&j->in);
	filter_close(&j->filter);
	free(j->opts.filter.comms.at);
	free(j->opts.dsos.at);
	free(j->opts.syms.at);
}

static int
run_script(int argc, char **argv)
{
	struct job j = { 0 };
	const char *operand = NULL;
	int first = opts_parse_mixed(&command_script, argc, argv, &j.opts);
	int status = first == -2 ? EXIT_OK : EXIT_USAGE;

	if (first < 0)
		return status;
	operand = input_operand(&command_script, argc, argv, first, &status);
	if (!status)
		status = parse(&j);
	if (!status)
		status = input_open(&j.in, &j.opts.input, operand);
	if (!status && !ht_container_stream_count(j.in.container))
		status = tool_error("%s: there is no trace in this capture", j.in.path);
	if (!status)
		status = filter_open(&j.filter, &j.in, !!(j.fields & HT_FIELD_BRSTACK));
	if (!status && j.fields & HT_FIELD_BRSTACK) {
		status = stacks(&j);
	} else {
		if (!status)
			status = start(&j);
		if (!status)
			status = decode(&j);
	}
	finish(&j);
	return status;
}

const struct command command_script = {
	.name = "script",
	.args = "[FILE]",
	.summary = "Show every branch or instruction as a line of text",
	.opts = script_options,
	.run = run_script,
};
