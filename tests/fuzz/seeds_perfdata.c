/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the files that fuzzing of perf.data starts from into the folder argv[1]. */
#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

#include "container/perf_build.h"

static void
save(const char *folder, const char *name, unsigned number, const struct pb *b)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s-%u", folder, name, number);
	f = fopen(path, "w");
	if (!f || fwrite(b->at, 1, b->n, f) != b->n || fclose(f)) {
		perror(path);
		exit(1);
	}
}

/* The records of a plain file, in compressed ones of `step` bytes. */
static void
compressed(struct pb *b, const struct pb *plain, size_t step)
{
	uint8_t out[4096];
	size_t n =
	    ZSTD_compress(out, sizeof(out), plain->at + plain->data, plain->n - plain->data, 1);

	if (ZSTD_isError(n))
		exit(1);
	pb_begin(b, plain->attrs, plain->n_attrs);
	for (size_t at = 0; at < n; at += step) {
		pb_record(b, 81, 0);
		pb_bytes(b, out + at, n - at < step ? n - at : step);
		pb_end(b, 0, NULL);
	}
	pb_finish(b);
}

int
main(int argc, char **argv)
{
	struct pb b, z;

	if (argc != 2)
		return 2;
	for (unsigned i = 0; i < PB_FLAVOURS; i++) {
		pb_sample_file(&b, i);
		save(argv[1], "plain", i, &b);
		b.n = b.n - b.n / 3;
		save(argv[1], "cut", i, &b);
		if (!b.pipe) {
			compressed(&z, &b, 50 + i * 40);
			save(argv[1], "zstd", i, &z);
			pb_free(&z);
		}
		pb_free(&b);
	}
	return 0;
}
