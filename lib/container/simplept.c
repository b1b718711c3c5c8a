/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Captures of simple-pt: PREFIX.sideband, a text, and beside it the trace of each CPU
 * in PREFIX.0, PREFIX.1, ...  A line of the text tells of the processor,
 *
 *	meta family 6
 *
 * or of a mapping [SPT "sptsideband.py"]:
 *
 *	1234.567 4711 1a2b3000 7f0000001000 8192 2000	/usr/lib/libc.so.6
 *
 * time, process, page tables, address, place in the file, size and file.  The times are
 * those of ftrace, which no packet of the trace has: all is there from the begin, and
 * PIP packets tell by page tables which process runs.
 *
 * The writer is not of one mind about numbers.  What was mapped before (time 0) has
 * its place in the file in hexadecimal digits and its size in decimal ones, what was
 * mapped later the other way round.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/intern.h"
#include "base/vec.h"
#include "container/reader.h"
#include "container/small.h"

#define SUFFIX        ".sideband"
#define PAGE          4096u
#define CPU_MAX       65535
#define LINE_MAX_SIZE 8192

struct file {
	void *data;
	size_t size;
	int cpu;
};

struct simplept {
	struct {
		struct ht_record *at;
		size_t n, cap;
	} records;
	struct {
		uint64_t *at;
		size_t n, cap;
	} contexts; /* page tables: one a process, not many */
	struct {
		struct file *at;
		size_t n, cap;
	} files;
	struct {
		struct ht_chunk *at;
		size_t n, cap;
	} chunks;
	struct {
		struct ht_carried *at;
		size_t n, cap;
	} code; /* file.path: of the code of `path` */
	struct {
		const char **at;
		size_t n, cap;
	} code_of;
	struct ht_intern *names;
	struct ht_diag damage; /* of the first line that cannot be read */
	uint64_t damaged, told, number;
	size_t next;
};

/* -- lines ----------------------------------------------------------------------- */

/* The rest of a line. */
struct text {
	const char *p, *end;
};

static void
skip_blanks(struct text *t)
{
	while (t->p < t->end && (*t->p == ' ' || *t->p == '\t'))
		t->p++;
}

/* A word, cut off; empty when there is none. */
static struct text
take_word(struct text *t)
{
	struct text w;

	skip_blanks(t);
	w.p = t->p;
	while (t->p < t->end && *t->p != ' ' && *t->p != '\t')
		t->p++;
	w.end = t->p;
	return w;
}

/* The whole word is a number; 0 when it is none, or too large. */
static int
number(struct text w, unsigned base, uint64_t *out)
{
	uint64_t v = 0;

	if (base == 16 && w.end - w.p > 2 && w.p[0] == '0' && (w.p[1] | 32) == 'x')
		w.p += 2;
	if (w.p == w.end)
		return 0;
	for (; w.p < w.end; w.p++) {
		char c = *w.p;
		unsigned d = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
		             : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
		                                    : 99;

		if (d >= base || v > (UINT64_MAX - d) / base)
			return 0;
		v = v * base + d;
	}
	*out = v;
	return 1;
}

/* Seconds and a fraction; *zero: it is 0, for what was there before. */
static int
is_time(struct text w, int *zero)
{
	int dots = 0, digits = 0;

	*zero = 1;
	for (; w.p < w.end; w.p++) {
		if (*w.p == '.' && !dots++)
			continue;
		if (*w.p < '0' || *w.p > '9')
			return 0;
		digits++;
		*zero &= *w.p == '0';
	}
	return digits != 0;
}

/* One mapping. */
struct row {
	int initial;
	uint64_t pid, cr3, addr, off, len; /* len 0: not known */
	struct text path;
};

