/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One walk over all records when the file is opened: the streams with their
 * chunks, what was lost of them, the clock and the processor.
 *
 * AUX records say what the kernel wrote for a stream and whether it had to drop
 * bytes; AUXTRACE records bring the bytes.  A stream is told by the index in its
 * AUXTRACE records; AUX records are matched to it by the AUXTRACE record right
 * behind, else by cpu or tid (a thread that calls exec has two streams).
 *
 * With AUX sampling the bytes come in samples, with `-S` in snapshots: each is
 * what the ring held then, and two of them may have trace in common.
 */
#include <stdlib.h>
#include <string.h>

#include "container/limits.h"
#include "container/overlap.h"
#include "container/perfdata_impl.h"

/* Attributes of a pipe stand in front: a file that mixes them in costs no more than this. */
#define LAYOUTS_MAX 64
#define OFFSET_MAX (1ull << 62) /* a stream offset above this is damage */

struct aux {
	int32_t  pid, tid, cpu;
	uint64_t offset, size, flags, file_offset;
	uint32_t queue; /* position + 1 when the bytes stand right behind the record, else 0 */
};

struct queue {
	uint32_t idx;
	int32_t  cpu, tid;
	int32_t  pid;
	uint32_t n_pieces;
	uint32_t n_cuts;
	uint64_t file_offset; /* of its first AUXTRACE record */
	uint64_t end;       /* stream offset behind the last piece */
	uint8_t  lost_tail; /* HT_LOST_*: bytes are missing behind it */
};

struct piece {
	uint32_t        queue;
	struct ht_chunk chunk;
};

/* Bytes are missing before offset `at` of a queue. */
struct cut {
	uint32_t queue;
	uint8_t  lost; /* HT_LOST_* */
	uint64_t at;
};

struct index {
	struct ht_container *c;
	unsigned layouts; /* how often the layouts were made */
	int snapshots;    /* pieces may overlap */
	struct { struct aux *at; size_t n, cap; } aux;
	struct { struct queue *at; size_t n, cap; } queues;
	struct { struct piece *at; size_t n, cap; } pieces;
	struct { struct cut *at; size_t n, cap; } cuts;
	/* over queues by idx: 0 = free, else position + 1 */
	struct { uint32_t *at; size_t n, cap; } hash;
};

/* -- queues ----------------------------------------------------------------------- */

static uint32_t *
queue_slot(struct index *x, uint32_t idx)
{
	/* the high half: indexes that are far apart by a power of two must not meet */
	uint32_t mask = (uint32_t)x->hash.n - 1,
		 i = (uint32_t)(idx * 0x9e3779b97f4a7c15ull >> 32) & mask;

	while (x->hash.at[i] && x->queues.at[x->hash.at[i] - 1].idx != idx)
		i = (i + 1) & mask;
	return &x->hash.at[i];
}

static int
queue_find(struct index *x, uint32_t idx, int32_t cpu, int32_t tid, uint64_t file_offset,
           uint32_t *out)
{
	struct queue *q;
	uint32_t *slot;

	if (x->queues.n * 2 >= x->hash.n) {
		size_t n = x->hash.n ? x->hash.n * 2 : 64;

		if (ht_vec_reserve(&x->hash, n) < 0)
			return -HT_ENOMEM;
		x->hash.n = n;
		memset(x->hash.at, 0, n * sizeof(*x->hash.at));
		for (size_t i = 0; i < x->queues.n; i++)
			*queue_slot(x, x->queues.at[i].idx) = (uint32_t)i + 1;
	}
	slot = queue_slot(x, idx);
	if (!*slot) {
		q = ht_vec_push(&x->queues);
		if (!q)
			return -HT_ENOMEM;
		*q = (struct queue){
			.idx = idx, .cpu = cpu, .tid = tid, .pid = -1, .file_offset = file_offset
		};
		*slot = (uint32_t)x->queues.n;
	}
	*out = *slot - 1;
	return 0;
}

static int
push_piece(struct index *x, uint32_t queue, struct ht_chunk chunk)
{
	struct queue *q = &x->queues.at[queue];
	struct piece *piece = ht_vec_push(&x->pieces);

	if (!piece)
		return -HT_ENOMEM;
	*piece = (struct piece){ queue, chunk };
	q->n_pieces++;
	q->end = chunk.stream_offset + chunk.size;
	return 0;
}

