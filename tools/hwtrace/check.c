/* SPDX-License-Identifier: BSD-2-Clause */
/* hwtrace check: why a backend cannot be used, gate by gate, and how to open it. */
#include <stdio.h>

#include <hwtrace/capture.h>

#include "command.h"

static int run(int argc, char **argv);

const struct command command_check = {
	"check", "", "Tell for each backend what it needs and what is missing", NULL, run, 0
};

static void
show(const struct ht_backend_info *info)
{
	printf("%s: %s\n", info->name, info->usable ? "usable" : "not usable");
	for (unsigned i = 0; i < info->n_gates; i++) {
		const struct ht_gate *g = &info->gates[i];

		printf("  %-4s %-22s %s\n", g->open ? "ok" : "no", g->name, g->state);
		if (!g->open && g->remedy[0])
			printf("       %-22s -> %s\n", "", g->remedy);
	}
}

static int
run(int argc, char **argv)
{
	struct ht_backend_info info;
	int first = opts_parse(&command_check, argc, argv, NULL), best = -1;

	if (first < 0)
		return first == -2 ? EXIT_OK : EXIT_USAGE;
	if (first < argc)
		return tool_error("check takes no operands"), EXIT_USAGE;
	/* Status 0: the best of those that this version records with is usable. */
	for (unsigned i = 0; ht_backend_probe(i, &info) == 0; i++) {
		show(&info);
		if (best < 0 && info.can_record)
			best = info.usable;
	}
	return best == 1 ? EXIT_OK : EXIT_ERROR;
}
