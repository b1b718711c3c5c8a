/* SPDX-License-Identifier: BSD-2-Clause */
/* The ends of a perf.data file: header, attributes and AUXTRACE_INFO first, features last. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "container/perfdata_writer_impl.h"

#define PT_PMU_TYPE 8 /* any number that no other PMU of the file has */
#define NEAR_TAKEN  0x20c4
#define N_ATTRS 2
#define FILTER_MAX 4000 /* of its text; a longer one is cut */
#define LIMITS_MAX  4000

/* struct perf_file_header and struct perf_file_attr of the perf tool. */
struct file_section {
	uint64_t offset, size;
};

struct file_header {
	uint64_t magic, size, attr_size;
	struct file_section attrs, data, event_types;
	uint64_t features[HT_PERF_FEAT_COUNT / 64];
};

struct file_attr {
	struct perf_event_attr attr;
	struct file_section    ids;
};

_Static_assert(sizeof(struct file_header) == HT_PERF_HEADER_SIZE, "the file header has 104 bytes");
_Static_assert(sizeof(struct perf_event_attr) == PERF_ATTR_SIZE_VER7 ||
                   sizeof(struct perf_event_attr) > PERF_ATTR_SIZE_VER7,
               "attributes have at least sig_data");

#define IDS_OFFSET   sizeof(struct file_header)
#define ATTRS_OFFSET (IDS_OFFSET + N_ATTRS * sizeof(uint64_t))
#define ATTR_SIZE    PERF_ATTR_SIZE_VER7 /* as perf 6.1 knows it, whatever the header is here */
#define FILE_ATTR_SIZE (ATTR_SIZE + sizeof(struct file_section))
#define DATA_OFFSET  (ATTRS_OFFSET + N_ATTRS * FILE_ATTR_SIZE)

static const char *
event_name(const struct ht_perf_writer_config *config, unsigned i)
{
	return i                       ? "dummy:u"
	       : config->branch_period ? "br_inst_retired.near_taken:u"
	                               : "intel_pt//u";
}

/*
 * A counter of branches taken, as Intel processors number it, whose samples have the last ones
 * with them.  Of the kernel's own counter of branches a period of 1 would mean BTS.
 */
static void
fill_branches(const struct ht_perf_writer_config *config, struct perf_event_attr *attr)
{
	attr->type = PERF_TYPE_RAW;
	attr->config = NEAR_TAKEN;
	attr->sample_period = config->branch_period;
	attr->sample_type |= PERF_SAMPLE_PERIOD | PERF_SAMPLE_BRANCH_STACK;
	attr->branch_sample_type =
	    PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_TYPE_SAVE;
}

static void
fill_attrs(const struct ht_perf_writer_config *config, struct perf_event_attr attr[N_ATTRS])
{
	memset(attr, 0, N_ATTRS * sizeof(*attr));
	attr[0].type = PT_PMU_TYPE;
	attr[0].config = HT_PERF_PT_CFG_PT | HT_PERF_PT_CFG_TSC | HT_PERF_PT_CFG_BRANCH |
	                 (config->cyc ? HT_PERF_PT_CFG_CYC : 0) |
	                 (config->ret_compression == 0 ? HT_PERF_PT_CFG_NORETCOMP : 0);
	attr[0].enable_on_exec = 1;
	attr[1].type = PERF_TYPE_SOFTWARE;
	attr[1].config = PERF_COUNT_SW_DUMMY;
	attr[1].mmap = attr[1].mmap2 = attr[1].comm = attr[1].comm_exec = attr[1].task = 1;
	attr[1].build_id = 1;
	for (unsigned i = 0; i < N_ATTRS; i++) {
		attr[i].size = ATTR_SIZE;
		attr[i].sample_period = 1;
		attr[i].sample_type = SAMPLE_TYPE;
		attr[i].read_format = PERF_FORMAT_ID;
		attr[i].disabled = attr[i].inherit = 1;
		attr[i].exclude_kernel = attr[i].exclude_hv = 1;
		attr[i].sample_id_all = 1;
		attr[i].use_clockid = !!config->monotonic;
		attr[i].clockid = config->monotonic ? CLOCK_MONOTONIC : 0;
	}
	if (config->branch_period)
		fill_branches(config, &attr[0]);
}

