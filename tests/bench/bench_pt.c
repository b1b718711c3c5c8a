/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One measurement a process, so that none profits from another's warm memory:
 *
 *	bench_pt prepare CAPTURE DIR N   DIR/pt.bin (the longest stream N times), pages.bin, map.tsv
 *	bench_pt short DIR rc|nrc        DIR/pt.bin anew, as processors write it: short TNT packets,
 *	                                 no target deferred
 *	bench_pt lexer|count|events|timed|blocks|reference DIR
 *	bench_pt one|two DIR             counted by one thread or by two
 *	bench_pt memory DIR              counted; how much memory that took
 *
 * Prints CPU seconds (one, two: seconds on the clock; memory: the most megabytes
 * of anonymous memory at a time), branches and a sum that must agree between
 * engines: of the edges for lexer-free modes, see checksum().
 */
#include <intel-pt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <hwtrace/flow.h>
#include <hwtrace/parallel.h>
#include <hwtrace/pt_packet.h>

static char paths[3][512];

static void
die(const char *what, const struct ht_diag *diag)
{
	char line[1024] = "";

	fprintf(stderr, "bench_pt: %s: %s\n", what, diag ? ht_diag_line(diag, line, sizeof(line)) : "failed");
	exit(1);
}

static double
cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
name_paths(const char *dir)
{
	snprintf(paths[0], sizeof(paths[0]), "%s/pt.bin", dir);
	snprintf(paths[1], sizeof(paths[1]), "%s/pages.bin", dir);
	snprintf(paths[2], sizeof(paths[2]), "%s/map.tsv", dir);
}

static struct ht_session *
open_raw(struct ht_container **c)
{
	struct ht_container_config config = { .size = sizeof(config),
		.raw = { .pt = paths[0], .pages = paths[1], .map = paths[2] } };
	struct ht_session *s;
	struct ht_diag diag = { 0 };

	if (ht_container_open(NULL, &config, c, &diag) < 0 || ht_session_open(*c, NULL, &s, &diag) < 0)
		die("open", &diag);
	return s;
}

/* -- prepare ---------------------------------------------------------------- */

static void
write_pages(struct ht_view *view)
{
	FILE *pages = fopen(paths[1], "wb"), *map = fopen(paths[2], "w");
	uint32_t n;
	const struct ht_mapping *m = ht_view_mappings(view, &n);
	uint64_t offset = 0;

	if (!pages || !map)
		die("pages", NULL);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t size = m[i].end - m[i].start;
		uint8_t *buf = malloc(size);
		size_t got = buf ? ht_view_read(view, m[i].start, buf, size) : 0;

		if (got) {
			fwrite(buf, 1, got, pages);
			fprintf(map, "0x%" PRIx64 " 0x%zx 0x%" PRIx64 "\n", m[i].start, got, offset);
			offset += got;
		}
		free(buf);
	}
	if (fclose(pages) || fclose(map))
		die("pages", NULL);
}

static void
prepare(const char *capture, unsigned times)
{
	struct ht_container *c;
	struct ht_session *s;
	struct ht_diag diag = { 0 };
	const struct ht_stream *best = NULL;
	struct ht_view *view;
	FILE *out = fopen(paths[0], "wb");

	if (!out || ht_container_open(capture, NULL, &c, &diag) < 0 || ht_session_open(c, NULL, &s, &diag) < 0)
		die(capture, &diag);
	for (uint32_t i = 0; i < ht_container_stream_count(c); i++) {
		const struct ht_stream *st = ht_container_stream(c, i);

		if (!best || st->bytes > best->bytes)
			best = st;
	}
	if (!best || ht_view_new(s, best->pid, &view) < 0)
		die("stream", NULL);
	for (unsigned k = 0; k < times; k++)
		for (uint32_t i = 0; i < best->n_chunks; i++)
			fwrite(best->chunks[i].data, 1, best->chunks[i].size, out);
	if (fclose(out))
		die("pt.bin", NULL);
	ht_view_advance(view, UINT64_MAX);
	write_pages(view);
	ht_view_free(view);
	ht_session_close(s);
	ht_container_close(c);
}

/* -- short packets -------------------------------------------------------------- */

struct writer {
	FILE    *f;
	uint64_t last_ip, bytes, next_psb, ring[64];
	unsigned tnt, n, top;
	int      compress;
};

static void
bytes(struct writer *w, uint64_t v, unsigned n)
{
	fwrite(&v, 1, n, w->f); /* little-endian hosts */
	w->bytes += n;
}

static void
flush(struct writer *w)
{
	if (w->n)
		bytes(w, (1u << w->n | w->tnt) << 1, 1);
	w->n = w->tnt = 0;
}

static void
bit(struct writer *w, unsigned taken)
{
	w->tnt = w->tnt << 1 | taken;
	if (++w->n == 6)
		flush(w);
}

