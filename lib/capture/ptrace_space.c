/* SPDX-License-Identifier: BSD-2-Clause */
/* The address space of a traced process: executable mappings, and the bytes that are executed. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/buildid.h"
#include "base/vec.h"
#include "capture/ptrace.h"
#include "core/procmap.h"

static void
forget_pages(struct ht_pproc *p)
{
	for (unsigned i = 0; i < HT_PAGE_BUCKETS; i++)
		while (p->pages[i]) {
			struct ht_ppage *page = p->pages[i];

			p->pages[i] = page->next;
			free(page);
		}
}

static void
forget_maps(struct ht_pproc *p)
{
	for (size_t i = 0; i < p->maps.n; i++)
		free(p->maps.at[i].path);
	p->maps.n = 0;
}

static void
open_memory(struct ht_pproc *p)
{
	char name[48];

	if (p->mem >= 0)
		close(p->mem);
	snprintf(name, sizeof(name), "/proc/%d/mem", (int)p->pid);
	p->mem = open(name, O_RDWR | O_CLOEXEC);
}

struct ht_pproc *
ht_pproc_new(struct ht_ptrace *r, pid_t pid, const struct ht_pproc *like)
{
	struct ht_pproc *p = calloc(1, sizeof(*p));

	if (!p || !(p->insns = calloc(HT_INSN_ENTRIES, sizeof(*p->insns)))) {
		free(p);
		return NULL;
	}
	p->pid = pid;
	p->mem = -1;
	open_memory(p);
	for (size_t i = 0; like && i < like->maps.n; i++) {
		struct ht_pmap *m = ht_vec_push(&p->maps);

		if (!m)
			break;
		*m = like->maps.at[i];
		m->path = strdup(m->path);
		if (!m->path) {
			p->maps.n--;
			break;
		}
	}
	if (like)
		p->trap_ignored = like->trap_ignored;
	ht_pfilter_apply(r, p);
	return p;
}

void
ht_pproc_free(struct ht_pproc *p)
{
	if (!p)
		return;
	forget_pages(p);
	forget_maps(p);
	ht_vec_free(&p->maps);
	ht_vec_free(&p->wanted);
	free(p->insns);
	if (p->mem >= 0)
		close(p->mem);
	free(p);
}

void
ht_pproc_exec(struct ht_ptrace *r, struct ht_pproc *p)
{
	forget_pages(p);
	forget_maps(p);
	memset(p->insns, 0, HT_INSN_ENTRIES * sizeof(*p->insns));
	p->generation++;
	open_memory(p);
	ht_pfilter_apply(r, p);
}

size_t
ht_pproc_read(const struct ht_pproc *p, uint64_t addr, void *buf, size_t size)
{
	ssize_t n = addr > INT64_MAX ? -1 : pread(p->mem, buf, size, (off_t)addr);

	return n < 0 ? 0 : (size_t)n;
}

int
ht_pproc_write(const struct ht_pproc *p, uint64_t addr, const void *buf, size_t size)
{
	return pwrite(p->mem, buf, size, (off_t)addr) == (ssize_t)size ? 0 : -HT_EIO;
}

const struct ht_pmap *
ht_pproc_map(const struct ht_pproc *p, uint64_t addr)
{
	for (size_t i = 0; i < p->maps.n; i++)
		if (addr >= p->maps.at[i].start && addr < p->maps.at[i].end)
			return &p->maps.at[i];
	return NULL;
}

/* -- mappings ------------------------------------------------------------- */

/* Takes what a line of /proc/PID/maps says; 1 when it is an executable mapping. */
static int
take_map(char *line, pid_t tid, struct ht_pmap *m, char name[HT_PROCMAP_NAME_MAX])
{
	struct ht_procmap map;

	if (ht_procmap_parse(line, &map) < 0 || map.prot[2] != 'x' || map.start > INT64_MAX)
		return 0;
	ht_procmap_name(tid, &map, name);
	*m = (struct ht_pmap){
		.start = map.start,
		.end = map.end,
		.pgoff = map.pgoff,
		.ino = map.ino,
		.maj = map.maj,
		.min = map.min,
		.shared = map.prot[3] == 's',
		.named = map.named,
		.prot = (map.prot[0] == 'r' ? PROT_READ : 0) |
		        (map.prot[1] == 'w' ? PROT_WRITE : 0) | PROT_EXEC,
		.path = (char *)(uintptr_t)(*map.path ? map.path : "//anon"),
	};
	return 1;
}

static int
same_map(const struct ht_pmap *a, const struct ht_pmap *b)
{
	return a->start == b->start && a->end == b->end && a->pgoff == b->pgoff && a->ino == b->ino &&
	       a->maj == b->maj && a->min == b->min && a->prot == b->prot && a->shared == b->shared &&
	       !strcmp(a->path, b->path);
}

