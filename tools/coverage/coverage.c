/* SPDX-License-Identifier: BSD-2-Clause */
/* hwtrace coverage: which lines, branches and functions ran, of captures or of a command that is recorded for it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hwtrace/capture.h>

#include "cover.h"

struct cover_opts {
	struct input_opts input;
	struct filter_opts filter;
	struct report_opts report;
	struct opt_list modules, include, exclude, source_map;
	int all_modules, all_functions, no_markers;
	const char *append, *trace, *backend;
	uint64_t jobs;
	int no_inherit, fail_on_loss;
};

#define JOBS_MAX 1024u

#define AT(field) offsetof(struct cover_opts, field)
#define FORMAT_ROW(name, option, help) { 0, option, "FILE", OPT_STRING, AT(report.formats[COVER_##name]), help },

static const struct opt opts[] = {
	INPUT_OPTS(struct cover_opts, input),
	FILTER_OPTS(struct cover_opts, filter),
	REPORT_OPTS(struct cover_opts, report),
	COVER_FORMATS(FORMAT_ROW){
	    0, "calls", NULL, OPT_FLAG, AT(report.calls),
	    "list calls and jumps through tables, with the targets that were seen" },
	{ 0, "append", "DB", OPT_STRING, AT(append),
	  "add this run to a database as --sqlite writes it" },
	{ 0, "module", "GLOB", OPT_LIST, AT(modules),
	  "cover the modules whose path or base name matches" },
	{ 0, "all-modules", NULL, OPT_FLAG, AT(all_modules), "cover the system's libraries too" },
	{ 0, "all-functions", NULL, OPT_FLAG, AT(all_functions),
	  "functions without lines too, where others have them" },
	{ 0, "include", "GLOB", OPT_LIST, AT(include),
	  "only source files whose path or base name matches" },
	{ 0, "exclude", "GLOB", OPT_LIST, AT(exclude),
	  "leave out source files whose path or base name matches" },
	{ 0, "source-map", "OLD=NEW", OPT_LIST, AT(source_map),
	  "sources under OLD are found under NEW" },
	{ 0, "no-markers", NULL, OPT_FLAG, AT(no_markers),
	  "count what LCOV_EXCL and GCOV_EXCL marks take out, too" },
	{ 0, "fail-on-loss", NULL, OPT_FLAG, AT(fail_on_loss),
	  "exit with status 65 when trace was lost" },
	{ 'j', "jobs", "N", OPT_UINT, AT(jobs),
	  "decode with N threads (default: one for each processor)" },
	{ 0, "trace", "FILE", OPT_STRING, AT(trace), "with a command: keep its trace in FILE" },
	{ 'b', "backend", "NAME", OPT_STRING, AT(backend),
	  "with a command: what records (the best that works)" },
	{ 0, "no-inherit", NULL, OPT_FLAG, AT(no_inherit), "with a command: not what it starts" },
	OPT_END
};

static int run(int argc, char **argv);

const struct command command_coverage = {
	"coverage", "[FILE]... | -- COMMAND [ARGUMENT]...", "Show which lines, branches and functions ran", opts, run, 0
};

/* -- a command ------------------------------------------------------------ */

static void
note(void *arg, const char *text)
{
	(void)arg;
	tool_warn("%s", text);
}

/* Status that a shell would give the program; 0 = it went well.  Says so when it did not. */
static int
program_status(int wait_status)
{
	if (WIFSIGNALED(wait_status)) {
		fprintf(stderr, "hwtrace: the program was killed by signal %d (%s)\n", WTERMSIG(wait_status),
		        strsignal(WTERMSIG(wait_status)));
		return 128 + WTERMSIG(wait_status);
	}
	if (WEXITSTATUS(wait_status))
		fprintf(stderr, "hwtrace: the program ended with status %d\n", WEXITSTATUS(wait_status));
	return WEXITSTATUS(wait_status);
}

