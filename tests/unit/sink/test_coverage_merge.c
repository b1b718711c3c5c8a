/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adding up random reports: in any order, and with any of them added up before,
 * the sum is the same; and it is what a plain count of each thing gives.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/coverage.h>

#define FILES     4
#define LINES     6
#define FUNCTIONS 6
#define MODULES   4
#define BRANCHES  3 /* of one module at one line */
#define REPORTS   5

static uint32_t seed;

static uint32_t
roll(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

/* What there is in the world; each report knows a part of it. */
static const char *const paths[FILES] = { "/a.c", "/b.c", "/c.h", "/d.c" };
static const char *const names[FUNCTIONS] = { "f", "g", "h", "f", "go", "stop" };
static const struct { const char *path, *id; } places[MODULES] = {
	{ "/bin/p", "00ff" }, { "/bin/p", "11ee" }, { "/lib/q", "22dd" }, { "(lcov)", NULL },
};

struct sample {
	struct ht_cov_report r;
	struct ht_cov_module modules[MODULES];
	struct ht_cov_file files[FILES];
	struct ht_cov_line lines[FILES * LINES];
	struct ht_cov_function functions[FUNCTIONS];
	struct ht_cov_branch branches[FILES * LINES * MODULES * BRANCHES];
};

static uint64_t
some_count(void)
{
	switch (roll(5)) {
	case 0:
	case 1:
		return 0;
	case 2:
		return UINT64_MAX - roll(3);
	default:
		return roll(10);
	}
}

static uint8_t
some_doubt(void)
{
	return (uint8_t)(roll(3) ? 0 : 1 + roll(3));
}

static uint8_t
state_of(uint64_t count, uint8_t doubt)
{
	return count ? HT_COV_HIT : doubt ? HT_COV_UNKNOWN : HT_COV_NOT_HIT;
}

/* Which branches a module has at a line follows from the two: it is the same file in each report. */
static unsigned
branches_of(uint32_t module, uint32_t file, uint32_t line)
{
	return (module * 7 + file * 5 + line * 3) % 4 % (BRANCHES + 1);
}

static void
make_modules(struct sample *s)
{
	uint32_t first = roll(MODULES);

	s->r.n_modules = 1 + roll(MODULES);
	for (uint32_t i = 0; i < s->r.n_modules; i++) {
		uint32_t k = (first + i) % MODULES;

		s->modules[i] = (struct ht_cov_module){ .path = places[k].path, .build_id = places[k].id,
			.chosen = (uint8_t)roll(2), .executed = some_count(), .gaps = roll(3), .source = (uint8_t)roll(3),
			.damaged_units = roll(2) };
		if (s->modules[i].chosen && roll(3) == 0)
			s->modules[i].why = roll(2) ? "it is gone" : "it changed";
	}
}

static uint32_t
place_number(const struct ht_cov_module *m)
{
	for (uint32_t i = 0; i < MODULES; i++)
		if (!strcmp(m->path, places[i].path) && (!m->build_id || !strcmp(m->build_id, places[i].id)))
			return i;
	abort();
}

static void
make_branches(struct sample *s, uint32_t file, uint32_t line)
{
	for (uint32_t m = 0; m < s->r.n_modules; m++) {
		uint32_t place = place_number(&s->modules[m]);

		for (unsigned k = 0; k < branches_of(place, file, line); k++) {
			struct ht_cov_branch *b = &s->branches[s->r.n_branches++];

			*b = (struct ht_cov_branch){ .file = file,
				                     .line = line,
				                     .module = m,
				                     .function = HT_COV_NONE,
				                     .addr =
				                         place * 1000 + file * 100 + line * 10 + k,
				                     .taken = some_count(),
				                     .not_taken = some_count(),
				                     .doubt = some_doubt() };
			b->state = state_of(b->taken | b->not_taken, b->doubt);
		}
	}
}

static struct sample *
make(void)
{
	struct sample *s = calloc(1, sizeof(*s));
	uint32_t n_lines = 0;

	assert_non_null(s);
	s->r.modules = s->modules;
	s->r.files = s->files;
	s->r.functions = s->functions;
	s->r.branches = s->branches;
	s->r.gaps = roll(4);
	s->r.unresolved = some_count();
	make_modules(s);
	s->r.n_files = 1 + roll(FILES);
	for (uint32_t f = 0; f < s->r.n_files; f++) {
		s->files[f] = (struct ht_cov_file){ .path = paths[f], .lines = &s->lines[n_lines] };
		for (uint32_t l = 1; l <= LINES; l++) {
			uint64_t count = some_count();
			uint8_t doubt = count ? 0 : some_doubt();

			if (roll(4) == 0)
				continue;
			s->lines[n_lines++] =
			    (struct ht_cov_line){ .line = l,
				                  .count = count,
				                  .doubt = doubt,
				                  .state = state_of(count, doubt) };
			s->files[f].n_lines++;
			make_branches(s, f, l);
		}
	}
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		struct ht_cov_function *fn = &s->functions[s->r.n_functions];
		uint32_t file = i % FILES;

		if (roll(3) == 0 || file >= s->r.n_files)
			continue;
		s->r.n_functions++;
		*fn = (struct ht_cov_function){ .name = names[i], .shown = names[i], .file = file, .line = 1 + i % 3,
			.end_line = 2 + roll(4), .module = roll(s->r.n_modules), .addr = roll(50), .count = some_count(),
			.copies = roll(3) };
		fn->doubt = some_doubt();
		fn->state = state_of(fn->count, fn->doubt);
		if (i == 4 && roll(2)) /* one report knows the name in the source, too */
			fn->linkage = names[i], fn->name = "G";
	}
	return s;
}

