/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Count the words of files, the most frequent first: a program with corners
 * that one run does not reach.  Usage: wordcount [-i] [-n N] FILE...
 *
 * build: -O1 -g -Wall -Wextra
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 64

struct word {
	struct word *next;
	unsigned     count;
	char         text[];
};

static struct word *buckets[BUCKETS];
static unsigned distinct;

static inline unsigned
hash(const char *s)
{
	unsigned h = 5381;

	while (*s)
		h = h * 33 + (unsigned char)*s++;
	return h % BUCKETS;
}

static void
add(const char *text)
{
	struct word **bucket = &buckets[hash(text)], *w;

	for (w = *bucket; w; w = w->next)
		if (strcmp(w->text, text) == 0) {
			w->count++;
			return;
		}
	w = malloc(sizeof(*w) + strlen(text) + 1);
	if (!w) {
		fputs("wordcount: out of memory\n", stderr);
		exit(1);
	}
	strcpy(w->text, text);
	w->count = 1;
	w->next = *bucket;
	*bucket = w;
	distinct++;
}

static void
read_words(FILE *f, int fold)
{
	char text[80];
	size_t n = 0;
	int c;

	do {
		c = getc(f);
		if (isalpha(c)) {
			if (fold)
				c = tolower(c);
			if (n < sizeof(text) - 1)
				text[n++] = (char)c;
		} else if (n) {
			text[n] = '\0';
			add(text);
			n = 0;
		}
	} while (c != EOF);
}

static int
by_count(const void *a, const void *b)
{
	const struct word *x = *(struct word *const *)a, *y = *(struct word *const *)b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return strcmp(x->text, y->text);
}

static void
print(unsigned limit)
{
	struct word **all = calloc(distinct + 1, sizeof(*all));
	unsigned n = 0;

	if (!all)
		return;
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct word *w = buckets[i]; w; w = w->next)
			all[n++] = w;
	qsort(all, n, sizeof(*all), by_count);
	for (unsigned i = 0; i < n && i < limit; i++)
		printf("%7u %s\n", all[i]->count, all[i]->text);
	free(all);
}

static int
usage(void)
{
	fputs("usage: wordcount [-i] [-n N] FILE...\n", stderr);
	return 2;
}

int
main(int argc, char **argv)
{
	unsigned limit = 10;
	int fold = 0, i;

	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		switch (argv[i][1]) {
		case 'i':
			fold = 1;
			break;
		case 'n':
			if (++i == argc)
				return usage();
			limit = (unsigned)atoi(argv[i]);
			break;
		default:
			return usage();
		}
	}
	if (i == argc)
		return usage();
	for (; i < argc; i++) {
		FILE *f = fopen(argv[i], "r");

		if (!f) {
			perror(argv[i]);
			return 1;
		}
		read_words(f, fold);
		fclose(f);
	}
	print(limit);
	return 0;
}
