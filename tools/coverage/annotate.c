/* SPDX-License-Identifier: BSD-2-Clause */
/* hwtrace annotate: a function's source beside its instructions, with counts. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/disasm.h>
#include <hwtrace/line.h>

#include "cover.h"

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

/* The source at hand: lines are asked for in any order, mostly forward. */
struct source {
	char  *path; /* NULL = none */
	FILE  *f;
	char  *text;
	size_t size;
	uint32_t line; /* that `text` is; 0 = none */
};

struct listing {
	FILE *out;
	const struct ht_cov_report *report;
	struct ht_cov_code *code;
	struct ht_module   *module;
	struct ht_disasm   *disasm;
	struct source       source;
	const char         *file; /* that was named last */
};

/* -- source --------------------------------------------------------------- */

static void
source_close(struct source *s)
{
	if (s->f)
		fclose(s->f);
	free(s->path);
	free(s->text);
	memset(s, 0, sizeof(*s));
}

/* Text of a line; "" when it is not to be had. */
static const char *
source_line(struct source *s, const char *path, uint32_t line)
{
	if (!s->path || strcmp(s->path, path)) {
		source_close(s);
		s->path = strdup(path);
		s->f = fopen(path, "r");
		if (!s->f)
			tool_warn("%s: cannot be read: its lines are shown without text", path);
	}
	if (s->f && line <= s->line) {
		rewind(s->f);
		s->line = 0;
	}
	while (s->f && s->line < line) {
		if (getline(&s->text, &s->size, s->f) <= 0)
			return "";
		s->line++;
	}
	if (!s->f || !s->text)
		return "";
	s->text[strcspn(s->text, "\n")] = '\0';
	return s->text;
}

static int
path_order(const void *key, const void *file)
{
	return strcmp(key, ((const struct ht_cov_file *)file)->path);
}

static int
line_order(const void *key, const void *line)
{
	uint32_t x = *(const uint32_t *)key, y = ((const struct ht_cov_line *)line)->line;

	return x < y ? -1 : x > y;
}

static const struct ht_cov_line *
find_line(const struct ht_cov_report *r, const char *path, uint32_t line)
{
	const struct ht_cov_file *f = r->n_files ? bsearch(path, r->files, r->n_files, sizeof(*f), path_order) : NULL;

	return f && f->n_lines ? bsearch(&line, f->lines, f->n_lines, sizeof(*f->lines), line_order) : NULL;
}

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
print_source(struct listing *l, const struct ht_line_row *row)
{
	const char *path = ht_lines_file(ht_cov_code_lines(l->code), row->file);
	const struct ht_cov_line *line;
	char count[24] = "-";

	if (!path || !row->line)
		return;
	if (path != l->file)
		fprintf(l->out, "%12s       %s:\n", "", cover_path(path));
	l->file = path;
	line = find_line(l->report, path, row->line);
	if (line)
		count_text(count, line->count, line->state);
	fprintf(l->out, "%12s:%5u:%s\n", count, row->line, source_line(&l->source, path, row->line));
}

/* -- instructions --------------------------------------------------------- */

static void
print_insn(struct listing *l, const struct ht_cov_insn *i)
{
	uint8_t bytes[HT_INSN_MAX];
	char text[HT_DISASM_TEXT], count[24];

	ht_disasm_text(l->disasm, i->addr, bytes, ht_module_read(l->module, i->addr, bytes, sizeof(bytes)), text);
	fprintf(l->out, "%12s  %8llx:  %s", count_text(count, i->count, i->lost ? HT_COV_UNKNOWN : HT_COV_NOT_HIT),
	        (unsigned long long)i->addr, text);
	if (i->insn == HT_INSN_COND && (i->taken || i->not_taken || !i->lost))
		fprintf(l->out, "  [taken %llu, not taken %llu%s]", (unsigned long long)i->taken,
		        (unsigned long long)i->not_taken,
		        i->lost && (!i->taken || !i->not_taken) ? " or unknown" : "");
	fputc('\n', l->out);
}