static int
take_row(struct text t, struct row *r)
{
	struct text off, len;
	uint64_t decimal;

	*r = (struct row){ 0 };
	if (!is_time(take_word(&t), &r->initial) || !number(take_word(&t), 10, &r->pid) ||
	    r->pid > INT32_MAX || !number(take_word(&t), 16, &r->cr3) ||
	    !number(take_word(&t), 16, &r->addr))
		return 0;
	off = take_word(&t);
	skip_blanks(&t);
	if (t.p < t.end && *t.p != '/') {
		len = take_word(&t);
		if (!number(len, r->initial ? 10 : 16, &r->len) && !number(len, 16, &r->len))
			return 0;
	}
	if (!number(off, 16, &r->off))
		return 0;
	if (!r->initial && number(off, 10, &decimal) && decimal % PAGE == 0)
		r->off = decimal;
	skip_blanks(&t);
	while (t.end > t.p && (t.end[-1] == ' ' || t.end[-1] == '\t' || t.end[-1] == '\r'))
		t.end--;
	r->path = t;
	return t.p < t.end && *t.p == '/' && r->len <= UINT64_MAX - r->addr;
}

/* "meta NAME NUMBER [NUMBER]"; what is not known is passed over. */
static int
take_meta(struct ht_container *c, struct text t)
{
	static const char *const names[] = { "family",   "model",    "stepping",
		                             "mtc_freq", "nom_freq", "tsc_ratio" };
	static const uint64_t max[] = {
		UINT16_MAX, UINT8_MAX, UINT8_MAX, 16, UINT8_MAX, UINT32_MAX
	};
	struct ht_cpu_info *cpu = &c->info.cpu;
	struct text name = take_word(&t);
	unsigned i = 0, n = sizeof(names) / sizeof(*names);
	uint64_t v, w = 0;

	while (i < n && ((size_t)(name.end - name.p) != strlen(names[i]) ||
	                 memcmp(name.p, names[i], strlen(names[i])) != 0))
		i++;
	if (i == n)
		return 1;
	if (!number(take_word(&t), 10, &v) || v > max[i])
		return 0;
	if (i == 0) {
		cpu->vendor_intel = 1;
		cpu->family = (uint16_t)v;
	} else if (i == 1) {
		cpu->model = (uint8_t)v;
	} else if (i == 2) {
		cpu->stepping = (uint8_t)v;
	} else if (i == 3) {
		cpu->mtc_freq = (uint8_t)(v ? v - 1 : 0); /* 0 is off */
	} else if (i == 4) {
		cpu->nom_freq = (uint8_t)v;
	} else if (number(take_word(&t), 10, &w) && w <= UINT32_MAX) {
		cpu->tsc_ctc_den = (uint32_t)v; /* EAX and EBX of the leaf */
		cpu->tsc_ctc_num = (uint32_t)w;
	} else {
		return 0;
	}
	return 1;
}

/* Line at `p`, up to `end`: without its end, and where the next one begins. */
static struct text
line_at(const char *p, const char *end, const char **next)
{
	const char *stop = memchr(p, '\n', (size_t)(end - p));

	*next = stop ? stop + 1 : end;
	return (struct text){ p, stop ? stop : end };
}

static int
is_word(struct text w, const char *what)
{
	return (size_t)(w.end - w.p) == strlen(what) && !memcmp(w.p, what, strlen(what));
}

/* By its first line, which another text does not begin with by chance. */
static int
simplept_match(const uint8_t *data, size_t size)
{
	const char *p = (const char *)data, *next;
	struct text line, rest;
	struct row row;

	if (!size)
		return 0;
	line = line_at(p, p + (size < LINE_MAX_SIZE ? size : LINE_MAX_SIZE), &next);
	if (memchr(line.p, 0, (size_t)(line.end - line.p)))
		return 0;
	rest = line;
	return is_word(take_word(&rest), "meta") || take_row(line, &row);
}

/* -- the text -------------------------------------------------------------------- */

static int
no_memory(const struct ht_container *c, struct ht_diag *diag)
{
	return ht_fail(diag, HT_ENOMEM, c->path, HT_NO_OFFSET, "", "out of memory");
}

