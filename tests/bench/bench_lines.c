/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench_lines libdw|ours FILE...: read all line tables of these files, by a bare
 * loop over libdw or as coverage does.  Prints CPU seconds and rows.
 */
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <hwtrace/line.h>

static size_t
read_bare(Dwarf *dwarf)
{
	Dwarf_Off at = 0, next;
	size_t header, all = 0;

	while (dwarf_nextcu(dwarf, at, &next, &header, NULL, NULL, NULL) == 0) {
		Dwarf_Die die;
		Dwarf_Lines *lines;
		size_t n;

		if (dwarf_offdie(dwarf, at + header, &die) && dwarf_getsrclines(&die, &lines, &n) == 0)
			all += n;
		at = next;
	}
	return all;
}

static size_t
read_ours(Dwarf *dwarf)
{
	const struct ht_range text = { 0, UINT64_MAX };
	struct ht_lines *lines;
	size_t n = 0;

	if (ht_lines_open(dwarf, &text, 1, &lines, NULL) < 0)
		return 0;
	ht_lines_rows(lines, &n);
	ht_lines_close(lines);
	return n;
}

int
main(int argc, char **argv)
{
	struct timespec t;
	size_t rows = 0;

	if (argc < 3 || (strcmp(argv[1], "libdw") && strcmp(argv[1], "ours"))) {
		fputs("usage: bench_lines libdw|ours FILE...\n", stderr);
		return 64;
	}
	for (int i = 2; i < argc; i++) {
		int fd = open(argv[i], O_RDONLY | O_CLOEXEC);
		Dwarf *dwarf = fd < 0 ? NULL : dwarf_begin(fd, DWARF_C_READ);

		if (!dwarf) {
			fprintf(stderr, "bench_lines: %s has no debug information\n", argv[i]);
			return 1;
		}
		rows += strcmp(argv[1], "ours") ? read_bare(dwarf) : read_ours(dwarf);
		dwarf_end(dwarf);
		close(fd);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	printf("%.4f\t%zu\n", (double)t.tv_sec + (double)t.tv_nsec / 1e9, rows);
	return rows == 0;
}