static int
put_head(struct ht_perf_writer *w)
{
	const uint64_t ids[N_ATTRS] = { TRACE_ID, TRACK_ID };
	struct file_header h = { .magic = HT_PERF_MAGIC,
		                 .size = sizeof(h),
		                 .attr_size = FILE_ATTR_SIZE };
	struct perf_event_attr attr[N_ATTRS];

	h.attrs = (struct file_section){ ATTRS_OFFSET, N_ATTRS * FILE_ATTR_SIZE };
	h.data = (struct file_section){ DATA_OFFSET, 0 };
	fill_attrs(&w->config, attr);
	if (ht_perf_writer_put(w, &h, sizeof(h)) < 0 || ht_perf_writer_put(w, ids, sizeof(ids)) < 0)
		return -w->diag.error;
	for (unsigned i = 0; i < N_ATTRS; i++) {
		struct file_section s = { IDS_OFFSET + i * sizeof(uint64_t), sizeof(uint64_t) };

		if (ht_perf_writer_put(w, &attr[i], ATTR_SIZE) < 0 ||
		    ht_perf_writer_put(w, &s, sizeof(s)) < 0)
			return -w->diag.error;
	}
	return 0;
}

static int
put_info(struct ht_perf_writer *w)
{
	struct {
		struct perf_event_header h;
		uint32_t type, reserved;
		uint64_t word[HT_PERF_PT_WORDS];
	} info = {
		.h = { .type = HT_PERF_AUXTRACE_INFO, .size = sizeof(info) },
		.type = HT_PERF_AUXTRACE_TYPE_INTEL_PT,
	};
	struct {
		struct perf_event_header h;
		uint64_t shift, mult, zero, cycles, mask;
		uint8_t cap_zero, cap_short, reserved[6];
	} conv = { .h = { .type = HT_PERF_TIME_CONV, .size = sizeof(conv) } };
	const struct ht_clock *c = &w->clock;
	const char *filter = w->config.filter ? w->config.filter : "";
	size_t n = strnlen(filter, FILTER_MAX),
	       limits = n && w->config.limits_size <= LIMITS_MAX ? w->config.limits_size : 0,
	       text = n ? (n + 1 + limits + 7) & ~(size_t)7 : 0;
	char padded[FILTER_MAX + LIMITS_MAX + 8] = "";

	memcpy(padded, filter, n);
	if (limits)
		memcpy(padded + n + 1, w->config.limits, limits);
	info.h.size = (uint16_t)(sizeof(info) + text);
	info.word[HT_PERF_PT_PMU_TYPE] = PT_PMU_TYPE;
	info.word[HT_PERF_PT_TIME_SHIFT] = c->shift;
	info.word[HT_PERF_PT_TIME_MULT] = c->mult;
	info.word[HT_PERF_PT_TIME_ZERO] = c->zero;
	info.word[HT_PERF_PT_CAP_TIME_ZERO] = c->valid;
	info.word[HT_PERF_PT_TSC_BIT] = HT_PERF_PT_CFG_TSC;
	info.word[HT_PERF_PT_NORETCOMP_BIT] = HT_PERF_PT_CFG_NORETCOMP;
	info.word[HT_PERF_PT_MTC_BIT] = HT_PERF_PT_CFG_MTC;
	info.word[HT_PERF_PT_MTC_FREQ_BITS] = HT_PERF_PT_CFG_MTC_FREQ;
	info.word[HT_PERF_PT_TSC_CTC_NUM] = w->config.cpu.tsc_ctc_num;
	info.word[HT_PERF_PT_TSC_CTC_DEN] = w->config.cpu.tsc_ctc_den;
	info.word[HT_PERF_PT_CYC_BIT] = HT_PERF_PT_CFG_CYC;
	info.word[HT_PERF_PT_MAX_NONTURBO] = w->config.cpu.nom_freq;
	info.word[HT_PERF_PT_MARK] = HT_PERF_MARK;
	info.word[HT_PERF_PT_MARK_FLAGS] = (w->config.software ? HT_PERF_PT_MARK_SOFTWARE : 0) |
	                                   (n ? HT_PERF_PT_MARK_FILTER : 0) |
	                                   (limits ? HT_PERF_PT_MARK_LIMITS : 0);
	if (w->config.backend)
		memcpy(&info.word[HT_PERF_PT_MARK_NAME], w->config.backend,
		       strnlen(w->config.backend, 15));
	conv.shift = c->shift;
	conv.mult = c->mult;
	conv.zero = c->zero;
	conv.cap_zero = c->valid;
	if (w->config.branch_period)
		return 0; /* samples bear ns, and there is no trace */
	if (ht_perf_writer_put(w, &info, sizeof(info)) < 0 || ht_perf_writer_put(w, padded, text) < 0 ||
	    ht_perf_writer_put(w, &conv, sizeof(conv)) < 0)
		return -w->diag.error;
	return 0;
}

