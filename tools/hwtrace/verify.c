/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hwtrace verify: decode with two engines and compare.
 *
 * Engines may cut blocks differently.  What is compared is what they mean:
 * ranges, the instructions that ran from one taken branch to the next.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/pt_packet.h>

#include "command.h"
#include "input.h"
#include "loss.h"

#define BATCH 64 /* small: a difference is placed by where the batch before it ended */

struct options {
	struct input_opts input;
	const char       *other;
};

static const struct opt opts[] = {
	INPUT_OPTS(struct options, input),
	{ 0, "against", "ENGINE", OPT_STRING, offsetof(struct options, other),
	  "engine to compare with (default: libipt)" },
	OPT_END
};

static int run(int argc, char **argv);

const struct command command_verify = {
	"verify", "[FILE]", "Decode with two engines and compare them range by range", opts, run, 0
};

enum range_kind { RANGE_END, RANGE_CODE, RANGE_GAP };

struct range {
	enum range_kind kind;
	uint64_t start, last, insns, next;
	uint32_t gap;
	int      proven;   /* an outcome or a target ends it */
	unsigned outcomes; /* not taken, in the middle of it */
};

/* One engine's side: events on their way to ranges. */
struct side {
	const char        *engine;
	struct ht_decoder *decoder;
	struct ht_event    ev[BATCH];
	int                n, at;
	int                error;
	uint64_t           from, to; /* stream offsets that the batch at hand lies between */
	struct range       open;     /* a range that may grow */
	struct range       held;     /* a gap behind a range just given */
	uint64_t           ranges, insns, gaps;
	struct loss       *loss;     /* told of by one side alone */
};

static uint64_t
offset_of(const struct side *s)
{
	const struct ht_decoder_stats *st = ht_decoder_stats(s->decoder);

	return st->bytes_decoded + st->bytes_skipped;
}

static const struct ht_event *
next_event(struct side *s)
{
	if (s->at == s->n) {
		s->from = offset_of(s);
		s->n = ht_decoder_next(s->decoder, s->ev, BATCH);
		s->to = offset_of(s);
		s->at = 0;
		if (s->n < 0)
			s->error = s->n;
		if (s->n <= 0) {
			s->n = 0;
			return NULL;
		}
	}
	return &s->ev[s->at++];
}

/* The open range, closed; 0 when there was none. */
static int
give(struct side *s, struct range *out)
{
	if (s->open.kind != RANGE_CODE)
		return 0;
	*out = s->open;
	s->open.kind = RANGE_END;
	s->ranges++;
	s->insns += out->insns;
	return 1;
}

static void
begin(struct side *s, const struct ht_event *ev)
{
	s->open = (struct range){ .kind = RANGE_CODE, .start = ev->a, .last = ev->b, .insns = ev->n,
		                  .next = ev->size ? ev->b + ev->size : 0 };
}

/* The next range or gap of one side; RANGE_END at the end. */
static void
next_range(struct side *s, struct range *out)
{
	const struct ht_event *ev;

	*out = s->held;
	s->held.kind = RANGE_END;
	if (out->kind != RANGE_END)
		return;
	while ((ev = next_event(s))) {
		switch (ev->kind) {
		case HT_EV_BLOCK:
			if (s->open.kind == RANGE_CODE && s->open.next == ev->a && s->open.next) {
				s->open.last = ev->b;
				s->open.insns += ev->n;
				s->open.next = ev->size ? ev->b + ev->size : 0;
				break;
			}
			if (give(s, out)) {
				begin(s, ev);
				return;
			}
			begin(s, ev);
			break;
		case HT_EV_BRANCH:
			s->open.proven = ev->b != 0 && ev->insn != HT_INSN_JUMP && ev->insn != HT_INSN_CALL;
			if ((ev->flags & HT_BR_TAKEN || ev->insn != HT_INSN_COND) && give(s, out))
				return;
			s->open.proven = 0;
			s->open.outcomes += ev->insn == HT_INSN_COND;
			break;
		case HT_EV_GAP:
			s->gaps++;
			if (s->loss)
				loss_add(s->loss, ht_decoder_gap(s->decoder, ev->n));
			s->held = (struct range){ .kind = RANGE_GAP, .gap = ev->n };
			if (give(s, out))
				return;
			*out = s->held;
			s->held.kind = RANGE_END;
			return;
		case HT_EV_ASYNC: case HT_EV_ENABLE: case HT_EV_DISABLE:
			if (give(s, out))
				return;
			break;
		default:
			break;
		}
	}
	give(s, out);
}

