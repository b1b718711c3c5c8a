/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Workers, and the stretches of streams that they decode.
 *
 * A stream is a list of stretches in order.  At first it is one; an idle worker
 * cuts the largest in two and takes the half behind.  The first of the list has
 * begun right.  When it is decoded to its end, it is compared with the begin of
 * the next: where they meet, the next has begun right too, and what the first has
 * found is added to the sum.  Where they do not, the first takes over all of the
 * next one's bytes and goes on.  So each event counts once, in the order of the
 * stream, and from what state it was decoded does not depend on the workers.
 *
 * One lock guards all that is here; it is free while events are decoded.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/parallel.h>

#include "decode/engine.h"

#define PIECE       (256u << 10) /* bytes; a stretch can be cut behind the piece at hand */
#define MOST_PIECES 65536u       /* of a stream */
#define CUT_PIECES  4            /* no less is worth a worker that starts cold */
#define LIVE        3            /* stretches a worker, done ones included: memory is bounded */
#define WRONG_MAX   8            /* a stream of which so many begin wrong is cut no more */

enum state { WAITING, WORKING, DONE };

struct stretch {
	struct stretch *next; /* behind it in the stream */
	struct stream *stream;
	struct ht_decoder *decoder; /* NULL = not begun yet */
	void *part;
	uint64_t warm;    /* where decoding starts, in the middle of a stream */
	uint64_t begin;   /* where it begins to count; 0 = with the stream */
	uint64_t granted; /* it may be decoded up to here without asking */
	uint64_t end;     /* UINT64_MAX = of the stream */
	enum state state;
	int noted;   /* what counts has begun */
	int dropped; /* begun wrong: whoever works on it frees it */
	int whole;   /* has no place to cut it at */
	/* What a sink may know of events before: */
	uint64_t last, begin_last; /* the last BLOCK */
	int torn, begin_torn;      /* a GAP came behind it */
};

struct stream {
	struct job *job;
	uint32_t index;
	struct stretch *first;
	uint64_t size;  /* offset behind the last byte */
	void *sum;      /* parts in front of `first` */
	int alone;      /* not to be cut */
	unsigned wrong; /* stretches that had begun wrong */
	int done;
	struct ht_diag diag;
};

struct job {
	struct ht_session *session;
	const struct ht_parallel_config *config;
	const struct ht_parallel_sink *sink;
	void *arg;
	uint64_t piece;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct stream *streams;
	uint32_t n_streams, n_done;
	unsigned live, max_live; /* stretches with a decoder */
	uint64_t bytes;
	int error; /* the first of a sink, or -HT_ENOMEM: everybody stops */
};

static const struct ht_engine_stretch *
ways(const struct stretch *x)
{
	return x->decoder->engine->stretch;
}

static void
fail(struct job *j, int error)
{
	if (!j->error)
		j->error = error;
	pthread_cond_broadcast(&j->changed);
}

/* -- stretches ------------------------------------------------------------ */

static struct stretch *
stretch_new(struct stream *st, uint64_t warm, uint64_t begin, uint64_t end)
{
	struct stretch *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	*x = (struct stretch){
		.stream = st, .warm = warm, .begin = begin, .granted = begin, .end = end
	};
	return x;
}

static void
stretch_free(struct stretch *x)
{
	if (!x)
		return;
	x->stream->job->live -= x->decoder != NULL;
	x->stream->job->sink->close(x->part);
	ht_decoder_free(x->decoder);
	free(x);
}

/* Not to be counted: freed here, or by the one who works on it. */
static void
drop(struct stretch *x)
{
	if (x->state == WORKING)
		x->dropped = 1;
	else
		stretch_free(x);
}

static void
drop_all(struct stream *st)
{
	struct stretch *next;

	for (struct stretch *x = st->first; x; x = next) {
		next = x->next;
		drop(x);
	}
	st->first = NULL;
}

