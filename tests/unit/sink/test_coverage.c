/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counting and reporting with events made by hand.  The covered program is this
 * one: a piece of assembler whose every instruction is known, and a function
 * whose lines are; it is "loaded" at BASE by a capture without trace.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hwtrace/coverage.h>
#include <hwtrace/insn.h>

#include "container/perfdata_writer.h"

#define BASE 0x10000000ull
#define PID  42

/* The data byte at the end is no instruction in 64-bit code; nothing leads to the NOP. */
__asm__(".text\n\t.p2align 4\n\t.type cov_probe, @function\n"
        "cov_probe:\n"
        "cov_p0:\txor %eax, %eax\n"
        "cov_p1:\ttest %edi, %edi\n"
        "cov_p2:\tje cov_p5\n"
        "cov_p3:\tinc %eax\n"
        "cov_p4:\tret\n"
        "\tnopw 0(%rax,%rax)\n"
        "cov_p5:\tdec %eax\n"
        "cov_p6:\tret\n"
        "\t.byte 0x06\n"
        "\t.size cov_probe, . - cov_probe\n"
        "\t.p2align 4\n\t.type cov_other, @function\n"
        "cov_other:\tret\n"
        "\t.size cov_other, . - cov_other\n");
extern const char cov_probe[], cov_other[], cov_p0[], cov_p2[], cov_p3[], cov_p4[], cov_p5[], cov_p6[];

static const uint32_t first_line = __LINE__ + 3;
__attribute__((noinline, noclone, optimize("O0"), no_sanitize("address", "undefined"), used))
static unsigned
lines_probe(unsigned a)
{
	unsigned r = a;
	if (a > 3)
		r += 7;
	return r;
}

struct fixture {
	char path[64], self[4096];
	uintptr_t bias;
	struct ht_container *container;
	struct ht_session *session;
	struct ht_view *view;
};

static struct fixture fx;

static int
first_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct ht_perf_writer *w = arg;
	struct ht_record r = { .kind = HT_REC_MMAP, .pid = PID, .tid = PID };

	(void)size;
	fx.bias = info->dlpi_addr;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
			continue;
		r.u.map.addr = BASE + (ph->p_vaddr & ~0xfffull);
		r.u.map.len = (ph->p_vaddr & 0xfff) + ph->p_memsz;
		r.u.map.pgoff = ph->p_offset & ~0xfffull;
		r.u.map.flags = HT_MAP_EXEC;
		r.u.map.path = fx.self;
		assert_int_equal(ht_perf_writer_record(w, &r), 0);
	}
	return 1;
}

static int
setup(void **state)
{
	const struct ht_perf_writer_config config = { .clock = { 1, 0, 1, 0 }, .backend = "test", .software = 1 };
	struct ht_perf_writer *w;
	ssize_t n = readlink("/proc/self/exe", fx.self, sizeof(fx.self) - 1);
	struct ht_diag diag;

	(void)state;
	if (n < 0)
		return -1;
	strcpy(fx.path, "/tmp/hwtrace-coverage.XXXXXX");
	close(mkstemp(fx.path));
	if (ht_perf_writer_open(fx.path, &config, &w, &diag) < 0)
		return -1;
	dl_iterate_phdr(first_object, w);
	if (ht_perf_writer_finish(w, &diag) < 0 || ht_container_open(fx.path, NULL, &fx.container, &diag) < 0 ||
	    ht_session_open(fx.container, NULL, &fx.session, &diag) < 0 ||
	    ht_view_new(fx.session, PID, &fx.view) < 0)
		return -1;
	ht_view_advance(fx.view, 1);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	ht_view_free(fx.view);
	ht_session_close(fx.session);
	ht_container_close(fx.container);
	unlink(fx.path);
	return 0;
}

static uint64_t
at(const void *p)
{
	return BASE + ((uintptr_t)p - fx.bias);
}

static struct ht_event
block(uint64_t first, uint64_t last, uint32_t n)
{
	return (struct ht_event){ .a = first, .b = last, .n = n, .kind = HT_EV_BLOCK };
}

static struct ht_event
branch(uint64_t from, uint64_t to, int taken)
{
	return (struct ht_event){ .a = from, .b = to, .kind = HT_EV_BRANCH, .insn = HT_INSN_COND,
		.flags = taken ? HT_BR_TAKEN : 0 };
}

