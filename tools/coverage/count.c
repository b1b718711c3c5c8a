/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
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

/* -- what the filter lets pass ------------------------------------------------ */

/* What came of one stream, until those in front of it are done. */
struct slice {
	struct part *part;
	struct ht_diag diag;
	int ready;
};

/* Streams that several threads take one by one; what changes is under the lock. */
struct sharing {
	struct counting *job;
	struct input *in;
	pthread_mutex_t lock;
	struct slice *slices;
	uint32_t n, next, done;
	uint64_t bytes;
	int rc;
};

static int
advance(struct sharing *sh, uint64_t bytes)
{
	int rc;

	pthread_mutex_lock(&sh->lock);
	sh->bytes += bytes;
	progress_at(&sh->job->bar, sh->bytes);
	rc = sh->rc;
	pthread_mutex_unlock(&sh->lock);
	return rc;
}

static int
count_stream(struct sharing *sh, struct filter *f, uint32_t i, struct slice *out)
{
	struct ht_decoder_config config = { .size = sizeof(config),
		                            .engine = sh->in->engine,
		                            .want = HT_DECODE_BLOCKS | HT_DECODE_BRANCHES |
		                                    HT_DECODE_TIME,
		                            .start = f->start[i] };
	struct ht_event batch[HT_BATCH];
	struct ht_decoder *d;
	uint64_t before = 0;
	int n = 0, rc = 0;

	if (f->skip[i] || ht_decoder_new(sh->in->session, i, &config, &d, &out->diag) < 0)
		return 0;
	out->part = part_open();
	rc = out->part ? 0 : -HT_ENOMEM;
	filter_stream(f);
	while (rc == 0 && !f->over && (n = ht_decoder_next(d, batch, HT_BATCH)) > 0) {
		uint64_t at = ht_decoder_stats(d)->bytes_decoded;

		rc = part_events(out->part, d, batch, filter_events(f, d, batch, n));
		if (rc == 0)
			rc = advance(sh, at - before);
		before = at;
	}
	if (rc == 0 && n < 0)
		out->diag = *ht_decoder_diag(d);
	if (rc == 0)
		rc = part_end(out->part);
	ht_decoder_free(d);
	return rc;
}

/* A slice is there: those that no other one must come in front of are added, in order. */
static void
hand_in(struct sharing *sh, struct slice *slice, int rc)
{
	slice->ready = 1;
	if (rc < 0 && sh->rc == 0)
		sh->rc = rc;
	for (; sh->done < sh->n && sh->slices[sh->done].ready; sh->done++) {
		struct slice *s = &sh->slices[sh->done];

		if (sh->rc == 0 && (s->part || s->diag.error))
			sh->rc = stream_done(sh->job, sh->done, s->part, &s->diag);
		part_close(s->part);
		s->part = NULL;
	}
}

static void *
count_streams(void *arg)
{
	struct sharing *sh = arg;
	struct filter *all = &sh->job->cover->filter, mine;
	int rc = filter_fork(&mine, all);

	pthread_mutex_lock(&sh->lock);
	while (rc == 0 && sh->rc == 0 && sh->next < sh->n) {
		uint32_t i = sh->next++;

		pthread_mutex_unlock(&sh->lock);
		rc = count_stream(sh, &mine, i, &sh->slices[i]);
		pthread_mutex_lock(&sh->lock);
		hand_in(sh, &sh->slices[i], rc);
	}
	if (rc < 0 && sh->rc == 0)
		sh->rc = rc;
	filter_join(all, &mine);
	pthread_mutex_unlock(&sh->lock);
	return NULL;
}

static int
count_filtered(struct cover *c, struct input *in, struct counting *job)
{
	struct sharing sh = { .job = job, .in = in, .n = ht_container_stream_count(in->container) };
	unsigned jobs = c->jobs ? c->jobs : ht_parallel_processors(), made = 0;
	pthread_t *threads;

	if (jobs > sh.n)
		jobs = sh.n;
	sh.slices = calloc(sh.n + 1, sizeof(*sh.slices));
	threads = calloc(jobs + 1, sizeof(*threads));
	if (sh.slices && threads) {
		pthread_mutex_init(&sh.lock, NULL);
		ht_session_settle(in->session);
		while (made + 1 < jobs && !pthread_create(&threads[made], NULL, count_streams, &sh))
			made++;
		count_streams(&sh);
		while (made)
			pthread_join(threads[--made], NULL);
		pthread_mutex_destroy(&sh.lock);
	} else {
		sh.rc = -HT_ENOMEM;
	}
	for (uint32_t i = 0; sh.slices && i < sh.n; i++)
		part_close(sh.slices[i].part);
	free(sh.slices);
	free(threads);
	return sh.rc;
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
