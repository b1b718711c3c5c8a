/* SPDX-License-Identifier: BSD-2-Clause */
/* hwtrace annotate: a function's source beside its instructions, with counts. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "listing.h"

struct annotate_opts {
	struct input_opts input;
	struct opt_list modules;
	int all_modules;
	const char *output;
};

#define AT(field) offsetof(struct annotate_opts, field)

static const struct opt opts[] = {
	INPUT_OPTS(struct annotate_opts, input),
	{ 'o', "output", "FILE", OPT_STRING, AT(output), "write here instead of to standard output" },
	{ 0, "module", "GLOB", OPT_LIST, AT(modules), "look in the modules whose path or base name matches" },
	{ 0, "all-modules", NULL, OPT_FLAG, AT(all_modules), "look in the system's libraries too" },
	OPT_END
};

static int run(int argc, char **argv);

const struct command command_annotate = {
	"annotate", "FUNCTION [FILE]...", "Show a function's source beside its instructions, with counts", opts, run, 0
};

struct out {
	FILE *f;
	struct listing listing;
	const char *file; /* that was named last */
};

static const char *
count_text(char buf[24], uint64_t count, unsigned state)
{
	if (count)
		snprintf(buf, 24, "%llu", (unsigned long long)count);
	else
		strcpy(buf, state == HT_COV_UNKNOWN ? "?????" : "#####");
	return buf;
}

static void
print_source(void *arg, const char *path, uint32_t number, const struct ht_cov_line *line)
{
	struct out *o = arg;
	char count[24] = "-";
	const char *text;
	size_t n;

	if (path != o->file)
		fprintf(o->f, "%12s       %s:\n", "", cover_path(path));
	o->file = path;
	if (line)
		count_text(count, line->count, line->state);
	text = listing_source(&o->listing, path, number, &n);
	fprintf(o->f, "%12s:%5u:", count, number);
	fwrite(text, 1, n, o->f);
	putc('\n', o->f);
}

static void
print_insn(void *arg, const struct ht_cov_insn *i)
{
	struct out *o = arg;
	char text[HT_DISASM_TEXT], count[24];

	listing_insn(&o->listing, i, text);
	fprintf(o->f, "%12s  %8llx:  %s",
	        count_text(count, i->count, i->doubt ? HT_COV_UNKNOWN : HT_COV_NOT_HIT),
	        (unsigned long long)i->addr, text);
	if (i->insn == HT_INSN_COND && (i->taken || i->not_taken || !i->doubt))
		fprintf(o->f, "  [taken %llu, not taken %llu%s]", (unsigned long long)i->taken,
		        (unsigned long long)i->not_taken,
		        i->doubt && (!i->taken || !i->not_taken) ? " or unknown" : "");
	fputc('\n', o->f);
}

static void
print_part(void *arg, uint64_t vaddr)
{
	struct out *o = arg;

	fprintf(o->f, "%12s  %8llx:  (another part of it)\n", "", (unsigned long long)vaddr);
}

static int
print_function(struct out *o, const struct cover *c, const struct ht_cov_report *r,
               const struct ht_cov_function *fn)
{
	static const struct listing_ops ops = { print_source, print_insn, print_part };
	int status = listing_open(&o->listing, c, r, fn->module);

	if (status != EXIT_OK)
		return status;
	o->file = NULL;
	fprintf(o->f, "%s (%s, 0x%llx)", fn->shown, cover_path(r->modules[fn->module].path),
	        (unsigned long long)fn->addr);
	if (fn->state == HT_COV_HIT)
		fprintf(o->f, ": entries %llu", (unsigned long long)fn->count);
	else
		fprintf(o->f, ": %s",
		        fn->state == HT_COV_UNKNOWN ? "unknown whether it ran" : "did not run");
	if (fn->inlined)
		fprintf(o->f,
		        "; %u of its %u copies are inlined, this is the code around the first",
		        fn->inlined, fn->copies);
	fputc('\n', o->f);
	listing_walk(&o->listing, fn->addr, &ops, o);
	fputc('\n', o->f);
	return EXIT_OK;
}

/* -- choice --------------------------------------------------------------- */

/* By name, in the source, of the linker or in full, without parameters too; by glob; by address. */
static int
matches(const struct ht_cov_function *fn, const char *what)
{
	size_t n = strlen(what);
	char *end;

	if (!strcmp(fn->name, what) || !strcmp(fn->shown, what) || (fn->linkage && !strcmp(fn->linkage, what)))
		return 1;
	if (!strncmp(fn->shown, what, n) && fn->shown[n] == '(')
		return 1;
	if (!strncmp(what, "0x", 2) && strtoull(what, &end, 16) == fn->addr && !*end)
		return 1;
	return strpbrk(what, "*?[") && !fnmatch(what, fn->shown, 0);
}

static int
annotate(const struct annotate_opts *o, const char *what, char **paths, int n)
{
	struct ht_cov_config config = { .size = sizeof(config), .modules = o->modules.at,
		.all_modules = o->all_modules, .all_functions = 1 };
	const char *path = o->output ? o->output : "-";
	struct ht_cov_report *r = NULL;
	struct out l = { NULL };
	struct cover c = { 0 };
	struct ht_diag diag = { 0 };
	uint32_t found = 0;
	int status = input_spare(&o->input, (const char *const *)paths, n, o->output, "-o");

	if (status == EXIT_OK)
		status = cover_open_inputs(&c, &o->input, NULL, paths, n);
	if (status == EXIT_OK && ht_cov_report_new(c.counts, &config, &r, &diag) < 0)
		status = tool_fail(&diag);
	l.f = status == EXIT_OK ? cover_open(path) : NULL;
	for (uint32_t i = 0; l.f && i < r->n_functions && status == EXIT_OK; i++)
		if (matches(&r->functions[i], what)) {
			found++;
			status = print_function(&l, &c, r, &r->functions[i]);
		}
	if (l.f && cover_close(l.f, path) != EXIT_OK)
		status = EXIT_ERROR;
	if (l.f && !found && status == EXIT_OK)
		status = tool_error("no function '%s'; hwtrace coverage --functions lists them, --all-modules looks in "
		                    "the system's libraries too", what);
	if (l.f)
		loss_report(&c.loss, 0);
	listing_free(&l.listing);
	ht_cov_report_free(r);
	cover_close_inputs(&c);
	return status == EXIT_OK || l.f ? status : status == EXIT_USAGE ? EXIT_USAGE : EXIT_ERROR;
}

static int
run(int argc, char **argv)
{
	struct annotate_opts o = { 0 };
	int first = opts_parse_mixed(&command_annotate, argc, argv, &o), status;

	if (first < 0)
		return first == -2 ? EXIT_OK : EXIT_USAGE;
	if (first == argc) {
		fprintf(stderr, "hwtrace annotate: which function? see hwtrace annotate --help\n");
		status = EXIT_USAGE;
	} else {
		status = annotate(&o, argv[first], argv + first + 1, argc - first - 1);
	}
	free(o.modules.at);
	return status;
}