/* -- text of a report ----------------------------------------------------- */

static void
put_tally(FILE *f, const struct ht_cov_tally *t)
{
	fprintf(f, " %llu/%llu/%llu", (unsigned long long)t->all, (unsigned long long)t->hit,
	        (unsigned long long)t->unknown);
}

static void
put_tallies(FILE *f, const struct ht_cov_tallies *t)
{
	put_tally(f, &t->lines);
	put_tally(f, &t->functions);
	put_tally(f, &t->branches);
	fputc('\n', f);
}

static char *
text_of(const struct ht_cov_report *r)
{
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	fprintf(f, "gaps %llu unresolved %llu", (unsigned long long)r->gaps, (unsigned long long)r->unresolved);
	put_tallies(f, &r->total);
	for (uint32_t i = 0; i < r->n_modules; i++) {
		const struct ht_cov_module *m = &r->modules[i];

		fprintf(f, "module %s %s %u %u %s %llu %llu %u", m->path, m->build_id ? m->build_id : "-",
		        m->chosen && !m->why ? m->source : 9, m->chosen, m->why ? m->why : "-",
		        (unsigned long long)m->executed, (unsigned long long)m->gaps, m->damaged_units);
		put_tallies(f, &m->tally);
	}
	for (uint32_t i = 0; i < r->n_files; i++) {
		fprintf(f, "file %s", r->files[i].path);
		put_tallies(f, &r->files[i].tally);
		for (uint32_t k = 0; k < r->files[i].n_lines; k++)
			fprintf(f, "line %u %u %u %llu %u\n", r->files[i].lines[k].line,
			        r->files[i].lines[k].state, r->files[i].lines[k].doubt,
			        (unsigned long long)r->files[i].lines[k].count,
			        r->files[i].lines[k].n_branches);
	}
	for (uint32_t i = 0; i < r->n_functions; i++) {
		const struct ht_cov_function *n = &r->functions[i];

		fprintf(f, "function %s %s %u:%u-%u %u+%llu %llu %u %u", n->name, n->linkage ? n->linkage : "-",
		        n->file, n->line, n->end_line, n->module, (unsigned long long)n->addr,
		        (unsigned long long)n->count, n->state, n->copies);
		put_tallies(f, &n->tally);
	}
	for (uint32_t i = 0; i < r->n_branches; i++) {
		const struct ht_cov_branch *b = &r->branches[i];

		fprintf(f, "branch %u:%u %u+%llu %llu %llu %u %u\n", b->file, b->line, b->module,
		        (unsigned long long)b->addr, (unsigned long long)b->taken,
		        (unsigned long long)b->not_taken, b->state, b->doubt);
	}
	fclose(f);
	return text;
}

static struct ht_cov_report *
sum(const struct ht_cov_report *const *in, size_t n)
{
	struct ht_cov_report *out;

	assert_int_equal(ht_cov_report_merge(in, n, &out, NULL), 0);
	return out;
}

/* A random tree of sums over the reports in random order. */
static struct ht_cov_report *
any_sum(struct sample *const *s, size_t n)
{
	struct ht_cov_report *parts[REPORTS], *made[REPORTS], *out;
	const struct ht_cov_report *in[REPORTS];
	size_t left = n;

	for (size_t i = 0; i < n; i++) {
		parts[i] = &s[i]->r;
		made[i] = NULL;
	}
	for (size_t i = n; i > 1; i--) {
		size_t k = roll((uint32_t)i);
		struct ht_cov_report *t = parts[k];

		parts[k] = parts[i - 1];
		parts[i - 1] = t;
	}
	while (left > 1 && roll(4)) {
		size_t k = roll((uint32_t)left - 1);

		in[0] = parts[k];
		in[1] = parts[left - 1];
		out = sum(in, 2);
		ht_cov_report_free(made[k]);
		ht_cov_report_free(made[left - 1]);
		parts[k] = made[k] = out;
		left--;
	}
	for (size_t i = 0; i < left; i++)
		in[i] = parts[i];
	out = sum(in, left);
	for (size_t i = 0; i < left; i++)
		ht_cov_report_free(made[i]);
	return out;
}