static void
feed(struct ht_coverage *c, const struct ht_event *ev, int n)
{
	assert_int_equal(ht_coverage_events(c, fx.view, ev, n), 0);
}

/* One pass through cov_probe that does not take its branch, or one that does. */
static void
pass(struct ht_coverage *c, int taken)
{
	struct ht_event ev[3] = { block(at(cov_p0), at(cov_p2), 3), branch(at(cov_p2), at(cov_p5), taken),
		taken ? block(at(cov_p5), at(cov_p6), 2) : block(at(cov_p3), at(cov_p4), 2) };

	feed(c, ev, 3);
}

static struct ht_coverage *
new_counts(void)
{
	struct ht_coverage *c;

	assert_int_equal(ht_coverage_new(&c), 0);
	assert_int_equal(ht_coverage_add_session(c, fx.session), 0);
	return c;
}

static struct ht_cov_report *
make_report(struct ht_coverage *c)
{
	struct ht_cov_config config = { .size = sizeof(config), .all_functions = 1 };
	struct ht_cov_report *r;
	struct ht_diag diag;

	assert_int_equal(ht_coverage_end_stream(c), 0);
	assert_int_equal(ht_cov_report_new(c, &config, &r, &diag), 0);
	return r;
}

static const struct ht_cov_function *
function(const struct ht_cov_report *r, const char *name)
{
	const struct ht_cov_function *found = NULL;

	for (uint32_t i = 0; i < r->n_functions; i++)
		if (!strcmp(r->functions[i].name, name)) {
			assert_null(found);
			found = &r->functions[i];
		}
	assert_non_null(found);
	return found;
}

static const struct ht_cov_branch *
the_branch(const struct ht_cov_report *r)
{
	for (uint32_t i = 0; i < r->n_branches; i++)
		if (r->branches[i].addr == at(cov_p2) - BASE)
			return &r->branches[i];
	fail_msg("the branch of cov_probe is not in the report");
	return NULL;
}

static const struct ht_cov_line *
line(const struct ht_cov_report *r, uint32_t number)
{
	for (uint32_t i = 0; i < r->n_files; i++) {
		if (!strstr(r->files[i].path, "/test_coverage.c"))
			continue;
		for (uint32_t k = 0; k < r->files[i].n_lines; k++)
			if (r->files[i].lines[k].line == number)
				return &r->files[i].lines[k];
	}
	return NULL;
}

static void
nothing_ran(void **state)
{
	struct ht_coverage *c = new_counts();
	struct ht_cov_report *r = make_report(c);
	const struct ht_cov_function *f = function(r, "cov_probe");

	(void)state;
	/* 7 instructions: neither the padding nor the data byte is one that could run */
	assert_int_equal(f->tally.insns.all, 7);
	assert_int_equal(f->tally.insns.hit, 0);
	assert_int_equal(f->state, HT_COV_NOT_HIT);
	assert_int_equal(f->tally.branches.all, 2);
	assert_int_equal(the_branch(r)->state, HT_COV_NOT_HIT);
	assert_int_equal(line(r, first_line + 3)->state, HT_COV_NOT_HIT);
	assert_int_equal(r->total.functions.hit, 0);
	assert_int_equal(r->gaps, 0);
	assert_int_equal(r->modules[0].chosen, 1);
	assert_int_equal(r->modules[0].source, HT_COV_BY_LINES);
	ht_cov_report_free(r);
	ht_coverage_free(c);
}

static void
one_side_then_both(void **state)
{
	struct ht_coverage *c = new_counts();
	struct ht_cov_report *r;

	(void)state;
	for (int i = 0; i < 3; i++)
		pass(c, 0);
	r = make_report(c);
	assert_int_equal(function(r, "cov_probe")->count, 3);
	assert_int_equal(function(r, "cov_probe")->tally.insns.hit, 5);
	assert_int_equal(function(r, "cov_probe")->tally.branches.hit, 1);
	assert_int_equal(function(r, "cov_other")->state, HT_COV_NOT_HIT);
	assert_int_equal(the_branch(r)->taken, 0);
	assert_int_equal(the_branch(r)->not_taken, 3);
	assert_int_equal(r->modules[0].executed, 15);
	ht_cov_report_free(r);
	pass(c, 1);
	r = make_report(c);
	assert_int_equal(function(r, "cov_probe")->count, 4);
	assert_int_equal(function(r, "cov_probe")->tally.insns.hit, 7);
	assert_int_equal(function(r, "cov_probe")->tally.branches.hit, 2);
	assert_int_equal(the_branch(r)->taken, 1);
	assert_int_equal(r->unresolved, 0);
	ht_cov_report_free(r);
	ht_coverage_free(c);
}