static void
record_unmap(struct ht_ptrace *r, struct ht_pproc *p, pid_t tid, const struct ht_pmap *m)
{
	struct ht_record rec = { .kind = HT_REC_MUNMAP, .pid = p->pid, .tid = tid, .cpu = -1 };

	rec.time = ht_ptrace_stamp(r);
	rec.u.unmap.addr = m->start;
	rec.u.unmap.len = m->end - m->start;
	ht_ptrace_record(r, &rec);
	for (unsigned i = 0; i < HT_PAGE_BUCKETS; i++)
		for (struct ht_ppage **at = &p->pages[i]; *at;) {
			struct ht_ppage *page = *at;

			if (page->addr >= m->start && page->addr < m->end) {
				*at = page->next;
				free(page);
			} else {
				at = &page->next;
			}
		}
}

static void
record_map(struct ht_ptrace *r, const struct ht_pproc *p, pid_t tid, const struct ht_pmap *m, int initial)
{
	struct ht_record rec = { .kind = HT_REC_MMAP, .pid = p->pid, .tid = tid, .cpu = -1 };

	rec.time = initial ? 0 : ht_ptrace_stamp(r);
	rec.u.map.addr = m->start;
	rec.u.map.len = m->end - m->start;
	rec.u.map.pgoff = m->pgoff;
	rec.u.map.flags = HT_MAP_EXEC | (m->prot & PROT_WRITE ? HT_MAP_WRITE : 0) |
	                  (m->shared ? HT_MAP_SHARED : 0);
	rec.u.map.prot = m->prot;
	rec.u.map.maj = m->maj;
	rec.u.map.min = m->min;
	rec.u.map.ino = m->ino;
	rec.u.map.path = m->path;
	if (m->named)
		rec.u.map.build_id_size = (uint8_t)ht_build_id_path(m->path, rec.u.map.build_id);
	ht_ptrace_record(r, &rec);
}

/* Takes `found`, sorted by address as /proc gives it, in place of the old list. */
static void
replace_maps(struct ht_ptrace *r, struct ht_pproc *p, pid_t tid, struct ht_pmap *found, size_t n, int initial)
{
	unsigned changes = 0;

	for (size_t i = 0, k = 0; i < p->maps.n; i++) {
		while (k < n && found[k].start < p->maps.at[i].start)
			k++;
		if (k < n && same_map(&found[k], &p->maps.at[i])) {
			found[k].order = p->maps.at[i].order;
			continue;
		}
		record_unmap(r, p, tid, &p->maps.at[i]);
		changes++;
	}
	for (size_t k = 0; k < n; k++)
		if (!found[k].order) {
			found[k].order = ++r->order;
			record_map(r, p, tid, &found[k], initial);
			changes++;
		}
	if (changes)
		p->generation++;
}

void
ht_pproc_scan(struct ht_ptrace *r, struct ht_pproc *p, pid_t tid, int initial)
{
	__typeof__(p->maps) found = { 0 }, old;
	char name[48], file[HT_PROCMAP_NAME_MAX], *line = NULL;
	unsigned generation = p->generation;
	size_t cap = 0;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)tid);
	f = fopen(name, "re");
	if (!f)
		return;
	while (getline(&line, &cap, f) > 0) {
		struct ht_pmap m, *slot;

		if (!take_map(line, tid, &m, file))
			continue;
		m.path = strdup(m.path);
		slot = m.path ? ht_vec_push(&found) : NULL;
		if (slot)
			*slot = m;
	}
	free(line);
	fclose(f);
	replace_maps(r, p, tid, found.at, found.n, initial);
	old = p->maps;
	p->maps = found;
	for (size_t i = 0; i < old.n; i++)
		free(old.at[i].path);
	ht_vec_free(&old);
	if (generation != p->generation)
		ht_pfilter_apply(r, p);
}

/* -- code ----------------------------------------------------------------- */

static struct ht_ppage **
bucket_of(struct ht_pproc *p, uint64_t page)
{
	return &p->pages[page / HT_PAGE % HT_PAGE_BUCKETS];
}

static void
record_code(struct ht_ptrace *r, struct ht_pproc *p, pid_t tid, uint64_t addr, const uint8_t *bytes, size_t len)
{
	struct ht_record rec = { .kind = HT_REC_CODE, .pid = p->pid, .tid = tid, .cpu = -1 };

	rec.time = ht_ptrace_stamp(r);
	rec.u.code.addr = addr;
	rec.u.code.len = (uint32_t)len;
	rec.u.code.bytes = bytes;
	ht_ptrace_record(r, &rec);
	p->generation++;
}

