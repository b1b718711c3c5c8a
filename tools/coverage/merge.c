/* SPDX-License-Identifier: BSD-2-Clause */
/* hwtrace merge: reports and captures, of many runs and machines, into one report. */
#include <stdlib.h>

#include "load.h"

struct merge_opts {
	struct load_opts load;
	struct report_opts report;
	const char *append;
	int fail_on_loss;
};

#define AT(field) offsetof(struct merge_opts, field)
#define FORMAT_ROW(name, option, help) { 0, option, "FILE", OPT_STRING, AT(report.formats[COVER_##name]), help },

static const struct opt opts[] = {
	REPORT_OPTS(struct merge_opts, report),
	COVER_FORMATS(FORMAT_ROW)
	{ 0, "append", "DB", OPT_STRING, AT(append), "add the sum as a run to a database as --sqlite writes it" },
	LOAD_OPTS(struct merge_opts, load),
	{ 0, "fail-on-loss", NULL, OPT_FLAG, AT(fail_on_loss), "exit with status 65 when a capture lost trace" },
	OPT_END
};

static int run(int argc, char **argv);

const struct command command_merge = {
	"merge", "FILE...", "Add up coverage: captures, JSON reports and lcov tracefiles", opts, run, 0
};

static int
merge(const struct merge_opts *o, char **paths, int n)
{
	struct cover c = { 0 };
	struct ht_cov_report *r = NULL;
	int status, loss = EXIT_OK;

	status = cover_spare_inputs(&o->report, o->append, &o->load.input, paths, n);
	if (status == EXIT_OK)
		status = load_merged(&o->load, paths, n, &c, &r);
	if (status == EXIT_OK) {
		int told = cover_tell_missing(r);

		status = cover_write_report(&o->report, &c, r);
		if (status == EXIT_OK)
			status = told;
		if (o->append && cover_append_sqlite(o->append, &c, r) != EXIT_OK)
			status = EXIT_ERROR;
		if (c.decoded)
			loss = loss_report(&c.loss, o->fail_on_loss);
		if (status == EXIT_OK)
			status = cover_thresholds(&o->report, r);
		if (status == EXIT_OK)
			status = loss;
	}
	ht_cov_report_free(r);
	cover_free_sources(&c);
	return status;
}

static int
run(int argc, char **argv)
{
	struct merge_opts o = { 0 };
	int first = opts_parse_mixed(&command_merge, argc, argv, &o), status;

	if (first < 0)
		return first == -2 ? EXIT_OK : EXIT_USAGE;
	if (first == argc) {
		fprintf(stderr, "hwtrace merge: no file to merge; see hwtrace merge --help\n");
		status = EXIT_USAGE;
	} else if (cover_shared_place(&o.report)) {
		fprintf(stderr, "hwtrace merge: two reports cannot go to the same place; see hwtrace merge --help\n");
		status = EXIT_USAGE;
	} else if (cover_check_thresholds(&o.report, "merge") != EXIT_OK ||
	           cover_check_source_map(&o.load.source_map, "merge") != EXIT_OK) {
		status = EXIT_USAGE;
	} else {
		status = merge(&o, argv + first, argc - first);
	}
	free(o.load.modules.at);
	free(o.load.source_map.at);
	return status;
}