/* `x` has begun wrong: the one in front of it, which is there, decodes its bytes too. */
static void
hand_back(struct stretch *before)
{
	struct stretch *x = before->next;

	if (++x->stream->wrong >= WRONG_MAX)
		x->stream->alone = 1;
	before->next = x->next;
	before->end = x->end;
	before->whole = x->whole;
	if (before->state == DONE)
		before->state = WAITING;
	drop(x);
}

/* -- streams -------------------------------------------------------------- */

static void
stream_done(struct stream *st, const struct ht_diag *diag)
{
	struct job *j = st->job;
	int rc;

	if (diag)
		st->diag = *diag;
	drop_all(st);
	st->done = 1;
	j->n_done++;
	rc = j->sink->done(j->arg, st->index, st->sum, &st->diag);
	j->sink->close(st->sum);
	st->sum = NULL;
	if (rc < 0)
		fail(j, rc);
}

static int
counts(const struct stretch *x)
{
	return x->stream->job->sink->counts && ways(x);
}

/* What the decoder has counted, to the sink.  1, or -HT_E... with *of_sink: whose. */
static int
take_counts(struct stretch *x, int *of_sink)
{
	struct ht_counts c;
	int rc = ht_decoder_count(x->decoder, &c);

	*of_sink = 0;
	if (rc <= 0)
		return rc;
	rc = x->stream->job->sink->counts(x->part, x->decoder, &c);
	ht_counts_free(&c);
	*of_sink = rc < 0;
	return rc < 0 ? rc : 1;
}

/* The first stretch is done, or the stream cannot go on: what it found goes to the sum. */
static int
take_first(struct stream *st)
{
	const struct ht_parallel_sink *sink = st->job->sink;
	struct stretch *x = st->first;
	int rc = 0, of_sink;

	if (x->part && counts(x))
		rc = take_counts(x, &of_sink);
	if (rc >= 0)
		rc = x->part ? sink->end(x->part) : 0;
	if (rc == 0 && !st->sum) {
		st->sum = x->part;
		x->part = NULL;
	} else if (rc == 0 && x->part) {
		rc = sink->merge(st->sum, x->part);
	}
	st->first = x->next;
	stretch_free(x);
	return rc;
}

static int
meets(const struct stretch *x, const struct stretch *next)
{
	return x->last == next->begin_last && x->torn == next->begin_torn &&
	       ways(x)->meets(x->decoder, next->decoder);
}

/* After a stretch came to its end, or began to count: as far as the stream is known to be right. */
static void
settle(struct stream *st)
{
	struct stretch *x;
	int rc;

	while ((x = st->first) && x->state == DONE) {
		if (!x->next) {
			rc = take_first(st);
			if (rc < 0)
				fail(st->job, rc);
			else
				stream_done(st, NULL);
			break;
		}
		if (!x->next->noted)
			break;
		if (!meets(x, x->next)) {
			hand_back(x);
			break;
		}
		rc = take_first(st);
		if (rc < 0) {
			fail(st->job, rc);
			break;
		}
	}
	pthread_cond_broadcast(&st->job->changed);
}

/* A stretch needed what was before it, and had gone on long since: all anew, in one piece. */
static void
start_over(struct stream *st)
{
	drop_all(st);
	st->job->sink->close(st->sum);
	st->sum = NULL;
	st->alone = 1;
	st->first = stretch_new(st, 0, 0, UINT64_MAX);
	if (!st->first)
		fail(st->job, -HT_ENOMEM);
	pthread_cond_broadcast(&st->job->changed);
}

/* `x` cannot be right: decoding it failed, or needed what was before it. */
static void
begun_wrong(struct stretch *x)
{
	struct stream *st = x->stream;
	struct stretch *before = st->first;

	while (before->next != x)
		before = before->next;
	hand_back(before);
	settle(st);
}

