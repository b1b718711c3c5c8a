/* SPDX-License-Identifier: BSD-2-Clause */
/* The description of a bundle, from top to bottom. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "container/bundle.h"
#include "container/small.h"

#define PAGE          4096u
#define KERNEL_BASE   0xffffffff81000000ull /* where it lies when the bundle does not say */
#define ID_TEXT_MAX   64

static struct ht_bundle *
bundle_of(const struct ht_json_at *at)
{
	return at->c->state;
}

static int
no_memory(const struct ht_json_at *at)
{
	return ht_fail(at->diag, HT_ENOMEM, at->c->path, HT_NO_OFFSET, at->name, "out of memory");
}

/* -- files ----------------------------------------------------------------------- */

/* `name` as it is when absolute, else in the folder of the bundle; owned by the bundle. */
static int
resolve(const struct ht_json_at *at, const char *name, const char **out)
{
	struct ht_bundle *b = bundle_of(at);
	char **slot = ht_vec_push(&b->names);

	if (!slot)
		return no_memory(at);
	if (asprintf(slot, "%s%s%s", name[0] == '/' ? "" : b->folder, name[0] == '/' ? "" : "/", name) < 0) {
		b->names.n--;
		return no_memory(at);
	}
	*out = *slot;
	return 0;
}

static int
map_fd(const struct ht_json_at *at, const char *key, int fd, struct ht_bundle_file *out)
{
	struct ht_bundle *b = bundle_of(at);
	struct ht_bundle_file *slot;
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return ht_json_fail(at, key, "is no regular file");
	*out = (struct ht_bundle_file){ NULL, (size_t)st.st_size };
	if (!out->size)
		return 0;
	slot = ht_vec_push(&b->files);
	if (!slot)
		return no_memory(at);
	out->data = mmap(NULL, out->size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (out->data == MAP_FAILED) {
		b->files.n--;
		return ht_json_fail(at, key, "cannot be mapped: %s", strerror(errno));
	}
	*slot = *out;
	return 0;
}

/* The file that member `key` names, mapped. */
static int
open_file(const struct ht_json_at *at, const char *key, struct ht_bundle_file *out, const char **path)
{
	const char *name;
	int fd, err = ht_json_string(at, key, &name);

	if (!err)
		err = resolve(at, name, path);
	if (err)
		return err;
	fd = open(*path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return ht_json_fail(at, key, "%.120s cannot be opened: %s", *path, strerror(errno));
	err = map_fd(at, key, fd, out);
	close(fd);
	return err;
}

static int
add_stream(const struct ht_json_at *at, int32_t pid, int32_t tid, int32_t cpu)
{
	struct ht_bundle *b = bundle_of(at);
	struct ht_bundle_file f;
	struct ht_stream *s;
	struct ht_chunk *chunk;
	const char *path;
	int err = open_file(at, "iptTrace", &f, &path);

	if (err)
		return err;
	s = ht_vec_push(&b->streams);
	chunk = s ? ht_vec_push(&b->chunks) : NULL;
	if (!chunk)
		return no_memory(at);
	*chunk = (struct ht_chunk){ .data = f.data, .size = f.size };
	*s = (struct ht_stream){ .index = (uint32_t)b->streams.n - 1, .source = HT_SOURCE_INTEL_PT,
		                 .pid = pid, .tid = tid, .cpu = cpu, .n_chunks = f.size > 0,
		                 .bytes = f.size };
	return 0;
}

/* -- modules ----------------------------------------------------------------------- */

/* "6AA9A4E2-6F28-..." is the build-id. */
static int
read_id(const struct ht_json_at *at, uint8_t id[HT_BUILD_ID_MAX], uint8_t *size)
{
	const char *text;
	unsigned n = 0;
	int err;

	*size = 0;
	if (!ht_json_has(at, "uuid"))
		return 0;
	err = ht_json_string(at, "uuid", &text);
	if (err)
		return err;
	for (const char *p = text; *p; p++) {
		static const char digits[] = "0123456789abcdef";
		const char *d = strchr(digits, *p >= 'A' && *p <= 'F' ? *p | 32 : *p);

		if (*p == '-')
			continue;
		if (!d || n == 2 * HT_BUILD_ID_MAX)
			return ht_json_fail(at, "uuid", "is no build-id: up to %d hex digits, with dashes",
			                    2 * HT_BUILD_ID_MAX);
		id[n / 2] = (uint8_t)(n % 2 ? id[n / 2] | (d - digits) : (d - digits) << 4);
		n++;
	}
	if (n % 2)
		return ht_json_fail(at, "uuid", "has an odd number of digits");
	*size = (uint8_t)(n / 2);
	return 0;
}

struct module {
	const struct ht_json_at *at;
	struct ht_record rec; /* what all its mappings have in common */
	unsigned n;
};

static int
add_segment(void *arg, uint64_t addr, uint64_t len, uint64_t pgoff, uint64_t at)
{
	struct module *m = arg;
	struct ht_bundle *b = bundle_of(m->at);
	struct ht_record *r = ht_vec_push(&b->records);

	(void)at;
	if (!r)
		return no_memory(m->at);
	*r = m->rec;
	r->u.map.addr = addr;
	r->u.map.len = len;
	r->u.map.pgoff = pgoff;
	m->n++;
	return 0;
}

/*
 * The mappings of a module.  Where its file is not to be had, where its code
 * lies is not known either: a page at its address stands for it, so that it is
 * told as missing.
 */
static int
map_module(struct module *m, const char *file, uint64_t base)
{
	struct ht_diag why = { 0 };
	int err;

	if (base % PAGE)
		return ht_json_fail(m->at, "loadAddress", "is 0x%llx, which is no address of a page",
		                    (unsigned long long)base);
	err = ht_elf_segments(file, base, add_segment, m, &why);
	if (err == -HT_ENOMEM)
		return no_memory(m->at);
	if (err == -HT_EFORMAT)
		return ht_json_fail(m->at, "file", "%.100s: %.100s", file, why.text);
	return m->n ? 0 : add_segment(m, base, PAGE, 0, 0);
}

static int
read_module(const struct ht_json_at *at, int32_t pid)
{
	struct ht_bundle *b = bundle_of(at);
	struct module m = { .at = at, .rec = { .kind = HT_REC_MMAP, .pid = pid, .tid = pid, .cpu = -1 } };
	struct ht_bundle_module *slot;
	const char *name, *file = NULL;
	uint64_t base;
	int err = ht_json_string(at, "systemPath", &name);

	if (!err)
		err = ht_json_number(at, "loadAddress", UINT64_MAX, 1, &base);
	if (!err)
		err = read_id(at, m.rec.u.map.build_id, &m.rec.u.map.build_id_size);
	if (!err && ht_json_has(at, "file")) {
		err = ht_json_string(at, "file", &file);
		if (!err)
			err = resolve(at, file, &file);
	}
	if (err)
		return err;
	slot = ht_vec_push(&b->modules);
	if (!slot)
		return no_memory(at);
	*slot = (struct ht_bundle_module){ name, (char *)file };
	m.rec.u.map.flags = HT_MAP_EXEC;
	m.rec.u.map.prot = PROT_READ | PROT_EXEC;
	m.rec.u.map.path = name;
	return map_module(&m, file ? file : name, base);
}

static int
read_kernel(const struct ht_json_at *root)
{
	struct ht_bundle *b = bundle_of(root);
	struct ht_json_at at;
	struct module m = { .at = &at, .rec = { .kind = HT_REC_MMAP, .pid = -1, .tid = 0, .cpu = -1 } };
	struct ht_bundle_module *slot;
	uint64_t base = KERNEL_BASE;
	const char *file;
	int err = ht_json_object(root, "kernel", &at);

	if (!err)
		err = ht_json_string(&at, "file", &file);
	if (!err)
		err = resolve(&at, file, &file);
	if (!err && ht_json_has(&at, "loadAddress"))
		err = ht_json_number(&at, "loadAddress", UINT64_MAX, 1, &base);
	if (err)
		return err;
	slot = ht_vec_push(&b->modules);
	if (!slot)
		return no_memory(&at);
	*slot = (struct ht_bundle_module){ file, NULL };
	m.rec.u.map.flags = HT_MAP_EXEC | HT_MAP_KERNEL;
	m.rec.u.map.path = file;
	return map_module(&m, file, base);
}

/* -- processes ------------------------------------------------------------------------ */

static int
read_thread(const struct ht_json_at *at, int32_t pid, int per_cpu)
{
	struct ht_bundle *b = bundle_of(at);
	struct ht_record *r;
	uint64_t tid;
	int err = ht_json_number(at, "tid", INT32_MAX, 0, &tid);

	if (err)
		return err;
	if (per_cpu && ht_json_has(at, "iptTrace"))
		return ht_json_fail(at, "iptTrace", "a bundle has its trace by thread or by CPU, and this one "
		                    "has cpus as well");
	r = ht_vec_push(&b->records);
	if (!r)
		return no_memory(at);
	*r = (struct ht_record){ .kind = HT_REC_ITRACE_START, .pid = pid, .tid = (int32_t)tid, .cpu = -1 };
	return per_cpu ? 0 : add_stream(at, pid, (int32_t)tid, -1);
}

static int
read_process(const struct ht_json_at *at, int per_cpu)
{
	struct ht_json_at list, item;
	uint64_t pid;
	size_t n;
	int err = ht_json_number(at, "pid", INT32_MAX, 0, &pid);

	if (!err)
		err = ht_json_array(at, "threads", &list, &n);
	for (size_t i = 0; !err && i < n; i++) {
		err = ht_json_item(&list, i, &item);
		if (!err)
			err = read_thread(&item, (int32_t)pid, per_cpu);
	}
	if (!err)
		err = ht_json_array(at, "modules", &list, &n);
	for (size_t i = 0; !err && i < n; i++) {
		err = ht_json_item(&list, i, &item);
		if (!err)
			err = read_module(&item, (int32_t)pid);
	}
	return err;
}

/* -- CPUs ----------------------------------------------------------------------------- */

static int
read_cpu(const struct ht_json_at *at)
{
	struct ht_bundle *b = bundle_of(at);
	struct ht_bundle_switches sw = { .cpu = -1 }, *slot;
	uint64_t id;
	int err = ht_json_number(at, "id", INT32_MAX, 0, &id);

	if (!err)
		err = add_stream(at, -1, -1, (int32_t)id);
	if (!err)
		err = open_file(at, "contextSwitchTrace", &sw.file, &sw.path);
	if (err)
		return err;
	sw.cpu = (int32_t)id;
	snprintf(sw.field, sizeof(sw.field), "%.40s.contextSwitchTrace", at->name);
	slot = ht_vec_push(&b->switches);
	if (!slot)
		return no_memory(at);
	*slot = sw;
	return 0;
}

static int
read_clock(const struct ht_json_at *root)
{
	struct ht_json_at at;
	uint64_t mult, shift, zero;
	int err = ht_json_object(root, "tscPerfZeroConversion", &at);

	if (!err)
		err = ht_json_number(&at, "timeMult", UINT32_MAX, 0, &mult);
	if (!err)
		err = ht_json_number(&at, "timeShift", 63, 0, &shift);
	if (!err)
		err = ht_json_number(&at, "timeZero", UINT64_MAX, 1, &zero);
	if (err)
		return err;
	root->c->info.clock = (struct ht_clock){ mult != 0, (uint16_t)shift, (uint32_t)mult, zero };
	return 0;
}

static int
read_cpu_info(const struct ht_json_at *root)
{
	struct ht_cpu_info *cpu = &root->c->info.cpu;
	struct ht_json_at at;
	uint64_t family, model, stepping;
	const char *vendor;
	int err = ht_json_object(root, "cpuInfo", &at);

	if (!err)
		err = ht_json_string(&at, "vendor", &vendor);
	if (!err)
		err = ht_json_number(&at, "family", 0x10e, 0, &family);
	if (!err)
		err = ht_json_number(&at, "model", UINT8_MAX, 0, &model);
	if (!err)
		err = ht_json_number(&at, "stepping", 15, 0, &stepping);
	if (err)
		return err;
	cpu->vendor_intel = !strcmp(vendor, "GenuineIntel");
	cpu->family = (uint16_t)family;
	cpu->model = (uint8_t)model;
	cpu->stepping = (uint8_t)stepping;
	return 0;
}

/* -- all ------------------------------------------------------------------------------- */

static int
knows_thread(const struct ht_bundle *b, int32_t pid, int32_t tid)
{
	int process = 0;

	for (size_t i = 0; i < b->records.n; i++) {
		const struct ht_record *r = &b->records.at[i];

		if (r->kind != HT_REC_ITRACE_START || r->pid != pid)
			continue;
		process = 1;
		if (r->tid == tid)
			return 1;
	}
	return !process; /* other processes are none of the bundle's business */
}

/* Context switches must be readable, and name no thread of a process that its list lacks. */
static int
check_switches(struct ht_container *c, const struct ht_bundle_switches *s, struct ht_diag *diag)
{
	struct ht_bundle *b = c->state;
	int32_t pid = -1, tid = -1;
	struct ht_record rec;
	size_t pos = 0;
	int rc;

	while ((rc = ht_bundle_switch(c, s, &pos, &rec, diag)) > 0) {
		if (b->warning.error || (rec.pid == pid && rec.tid == tid))
			continue;
		pid = rec.pid;
		tid = rec.tid;
		if (!knows_thread(b, pid, tid))
			ht_fail(&b->warning, HT_EFORMAT, c->path, HT_NO_OFFSET, "processes.threads",
			        "thread %d of process %d ran on CPU %d, and is not in the list; it is "
			        "taken as one of the process", tid, pid, s->cpu);
	}
	return rc;
}

static int
read_lists(const struct ht_json_at *root)
{
	struct ht_json_at list, item;
	int per_cpu = ht_json_has(root, "cpus"), err = 0;
	size_t n;

	if (per_cpu && !ht_json_has(root, "tscPerfZeroConversion"))
		return ht_json_fail(root, "tscPerfZeroConversion", "is missing; traces by CPU need it");
	if (!per_cpu || ht_json_has(root, "processes")) {
		err = ht_json_array(root, "processes", &list, &n);
		for (size_t i = 0; !err && i < n; i++) {
			err = ht_json_item(&list, i, &item);
			if (!err)
				err = read_process(&item, per_cpu);
		}
	}
	if (err || !per_cpu)
		return err;
	root->c->info.per_cpu = 1;
	err = ht_json_array(root, "cpus", &list, &n);
	for (size_t i = 0; !err && i < n; i++) {
		err = ht_json_item(&list, i, &item);
		if (!err)
			err = read_cpu(&item);
	}
	return err;
}

int
ht_bundle_read(struct ht_container *c, struct ht_diag *diag)
{
	struct ht_bundle *b = c->state;
	struct ht_json_at root = { .c = c, .diag = diag, .value = b->root };
	const char *type;
	int err = ht_json_string(&root, "type", &type);

	if (!err && strcmp(type, "intel-pt"))
		return ht_json_fail(&root, "type", "is \"%.40s\"; bundles of \"intel-pt\" are read", type);
	if (!err)
		err = read_cpu_info(&root);
	if (!err && ht_json_has(&root, "tscPerfZeroConversion"))
		err = read_clock(&root);
	if (!err)
		err = read_lists(&root);
	if (!err && ht_json_has(&root, "kernel"))
		err = read_kernel(&root);
	for (size_t i = 0; !err && i < b->switches.n; i++)
		err = check_switches(c, &b->switches.at[i], diag);
	return err;
}