/* Page tables that were not told of. 0 or -HT_ENOMEM. */
static int
add_context(struct simplept *s, const struct row *row, uint64_t at)
{
	struct ht_record *r;
	uint64_t *slot;

	for (size_t i = s->contexts.n; i-- > 0;)
		if (s->contexts.at[i] == row->cr3)
			return 0;
	slot = ht_vec_push(&s->contexts);
	r = slot ? ht_vec_push(&s->records) : NULL;
	if (!r)
		return -HT_ENOMEM;
	*slot = row->cr3;
	*r = (struct ht_record){ .kind = HT_REC_CONTEXT,
		                 .pid = (int32_t)row->pid,
		                 .tid = (int32_t)row->pid,
		                 .cpu = -1,
		                 .file_offset = at };
	r->u.context.cr3 = row->cr3;
	return 0;
}

struct unsized {
	struct simplept *s;
	struct ht_record rec;
	unsigned n;
};

static int
add_segment(void *arg, uint64_t addr, uint64_t len, uint64_t pgoff, uint64_t at)
{
	struct unsized *x = arg;
	struct ht_record *r = ht_vec_push(&x->s->records);

	(void)at;
	if (!r)
		return -HT_ENOMEM;
	*r = x->rec;
	r->u.map.addr = addr;
	r->u.map.len = len;
	r->u.map.pgoff = pgoff;
	x->n++;
	return 0;
}

/* "PROGRAM:CODE": the bytes that ran are those of the second file. */
static int
take_names(struct simplept *s, struct text path, const char **name)
{
	const char *colon = memchr(path.p, ':', (size_t)(path.end - path.p)), **of;
	struct ht_carried *code;
	int two = colon && colon + 1 < path.end && colon[1] == '/';

	*name = ht_intern(s->names, path.p, (size_t)((two ? colon : path.end) - path.p));
	if (!*name || !two)
		return *name ? 0 : -HT_ENOMEM;
	of = ht_vec_push(&s->code_of);
	code = of ? ht_vec_push(&s->code) : NULL;
	if (!code)
		return -HT_ENOMEM;
	*of = *name;
	*code = (struct ht_carried){ .path = ht_intern(s->names, colon + 1,
		                                       (size_t)(path.end - colon - 1)) };
	return code->path ? 0 : -HT_ENOMEM;
}

static int
add_row(struct simplept *s, const struct row *row, uint64_t at)
{
	struct unsized x = { .s = s,
		             .rec = { .kind = HT_REC_MMAP,
		                      .pid = (int32_t)row->pid,
		                      .tid = (int32_t)row->pid,
		                      .cpu = -1,
		                      .file_offset = at } };
	struct ht_diag diag = { 0 };
	const char *name;

	if (add_context(s, row, at) < 0 || take_names(s, row->path, &name) < 0)
		return -HT_ENOMEM;
	x.rec.u.map.flags = HT_MAP_EXEC;
	x.rec.u.map.prot = PROT_READ | PROT_EXEC;
	x.rec.u.map.path = name;
	/* Old captures have no sizes: the file knows them, else its first page stands for it. */
	if (!row->len && ht_elf_segments(name, row->addr, add_segment, &x, &diag) == -HT_ENOMEM)
		return -HT_ENOMEM;
	return x.n ? 0 : add_segment(&x, row->addr, row->len ? row->len : PAGE, row->off, 0);
}

static void
bad_line(struct ht_container *c, uint64_t at)
{
	struct simplept *s = c->state;

	if (!s->damaged++)
		ht_fail(&s->damage, HT_EFORMAT, c->path, at, "sideband",
		        "line %llu is no mapping: time, process, page tables, address, place in "
		        "the file, size, "
		        "file; it was passed over",
		        (unsigned long long)s->number);
}

