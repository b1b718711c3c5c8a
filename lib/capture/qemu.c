/* SPDX-License-Identifier: BSD-2-Clause */
/* Software trace unit: QEMU user mode with our plugin. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/backend.h"
#include "capture/child.h"
#include "capture/drain.h"
#include "capture/filter.h"
#include "capture/gate.h"
#include "capture/proc.h"
#include "capture/tsc.h"
#include "container/perfdata_writer.h"

#define EMULATOR "qemu-x86_64"
#define PLUGIN   "hwtrace-qemu.so"

#define WAIT_MS   20  /* for the doorbell; also how late the program's end is seen at worst */
#define ALL_NS    100000000ull /* rings with little in them are drained this often */
#define REAP_NS   200000000ull /* the dead are looked for this often */
#define END_NS    500000000ull /* what processes that live on get to end their streams */

static int
find_emulator(char path[PATH_MAX])
{
	struct ht_program *p = malloc(sizeof(*p));
	int rc = p ? ht_program_find(EMULATOR, getenv("PATH"), p) : -1;

	if (!rc)
		snprintf(path, PATH_MAX, "%s", p->path);
	free(p);
	return rc;
}

/* Beside the tool (../lib/hwtrace), where it was installed, or where the user says. */
static int
find_plugin(char path[PATH_MAX])
{
	const char *env = getenv("HWTRACE_LIBDIR");
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (env) {
		snprintf(path, PATH_MAX, "%s/" PLUGIN, env);
		return access(path, R_OK);
	}
	if (n > 0) {
		char *slash;

		self[n] = 0;
		slash = strrchr(self, '/');
		if (slash)
			*slash = 0;
		if (snprintf(path, PATH_MAX, "%s/../lib/hwtrace/" PLUGIN, self) < PATH_MAX &&
		    access(path, R_OK) == 0)
			return 0;
	}
	snprintf(path, PATH_MAX, "%s/" PLUGIN, HT_LIBDIR);
	return access(path, R_OK);
}

static int
qemu_probe(struct ht_backend_info *info)
{
	char path[PATH_MAX];
	int emulator = find_emulator(path) == 0, plugin;

	ht_gate_add(info, EMULATOR, emulator, "install the package qemu-user (apt install qemu-user)",
	            emulator ? "%.150s" : "not found in PATH", path);
	plugin = find_plugin(path) == 0;
	ht_gate_add(info, PLUGIN, plugin, "run make, or set HWTRACE_LIBDIR to the folder that holds it",
	            plugin ? "%.150s" : "not found (looked for %.120s)", path);
	return emulator && plugin;
}

static int
qemu_accepts(const struct ht_program *program, struct ht_diag *diag)
{
	if (program->kind == HT_PROGRAM_I386)
		return ht_fail(diag, HT_EUNSUPPORTED, program->path, HT_NO_OFFSET, NULL,
		               "is a 32-bit x86 program, which the software trace unit does not run; "
		               "use --backend ptrace");
	if (program->kind == HT_PROGRAM_FOREIGN)
		return ht_fail(diag, HT_EUNSUPPORTED, program->path, HT_NO_OFFSET, NULL,
		               "is a program for another processor, not for x86-64");
	if (program->set_id)
		return ht_fail(diag, HT_EUNSUPPORTED, program->path, HT_NO_OFFSET, NULL,
		               "is set-user-id or set-group-id: traced, it would run without those rights; "
		               "record as its owner, or a copy without the bit");
	return 0;
}

/* -- recording ------------------------------------------------------------ */

struct recording {
	const struct ht_capture_config *config;
	struct ht_shm          shm;
	struct ht_perf_writer *writer;
	struct ht_drain       *drain;
	struct ht_child        child;
	uint64_t               next_all, next_reap; /* ns */
	int                    settled; /* 1: the file has its name; -HT_E...: it could not be had */
	int                    told; /* the writer's error was told */
	uint64_t               met;  /* ht_filter_meet() */
	char                   filter[4096]; /* ht_filter_text() */
	size_t limits_size;                  /* of the filter in the shared memory */
};

static uint64_t
now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void
note(void *arg, const char *text)
{
	const struct recording *r = arg;

	if (r->config->note)
		r->config->note(r->config->note_arg, text);
}

