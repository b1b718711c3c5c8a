/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Branch stacks of a recording: its trace is decoded, and every so many branches that
 * were taken become a sample with the last ones before it, as a processor with such
 * registers would have it.  Each branch of a stack follows the one before: where
 * control was moved from outside (a signal) or trace is missing, the stack begins anew.
 */
#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hwtrace/decoder.h>

#include "capture/sample.h"

#define DEPTH HT_PERF_STACK_MAX
#define BATCH 256 /* events; there may be many threads */

/* The stack of one thread. */
struct source {
	struct ht_decoder *decoder;
	struct ht_event ev[BATCH];
	int n, at;
	uint64_t ns;
	uint64_t until; /* branches until the next sample */
	struct ht_perf_branch ring[DEPTH];
	unsigned newest, filled;
	int due, ended;
};

struct sampler {
	struct ht_container *container;
	struct ht_session *session;
	struct ht_perf_writer *writer;
	struct source **sources;
	uint32_t n;
	uint64_t period, samples;
};

static uint64_t
type_of(unsigned insn)
{
	static const uint8_t types[HT_INSN_CLASS_COUNT] = {
		[HT_INSN_COND] = PERF_BR_COND,         [HT_INSN_JUMP] = PERF_BR_UNCOND,
		[HT_INSN_CALL] = PERF_BR_CALL,         [HT_INSN_JUMP_IND] = PERF_BR_IND,
		[HT_INSN_CALL_IND] = PERF_BR_IND_CALL, [HT_INSN_RET] = PERF_BR_RET,
	};

	return insn < HT_INSN_CLASS_COUNT ? types[insn] : 0;
}

static void
take_branch(struct sampler *s, struct source *x, const struct ht_event *e)
{
	uint64_t type = type_of(e->insn);

	/* System calls leave for the kernel, whose branches are not seen. */
	if (!(e->flags & HT_BR_TAKEN) || !e->b || !type)
		return;
	x->newest = (x->newest + 1) % DEPTH;
	x->filled += x->filled < DEPTH;
	x->ring[x->newest] = (struct ht_perf_branch){ e->a, e->b, type };
	if (--x->until == 0) {
		x->until = s->period;
		x->due = 1;
	}
}

/* What is missing here is missing in the samples. */
static int
take_gap(struct sampler *s, struct source *x, const struct ht_event *e)
{
	const struct ht_gap *gap = ht_decoder_gap(x->decoder, e->n);
	struct ht_record rec = { .kind = HT_REC_LOST,
		                 .pid = ht_decoder_pid(x->decoder),
		                 .tid = ht_decoder_tid(x->decoder),
		                 .cpu = -1,
		                 .time = x->ns };

	x->filled = 0;
	rec.u.lost.kind = gap ? gap->kind : HT_GAP_UNTRACED;
	rec.u.lost.why = gap && gap->why && *gap->why ? gap->why : "trace was lost";
	return ht_perf_writer_record(s->writer, &rec);
}

static int
take(struct sampler *s, struct source *x, const struct ht_event *e)
{
	switch (e->kind) {
	case HT_EV_TIME:
		x->ns = e->a;
		return 0;
	case HT_EV_BRANCH:
		take_branch(s, x, e);
		return 0;
	case HT_EV_ASYNC:
		x->filled = 0;
		return 0;
	case HT_EV_ENABLE:
		if (!(e->flags & HT_EV_F_RESUME))
			x->filled = 0;
		return 0;
	case HT_EV_GAP:
		return take_gap(s, x, e);
	default:
		return 0;
	}
}

/* Up to the next sample of this thread, or its end. */
static int
advance(struct sampler *s, struct source *x)
{
	int rc = 0;

	x->due = 0;
	while (rc == 0 && !x->due && !x->ended) {
		if (x->at == x->n) {
			x->n = ht_decoder_next(x->decoder, x->ev, BATCH);
			x->at = 0;
			if (x->n < 0)
				return x->n;
			x->ended = x->n == 0;
		} else {
			rc = take(s, x, &x->ev[x->at++]);
		}
	}
	return rc;
}

static int
put_sample(struct sampler *s, const struct source *x)
{
	struct ht_perf_branch stack[DEPTH];
	struct ht_perf_sample sample = { .pid = ht_decoder_pid(x->decoder),
		                         .tid = ht_decoder_tid(x->decoder),
		                         .time = x->ns,
		                         .ip = x->ring[x->newest].to,
		                         .period = s->period,
		                         .branches = stack,
		                         .n = x->filled };

	for (unsigned i = 0; i < x->filled; i++)
		stack[i] = x->ring[(x->newest + DEPTH - i) % DEPTH];
	s->samples++;
	return ht_perf_writer_sample(s->writer, &sample);
}

