/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Branch stacks and Intel BTS into events.  A chunk of a stream of stacks is
 * that of one sample, the newest entry first; it is told from the oldest on.
 * BTS has every branch, in order, and goes on from chunk to chunk.  Where one entry led
 * to and where the next one left lies code that ran without a taken branch: it
 * is walked, so that blocks and the conditional branches passed come out as
 * from a trace.  Where the code is missing a BLOCK says from where to where (its
 * n is 0), which is all that the stack tells.
 */
#include <stdlib.h>
#include <linux/perf_event.h>

#include "decode/engine.h"
#include "decode/flow/graph.h"

/* No straight way is longer: beyond it two entries do not belong together. */
#define RANGE_MAX (1u << 20)
#define ROOM      8 /* events that one step may need */

struct stack {
	struct ht_graph graph;
	uint32_t        chunk;
	uint32_t        left;      /* entries of this chunk not told yet */
	int             bts;
	uint8_t         sampled;   /* HT_BR_SAMPLED or 0 */
	struct ht_branch_entry entry; /* the one being told */
	int             walking;   /* between the entry before and `entry` */
	int             pending;   /* `entry` itself comes next */
	int             linked;    /* `at` is where the entry before led to */
	uint64_t        at;
	uint8_t         insn, size; /* of the branch at entry.from, as found by walking */
	struct ht_gap   gap;       /* not told yet: it may grow; bytes 0 = none */
	int             failed;    /* -HT_E... */
	/* the batch being filled */
	struct ht_event *ev;
	int             n;
};

static size_t
read_code(void *arg, uint64_t addr, void *buf, size_t size)
{
	return ht_view_read(arg, addr, buf, size);
}

static void
put(struct stack *s, const struct ht_event *ev)
{
	s->ev[s->n++] = *ev;
}

/* Where in its chunk the entry is that was taken last. */
static size_t
entry_at(const struct stack *s, const struct ht_chunk *c)
{
	size_t n = (size_t)(c->size / HT_BRANCH_ENTRY_SIZE);

	return (s->bts ? n - 1 - s->left : s->left) * HT_BRANCH_ENTRY_SIZE;
}

/* A sample's time is in ns; BTS has the ticks of when the chunk was written. */
static uint64_t
chunk_ns(const struct ht_decoder *d, const struct ht_chunk *c)
{
	const struct stack *s = d->state;

	if (!s->bts)
		return c->ref;
	return d->info->clock.valid ? ht_clock_tsc_to_ns(&d->info->clock, c->ref) : 0;
}

/* -- gaps -------------------------------------------------------------------- */

static void
put_gap(struct ht_decoder *d)
{
	struct stack *s = d->state;
	int i = ht_decoder_add_gap(d, &s->gap);

	if (i < 0)
		s->failed = i;
	else
		put(s, &(struct ht_event){ .kind = HT_EV_GAP, .a = s->gap.offset, .b = s->gap.bytes,
		                           .n = (uint32_t)i });
	s->gap.bytes = 0;
}

/* The gap that was growing is complete. */
static void
gap_close(struct ht_decoder *d)
{
	if (((struct stack *)d->state)->gap.bytes)
		put_gap(d);
}

/*
 * Something between two entries is not known.  A sampled capture may have one at
 * every step (a file that is missing), so gaps of one reason that follow each
 * other are one, told when it ends.
 */
static void
gap(struct ht_decoder *d, enum ht_gap_kind kind, uint64_t ip, const char *why)
{
	struct stack *s = d->state;
	const struct ht_chunk *c = &d->stream->chunks[s->chunk];

	d->stats.bytes_skipped += HT_BRANCH_ENTRY_SIZE;
	if (s->gap.bytes && s->gap.kind == kind && s->gap.why == why) {
		s->gap.bytes += HT_BRANCH_ENTRY_SIZE;
		s->gap.ns_to = chunk_ns(d, c);
		return;
	}
	gap_close(d);
	s->gap = (struct ht_gap){ .kind = (uint8_t)kind, .ip = ip, .bytes = HT_BRANCH_ENTRY_SIZE,
		                  .offset = c->stream_offset + entry_at(s, c),
		                  .ns_from = chunk_ns(d, c), .ns_to = chunk_ns(d, c), .why = why };
}

