/* SPDX-License-Identifier: BSD-2-Clause */
/* hwtrace record: run a program and keep its trace.  The exit status is the program's own. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hwtrace/capture.h>

#include "command.h"

struct record_opts {
	const char     *output, *backend;
	uint64_t pid, overwrite, buffer, psb_period, branch_period;
	int             no_inherit, no_retcomp, cyc, quiet;
	struct opt_list modules, filters;
};

#define NOT_GIVEN UINT64_MAX

static const struct opt opts[] = {
	{ 'o', "output", "FILE", OPT_STRING, offsetof(struct record_opts, output),
	  "file to write (perf.data); an older one is kept as FILE.old" },
	{ 'b', "backend", "NAME", OPT_STRING, offsetof(struct record_opts, backend),
	  "what records; hwtrace list names them (the best that works)" },
	{ 'p', "pid", "PID", OPT_UINT, offsetof(struct record_opts, pid),
	  "attach to a process that runs already" },
	{ 0, "no-inherit", NULL, OPT_FLAG, offsetof(struct record_opts, no_inherit),
	  "record the first process only, none of its children" },
	{ 0, "module", "GLOB", OPT_LIST, offsetof(struct record_opts, modules),
	  "record only inside modules whose path or base name matches" },
	{ 0, "filter", "RANGE", OPT_LIST, offsetof(struct record_opts, filters),
	  "record only inside 0xSTART-0xEND or SYMBOL[+LENGTH]@MODULE" },
	{ 0, "overwrite", "SIZE", OPT_SIZE, offsetof(struct record_opts, overwrite),
	  "keep the last SIZE bytes of each thread's trace only" },
	{ 0, "buffer", "SIZE", OPT_SIZE, offsetof(struct record_opts, buffer),
	  "size of each thread's buffer" },
	{ 0, "no-return-compression", NULL, OPT_FLAG, offsetof(struct record_opts, no_retcomp),
	  "write the target of every return" },
	{ 0, "cyc", NULL, OPT_FLAG, offsetof(struct record_opts, cyc),
	  "cycle packets (the software trace unit counts instructions)" },
	{ 0, "psb-period", "BYTES", OPT_SIZE, offsetof(struct record_opts, psb_period),
	  "trace bytes between points where decoding can start" },
	{ 0, "sample-branches", "N", OPT_UINT, offsetof(struct record_opts, branch_period),
	  "in place of the trace keep a branch stack every N branches taken" },
	{ 'q', "quiet", NULL, OPT_FLAG, offsetof(struct record_opts, quiet),
	  "leave out the closing line" },
	OPT_END
};

static void
note(void *arg, const char *text)
{
	(void)arg;
	tool_warn("%s", text);
}

/* End as the program did: its status, or by the signal that killed it. */
static int
end_as(int wait_status)
{
	struct rlimit none = { 0, 0 };
	int sig;
	sigset_t set;

	if (WIFEXITED(wait_status))
		return WEXITSTATUS(wait_status);
	if (!WIFSIGNALED(wait_status))
		return 0;
	sig = WTERMSIG(wait_status);
	setrlimit(RLIMIT_CORE, &none); /* the core that counts is the program's */
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	fflush(NULL);
	raise(sig);
	return 128 + sig;
}

static void
closing_line(const struct ht_capture_result *r, int sampled, const char *output)
{
	char samples[64] = "";

	if (sampled)
		snprintf(samples, sizeof(samples), "%llu samples of ",
		         (unsigned long long)r->samples);
	fprintf(stderr,
	        "hwtrace record: backend %s, %u process%s, %u thread%s, %s%llu bytes of trace, "
	        "%llu bytes lost, %s\n",
	        r->backend, r->processes, r->processes == 1 ? "" : "es", r->threads,
	        r->threads == 1 ? "" : "s", samples, (unsigned long long)r->trace_bytes,
	        (unsigned long long)r->lost_bytes, output);
}

/* The command line as it was typed, for the file. */
static char **
typed(int argc, char **argv)
{
	char **all = calloc((size_t)argc + 2, sizeof(*all));

	if (all) {
		all[0] = (char *)"hwtrace";
		memcpy(all + 1, argv, (size_t)argc * sizeof(*all));
	}
	return all;
}

static int run(int argc, char **argv);

const struct command command_record = {
	"record", "[--] COMMAND [ARGUMENT]... | -p PID", "Run a program and record every branch it takes", opts, run, 0
};

static int
check_opts(const struct record_opts *o, int operands)
{
	if (o->pid != NOT_GIVEN && operands)
		return tool_error("record: -p PID and a command are one too many");
	if (o->pid == NOT_GIVEN && !operands)
		return tool_error("record: no command to run; see hwtrace record --help");
	if (o->branch_period == 0)
		return tool_error("record: --sample-branches 0 would keep nothing");
	if (o->overwrite == 0)
		return tool_error("record: --overwrite 0 would keep nothing");
	if (o->pid != NOT_GIVEN && (o->pid == 0 || o->pid > INT32_MAX))
		return tool_error("record: not a process: %llu", (unsigned long long)o->pid);
	if (o->overwrite != NOT_GIVEN && o->buffer)
		return tool_error("record: --overwrite and --buffer both give the size of the buffer; choose one");
	return 0;
}

static int
run(int argc, char **argv)
{
	struct record_opts o = { .output = "perf.data",
		                 .pid = NOT_GIVEN,
		                 .overwrite = NOT_GIVEN,
		                 .branch_period = NOT_GIVEN };
	char **cmdline = typed(argc, argv);
	int first = opts_parse(&command_record, argc, argv, &o);
	struct ht_capture_result result;
	struct ht_diag diag = { 0 };
	struct ht_capture_config config = { .size = sizeof(config), .note = note, .cmdline = cmdline };
	int rc;

	if (first < 0 || check_opts(&o, argc - first)) {
		free(cmdline);
		return first == -2 ? EXIT_OK : EXIT_RECORD;
	}
	config.backend = o.backend;
	config.output = o.output;
	config.argv = o.pid != NOT_GIVEN ? NULL : argv + first;
	config.pid = o.pid != NOT_GIVEN ? (pid_t)o.pid : 0;
	config.flags = (o.no_inherit ? HT_CAPTURE_NO_INHERIT : 0) | (o.no_retcomp ? HT_CAPTURE_NO_RETCOMP : 0) |
	               (o.cyc ? HT_CAPTURE_CYC : 0) | (o.overwrite != NOT_GIVEN ? HT_CAPTURE_OVERWRITE : 0);
	config.buffer_bytes = o.overwrite != NOT_GIVEN ? o.overwrite : o.buffer;
	config.psb_period = o.psb_period > UINT32_MAX ? UINT32_MAX : (uint32_t)o.psb_period;
	config.branch_period = o.branch_period == NOT_GIVEN ? 0 : o.branch_period;
	config.modules = o.modules.at;
	config.filters = o.filters.at;
	rc = ht_capture_run(&config, &result, &diag);
	free(cmdline);
	free(o.modules.at);
	free(o.filters.at);
	if (rc < 0)
		return tool_record_fail(&diag);
	if (!o.quiet)
		closing_line(&result, config.branch_period != 0, o.output);
	return end_as(result.wait_status);
}