/*
 * The lock says that the file is being written.  Only its holder may empty the
 * file: of two that create the same one at the same moment, one gives way.
 */
static void
open_file(struct ht_perf_writer *w, const char *path)
{
	int err;

	w->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (w->fd < 0) {
		err = errno;
		ht_fail(&w->diag, err == EACCES || err == EPERM || err == EROFS ? HT_EPERM : HT_EIO,
		        w->path, HT_NO_OFFSET, "", "cannot create the capture: %s%s", strerror(err),
		        ht_limit_hint(err));
	} else if (lseek(w->fd, 0, SEEK_CUR) < 0) {
		ht_fail(&w->diag, HT_EIO, w->path, HT_NO_OFFSET, "",
		        "a capture cannot be written to a pipe or terminal; give a file");
	} else if (flock(w->fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
		ht_fail(&w->diag, HT_EIO, w->path, HT_NO_OFFSET, "",
		        "is being written by another recording; choose another name with -o");
	} else if (ftruncate(w->fd, 0) < 0 && errno != EINVAL) {
		ht_fail(&w->diag, HT_EIO, w->path, HT_NO_OFFSET, "", "cannot be emptied: %s",
		        strerror(errno));
	}
}

int
ht_perf_writer_open(const char *path, const struct ht_perf_writer_config *config,
                    struct ht_perf_writer **out, struct ht_diag *diag)
{
	struct ht_perf_writer *w = calloc(1, sizeof(*w));
	int err;

	if (!w || !(w->path = strdup(config->name ? config->name : path))) {
		free(w);
		return ht_fail(diag, HT_ENOMEM, path, HT_NO_OFFSET, "", "out of memory");
	}
	w->config = *config;
	w->clock = config->clock;
	w->data_offset = DATA_OFFSET;
	open_file(w, path);
	if (!w->diag.error && put_head(w) == 0)
		put_info(w);
	if (w->diag.error) {
		err = -w->diag.error;
		if (diag)
			*diag = w->diag;
		ht_perf_writer_abort(w);
		return err;
	}
	*out = w;
	return 0;
}

void
ht_perf_writer_abort(struct ht_perf_writer *w)
{
	if (!w)
		return;
	if (w->fd >= 0)
		close(w->fd);
	for (size_t i = 0; i < w->files.n; i++)
		free(w->files.at[i].path);
	ht_vec_free(&w->files);
	ht_vec_free(&w->hash);
	ht_vec_free(&w->index);
	ht_vec_free(&w->streams);
	free(w->path);
	free(w);
}

/* -- files seen --------------------------------------------------------------- */

static uint32_t
hash_path(const char *s)
{
	uint32_t h = 2166136261u;

	while (*s)
		h = (h ^ (uint8_t)*s++) * 16777619u;
	return h;
}

/* Slot of `path`, or the free one where it belongs.  The table is never full. */
static uint32_t *
hash_slot(struct ht_perf_writer *w, const char *path)
{
	uint32_t mask = (uint32_t)w->hash.n - 1, i = hash_path(path) & mask;

	while (w->hash.at[i] && strcmp(w->files.at[w->hash.at[i] - 1].path, path))
		i = (i + 1) & mask;
	return &w->hash.at[i];
}

static int
hash_grow(struct ht_perf_writer *w)
{
	size_t n = w->hash.n ? w->hash.n * 2 : 64;

	if (w->files.n * 2 < w->hash.n)
		return 0;
	if (ht_vec_reserve(&w->hash, n) < 0)
		return -HT_ENOMEM;
	w->hash.n = n;
	memset(w->hash.at, 0, n * sizeof(*w->hash.at));
	for (size_t i = 0; i < w->files.n; i++)
		*hash_slot(w, w->files.at[i].path) = (uint32_t)i + 1;
	return 0;
}

int
ht_perf_writer_see_file(struct ht_perf_writer *w, const char *path, const uint8_t *id,
                        unsigned size)
{
	struct ht_perf_writer_file *f;
	uint32_t *slot;
	char *copy;

	if (hash_grow(w) < 0)
		goto nomem;
	slot = hash_slot(w, path);
	if (*slot) {
		f = &w->files.at[*slot - 1];
	} else {
		copy = strdup(path);
		f = copy ? ht_vec_push(&w->files) : NULL;
		if (!f) {
			free(copy);
			goto nomem;
		}
		f->path = copy;
		*slot = (uint32_t)w->files.n;
	}
	f->build_id_size = (uint8_t)(size > HT_BUILD_ID_MAX ? HT_BUILD_ID_MAX : size);
	memset(f->build_id, 0, sizeof(f->build_id));
	memcpy(f->build_id, id, f->build_id_size);
	return 0;
nomem:
	return ht_fail(&w->diag, HT_ENOMEM, w->path, ht_perf_writer_size(w), "",
	               "out of memory for the list of files");
}

/* -- features ------------------------------------------------------------------ */

struct bytes {
	uint8_t *at;
	size_t   n, cap;
};

static int
add(struct bytes *b, const void *data, size_t size)
{
	if (ht_vec_reserve(b, b->n + size) < 0)
		return -HT_ENOMEM;
	memcpy(b->at + b->n, data, size);
	b->n += size;
	return 0;
}

static int
add32(struct bytes *b, uint32_t v)
{
	return add(b, &v, sizeof(v));
}

/* u32 length, the string, zeros up to a multiple of 64. */
static int
add_string(struct bytes *b, const char *s)
{
	static const uint8_t zeros[HT_PERF_STRING_ALIGN];
	size_t n = strlen(s) + 1,
	       all = (n + HT_PERF_STRING_ALIGN - 1) & ~(size_t)(HT_PERF_STRING_ALIGN - 1);

	if (add32(b, (uint32_t)all) < 0 || add(b, s, n) < 0)
		return -HT_ENOMEM;
	return add(b, zeros, all - n);
}

static int
feat_build_id(const struct ht_perf_writer *w, struct bytes *b)
{
	for (size_t i = 0; i < w->files.n; i++) {
		const struct ht_perf_writer_file *f = &w->files.at[i];
		size_t n = strlen(f->path) + 1, pad = (n + 7) & ~(size_t)7;
		struct {
			struct perf_event_header h;
			int32_t pid;
			uint8_t id[20], size, reserved[3];
		} e = {
			.h = { .type = HT_PERF_HEADER_BUILD_ID,
			       .misc = PERF_RECORD_MISC_USER | HT_PERF_MISC_BUILD_ID_SIZE },
			.pid = -1,
			.size = f->build_id_size,
		};
		static const uint8_t zeros[8];

		_Static_assert(sizeof(e) == 36, "the fixed part of a build-id entry");
		if (n > 4096)
			continue;
		e.h.size = (uint16_t)(sizeof(e) + pad);
		memcpy(e.id, f->build_id, sizeof(e.id));
		if (add(b, &e, sizeof(e)) < 0 || add(b, f->path, n) < 0 ||
		    add(b, zeros, pad - n) < 0)
			return -HT_ENOMEM;
	}
	return 0;
}

static int
feat_uname(struct bytes *b, size_t member)
{
	struct utsname u;

	return uname(&u) < 0 ? 0 : add_string(b, (const char *)&u + member);
}

static int
feat_hostname(const struct ht_perf_writer *w, struct bytes *b)
{
	(void)w;
	return feat_uname(b, offsetof(struct utsname, nodename));
}

static int
feat_osrelease(const struct ht_perf_writer *w, struct bytes *b)
{
	(void)w;
	return feat_uname(b, offsetof(struct utsname, release));
}

static int
feat_version(const struct ht_perf_writer *w, struct bytes *b)
{
	(void)w;
	return add_string(b, "hwtrace " HT_VERSION);
}

static int
feat_arch(const struct ht_perf_writer *w, struct bytes *b)
{
	(void)w;
	return feat_uname(b, offsetof(struct utsname, machine));
}

static int
feat_nrcpus(const struct ht_perf_writer *w, struct bytes *b)
{
	(void)w;
	return add32(b, (uint32_t)sysconf(_SC_NPROCESSORS_CONF)) < 0 ||
	       add32(b, (uint32_t)sysconf(_SC_NPROCESSORS_ONLN)) < 0 ? -HT_ENOMEM : 0;
}

/* The value of the first line "NAME : value" of /proc/cpuinfo; "" when there is none. */
static void
cpuinfo(const char *name, char *value, size_t size)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[512];

	value[0] = 0;
	while (f && fgets(line, sizeof(line), f)) {
		char *colon = strchr(line, ':');
		size_t n = strlen(name);

		if (!colon || strncmp(line, name, n) ||
		    (line[n] != '\t' && line[n] != ' ' && line[n] != ':'))
			continue;
		colon += 1 + (colon[1] == ' ');
		colon[strcspn(colon, "\n")] = 0;
		snprintf(value, size, "%s", colon);
		break;
	}
	if (f)
		fclose(f);
}

