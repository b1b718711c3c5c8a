/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "decode/engines.h"

const char *
ht_engine_name(uint32_t i)
{
	for (uint32_t k = 0; ht_engines[k]; k++)
		if (k == i)
			return ht_engines[k]->name;
	return NULL;
}

int
ht_engine_can(const char *name, enum ht_trace_source source)
{
	for (uint32_t i = 0; ht_engines[i]; i++)
		if (!strcmp(name, ht_engines[i]->name))
			return ht_engines[i]->can(source);
	return 0;
}

static const struct ht_engine *
engine_find(const char *name, enum ht_trace_source source, struct ht_diag *diag)
{
	const struct ht_engine *named = NULL;

	for (unsigned i = 0; ht_engines[i]; i++) {
		if (name && strcmp(name, ht_engines[i]->name) != 0)
			continue;
		named = ht_engines[i];
		if (named->can(source))
			return named;
	}
	if (name && !named)
		ht_fail(diag, HT_EINVAL, NULL, HT_NO_OFFSET, "engine",
		        "there is no decode engine named \"%.64s\"", name);
	else
		ht_fail(diag, HT_EUNSUPPORTED, NULL, HT_NO_OFFSET, "source",
		        "%s decodes this kind of trace", name ? "this engine never" : "no engine");
	return NULL;
}

int
ht_decoder_new(struct ht_session *s, uint32_t stream, const struct ht_decoder_config *config,
               struct ht_decoder **out, struct ht_diag *diag)
{
	struct ht_container *c = ht_session_container(s);
	const struct ht_stream *st = ht_container_stream(c, stream);
	const struct ht_engine *engine;
	struct ht_decoder *d;
	int r;

	if (!st || (config && config->size < sizeof(*config)))
		return ht_fail(diag, HT_EINVAL, NULL, HT_NO_OFFSET, NULL, st
		               ? "the decoder's configuration has an unknown size"
		               : "there is no stream %u in this capture", stream);
	engine = engine_find(config ? config->engine : NULL, st->source, diag);
	if (!engine)
		return diag && diag->error ? -diag->error : -HT_EUNSUPPORTED;
	d = calloc(1, sizeof(*d));
	if (!d)
		return ht_fail(diag, HT_ENOMEM, NULL, HT_NO_OFFSET, NULL, "out of memory");
	d->engine = engine;
	d->session = s;
	d->stream = st;
	d->info = ht_container_info(c);
	d->tid = st->tid;
	d->pid = st->pid != -1 || st->tid == -1 ? st->pid : ht_session_pid_of(s, st->tid);
	d->want = config && config->want ? config->want : HT_DECODE_ALL;
	d->start = config ? config->start : 0;
	d->stats.bytes = st->bytes;
	d->stats.engine = engine->name;
	r = ht_view_new(s, d->pid, &d->view);
	if (r == 0)
		r = engine->open(d, diag);
	else
		ht_fail(diag, -r, NULL, HT_NO_OFFSET, NULL, "out of memory");
	if (r < 0) {
		ht_decoder_free(d);
		return r;
	}
	*out = d;
	return 0;
}

void
ht_decoder_free(struct ht_decoder *d)
{
	if (!d)
		return;
	if (d->state)
		d->engine->close(d);
	ht_view_free(d->view);
	free(d->gaps);
	free(d);
}

int
ht_decoder_next(struct ht_decoder *d, struct ht_event *ev, int n)
{
	if (n < 64)
		return -HT_EINVAL;
	return d->engine->next(d, ev, n < HT_BATCH ? n : HT_BATCH);
}

int
ht_decoder_count(struct ht_decoder *d, struct ht_counts *out)
{
	return d->engine->count ? d->engine->count(d, out) : -HT_EUNSUPPORTED;
}

int
ht_decoder_add_gap(struct ht_decoder *d, const struct ht_gap *gap)
{
	size_t at = d->stats.gaps % HT_GAPS_KEPT;

	if (at >= d->cap_gaps && ht_vec_grow((void **)&d->gaps, &d->cap_gaps, at + 1, sizeof(*d->gaps)) < 0)
		return -HT_ENOMEM;
	d->gaps[at] = *gap;
	d->gaps[at].stream = d->stream->index;
	return (int)(d->stats.gaps++ & INT32_MAX);
}

struct ht_gap *
ht_decoder_last_gap(struct ht_decoder *d)
{
	return d->stats.gaps ? &d->gaps[(d->stats.gaps - 1) % HT_GAPS_KEPT] : NULL;
}

struct ht_view *
ht_decoder_view(struct ht_decoder *d)
{
	return d->view;
}

int32_t
ht_decoder_tid(const struct ht_decoder *d)
{
	return d->tid;
}

int32_t
ht_decoder_pid(const struct ht_decoder *d)
{
	return d->pid;
}

const struct ht_gap *
ht_decoder_gap(const struct ht_decoder *d, uint32_t i)
{
	uint64_t age = (d->stats.gaps - 1 - i) & INT32_MAX; /* numbers begin anew behind INT32_MAX */

	if (i > INT32_MAX || age >= d->stats.gaps || age >= HT_GAPS_KEPT)
		return NULL;
	return &d->gaps[i % HT_GAPS_KEPT];
}

const struct ht_decoder_stats *
ht_decoder_stats(const struct ht_decoder *d)
{
	return &d->stats;
}

const struct ht_diag *
ht_decoder_diag(const struct ht_decoder *d)
{
	return &d->diag;
}
