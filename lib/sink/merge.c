/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Streams side by side, the one that is furthest behind in time first.  The
 * order is perf's: a stream runs until its next sample is later than the
 * earliest sample waiting in any other stream.
 */
#include <stdlib.h>
#include <string.h>

#include "sink/sampler.h"

struct lane {
	struct ht_lane   pub;
	uint32_t         index;     /* in ht_merge.lanes */
	struct sampler   sampler;
	struct ht_event  batch[HT_BATCH];
	int              at, n;     /* events not yet converted */
	unsigned         given;     /* samples already handed out */
	int              ended;
	uint64_t         space;     /* names address space and generation of the batch */
	struct ht_decoder_stats stats;
};

struct ht_merge {
	struct ht_session     *session;
	struct ht_merge_config config;
	struct block_cache    *blocks;
	struct lane          **lanes;
	uint32_t               n_lanes;
	uint32_t              *heap;    /* lanes that wait, the earliest on top */
	uint32_t               n_heap;
	struct lane           *current;
	uint64_t               limit;   /* the current lane gives way at this time */
	uint64_t               total;
	struct ht_diag         diag;
};

/* -- heap ---------------------------------------------------------------- */

static uint64_t
head_time(const struct ht_merge *m, uint32_t lane)
{
	const struct lane *l = m->lanes[lane];

	return l->sampler.out[l->given].tsc;
}

static void
sift_up(struct ht_merge *m, uint32_t pos, uint32_t lane)
{
	uint64_t t = head_time(m, lane);

	while (pos) {
		uint32_t up = (pos - 1) / 2;

		if (head_time(m, m->heap[up]) <= t)
			break;
		m->heap[pos] = m->heap[up];
		pos = up;
	}
	m->heap[pos] = lane;
}

static void
heap_push(struct ht_merge *m, uint32_t lane)
{
	sift_up(m, m->n_heap++, lane);
}

/* Equal times leave in perf's order: the hole goes down to a leaf, then the last item up from there. */
static uint32_t
heap_pop(struct ht_merge *m)
{
	uint32_t top = m->heap[0], pos = 0, n = --m->n_heap;

	for (;;) {
		uint32_t left = 2 * pos + 1, right = left + 1, next;

		if (left >= n)
			break;
		next = right < n && head_time(m, m->heap[left]) >= head_time(m, m->heap[right]) ? right : left;
		m->heap[pos] = m->heap[next];
		pos = next;
	}
	if (n)
		sift_up(m, pos, m->heap[n]);
	return top;
}

/* -- lanes --------------------------------------------------------------- */

static void
lane_close(struct lane *l)
{
	if (l->pub.decoder)
		l->stats = *ht_decoder_stats(l->pub.decoder);
	ht_decoder_free(l->pub.decoder);
	l->pub.decoder = NULL;
	l->pub.view = NULL;
}

static int
lane_new(struct ht_merge *m, const struct ht_stream *stream, struct ht_diag *diag)
{
	struct ht_decoder_config config = {
		.size = sizeof(config),
		.engine = m->config.engine,
		.want = HT_DECODE_ALL,
		.start = m->config.start ? m->config.start[stream->index] : 0,
	};
	const struct ht_capture_info *info = ht_container_info(ht_session_container(m->session));
	struct lane *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return ht_fail(diag, HT_ENOMEM, NULL, HT_NO_OFFSET, NULL, "no memory for stream %u",
		               stream->index);
	l->index = m->n_lanes;
	m->lanes[m->n_lanes++] = l;
	l->sampler.config = &m->config;
	l->sampler.blocks = m->blocks;
	l->sampler.nom_freq = info->cpu.nom_freq;
	l->pub.stream = stream->index;
	l->pub.pid = stream->pid;
	l->pub.tid = stream->tid;
	l->pub.cpu = stream->cpu;
	l->stats.bytes = stream->bytes;
	m->total += stream->bytes;
	err = ht_decoder_new(m->session, stream->index, &config, &l->pub.decoder, diag);
	return err < 0 ? err : 0;
}

/* The next batch of events, once the address space of the last one is not needed any more. */
static int
lane_pull(struct ht_merge *m, struct lane *l)
{
	int n = ht_decoder_next(l->pub.decoder, l->batch, HT_BATCH);

	if (n < 0) {
		m->diag = *ht_decoder_diag(l->pub.decoder);
		return n;
	}
	l->at = 0;
	l->n = n;
	l->pub.view = ht_decoder_view(l->pub.decoder);
	l->pub.pid = ht_decoder_pid(l->pub.decoder);
	l->pub.tid = ht_decoder_tid(l->pub.decoder);
	l->space = (uint64_t)l->pub.stream << 40 ^ (l->pub.view ? ht_view_generation(l->pub.view) : 0);
	return n;
}

/* All that is at hand is later than `end`, and so is all to come: the time that was read never goes back. */
static int
is_behind(const struct sampler *s, uint64_t end)
{
	if (s->tsc_confirmed <= end)
		return 0;
	for (unsigned i = 0; i < s->n; i++)
		if (s->out[i].tsc <= end)
			return 0;
	return 1;
}