static void
a_branch_may_open_a_batch(void **state)
{
	struct ht_coverage *c = new_counts();
	struct ht_event b = block(at(cov_p0), at(cov_p2), 3), br = branch(at(cov_p2), at(cov_p5), 1);
	struct ht_cov_report *r;

	(void)state;
	feed(c, &b, 1);
	feed(c, &br, 1);
	r = make_report(c);
	assert_int_equal(the_branch(r)->taken, 1);
	assert_int_equal(function(r, "cov_probe")->count, 1);
	assert_int_equal(function(r, "cov_probe")->tally.insns.hit, 3);
	ht_cov_report_free(r);
	ht_coverage_free(c);
}

static void
code_of_no_module_is_told(void **state)
{
	struct ht_coverage *c = new_counts();
	struct ht_event ev[2] = { block(0x77770000, 0x77770010, 5), block(0x77770000, 0x77770010, 5) };
	struct ht_cov_report *r;

	(void)state;
	feed(c, ev, 2);
	r = make_report(c);
	assert_int_equal(r->unresolved, 10);
	assert_int_equal(r->total.insns.hit, 0);
	ht_cov_report_free(r);
	ht_coverage_free(c);
}

/* After a gap anything that was mapped may have run unseen. */
static void
a_gap_leaves_nothing_missed(void **state)
{
	struct ht_coverage *c = new_counts();
	struct ht_event ev[2] = { block(at(cov_p0), at(cov_p2), 3), { .kind = HT_EV_GAP } };
	struct ht_cov_report *r;
	const struct ht_cov_function *f;

	(void)state;
	feed(c, ev, 2);
	r = make_report(c);
	f = function(r, "cov_probe");
	assert_int_equal(r->gaps, 1);
	assert_int_equal(f->doubt, HT_COV_LOST);
	assert_int_equal(f->state, HT_COV_HIT);
	assert_int_equal(f->tally.insns.hit, 3);
	assert_int_equal(f->tally.insns.unknown, 4);
	assert_int_equal(f->tally.branches.unknown, 2);
	assert_int_equal(the_branch(r)->state, HT_COV_UNKNOWN);
	assert_int_equal(function(r, "cov_other")->state, HT_COV_UNKNOWN);
	assert_int_equal(line(r, first_line + 3)->doubt, HT_COV_LOST);
	assert_int_equal(r->total.insns.hit + r->total.insns.unknown, r->total.insns.all);
	ht_cov_report_free(r);
	ht_coverage_free(c);
}

/* A killed thread may have run the block it came to; all else that it did not run is known. */
static void
a_killed_thread_leaves_a_block(void **state)
{
	struct ht_coverage *c = new_counts(), *sum = new_counts();
	struct ht_event ev[2] = {
		block(at(cov_p0), at(cov_p2), 3),
		{ .kind = HT_EV_GAP, .flags = HT_EV_F_BLOCK, .b = at(cov_p3) },
	};

	(void)state;
	feed(c, ev, 2);
	assert_int_equal(ht_coverage_end_stream(c), 0);
	assert_int_equal(ht_coverage_merge(sum, c), 0);
	for (int turn = 0; turn < 2; turn++) {
		struct ht_cov_report *r = make_report(turn ? sum : c);

		assert_int_equal(r->gaps, 1);
		assert_int_equal(function(r, "cov_probe")->tally.insns.hit, 3);
		assert_int_equal(function(r, "cov_probe")->tally.insns.unknown, 2); /* inc, ret */
		assert_int_equal(function(r, "cov_other")->state, HT_COV_NOT_HIT);
		ht_cov_report_free(r);
	}
	ht_coverage_forget(c);
	assert_int_equal(ht_coverage_end_stream(c), 0);
	{
		struct ht_cov_report *r = make_report(c);

		assert_int_equal(r->total.insns.unknown, 0);
		ht_cov_report_free(r);
	}
	ht_coverage_free(sum);
	ht_coverage_free(c);
}