/* Record `argv` into `path`; the program's status in *program. */
static int
record(const struct cover_opts *o, char **argv, const char *path, int *program)
{
	struct ht_capture_config config = { .size = sizeof(config), .backend = o->backend, .output = path,
		.argv = argv, .flags = o->no_inherit ? HT_CAPTURE_NO_INHERIT : 0, .note = note };
	struct ht_capture_result result;
	struct ht_diag diag = { 0 };

	if (ht_capture_run(&config, &result, &diag) < 0)
		return tool_record_fail(&diag);
	*program = program_status(result.wait_status);
	return EXIT_OK;
}

/* -- report --------------------------------------------------------------- */

/* What a table cannot show goes to stderr.  A report about nothing at all is a failure. */
static int
tell(const struct ht_cov_report *r)
{
	int status = cover_tell_missing(r), chosen = 0;

	for (uint32_t i = 0; i < r->n_modules; i++) {
		const struct ht_cov_module *m = &r->modules[i];

		chosen |= m->chosen;
		if (m->damaged_units)
			tool_warn("%s: %u units of its debug information could not be read", m->path,
			          m->damaged_units);
		if (m->split_missing)
			tool_warn(
			    "%s: the split debug information of %u of its units was not found as .dwo "
			    "files or in a .dwp: functions there are known by symbols, inlined ones not at all",
			    m->path, m->split_missing);
	}
	for (uint32_t i = 0; i < r->n_files; i++)
		if (r->files[i].unclosed)
			tool_warn("%s:%u: a range of marks without EXCL_STOP: all to the end of the file is left out",
			          r->files[i].path, r->files[i].unclosed);
	for (uint32_t i = 0; i < r->n_modules; i++)
		if (r->modules[i].without_lines)
			tool_warn("%s: %u function%s without line information %s left out, %s "
			          "among them; "
			          "--all-functions counts them",
			          r->modules[i].path, r->modules[i].without_lines,
			          r->modules[i].without_lines == 1 ? "" : "s",
			          r->modules[i].without_lines == 1 ? "is" : "are",
			          r->modules[i].first_without);
	if (r->unresolved)
		tool_warn("%llu instructions ran in memory that belongs to no known file",
		          (unsigned long long)r->unresolved);
	if (!chosen)
		return tool_error("no module of the capture was chosen; --all-modules or --module GLOB "
		                  "chooses others");
	return status;
}

/* Choices that leave nothing over are a mistake: a report of nothing looks like one of a program that never ran. */
static int
check_choices(const struct cover_opts *o, const struct ht_cov_report *r)
{
	if (r->n_files)
		return EXIT_OK;
	if (o->include.n)
		return tool_error(
		    "no source file matches --include; the table without it lists all");
	if (o->report.source)
		return tool_error("--source: no module of the report has line information; "
		                  "--functions shows what ran");
	return EXIT_OK;
}

static int
report(const struct cover_opts *o, struct cover *c)
{
	struct ht_cov_config config = { .size = sizeof(config), .modules = o->modules.at,
		.all_modules = o->all_modules, .all_functions = o->all_functions,
		.include = o->include.at, .exclude = o->exclude.at, .source_map = o->source_map.at,
		.no_markers = o->no_markers };
	struct ht_cov_report *r;
	struct ht_diag diag = { 0 };
	int status, written;

	if (ht_cov_report_new(c->counts, &config, &r, &diag) < 0)
		return tool_fail(&diag);
	status = tell(r);
	if (status == EXIT_OK)
		status = check_choices(o, r);
	written = cover_write_report(&o->report, c, r);
	if (o->append && cover_append_sqlite(o->append, c, r) != EXIT_OK)
		written = EXIT_ERROR;
	if (status == EXIT_OK)
		status = written;
	if (status == EXIT_OK)
		status = cover_thresholds(&o->report, r);
	ht_cov_report_free(r);
	return status;
}

/* -- command line --------------------------------------------------------- */

