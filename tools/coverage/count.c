/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include <hwtrace/decoder.h>

#include "cover.h"
#include "progress.h"

/* One stream into the counts.  A stream that no engine decodes is told, the others go on. */
static int
count_stream(struct cover *c, struct input *in, uint32_t i, struct progress *bar, uint64_t before)
{
	struct ht_decoder_config config = { .size = sizeof(config), .engine = in->engine,
		.want = HT_DECODE_BLOCKS | HT_DECODE_BRANCHES };
	struct ht_event batch[HT_BATCH];
	struct ht_decoder *d;
	struct ht_diag diag = { 0 };
	int n, rc = 0;

	if (ht_decoder_new(in->session, i, &config, &d, &diag) < 0)
		return tool_fail(&diag);
	while (rc == 0 && (n = ht_decoder_next(d, batch, HT_BATCH)) > 0) {
		rc = ht_coverage_events(c->counts, ht_decoder_view(d), batch, n);
		for (int k = 0; k < n; k++)
			if (batch[k].kind == HT_EV_GAP)
				loss_add(&c->loss, ht_decoder_gap(d, batch[k].n));
		progress_at(bar, before + ht_decoder_stats(d)->bytes_decoded);
	}
	if (rc == 0 && n < 0)
		rc = tool_fail(ht_decoder_diag(d));
	else if (ht_coverage_end_stream(c->counts) < 0 || rc < 0)
		rc = tool_error("out of memory while counting");
	ht_decoder_free(d);
	return rc ? EXIT_ERROR : EXIT_OK;
}

int
cover_count(struct cover *c, struct input *in)
{
	uint32_t n = ht_container_stream_count(in->container);
	uint64_t total = 0, done = 0;
	struct progress bar;
	int status = EXIT_OK;

	c->software |= in->info->software;
	if (!n)
		return tool_error("%s: holds no trace to decode; hwtrace info %s tells what it holds", in->path,
		                  in->path);
	for (uint32_t i = 0; i < n; i++)
		total += ht_container_stream(in->container, i)->bytes;
	progress_start(&bar, "decoding", total);
	for (uint32_t i = 0; i < n; i++) {
		if (count_stream(c, in, i, &bar, done) != EXIT_OK)
			status = EXIT_ERROR;
		done += ht_container_stream(in->container, i)->bytes;
	}
	progress_end(&bar);
	loss_add_session(&c->loss, in->session);
	if (ht_coverage_add_session(c->counts, in->session) < 0)
		return tool_error("out of memory while counting");
	return status;
}

int
cover_open_inputs(struct cover *c, const struct input_opts *o, char **paths, int n)
{
	int status = EXIT_OK;

	c->inputs = calloc(n ? (size_t)n : 1, sizeof(*c->inputs));
	if (!c->inputs || ht_coverage_new(&c->counts) < 0)
		return tool_error("out of memory");
	do {
		struct input *in = &c->inputs[c->n_inputs];
		int rc = input_open(in, o, n ? paths[c->n_inputs] : NULL);

		c->n_inputs++;
		if (rc != EXIT_OK)
			return rc;
		if (cover_count(c, in) != EXIT_OK || cover_add_source(c, in->path) != EXIT_OK)
			status = EXIT_ERROR;
	} while (c->n_inputs < (size_t)n);
	return status;
}

void
cover_close_inputs(struct cover *c)
{
	ht_coverage_free(c->counts);
	for (size_t i = 0; i < c->n_inputs; i++)
		input_close(&c->inputs[i]);
	free(c->inputs);
	cover_free_sources(c);
}
