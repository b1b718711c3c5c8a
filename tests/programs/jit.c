/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * jit tsc|mono|map DIR [rwx]: makes code, runs it, and tells of it as such programs
 * do: in DIR/jit-PID.dump with times of one of two clocks, or by names alone in
 * /tmp/perf-PID.map, whose path it then prints.  Its memory is to be written or to
 * be run in turn, with rwx both at once.
 * build: -O1 -g
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define PAGES 8192

typedef int made(int n);

/* xor eax,eax; 1: add eax,edi; dec edi; jnz 1b; ret */
static const uint8_t first[] = { 0x31, 0xc0, 0x01, 0xf8, 0xff, 0xcf, 0x75, 0xfa, 0xc3 };
/* call first (filled in); add eax,1; ret */
static const uint8_t second[] = { 0xe8, 0, 0, 0, 0, 0x83, 0xc0, 0x01, 0xc3 };
/* mov eax,1; ret, and in its place later: xor eax,eax; add eax,2; ret */
static const uint8_t early[] = { 0xb8, 1, 0, 0, 0, 0xc3 };
static const uint8_t late[] = { 0x31, 0xc0, 0x83, 0xc0, 0x02, 0xc3 };
/* lea eax,[rdi+7]; ret */
static const uint8_t moved[] = { 0x8d, 0x47, 0x07, 0xc3 };

static FILE *dump, *map;
static int ticks, both;
static uint8_t *base;
static uint64_t made_so_far;

static uint64_t
now(void)
{
	struct timespec ts;

	if (ticks)
		return __rdtsc();
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void
put32(uint32_t v)
{
	fwrite(&v, 4, 1, dump);
}
static void
put64(uint64_t v)
{
	fwrite(&v, 8, 1, dump);
}

static void
record(uint32_t kind, size_t body)
{
	put32(kind);
	put32((uint32_t)(16 + body));
	put64(now());
}

/* A line for each offset, up to one of 0xff. */
static void
lines(uint64_t addr, const uint8_t *offsets, uint32_t line)
{
	static const char file[] = "/src/made.js";
	uint32_t n = 0;

	while (offsets[n] != 0xff)
		n++;
	record(2, 16 + 16 * n + sizeof(file) + 2 * (n - 1));
	put64(addr);
	put64(n);
	for (uint32_t i = 0; i < n; i++) {
		put64(addr + offsets[i]);
		put32(line + i);
		put32(0);
		if (i)
			fwrite("\xff", 2, 1, dump);
		else
			fwrite(file, sizeof(file), 1, dump);
	}
}

/* Write to it, or run it. */
static void
protect(int prot)
{
	if (!both && mprotect(base, PAGES, PROT_READ | prot))
		abort();
}

static made *
make(unsigned at, const uint8_t *code, size_t size, const char *name, const uint8_t *offsets,
     uint32_t line)
{
	uint8_t *p = base + at;

	protect(PROT_WRITE);
	memcpy(p, code, size);
	if (code == second) {
		int32_t rel = (int32_t)(-(int64_t)(at + 5));

		memcpy(p + 1, &rel, 4);
	}
	if (map)
		fprintf(map, "%lx %zx %s\n", (unsigned long)p, size, name);
	if (dump) {
		if (offsets)
			lines((uintptr_t)p, offsets, line);
		record(0, 40 + strlen(name) + 1 + size);
		put32((uint32_t)getpid());
		put32((uint32_t)getpid());
		put64((uintptr_t)p);
		put64((uintptr_t)p);
		put64(size);
		put64(made_so_far++);
		fwrite(name, strlen(name) + 1, 1, dump);
		fwrite(p, size, 1, dump);
		fflush(dump);
	}
	protect(PROT_EXEC);
	return (made *)(void *)p;
}

/* The code made last goes to `at`. */
static made *
move(made *f, unsigned at, size_t size)
{
	protect(PROT_WRITE);
	memcpy(base + at, (void *)f, size);
	if (map)
		fprintf(map, "%lx %zx moved\n", (unsigned long)(base + at), size);
	if (dump) {
		record(1, 48);
		put32((uint32_t)getpid());
		put32((uint32_t)getpid());
		put64((uintptr_t)base + at);
		put64((uintptr_t)f);
		put64((uintptr_t)base + at);
		put64(size);
		put64(made_so_far - 1);
		fflush(dump);
	}
	protect(PROT_EXEC);
	return (made *)(void *)(base + at);
}

static void
begin(const char *how, const char *dir)
{
	char path[4096];

	if (!strcmp(how, "map")) {
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
		map = fopen(path, "w");
		if (!map)
			abort();
		printf("%s\n", path);
		return;
	}
	snprintf(path, sizeof(path), "%s/jit-%d.dump", dir, getpid());
	dump = fopen(path, "w+");
	if (!dump)
		abort();
	ticks = !strcmp(how, "tsc");
	put32(0x4a695444);
	put32(1);
	put32(40);
	put32(EM_X86_64);
	put32(0);
	put32((uint32_t)getpid());
	put64(now());
	put64((uint64_t)ticks);
	fflush(dump);
	/* For who records mappings. */
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0) == MAP_FAILED)
		abort();
}

int
main(int argc, char **argv)
{
	static const uint8_t first_lines[] = { 0, 2, 4, 8, 0xff },
			     second_lines[] = { 0, 5, 8, 0xff };
	made *f;

	if (argc < 3)
		return 2;
	both = argc > 3;
	base = mmap(NULL, PAGES, PROT_READ | PROT_WRITE | (both ? PROT_EXEC : 0),
	            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED)
		return 1;
	begin(argv[1], argv[2]);
	f = make(0, first, sizeof(first), "first", first_lines, 10);
	printf("%d", f(10));
	f = make(64, second, sizeof(second), "second", second_lines, 20);
	for (int i = 0; i < 3; i++)
		printf(" %d", f(5));
	f = make(128, early, sizeof(early), "early", NULL, 0);
	printf(" %d %d", f(0), f(0));
	f = make(128, late, sizeof(late), "late", NULL, 0);
	printf(" %d", f(0));
	f = make(192, moved, sizeof(moved), "moved", NULL, 0);
	printf(" %d", f(1));
	f = move(f, 4096, sizeof(moved));
	printf(" %d\n", f(2));
	if (dump)
		record(3, 0);
	return (dump && fclose(dump)) || (map && fclose(map)) || fflush(stdout);
}
