/* SPDX-License-Identifier: BSD-2-Clause */
/* Which code a recording by single-step keeps: the list of ht_filter_build() against the mappings. */
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/vec.h"
#include "capture/filter.h"
#include "capture/ptrace.h"

int
ht_pfilter_init(struct ht_ptrace *r, const struct ht_program *program, struct ht_diag *diag)
{
	int rc = ht_filter_build(r->config, program, r->filter, sizeof(r->filter), diag);

	r->filter_size = rc > 0 ? (size_t)rc : 0;
	return rc < 0 ? rc : 0;
}

static void
want(struct ht_pproc *p, uint64_t start, uint64_t end)
{
	struct ht_pspan *s = end > start ? ht_vec_push(&p->wanted) : NULL;

	if (s)
		*s = (struct ht_pspan){ start, end };
}

/* A module is named by a glob of its path or of its base name. */
static int
is_module(const char *glob, const char *path)
{
	const char *slash = strrchr(path, '/');

	return !fnmatch(glob, path, 0) || (slash && !fnmatch(glob, slash + 1, 0));
}

/* The part of `m` that holds the file offsets [start, end). */
static void
want_offsets(struct ht_pproc *p, const struct ht_pmap *m, uint64_t start, uint64_t end)
{
	uint64_t size = m->end - m->start;

	if (end <= m->pgoff || start >= m->pgoff + size)
		return;
	start = start > m->pgoff ? start - m->pgoff : 0;
	end -= m->pgoff;
	want(p, m->start + start, m->start + (end < size ? end : size));
}

static void
apply_to_map(struct ht_pproc *p, const struct ht_pmap *m, const char *f)
{
	uint64_t start, end;
	int path = 0;

	if (*f == 'm' && is_module(f + 2, m->path))
		want(p, m->start, m->end);
	else if (*f == 'o' && sscanf(f + 2, "%" SCNx64 "-%" SCNx64 "@%n", &start, &end, &path) == 2 && path &&
	         !strcmp(f + 2 + path, m->path))
		want_offsets(p, m, start, end);
}

void
ht_pfilter_apply(struct ht_ptrace *r, struct ht_pproc *p)
{
	uint64_t start, end;

	p->wanted.n = 0;
	if (!r->filter_size)
		return;
	for (const char *f = r->filter; *f; f += strlen(f) + 1) {
		if (*f == 'a' && sscanf(f + 2, "%" SCNx64 "-%" SCNx64, &start, &end) == 2)
			want(p, start, end);
		for (size_t i = 0; i < p->maps.n; i++)
			apply_to_map(p, &p->maps.at[i], f);
	}
}

int
ht_pfilter_wants(const struct ht_ptrace *r, const struct ht_pproc *p, uint64_t ip)
{
	if (!r->filter_size)
		return 1;
	for (size_t i = 0; i < p->wanted.n; i++)
		if (ip >= p->wanted.at[i].start && ip < p->wanted.at[i].end)
			return 1;
	return 0;
}
