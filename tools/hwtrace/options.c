/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

static int
complain(const struct command *cmd, const char *what, const char *arg)
{
	fprintf(stderr, "hwtrace %s: %s '%s'; see hwtrace %s --help\n", cmd->name, what, arg, cmd->name);
	return -1;
}

static int
parse_number(const char *text, int suffix, uint64_t *out)
{
	static const char units[] = "KMGT";
	const char *u;
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 0);
	if (errno || end == text || *text == '-')
		return -1;
	if (suffix && *end && (u = strchr(units, *end >= 'a' ? *end - 32 : *end))) {
		unsigned shift = 10 * (unsigned)(u - units + 1);

		if (*out > UINT64_MAX >> shift)
			return -1;
		*out <<= shift;
		end++;
		if (!strcmp(end, "iB") || !strcmp(end, "B"))
			end += strlen(end);
	}
	return *end ? -1 : 0;
}

static int
list_add(struct opt_list *list, const char *value)
{
	const char **at = realloc(list->at, (list->n + 2) * sizeof(*at));

	if (!at)
		return -1;
	at[list->n++] = value;
	at[list->n] = NULL;
	list->at = at;
	return 0;
}

static int
store(const struct command *cmd, const struct opt *o, const char *value, void *dest)
{
	void *field = (char *)dest + o->offset;

	switch (o->type) {
	case OPT_FLAG:
		*(int *)field = 1;
		return 0;
	case OPT_STRING:
		*(const char **)field = value;
		return 0;
	case OPT_UINT:
	case OPT_SIZE:
		if (parse_number(value, o->type == OPT_SIZE, field) < 0)
			return complain(cmd, o->type == OPT_SIZE ? "not a size:" : "not a number:", value);
		return 0;
	case OPT_LIST:
		return list_add(field, value);
	}
	return -1;
}

static const struct opt *
find_long(const struct command *cmd, const char *name, size_t len)
{
	for (const struct opt *o = cmd->opts; o && o->name; o++)
		if (strlen(o->name) == len && !strncmp(o->name, name, len))
			return o;
	return NULL;
}

static const struct opt *
find_letter(const struct command *cmd, char letter)
{
	for (const struct opt *o = cmd->opts; o && o->name; o++)
		if (o->letter == letter)
			return o;
	return NULL;
}

/* Parses the option at argv[i]; returns how many words it took, or < 0. */
static int
parse_one(const struct command *cmd, int argc, char **argv, int i, void *dest)
{
	const char *a = argv[i];
	const struct opt *o;
	const char *value = NULL;

	if (a[1] == '-') {
		const char *eq = strchr(a, '=');

		o = find_long(cmd, a + 2, eq ? (size_t)(eq - a - 2) : strlen(a + 2));
		if (!o && !strcmp(a, "--help")) {
			opts_usage(cmd, stdout);
			return -2;
		}
		if (!o)
			return complain(cmd, "unknown option", a);
		if (eq && !o->arg)
			return complain(cmd, "takes no value:", a);
		value = eq ? eq + 1 : NULL;
	} else {
		o = find_letter(cmd, a[1]);
		if (!o && a[1] == 'h' && !a[2]) {
			opts_usage(cmd, stdout);
			return -2;
		}
		if (!o)
			return complain(cmd, "unknown option", a);
		if (!o->arg && a[2])
			return complain(cmd, "one flag a word, please:", a);
		value = a[2] ? a + 2 : NULL;
	}
	if (o->arg && !value) {
		if (i + 1 >= argc)
			return complain(cmd, "needs a value:", a);
		return store(cmd, o, argv[i + 1], dest) < 0 ? -1 : 2;
	}
	return store(cmd, o, value, dest) < 0 ? -1 : 1;
}

int
opts_parse(const struct command *cmd, int argc, char **argv, void *dest)
{
	int i = 1;

	while (i < argc && argv[i][0] == '-' && argv[i][1]) {
		int n;

		if (!strcmp(argv[i], "--"))
			return i + 1;
		n = parse_one(cmd, argc, argv, i, dest);
		if (n < 0)
			return n;
		i += n;
	}
	return i;
}

int
opts_parse_mixed(const struct command *cmd, int argc, char **argv, void *dest)
{
	char **operands = calloc((size_t)argc + 1, sizeof(*operands));
	int n_operands = 0, i = 1, first = -1;

	if (!operands)
		return complain(cmd, "out of memory at", argv[0]);
	while (i < argc) {
		if (!strcmp(argv[i], "--")) {
			for (i++; i < argc; i++)
				operands[n_operands++] = argv[i];
		} else if (argv[i][0] == '-' && argv[i][1]) {
			int n = parse_one(cmd, argc, argv, i, dest);

			if (n < 0) {
				free(operands);
				return n;
			}
			i += n;
		} else {
			operands[n_operands++] = argv[i++];
		}
	}
	first = argc - n_operands;
	for (i = 0; i < n_operands; i++)
		argv[first + i] = operands[i];
	free(operands);
	return first;
}

void
opts_usage(const struct command *cmd, void *stream)
{
	int operands = cmd->args && cmd->args[0];

	fprintf(stream, "usage: hwtrace %s%s%s%s\n\n%s.\n", cmd->name,
	        cmd->opts && cmd->opts->name ? " [options]" : "", operands ? " " : "",
	        operands ? cmd->args : "", cmd->summary);
	for (const struct opt *o = cmd->opts; o && o->name; o++) {
		char left[64], letter[5] = "    ";

		if (o->letter)
			snprintf(letter, sizeof(letter), "-%c, ", o->letter);
		snprintf(left, sizeof(left), "%s--%s%s%s", letter, o->name, o->arg ? " " : "", o->arg ? o->arg : "");
		fprintf(stream, "%s  %-28s %s\n", o == cmd->opts ? "\n" : "", left, o->help);
	}
}
