/* SPDX-License-Identifier: BSD-2-Clause */
/* Address spaces over time: what is mapped where, and which bytes are read there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <hwtrace/event.h>

#include "session/fake.h"
#include "session/space.h"

/* -- the space itself, against an array with one number a unit of address -- */

#define UNITS 2000

static void
model_check(const struct ht_space *s, const uint64_t *model)
{
	for (uint64_t a = 0; a < UNITS; a++) {
		const struct ht_entry *e = ht_space_find(s, a);

		assert_int_equal(e ? e->off + (a - e->start) + 1 : 0, model[a]);
	}
	for (size_t i = 0; i < s->n; i++) {
		const struct ht_space_chunk *c = s->at[i];

		assert_in_range(c->n, 1, HT_SPACE_CHUNK);
		for (unsigned j = 0; j < c->n; j++) {
			assert_true(c->e[j].start < c->e[j].end);
			if (j)
				assert_true(c->e[j - 1].end <= c->e[j].start);
			else if (i)
				assert_true(s->at[i - 1]->e[s->at[i - 1]->n - 1].end <= c->e[j].start);
		}
	}
}

static void
space_against_model(void **state)
{
	uint64_t model[UNITS];
	uint64_t seed = 1;

	(void)state;
	/* Small ranges make many entries and split chunks, large ones empty them. */
	for (unsigned width = 1; width <= 512; width *= 8) {
		struct ht_space s = { 0 };

		memset(model, 0, sizeof(model));
		for (unsigned i = 0; i < 3000; i++) {
			uint64_t start, len, off;

			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			start = (seed >> 33) % UNITS;
			len = 1 + (seed >> 20) % width;
			if (len > UNITS - start)
				len = UNITS - start;
			off = (uint64_t)i * 10000;
			if ((seed >> 50) % 4 == 0) {
				int any = 0;

				for (uint64_t a = start; a < start + len; a++) {
					any |= model[a] != 0;
					model[a] = 0;
				}
				assert_int_equal(ht_space_cut(&s, start, start + len), any);
			} else {
				struct ht_entry e = { .start = start, .end = start + len, .off = off };

				for (uint64_t a = start; a < start + len; a++)
					model[a] = off + (a - start) + 1;
				assert_int_equal(ht_space_put(&s, &e), 0);
			}
			if (i % 100 == 0)
				model_check(&s, model);
		}
		model_check(&s, model);
		ht_space_fini(&s);
	}
}

/* -- views --------------------------------------------------------------- */

struct fixture {
	struct fake        fake;
	struct ht_session *s;
	struct ht_view    *v;
	char               path[64]; /* a file of 0x3000 bytes: byte i is i * 7 + i / 256 */
};

static uint8_t
file_byte(uint64_t i)
{
	return (uint8_t)(i * 7 + i / 256);
}

static int
setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));
	int fd;

	fake_init(&x->fake);
	strcpy(x->path, "/tmp/hwtrace-space.XXXXXX");
	fd = mkstemp(x->path);
	for (unsigned i = 0; i < 0x3000; i++) {
		uint8_t b = file_byte(i);

		if (write(fd, &b, 1) != 1)
			return -1;
	}
	close(fd);
	*state = x;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *x = *state;

	ht_view_free(x->v);
	ht_session_close(x->s);
	unlink(x->path);
	free(x);
	return 0;
}

static void
go(struct fixture *x, int32_t pid)
{
	x->s = fake_session(&x->fake, NULL);
	assert_int_equal(ht_view_new(x->s, pid, &x->v), 0);
}