static void
address(struct writer *w, unsigned op, uint64_t ip)
{
	unsigned form = (ip ^ w->last_ip) >> 16 == 0 ? 1 : (ip ^ w->last_ip) >> 32 == 0 ? 2 : 3;

	flush(w);
	bytes(w, op | form << 5, 1);
	bytes(w, ip, 2 * form);
	w->last_ip = ip;
}

static void
sync_point(struct writer *w, uint64_t ip)
{
	flush(w);
	for (unsigned i = 0; i < 8; i++)
		bytes(w, 0x8202, 2);
	bytes(w, 0x0199, 2);
	w->last_ip = 0;
	if (ip)
		address(w, 0x1d, ip);
	bytes(w, 0x2302, 2);
	memset(w->ring, 0, sizeof(w->ring));
	w->next_psb = w->bytes + 16384;
}

static void
write_branch(struct writer *w, const struct ht_event *ev)
{
	uint64_t *top = &w->ring[w->top];

	switch (ev->insn) {
	case HT_INSN_COND:
		bit(w, ev->flags & HT_BR_TAKEN);
		return;
	case HT_INSN_JUMP:
		return;
	case HT_INSN_CALL:
	case HT_INSN_CALL_IND:
		if (ev->insn == HT_INSN_CALL_IND)
			address(w, 0x0d, ev->b);
		if (ev->b == ev->a + ev->size && ev->insn == HT_INSN_CALL)
			return;
		w->top = (w->top + 1) % 64;
		w->ring[w->top] = ev->a + ev->size;
		return;
	case HT_INSN_RET:
		if (w->compress && *top == ev->b) {
			*top = 0;
			w->top = (w->top + 63) % 64;
			bit(w, 1);
			return;
		}
		break;
	}
	address(w, 0x0d, ev->b);
	if (w->bytes > w->next_psb)
		sync_point(w, ev->b);
}

static void
write_event(struct writer *w, const struct ht_event *ev, const struct ht_event *before)
{
	switch (ev->kind) {
	case HT_EV_ENABLE:
		address(w, 0x11, ev->b);
		break;
	case HT_EV_BRANCH:
		if (!(ev->flags & HT_BR_TRACE_OFF))
			write_branch(w, ev);
		break;
	case HT_EV_ASYNC:
		address(w, 0x1d, ev->a);
		address(w, 0x0d, ev->b);
		break;
	case HT_EV_DISABLE:
		flush(w);
		if (!(before->kind == HT_EV_BRANCH && before->flags & HT_BR_TRACE_OFF))
			address(w, 0x1d, ev->a);
		bytes(w, 0x01, 1);
		break;
	}
}

static struct ht_session *open_raw(struct ht_container **c);

static void
shorten(int compress)
{
	struct ht_container *c;
	struct ht_session *s = open_raw(&c);
	struct ht_decoder *d;
	static struct ht_event ev[HT_BATCH];
	struct ht_event before = { 0 };
	struct ht_decoder_config config = { .size = sizeof(config),
		.want = HT_DECODE_BRANCHES | HT_DECODE_OTHER };
	struct writer w = { .compress = compress };
	char name[600];
	int n;

	snprintf(name, sizeof(name), "%s.new", paths[0]);
	w.f = fopen(name, "wb");
	if (!w.f || ht_decoder_new(s, 0, &config, &d, NULL) < 0)
		die(name, NULL);
	sync_point(&w, 0);
	while ((n = ht_decoder_next(d, ev, HT_BATCH)) > 0)
		for (int i = 0; i < n; i++) {
			write_event(&w, &ev[i], &before);
			before = ev[i];
		}
	flush(&w);
	ht_decoder_free(d);
	ht_session_close(s);
	ht_container_close(c);
	if (fclose(w.f) || rename(name, paths[0]))
		die(name, NULL);
}

/* -- the modes ---------------------------------------------------------------- */

static void
report(double from, uint64_t branches, uint64_t sum, uint64_t gaps)
{
	printf("%.4f\t%" PRIu64 "\t%016" PRIx64 "\t%" PRIu64 "\n", cpu() - from, branches, sum, gaps);
}

static uint64_t
checksum(uint64_t from, uint64_t to, uint64_t count)
{
	return ((from * 0x9e3779b97f4a7c15ull) ^ (to * 0xff51afd7ed558ccdull)) * count;
}