/* The AUX record before tells of these very bytes; one before that, of a gap in front of them. */
static void
pair(struct index *x, uint32_t queue, uint64_t offset, uint64_t size, int32_t tid)
{
	struct aux *a = x->aux.n ? &x->aux.at[x->aux.n - 1] : NULL;

	if (!a || a->queue || a->offset != offset || a->size != size || a->tid != tid)
		return;
	a->queue = queue + 1;
	if (a == x->aux.at)
		return;
	a--;
	if (!a->queue && a->offset == offset && !a->size && a->tid == tid)
		a->queue = queue + 1;
}

static int
add_auxtrace(struct index *x, const struct ht_perf_raw *raw)
{
	struct ht_cursor k = ht_cursor_make(raw->at, raw->size);
	struct ht_chunk chunk = { .size = raw->payload };
	uint32_t idx, queue, tid, cpu;
	uint64_t offset;

	ht_cursor_take(&k, 16);
	offset = ht_cursor_u64(&k);
	chunk.ref = ht_cursor_u64(&k);
	idx = ht_cursor_u32(&k);
	tid = ht_cursor_u32(&k);
	cpu = ht_cursor_u32(&k);
	if (k.failed || !raw->mapped)
		return 0;
	if (queue_find(x, idx, (int32_t)cpu, (int32_t)tid, raw->offset, &queue) < 0)
		return -HT_ENOMEM;
	pair(x, queue, offset, raw->payload_said, (int32_t)tid);
	/* The bytes are behind the record, in the file: the walk has bounded payload. */
	chunk.data = raw->at + raw->size;
	chunk.file_offset = raw->offset + raw->size;
	chunk.lost_before = offset != x->queues.at[queue].end ? HT_LOST_AUX : 0;
	chunk.stream_offset = offset >= x->queues.at[queue].end && offset < OFFSET_MAX ?
	                      offset : x->queues.at[queue].end;
	x->queues.at[queue].lost_tail = raw->payload < raw->payload_said ? HT_LOST_AUX : 0;
	return push_piece(x, queue, chunk);
}

/* The trace that was taken with a sample. */
static int
add_aux_sample(struct index *x, const struct ht_perf_raw *raw)
{
	struct ht_perfdata *p = x->c->state;
	const struct ht_perf_event *e = ht_perfdata_event(p, raw);
	struct ht_chunk chunk = { .lost_before = HT_LOST_AUX };
	struct ht_record rec;
	int per_cpu;
	uint32_t queue;

	if (!e || !(e->attr.sample_type & PERF_SAMPLE_AUX) || ht_perfdata_parse(x->c, raw, &rec) <= 0 ||
	    !rec.u.sample.aux_size)
		return 0;
	per_cpu = rec.cpu >= 0 && !p->aux_per_thread;
	if (queue_find(x, per_cpu ? (uint32_t)rec.cpu : (uint32_t)rec.tid | 1u << 31, per_cpu ? rec.cpu : -1,
	               per_cpu ? -1 : rec.tid, raw->offset, &queue) < 0)
		return -HT_ENOMEM;
	if (!per_cpu)
		x->queues.at[queue].pid = rec.pid;
	chunk.data = raw->mapped ? rec.u.sample.aux
	                         : ht_perf_keep(p, rec.u.sample.aux, rec.u.sample.aux_size);
	chunk.size = rec.u.sample.aux_size;
	chunk.ref = rec.time;
	chunk.file_offset = raw->offset + (raw->mapped ? (uint64_t)(chunk.data - raw->at) : 0);
	chunk.stream_offset = x->queues.at[queue].end;
	if (!x->queues.at[queue].n_pieces)
		chunk.lost_before = 0;
	x->snapshots = 1;
	return chunk.data ? push_piece(x, queue, chunk) : -HT_ENOMEM;
}

static int
add_aux(struct index *x, const struct ht_perf_raw *raw)
{
	struct ht_record rec;
	struct aux *a;

	if (ht_perfdata_parse(x->c, raw, &rec) <= 0)
		return 0; /* next() will say so */
	a = ht_vec_push(&x->aux);
	if (!a)
		return -HT_ENOMEM;
	*a = (struct aux){
		.pid = rec.pid, .tid = rec.tid, .cpu = rec.cpu, .offset = rec.u.aux.offset,
		.size = rec.u.aux.size, .flags = rec.u.aux.flags, .file_offset = raw->offset
	};
	return 0;
}