static int
feat_cpudesc(const struct ht_perf_writer *w, struct bytes *b)
{
	char model[256], text[400];

	cpuinfo("model name", model, sizeof(model));
	if (w->config.software)
		snprintf(text, sizeof(text),
		         "software trace unit (%s): branches exact, times emulated; on %s",
		         w->config.backend ? w->config.backend : "?", model);
	else
		snprintf(text, sizeof(text), "%s", model);
	return add_string(b, text);
}

static int
feat_cpuid(const struct ht_perf_writer *w, struct bytes *b)
{
	const struct ht_cpu_info *c = &w->config.cpu;
	char vendor[64], family[32], model[32], step[32], text[200];

	if (c->family) {
		snprintf(text, sizeof(text), "%s,%u,%u,%u",
		         c->vendor_intel ? "GenuineIntel" : "unknown", c->family, c->model,
		         c->stepping);
	} else {
		cpuinfo("vendor_id", vendor, sizeof(vendor));
		cpuinfo("cpu family", family, sizeof(family));
		cpuinfo("model", model, sizeof(model));
		cpuinfo("stepping", step, sizeof(step));
		snprintf(text, sizeof(text), "%s,%s,%s,%s", vendor, family, model, step);
	}
	return add_string(b, text);
}

static int
feat_cmdline(const struct ht_perf_writer *w, struct bytes *b)
{
	uint32_t n = 0;

	while (w->config.argv && w->config.argv[n])
		n++;
	if (!n)
		return 0;
	if (add32(b, n) < 0)
		return -HT_ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		if (add_string(b, w->config.argv[i]) < 0)
			return -HT_ENOMEM;
	return 0;
}