static void
print_part(struct listing *l, uint64_t vaddr)
{
	size_t n;
	const struct ht_cov_insn *insns = ht_cov_code_function(l->code, vaddr, &n);
	const struct ht_lines *lines = ht_cov_code_lines(l->code);
	const struct ht_line_row *before = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct ht_line_row *row = lines ? ht_lines_find(lines, insns[i].addr) : NULL;

		if (row && (!before || row->file != before->file || row->line != before->line))
			print_source(l, row);
		if (row)
			before = row;
		print_insn(l, &insns[i]);
	}
}

/* Parts of the function that lie elsewhere, as cold code does. */
static void
print_other_parts(struct listing *l, uint64_t vaddr)
{
	const struct ht_lines *lines = ht_cov_code_lines(l->code);
	const struct ht_line_function *f = lines ? ht_lines_function_at(lines, vaddr) : NULL, *all;
	uint32_t count;

	if (!f)
		return;
	all = ht_lines_functions(lines, &count);
	while (f->parent != HT_LINE_NONE)
		f = &all[f->parent];
	for (uint32_t i = 0; i < f->n_ranges; i++) {
		const struct ht_range *r = &ht_lines_ranges(lines)[f->first_range + i];

		if (vaddr >= r->start && vaddr < r->end)
			continue;
		fprintf(l->out, "%12s  %8llx:  (another part of it)\n", "", (unsigned long long)r->start);
		print_part(l, r->start);
	}
}

static int
print_function(struct listing *l, const struct cover *c, const struct ht_cov_function *fn)
{
	const struct ht_cov_module *m = &l->report->modules[fn->module];

	if (ht_cov_code_open(c->counts, fn->module, &l->code) < 0)
		return tool_error("out of memory");
	l->module = ht_coverage_handle(c->counts, fn->module);
	l->file = NULL;
	if (ht_disasm_new(ht_cov_code_arch(l->code), &l->disasm) < 0) {
		ht_cov_code_close(l->code);
		return tool_error("%s: no disassembler for its architecture", m->path);
	}
	fprintf(l->out, "%s (%s, 0x%llx)", fn->shown, cover_path(m->path), (unsigned long long)fn->addr);
	if (fn->state == HT_COV_HIT)
		fprintf(l->out, ": entries %llu", (unsigned long long)fn->count);
	else
		fprintf(l->out, ": %s", fn->state == HT_COV_UNKNOWN ? "unknown whether it ran" : "did not run");
	if (fn->inlined)
		fprintf(l->out, "; %u of its %u copies are inlined, this is the code around the first", fn->inlined,
		        fn->copies);
	fputc('\n', l->out);
	print_part(l, fn->addr);
	print_other_parts(l, fn->addr);
	fputc('\n', l->out);
	ht_disasm_free(l->disasm);
	ht_cov_code_close(l->code);
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
	struct listing l = { NULL };
	struct cover c = { 0 };
	struct ht_diag diag = { 0 };
	uint32_t found = 0;
	int status = cover_open_inputs(&c, &o->input, paths, n);

	if (status == EXIT_OK && ht_cov_report_new(c.counts, &config, &r, &diag) < 0)
		status = tool_fail(&diag);
	l.report = r;
	l.out = status == EXIT_OK ? cover_open(path) : NULL;
	for (uint32_t i = 0; l.out && i < r->n_functions && status == EXIT_OK; i++)
		if (matches(&r->functions[i], what)) {
			found++;
			status = print_function(&l, &c, &r->functions[i]);
		}
	if (l.out && cover_close(l.out, path) != EXIT_OK)
		status = EXIT_ERROR;
	if (l.out && !found && status == EXIT_OK)
		status = tool_error("no function '%s'; hwtrace coverage --functions lists them, --all-modules looks in "
		                    "the system's libraries too", what);
	if (l.out)
		loss_report(&c.loss, 0);
	source_close(&l.source);
	ht_cov_report_free(r);
	cover_close_inputs(&c);
	return status == EXIT_OK || l.out ? status : status == EXIT_USAGE ? EXIT_USAGE : EXIT_ERROR;
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