/* A file that cannot be written is told at once; the program runs on. */
static int
told(struct recording *r, int rc)
{
	char line[1024];

	if (rc < 0 && !r->told) {
		r->told = 1;
		note(r, ht_diag_line(ht_perf_writer_diag(r->writer), line, sizeof(line)));
		note(r, "recording has ended; the program runs on");
	}
	return rc;
}

static int
to_record(void *arg, const struct ht_record *rec)
{
	struct recording *r = arg;

	ht_filter_meet(r->config, rec, &r->met);
	return told(r, ht_perf_writer_record(r->writer, rec));
}

static int
to_trace(void *arg, uint32_t index, int32_t pid, int32_t tid, uint64_t time, const void *a, size_t a_size,
         const void *b, size_t b_size)
{
	struct recording *r = arg;

	return told(r, ht_perf_writer_trace(r->writer, index, pid, tid, time, 0, a, a_size, b, b_size));
}

static int
to_gap(void *arg, uint32_t index, int32_t pid, int32_t tid, uint64_t time, uint64_t bytes)
{
	struct recording *r = arg;

	return told(r, ht_perf_writer_gap(r->writer, index, pid, tid, time, bytes));
}

static int
to_end(void *arg, uint32_t index, int32_t pid, int32_t tid, uint64_t time)
{
	struct recording *r = arg;

	return told(r, ht_perf_writer_killed(r->writer, index, pid, tid, time));
}

/*
 * The processor that the file states: one that has the packets we make (no MTC,
 * no PTWRITE) and, of those that decoders know, the fewest errata.  What is left,
 * APL11, is about OVF packets, which we do not make.
 */
static struct ht_cpu_info
stated_cpu(const struct ht_clock *clock)
{
	return (struct ht_cpu_info){ .vendor_intel = 1, .family = 6, .model = 0x86,
	                             .nom_freq = (uint8_t)(ht_tsc_hz(clock) / 100000000u) };
}

static int
open_shm(struct recording *r, const struct ht_program *program, struct ht_diag *diag)
{
	const struct ht_capture_config *c = r->config;
	struct ht_shm_config sc = { .psb_period = c->psb_period, .ring_size = c->buffer_bytes };
	char filter[sizeof(((struct ht_shm_header *)0)->filter)];
	int n = ht_filter_build(c, program, filter, sizeof(filter), diag);

	if (n < 0)
		return n;
	sc.flags = (c->flags & HT_CAPTURE_NO_RETCOMP ? 0 : HT_SHM_F_RETC) |
	           (c->flags & HT_CAPTURE_CYC ? HT_SHM_F_CYC : 0) |
	           (c->flags & HT_CAPTURE_OVERWRITE ? HT_SHM_F_OVERWRITE : 0) |
	           (c->flags & HT_CAPTURE_NO_INHERIT ? 0 : HT_SHM_F_INHERIT);
	sc.filter = filter;
	sc.filter_size = r->limits_size = (size_t)n;
	return ht_shm_create(&sc, &r->shm, diag);
}

static int
open_file(struct recording *r, struct ht_diag *diag)
{
	const struct ht_capture_config *c = r->config;
	struct ht_drain_config dc = { .sink = { .record = to_record,
		                                .trace = to_trace,
		                                .gap = to_gap,
		                                .killed = to_end,
		                                .note = note,
		                                .arg = r } };
	struct ht_perf_writer_config wc = { .backend = "qemu", .software = 1,
	                                    .ret_compression = !(c->flags & HT_CAPTURE_NO_RETCOMP),
	                                    .cyc = !!(c->flags & HT_CAPTURE_CYC),
	                                    .argv = c->cmdline ? c->cmdline : c->argv };
	int rc;

	wc.filter = ht_filter_text(c, r->filter, sizeof(r->filter));
	wc.limits = r->shm.h->filter;
	wc.limits_size = r->limits_size;
	ht_tsc_clock(&wc.clock);
	wc.cpu = stated_cpu(&wc.clock);
	rc = ht_output_open(c, &wc, &r->writer, diag);
	if (rc < 0)
		return rc;
	dc.clock = wc.clock;
	if (ht_drain_new(r->shm.h, &dc, &r->drain) < 0)
		return ht_fail(diag, HT_ENOMEM, NULL, HT_NO_OFFSET, NULL, "for the table of streams");
	return 0;
}