static int
feat_event_desc(const struct ht_perf_writer *w, struct bytes *b)
{
	const uint64_t ids[N_ATTRS] = { TRACE_ID, TRACK_ID };
	struct perf_event_attr attr[N_ATTRS];

	fill_attrs(&w->config, attr);
	if (add32(b, N_ATTRS) < 0 || add32(b, ATTR_SIZE) < 0)
		return -HT_ENOMEM;
	for (unsigned i = 0; i < N_ATTRS; i++)
		if (add(b, &attr[i], ATTR_SIZE) < 0 || add32(b, 1) < 0 ||
		    add_string(b, event_name(&w->config, i)) < 0 ||
		    add(b, &ids[i], sizeof(ids[i])) < 0)
			return -HT_ENOMEM;
	return 0;
}

static int
feat_pmu_mappings(const struct ht_perf_writer *w, struct bytes *b)
{
	(void)w;
	if (add32(b, 2) < 0 || add32(b, PERF_TYPE_SOFTWARE) < 0 || add_string(b, "software") < 0 ||
	    add32(b, PT_PMU_TYPE) < 0)
		return -HT_ENOMEM;
	return add_string(b, "intel_pt");
}

static int
feat_auxtrace(const struct ht_perf_writer *w, struct bytes *b)
{
	uint64_t n = w->index.n;

	if (w->config.branch_period)
		return 0;
	if (add(b, &n, sizeof(n)) < 0)
		return -HT_ENOMEM;
	return n ? add(b, w->index.at, w->index.n * sizeof(*w->index.at)) : 0;
}

static int
feat_sample_time(const struct ht_perf_writer *w, struct bytes *b)
{
	const uint64_t range[2] = { w->first_time, w->last_time };

	return w->last_time ? add(b, range, sizeof(range)) : 0;
}