static void
the_place_after_a_gap_counts_too(void **state)
{
	struct ht_coverage *c = new_counts();
	struct ht_event ev[2] = { { .kind = HT_EV_GAP }, block(at(cov_p5), at(cov_p6), 2) };
	struct ht_cov_report *r;

	(void)state;
	feed(c, ev, 1);
	feed(c, ev + 1, 1);
	r = make_report(c);
	assert_int_equal(r->modules[0].gaps, 1);
	assert_int_equal(function(r, "cov_probe")->tally.insns.unknown, 5);
	ht_cov_report_free(r);
	ht_coverage_free(c);
}

/* The session of a capture that was limited to `limit`. */
static struct ht_session *
limited(const struct ht_limit *limit, struct ht_container **container)
{
	struct ht_session *s;
	struct ht_capture_info *info;
	struct ht_diag diag;

	assert_int_equal(ht_container_open(fx.path, NULL, container, &diag), 0);
	info = (struct ht_capture_info *)(uintptr_t)ht_container_info(*container);
	info->filter = "a test";
	info->limits = limit;
	info->n_limits = limit != NULL;
	assert_int_equal(ht_session_open(*container, NULL, &s, &diag), 0);
	return s;
}

/* Of cov_probe alone one half was recorded: the rest is silent about what it did not see. */
static void
what_was_not_recorded_is_unknown(void **state)
{
	const struct ht_limit limits[] = {
		{ HT_LIMIT_ADDRESS, at(cov_probe), at(cov_p4), NULL },
		{ HT_LIMIT_MODULE, 0, 0, "test_cov*" },
		{ HT_LIMIT_MODULE, 0, 0, "other*" },
		{ HT_LIMIT_FILE, 0, 1 << 30, fx.self },
		{ HT_LIMIT_FILE, 0, 1 << 30, "/else" },
	};
	const struct {
		int limit;
		unsigned unknown, not_hit;
	} want[] = {
		{ 0, 3, 4 }, { 1, 0, 7 }, { 2, 7, 0 }, { 3, 0, 7 }, { 4, 7, 0 }, { -1, 7, 0 },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(want) / sizeof(*want); i++) {
		struct ht_container *container;
		struct ht_session *s =
		    limited(want[i].limit < 0 ? NULL : &limits[want[i].limit], &container);
		const struct ht_cov_function *f;
		struct ht_cov_report *r;
		struct ht_coverage *c;

		assert_int_equal(ht_coverage_new(&c), 0);
		assert_int_equal(ht_coverage_add_session(c, s), 0);
		r = make_report(c);
		f = function(r, "cov_probe");
		assert_int_equal(f->tally.insns.unknown, want[i].unknown);
		assert_int_equal(f->tally.insns.all - f->tally.insns.unknown, want[i].not_hit);
		assert_int_equal(f->state, want[i].unknown ? HT_COV_UNKNOWN : HT_COV_NOT_HIT);
		assert_int_equal(the_branch(r)->doubt,
		                 want[i].unknown == 7 ? HT_COV_UNRECORDED : 0);
		assert_int_equal(r->total.insns.hit, 0);
		ht_cov_report_free(r);
		/* Another capture that looked at all of it knows. */
		assert_int_equal(ht_coverage_add_session(c, fx.session), 0);
		r = make_report(c);
		assert_int_equal(r->total.insns.unknown, 0);
		ht_cov_report_free(r);
		ht_coverage_free(c);
		ht_session_close(s);
		ht_container_close(container);
	}
}

/* A sampled capture shows what ran, and is silent about all else; loss makes that no worse. */
static void
what_was_sampled_misses_nothing(void **state)
{
	struct ht_container *container;
	struct ht_session *s = limited(NULL, &container);
	struct ht_capture_info *info =
	    (struct ht_capture_info *)(uintptr_t)ht_container_info(container);
	struct ht_view *view;
	struct ht_event ev[2] = { block(at(cov_p0), at(cov_p2), 3), { .kind = HT_EV_GAP } };
	struct ht_coverage *c;
	struct ht_cov_report *r;

	(void)state;
	info->filter = NULL;
	info->sampled = 1;
	assert_int_equal(ht_coverage_new(&c), 0);
	assert_int_equal(ht_coverage_add_session(c, s), 0);
	assert_int_equal(ht_view_new(s, PID, &view), 0);
	ht_view_advance(view, 1);
	assert_int_equal(ht_coverage_events(c, view, ev, 2), 0);
	assert_int_equal(ht_coverage_end_stream(c), 0);
	r = make_report(c);
	assert_int_equal(function(r, "cov_probe")->tally.insns.hit, 3);
	assert_int_equal(r->total.insns.hit, 3);
	assert_int_equal(r->total.insns.unknown, r->total.insns.all - 3);
	assert_int_equal(the_branch(r)->doubt & HT_COV_UNRECORDED, HT_COV_UNRECORDED);
	assert_int_equal(line(r, first_line + 3)->state, HT_COV_UNKNOWN);
	ht_cov_report_free(r);
	ht_coverage_free(c);
	ht_view_free(view);
	ht_session_close(s);
	ht_container_close(container);
}