/* The first stretch of a stream failed, and so has the stream. */
static void
stream_failed(struct stream *st, const struct ht_diag *why)
{
	struct ht_diag diag = *why; /* may be the decoder's */
	int rc = take_first(st);

	if (rc < 0)
		fail(st->job, rc);
	else
		stream_done(st, &diag);
	pthread_cond_broadcast(&st->job->changed);
}

/* -- choosing work -------------------------------------------------------- */

static uint64_t
left(const struct stretch *x)
{
	uint64_t end = x->end < x->stream->size ? x->end : x->stream->size;

	return end > x->granted ? end - x->granted : 0;
}

static int
can_cut(const struct job *j, const struct stretch *x)
{
	return x->state == WORKING && !x->whole && !x->stream->alone && x->decoder && ways(x) &&
	       left(x) >= CUT_PIECES * j->piece;
}

/* The half of `x` behind, as a stretch of its own; NULL when there is none. */
static struct stretch *
cut(struct job *j, struct stretch *x)
{
	struct stream *st = x->stream;
	struct stretch *half;
	uint64_t warm, begin;

	if (!ways(x)->find(ht_container_stream(ht_session_container(j->session), st->index),
	                   x->granted + left(x) / 2, &warm, &begin) ||
	    begin >= x->end) {
		x->whole = 1;
		return NULL;
	}
	half = stretch_new(st, warm, begin, x->end);
	if (!half) {
		fail(j, -HT_ENOMEM);
		return NULL;
	}
	half->next = x->next;
	x->next = half;
	x->end = begin;
	return half;
}

/* Work for an idle worker; NULL: none now. */
static struct stretch *
choose(struct job *j)
{
	struct stretch *best;

	for (uint32_t i = 0; i < j->n_streams; i++)
		for (struct stretch *x = j->streams[i].first; x; x = x->next)
			if (x->state == WAITING)
				return x;
	while (j->live < j->max_live) {
		best = NULL;
		for (uint32_t i = 0; i < j->n_streams; i++)
			for (struct stretch *x = j->streams[i].first; x; x = x->next)
				if (can_cut(j, x) && (!best || left(x) > left(best)))
					best = x;
		if (!best)
			return NULL;
		best = cut(j, best);
		if (best || j->error)
			return best;
	}
	return NULL;
}

/* -- working -------------------------------------------------------------- */

/* Without the lock: a decoder and a part for `x`. */
static int
begin(const struct stretch *x, struct ht_decoder **decoder, void **part, struct ht_diag *diag)
{
	const struct job *j = x->stream->job;
	struct ht_decoder_config config = { .size = sizeof(config),
		                            .engine = j->config->engine,
		                            .want = j->config->want };
	int rc = ht_decoder_new(j->session, x->stream->index, &config, decoder, diag);

	if (rc < 0)
		return rc;
	*part = j->sink->open();
	if (!*part) {
		ht_decoder_free(*decoder);
		*decoder = NULL;
		return ht_fail(diag, HT_ENOMEM, NULL, HT_NO_OFFSET, NULL, "out of memory");
	}
	if (x->begin)
		(*decoder)->engine->stretch->begin(*decoder, x->warm);
	return 0;
}

/* What the stretch behind must know of these events. */
static void
remember(struct stretch *x, const struct ht_event *ev, int n)
{
	int torn = 0;

	while (n-- > 0) {
		torn |= ev[n].kind == HT_EV_GAP;
		if (ev[n].kind == HT_EV_BLOCK) {
			x->last = ev[n].b;
			x->torn = torn;
			return;
		}
	}
	x->torn |= torn;
}

/* What became of a piece. */
enum outcome { GOES_ON, MISSED, FAILED, SINK_FAILED };

/* Events up to where the decoder stops. */
static enum outcome
decode_events(struct stretch *x, int *rc)
{
	const struct ht_parallel_sink *sink = x->stream->job->sink;
	struct ht_event ev[HT_BATCH];
	int n;

	while ((n = ht_decoder_next(x->decoder, ev, HT_BATCH)) > 0) {
		remember(x, ev, n);
		*rc = sink->events(x->part, x->decoder, ev, n);
		if (*rc < 0)
			return SINK_FAILED;
	}
	*rc = n;
	return n < 0 ? FAILED : GOES_ON;
}

