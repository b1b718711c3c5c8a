/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "cover.h"

int
cover_add_source(struct cover *c, const char *path)
{
	char **more = reallocarray(c->sources, c->n_sources + 1, sizeof(*more));

	if (more) {
		c->sources = more;
		more[c->n_sources] = strdup(path);
	}
	if (!more || !more[c->n_sources])
		return tool_error("out of memory");
	c->n_sources++;
	return EXIT_OK;
}

static int
text_order(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void
cover_sort_sources(struct cover *c)
{
	if (c->n_sources)
		qsort(c->sources, c->n_sources, sizeof(*c->sources), text_order);
}

void
cover_free_sources(struct cover *c)
{
	for (size_t i = 0; i < c->n_sources; i++)
		free(c->sources[i]);
	free(c->sources);
}