static void
test_any_order(void **state)
{
	(void)state;
	for (uint32_t run = 0; run < 300; run++) {
		struct sample *s[REPORTS];
		const struct ht_cov_report *in[REPORTS];
		struct ht_cov_report *whole;
		char *want;

		seed = run;
		for (size_t i = 0; i < REPORTS; i++) {
			s[i] = make();
			in[i] = &s[i]->r;
		}
		whole = sum(in, REPORTS);
		want = text_of(whole);
		ht_cov_report_free(whole);
		for (int i = 0; i < 4; i++) {
			struct ht_cov_report *r = any_sum(s, REPORTS);
			char *got = text_of(r);

			if (strcmp(want, got))
				print_message("seed %u\n", run);
			assert_string_equal(want, got);
			free(got);
			ht_cov_report_free(r);
		}
		free(want);
		for (size_t i = 0; i < REPORTS; i++)
			free(s[i]);
	}
}

static const struct ht_cov_line *
line_of(const struct ht_cov_report *r, const char *path, uint32_t line)
{
	for (uint32_t i = 0; i < r->n_files; i++)
		for (uint32_t k = 0; k < r->files[i].n_lines && !strcmp(r->files[i].path, path); k++)
			if (r->files[i].lines[k].line == line)
				return &r->files[i].lines[k];
	return NULL;
}

/* Hit, or lost by one, or not hit by one that looked, or recorded by none. */
static int
state_by_hand(const struct ht_cov_line *const l[2])
{
	int hit = 0, lost = 0, looked = 0;

	for (int i = 0; i < 2; i++) {
		hit |= l[i] && l[i]->state == HT_COV_HIT;
		lost |= l[i] && l[i]->state == HT_COV_UNKNOWN && (l[i]->doubt & HT_COV_LOST);
		looked |= l[i] && l[i]->state == HT_COV_NOT_HIT;
	}
	return hit ? HT_COV_HIT : lost ? HT_COV_UNKNOWN : looked ? HT_COV_NOT_HIT : HT_COV_UNKNOWN;
}

/* Each line by hand: the sum of the counts, and the state. */
static void
test_lines_by_hand(void **state)
{
	(void)state;
	for (uint32_t run = 0; run < 100; run++) {
		struct sample *a, *b;
		const struct ht_cov_report *in[2];
		struct ht_cov_report *r;

		seed = 5000 + run;
		a = make();
		b = make();
		in[0] = &a->r;
		in[1] = &b->r;
		r = sum(in, 2);
		for (uint32_t f = 0; f < FILES; f++)
			for (uint32_t l = 0; l <= LINES + 1; l++) {
				const struct ht_cov_line *x = line_of(in[0], paths[f], l), *y = line_of(in[1], paths[f], l);
				const struct ht_cov_line *z = line_of(r, paths[f], l);
				uint64_t p = x ? x->count : 0, q = y ? y->count : 0;
				const struct ht_cov_line *const both[2] = { x, y };

				assert_int_equal(!z, !x && !y);
				if (!z)
					continue;
				assert_true(z->count == (p > UINT64_MAX - q ? UINT64_MAX : p + q));
				assert_int_equal(z->state, state_by_hand(both));
			}
		ht_cov_report_free(r);
		free(a);
		free(b);
	}
}

/* Nothing is invented, and unknown is neither hit nor missed. */
static void
test_branches_by_hand(void **state)
{
	struct ht_cov_module m = { .path = "/bin/p", .chosen = 1 };
	struct ht_cov_line l = { .line = 3, .count = 1, .state = HT_COV_HIT };
	struct ht_cov_file f = { .path = "/a.c", .lines = &l, .n_lines = 1 };
	struct ht_cov_branch b1 = { .file = 0,
		                    .line = 3,
		                    .function = HT_COV_NONE,
		                    .addr = 16,
		                    .taken = 2,
		                    .doubt = HT_COV_LOST,
		                    .state = HT_COV_HIT },
			     b2 = b1;
	struct ht_cov_report one = { .modules = &m, .n_modules = 1, .files = &f, .n_files = 1, .branches = &b1,
		.n_branches = 1 }, two = one, *r;
	const struct ht_cov_report *in[] = { &one, &two };

	(void)state;
	b2.taken = 0;
	b2.not_taken = 0;
	b2.doubt = 0;
	b2.state = HT_COV_NOT_HIT;
	two.branches = &b2;
	r = sum(in, 2);
	assert_int_equal(r->n_branches, 1);
	assert_int_equal(r->branches[0].taken, 2);
	assert_int_equal(r->total.branches.all, 2);
	assert_int_equal(r->total.branches.hit, 1);
	assert_int_equal(r->total.branches.unknown, 1);
	assert_int_equal(r->files[0].lines[0].n_branches, 1);
	ht_cov_report_free(r);
	r = sum(in, 0);
	assert_int_equal(r->n_files, 0);
	ht_cov_report_free(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_order),
		cmocka_unit_test(test_lines_by_hand),
		cmocka_unit_test(test_branches_by_hand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
