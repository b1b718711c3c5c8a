/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of this very program, whose lines and inlining are known. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fcntl.h>
#include <gelf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <elfutils/libdw.h>

#include <hwtrace/line.h>

static volatile int sink;
static const int inner_line = __LINE__ + 5;

static inline __attribute__((always_inline)) void
inlined_leaf(int v)
{
	sink = sink * v + 3;
}

static const int call_line = __LINE__ + 6;

static __attribute__((noinline, noclone)) int
outer_function(int a)
{
	sink = a;
	inlined_leaf(a);
	sink += 7;
	return a + sink;
}

struct fixture {
	int              fd;
	Dwarf           *dwarf;
	struct ht_range  text[32];
	uint32_t         n_text;
	uintptr_t        bias;
	struct ht_lines *lines;
};

static int
first_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	*(uintptr_t *)arg = info->dlpi_addr;
	return 1;
}

static int
setup(void **state)
{
	static struct fixture f;
	Elf *elf;
	size_t n;

	f.fd = open("/proc/self/exe", O_RDONLY);
	f.dwarf = dwarf_begin(f.fd, DWARF_C_READ);
	if (!f.dwarf)
		return -1;
	elf = dwarf_getelf(f.dwarf);
	elf_getphdrnum(elf, &n);
	for (size_t i = 0; i < n && f.n_text < 32; i++) {
		GElf_Phdr ph;

		if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_LOAD && ph.p_flags & PF_X)
			f.text[f.n_text++] = (struct ht_range){ ph.p_vaddr, ph.p_vaddr + ph.p_memsz };
	}
	dl_iterate_phdr(first_object, &f.bias);
	*state = &f;
	return ht_lines_open(f.dwarf, f.text, f.n_text, &f.lines, NULL);
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	ht_lines_close(f->lines);
	dwarf_end(f->dwarf);
	close(f->fd);
	return 0;
}

static void
rows_are_sorted_and_apart(void **state)
{
	struct fixture *f = *state;
	size_t n;
	const struct ht_line_row *r = ht_lines_rows(f->lines, &n);

	assert_true(n > 50);
	for (size_t i = 0; i < n; i++) {
		assert_true(r[i].start < r[i].end);
		assert_true(i == 0 || r[i - 1].end <= r[i].start);
		assert_non_null(ht_lines_file(f->lines, r[i].file));
		assert_int_equal(ht_lines_file(f->lines, r[i].file)[0], '/');
	}
	assert_null(ht_lines_file(f->lines, ht_lines_file_count(f->lines)));
}

/*
 * main() adds a stretch of code whose last row, of line 9002, is empty.  libdw
 * lists it behind the end of its stretch, as if it reached up to the next one.
 */
static void
an_empty_row_at_an_end_owns_nothing(void **state)
{
	struct fixture *f = *state;
	size_t n, lines, seen = 0;
	Dwarf_Die cu;
	Dwarf_Lines *raw;
	const struct ht_line_row *r = ht_lines_rows(f->lines, &n);

	assert_non_null(dwarf_addrdie(f->dwarf, (uint64_t)(uintptr_t)outer_function - f->bias, &cu));
	assert_int_equal(dwarf_getsrclines(&cu, &raw, &lines), 0);
	for (size_t i = 0; i < lines; i++) {
		int no = 0;

		dwarf_lineno(dwarf_onesrcline(raw, i), &no);
		seen += no == 9002;
	}
	assert_true(seen > 0);
	for (size_t i = 0; i < n; i++)
		assert_int_not_equal(r[i].line, 9002);
}

/* Every address must get what libdw says of it when asked one by one. */
static void
rows_agree_with_libdw(void **state)
{
	struct fixture *f = *state;
	uint64_t at = (uint64_t)(uintptr_t)outer_function - f->bias;
	unsigned compared = 0;

	for (uint64_t a = at; a < at + 24; a++) {
		const struct ht_line_row *row = ht_lines_find(f->lines, a);
		Dwarf_Die cu;
		Dwarf_Line *line;
		int no = 0;

		assert_non_null(dwarf_addrdie(f->dwarf, a, &cu));
		line = dwarf_getsrc_die(&cu, a);
		assert_non_null(line);
		assert_non_null(row);
		dwarf_lineno(line, &no);
		assert_int_equal(row->line, no);
		assert_non_null(strstr(ht_lines_file(f->lines, row->file), "/test_line.c"));
		compared++;
	}
	assert_int_equal(compared, 24);
	assert_null(ht_lines_find(f->lines, 1));
}

