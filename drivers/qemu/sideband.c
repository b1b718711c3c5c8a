/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/buildid.h"
#include "qemu/sideband.h"

struct ht_shm_header *ht_shm;
static char shm_path[256];
static _Atomic uint32_t generation;

long
ht_futex_wait(void *word, uint32_t value, unsigned ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	return syscall(SYS_futex, word, FUTEX_WAIT, value, &ts, NULL, 0);
}

void
ht_doorbell_ring(void)
{
	atomic_fetch_add(&ht_shm->doorbell, 1);
	syscall(SYS_futex, &ht_shm->doorbell, FUTEX_WAKE, 1, NULL, NULL, 0);
}

int
ht_recorder_alive(void)
{
	return kill(ht_shm->recorder_pid, 0) == 0 || errno != ESRCH;
}

int
ht_sideband_same_numbers(const char *which)
{
	char path[64];
	struct stat ns;

	snprintf(path, sizeof(path), "/proc/self/ns/%s", which);
	return !ht_shm->pid_ns || stat(path, &ns) < 0 || ns.st_ino == ht_shm->pid_ns;
}

const char *
ht_sideband_path(void)
{
	return shm_path;
}

/* The whole file is mapped, and its descriptor closed: a program may close or reuse any number. */
int
ht_sideband_open(const char *path)
{
	struct ht_shm_header *h;
	int fd = open(path, O_RDWR | O_CLOEXEC);
	size_t size;

	if (fd < 0)
		return -1;
	h = mmap(NULL, HT_SHM_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (h == MAP_FAILED || h->magic != HT_SHM_MAGIC || h->version != HT_SHM_VERSION ||
	    h->ring_size < HT_SHM_RING_MIN || (h->ring_size & (h->ring_size - 1))) {
		close(fd);
		return -1;
	}
	size = h->total_size;
	munmap(h, HT_SHM_PAGE);
	h = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	close(fd);
	if (h == MAP_FAILED)
		return -1;
	ht_shm = h;
	snprintf(shm_path, sizeof(shm_path), "%s", path);
	return 0;
}

/* -- records ------------------------------------------------------------- */

static void
lock_sideband(int tid)
{
	int32_t none = 0;

	for (unsigned spins = 0; !atomic_compare_exchange_weak(&ht_shm->sideband_lock, &none, tid);
	     none = 0, spins++)
		if (spins > 100)
			usleep(100);
}

static void
unlock_sideband(void)
{
	atomic_store(&ht_shm->sideband_lock, 0);
}

/* Wait for `size` bytes of room behind `head`; 0 when the recorder is gone. */
static int
wait_for_room(uint64_t head, uint64_t size)
{
	for (unsigned waited = 0; head + size - atomic_load(&ht_shm->sideband_tail) > ht_shm->sideband_size;
	     waited++) {
		if (waited > 1000 && !ht_recorder_alive())
			return 0;
		ht_doorbell_ring();
		usleep(1000);
	}
	return 1;
}

static void
put_record(struct ht_sb_record *r, const void *text, uint32_t text_size)
{
	uint8_t *ring = (uint8_t *)ht_shm + ht_shm->sideband_offset;
	uint64_t mask = ht_shm->sideband_size - 1;
	uint64_t head = atomic_load(&ht_shm->sideband_head);
	uint64_t left = ht_shm->sideband_size - (head & mask);
	uint32_t size = (uint32_t)((sizeof(*r) + text_size + 7) & ~7ull);

	if (left < size) {
		struct ht_sb_record pad = { .size = (uint32_t)left, .type = HT_SB_PAD };

		if (!wait_for_room(head, left))
			return;
		/* Less than a header may be left: the size and type always fit. */
		memcpy(ring + (head & mask), &pad, left < sizeof(pad) ? left : sizeof(pad));
		head += left;
	}
	if (!wait_for_room(head, size))
		return;
	r->size = size;
	r->text_size = text_size;
	r->tsc = ht_tsc_now();
	memcpy(ring + (head & mask), r, sizeof(*r));
	if (text_size)
		memcpy(ring + (head & mask) + sizeof(*r), text, text_size);
	atomic_store_explicit(&ht_shm->sideband_head, head + size, memory_order_release);
}

void
ht_sideband_write(struct ht_sb_record *r, const void *text, uint32_t text_size)
{
	int tid = (int)syscall(SYS_gettid);

	if (sizeof(*r) + text_size + 8 > ht_shm->sideband_size / 2)
		return;
	r->pid = getpid();
	r->tid = tid;
	lock_sideband(tid);
	put_record(r, text, text_size);
	unlock_sideband();
	if (r->type == HT_SB_MMAP || r->type == HT_SB_CODE)
		atomic_fetch_add(&generation, 1);
	ht_doorbell_ring();
}

uint32_t
ht_sideband_generation(void)
{
	return atomic_load(&generation);
}

void
ht_sideband_code(uint64_t addr, const uint8_t *bytes, uint32_t size)
{
	struct ht_sb_record r = { .type = HT_SB_CODE, .a = addr, .b = size };

	ht_sideband_write(&r, bytes, size);
}

void
ht_sideband_map(const struct ht_map *m)
{
	struct ht_sb_record r = {
		.type = HT_SB_MMAP, .a = m->start, .b = m->end - m->start, .c = m->pgoff,
		.prot = m->prot, .flags = m->shared ? MAP_SHARED : MAP_PRIVATE,
		.maj = m->maj, .min = m->min, .ino = m->ino,
	};

	if (m->path[0] == '/' && m->path[1] != '/' && !m->deleted)
		r.build_id_size = (uint8_t)ht_build_id_path(m->path, r.build_id);
	ht_sideband_write(&r, m->path, (uint32_t)strlen(m->path) + 1);
}

void
ht_sideband_unmap(uint64_t start, uint64_t end)
{
	struct ht_sb_record r = { .type = HT_SB_MUNMAP, .a = start, .b = end - start };

	ht_sideband_write(&r, NULL, 0);
}

void
ht_sideband_text(enum ht_sb_type type, const char *text)
{
	struct ht_sb_record r = { .type = (uint16_t)type };

	ht_sideband_write(&r, text, (uint32_t)strlen(text) + 1);
}

/* A text that may have a file name in it. */
static void
tell(struct ht_sb_record *r, const char *fmt, va_list ap)
{
	char buf[4096 + 256];

	vsnprintf(buf, sizeof(buf), fmt, ap);
	ht_sideband_write(r, buf, (uint32_t)strlen(buf) + 1);
}

void
ht_sideband_note(const char *fmt, ...)
{
	struct ht_sb_record r = { .type = HT_SB_NOTE };
	va_list ap;

	va_start(ap, fmt);
	tell(&r, fmt, ap);
	va_end(ap);
}

void
ht_sideband_untraced(const char *fmt, ...)
{
	struct ht_sb_record r = { .type = HT_SB_LOSS };
	va_list ap;

	va_start(ap, fmt);
	tell(&r, fmt, ap);
	va_end(ap);
}

void
ht_sideband_unfollowed(const char *fmt, ...)
{
	struct ht_sb_record r = { .type = HT_SB_LOSS, .a = 1 };
	va_list ap;

	va_start(ap, fmt);
	tell(&r, fmt, ap);
	va_end(ap);
}

void
ht_sideband_fork(int parent_pid, int parent_tid)
{
	struct ht_sb_record r = {
		.type = HT_SB_FORK, .a = (uint64_t)parent_pid, .b = (uint64_t)parent_tid,
	};

	ht_sideband_write(&r, NULL, 0);
}

void
ht_sideband_child(int pid)
{
	struct ht_sb_record r = { .type = HT_SB_CHILD, .a = (uint64_t)pid };

	ht_sideband_write(&r, NULL, 0);
}

void
ht_sideband_exit(int whole_process)
{
	struct ht_sb_record r = { .type = HT_SB_EXIT, .a = (uint64_t)whole_process };

	ht_sideband_write(&r, NULL, 0);
}

void
ht_sideband_exec(const char *comm, const char *path)
{
	struct ht_sb_record r = { .type = HT_SB_EXEC };
	char buf[4096 + 32];
	int n = snprintf(buf, sizeof(buf), "%.15s%c%s", comm, 0, path);

	ht_sideband_write(&r, buf, n < (int)sizeof(buf) ? (uint32_t)n + 1 : (uint32_t)sizeof(buf));
}