/* [addr, addr + n) reads as the file from `off` on, and the byte behind it does not follow. */
static void
reads_file(struct ht_view *v, uint64_t addr, size_t n, uint64_t off)
{
	uint8_t buf[0x4000];

	assert_int_equal(ht_view_read(v, addr, buf, n), n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(buf[i], file_byte(off + i));
}

static void
reads_nothing(struct ht_view *v, uint64_t addr)
{
	uint8_t b;
	struct ht_mapping m;

	assert_int_equal(ht_view_read(v, addr, &b, 1), 0);
	assert_int_equal(ht_view_find(v, addr, &m), -HT_ENOTFOUND);
}

static void
mapping_over_mapping(void **state)
{
	struct fixture *x = *state;
	const struct ht_mapping *m;
	uint32_t n;

	fake_map(&x->fake, 0, 1, 0x10000, 0x3000, 0, x->path);
	fake_map(&x->fake, 10, 1, 0x11000, 0x800, 0x2000, x->path);
	go(x, 1);
	reads_file(x->v, 0x10000, 0x3000, 0);
	assert_int_equal(ht_view_next_change(x->v), 10);
	assert_int_equal(ht_view_advance(x->v, 9), 0);
	assert_int_equal(ht_view_advance(x->v, 10), 1);
	assert_int_equal(ht_view_next_change(x->v), UINT64_MAX);
	reads_file(x->v, 0x10000, 0x1000, 0);
	reads_file(x->v, 0x11000, 0x800, 0x2000);
	reads_file(x->v, 0x11800, 0x1800, 0x1800);
	m = ht_view_mappings(x->v, &n);
	assert_int_equal(n, 3);
	assert_int_equal(m[0].end, 0x11000);
	assert_int_equal(m[2].start, 0x11800);
	assert_int_equal(m[2].pgoff, 0x1800);
	assert_int_equal(m[2].end, 0x13000);
}

static void
read_across_mappings(void **state)
{
	struct fixture *x = *state;
	uint8_t buf[16];

	fake_map(&x->fake, 0, 1, 0x20000, 0x1000, 0, x->path);
	fake_map(&x->fake, 0, 1, 0x21000, 0x1000, 0x2000, x->path);
	go(x, 1);
	assert_int_equal(ht_view_read(x->v, 0x20ff8, buf, 16), 16);
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(buf[i], file_byte(i < 8 ? 0xff8 + i : 0x2000 + i - 8));
	/* A read that runs off the end gives what is there. */
	assert_int_equal(ht_view_read(x->v, 0x21ffc, buf, 16), 4);
	reads_nothing(x->v, 0x1ffff);
}

/* Of several changes at once the ranges come by address, each part once. */
static void
changes_are_sorted(void **state)
{
	static const uint64_t at[] = { 0x50000, 0x10000, 0x30000, 0x11000, 0x31000, 0x30800 };
	struct fixture *x = *state;
	const struct ht_range *r;
	uint32_t n;

	for (unsigned i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		fake_map(&x->fake, 5, 1, at[i], 0x1000, i * 0x100, x->path);
	go(x, 1);
	assert_int_equal(ht_view_advance(x->v, 5), 1);
	r = ht_view_changes(x->v, &n);
	assert_int_equal(n, 3);
	assert_int_equal(r[0].start, 0x10000);
	assert_int_equal(r[0].end, 0x12000);
	assert_int_equal(r[1].start, 0x30000);
	assert_int_equal(r[1].end, 0x32000);
	assert_int_equal(r[2].start, 0x50000);
	assert_int_equal(r[2].end, 0x51000);
}

static void
unmap_cuts(void **state)
{
	struct fixture *x = *state;
	const struct ht_range *r;
	uint32_t n;

	fake_map(&x->fake, 0, 1, 0x10000, 0x3000, 0, x->path);
	fake_unmap(&x->fake, 5, 1, 0x10800, 0x1000);
	fake_unmap(&x->fake, 6, 1, 0x90000, 0x1000);
	go(x, 1);
	assert_int_equal(ht_view_advance(x->v, 5), 1);
	r = ht_view_changes(x->v, &n);
	assert_int_equal(n, 1);
	assert_int_equal(r[0].start, 0x10800);
	assert_int_equal(r[0].end, 0x11800);
	reads_file(x->v, 0x10000, 0x800, 0);
	reads_nothing(x->v, 0x10800);
	reads_nothing(x->v, 0x117ff);
	reads_file(x->v, 0x11800, 0x1800, 0x1800);
	/* Where nothing was, nothing changes. */
	assert_int_equal(ht_view_advance(x->v, 6), 0);
}

static void
data_mapping_takes_code_away(void **state)
{
	struct fixture *x = *state;

	fake_map(&x->fake, 0, 1, 0x10000, 0x2000, 0, x->path);
	fake_map(&x->fake, 5, 1, 0x11000, 0x1000, 0, x->path)->u.map.flags = 0;
	go(x, 1);
	assert_int_equal(ht_view_advance(x->v, 5), 1);
	reads_file(x->v, 0x10000, 0x1000, 0);
	reads_nothing(x->v, 0x11000);
}

static void
same_mapping_again_is_no_change(void **state)
{
	struct fixture *x = *state;

	fake_map(&x->fake, 0, 1, 0x10000, 0x2000, 0, x->path);
	fake_map(&x->fake, 5, 1, 0x10000, 0x2000, 0, x->path);
	fake_map(&x->fake, 6, 1, 0x11000, 0x1000, 0x1000, x->path);
	fake_map(&x->fake, 7, 1, 0x11000, 0x1000, 0x2000, x->path);
	go(x, 1);
	assert_int_equal(ht_view_advance(x->v, 6), 0);
	assert_int_equal(ht_view_advance(x->v, 7), 1);
}

static void
fork_copies_and_parts(void **state)
{
	struct fixture *x = *state;
	struct ht_view *child;

	fake_map(&x->fake, 0, 1, 0x10000, 0x1000, 0, x->path);
	fake_fork(&x->fake, 10, 2, 2, 1, 1);
	fake_map(&x->fake, 20, 1, 0x20000, 0x1000, 0, x->path);  /* parent's own */
	fake_map(&x->fake, 30, 2, 0x30000, 0x1000, 0, x->path);  /* child's own */
	fake_fork(&x->fake, 40, 3, 3, 2, 2);                     /* grandchild */
	fake_unmap(&x->fake, 50, 2, 0x10000, 0x1000);
	go(x, 1);
	assert_int_equal(ht_view_new(x->s, 2, &child), 0);
	reads_nothing(child, 0x10000);
	assert_int_equal(ht_view_advance(child, 10), 1);
	reads_file(child, 0x10000, 0x1000, 0);
	ht_view_advance(child, 30);
	reads_file(child, 0x30000, 0x1000, 0);
	reads_nothing(child, 0x20000);
	ht_view_advance(child, 50);
	reads_nothing(child, 0x10000);
	ht_view_free(child);

	ht_view_advance(x->v, 100);
	reads_file(x->v, 0x10000, 0x1000, 0);
	reads_file(x->v, 0x20000, 0x1000, 0);
	reads_nothing(x->v, 0x30000);

	assert_int_equal(ht_view_switch(x->v, 3, 100), 0);
	assert_int_equal(ht_view_pid(x->v), 3);
	reads_file(x->v, 0x10000, 0x1000, 0);
	reads_file(x->v, 0x30000, 0x1000, 0);
	reads_nothing(x->v, 0x20000);
}

/* The start addresses of mappings, by their fifth digit. */
static int
note_mapping(void *arg, const struct ht_mapping *m)
{
	assert_non_null(m->module);
	assert_true(m->end > m->start);
	*(unsigned *)arg |= 1u << (m->start >> 16);
	return m->start == 0x70000 ? 77 : 0;
}

static void
all_mappings_of_a_life(void **state)
{
	struct fixture *x = *state;
	const struct {
		int32_t pid;
		unsigned want;
	} all[] = {
		{ 1, 1 << 1 | 1 << 2 | 1 << 6 },
		{ 2, 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 6 },
		{ 5, 1 << 5 | 1 << 6 },
		{ 9, 1 << 6 },
		{ -1, 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6 },
	};
	unsigned got = 0;

	fake_map(&x->fake, 0, 1, 0x10000, 0x1000, 0, x->path);
	fake_fork(&x->fake, 10, 2, 2, 1, 1);
	fake_fork(&x->fake, 15, 1, 1, 2, 2); /* a damaged file: a circle */
	fake_map(&x->fake, 20, 2, 0x30000, 0x1000, 0, x->path);
	fake_unmap(&x->fake, 25, 2, 0x30000, 0x1000); /* was there all the same */
	fake_comm(&x->fake, 30, 2, 2, "new", 1);
	fake_map(&x->fake, 40, 2, 0x40000, 0x1000, 0, x->path);
	fake_map(&x->fake, 40, 5, 0x50000, 0x1000, 0, x->path);
	fake_map(&x->fake, 50, 1, 0x20000, 0x1000, 0, x->path);
	fake_map(&x->fake, 0, -1, 0x60000, 0x1000, 0, x->path)->u.map.flags |= HT_MAP_KERNEL;
	go(x, 1);
	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++) {
		got = 0;
		assert_int_equal(ht_session_mappings(x->s, all[i].pid, note_mapping, &got), 0);
		/* In the circle both know of each other. */
		assert_int_equal(all[i].pid == 1 ? got & all[i].want : got, all[i].want);
	}
}

static void
a_walk_over_mappings_ends_when_told(void **state)
{
	struct fixture *x = *state;
	unsigned got = 0;

	fake_map(&x->fake, 0, 1, 0x70000, 0x1000, 0, x->path);
	fake_map(&x->fake, 1, 1, 0x80000, 0x1000, 0, x->path);
	go(x, 1);
	assert_int_equal(ht_session_mappings(x->s, 1, note_mapping, &got), 77);
	assert_int_equal(got, 1 << 7);
}

static void
synthesised_fork_copies_nothing(void **state)
{
	struct fixture *x = *state;

	fake_map(&x->fake, 0, 1, 0x10000, 0x1000, 0, x->path);
	fake_fork(&x->fake, 0, 2, 2, 1, 1)->misc = 0x2000;
	fake_map(&x->fake, 0, 2, 0x20000, 0x1000, 0, x->path);
	go(x, 2);
	reads_nothing(x->v, 0x10000);
	reads_file(x->v, 0x20000, 0x1000, 0);
}

static void
exec_empties(void **state)
{
	struct fixture *x = *state;

	fake_map(&x->fake, 0, 1, 0x10000, 0x1000, 0, x->path);
	fake_comm(&x->fake, 10, 1, 1, "named", 0);
	fake_comm(&x->fake, 20, 1, 1, "new", 1);
	fake_map(&x->fake, 20, 1, 0x40000, 0x1000, 0, x->path);
	go(x, 1);
	ht_view_advance(x->v, 10);
	reads_file(x->v, 0x10000, 0x1000, 0);
	assert_int_equal(ht_view_advance(x->v, 20), 1);
	reads_nothing(x->v, 0x10000);
	reads_file(x->v, 0x40000, 0x1000, 0);
	assert_string_equal(ht_session_comm(x->s, 1, 15), "named");
	assert_string_equal(ht_session_comm(x->s, 1, 20), "new");
}

static void
pid_that_comes_again_starts_anew(void **state)
{
	struct fixture *x = *state;

	fake_map(&x->fake, 0, 1, 0x10000, 0x1000, 0, x->path);
	fake_fork(&x->fake, 10, 2, 2, 1, 1);
	fake_map(&x->fake, 11, 2, 0x20000, 0x1000, 0, x->path);
	fake_exit(&x->fake, 20, 2, 2);
	fake_fork(&x->fake, 30, 2, 2, 1, 1);
	go(x, 2);
	ht_view_advance(x->v, 20);
	reads_file(x->v, 0x20000, 0x1000, 0);
	ht_view_advance(x->v, 30);
	reads_nothing(x->v, 0x20000);
	reads_file(x->v, 0x10000, 0x1000, 0);
}

static void
new_thread_shares(void **state)
{
	struct fixture *x = *state;

	fake_map(&x->fake, 0, 1, 0x10000, 0x1000, 0, x->path);
	fake_comm(&x->fake, 0, 1, 1, "main", 0);
	fake_fork(&x->fake, 10, 1, 5, 1, 1);
	go(x, 1);
	assert_int_equal(ht_view_advance(x->v, 100), 0);
	reads_file(x->v, 0x10000, 0x1000, 0);
	assert_int_equal(ht_session_pid_of(x->s, 5), 1);
	assert_int_equal(ht_session_pid_of(x->s, 77), -1);
	/* It is called as its maker was until it gets a name. */
	assert_string_equal(ht_session_comm(x->s, 5, 50), "main");
	assert_int_equal(ht_session_thread_count(x->s), 2);
	assert_int_equal(ht_session_thread(x->s, 1)->start_ns, 10);
}

static void
recorded_bytes_win(void **state)
{
	struct fixture *x = *state;
	static const uint8_t code[] = { 0xaa, 0xbb, 0xcc, 0xdd };
	struct ht_mapping before, after;
	uint8_t buf[8];

	fake_map(&x->fake, 0, 1, 0x10000, 0x1000, 0, x->path);
	fake_code(&x->fake, 10, 1, 0x10100, code, 4);
	fake_code(&x->fake, 20, 1, 0x10102, code, 4);
	fake_code(&x->fake, 25, 1, 0x70000, code, 4);
	fake_map(&x->fake, 30, 1, 0x10000, 0x1000, 0, x->path);
	go(x, 1);
	assert_int_equal(ht_view_find(x->v, 0x10100, &before), 0);
	reads_file(x->v, 0x100fe, 8, 0xfe);
	assert_int_equal(ht_view_advance(x->v, 10), 1);
	assert_int_equal(ht_view_find(x->v, 0x10100, &after), 0);
	assert_int_not_equal(before.generation, after.generation);
	assert_int_equal(ht_view_read(x->v, 0x100ff, buf, 6), 6);
	assert_int_equal(buf[0], file_byte(0xff));
	assert_memory_equal(buf + 1, code, 4);
	assert_int_equal(buf[5], file_byte(0x104));
	ht_view_advance(x->v, 20);
	assert_int_equal(ht_view_read(x->v, 0x10100, buf, 6), 6);
	assert_memory_equal(buf, "\xaa\xbb\xaa\xbb\xcc\xdd", 6);
	/* Code where nothing is mapped: bytes, and a module that stands for memory. */
	ht_view_advance(x->v, 25);
	assert_int_equal(ht_view_read(x->v, 0x70000, buf, 8), 4);
	assert_int_equal(ht_view_find(x->v, 0x70000, &after), 0);
	assert_int_equal(ht_module_info(after.module)->state, HT_MODULE_MEMORY);
	/* The same file mapped anew has its own bytes again. */
	assert_int_equal(ht_view_advance(x->v, 30), 1);
	reads_file(x->v, 0x10000, 0x1000, 0);
}

static void
equal_times_in_file_order(void **state)
{
	struct fixture *x = *state;

	fake_map(&x->fake, 50, 1, 0x10000, 0x1000, 0x1000, x->path);
	fake_map(&x->fake, 10, 1, 0x10000, 0x1000, 0, x->path);
	fake_unmap(&x->fake, 10, 1, 0x10000, 0x1000);
	fake_map(&x->fake, 10, 1, 0x10000, 0x1000, 0x2000, x->path);
	/* A record without a time comes first, wherever it lies in the file. */
	fake_map(&x->fake, 0, 1, 0x20000, 0x1000, 0, x->path);
	go(x, 1);
	reads_file(x->v, 0x20000, 0x1000, 0);
	ht_view_advance(x->v, 10);
	reads_file(x->v, 0x10000, 0x1000, 0x2000);
	ht_view_advance(x->v, 50);
	reads_file(x->v, 0x10000, 0x1000, 0x1000);
}

static void
kernel_is_seen_by_all(void **state)
{
	struct fixture *x = *state;
	const char *why;
	uint8_t b;

	fake_map(&x->fake, 0, -1, 0xffffffff81000000, 0x1000, 0, "[kernel.kallsyms]_text")->u.map.flags =
		HT_MAP_EXEC | HT_MAP_KERNEL;
	fake_map(&x->fake, 0, 1, 0x10000, 0x1000, 0, x->path);
	fake_comm(&x->fake, 5, 1, 1, "new", 1);
	go(x, 1);
	ht_view_advance(x->v, 5);
	assert_int_equal(ht_view_read(x->v, 0xffffffff81000010, &b, 1), 0);
	assert_int_equal(ht_view_why(x->v, 0xffffffff81000010, &why), HT_GAP_NO_CODE);
	assert_non_null(strstr(why, "[kernel.kallsyms]"));
}

static void
mapping_to_the_end_of_the_address_space(void **state)
{
	struct fixture *x = *state;
	uint8_t buf[16];

	fake_map(&x->fake, 0, 1, UINT64_MAX - 0xfff, 0x1000, 0, x->path);
	fake_map(&x->fake, 0, 1, 0x1000, UINT64_MAX, 0, x->path);
	fake_map(&x->fake, 0, 1, 0x1000, 0, 0, x->path);
	go(x, 1);
	assert_int_equal(ht_view_read(x->v, UINT64_MAX - 3, buf, 16), 0);
	reads_file(x->v, 0x1000, 0x3000, 0);
}

/* Two hundred thousand mappings, top down and all kept, as the kernel places them. */
static void
many_mappings(void **state)
{
	struct ht_space s = { 0 };
	const unsigned n = 200000;

	(void)state;
	for (unsigned i = 0; i < n; i++) {
		uint64_t at = (uint64_t)(n - i) * 0x2000;
		struct ht_entry e = { .start = at, .end = at + 0x1000, .off = i };

		assert_int_equal(ht_space_put(&s, &e), 0);
	}
	assert_int_equal(ht_space_find(&s, 0x2000)->off, n - 1);
	assert_null(ht_space_find(&s, 0x3000));
	assert_int_equal(ht_space_find(&s, (uint64_t)n * 0x2000)->off, 0);
	assert_int_equal(ht_space_cut(&s, 0, UINT64_MAX), 1);
	assert_int_equal(s.n, 0);
	ht_space_fini(&s);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(space_against_model),
		cmocka_unit_test(many_mappings),
		T(mapping_over_mapping),
		T(read_across_mappings),
		T(changes_are_sorted),
		T(unmap_cuts),
		T(data_mapping_takes_code_away),
		T(same_mapping_again_is_no_change),
		T(fork_copies_and_parts),
		T(all_mappings_of_a_life),
		T(a_walk_over_mappings_ends_when_told),
		T(synthesised_fork_copies_nothing),
		T(exec_empties),
		T(pid_that_comes_again_starts_anew),
		T(new_thread_shares),
		T(recorded_bytes_win),
		T(equal_times_in_file_order),
		T(kernel_is_seen_by_all),
		T(mapping_to_the_end_of_the_address_space),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
