/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recorder for the tests of the software trace unit alone: makes the shared
 * memory, runs a command under QEMU with the plugin, and drains everything.
 *
 *	shmdump [-cfro] [-p PSB_PERIOD] [-s RING_SIZE] [-m FILTER]... DIR PLUGIN QEMU [QEMU-OPTION...] PROGRAM [ARG...]
 *
 *	-c cycle packets  -f follow children  -r no return compression  -o overwrite mode
 *
 * Writes DIR/PID-TID.pt and DIR/sideband.txt; ends with the program's status.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/shm.h"

#define N_SLOTS       64
#define SIDEBAND_SIZE (1u << 20)

static struct ht_shm_header *shm;
static const char *dir;
static FILE *sideband;
static unsigned long long lost;

static void
die(const char *what)
{
	perror(what);
	exit(2);
}

static int
make_shm(unsigned flags, uint32_t psb, uint64_t ring, const char *filter, size_t filter_size)
{
	uint64_t size = HT_SHM_PAGE + SIDEBAND_SIZE + N_SLOTS * (HT_SHM_PAGE + ring);
	int fd = memfd_create("shmdump", 0);

	if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
		die("memfd");
	shm = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shm == MAP_FAILED)
		die("mmap");
	shm->magic = HT_SHM_MAGIC;
	shm->version = HT_SHM_VERSION;
	shm->flags = flags;
	shm->total_size = size;
	shm->sideband_offset = HT_SHM_PAGE;
	shm->sideband_size = SIDEBAND_SIZE;
	shm->slots_offset = HT_SHM_PAGE + SIDEBAND_SIZE;
	shm->slot_stride = HT_SHM_PAGE + ring;
	shm->ring_size = ring;
	shm->n_slots = N_SLOTS;
	shm->psb_period = psb;
	shm->recorder_pid = getpid();
	memcpy(shm->filter, filter, filter_size);
	return fd;
}

static void
print_record(const struct ht_sb_record *r)
{
	static const char *const names[] = { "pad",    "exec", "fork", "exit",      "comm", "mmap",
		                             "munmap", "code", "note", "executing", "loss",
		                             "child",  "loaded" };
	const char *text = (const char *)r->text;

	fprintf(sideband, "%llu %s %d %d %llx %llx %llx ", (unsigned long long)r->tsc, names[r->type], r->pid,
	        r->tid, (unsigned long long)r->a, (unsigned long long)r->b, (unsigned long long)r->c);
	if (r->type == HT_SB_CODE)
		for (uint32_t i = 0; i < r->text_size; i++)
			fprintf(sideband, "%02x", r->text[i]);
	else if (r->type == HT_SB_EXEC)
		fprintf(sideband, "%s %s", text, text + strlen(text) + 1);
	else if (r->text_size)
		fprintf(sideband, "%s", text);
	fputc('\n', sideband);
	if (r->type == HT_SB_NOTE || r->type == HT_SB_LOSS)
		fprintf(stderr, "%s: %s\n", names[r->type], text);
}

static void
drain_sideband(void)
{
	const uint8_t *ring = (const uint8_t *)shm + shm->sideband_offset;
	uint64_t tail = atomic_load(&shm->sideband_tail);
	int32_t owner = atomic_load(&shm->sideband_lock);

	while (tail < atomic_load(&shm->sideband_head)) {
		const struct ht_sb_record *r = (const void *)(ring + (tail & (shm->sideband_size - 1)));

		if (r->type != HT_SB_PAD)
			print_record(r);
		tail += r->size;
		atomic_store(&shm->sideband_tail, tail);
	}
	if (owner && kill(owner, 0) < 0 && errno == ESRCH)
		atomic_compare_exchange_strong(&shm->sideband_lock, &owner, 0);
}

static int
thread_is_dead(int pid, int tid)
{
	char path[64], buf[512], *p;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return 1;
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	if (n <= 0)
		return 1;
	buf[n] = 0;
	p = strrchr(buf, ')');
	return p && (p[2] == 'Z' || p[2] == 'X');
}

