/* SPDX-License-Identifier: BSD-2-Clause */
/* stackcount FILE BASE SIZE: ranges that ran, and branches, within [BASE, BASE + SIZE), counted. */
#include <stdio.h>
#include <stdlib.h>

#include <hwtrace/decoder.h>

#define KEYS_MAX 4096

struct key {
	unsigned kind;
	uint64_t a, b, n;
};

static struct key keys[KEYS_MAX];
static unsigned n_keys;

static void
count(unsigned kind, uint64_t a, uint64_t b)
{
	unsigned i;

	for (i = 0; i < n_keys; i++)
		if (keys[i].kind == kind && keys[i].a == a && keys[i].b == b)
			break;
	if (i == n_keys && n_keys == KEYS_MAX)
		exit(1);
	if (i == n_keys)
		keys[n_keys++] = (struct key){ kind, a, b, 0 };
	keys[i].n++;
}

static int
compare(const void *x, const void *y)
{
	const struct key *a = x, *b = y;

	if (a->a != b->a)
		return a->a < b->a ? -1 : 1;
	return a->b < b->b ? -1 : a->b > b->b;
}

static void
show(unsigned kind, const char *mark)
{
	const char *gap = "";

	for (unsigned i = 0; i < n_keys; i++) {
		if (keys[i].kind != kind)
			continue;
		printf("%s%llx%s%llx:%llu", gap, (unsigned long long)keys[i].a, mark,
		       (unsigned long long)keys[i].b, (unsigned long long)keys[i].n);
		gap = " ";
	}
	printf("\n");
}

static void
decode(struct ht_session *s, uint32_t stream, uint64_t base, uint64_t size)
{
	struct ht_event ev[HT_BATCH];
	struct ht_decoder *d;
	int n;

	if (ht_decoder_new(s, stream, NULL, &d, NULL) < 0)
		exit(1);
	while ((n = ht_decoder_next(d, ev, HT_BATCH)) > 0)
		for (int i = 0; i < n; i++)
			if ((ev[i].kind == HT_EV_BLOCK || (ev[i].kind == HT_EV_BRANCH && ev[i].flags & HT_BR_TAKEN)) &&
			    ev[i].a - base < size && ev[i].b - base < size)
				count(ev[i].kind, ev[i].a - base, ev[i].b - base);
	ht_decoder_free(d);
}

int
main(int argc, char **argv)
{
	struct ht_container *c;
	struct ht_session *s;

	if (argc != 4 || ht_container_open(argv[1], NULL, &c, NULL) < 0 || ht_session_open(c, NULL, &s, NULL) < 0)
		return 1;
	for (uint32_t i = 0; i < ht_container_stream_count(c); i++)
		decode(s, i, strtoull(argv[2], NULL, 0), strtoull(argv[3], NULL, 0));
	qsort(keys, n_keys, sizeof(*keys), compare);
	show(HT_EV_BLOCK, "-");
	show(HT_EV_BRANCH, "->");
	ht_session_close(s);
	ht_container_close(c);
	return 0;
}