/* The samples of all threads, in the order of time. */
static int
put_samples(struct sampler *s)
{
	int rc = 0;

	for (uint32_t i = 0; i < s->n && rc == 0; i++)
		rc = advance(s, s->sources[i]);
	while (rc == 0) {
		struct source *first = NULL;

		for (uint32_t i = 0; i < s->n; i++)
			if (s->sources[i]->due && (!first || s->sources[i]->ns < first->ns))
				first = s->sources[i];
		if (!first)
			return 0;
		rc = put_sample(s, first);
		if (rc == 0)
			rc = advance(s, first);
	}
	return rc;
}

/* All but what is about the trace itself. */
static int
put_sideband(struct sampler *s)
{
	struct ht_record rec;
	int rc;

	ht_container_rewind(s->container);
	while ((rc = ht_container_next(s->container, &rec)) > 0) {
		switch (rec.kind) {
		case HT_REC_MMAP:
		case HT_REC_MUNMAP:
		case HT_REC_COMM:
		case HT_REC_FORK:
		case HT_REC_EXIT:
		case HT_REC_LOST:
		case HT_REC_CODE:
			rc = ht_perf_writer_record(s->writer, &rec);
			break;
		default:
			break;
		}
		if (rc < 0)
			return rc;
	}
	return rc;
}

static int
open_sources(struct sampler *s, struct ht_diag *diag)
{
	struct ht_decoder_config config = { .size = sizeof(config),
		                            .want = HT_DECODE_BRANCHES | HT_DECODE_TIME |
		                                    HT_DECODE_OTHER };
	uint32_t n = ht_container_stream_count(s->container);

	s->sources = calloc(n + 1, sizeof(*s->sources));
	for (uint32_t i = 0; s->sources && i < n; i++) {
		struct source *x = calloc(1, sizeof(*x));
		int rc;

		if (!x)
			break;
		s->sources[s->n++] = x;
		x->until = s->period;
		rc = ht_decoder_new(s->session, i, &config, &x->decoder, diag);
		if (rc < 0)
			return rc;
	}
	return s->sources && s->n == n
	           ? 0
	           : ht_fail(diag, HT_ENOMEM, NULL, HT_NO_OFFSET, NULL, "for the samples");
}

static int
open_writer(struct sampler *s, const struct ht_capture_config *config, struct ht_diag *diag)
{
	const struct ht_capture_info *info = ht_container_info(s->container);
	struct ht_perf_writer_config wc = { .clock = info->clock,
		                            .cpu = info->cpu,
		                            .backend = info->backend,
		                            .software = info->software,
		                            .monotonic = info->monotonic,
		                            .branch_period = s->period,
		                            .argv =
		                                config->cmdline ? config->cmdline : config->argv };

	return ht_output_begin(config, &wc, &s->writer, diag);
}

/* An error of the writer has its own words; others have none yet. */
static int
failed(struct sampler *s, int rc, struct ht_diag *diag)
{
	const struct ht_diag *why = ht_perf_writer_diag(s->writer);

	if (why->error) {
		*diag = *why;
		return -why->error;
	}
	return ht_fail(diag, -rc, NULL, HT_NO_OFFSET, NULL, "the samples cannot be made: %s",
	               ht_strerror(rc));
}

static void
sampler_fini(struct sampler *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		ht_decoder_free(s->sources[i]->decoder);
		free(s->sources[i]);
	}
	free(s->sources);
	ht_perf_writer_abort(s->writer);
	ht_session_close(s->session);
	ht_container_close(s->container);
}

int
ht_sample_branches(const struct ht_capture_config *config, struct ht_capture_result *result,
                   struct ht_diag *diag)
{
	struct sampler s = { .period = config->branch_period };
	int rc = ht_container_open(config->output, NULL, &s.container, diag);

	if (rc == 0)
		rc = ht_session_open(s.container, NULL, &s.session, diag);
	if (rc == 0)
		rc = open_sources(&s, diag);
	if (rc == 0)
		rc = open_writer(&s, config, diag);
	if (rc == 0) {
		rc = put_sideband(&s);
		if (rc == 0)
			rc = put_samples(&s);
		if (rc < 0)
			rc = failed(&s, rc, diag);
		else
			rc = ht_perf_writer_finish(s.writer, diag), s.writer = NULL;
		if (rc == 0)
			rc = ht_output_replace(config, diag);
		else
			ht_output_drop(config);
	}
	result->samples = s.samples;
	sampler_fini(&s);
	return rc;
}