static void
drain_slot(struct ht_shm_slot *slot)
{
	const uint8_t *ring = (const uint8_t *)slot + HT_SHM_PAGE;
	uint64_t head = atomic_load(&slot->head), tail = atomic_load(&slot->tail);
	char path[512];
	FILE *f;

	if (head == tail)
		return;
	snprintf(path, sizeof(path), "%s/%d-%d.pt", dir, slot->pid, slot->tid);
	f = fopen(path, "ab");
	if (!f)
		die(path);
	if ((shm->flags & HT_SHM_F_OVERWRITE) && head - tail > shm->ring_size - HT_SHM_SLACK) {
		lost += head - (shm->ring_size - HT_SHM_SLACK) - tail;
		tail = head - (shm->ring_size - HT_SHM_SLACK);
	}
	while (tail < head) {
		uint64_t at = tail & (shm->ring_size - 1), n = shm->ring_size - at;

		if (n > head - tail)
			n = head - tail;
		fwrite(ring + at, 1, n, f);
		tail += n;
	}
	fclose(f);
	atomic_store(&slot->tail, tail);
	atomic_fetch_add(&slot->tail_seq, 1);
	syscall(SYS_futex, &slot->tail_seq, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static int
by_start(const void *a, const void *b)
{
	const struct ht_shm_slot *x = *(struct ht_shm_slot *const *)a, *y = *(struct ht_shm_slot *const *)b;

	return x->start_tsc < y->start_tsc ? -1 : x->start_tsc > y->start_tsc;
}

/* Returns the number of slots in use. */
static unsigned
drain_slots(int look_for_dead)
{
	struct ht_shm_slot *slots[N_SLOTS];
	unsigned n = 0;

	for (unsigned i = 0; i < N_SLOTS; i++)
		if (atomic_load(&ht_shm_slot_at(shm, i)->state) >= HT_SLOT_ACTIVE)
			slots[n++] = ht_shm_slot_at(shm, i);
	qsort(slots, n, sizeof(*slots), by_start);
	for (unsigned i = 0; i < n; i++) {
		int live = atomic_load(&slots[i]->state) == HT_SLOT_ACTIVE;

		if (live && look_for_dead && thread_is_dead(slots[i]->pid, slots[i]->tid)) {
			ht_shm_complete(slots[i], (uint8_t *)slots[i] + HT_SHM_PAGE, shm->ring_size);
			live = 0;
		}
		if (!(shm->flags & HT_SHM_F_OVERWRITE) || !live)
			drain_slot(slots[i]);
		if (!live)
			atomic_store(&slots[i]->state, HT_SLOT_FREE);
	}
	return n;
}

static int
run(char **argv, const char *plugin, int fd)
{
	char option[1024], **args;
	int n = 0, status = 0, ended = 0;
	pid_t pid;

	while (argv[n])
		n++;
	args = calloc((size_t)n + 3, sizeof(*args));
	if (!args)
		die("calloc");
	snprintf(option, sizeof(option), "%s,shm=/proc/%d/fd/%d", plugin, getpid(), fd);
	args[0] = argv[0];
	args[1] = "-plugin";
	args[2] = option;
	memcpy(args + 3, argv + 1, (size_t)n * sizeof(*args));
	pid = fork();
	if (pid == 0) {
		close(fd);
		execvp(args[0], args);
		_exit(127);
	}
	for (;;) {
		uint32_t bell = atomic_load(&shm->doorbell);
		struct timespec ts = { 0, 20000000 };
		unsigned used;

		if (!ended && waitpid(pid, &status, WNOHANG) == pid)
			ended = 1;
		drain_sideband();
		used = drain_slots(ended);
		if (ended && !used)
			break;
		syscall(SYS_futex, &shm->doorbell, FUTEX_WAIT, bell, &ts, NULL, 0);
	}
	drain_sideband();
	free(args);
	return status;
}

int
main(int argc, char **argv)
{
	unsigned flags = HT_SHM_F_RETC;
	uint64_t ring = 1u << 20;
	uint32_t psb = 0;
	char filter[sizeof(shm->filter)] = { 0 }, path[512];
	size_t filter_size = 0;
	int c, status;

	while ((c = getopt(argc, argv, "+cfrop:s:m:")) != -1) {
		switch (c) {
		case 'c': flags |= HT_SHM_F_CYC; break;
		case 'f': flags |= HT_SHM_F_INHERIT; break;
		case 'r': flags &= ~HT_SHM_F_RETC; break;
		case 'o': flags |= HT_SHM_F_OVERWRITE; break;
		case 'p': psb = (uint32_t)strtoul(optarg, NULL, 0); break;
		case 's': ring = strtoull(optarg, NULL, 0); break;
		case 'm':
			filter_size += (size_t)snprintf(filter + filter_size, sizeof(filter) - filter_size - 2, "%s", optarg) + 1;
			break;
		default: return 2;
		}
	}
	if (argc - optind < 4) {
		fprintf(stderr, "usage: shmdump [-cfro] [-p N] [-s N] [-m FILTER] DIR PLUGIN QEMU PROGRAM [ARG...]\n");
		return 2;
	}
	dir = argv[optind];
	mkdir(dir, 0777);
	snprintf(path, sizeof(path), "%s/sideband.txt", dir);
	sideband = fopen(path, "w");
	if (!sideband)
		die(path);
	status = run(argv + optind + 2, argv[optind + 1], make_shm(flags, psb, ring, filter, filter_size));
	fclose(sideband);
	if (lost)
		fprintf(stderr, "%llu bytes lost\n", lost);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