/* PLUGIN,shm=PATH; a comma in a file name is doubled for QEMU. */
static void
plugin_argument(char *buf, size_t size, const char *plugin, const char *shm)
{
	size_t n = 0;

	for (; *plugin && n + 3 < size; plugin++) {
		if (*plugin == ',')
			buf[n++] = ',';
		buf[n++] = *plugin;
	}
	snprintf(buf + n, size - n, ",shm=%s", shm);
}

/* qemu-x86_64 -plugin ... -0 argv0 -- FILE arguments */
static int
launch(struct recording *r, const struct ht_program *program, struct ht_diag *diag)
{
	char *const *user = r->config->argv;
	char emulator[PATH_MAX], plugin[PATH_MAX], option[2 * PATH_MAX + 128], file[HT_PROGRAM_PATH_MAX];
	size_t n_user = 0, n = 0;
	char **argv;
	int rc;

	rc = find_emulator(emulator);
	if (rc == -EMFILE)
		return ht_fail(diag, HT_EIO, NULL, HT_NO_OFFSET, EMULATOR, "cannot be read: %s%s",
		               strerror(-rc), ht_limit_hint(-rc));
	if (rc || find_plugin(plugin))
		return ht_fail(diag, HT_EUNSUPPORTED, NULL, HT_NO_OFFSET, "qemu",
		               "the emulator or its plugin is gone; hwtrace check tells more");
	plugin_argument(option, sizeof(option), plugin, r->shm.path);
	while (user[n_user])
		n_user++;
	argv = calloc(n_user + program->n_words + 8, sizeof(*argv));
	if (!argv)
		return ht_fail(diag, HT_ENOMEM, NULL, HT_NO_OFFSET, NULL, "for the program's arguments");
	argv[n++] = emulator;
	argv[n++] = (char *)"-plugin";
	argv[n++] = option;
	argv[n++] = (char *)"-0";
	argv[n++] = program->n_words ? (char *)(uintptr_t)program->words[0] : user[0];
	argv[n++] = (char *)"--";
	snprintf(file, sizeof(file), "%s", program->path);
	ht_program_anchor(file);
	argv[n++] = file;
	for (unsigned i = 1; i < program->n_words; i++)
		argv[n++] = (char *)(uintptr_t)program->words[i];
	for (size_t i = 1; i < n_user; i++)
		argv[n++] = user[i];
	rc = ht_child_start(&r->child, emulator, argv, diag);
	free(argv);
	return rc;
}

static void
pass(struct recording *r)
{
	uint64_t now = now_ns();
	unsigned how = 0;
	uint32_t bell = ht_drain_doorbell(r->drain);

	if (now >= r->next_all) {
		how |= HT_DRAIN_ALL;
		r->next_all = now + ALL_NS;
	}
	if (now >= r->next_reap) {
		how |= HT_DRAIN_REAP;
		r->next_reap = now + REAP_NS;
	}
	ht_drain_pass(r->drain, how);
	if (r->child.ended ? ht_drain_lives(r->drain) : !ht_child_poll(&r->child))
		ht_drain_wait(r->drain, bell, WAIT_MS);
}

/*
 * The recording ends with the program.  Others that it left behind get a moment to end
 * as well; those that do not are told to stop tracing, and to end their streams.
 */
static void
wind_up(struct recording *r)
{
	uint64_t until = now_ns() + HT_PROC_LINGER;

	/* Who has ended may have told of a child before. */
	do
		pass(r);
	while ((ht_drain_lives(r->drain) || ht_drain_pass(r->drain, 0)) && now_ns() < until);
	ht_drain_stop(r->drain);
	until = now_ns() + END_NS;
	ht_drain_pass(r->drain, HT_DRAIN_ALL | HT_DRAIN_REAP);
	ht_drain_wake(r->drain);
	while (!ht_drain_quiet(r->drain) && now_ns() < until) {
		uint32_t bell = ht_drain_doorbell(r->drain);

		ht_drain_pass(r->drain, HT_DRAIN_ALL | HT_DRAIN_REAP);
		if (!ht_drain_quiet(r->drain))
			ht_drain_wait(r->drain, bell, WAIT_MS);
	}
	ht_drain_finish(r->drain);
}