/* What was there before stands behind what came later: in two passes it comes first. */
static int
read_text(struct ht_container *c, int initial)
{
	struct simplept *s = c->state;
	const char *text = (const char *)c->data, *end = text + c->size, *next;
	int rc = 0;

	s->number = 0;
	for (const char *p = text; p < end && rc == 0; p = next) {
		struct text line = line_at(p, end, &next), rest = line;
		uint64_t at = (uint64_t)(p - text);
		struct text first = take_word(&rest);
		struct row row;

		s->number++;
		if (first.p == first.end || *first.p == '\r')
			continue;
		if (is_word(first, "meta")) {
			if (initial && !take_meta(c, rest))
				bad_line(c, at);
		} else if (!take_row(line, &row)) {
			if (initial)
				bad_line(c, at);
		} else if (row.initial == initial) {
			rc = add_row(s, &row, at);
		}
	}
	return rc;
}

/* -- trace ----------------------------------------------------------------------- */

/* The number behind "NAME." when `entry` is such a name; else -1. */
static int
cpu_of(const char *entry, const char *name, size_t n)
{
	int cpu = 0;

	if (strncmp(entry, name, n) != 0 || entry[n] != '.' || !entry[n + 1])
		return -1;
	for (const char *p = entry + n + 1; *p; p++) {
		if (*p < '0' || *p > '9' || cpu > CPU_MAX)
			return -1;
		cpu = cpu * 10 + (*p - '0');
	}
	return cpu <= CPU_MAX ? cpu : -1;
}

static int
map_file(struct ht_container *c, const char *path, int cpu, struct ht_diag *diag)
{
	struct simplept *s = c->state;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct file *f;
	struct stat st;
	void *data;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		int err = fd < 0 ? errno : 0;

		if (fd >= 0)
			close(fd);
		return ht_fail(diag, err == EACCES ? HT_EPERM : HT_EIO, path, HT_NO_OFFSET, "",
		               "cannot be read: %s", err ? strerror(err) : "it is no regular file");
	}
	if (!st.st_size) {
		close(fd);
		return 0;
	}
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (data == MAP_FAILED)
		return ht_fail(diag, HT_EIO, path, HT_NO_OFFSET, "", "cannot be mapped: %s",
		               strerror(errno));
	f = ht_vec_push(&s->files);
	if (!f) {
		munmap(data, (size_t)st.st_size);
		return no_memory(c, diag);
	}
	*f = (struct file){ data, (size_t)st.st_size, cpu };
	return 0;
}

static int
file_order(const void *x, const void *y)
{
	const struct file *a = x, *b = y;

	return a->cpu < b->cpu ? -1 : a->cpu > b->cpu;
}

/* The files PREFIX.N of the folder. */
static int
find_files(struct ht_container *c, struct ht_diag *diag)
{
	size_t n = strlen(c->path), cut = n - strlen(SUFFIX);
	const char *slash = strrchr(c->path, '/'), *name = slash ? slash + 1 : c->path;
	char *folder, *full;
	struct dirent *entry;
	DIR *dir;
	int err = 0;

	if (n < strlen(SUFFIX) || strcmp(c->path + cut, SUFFIX) != 0)
		return ht_fail(diag, HT_EFORMAT, c->path, HT_NO_OFFSET, "",
		               "is the sideband of simple-pt, but is not called PREFIX" SUFFIX
		               ": where its trace, PREFIX.0 and so on, is cannot be told");
	folder =
	    slash ? strndup(c->path, slash > c->path ? (size_t)(slash - c->path) : 1) : strdup(".");
	dir = folder ? opendir(folder) : NULL;
	while (dir && !err && (entry = readdir(dir)) != NULL) {
		int cpu =
		    cpu_of(entry->d_name, name, n - (size_t)(name - c->path) - strlen(SUFFIX));

		if (cpu < 0)
			continue;
		if (asprintf(&full, "%s/%s", folder, entry->d_name) < 0) {
			err = no_memory(c, diag);
			break;
		}
		err = map_file(c, full, cpu, diag);
		free(full);
	}
	if (dir)
		closedir(dir);
	free(folder);
	return err;
}