/* The same with counts.  The decoder keeps them while it can. */
static enum outcome
decode_counts(struct stretch *x, int *rc)
{
	int of_sink = 0;

	while ((*rc = ways(x)->run(x->decoder)) == 1 && (*rc = take_counts(x, &of_sink)) >= 0)
		;
	return of_sink ? SINK_FAILED : *rc < 0 ? FAILED : GOES_ON;
}

/* Without the lock: up to `stop`; *rc is 0 or an error. */
static enum outcome
decode(struct stretch *x, uint64_t stop, int *rc)
{
	enum outcome outcome;

	if (ways(x))
		ways(x)->stop(x->decoder, stop);
	outcome = counts(x) ? decode_counts(x, rc) : decode_events(x, rc);
	return outcome == GOES_ON && ways(x) && ways(x)->missed(x->decoder) ? MISSED : outcome;
}

/* How far `x` may go before it asks again: offsets may leap over what no file holds. */
static uint64_t
grant(const struct job *j, struct stretch *x)
{
	uint64_t piece = x->stream->size / MOST_PIECES;

	if (piece < j->piece)
		piece = j->piece;
	if (x->begin && !x->noted)
		return x->begin;
	if (ways(x) && x->granted < x->end && x->end - x->granted > piece &&
	    x->granted < x->stream->size && x->stream->size - x->granted > piece)
		x->granted += piece;
	else
		x->granted = x->end;
	return x->granted;
}

/* The first piece of `x` was decoded: what counts begins behind what went before `begin`. */
static void
begin_to_count(struct stretch *x)
{
	int of_sink, rc = x->begin && counts(x) ? take_counts(x, &of_sink) : 0;

	if (rc < 0)
		fail(x->stream->job, rc);
	if (x->begin) {
		ways(x)->note(x->decoder);
		x->begin_last = x->last;
		x->begin_torn = x->torn;
		x->stream->job->sink->forget(x->part);
	}
	x->noted = 1;
	settle(x->stream);
}

static void
tell_progress(struct job *j, const struct stretch *x, uint64_t from)
{
	uint64_t to = x->granted < x->stream->size ? x->granted : x->stream->size;

	if (to > from)
		j->bytes += to - from;
	if (j->sink->progress)
		j->sink->progress(j->arg, j->bytes);
}

/* One piece; 0 when there is nothing more to do on `x`, which may be gone. */
static int
work_on(struct job *j, struct stretch *x)
{
	uint64_t from = x->granted, stop = grant(j, x);
	enum outcome outcome;
	int rc;

	pthread_mutex_unlock(&j->lock);
	outcome = decode(x, stop, &rc);
	pthread_mutex_lock(&j->lock);
	if (x->dropped || j->error)
		return 1;
	if (outcome == GOES_ON) {
		tell_progress(j, x, from);
		if (!x->noted)
			begin_to_count(x);
		if (x->dropped || x->granted < x->end)
			return 1;
		x->state = DONE;
		settle(x->stream);
		return 0;
	}
	x->state = DONE;
	if (outcome == SINK_FAILED)
		fail(j, rc);
	else if (x != x->stream->first)
		begun_wrong(x);
	else if (outcome == MISSED)
		start_over(x->stream);
	else
		stream_failed(x->stream, ht_decoder_diag(x->decoder));
	return 0;
}

