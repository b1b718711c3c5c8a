/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include <hwtrace/parallel.h>

#include "cover.h"
#include "progress.h"

/* What is known of a stretch of one stream. */
struct part {
	struct ht_coverage *counts;
	struct loss loss;
};

struct counting {
	struct cover *cover;
	struct ht_session *session;
	struct progress bar;
	int status;
};

static void
part_close(void *arg)
{
	struct part *p = arg;

	if (p)
		ht_coverage_free(p->counts);
	free(p);
}

static void *
part_open(void)
{
	struct part *p = calloc(1, sizeof(*p));

	if (p && ht_coverage_new(&p->counts) < 0) {
		free(p);
		p = NULL;
	}
	return p;
}

static int
part_events(void *arg, struct ht_decoder *d, const struct ht_event *ev, int n)
{
	struct part *p = arg;

	for (int k = 0; k < n; k++)
		if (ev[k].kind == HT_EV_GAP)
			loss_add(&p->loss, ht_decoder_gap(d, ev[k].n));
	return ht_coverage_events(p->counts, ht_decoder_view(d), ev, n);
}

static void
part_forget(void *arg)
{
	struct part *p = arg;

	ht_coverage_forget(p->counts);
	memset(&p->loss, 0, sizeof(p->loss));
}

static int
part_end(void *arg)
{
	return ht_coverage_end_stream(((struct part *)arg)->counts);
}

static int
part_merge(void *into, const void *from)
{
	struct part *to = into;
	const struct part *p = from;

	loss_merge(&to->loss, &p->loss);
	return ht_coverage_merge(to->counts, p->counts);
}

/* A stream that no engine decodes is told, the others go on. */
static int
stream_done(void *arg, uint32_t stream, const void *part, const struct ht_diag *diag)
{
	struct counting *job = arg;
	const struct part *p = part;

	if (diag->error) {
		const struct ht_stream *s = ht_container_stream(ht_session_container(job->session), stream);

		job->status = tool_fail(diag);
		if (ht_coverage_lose(job->cover->counts, job->session, s->pid) < 0)
			return -HT_ENOMEM;
	}
	if (!p)
		return 0;
	loss_merge(&job->cover->loss, &p->loss);
	return ht_coverage_merge(job->cover->counts, p->counts);
}

/* What the filter lets pass: stream by stream, in order. */
static int
count_stream(struct cover *c, struct input *in, uint32_t i, struct counting *job, uint64_t before)
{
	struct ht_decoder_config config = { .size = sizeof(config), .engine = in->engine,
		.want = HT_DECODE_BLOCKS | HT_DECODE_BRANCHES | HT_DECODE_TIME, .start = c->filter.start[i] };
	struct ht_event batch[HT_BATCH];
	struct part part = { .counts = c->counts };
	struct ht_decoder *d;
	struct ht_diag diag = { 0 };
	int n = 0, rc = 0;

	if (c->filter.skip[i])
		return 0;
	if (ht_decoder_new(in->session, i, &config, &d, &diag) < 0)
		return stream_done(job, i, NULL, &diag);
	filter_stream(&c->filter);
	while (rc == 0 && !c->filter.over && (n = ht_decoder_next(d, batch, HT_BATCH)) > 0) {
		rc = part_events(&part, d, batch, filter_events(&c->filter, d, batch, n));
		progress_at(&job->bar, before + ht_decoder_stats(d)->bytes_decoded);
	}
	if (rc == 0 && n < 0)
		rc = stream_done(job, i, NULL, ht_decoder_diag(d));
	if (rc == 0)
		rc = part_end(&part);
	loss_merge(&c->loss, &part.loss);
	ht_decoder_free(d);
	return rc;
}

static int
count_filtered(struct cover *c, struct input *in, struct counting *job)
{
	uint64_t before = 0;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < ht_container_stream_count(in->container); i++) {
		rc = count_stream(c, in, i, job, before);
		before += ht_container_stream(in->container, i)->bytes;
	}
	return rc;
}

static void
show_progress(void *arg, uint64_t bytes)
{
	progress_at(&((struct counting *)arg)->bar, bytes);
}

int
cover_count(struct cover *c, struct input *in)
{
	static const struct ht_parallel_sink sink = {
		.open = part_open,
		.events = part_events,
		.forget = part_forget,
		.end = part_end,
		.merge = part_merge,
		.close = part_close,
		.done = stream_done,
		.progress = show_progress,
	};
	struct ht_parallel_config config = { .size = sizeof(config),
		                             .engine = in->engine,
		                             .want = HT_DECODE_BLOCKS | HT_DECODE_BRANCHES,
		                             .jobs = c->jobs };
	struct counting job = { .cover = c, .session = in->session, .status = EXIT_OK };
	uint32_t n = ht_container_stream_count(in->container);
	uint64_t total = 0;
	int rc;

	c->software |= in->info->software;
	if (!n)
		return tool_error("%s: holds no trace to decode; hwtrace info %s tells what it holds", in->path,
		                  in->path);
	for (uint32_t i = 0; i < n; i++)
		total += ht_container_stream(in->container, i)->bytes;
	/* Before anything is counted, so that modules have their order from the capture. */
	rc = ht_coverage_add_session(c->counts, in->session);
	progress_start(&job.bar, "decoding", total);
	if (rc == 0 && c->filter.active)
		rc = count_filtered(c, in, &job);
	else if (rc == 0)
		rc = ht_parallel_decode(in->session, &config, &sink, &job);
	progress_end(&job.bar);
	loss_add_session(&c->loss, in->session);
	return rc < 0 ? tool_error("%s: %s while counting", in->path, ht_strerror(rc)) : job.status;
}

static int
open_filter(struct cover *c, const struct filter_opts *o, struct input *in)
{
	int rc = filter_parse(&c->filter, o);

	if (rc == EXIT_OK)
		rc = filter_open(&c->filter, in, 0);
	if (rc != EXIT_OK) {
		filter_close(&c->filter);
		input_close(in); /* there is nothing to report of it */
	}
	return rc;
}

int
cover_open_inputs(struct cover *c, const struct input_opts *o, const struct filter_opts *f, char **paths, int n)
{
	int status = EXIT_OK;

	c->inputs = calloc(n ? (size_t)n : 1, sizeof(*c->inputs));
	if (!c->inputs || ht_coverage_new(&c->counts) < 0)
		return tool_error("out of memory");
	do {
		struct input *in = &c->inputs[c->n_inputs];
		int rc = input_open(in, o, n ? paths[c->n_inputs] : NULL);

		c->n_inputs++;
		if (rc == EXIT_OK && f)
			rc = open_filter(c, f, in);
		if (rc != EXIT_OK)
			return rc;
		if (cover_count(c, in) != EXIT_OK ||
		    cover_add_source(c, o->own ? o->own : in->path) != EXIT_OK)
			status = EXIT_ERROR;
		if (f)
			filter_tell_unmatched(&c->filter);
		filter_close(&c->filter);
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
