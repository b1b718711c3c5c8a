/* SPDX-License-Identifier: BSD-2-Clause */
/* hwtrace completion: code for bash and zsh, made from the tables of commands and options. */
#include <stdio.h>
#include <string.h>

#include "command.h"

extern const struct command command_completion;

static const struct opt completion_options[] = { OPT_END };

/* What the shell completes after an option that takes a value. */
static const char *
value_kind(const struct opt *o)
{
	if (!o->arg)
		return "";
	if (strstr(o->arg, "FILE"))
		return "file";
	if (strstr(o->arg, "DIR"))
		return "dir";
	return "other";
}

/* The command runs a program: what follows "--" is completed as a command line of its own. */
static int
takes_program(const struct command *c)
{
	return c->args && (strstr(c->args, "CMD") || strstr(c->args, "COMMAND"));
}

/* ... and without "--" its operands are files. */
static int
takes_files_too(const struct command *c)
{
	return takes_program(c) && strstr(c->args, "FILE");
}

/* Operands are words to choose from, as in "bash|zsh". */
static int
takes_words(const struct command *c)
{
	return c->args && strchr(c->args, '|') && !strpbrk(c->args, "[ ");
}

static void
bash_options(const struct command *c, int valued)
{
	for (const struct opt *o = c->opts; o && o->name; o++) {
		if (valued && !o->arg)
			continue;
		printf(" --%s", o->name);
		if (o->letter)
			printf(" -%c", o->letter);
	}
}

/* A case arm for the options whose value is of `kind`. */
static void
bash_values(const struct command *c, const char *kind, const char *action)
{
	int n = 0;

	for (const struct opt *o = c->opts; o && o->name; o++) {
		if (strcmp(value_kind(o), kind))
			continue;
		printf("%s--%s", n++ ? "|" : "\t\t", o->name);
		if (o->letter)
			printf("|-%c", o->letter);
	}
	if (n)
		printf(") %sreturn ;;\n", action);
}

static void
bash_command(const struct command *c)
{
	printf("\t%s)\n\t\tcase $prev in\n", c->name);
	bash_values(c, "file", "COMPREPLY=($(compgen -f -- \"$cur\")); ");
	bash_values(c, "dir", "COMPREPLY=($(compgen -d -- \"$cur\")); ");
	bash_values(c, "other", "");
	fputs("\t\tesac\n\t\topts='", stdout);
	bash_options(c, 0);
	fputs(" --help'\n", stdout);
	if (takes_program(c)) {
		fputs("\t\tvalued='", stdout);
		bash_options(c, 1);
		fputs("'\n", stdout);
	}
	if (takes_words(c)) {
		fputs("\t\twords='", stdout);
		for (const char *p = c->args; *p; p++)
			putchar(*p == '|' ? ' ' : *p);
		fputs("'\n", stdout);
	}
	printf("\t\toperands=%s", c->args && c->args[0] ? "files" : "");
	if (takes_program(c) && !takes_files_too(c))
		fputs(" operands=program", stdout);
	printf(" program=%d ;;\n", takes_program(c));
}

static void
print_bash(void)
{
	fputs("# bash completion for hwtrace\n"
	      "_hwtrace()\n{\n"
	      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	      "\tlocal opts= words= valued= operands= program=0 at=0 i\n"
	      "\tCOMPREPLY=()\n"
	      "\tif ((COMP_CWORD == 1)); then\n\t\tCOMPREPLY=($(compgen -W '", stdout);
	for (const struct command *const *c = commands; *c; c++)
		if (!(*c)->hidden)
			printf("%s ", (*c)->name);
	fputs("--help --version' -- \"$cur\"))\n\t\treturn\n\tfi\n"
	      "\tcase ${COMP_WORDS[1]} in\n", stdout);
	for (const struct command *const *c = commands; *c; c++)
		if (!(*c)->hidden)
			bash_command(*c);
	/* Where the command line of another program begins, it is completed as that. */
	fputs("\tesac\n"
	      "\tfor ((i = 2; program && i < COMP_CWORD; i++)); do\n"
	      "\t\tcase ${COMP_WORDS[i]} in\n"
	      "\t\t--) at=$((i + 1)); break ;;\n"
	      "\t\t-*) if [[ \" $valued \" == *\" ${COMP_WORDS[i]} \"* ]]; then\n"
	      "\t\t\t((i++))\n"
	      "\t\t\t[[ ${COMP_WORDS[i]} == = ]] && ((i++))\n"
	      "\t\t    fi ;;\n"
	      "\t\t*) if [[ $operands == program ]]; then at=$i; break; fi ;;\n"
	      "\t\tesac\n\tdone\n"
	      "\tif ((at)); then\n"
	      "\t\tif declare -F _command_offset >/dev/null; then _command_offset $at\n"
	      "\t\telif ((at == COMP_CWORD)); then COMPREPLY=($(compgen -c -f -- \"$cur\"))\n"
	      "\t\telse COMPREPLY=($(compgen -f -- \"$cur\")); fi\n"
	      "\t\treturn\n\tfi\n"
	      "\tcase $cur in\n"
	      "\t-*) COMPREPLY=($(compgen -W \"$opts\" -- \"$cur\")) ;;\n"
	      "\t*) if [[ $words ]]; then COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
	      "\t   elif [[ $operands == program ]]; then\n"
	      "\t\tCOMPREPLY=($(compgen -c -f -- \"$cur\"))\n"
	      "\t   elif [[ $operands == files ]]; then\n"
	      "\t\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n"
	      "\t   fi ;;\n"
	      "\tesac\n}\n"
	      "complete -o filenames -F _hwtrace hwtrace\n", stdout);
}