/* Ours: u32 count, then strings "key=value". */
static int
feat_hwtrace(const struct ht_perf_writer *w, struct bytes *b)
{
	char backend[128];

	snprintf(backend, sizeof(backend), "backend=%s",
	         w->config.backend ? w->config.backend : "");
	if (add32(b, 2) < 0 || add_string(b, backend) < 0)
		return -HT_ENOMEM;
	return add_string(b, w->config.software ? "software=1" : "software=0");
}

/* By rising bit, as the file wants them.  A feature that adds nothing is left out. */
static const struct {
	unsigned bit;
	int (*build)(const struct ht_perf_writer *w, struct bytes *b);
} features[] = {
	{ HT_PERF_FEAT_BUILD_ID, feat_build_id },
	{ HT_PERF_FEAT_HOSTNAME, feat_hostname },
	{ HT_PERF_FEAT_OSRELEASE, feat_osrelease },
	{ HT_PERF_FEAT_VERSION, feat_version },
	{ HT_PERF_FEAT_ARCH, feat_arch },
	{ HT_PERF_FEAT_NRCPUS, feat_nrcpus },
	{ HT_PERF_FEAT_CPUDESC, feat_cpudesc },
	{ HT_PERF_FEAT_CPUID, feat_cpuid },
	{ HT_PERF_FEAT_CMDLINE, feat_cmdline },
	{ HT_PERF_FEAT_EVENT_DESC, feat_event_desc },
	{ HT_PERF_FEAT_PMU_MAPPINGS, feat_pmu_mappings },
	{ HT_PERF_FEAT_AUXTRACE, feat_auxtrace },
	{ HT_PERF_FEAT_SAMPLE_TIME, feat_sample_time },
	{ HT_PERF_FEAT_HWTRACE, feat_hwtrace },
};

#define N_FEATURES (sizeof(features) / sizeof(features[0]))

/* The feature sections and, on success, their bits in `h`. */
static int
put_features(struct ht_perf_writer *w, struct file_header *h)
{
	struct file_section section[N_FEATURES];
	struct bytes b = { 0 };
	unsigned n = 0;
	int err = 0;

	for (unsigned i = 0; i < N_FEATURES && !err; i++) {
		size_t start = b.n;

		err = features[i].build(w, &b);
		if (b.n == start)
			continue;
		section[n++] = (struct file_section){ start, b.n - start };
		h->features[features[i].bit / 64] |= 1ull << (features[i].bit % 64);
	}
	if (err) {
		ht_fail(&w->diag, HT_ENOMEM, w->path, w->pos, "features", "out of memory");
	} else {
		for (unsigned i = 0; i < n; i++)
			section[i].offset += w->pos + n * sizeof(*section);
		if (!ht_perf_writer_put(w, section, n * sizeof(*section)))
			ht_perf_writer_put(w, b.at, b.n);
	}
	ht_vec_free(&b);
	return -w->diag.error;
}

/* The header goes last: until then the file says of itself that it is not complete. */
static int
put_final_head(struct ht_perf_writer *w, struct file_header *h)
{
	ssize_t n;

	do
		n = pwrite(w->fd, h, sizeof(*h), 0);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(*h))
		return ht_fail(&w->diag, HT_EIO, w->path, 0, "header",
		               "cannot complete the header: %s",
		               n < 0 ? strerror(errno) : "short write");
	n = close(w->fd);
	w->fd = -1;
	if (n < 0)
		return ht_fail(&w->diag, HT_EIO, w->path, HT_NO_OFFSET, "",
		               "closing the capture: %s", strerror(errno));
	return 0;
}

int
ht_perf_writer_finish(struct ht_perf_writer *w, struct ht_diag *diag)
{
	struct file_header h = { .magic = HT_PERF_MAGIC,
		                 .size = sizeof(h),
		                 .attr_size = FILE_ATTR_SIZE };
	int err;

	h.attrs = (struct file_section){ ATTRS_OFFSET, N_ATTRS * FILE_ATTR_SIZE };
	if (!w->diag.error && !ht_perf_writer_flush(w)) {
		h.data = (struct file_section){ DATA_OFFSET, w->pos - DATA_OFFSET };
		if (!put_features(w, &h))
			put_final_head(w, &h);
	}
	err = -w->diag.error;
	if (err && diag)
		*diag = w->diag;
	ht_perf_writer_abort(w);
	return err;
}