static void
count(void)
{
	struct ht_container *c;
	double from = cpu();
	struct ht_session *s = open_raw(&c);
	struct ht_decoder *d;
	struct ht_counts counts;
	struct ht_diag diag = { 0 };
	struct ht_decoder_config config = { .size = sizeof(config), .engine = "native",
		.want = HT_DECODE_BRANCHES };
	uint64_t sum = 0;
	int rc;

	if (ht_decoder_new(s, 0, &config, &d, &diag) < 0)
		die("decoder", &diag);
	while ((rc = ht_decoder_count(d, &counts)) > 0) {
		for (size_t i = 0; i < counts.n_edges; i++)
			sum += checksum(counts.edges[i].from, counts.edges[i].to, counts.edges[i].count);
		ht_counts_free(&counts);
	}
	if (rc < 0)
		die("count", ht_decoder_diag(d));
	report(from, ht_decoder_stats(d)->branches, sum, ht_decoder_stats(d)->gaps);
	ht_decoder_free(d);
	ht_session_close(s);
	ht_container_close(c);
}

/* -- workers -------------------------------------------------------------------- */

struct part {
	uint64_t branches, sum, gaps;
};

static void *
part_open(void)
{
	return calloc(1, sizeof(struct part));
}

static int
part_counts(void *arg, struct ht_decoder *d, const struct ht_counts *c)
{
	struct part *p = arg;

	p->gaps = ht_decoder_stats(d)->gaps;
	for (size_t i = 0; i < c->n_edges; i++) {
		p->branches += c->edges[i].count;
		p->sum += checksum(c->edges[i].from, c->edges[i].to, c->edges[i].count);
	}
	return 0;
}

static void
part_forget(void *arg)
{
	memset(arg, 0, sizeof(struct part));
}

static int
part_end(void *arg)
{
	(void)arg;
	return 0;
}

static int
part_merge(void *into, const void *from)
{
	struct part *p = into;
	const struct part *q = from;

	p->branches += q->branches;
	p->sum += q->sum;
	p->gaps += q->gaps;
	return 0;
}

static int
part_done(void *arg, uint32_t stream, const void *part, const struct ht_diag *diag)
{
	(void)stream;
	if (diag->error)
		die("decode", diag);
	return part_merge(arg, part);
}

static void
workers(unsigned n)
{
	static const struct ht_parallel_sink sink = { .open = part_open, .counts = part_counts,
		.forget = part_forget, .end = part_end, .merge = part_merge, .close = free, .done = part_done };
	struct ht_parallel_config config = { .size = sizeof(config), .engine = "native",
		.want = HT_DECODE_BRANCHES, .jobs = n };
	struct ht_container *c;
	struct timespec from, to;
	struct ht_session *s;
	struct part all = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &from);
	s = open_raw(&c);
	if (ht_parallel_decode(s, &config, &sink, &all) < 0)
		die("workers", NULL);
	clock_gettime(CLOCK_MONOTONIC, &to);
	printf("%.4f\t%" PRIu64 "\t%016" PRIx64 "\t%" PRIu64 "\n",
	       (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9, all.branches,
	       all.sum, all.gaps);
	ht_session_close(s);
	ht_container_close(c);
}

/* -- memory --------------------------------------------------------------------- */

static volatile int watching = 1;

