/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ptcount ENGINE PT PAGES MAP: decodes a raw capture.  On stdout every address
 * that ran and how often, by address; on stderr the figures, one `name value` a line.
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

static int
decode(struct ht_decoder *d)
{
	static struct ht_event ev[HT_BATCH];
	unsigned bad = 0;
	int n;

	while ((n = ht_decoder_next(d, ev, HT_BATCH)) > 0)
		for (int i = 0; i < n; i++)
			if (ev[i].kind == HT_EV_BLOCK)
				bad += !count_block(&ev[i], ht_decoder_view(d));
	fprintf(stderr, "bad_blocks %u\n", bad);
	return n;
}

int
main(int argc, char **argv)
{
	struct ht_container_config cc = { .size = sizeof(cc) };
	struct ht_decoder_config dc = { .size = sizeof(dc), .want = HT_DECODE_BLOCKS | HT_DECODE_BRANCHES };
	const struct ht_decoder_stats *st;
	struct ht_container *c = NULL;
	struct ht_session *s = NULL;
	struct ht_decoder *d = NULL;
	struct ht_diag diag = { 0 };
	char line[1024];
	int r = 2;

	if (argc != 5) {
		fputs("usage: ptcount ENGINE PT PAGES MAP\n", stderr);
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
	r = decode(d) < 0;
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