/* Two halves are a whole, in either order; what both left out stays unknown. */
static void
recordings_of_parts_add_up(void **state)
{
	const struct ht_limit low = { HT_LIMIT_ADDRESS, at(cov_probe), at(cov_p3), NULL };
	const struct ht_limit high = { HT_LIMIT_ADDRESS, at(cov_p4), at(cov_other), NULL };

	(void)state;
	for (int turn = 0; turn < 2; turn++) {
		struct ht_container *container[2];
		struct ht_session *s[2] = { limited(turn ? &high : &low, &container[0]),
			                    limited(turn ? &low : &high, &container[1]) };
		struct ht_coverage *c, *d;
		struct ht_cov_report *r;

		assert_int_equal(ht_coverage_new(&c), 0);
		assert_int_equal(ht_coverage_new(&d), 0);
		assert_int_equal(ht_coverage_add_session(c, s[0]), 0);
		assert_int_equal(ht_coverage_add_session(d, s[1]), 0);
		assert_int_equal(ht_coverage_merge(c, d), 0);
		r = make_report(c);
		assert_int_equal(function(r, "cov_probe")->tally.insns.unknown, 1);
		assert_int_equal(function(r, "cov_other")->tally.insns.unknown, 1);
		ht_cov_report_free(r);
		ht_coverage_free(c);
		ht_coverage_free(d);
		for (int i = 0; i < 2; i++) {
			ht_session_close(s[i]);
			ht_container_close(container[i]);
		}
	}
}

static int
same_reports(const struct ht_cov_report *a, const struct ht_cov_report *b)
{
	if (a->n_functions != b->n_functions || a->n_branches != b->n_branches ||
	    memcmp(&a->total, &b->total, sizeof(a->total)))
		return 0;
	for (uint32_t i = 0; i < a->n_functions; i++)
		if (a->functions[i].count != b->functions[i].count ||
		    memcmp(&a->functions[i].tally, &b->functions[i].tally, sizeof(a->functions[i].tally)))
			return 0;
	for (uint32_t i = 0; i < a->n_branches; i++)
		if (a->branches[i].addr != b->branches[i].addr || a->branches[i].taken != b->branches[i].taken ||
		    a->branches[i].not_taken != b->branches[i].not_taken)
			return 0;
	return 1;
}

static void
merged_is_counted_together(void **state)
{
	struct ht_coverage *both = new_counts(), *a = new_counts(), *b = new_counts();
	struct ht_cov_report *want, *got;

	(void)state;
	pass(both, 0);
	pass(both, 1);
	pass(both, 1);
	pass(a, 1);
	pass(b, 1);
	pass(b, 0);
	assert_int_equal(ht_coverage_end_stream(a), 0);
	assert_int_equal(ht_coverage_end_stream(b), 0);
	assert_int_equal(ht_coverage_merge(b, a), 0);
	want = make_report(both);
	got = make_report(b);
	assert_true(same_reports(want, got));
	assert_int_equal(function(got, "cov_probe")->count, 3);
	ht_cov_report_free(got);
	got = make_report(a);
	assert_false(same_reports(want, got));
	ht_cov_report_free(want);
	ht_cov_report_free(got);
	ht_coverage_free(a);
	ht_coverage_free(b);
	ht_coverage_free(both);
}

/* First instruction of class `insn` from `p` on: its address in the capture, and where it goes. */
static uint64_t
find_insn(const void *p, unsigned insn, uint64_t *target)
{
	const uint8_t *b = p;
	struct ht_insn x;

	do {
		assert_int_equal(ht_insn_decode(HT_ARCH_X86_64, b, HT_INSN_MAX, at(b), &x), 0);
		b += x.size;
	} while (x.insn != insn);
	*target = x.target;
	return at(b - x.size);
}