/* With the lock, which is free while the work is done. */
static void
work(struct job *j, struct stretch *x)
{
	struct ht_decoder *decoder = NULL;
	struct ht_diag diag = { 0 };
	void *part = NULL;
	int rc = 0;

	x->state = WORKING;
	if (!x->decoder) {
		pthread_mutex_unlock(&j->lock);
		rc = begin(x, &decoder, &part, &diag);
		pthread_mutex_lock(&j->lock);
		x->decoder = decoder;
		x->part = part;
		j->live += decoder != NULL;
		pthread_cond_broadcast(&j->changed); /* it can be cut now */
	}
	if (rc < 0 && !x->dropped) {
		x->state = DONE;
		if (x != x->stream->first)
			begun_wrong(x);
		else
			stream_failed(x->stream, &diag);
		return;
	}
	while (!x->dropped && !j->error)
		if (!work_on(j, x))
			return;
	x->state = DONE;
	if (x->dropped)
		stretch_free(x);
}

static void *
worker(void *arg)
{
	struct job *j = arg;
	struct stretch *x;

	pthread_mutex_lock(&j->lock);
	while (!j->error && j->n_done < j->n_streams) {
		x = choose(j);
		if (x)
			work(j, x);
		else if (!j->error)
			pthread_cond_wait(&j->changed, &j->lock);
	}
	pthread_mutex_unlock(&j->lock);
	return NULL;
}

/* -- all of it ------------------------------------------------------------ */

unsigned
ht_parallel_processors(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

	return n > 0 ? (unsigned)n : 1;
}

static int
streams_new(struct job *j)
{
	struct ht_container *c = ht_session_container(j->session);

	j->n_streams = ht_container_stream_count(c);
	j->streams = calloc(j->n_streams ? j->n_streams : 1, sizeof(*j->streams));
	if (!j->streams)
		return -HT_ENOMEM;
	for (uint32_t i = 0; i < j->n_streams; i++) {
		struct stream *st = &j->streams[i];
		const struct ht_stream *in = ht_container_stream(c, i);
		const struct ht_chunk *last = in->n_chunks ? &in->chunks[in->n_chunks - 1] : NULL;

		*st = (struct stream){ .job = j,
			               .index = i,
			               .size = last ? last->stream_offset + last->size : 0,
			               .alone = j->config->want == 0 ||
			                        j->config->want & HT_DECODE_TIME };
		st->first = stretch_new(st, 0, 0, UINT64_MAX);
		if (!st->first)
			return -HT_ENOMEM;
	}
	return 0;
}

/* No more threads than there can be work for. */
static unsigned
threads(const struct job *j)
{
	unsigned jobs = j->config->jobs ? j->config->jobs : ht_parallel_processors();
	uint64_t most = 0;

	for (uint32_t i = 0; i < j->n_streams; i++)
		most += 1 + j->streams[i].size / (CUT_PIECES * j->piece);
	return jobs < most ? jobs : (unsigned)most;
}

static void
run(struct job *j)
{
	unsigned n = threads(j), started = 0;
	pthread_t *thread = n > 1 ? calloc(n - 1, sizeof(*thread)) : NULL;

	j->max_live = n > 1 ? n * LIVE : 1;
	while (thread && started + 1 < n && pthread_create(&thread[started], NULL, worker, j) == 0)
		started++;
	worker(j);
	while (started > 0)
		pthread_join(thread[--started], NULL);
	free(thread);
}

int
ht_parallel_decode(struct ht_session *s, const struct ht_parallel_config *config,
                   const struct ht_parallel_sink *sink, void *arg)
{
	struct job j = { .session = s,
		         .config = config,
		         .sink = sink,
		         .arg = arg,
		         .piece = config->piece ? config->piece : PIECE };

	if (config->size < sizeof(*config))
		return -HT_EINVAL;
	j.error = streams_new(&j);
	if (j.error == 0) {
		ht_session_settle(s);
		pthread_mutex_init(&j.lock, NULL);
		pthread_cond_init(&j.changed, NULL);
		run(&j);
		pthread_cond_destroy(&j.changed);
		pthread_mutex_destroy(&j.lock);
	}
	for (uint32_t i = 0; j.streams && i < j.n_streams; i++) {
		drop_all(&j.streams[i]);
		sink->close(j.streams[i].sum);
	}
	free(j.streams);
	return j.error;
}
