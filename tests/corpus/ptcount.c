/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ptcount [-e] ENGINE PT PAGES MAP: decodes a raw capture.  On stdout every address
 * that ran and how often, by address; on stderr the figures, one `name value` a line.
 * -e: instead of addresses every branch in order, taken or not, as `from->to`;
 * ffffffffffffffff stands for where nothing is traced.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/decoder.h>
#include <hwtrace/insn.h>

struct count { uint64_t addr, n; };

static struct count *table;
static size_t used, room;

/* Open addressing; address 0 marks a free place, and no code lies there. */
static struct count *
slot(uint64_t addr)
{
	size_t i = (size_t)(addr * 0x9e3779b97f4a7c15ull >> 20) & (room - 1);

	while (table[i].addr && table[i].addr != addr)
		i = (i + 1) & (room - 1);
	return &table[i];
}

static void
grow(void)
{
	struct count *old = table;
	size_t n = room;

	room = n ? n * 2 : 1 << 16;
	table = calloc(room, sizeof(*table));
	if (!table)
		exit(2);
	for (size_t i = 0; i < n; i++)
		if (old[i].addr)
			*slot(old[i].addr) = old[i];
	free(old);
}

static void
count(uint64_t addr)
{
	struct count *c;

	if (2 * used >= room)
		grow();
	c = slot(addr);
	used += c->addr == 0;
	c->addr = addr;
	c->n++;
}

/* Walk the instructions of a block; 0 when its last one is not where the event says. */
static int
count_block(const struct ht_event *e, struct ht_view *v)
{
	uint64_t at = e->a;

	for (uint32_t i = 0; i < e->n; i++) {
		uint8_t buf[HT_INSN_MAX];
		struct ht_insn insn;

		count(at);
		if (i + 1 == e->n)
			return at == e->b;
		if (ht_insn_decode(HT_ARCH_X86_64, buf, ht_view_read(v, at, buf, sizeof(buf)), at, &insn) < 0)
			return 0;
		at += insn.size;
	}
	return 0;
}

static int
compare(const void *x, const void *y)
{
	const struct count *a = x, *b = y;

	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

static void
print_table(void)
{
	size_t n = 0;

	for (size_t i = 0; i < room; i++)
		if (table[i].addr)
			table[n++] = table[i];
	qsort(table, n, sizeof(*table), compare);
	for (size_t i = 0; i < n; i++)
		printf("%016" PRIx64 " %" PRIu64 "\n", table[i].addr, table[i].n);
}

static void
print_edge(const struct ht_event *e)
{
	static int off; /* by a branch, which has been printed */

	if (e->kind == HT_EV_BRANCH)
		printf("%" PRIx64 "->%" PRIx64 "\n", e->a, e->b);
	if (e->kind == HT_EV_BRANCH && e->flags & HT_BR_TRACE_OFF)
		printf("%" PRIx64 "->ffffffffffffffff\n", e->b);
	if (e->kind == HT_EV_DISABLE && !off)
		printf("%" PRIx64 "->ffffffffffffffff\n", e->a);
	off = e->kind == HT_EV_BRANCH && e->flags & HT_BR_TRACE_OFF;
	if (e->kind == HT_EV_ENABLE)
		printf("ffffffffffffffff->%" PRIx64 "\n", e->b);
}

static int
decode(struct ht_decoder *d, int edges)
{
	static struct ht_event ev[HT_BATCH];
	unsigned bad = 0;
	int n;

	while ((n = ht_decoder_next(d, ev, HT_BATCH)) > 0)
		for (int i = 0; i < n; i++) {
			if (edges)
				print_edge(&ev[i]);
			else if (ev[i].kind == HT_EV_BLOCK)
				bad += !count_block(&ev[i], ht_decoder_view(d));
		}
	fprintf(stderr, "bad_blocks %u\n", bad);
	return n;
}

int
main(int argc, char **argv)
{
	struct ht_container_config cc = { .size = sizeof(cc) };
	struct ht_decoder_config dc = { .size = sizeof(dc), .want = HT_DECODE_BLOCKS | HT_DECODE_BRANCHES | HT_DECODE_OTHER };
	const struct ht_decoder_stats *st;
	struct ht_container *c = NULL;
	struct ht_session *s = NULL;
	struct ht_decoder *d = NULL;
	struct ht_diag diag = { 0 };
	char line[1024];
	int r = 2, edges = argc > 1 && !strcmp(argv[1], "-e");

	argc -= edges;
	argv += edges;
	if (argc != 5) {
		fputs("usage: ptcount [-e] ENGINE PT PAGES MAP\n", stderr);
		return 2;
	}
	dc.engine = argv[1];
	cc.raw.pt = argv[2];
	cc.raw.pages = argv[3];
	cc.raw.map = argv[4];
	if (ht_container_open(NULL, &cc, &c, &diag) < 0 || ht_session_open(c, NULL, &s, &diag) < 0 ||
	    ht_decoder_new(s, 0, &dc, &d, &diag) < 0) {
		fprintf(stderr, "%s\n", ht_diag_line(&diag, line, sizeof(line)));
		goto out;
	}
	grow();
	r = decode(d, edges) < 0;
	st = ht_decoder_stats(d);
	fprintf(stderr, "instructions %" PRIu64 "\nunique %zu\nbranches %" PRIu64 "\ngaps %" PRIu64
	        "\nbytes %" PRIu64 "\ndecoded %" PRIu64 "\nskipped %" PRIu64 "\n", st->instructions, used,
	        st->branches, st->gaps, st->bytes, st->bytes_decoded, st->bytes_skipped);
	print_table();
out:
	ht_decoder_free(d);
	ht_session_close(s);
	ht_container_close(c);
	free(table);
	return r;
}