/* At least one sample that was not handed out; 0 at the end of the stream. */
static int
lane_fill(struct ht_merge *m, struct lane *l)
{
	struct sampler *s = &l->sampler;
	int n;

	if (l->given < s->n)
		return 1;
	l->given = s->n = 0;
	while (!s->n && !l->ended) {
		if (l->at == l->n && s->left <= 1) {
			if ((n = lane_pull(m, l)) < 0)
				return n;
			if (!n) {
				sampler_finish(s, l->pub.view, l->space);
				l->ended = 1;
				break;
			}
		}
		l->at = sampler_convert(s, l->pub.view, l->space, l->batch, l->at, l->n);
	}
	if (m->config.tsc_end && is_behind(s, m->config.tsc_end)) {
		s->n = 0;
		l->ended = 1;
	}
	return s->n ? 1 : 0;
}

/* -- merge --------------------------------------------------------------- */

int
ht_merge_new(struct ht_session *session, const struct ht_merge_config *config, struct ht_merge **out,
             struct ht_diag *diag)
{
	struct ht_container *c = ht_session_container(session);
	uint32_t n = ht_container_stream_count(c);
	struct ht_merge *m;
	int err = -HT_ENOMEM;

	if (config->size < sizeof(*config))
		return ht_fail(diag, HT_EINVAL, NULL, HT_NO_OFFSET, "config.size",
		               "the configuration has an unknown size");
	m = calloc(1, sizeof(*m));
	if (!m)
		return ht_fail(diag, HT_ENOMEM, NULL, HT_NO_OFFSET, NULL, "no memory to merge streams");
	m->session = session;
	m->config = *config;
	m->lanes = calloc(n + 1, sizeof(struct lane *));
	m->heap = calloc(n + 1, sizeof(*m->heap));
	m->blocks = block_cache_new(HT_ARCH_X86_64);
	if (!m->lanes || !m->heap || !m->blocks) {
		ht_fail(diag, HT_ENOMEM, NULL, HT_NO_OFFSET, NULL, "no memory to merge %u streams", n);
		goto fail;
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct ht_stream *stream = ht_container_stream(c, i);

		if (config->skip && config->skip[i])
			continue;
		if ((err = lane_new(m, stream, diag)) < 0)
			goto fail;
	}
	for (uint32_t i = 0; i < m->n_lanes; i++) {
		if ((err = lane_fill(m, m->lanes[i])) < 0) {
			if (diag)
				*diag = m->diag;
			goto fail;
		}
		if (err)
			heap_push(m, i);
		else
			lane_close(m->lanes[i]);
	}
	*out = m;
	return 0;
fail:
	ht_merge_free(m);
	return err;
}

void
ht_merge_free(struct ht_merge *m)
{
	if (!m)
		return;
	for (uint32_t i = 0; m->lanes && i < m->n_lanes; i++) {
		lane_close(m->lanes[i]);
		free(m->lanes[i]);
	}
	free(m->lanes);
	free(m->heap);
	block_cache_free(m->blocks);
	free(m);
}

/* Choose the lane to run next; NULL when all ended. */
static struct lane *
choose(struct ht_merge *m)
{
	if (!m->n_heap)
		return NULL;
	m->current = m->lanes[heap_pop(m)];
	m->limit = m->n_heap ? head_time(m, m->heap[0]) : UINT64_MAX;
	if (m->limit != UINT64_MAX)
		m->limit++;
	return m->current;
}

/* Samples of the current lane that may be shown before another lane's. */
static unsigned
run_length(const struct ht_merge *m, const struct lane *l)
{
	const struct sampler *s = &l->sampler;
	unsigned n = l->given;

	if (m->limit == UINT64_MAX)
		return s->n - n;
	while (n < s->n && s->out[n].tsc < m->limit)
		n++;
	return n - l->given;
}

int
ht_merge_next(struct ht_merge *m, const struct ht_sample **run, const struct ht_lane **lane)
{
	for (;;) {
		struct lane *l = m->current ? m->current : choose(m);
		unsigned n;
		int err;

		if (!l)
			return 0;
		if ((err = lane_fill(m, l)) < 0)
			return err;
		if (!err) {
			lane_close(l);
			m->current = NULL;
			continue;
		}
		n = run_length(m, l);
		if (!n) {
			m->current = NULL;
			heap_push(m, l->index);
			continue;
		}
		*run = l->sampler.out + l->given;
		*lane = &l->pub;
		l->given += n;
		return (int)n;
	}
}

const struct ht_diag *
ht_merge_diag(const struct ht_merge *m)
{
	return &m->diag;
}

uint64_t
ht_merge_done(const struct ht_merge *m, uint64_t *total)
{
	*total = m->total;
	return ht_merge_stats(m).bytes_decoded;
}

struct ht_decoder_stats
ht_merge_stats(const struct ht_merge *m)
{
	struct ht_decoder_stats sum = { 0 };

	for (uint32_t i = 0; i < m->n_lanes; i++) {
		const struct lane *l = m->lanes[i];
		const struct ht_decoder_stats *s = l->pub.decoder ? ht_decoder_stats(l->pub.decoder) : &l->stats;

		sum.bytes += s->bytes;
		sum.bytes_decoded += s->bytes_decoded;
		sum.bytes_skipped += s->bytes_skipped;
		sum.instructions += s->instructions;
		sum.branches += s->branches;
		sum.gaps += s->gaps;
		if (s->engine)
			sum.engine = s->engine;
	}
	return sum;
}