static int
add_streams(struct ht_container *c, struct ht_diag *diag)
{
	struct simplept *s = c->state;

	if (!s->files.n)
		return ht_fail(diag, HT_EFORMAT, c->path, HT_NO_OFFSET, "",
		               "has no trace beside it: that of CPU 0 would be %.*s.0",
		               (int)(strlen(c->path) - strlen(SUFFIX)), c->path);
	qsort(s->files.at, s->files.n, sizeof(*s->files.at), file_order);
	c->streams = calloc(s->files.n, sizeof(*c->streams));
	if (!c->streams || ht_vec_reserve(&s->chunks, s->files.n) < 0)
		return no_memory(c, diag);
	for (size_t i = 0; i < s->files.n; i++) {
		const struct file *f = &s->files.at[i];

		s->chunks.at[i] = (struct ht_chunk){ .data = f->data, .size = f->size };
		c->streams[i] = (struct ht_stream){ .index = (uint32_t)i,
			                            .source = HT_SOURCE_INTEL_PT,
			                            .pid = -1,
			                            .tid = -1,
			                            .cpu = f->cpu,
			                            .chunks = &s->chunks.at[i],
			                            .n_chunks = 1,
			                            .bytes = f->size };
	}
	c->n_streams = (uint32_t)s->files.n;
	return 0;
}

/* -- reader ---------------------------------------------------------------------- */

/* The counter goes at the nominal ratio, of a bus of 100 MHz. */
static void
set_clock(struct ht_capture_info *info)
{
	const unsigned shift = 28;

	if (info->cpu.nom_freq)
		info->clock =
		    (struct ht_clock){ .valid = 1,
			               .shift = shift,
			               .mult = (uint32_t)((10ull << shift) / info->cpu.nom_freq) };
}

static int
simplept_open(struct ht_container *c, const struct ht_container_config *config,
              struct ht_diag *diag)
{
	struct simplept *s = calloc(1, sizeof(*s));
	int err;

	(void)config;
	c->state = s;
	if (!s || !(s->names = ht_intern_new()))
		return no_memory(c, diag);
	c->info.source = HT_SOURCE_INTEL_PT;
	c->info.arch = HT_ARCH_X86_64;
	c->info.per_cpu = 1;
	if (read_text(c, 1) < 0 || read_text(c, 0) < 0)
		return no_memory(c, diag);
	set_clock(&c->info);
	err = find_files(c, diag);
	return err ? err : add_streams(c, diag);
}

static void
simplept_close(struct ht_container *c)
{
	struct simplept *s = c->state;

	if (!s)
		return;
	for (size_t i = 0; i < s->files.n; i++)
		munmap(s->files.at[i].data, s->files.at[i].size);
	ht_vec_free(&s->files);
	ht_vec_free(&s->records);
	ht_vec_free(&s->contexts);
	ht_vec_free(&s->chunks);
	ht_vec_free(&s->code);
	ht_vec_free(&s->code_of);
	ht_intern_free(s->names);
	free(s);
	c->state = NULL;
}

static int
simplept_next(struct ht_container *c, struct ht_record *rec)
{
	struct simplept *s = c->state;

	if (s->told < s->damaged) {
		s->told++;
		c->diag = s->damage;
		return -HT_EFORMAT;
	}
	if (s->next == s->records.n)
		return 0;
	*rec = s->records.at[s->next++];
	return 1;
}

static void
simplept_rewind(struct ht_container *c)
{
	struct simplept *s = c->state;

	s->next = 0;
	s->told = 0;
}

static int
simplept_file(const struct ht_container *c, const char *path, const uint8_t *id, unsigned id_size,
              struct ht_carried *out)
{
	const struct simplept *s = c->state;

	(void)id;
	(void)id_size;
	for (size_t i = 0; i < s->code.n; i++)
		if (!strcmp(s->code_of.at[i], path)) {
			*out = s->code.at[i];
			return 1;
		}
	return 0;
}

const struct ht_reader ht_reader_simplept = {
	.name = "simple-pt",
	.match = simplept_match,
	.open = simplept_open,
	.close = simplept_close,
	.next = simplept_next,
	.rewind = simplept_rewind,
	.file = simplept_file,
};