static void
chain_names_the_inlined_function(void **state)
{
	struct fixture *f = *state;
	uint64_t at = (uint64_t)(uintptr_t)outer_function - f->bias;
	struct ht_line_frame fr[8];
	int found = 0, own = 0;

	for (uint64_t a = at; a < at + 64; a++) {
		const struct ht_line_function *fn = ht_lines_function_at(f->lines, a);
		size_t n;

		if (!fn || (strcmp(fn->name, "inlined_leaf") && strcmp(fn->name, "outer_function")))
			break;
		n = ht_lines_chain(f->lines, a, fr, 8);
		if (fn->parent == HT_LINE_NONE) {
			own++;
			assert_int_equal(n, 1);
			assert_string_equal(fr[0].function, "outer_function");
			continue;
		}
		found++;
		assert_int_equal(n, 2);
		assert_string_equal(fr[0].function, "inlined_leaf");
		assert_int_equal(fr[0].line, inner_line);
		assert_string_equal(fr[1].function, "outer_function");
		assert_int_equal(fr[1].line, call_line);
		assert_int_equal(ht_lines_chain(f->lines, a, fr, 1), 1);
	}
	assert_true(found > 0);
	assert_true(own > 0);
}

static void
spans_are_sorted_and_inside(void **state)
{
	struct fixture *f = *state;
	size_t n;
	uint32_t n_fn;
	const struct ht_line_span *s = ht_lines_spans(f->lines, &n);
	const struct ht_line_function *fn = ht_lines_functions(f->lines, &n_fn);
	const struct ht_range *r = ht_lines_ranges(f->lines);

	assert_true(n > 5);
	for (size_t i = 0; i < n; i++) {
		int first = 0, last = 0; /* a span may join ranges that touch */

		assert_true(s[i].start < s[i].end);
		assert_true(i == 0 || s[i - 1].end <= s[i].start);
		assert_true(s[i].function < n_fn);
		for (uint32_t k = 0; k < fn[s[i].function].n_ranges; k++) {
			const struct ht_range *x = &r[fn[s[i].function].first_range + k];

			first |= s[i].start >= x->start && s[i].start < x->end;
			last |= s[i].end > x->start && s[i].end <= x->end;
		}
		assert_true(first && last);
	}
}

static void
statements_hold_the_lines(void **state)
{
	struct fixture *f = *state;
	size_t n, hits = 0;
	const uint64_t *s = ht_lines_statements(f->lines, &n);

	for (size_t i = 0; i < n; i++) {
		assert_true(i == 0 || s[i - 1] < s[i]);
		if (strstr(ht_lines_file(f->lines, (uint32_t)(s[i] >> 32)), "/test_line.c"))
			hits += (uint32_t)s[i] == (uint32_t)inner_line || (uint32_t)s[i] == (uint32_t)call_line + 1;
	}
	assert_int_equal(hits, 2);
}

static void
no_dwarf_is_told(void **state)
{
	struct ht_lines *l = NULL;
	struct ht_diag diag;

	(void)state;
	assert_int_equal(ht_lines_open(NULL, NULL, 0, &l, &diag), -HT_ENOTFOUND);
	assert_true(diag.text[0]);
	assert_null(l);
	ht_lines_close(NULL);
}

static void
code_outside_the_text_is_left_out(void **state)
{
	struct fixture *f = *state;
	struct ht_lines *l = NULL;
	struct ht_range text = { 16, 32 };

	assert_int_equal(ht_lines_open(f->dwarf, &text, 1, &l, NULL), -HT_ENOTFOUND);
	assert_null(l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_sorted_and_apart),
		cmocka_unit_test(an_empty_row_at_an_end_owns_nothing),
		cmocka_unit_test(rows_agree_with_libdw),
		cmocka_unit_test(chain_names_the_inlined_function),
		cmocka_unit_test(spans_are_sorted_and_inside),
		cmocka_unit_test(statements_hold_the_lines),
		cmocka_unit_test(no_dwarf_is_told),
		cmocka_unit_test(code_outside_the_text_is_left_out),
	};

	__asm__ volatile(".pushsection .text.exit.line,\"ax\",@progbits\n\t.p2align 4\n\t.loc 1 9001 1\n\tnop\n"
	                 "\t.loc 1 9002 1 view line_view\n\t.popsection\n");
	sink = outer_function(2);
	return cmocka_run_group_tests(tests, setup, teardown);
}