static void
lines_follow_the_branch(void **state)
{
	const uint8_t *start = (const uint8_t *)(uintptr_t)lines_probe;
	struct ht_coverage *c = new_counts();
	struct ht_cov_report *r;
	uint64_t target, none, jump = find_insn(start, HT_INSN_COND, &target);
	uint64_t ret = find_insn(start, HT_INSN_RET, &none);
	struct ht_event ev[3] = { block(at(start), jump, 5), branch(jump, target, 1), block(target, ret, 3) };

	(void)state;
	for (int i = 0; i < 5; i++)
		feed(c, ev, 3);
	r = make_report(c);
	assert_int_equal(line(r, first_line + 2)->count, 5);
	assert_int_equal(line(r, first_line + 3)->count, 5);
	assert_int_equal(line(r, first_line + 3)->n_branches, 1);
	assert_int_equal(r->branches[line(r, first_line + 3)->first_branch].taken, 5);
	assert_int_equal(line(r, first_line + 4)->count, 0);
	assert_int_equal(line(r, first_line + 4)->state, HT_COV_NOT_HIT);
	assert_int_equal(line(r, first_line + 5)->count, 5);
	assert_null(line(r, 1));
	assert_int_equal(function(r, "lines_probe")->count, 5);
	assert_int_equal(function(r, "lines_probe")->line, first_line);
	assert_int_equal(function(r, "lines_probe")->tally.lines.hit + 1, function(r, "lines_probe")->tally.lines.all);
	ht_cov_report_free(r);
	ht_coverage_free(c);
}

static void
modules_and_sources_are_chosen(void **state)
{
	static const char *const none[] = { "no-such-*", NULL }, *const self[] = { "test_cov*", NULL };
	static const char *const source[] = { "*/test_coverage.c", NULL };
	struct ht_cov_config config = { .size = sizeof(config), .modules = none };
	struct ht_coverage *c = new_counts();
	struct ht_cov_report *r;

	(void)state;
	assert_int_equal(ht_cov_report_new(c, &config, &r, NULL), 0);
	assert_int_equal(r->n_files, 0);
	assert_int_equal(r->modules[0].chosen, 0);
	ht_cov_report_free(r);
	config.modules = self;
	config.include = source;
	assert_int_equal(ht_cov_report_new(c, &config, &r, NULL), 0);
	assert_int_equal(r->n_files, 1);
	ht_cov_report_free(r);
	config.include = NULL;
	config.exclude = source;
	assert_int_equal(ht_cov_report_new(c, &config, &r, NULL), 0);
	assert_true(r->n_files > 1);
	assert_null(line(r, first_line + 3));
	ht_cov_report_free(r);
	ht_coverage_free(c);
}

static void
per_cent_is_honest_at_the_ends(void **state)
{
	(void)state;
	assert_true(ht_cov_percent(&(struct ht_cov_tally){ 0, 0, 0 }) < 0);
	assert_true(ht_cov_percent(&(struct ht_cov_tally){ 7, 7, 0 }) == 100);
	assert_true(ht_cov_percent(&(struct ht_cov_tally){ 1000000, 999999, 0 }) < 99.95);
	assert_true(ht_cov_percent(&(struct ht_cov_tally){ 1000000, 1, 0 }) >= 0.1);
	assert_true(ht_cov_percent(&(struct ht_cov_tally){ 1000000, 0, 0 }) == 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_ran),
		cmocka_unit_test(one_side_then_both),
		cmocka_unit_test(a_branch_may_open_a_batch),
		cmocka_unit_test(code_of_no_module_is_told),
		cmocka_unit_test(a_gap_leaves_nothing_missed),
		cmocka_unit_test(a_killed_thread_leaves_a_block),
		cmocka_unit_test(what_was_not_recorded_is_unknown),
		cmocka_unit_test(what_was_sampled_misses_nothing),
		cmocka_unit_test(recordings_of_parts_add_up),
		cmocka_unit_test(the_place_after_a_gap_counts_too),
		cmocka_unit_test(merged_is_counted_together),
		cmocka_unit_test(lines_follow_the_branch),
		cmocka_unit_test(modules_and_sources_are_chosen),
		cmocka_unit_test(per_cent_is_honest_at_the_ends),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
