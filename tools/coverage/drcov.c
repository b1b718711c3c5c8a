/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * drcov: a table of modules as text, then blocks of eight bytes each.  In
 * version 2 a module is one row and a block's offset is from its start; in
 * version 3 each segment is a row and offsets are from the segment's start.
 */
#include <string.h>

#include "runs.h"

#define SIZE_MAX_DRCOV 65535u /* of one block: it has two bytes for that */


struct drcov {
	FILE    *f;          /* NULL: count only */
	int      version;
	unsigned rows;       /* of the module table so far */
	uint64_t blocks, too_far;
};

static void
put_block(struct drcov *d, uint64_t offset, uint64_t size, unsigned id)
{
	for (; size; ) {
		uint64_t part = size > SIZE_MAX_DRCOV ? SIZE_MAX_DRCOV : size;
		unsigned char b[8] = { (unsigned char)offset, (unsigned char)(offset >> 8),
			(unsigned char)(offset >> 16), (unsigned char)(offset >> 24), (unsigned char)part,
			(unsigned char)(part >> 8), (unsigned char)id, (unsigned char)(id >> 8) };

		if (offset > UINT32_MAX || id > UINT16_MAX) {
			d->too_far++;
			return;
		}
		if (d->f)
			fwrite(b, 1, sizeof(b), d->f);
		d->blocks++;
		offset += part;
		size -= part;
	}
}

/* The blocks of one module whose first row is d->rows. */
static void
put_module(struct drcov *d, const struct runs_module *m)
{
	for (size_t i = 0; i < m->n_runs; i++) {
		const struct ht_cov_run *r = &m->runs[i];
		size_t k = m->n_segments;

		if (d->version == 2) {
			put_block(d, r->start - m->base, r->end - r->start, d->rows);
			continue;
		}
		while (k && m->segments[k - 1].start > r->start)
			k--;
		if (k)
			put_block(d, r->start - m->segments[k - 1].start, r->end - r->start,
			          d->rows + (unsigned)k - 1);
	}
	d->rows += d->version == 2 ? 1 : (unsigned)m->n_segments;
}

static void
put_blocks(struct drcov *d, const struct runs *runs)
{
	d->rows = 0;
	d->blocks = d->too_far = 0;
	for (size_t i = 0; i < runs->n; i++)
		put_module(d, &runs->modules[i]);
}

static void
put_table(const struct drcov *d, FILE *f, const struct runs *runs)
{
	unsigned id = 0;

	fprintf(f, "DRCOV VERSION: %d\nDRCOV FLAVOR: drcov-64\n", d->version);
	fprintf(f, "Module Table: version %d, count %u\n", d->version == 2 ? 2 : 5, d->rows);
	fprintf(f, d->version == 2 ? "Columns: id, base, end, entry, path\n"
	                           : "Columns: id, containing_id, start, end, entry, offset, preferred_base, path\n");
	for (size_t i = 0; i < runs->n; i++) {
		const struct runs_module *m = &runs->modules[i];
		unsigned first = id;

		if (d->version == 2) {
			fprintf(f, "%3u, 0x%016llx, 0x%016llx, 0x%016llx, %s\n", id++, (unsigned long long)m->base,
			        (unsigned long long)m->end, (unsigned long long)m->entry, m->path);
			continue;
		}
		for (size_t k = 0; k < m->n_segments; k++)
			fprintf(f, "%3u, %3u, 0x%016llx, 0x%016llx, 0x%016llx, 0x%016llx, 0x%016llx, %s\n", id++,
			        first, (unsigned long long)m->segments[k].start,
			        (unsigned long long)m->segments[k].end, (unsigned long long)m->entry,
			        (unsigned long long)(m->segments[k].start - m->base), (unsigned long long)m->base,
			        m->path);
	}
}

static int
write_drcov(int version, const char *path, const struct cover *c, const struct ht_cov_report *r)
{
	struct drcov d = { .version = version };
	struct runs runs;
	FILE *f;
	int status = runs_open(&runs, c, r);

	f = status == EXIT_OK ? cover_open(path) : NULL;
	if (!f) {
		runs_close(&runs);
		return EXIT_ERROR;
	}
	put_blocks(&d, &runs);
	put_table(&d, f, &runs);
	fprintf(f, "BB Table: %llu bbs\n", (unsigned long long)d.blocks);
	d.f = f;
	put_blocks(&d, &runs);
	if (d.too_far)
		tool_warn("%s: %llu blocks are left out, which lie too far for the format", path,
		          (unsigned long long)d.too_far);
	runs_close(&runs);
	return cover_close(f, path);
}

int
cover_write_drcov(const char *path, const struct cover *c, const struct ht_cov_report *r)
{
	return write_drcov(2, path, c, r);
}

int
cover_write_drcov3(const char *path, const struct cover *c, const struct ht_cov_report *r)
{
	return write_drcov(3, path, c, r);
}