/* Are these the bytes that the mapped file holds for the page? */
static int
equals_file(const struct ht_pproc *p, uint64_t page, const uint8_t *bytes)
{
	const struct ht_pmap *m = ht_pproc_map(p, page);
	uint8_t file[HT_PAGE] = { 0 };
	ssize_t n;
	int fd;

	if (!m || !m->named)
		return 0;
	fd = open(m->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = pread(fd, file, sizeof(file), (off_t)(m->pgoff + (page - m->start)));
	close(fd);
	return n > 0 && !memcmp(file, bytes, sizeof(file));
}

/* A page is executed for the first time: decoders take the file's bytes unless told otherwise. */
static struct ht_ppage *
first_seen(struct ht_ptrace *r, struct ht_pproc *p, pid_t tid, uint64_t addr)
{
	struct ht_ppage *page = malloc(sizeof(*page));

	if (!page)
		return NULL;
	page->addr = addr;
	if (ht_pproc_read(p, addr, page->bytes, HT_PAGE) != HT_PAGE) {
		free(page);
		return NULL;
	}
	page->next = *bucket_of(p, addr);
	*bucket_of(p, addr) = page;
	if (!equals_file(p, addr, page->bytes))
		record_code(r, p, tid, addr, page->bytes, HT_PAGE);
	return page;
}

/* Bytes of a known page changed: record the part that differs. */
static void
changed(struct ht_ptrace *r, struct ht_pproc *p, pid_t tid, struct ht_ppage *page)
{
	uint8_t now[HT_PAGE];
	size_t first = 0, last = HT_PAGE - 1;

	if (ht_pproc_read(p, page->addr, now, HT_PAGE) != HT_PAGE)
		return;
	while (first < HT_PAGE && now[first] == page->bytes[first])
		first++;
	if (first == HT_PAGE)
		return;
	while (now[last] == page->bytes[last])
		last--;
	memcpy(page->bytes, now, HT_PAGE);
	record_code(r, p, tid, page->addr + first, now + first, last - first + 1);
}

/* Make sure that decoders know the `n` bytes at `addr`, which lie in one page. */
static void
tell_bytes(struct ht_ptrace *r, struct ht_pproc *p, pid_t tid, uint64_t addr, const uint8_t *bytes, size_t n)
{
	uint64_t at = addr & ~(uint64_t)(HT_PAGE - 1);
	struct ht_ppage *page = *bucket_of(p, at);

	while (page && page->addr != at)
		page = page->next;
	if (!page)
		first_seen(r, p, tid, at);
	else if (memcmp(page->bytes + (addr - at), bytes, n))
		changed(r, p, tid, page);
}

/* What matters to stepping beyond the flow of control: by the opcode behind the prefixes. */
static unsigned
kind_of(const uint8_t *bytes, size_t n, unsigned mode)
{
	size_t i = 0;

	while (i < n && (strchr("\x26\x2e\x36\x3e\x64\x65\x66\x67\xf0\xf2\xf3", bytes[i]) && bytes[i]))
		i++;
	if (mode == 64 && i < n && (bytes[i] & 0xf0) == 0x40)
		i++;
	if (i >= n)
		return 0;
	switch (bytes[i]) {
	case 0x0f:
		return i + 1 < n && (bytes[i + 1] == 0x05 || bytes[i + 1] == 0x34) ? HT_PI_SYSCALL : 0;
	case 0xcd:
		if (i + 1 >= n)
			return 0;
		return bytes[i + 1] == 0x80 ? HT_PI_SYSCALL : bytes[i + 1] == 3 ? HT_PI_INT3 : 0;
	case 0xcc:
		return HT_PI_INT3;
	case 0x9c:
		return HT_PI_PUSHF;
	case 0x9d:
	case 0xcf:
		return HT_PI_POPF;
	case 0x17:
		return mode == 32 ? HT_PI_SS : 0;
	case 0x8e:
		return i + 1 < n && (bytes[i + 1] >> 3 & 7) == 2 ? HT_PI_SS : 0;
	case 0xf1:
		return HT_PI_INT1;
	default:
		return 0;
	}
}

void
ht_pproc_fetch(struct ht_ptrace *r, struct ht_pthread *t)
{
	struct ht_pproc *p = t->proc;
	struct ht_pinsn *e = &p->insns[(t->ip ^ t->ip >> 12) % HT_INSN_ENTRIES];
	uint8_t now[HT_X86_MAX];
	size_t n = ht_pproc_read(p, t->ip, now, sizeof(now)), first;

	t->insn.x86.size = 0;
	t->insn.kind = 0;
	if (!n)
		return;
	if (e->ip != t->ip || e->mode != t->mode || e->x86.size > n || memcmp(e->bytes, now, e->x86.size)) {
		e->mode = 0;
		if (ht_x86_decode(now, n, t->ip, t->mode, &e->x86) <= 0)
			return;
		e->ip = t->ip;
		e->mode = (uint8_t)t->mode;
		e->kind = (uint8_t)kind_of(now, n, t->mode);
		memcpy(e->bytes, now, sizeof(now));
	}
	if (!ht_pproc_map(p, t->ip)) /* made executable in a way that we do not follow */
		ht_pproc_scan(r, p, t->tid, 0);
	t->insn = *e;
	n = e->x86.size;
	first = HT_PAGE - t->ip % HT_PAGE;
	if (first > n)
		first = n;
	tell_bytes(r, p, t->tid, t->ip, now, first);
	if (first < n)
		tell_bytes(r, p, t->tid, t->ip + first, now + first, n - first);
}
