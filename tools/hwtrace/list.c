/* SPDX-License-Identifier: BSD-2-Clause */
/* hwtrace list: the backends and what each can do here. */
#include <stdio.h>

#include <hwtrace/capture.h>

#include "command.h"

static int run(int argc, char **argv);

const struct command command_list = {
	"list", "", "List what can record here, best first", NULL, run, 0
};

static int
run(int argc, char **argv)
{
	struct ht_backend_info info;
	int first = opts_parse(&command_list, argc, argv, NULL), any = 0;

	if (first < 0)
		return first == -2 ? EXIT_OK : EXIT_USAGE;
	if (first < argc)
		return tool_error("list takes no operands"), EXIT_USAGE;
	printf("%-10s %-7s %-9s %-7s %s\n", "backend", "usable", "timing", "attach", "what it is");
	for (unsigned i = 0; ht_backend_probe(i, &info) == 0; i++) {
		printf("%-10s %-7s %-9s %-7s %s\n", info.name, info.usable ? "yes" : "no", info.timing,
		       info.can_attach ? "yes" : "no", info.summary);
		any |= info.usable;
	}
	if (!any)
		tool_warn("none is usable; hwtrace check tells why");
	return EXIT_OK;
}