/* The most memory that no file lies behind, every few milliseconds. */
static void *
watch(void *arg)
{
	const struct timespec pause = { 0, 2000000 };
	unsigned long long size, resident, shared, *most = arg;
	FILE *f;

	while (watching) {
		f = fopen("/proc/self/statm", "r");
		if (f && fscanf(f, "%llu %llu %llu", &size, &resident, &shared) == 3 && resident - shared > *most)
			*most = resident - shared;
		if (f)
			fclose(f);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static void
memory(void)
{
	unsigned long long most = 0;
	pthread_t thread;

	if (pthread_create(&thread, NULL, watch, &most))
		die("thread", NULL);
	count();
	watching = 0;
	pthread_join(thread, NULL);
	printf("%.3f\n", (double)most * (double)sysconf(_SC_PAGESIZE) / (1 << 20));
}

static void
events(const char *engine, unsigned want)
{
	struct ht_container *c;
	double from = cpu();
	struct ht_session *s = open_raw(&c);
	struct ht_decoder *d;
	static struct ht_event ev[HT_BATCH];
	struct ht_diag diag = { 0 };
	struct ht_decoder_config config = { .size = sizeof(config), .engine = engine, .want = want };
	uint64_t sum = 0;
	int n;

	if (ht_decoder_new(s, 0, &config, &d, &diag) < 0)
		die("decoder", &diag);
	while ((n = ht_decoder_next(d, ev, HT_BATCH)) > 0)
		for (int i = 0; i < n; i++)
			if (ev[i].kind == HT_EV_BRANCH)
				sum += checksum(ev[i].a, ev[i].b, 1);
	if (n < 0)
		die("events", ht_decoder_diag(d));
	report(from, ht_decoder_stats(d)->branches, sum, ht_decoder_stats(d)->gaps);
	ht_decoder_free(d);
	ht_session_close(s);
	ht_container_close(c);
}

/* Where packets begin, and nothing else. */
static void
lexer(void)
{
	static const uint8_t ip_size[8] = { 1, 3, 5, 7, 7, 1, 9, 1 };
	struct ht_container *c;
	double from = cpu();
	struct ht_session *s = open_raw(&c);
	const struct ht_chunk *chunk = &ht_container_stream(c, 0)->chunks[0];
	const uint8_t *p = chunk->data, *end = p + chunk->size - HT_PT_PACKET_MAX;
	uint64_t packets = 0, sum = 0;

	while (p < end) {
		struct ht_pt_packet packet;
		unsigned block = 0;
		uint8_t b = *p;
		int n;

		packets++;
		if (!(b & 1) && b != 2) {
			sum += b;
			p++;
		} else if ((b & 0x1f) == 0x0d) {
			p += ip_size[b >> 5];
		} else if ((b & 7) == 3) {
			p++;
		} else {
			n = ht_pt_packet_read(p, HT_PT_PACKET_MAX, &block, &packet);
			p += n > 0 ? n : 1;
		}
	}
	report(from, packets, sum, 0);
	ht_session_close(s);
	ht_container_close(c);
}

/* libipt's block decoder, as fast as it goes: sections in a cache of high limit. */
static struct pt_image_section_cache *cache;

static struct pt_image *
load_image(void)
{
	struct pt_image *image = pt_image_alloc("bench");
	FILE *map = fopen(paths[2], "r");
	uint64_t addr, size, offset;

	cache = pt_iscache_alloc("bench");
	if (!image || !cache || !map)
		die("image", NULL);
	pt_iscache_set_limit(cache, 1ull << 32);
	while (fscanf(map, "%" SCNi64 " %" SCNi64 " %" SCNi64, (int64_t *)&addr, (int64_t *)&size,
	              (int64_t *)&offset) == 3) {
		int id = pt_iscache_add_file(cache, paths[1], offset, size, addr);

		if (id < 0 || pt_image_add_cached(image, cache, id, NULL) < 0)
			die("section", NULL);
	}
	fclose(map);
	return image;
}

static void
blocks(void)
{
	struct ht_container *c;
	double from = cpu();
	struct ht_session *s = open_raw(&c);
	const struct ht_chunk *chunk = &ht_container_stream(c, 0)->chunks[0];
	struct pt_config config;
	struct pt_block_decoder *d;
	struct pt_image *image = load_image();
	uint64_t sum = 0, n = 0, errors = 0;
	int status;

	pt_config_init(&config);
	config.begin = (uint8_t *)(uintptr_t)chunk->data;
	config.end = config.begin + chunk->size;
	d = pt_blk_alloc_decoder(&config);
	pt_blk_set_image(d, image);
	while ((status = pt_blk_sync_forward(d)) >= 0) {
		for (;;) {
			struct pt_block block;
			struct pt_event event;

			while (status & pts_event_pending && (status = pt_blk_event(d, &event, sizeof(event))) >= 0)
				;
			if (status < 0)
				break;
			status = pt_blk_next(d, &block, sizeof(block));
			if (status < 0)
				break;
			n++;
			sum += checksum(block.ip, block.end_ip, 1);
		}
		errors += status != -pte_eos;
	}
	report(from, n, sum, errors);
	pt_blk_free_decoder(d);
	pt_image_free(image);
	pt_iscache_free(cache);
	ht_session_close(s);
	ht_container_close(c);
}

int
main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "prepare")) {
		name_paths(argv[3]);
		prepare(argv[2], (unsigned)atoi(argv[4]));
		return 0;
	}
	if (argc == 4 && !strcmp(argv[1], "short")) {
		name_paths(argv[2]);
		shorten(!strcmp(argv[3], "rc"));
		return 0;
	}
	if (argc != 3) {
		fputs("usage: bench_pt prepare CAPTURE DIR N | lexer|count|one|two|memory|events|timed|blocks|reference DIR\n", stderr);
		return 64;
	}
	name_paths(argv[2]);
	if (!strcmp(argv[1], "lexer"))
		lexer();
	else if (!strcmp(argv[1], "count"))
		count();
	else if (!strcmp(argv[1], "one"))
		workers(1);
	else if (!strcmp(argv[1], "two"))
		workers(2);
	else if (!strcmp(argv[1], "memory"))
		memory();
	else if (!strcmp(argv[1], "events"))
		events("native", HT_DECODE_BRANCHES);
	else if (!strcmp(argv[1], "timed"))
		events("native", HT_DECODE_BRANCHES | HT_DECODE_TIME);
	else if (!strcmp(argv[1], "reference"))
		events("libipt", HT_DECODE_BRANCHES);
	else if (!strcmp(argv[1], "blocks"))
		blocks();
	else
		return 64;
	return 0;
}