/* Report on `n` captures; EXIT_LOSS only when nothing else is wrong. */
static int
cover(const struct cover_opts *o, char **paths, int n)
{
	struct cover c = { .jobs = (unsigned)o->jobs };
	int status = cover_spare_inputs(&o->report, o->append, &o->input, paths, n), loss;

	if (status != EXIT_OK)
		return status;
	status = cover_open_inputs(&c, &o->input, &o->filter, paths, n);
	if (status != EXIT_USAGE && c.n_inputs && c.inputs[c.n_inputs - 1].session) {
		int rc = report(o, &c);

		loss = loss_report(&c.loss, o->fail_on_loss);
		if (status == EXIT_OK)
			status = rc != EXIT_OK ? rc : loss;
	}
	cover_close_inputs(&c);
	return status;
}

/* The words of a command with blanks between them; NULL: out of memory. */
static char *
command_text(char **argv)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	for (int i = 0; f && argv[i]; i++)
		fprintf(f, "%s%s", i ? " " : "", argv[i]);
	if (f)
		fclose(f);
	return text;
}

static int
cover_command(struct cover_opts *o, char **argv)
{
	const char *dir = getenv("TMPDIR");
	char *path = NULL, *made = NULL, *command = NULL;
	int program = 0, status;

	if (o->trace ? !(path = strdup(o->trace)) :
	    asprintf(&made, "%s/hwtrace-XXXXXX", dir && *dir ? dir : "/tmp") < 0)
		return tool_error("out of memory");
	/* Not after the program ran, where that can be told. */
	if (path && cover_spare_inputs(&o->report, o->append, &o->input, &path, 1) != EXIT_OK) {
		free(path);
		return EXIT_ERROR;
	}
	if (made && !mkdtemp(made)) {
		status = tool_error("%s: cannot be made: %s", made, strerror(errno));
		free(made);
		return status;
	}
	if (made && asprintf(&path, "%s/perf.data", made) < 0)
		path = NULL;
	if (made)
		o->input.own = command = command_text(argv);
	status = path && (command || !made) ? record(o, argv, path, &program)
	                                    : tool_error("out of memory");
	if (status == EXIT_OK)
		status = cover(o, &path, 1);
	if (made) {
		if (path)
			unlink(path);
		rmdir(made);
	}
	free(path);
	free(made);
	free(command);
	return program ? program : status;
}

static int
usage_error(const char *text)
{
	fprintf(stderr, "hwtrace coverage: %s; see hwtrace coverage --help\n", text);
	return EXIT_USAGE;
}

static int
run(int argc, char **argv)
{
	struct cover_opts o = { 0 };
	int dashes = 1, first, status;

	while (dashes < argc && strcmp(argv[dashes], "--"))
		dashes++;
	first = opts_parse_mixed(&command_coverage, dashes, argv, &o);
	if (first < 0)
		return first == -2 ? EXIT_OK : EXIT_USAGE;
	if (o.jobs > JOBS_MAX) {
		status = usage_error("--jobs: that many threads no machine has");
	} else if (cover_shared_place(&o.report)) {
		status = usage_error("two reports cannot go to the same place");
	} else if (cover_check_thresholds(&o.report, "coverage") != EXIT_OK ||
	           cover_check_source_map(&o.source_map, "coverage") != EXIT_OK) {
		status = EXIT_USAGE;
	} else if (dashes < argc) {
		if (first < dashes || o.input.file || o.input.pt)
			status = usage_error("a capture and a command are one too many");
		else if (dashes + 1 == argc)
			status = usage_error("no command after --");
		else
			status = cover_command(&o, argv + dashes + 1);
	} else if (o.trace || o.backend || o.no_inherit) {
		status = usage_error("--trace, --backend and --no-inherit need a command after --");
	} else {
		status = cover(&o, argv + first, argc - first);
	}
	free(o.modules.at);
	free(o.include.at);
	free(o.source_map.at);
	free(o.exclude.at);
	free(o.filter.comms.at);
	return status;
}