/* -- what AUX records say was lost -------------------------------------------------- */

/* Where AUX records and queues meet: per CPU the cpu, else the tid. */
struct key {
	int32_t  who;
	uint32_t at; /* position in aux or queues */
};

static int
by_key(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	if (x->who != y->who)
		return x->who < y->who ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static int
by_cut(const void *a, const void *b)
{
	const struct cut *x = a, *y = b;

	if (x->queue != y->queue)
		return x->queue < y->queue ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* `a` speaks of queue `qi`.  A snapshot's AUX records do not fit the bytes that were taken. */
static int
apply_aux(struct index *x, const struct aux *a, uint32_t qi)
{
	struct queue *q = &x->queues.at[qi];
	uint64_t end = a->size < OFFSET_MAX && a->offset < OFFSET_MAX ? a->offset + a->size : 0;
	uint8_t lost = a->flags & HT_PERF_AUX_FLAG_KILLED   ? HT_LOST_BLOCK
	               : a->flags & PERF_AUX_FLAG_TRUNCATED ? HT_LOST_TRUNCATED
	                                                    : HT_LOST_AUX;
	struct cut *cut;

	if (q->cpu < 0 && q->pid < 0)
		q->pid = a->pid;
	if (a->flags & PERF_AUX_FLAG_OVERWRITE)
		return 0;
	if (end > q->end)
		q->lost_tail = HT_LOST_AUX;
	if (!(a->flags & (PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL)))
		return 0;
	if (!(a->flags & PERF_AUX_FLAG_TRUNCATED))
		end = a->offset;
	if (end >= q->end) {
		if (!q->lost_tail)
			q->lost_tail = lost;
		return 0;
	}
	cut = ht_vec_push(&x->cuts);
	if (!cut)
		return -HT_ENOMEM;
	*cut = (struct cut){ qi, lost, end };
	q->n_cuts++;
	return 0;
}

/* Bytes were written for a stream of which nothing is in the file. */
static int
add_lost_queue(struct index *x, const struct aux *a, int per_cpu)
{
	struct queue *q = ht_vec_push(&x->queues);

	if (!q)
		return -HT_ENOMEM;
	*q = (struct queue){ .idx = UINT32_MAX,
		             .cpu = per_cpu ? a->cpu : -1,
		             .tid = per_cpu ? -1 : a->tid,
		             .pid = per_cpu ? -1 : a->pid,
		             .lost_tail = HT_LOST_AUX };
	return 0;
}

/* Queue `next` of the same thread or CPU had begun when `a` was written. */
static int
began_before(const struct index *x, const struct key *next, const struct key *end, int32_t who,
             const struct aux *a)
{
	return next < end && next->who == who &&
	       x->queues.at[next->at].file_offset < a->file_offset;
}

/*
 * Both lists are sorted by `who`, then by their order in the file: go through
 * them side by side.  Where a thread has several queues, a record without bytes
 * belongs to the last one that had begun.
 */
static int
merge_keys(struct index *x, const struct key *aux, const struct key *queues, size_t n_queues,
           int per_cpu)
{
	int64_t missing = -1; /* who has a queue of add_lost_queue() */
	size_t qi = 0;

	for (size_t i = 0; i < x->aux.n; i++) {
		const struct aux *a = &x->aux.at[aux[i].at];
		int32_t who = aux[i].who;

		if (a->queue) {
			if (apply_aux(x, a, a->queue - 1) < 0)
				return -HT_ENOMEM;
			continue;
		}
		if (who == -1)
			continue;
		while (qi < n_queues && queues[qi].who < who)
			qi++;
		if (qi == n_queues || queues[qi].who != who) {
			if (!a->size || missing == who || a->flags & PERF_AUX_FLAG_OVERWRITE)
				continue;
			if (add_lost_queue(x, a, per_cpu) < 0)
				return -HT_ENOMEM;
			missing = who;
			continue;
		}
		while (began_before(x, queues + qi + 1, queues + n_queues, who, a))
			qi++;
		if (apply_aux(x, a, queues[qi].at) < 0)
			return -HT_ENOMEM;
	}
	return 0;
}

static int
match_aux(struct index *x)
{
	size_t n_queues = x->queues.n;
	struct key *aux = calloc(x->aux.n + 1, sizeof(*aux)),
		   *queues = calloc(n_queues + 1, sizeof(*queues));
	int per_cpu = 0, err = -HT_ENOMEM;

	for (size_t i = 0; i < n_queues; i++)
		per_cpu |= x->queues.at[i].cpu >= 0;
	for (size_t i = 0; !n_queues && i < x->aux.n; i++)
		per_cpu |= x->aux.at[i].cpu >= 0;
	if (aux && queues) {
		for (size_t i = 0; i < x->aux.n; i++)
			aux[i] = (struct key){ per_cpu ? x->aux.at[i].cpu : x->aux.at[i].tid,
				               (uint32_t)i };
		for (size_t i = 0; i < n_queues; i++)
			queues[i] =
			    (struct key){ per_cpu ? x->queues.at[i].cpu : x->queues.at[i].tid,
				          (uint32_t)i };
		qsort(aux, x->aux.n, sizeof(*aux), by_key);
		qsort(queues, n_queues, sizeof(*queues), by_key);
		err = merge_keys(x, aux, queues, n_queues, per_cpu);
	}
	free(aux);
	free(queues);
	if (x->cuts.n)
		qsort(x->cuts.at, x->cuts.n, sizeof(*x->cuts.at), by_cut);
	x->c->info.per_cpu = per_cpu;
	return err;
}

/* -- streams ------------------------------------------------------------------------- */

/* One piece, divided where bytes are missing inside it.  `*cut` goes forward to `end`. */
static struct ht_chunk *
put_piece(struct ht_chunk *out, struct ht_chunk piece, const struct cut **cut,
          const struct cut *end)
{
	while (*cut < end && (*cut)->at < piece.stream_offset + piece.size) {
		uint64_t head =
		    (*cut)->at > piece.stream_offset ? (*cut)->at - piece.stream_offset : 0;

		uint8_t lost = (*cut)->lost;

		(*cut)++;
		if (head) {
			*out = piece;
			out->size = head;
			out++;
			piece.data += head;
			piece.size -= head;
			piece.stream_offset += head;
			piece.file_offset += head;
		}
		if (head || !piece.lost_before)
			piece.lost_before = lost;
	}
	*out = piece;
	return out + 1;
}

static struct ht_chunk *
put_tail(struct ht_chunk *out, const struct queue *q)
{
	if (!q->lost_tail)
		return out;
	*out = (struct ht_chunk){ .stream_offset = q->end,
		                  .lost_before = q->lost_tail,
		                  .file_offset = HT_NO_OFFSET };
	return out + 1;
}

/* Positions of the pieces, queue by queue, each in file order; NULL: out of memory. */
static size_t *
order_pieces(const struct index *x)
{
	size_t *order = calloc(x->pieces.n + 1, sizeof(*order));
	size_t *next = calloc(x->queues.n + 1, sizeof(*next));
	size_t sum = 0;

	for (size_t i = 0; order && next && i < x->queues.n; i++) {
		next[i] = sum;
		sum += x->queues.at[i].n_pieces;
	}
	for (size_t i = 0; order && next && i < x->pieces.n; i++)
		order[next[x->pieces.at[i].queue]++] = i;
	if (!next) {
		free(order);
		order = NULL;
	}
	free(next);
	return order;
}

/* `piece` without what `before`, as it was taken, had already. */
static struct ht_chunk
stitch(const struct ht_chunk *before, struct ht_chunk piece)
{
	size_t skip;

	if (!piece.lost_before ||
	    !ht_overlap(before->data, (size_t)before->size, piece.data, (size_t)piece.size, &skip))
		return piece;
	piece.data += skip;
	piece.size -= skip;
	piece.file_offset += skip;
	piece.stream_offset += skip;
	piece.lost_before = 0;
	return piece;
}

static int
build_streams(struct index *x)
{
	struct ht_container *c = x->c;
	struct ht_perfdata *p = c->state;
	size_t *order = order_pieces(x), at = 0;
	const struct cut *cut = x->cuts.at;
	struct ht_chunk *out;

	p->chunks = calloc(x->pieces.n + x->cuts.n + x->queues.n + 1, sizeof(*p->chunks));
	c->streams = calloc(x->queues.n + 1, sizeof(*c->streams));
	if (!order || !p->chunks || !c->streams) {
		free(order);
		return -HT_ENOMEM;
	}
	out = p->chunks;
	for (uint32_t i = 0; i < x->queues.n; i++) {
		const struct queue *q = &x->queues.at[i];
		const struct cut *last = cut ? cut + q->n_cuts : NULL;
		struct ht_stream *s = &c->streams[i];

		*s = (struct ht_stream){ .index = i,
			                 .source = c->info.source,
			                 .pid = q->pid,
			                 .tid = q->cpu >= 0 ? -1 : q->tid,
			                 .cpu = q->cpu,
			                 .gapless = c->info.source == HT_SOURCE_INTEL_BTS,
			                 .chunks = out };
		for (uint32_t n = 0; n < q->n_pieces; n++) {
			struct ht_chunk piece = x->pieces.at[order[at]].chunk;

			if (x->snapshots && n)
				piece = stitch(&x->pieces.at[order[at - 1]].chunk, piece);
			at++;
			s->bytes += piece.size;
			if (piece.size || piece.lost_before)
				out = put_piece(out, piece, &cut, last);
		}
		cut = last;
		out = put_tail(out, q);
		s->n_chunks = (uint32_t)(out - s->chunks);
	}
	c->n_streams = (uint32_t)x->queues.n;
	free(order);
	return 0;
}

/* -- clock and processor ---------------------------------------------------------------- */

static uint64_t
info_word(const struct ht_perfdata *p, unsigned i)
{
	return (uint64_t)i * 8 + 16 <= p->aux_info_size ? ht_le(p->aux_info + 8 + i * 8, 8) : 0;
}

/* Words 1 to 4 of intel_pt and intel_bts are the same. */
static void
read_clock(struct ht_container *c)
{
	const struct ht_perfdata *p = c->state;

	c->info.clock = (struct ht_clock){
		.valid = info_word(p, HT_PERF_PT_CAP_TIME_ZERO) != 0 &&
		         info_word(p, HT_PERF_PT_TIME_MULT) != 0,
		.shift = (uint16_t)(info_word(p, HT_PERF_PT_TIME_SHIFT) & 63),
		.mult = (uint32_t)info_word(p, HT_PERF_PT_TIME_MULT),
		.zero = info_word(p, HT_PERF_PT_TIME_ZERO),
	};
}

/* What tracing was limited to, behind the words. */
static int
read_filter(struct ht_container *c)
{
	struct ht_perfdata *p = c->state;
	uint64_t flags = info_word(p, HT_PERF_PT_MARK_FLAGS);
	size_t words = 8 + 8 * HT_PERF_PT_WORDS, left;
	const char *text, *nul;

	if (!(flags & HT_PERF_PT_MARK_FILTER) || p->aux_info_size <= words)
		return 0;
	text = (const char *)p->aux_info + words;
	left = p->aux_info_size - words;
	nul = memchr(text, 0, left);
	if (!nul)
		return 0;
	c->info.filter = text;
	if (!(flags & HT_PERF_PT_MARK_LIMITS))
		return 0;
	left -= (size_t)(nul + 1 - text);
	if (ht_limits_read(nul + 1, left, &p->limits, &c->info.n_limits) < 0)
		return -HT_ENOMEM;
	c->info.limits = p->limits;
	return 0;
}

/* The same as perf writes it, in place of the words behind its length. */
static int
read_perf_filter(struct ht_container *c)
{
	struct ht_perfdata *p = c->state;
	size_t at = 8 + 8 * (HT_PERF_PT_FILTER_LEN + 1), left;
	uint64_t size = info_word(p, HT_PERF_PT_FILTER_LEN);
	const char *text = (const char *)p->aux_info + at;

	if (!size)
		return 0;
	left = p->aux_info_size > at ? p->aux_info_size - at : 0;
	if (left > size)
		left = (size_t)size;
	c->info.filter = left && memchr(text, 0, left) ? text : "an address filter of perf";
	if (ht_limits_perf(text, left, &p->limits, &c->info.n_limits) < 0)
		return -HT_ENOMEM;
	c->info.limits = p->limits;
	return 0;
}

static int
read_pt_info(struct ht_container *c)
{
	const struct ht_perfdata *p = c->state;
	uint64_t mtc_bits = info_word(p, HT_PERF_PT_MTC_FREQ_BITS);
	uint64_t noretc = info_word(p, HT_PERF_PT_NORETCOMP_BIT),
		 type = info_word(p, HT_PERF_PT_PMU_TYPE);

	read_clock(c);
	c->info.cpu.tsc_ctc_num = (uint32_t)info_word(p, HT_PERF_PT_TSC_CTC_NUM);
	c->info.cpu.tsc_ctc_den = (uint32_t)info_word(p, HT_PERF_PT_TSC_CTC_DEN);
	c->info.cpu.nom_freq = (uint8_t)info_word(p, HT_PERF_PT_MAX_NONTURBO);
	for (size_t i = 0; i < p->events.n; i++) {
		const struct perf_event_attr *a = &p->events.at[i].attr;

		if (a->type != type)
			continue;
		c->info.ret_compression = !(a->config & noretc);
		if (mtc_bits)
			c->info.cpu.mtc_freq =
			    (uint8_t)((a->config & mtc_bits) >> __builtin_ctzll(mtc_bits));
		break;
	}
	if (info_word(p, HT_PERF_PT_MARK) == HT_PERF_MARK) {
		c->info.software = info_word(p, HT_PERF_PT_MARK_FLAGS) & HT_PERF_PT_MARK_SOFTWARE;
		if (read_filter(c) < 0)
			return -HT_ENOMEM;
		if (!c->info.backend && p->aux_info_size >= 8 + 8 * HT_PERF_PT_WORDS &&
		    memchr(p->aux_info + 8 + 8 * HT_PERF_PT_MARK_NAME, 0, 16))
			c->info.backend = (const char *)p->aux_info + 8 + 8 * HT_PERF_PT_MARK_NAME;
		return 0;
	}
	return read_perf_filter(c);
}

static int
read_source(struct ht_container *c)
{
	static const enum ht_trace_source sources[] = {
		[HT_PERF_AUXTRACE_TYPE_INTEL_PT] = HT_SOURCE_INTEL_PT,
		[HT_PERF_AUXTRACE_TYPE_INTEL_BTS] = HT_SOURCE_INTEL_BTS,
		[HT_PERF_AUXTRACE_TYPE_CS_ETM] = HT_SOURCE_CORESIGHT,
		[HT_PERF_AUXTRACE_TYPE_ARM_SPE] = HT_SOURCE_ARM_SPE,
		[HT_PERF_AUXTRACE_TYPE_S390] = HT_SOURCE_S390_CPUMSF,
		[HT_PERF_AUXTRACE_TYPE_HISI_PTT] = HT_SOURCE_HISI_PTT,
	};
	const struct ht_perfdata *p = c->state;
	uint64_t type;

	if (p->aux_info_size >= 8) {
		type = ht_le(p->aux_info, 4);
		c->info.source = type && type < sizeof(sources) / sizeof(sources[0])
		                     ? sources[type]
		                     : HT_SOURCE_OTHER;
	}
	for (size_t i = 0; !p->aux_info && i < p->events.n; i++)
		if (p->events.at[i].attr.sample_type & PERF_SAMPLE_BRANCH_STACK)
			c->info.source = HT_SOURCE_BRANCH_STACK;
	if (c->info.source == HT_SOURCE_BRANCH_STACK) {
		c->info.sampled = 1;
		/* samples bear ns: that is their clock, whatever the TSC is */
		c->info.clock = (struct ht_clock){ .valid = 1, .mult = 1 };
	}
	if (c->info.source == HT_SOURCE_INTEL_PT && read_pt_info(c) < 0)
		return -HT_ENOMEM;
	if (c->info.source == HT_SOURCE_INTEL_BTS)
		read_clock(c);
	if (c->info.arch == HT_ARCH_UNKNOWN &&
	    (c->info.source == HT_SOURCE_INTEL_PT || c->info.source == HT_SOURCE_INTEL_BTS))
		c->info.arch = HT_ARCH_X86_64;
	return 0;
}

static void
read_time_conv(struct ht_container *c, const struct ht_perf_raw *raw)
{
	if (raw->size < 32 || c->info.clock.valid || !ht_le(raw->at + 16, 4))
		return;
	c->info.clock = (struct ht_clock){
		.valid = raw->size < 56 || raw->at[48] != 0, /* old ones state no capability */
		.shift = (uint16_t)(ht_le(raw->at + 8, 8) & 63),
		.mult = (uint32_t)ht_le(raw->at + 16, 8),
		.zero = ht_le(raw->at + 24, 8),
	};
}

/* -- the walk ----------------------------------------------------------------------------- */

/* Records that carry in a pipe what a file has in its header. */
static int
pipe_record(struct ht_container *c, const struct ht_perf_raw *raw)
{
	struct ht_perfdata *p = c->state;
	uint32_t size;

	switch (raw->type) {
	case HT_PERF_HEADER_ATTR:
		if (raw->size < 8 + PERF_ATTR_SIZE_VER0)
			return 0;
		size = (uint32_t)ht_le(raw->at + 12, 4);
		if (size < PERF_ATTR_SIZE_VER0 || size > raw->size - 8)
			size = PERF_ATTR_SIZE_VER0;
		p->unsorted = 1;
		return ht_perfdata_attr(c, raw->at + 8, size, raw->at + 8 + size,
		                        raw->size - 8 - size);
	case HT_PERF_HEADER_FEATURE:
		if (raw->size > 16 && raw->mapped && ht_le(raw->at + 8, 8) < HT_PERF_FEAT_COUNT)
			ht_perfdata_feature(c, (unsigned)ht_le(raw->at + 8, 8), raw->at + 16,
			                    raw->size - 16);
		return 0;
	case HT_PERF_HEADER_BUILD_ID:
		return raw->mapped && raw->size > 36
		           ? ht_perfdata_add_build_id(c, raw->at, raw->size, 36)
		           : 0;
	default:
		return 0;
	}
}

static int
index_record(struct index *x, const struct ht_perf_raw *raw)
{
	struct ht_perfdata *p = x->c->state;

	switch (raw->type) {
	case PERF_RECORD_AUX:
		if (p->unsorted && x->layouts++ < LAYOUTS_MAX)
			ht_perfdata_layouts(x->c);
		return add_aux(x, raw);
	case PERF_RECORD_SAMPLE:
		if (p->unsorted && x->layouts++ < LAYOUTS_MAX)
			ht_perfdata_layouts(x->c);
		/* Beside a trace, which has every branch, stacks are no stream of their own. */
		return p->aux_info ? add_aux_sample(x, raw) : ht_perf_stack_add(x->c, raw);
	case HT_PERF_AUXTRACE:
		return add_auxtrace(x, raw);
	case HT_PERF_AUXTRACE_INFO:
		if (raw->mapped && !p->aux_info) {
			p->aux_info = raw->at + 8;
			p->aux_info_size = raw->size - 8;
		}
		return 0;
	case HT_PERF_ID_INDEX: /* u64 n; then id, idx, cpu, tid, 8 bytes each */
		if (raw->size >= 48 && ht_le(raw->at + 32, 8) == UINT64_MAX)
			p->aux_per_thread = 1;
		return 0;
	case HT_PERF_TIME_CONV:
		read_time_conv(x->c, raw);
		return 0;
	default:
		return p->pipe ? pipe_record(x->c, raw) : 0;
	}
}

int
ht_perfdata_index(struct ht_container *c, struct ht_diag *diag)
{
	struct ht_perfdata *p = c->state;
	struct index x = { .c = c };
	struct ht_perf_walk walk;
	struct ht_perf_raw raw;
	int rc, err = 0;

	ht_perf_walk_init(&walk, p);
	/* A damaged record is no reason to refuse what came before it; next() reports it. */
	while (!err && (rc = ht_perf_walk_next(c, &walk, &raw, NULL)) != 0)
		if (rc > 0)
			err = index_record(&x, &raw);
	if (walk.cut) {
		c->info.truncated = 1;
		c->info.truncated_at = walk.cut_at;
	}
	ht_perf_walk_fini(&walk);
	if (p->unsorted)
		ht_perfdata_layouts(c);
	if (!err)
		err = read_source(c);
	if (c->info.source == HT_SOURCE_INTEL_PT && info_word(p, HT_PERF_PT_SNAPSHOT))
		x.snapshots = 1;
	if (!err)
		err = match_aux(&x);
	if (!err)
		err = p->aux_info || x.queues.n ? build_streams(&x) : ht_perf_stack_build(c);
	ht_vec_free(&x.aux);
	ht_vec_free(&x.queues);
	ht_vec_free(&x.pieces);
	ht_vec_free(&x.cuts);
	ht_vec_free(&x.hash);
	return err ? ht_fail(diag, HT_ENOMEM, c->path, HT_NO_OFFSET, "",
	                     "out of memory for the index")
	           : 0;
}