static void
print_range(const struct side *s, const struct range *r)
{
	const struct ht_gap *g;

	printf("  %-7s ", s->engine);
	switch (r->kind) {
	case RANGE_CODE:
		printf("%#" PRIx64 " to %#" PRIx64 ", %" PRIu64 " instructions\n", r->start, r->last, r->insns);
		break;
	case RANGE_GAP:
		g = ht_decoder_gap(s->decoder, r->gap);
		printf("gap at offset %#" PRIx64 ", %" PRIu64 " bytes: %s%s%s\n", g->offset, g->bytes,
		       ht_gap_kind_name(g->kind), g->why ? ": " : "", g->why ? g->why : "");
		break;
	default:
		printf("ended\n");
	}
}

#define CONTEXT_LINES 40

/* The packets that begin in [from, to), and some before, but for the first `skip`; returns how many. */
static uint64_t
print_packets(const struct ht_stream *stream, uint64_t from, uint64_t to, uint64_t skip)
{
	uint64_t n_packets = 0;

	for (uint32_t i = 0; i < stream->n_chunks; i++) {
		const struct ht_chunk *c = &stream->chunks[i];
		struct ht_pt_packet p;
		char text[HT_PT_TEXT_MAX];
		unsigned block = 0;
		size_t at, n = (size_t)c->size;

		if (c->stream_offset >= to || c->stream_offset + c->size <= from)
			continue;
		for (at = ht_pt_find_psb(c->data, n, 0); at < n && c->stream_offset + at < to;) {
			int rc = ht_pt_packet_read(c->data + at, n - at, &block, &p);

			if (rc <= 0) {
				at = ht_pt_find_psb(c->data, n, at + 1);
				continue;
			}
			if (c->stream_offset + at + 64 >= from && p.kind != HT_PT_PAD &&
			    n_packets++ >= skip)
				printf("  %#8" PRIx64 "  %s\n", c->stream_offset + at,
				       ht_pt_packet_text(&p, text, sizeof(text)));
			at += (size_t)rc;
		}
	}
	return n_packets;
}

/* An engine may have read far since it gave events: the last packets are the ones to look at. */
static void
print_last_packets(const struct ht_stream *stream, uint64_t from, uint64_t to)
{
	uint64_t n = print_packets(stream, from, to, UINT64_MAX);

	printf("packets from offset %#" PRIx64 " to %#" PRIx64 "%s:\n", from, to,
	       n > CONTEXT_LINES ? ", the last ones" : "");
	print_packets(stream, from, to, n > CONTEXT_LINES ? n - CONTEXT_LINES : 0);
}

static int
same(const struct range *a, const struct range *b)
{
	return a->kind == b->kind &&
	       (a->kind != RANGE_CODE ||
	        (a->start == b->start && a->last == b->last && a->insns == b->insns));
}

/*
 * Right in front of a loss an engine may go on as far as the code alone leads,
 * which the trace does not prove: then one has the begin of what the other has,
 * or nothing of it, and the loss follows in both.  1 with that loss in *a and *b;
 * or 0, with what follows a difference.
 */
static int
same_up_to_loss(struct side side[2], struct range *a, struct range *b)
{
	if (a->kind == RANGE_CODE && b->kind == RANGE_CODE &&
	    (a->start != b->start || a->outcomes != b->outcomes))
		return 0;
	if (a->kind == b->kind)
		a->outcomes = b->outcomes = 0;
	while (a->kind == RANGE_CODE && !a->proven && !a->outcomes)
		next_range(&side[0], a);
	while (b->kind == RANGE_CODE && !b->proven && !b->outcomes)
		next_range(&side[1], b);
	return a->kind == RANGE_GAP && b->kind == RANGE_GAP;
}

static int
open_side(struct side *s, struct input *in, uint32_t stream)
{
	struct ht_decoder_config config = { .size = sizeof(config), .engine = s->engine,
		.want = HT_DECODE_BLOCKS | HT_DECODE_BRANCHES | HT_DECODE_OTHER };
	struct ht_diag diag = { 0 };

	if (ht_decoder_new(in->session, stream, &config, &s->decoder, &diag) < 0)
		return tool_fail(&diag);
	return EXIT_OK;
}

/* The rest of one side, for what it tells to be lost. */
static void
drain(struct side *s)
{
	struct range r;

	do
		next_range(s, &r);
	while (r.kind != RANGE_END);
}