/* -- between two entries ------------------------------------------------------- */

static void
put_block(struct ht_decoder *d, uint64_t a, uint64_t b, uint32_t n, unsigned insn, unsigned size)
{
	d->stats.instructions += n;
	if (d->want & HT_DECODE_BLOCKS)
		put(d->state, &(struct ht_event){ .kind = HT_EV_BLOCK, .a = a, .b = b, .n = n,
		                                  .insn = (uint8_t)insn, .size = (uint8_t)size,
		                                  .flags = ((struct stack *)d->state)->sampled });
}

/* The way ends at the branch of `entry`. */
static void
arrive(struct stack *s)
{
	s->walking = 0;
	s->pending = 1;
}

static void
no_code(struct ht_decoder *d)
{
	struct stack *s = d->state;
	const char *why = NULL;
	int kind = ht_view_why(d->view, s->at, &why);

	put_block(d, s->at, s->entry.from, 0, HT_INSN_OTHER, 0);
	gap(d, kind, s->at, why);
	arrive(s);
}

/* The last block of the way: it holds entry.from. */
static void
walk_last(struct ht_decoder *d, struct ht_block *b)
{
	struct stack *s = d->state;
	uint64_t last = 0;
	uint8_t size = 0;
	int64_t n;

	if (b->last == s->entry.from && b->end == HT_END_BRANCH) {
		put_block(d, b->start, b->last, b->insns, b->insn, b->last_size);
		s->insn = b->insn;
		s->size = b->last_size;
		gap_close(d);
		arrive(s);
		return;
	}
	/* No branch there: an interrupt or a fault took over in front of it. */
	n = ht_graph_split(&s->graph, b, s->entry.from, &last, &size);
	if (n > 0)
		put_block(d, b->start, last, (uint32_t)n, HT_INSN_OTHER, size);
	if (n < 0)
		gap(d, HT_GAP_MISMATCH, s->entry.from,
		    "the branch was taken from the middle of an instruction: the code is not what ran");
	arrive(s);
}

/* One block further on the way to entry.from. */
static void
walk(struct ht_decoder *d)
{
	struct stack *s = d->state;
	struct ht_block *b = ht_graph_block(&s->graph, s->at, 64);

	if (!b) {
		s->failed = -HT_ENOMEM;
		return;
	}
	if (b->insns && s->entry.from - b->start <= b->last - b->start) {
		walk_last(d, b);
		return;
	}
	if (!b->insns && b->end == HT_END_NO_CODE) {
		no_code(d);
		return;
	}
	if (!b->insns || b->end == HT_END_BAD_CODE ||
	    (b->end == HT_END_BRANCH && b->insn != HT_INSN_COND && b->insn != HT_INSN_SYSCALL)) {
		gap(d, HT_GAP_MISMATCH, b->start,
		    "the code does not lead from where one branch went to where the next one left");
		arrive(s);
		return;
	}
	put_block(d, b->start, b->last, b->insns, b->end == HT_END_BRANCH ? b->insn : HT_INSN_OTHER,
	          b->last_size);
	if (b->end == HT_END_BRANCH && b->insn == HT_INSN_COND) {
		d->stats.branches++;
		if (d->want & HT_DECODE_BRANCHES)
			put(s, &(struct ht_event){ .kind = HT_EV_BRANCH, .a = b->last, .b = b->next,
			                           .insn = b->insn, .size = b->last_size,
			                           .flags = s->sampled });
	}
	s->at = b->next;
}

/* -- entries ------------------------------------------------------------------- */