/* The first process has come: the file is one. */
static void
settle(struct recording *r, struct ht_diag *diag)
{
	if (!r->settled && ht_drain_stats(r->drain)->processes)
		r->settled = ht_output_settle(r->config, diag) < 0 ? -diag->error : 1;
}

/* How far the ELF file should go, and how far it does.  1: it was cut off. */
static int
is_cut(const char *path, uint64_t *need, uint64_t *have)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st = { 0 };
	Elf64_Ehdr e = { 0 };
	Elf64_Phdr p = { 0 };

	if (fd < 0)
		return 0;
	*need = sizeof(e);
	if (fstat(fd, &st) == 0 && pread(fd, &e, sizeof(e), 0) == (ssize_t)sizeof(e) &&
	    e.e_phentsize == sizeof(p))
		*need = e.e_phoff + e.e_phnum * sizeof(p);
	*have = (uint64_t)st.st_size;
	for (unsigned i = 0; i < e.e_phnum; i++) {
		uint64_t at = e.e_phoff + i * sizeof(p);

		if (pread(fd, &p, sizeof(p), (off_t)at) == (ssize_t)sizeof(p) &&
		    p.p_type == PT_LOAD && p.p_offset + p.p_filesz > *need)
			*need = p.p_offset + p.p_filesz;
	}
	close(fd);
	return *need > *have;
}

static int
not_started(const struct recording *r, const char *path, struct ht_diag *diag)
{
	int status = r->child.wait_status, sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	uint64_t need, have;

	if (!ht_drain_stats(r->drain)->loaded)
		return ht_fail(diag, HT_EIO, NULL, HT_NO_OFFSET, EMULATOR,
		               "ended before the program had started; is it able to load the plugin?");
	if (is_cut(path, &need, &have))
		return ht_fail(diag, HT_ECHILD, path, HT_NO_OFFSET, "126",
		               "cannot be executed: it was cut off, it has %llu bytes of at least %llu",
		               (unsigned long long)have, (unsigned long long)need);
	return ht_fail(diag, HT_ECHILD, path, HT_NO_OFFSET, "126",
	               "cannot be executed: " EMULATOR " ended while it loaded it%s%s",
	               sig ? ", by signal: " : "", sig ? strsignal(sig) : "");
}

static int
conclude(struct recording *r, const char *path, struct ht_capture_result *result, struct ht_diag *diag)
{
	const struct ht_drain_stats *stats = ht_drain_stats(r->drain);
	int rc = ht_perf_writer_finish(r->writer, diag);

	r->writer = NULL;
	ht_filter_tell_unmet(r->config, r->met);
	result->wait_status = r->child.wait_status;
	result->processes = stats->processes;
	result->threads = stats->threads;
	result->trace_bytes = stats->trace_bytes;
	result->lost_bytes = stats->lost_bytes;
	if (!rc && r->settled < 0)
		rc = r->settled;
	if (!rc && ht_drain_error(r->drain) < 0)
		rc = ht_fail(diag, -ht_drain_error(r->drain), r->config->output, HT_NO_OFFSET, NULL,
		             "recording ended early");
	if (!rc && !stats->processes)
		rc = not_started(r, path, diag);
	return rc;
}

static int
qemu_record(const struct ht_capture_config *config, const struct ht_program *program,
            struct ht_capture_result *result, struct ht_diag *diag)
{
	struct recording r = { .config = config };
	int rc = open_shm(&r, program, diag);

	if (!rc)
		rc = open_file(&r, diag);
	if (!rc && (rc = launch(&r, program, diag)) < 0)
		ht_output_drop(config);
	if (!rc) {
		while (!r.child.ended) {
			pass(&r);
			settle(&r, diag);
		}
		wind_up(&r);
		settle(&r, diag);
		if (!r.settled)
			ht_output_drop(config);
		rc = conclude(&r, program->path, result, diag);
		ht_child_fini(&r.child);
	}
	ht_drain_free(r.drain);
	ht_perf_writer_abort(r.writer);
	ht_shm_destroy(&r.shm);
	return rc;
}

const struct ht_backend ht_backend_qemu = {
	.name = "qemu",
	.summary = "software trace unit: QEMU user mode emits Intel PT packets",
	.timing = "emulated",
	.probe = qemu_probe,
	.accepts = qemu_accepts,
	.record = qemu_record,
};