/* EXIT_OK, or EXIT_ERROR after printing the first difference. */
static int
compare(const struct ht_stream *stream, struct side side[2])
{
	struct range a, b, was[2], before = { .kind = RANGE_END };
	uint64_t ranges;

	do {
		next_range(&side[0], &a);
		next_range(&side[1], &b);
		was[0] = a;
		was[1] = b;
		ranges = side[0].ranges;
		if (!same(&a, &b) && !same_up_to_loss(side, &a, &b)) {
			uint64_t from = side[0].from < side[1].from ? side[0].from : side[1].from;
			uint64_t to = side[0].to > side[1].to ? side[0].to : side[1].to;

			printf("stream %u: the engines differ after %" PRIu64 " ranges\n", stream->index,
			       ranges);
			if (before.kind == RANGE_CODE)
				printf("  both    %#" PRIx64 " to %#" PRIx64 "\n", before.start, before.last);
			print_range(&side[0], &was[0]);
			print_range(&side[1], &was[1]);
			print_last_packets(stream, from, to);
			drain(&side[0]);
			if (side[0].error)
				tool_fail(ht_decoder_diag(side[0].decoder));
			return EXIT_ERROR;
		}
		before = a;
	} while (a.kind != RANGE_END);
	if (side[0].error || side[1].error)
		return tool_fail(ht_decoder_diag(side[side[0].error ? 0 : 1].decoder));
	printf("stream %u: %" PRIu64 " ranges, %" PRIu64 " instructions, %" PRIu64 " gaps: equal\n",
	       stream->index, side[0].ranges, side[0].insns, side[0].gaps);
	return EXIT_OK;
}

static int
verify_stream(struct input *in, uint32_t i, const char *one, const char *other, struct loss *loss)
{
	const struct ht_stream *stream = ht_container_stream(in->container, i);
	struct side *side = calloc(2, sizeof(*side));
	int status = EXIT_ERROR;

	if (!side)
		return tool_error("out of memory");
	side[0].engine = one;
	side[0].loss = loss;
	side[1].engine = other;
	if (open_side(&side[0], in, i) == EXIT_OK && open_side(&side[1], in, i) == EXIT_OK)
		status = compare(stream, side);
	ht_decoder_free(side[0].decoder);
	ht_decoder_free(side[1].decoder);
	free(side);
	return status;
}

/* An engine compared with itself is always right. */
static int
choose_engines(const struct options *o, const char *engine[2])
{
	engine[0] = o->input.engine;
	engine[1] = o->other;
	if (!engine[0])
		engine[0] = engine[1] && !strcmp(engine[1], "native") ? "libipt" : "native";
	if (!engine[1])
		engine[1] = strcmp(engine[0], "libipt") ? "libipt" : "native";
	if (strcmp(engine[0], engine[1]))
		return EXIT_OK;
	tool_error("verify: --engine and --against both name %s; two engines are compared", engine[0]);
	return EXIT_USAGE;
}

static int
is_engine(const char *name)
{
	for (uint32_t i = 0; ht_engine_name(i); i++)
		if (!strcmp(ht_engine_name(i), name))
			return 1;
	return 0;
}

/* That there is no such engine is told when it is opened. */
static int
check_engines(const struct input *in, const char *const engine[2])
{
	for (unsigned i = 0; i < 2; i++)
		if (is_engine(engine[i]) && !ht_engine_can(engine[i], HT_SOURCE_INTEL_PT))
			return tool_error("%s: engine %s does not decode Intel PT", in->path, engine[i]);
	return EXIT_OK;
}

static int
run(int argc, char **argv)
{
	const char *engine[2];
	struct options o = { 0 };
	struct loss loss = { .places = { 0 } };
	struct input in;
	int first = opts_parse_mixed(&command_verify, argc, argv, &o), status = EXIT_OK, seen = 0;
	const char *operand;

	if (first < 0)
		return first == -2 ? EXIT_OK : EXIT_USAGE;
	operand = input_operand(&command_verify, argc, argv, first, &status);
	if (status == EXIT_OK)
		status = choose_engines(&o, engine);
	if (status != EXIT_OK)
		return status;
	status = input_open(&in, &o.input, operand);
	if (status == EXIT_OK && check_engines(&in, engine) != EXIT_OK) {
		input_close(&in);
		return EXIT_ERROR;
	}
	for (uint32_t i = 0; status != EXIT_USAGE && in.session && i < ht_container_stream_count(in.container); i++) {
		if (ht_container_stream(in.container, i)->source != HT_SOURCE_INTEL_PT)
			continue;
		seen++;
		if (verify_stream(&in, i, engine[0], engine[1], &loss) != EXIT_OK)
			status = EXIT_ERROR;
	}
	if (status == EXIT_OK && !seen)
		status = tool_error("%s has no Intel PT stream", in.path);
	if (seen) {
		loss_add_session(&loss, in.session);
		loss_report(&loss, 0);
	}
	input_close(&in);
	return status;
}