/* The class that the machine told, where the code could not be asked. */
static unsigned
told_class(const struct ht_branch_entry *e)
{
	static const uint8_t classes[16] = {
		[PERF_BR_COND] = HT_INSN_COND,          [PERF_BR_UNCOND] = HT_INSN_JUMP,
		[PERF_BR_IND] = HT_INSN_JUMP_IND,       [PERF_BR_CALL] = HT_INSN_CALL,
		[PERF_BR_IND_CALL] = HT_INSN_CALL_IND,  [PERF_BR_RET] = HT_INSN_RET,
		[PERF_BR_SYSCALL] = HT_INSN_SYSCALL,    [PERF_BR_SYSRET] = HT_INSN_SYSRET,
		[PERF_BR_COND_CALL] = HT_INSN_CALL,     [PERF_BR_COND_RET] = HT_INSN_RET,
		[PERF_BR_ERET] = HT_INSN_SYSRET,
	};

	return classes[e->type & 15];
}

/* The class of the branch at entry.from: walked to, else by its own bytes, else as told. */
static void
look_at_branch(struct ht_decoder *d)
{
	struct stack *s = d->state;
	struct ht_block *b;

	if (s->insn != HT_INSN_OTHER || d->info->arch != HT_ARCH_X86_64)
		return;
	b = ht_graph_block(&s->graph, s->entry.from, 64);
	if (!b) {
		s->failed = -HT_ENOMEM;
	} else if (b->insns == 1 && b->end == HT_END_BRANCH) {
		s->insn = b->insn;
		s->size = b->last_size;
	} else if (!b->insns) {
		s->insn = (uint8_t)told_class(&s->entry);
	}
}

static void
put_entry(struct ht_decoder *d)
{
	struct stack *s = d->state;
	const struct ht_branch_entry *e = &s->entry;

	s->pending = 0;
	look_at_branch(d);
	if (e->cycles && d->want & HT_DECODE_TIME)
		put(s, &(struct ht_event){ .kind = HT_EV_CYCLES, .a = e->cycles });
	d->stats.branches++;
	if (d->want & HT_DECODE_BRANCHES)
		put(s, &(struct ht_event){
			.kind = HT_EV_BRANCH, .a = e->from, .b = e->to, .insn = s->insn, .size = s->size,
			.flags = (uint8_t)(HT_BR_TAKEN | s->sampled | (e->mispred ? HT_BR_MISPRED : 0) |
			                   (e->abort ? HT_BR_ABORT : 0) | (e->in_tx ? HT_BR_IN_TX : 0)) });
	s->at = e->to;
	s->linked = e->to != 0;
}

static void
next_entry(struct ht_decoder *d)
{
	struct stack *s = d->state;
	const struct ht_chunk *c = &d->stream->chunks[s->chunk];
	struct ht_branch_entry *e = &s->entry;

	s->left--;
	d->stats.bytes_decoded += HT_BRANCH_ENTRY_SIZE;
	ht_branch_entry_read(c->data + entry_at(s, c), e);
	if (s->bts) {
		/* The third word has one bit: "predicted", the fifth, where stacks have cycles. */
		int predicted = e->cycles & 1;

		*e = (struct ht_branch_entry){ .from = e->from, .to = e->to,
			                       .predicted = (uint8_t)predicted, .mispred = !predicted };
	}
	/* An empty slot, or what was speculated and never ran. */
	if ((!e->from && !e->to) || e->spec == HT_SPEC_WRONG)
		return;
	s->insn = HT_INSN_OTHER;
	s->size = 0;
	s->pending = 1;
	if (!s->linked || !d->stream->gapless)
		return;
	if (e->from - s->at >= RANGE_MAX) {
		gap(d, HT_GAP_MISMATCH, s->at,
		    "the next branch of the stack does not lie behind where the last one went");
		return;
	}
	if (d->info->arch == HT_ARCH_AARCH64) {
		put_block(d, s->at, e->from, (uint32_t)((e->from - s->at) / 4 + 1), HT_INSN_OTHER, 4);
	} else {
		s->pending = 0;
		s->walking = 1;
	}
}