/* Inside '...[...]...' of _arguments: brackets and colons have a meaning, and a quote ends the word. */
static void
zsh_text(const char *text)
{
	for (const char *p = text; *p; p++) {
		if (*p == '\'')
			fputs("'\\''", stdout);
		else {
			if (strchr("[]:\\", *p))
				putchar('\\');
			putchar(*p);
		}
	}
}

static void
zsh_option(const struct opt *o)
{
	const char *action = !strcmp(value_kind(o), "file") ? "_files"
	                     : !strcmp(value_kind(o), "dir") ? "_files -/" : "";

	for (int form = o->letter ? 0 : 1; form < 2; form++) {
		fputs("\t\t\t'", stdout);
		if (o->type == OPT_LIST)
			putchar('*');
		if (form)
			printf("--%s%s[", o->name, o->arg ? "=" : "");
		else
			printf("-%c%s[", o->letter, o->arg ? "+" : "");
		zsh_text(o->help);
		putchar(']');
		if (o->arg) {
			putchar(':');
			zsh_text(o->arg);
			printf(":%s", action);
		}
		fputs("' \\\n", stdout);
	}
}

static void
zsh_operands(const struct command *c)
{
	if (takes_words(c)) {
		fputs("\t\t\t'1:word:(", stdout);
		for (const char *p = c->args; *p; p++)
			putchar(*p == '|' ? ' ' : *p);
		fputs(")'\n\t\t;;\n", stdout);
	} else if (takes_program(c) && !takes_files_too(c)) {
		fputs("\t\t\t'(-)1:program:_command_names -e' '*::arguments:_normal'\n"
		      "\t\t;;\n", stdout);
	} else if (c->args && c->args[0]) {
		fputs("\t\t\t'*:file:_files'\n\t\t;;\n", stdout);
	} else {
		fputs("\t\t\t&& return\n\t\t;;\n", stdout);
	}
}

/* Behind "--" stands the command line of another program. */
static void
zsh_program(void)
{
	fputs("\t\tif ((dashes < CURRENT)); then\n"
	      "\t\t\tshift dashes words\n"
	      "\t\t\t((CURRENT -= dashes))\n"
	      "\t\t\t_normal\n"
	      "\t\t\treturn\n"
	      "\t\tfi\n", stdout);
}

static void
print_zsh(void)
{
	fputs("#compdef hwtrace\n"
	      "# zsh completion for hwtrace\n"
	      /* "commands" and the like are names that zsh's own functions look up. */
	      "_hwtrace() {\n\tlocal -a hwtrace_commands\n\thwtrace_commands=(\n", stdout);
	for (const struct command *const *c = commands; *c; c++)
		if (!(*c)->hidden) {
			printf("\t\t'%s:", (*c)->name);
			zsh_text((*c)->summary);
			fputs("'\n", stdout);
		}
	fputs("\t)\n"
	      "\tif ((CURRENT == 2)); then\n"
	      "\t\t_describe command hwtrace_commands\n"
	      "\t\treturn\n"
	      "\tfi\n"
	      "\tshift words\n"
	      "\t((CURRENT--))\n"
	      "\tlocal dashes=${words[(i)--]}\n"
	      "\tcase $words[1] in\n", stdout);
	for (const struct command *const *c = commands; *c; c++) {
		if ((*c)->hidden)
			continue;
		printf("\t%s)\n", (*c)->name);
		if (takes_program(*c))
			zsh_program();
		fputs("\t\t_arguments -S \\\n", stdout);
		for (const struct opt *o = (*c)->opts; o && o->name; o++)
			zsh_option(o);
		fputs("\t\t\t'--help[show the options]' \\\n", stdout);
		zsh_operands(*c);
	}
	fputs("\tesac\n}\n_hwtrace \"$@\"\n", stdout);
}

static int
run_completion(int argc, char **argv)
{
	struct { int unused; } opts = { 0 };
	int first = opts_parse_mixed(&command_completion, argc, argv, &opts);

	if (first < 0)
		return first == -2 ? EXIT_OK : EXIT_USAGE;
	if (argc - first == 1 && !strcmp(argv[first], "bash"))
		print_bash();
	else if (argc - first == 1 && !strcmp(argv[first], "zsh"))
		print_zsh();
	else {
		fprintf(stderr, "hwtrace completion: name the shell, bash or zsh\n");
		return EXIT_USAGE;
	}
	return fflush(stdout) ? tool_error("standard output: write failed") : EXIT_OK;
}

const struct command command_completion = {
	.name = "completion",
	.args = "bash|zsh",
	.summary = "Print completion code for a shell",
	.opts = completion_options,
	.run = run_completion,
};