/* -- samples --------------------------------------------------------------------- */

/* Records are missing before chunk `c`, or at the end, in front of an empty one. */
static void
lost_bytes(struct ht_decoder *d, const struct ht_chunk *c)
{
	struct stack *s = d->state;

	gap_close(d);
	s->gap = (struct ht_gap){
		.kind = c->lost_before == HT_LOST_TRUNCATED ? HT_GAP_AUX_TRUNCATED : HT_GAP_AUX_LOST,
		.offset = c->stream_offset, .ip = s->entry.to, .ns_from = chunk_ns(d, c),
		.why = "the kernel or the recorder lost records",
	};
	put_gap(d);
}

/*
 * Into the next chunk.  1; 0 at the end of the stream, and when the batch must
 * be given out first because the address space changes here.
 */
static int
next_sample(struct ht_decoder *d)
{
	struct stack *s = d->state;
	const struct ht_chunk *c;
	const struct ht_range *ranges;
	uint64_t ns;
	uint32_t n;
	int r;

	if (s->chunk + 1 == d->stream->n_chunks || !d->stream->n_chunks) {
		gap_close(d);
		return 0;
	}
	c = &d->stream->chunks[s->chunk + 1];
	ns = chunk_ns(d, c);
	if (ht_view_next_change(d->view) <= ns) {
		/* It is told in the address space that it is of, however the batches fall. */
		gap_close(d);
		if (s->n)
			return 0;
		r = ht_view_advance(d->view, ns);
		if (r < 0) {
			s->failed = r;
			return 0;
		}
		ranges = ht_view_changes(d->view, &n);
		if (r)
			ht_graph_invalidate(&s->graph, ranges, n);
	}
	s->chunk++;
	s->left = (uint32_t)(c->size / HT_BRANCH_ENTRY_SIZE);
	d->stats.bytes_decoded += c->size % HT_BRANCH_ENTRY_SIZE; /* filled up at the end */
	if (!s->bts || c->lost_before)
		s->linked = 0;
	if (s->bts && c->lost_before)
		lost_bytes(d, c);
	if (d->want & HT_DECODE_TIME && ns)
		put(s, &(struct ht_event){ .kind = HT_EV_TIME, .a = ns, .b = c->ref,
		                           .flags = HT_EV_F_SYNC });
	return 1;
}

static int
stack_next(struct ht_decoder *d, struct ht_event *ev, int n)
{
	struct stack *s = d->state;

	s->ev = ev;
	s->n = 0;
	while (s->n + ROOM <= n && !s->failed) {
		if (s->walking)
			walk(d);
		else if (s->pending)
			put_entry(d);
		else if (s->left)
			next_entry(d);
		else if (!next_sample(d))
			break;
	}
	return s->failed ? s->failed : s->n;
}

/* -- engine ------------------------------------------------------------------------ */

static int
stack_can(enum ht_trace_source source)
{
	return source == HT_SOURCE_BRANCH_STACK || source == HT_SOURCE_INTEL_BTS;
}

static int
stack_open(struct ht_decoder *d, struct ht_diag *diag)
{
	struct stack *s = calloc(1, sizeof(*s));

	if (!s)
		return ht_fail(diag, HT_ENOMEM, NULL, HT_NO_OFFSET, NULL, "out of memory");
	s->chunk = UINT32_MAX; /* in front of the first */
	s->bts = d->stream->source == HT_SOURCE_INTEL_BTS;
	s->sampled = s->bts ? 0 : HT_BR_SAMPLED;
	ht_graph_init(&s->graph, read_code, d->view);
	d->state = s;
	return 0;
}

static void
stack_close(struct ht_decoder *d)
{
	struct stack *s = d->state;

	ht_graph_fini(&s->graph);
	free(s);
}

const struct ht_engine ht_engine_stack = {
	.name = "stack",
	.can = stack_can,
	.open = stack_open,
	.close = stack_close,
	.next = stack_next,
};
