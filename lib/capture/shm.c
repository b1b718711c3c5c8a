/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/shm.h"

#define RING_DEFAULT     (256u << 10) /* fits a core's cache; 50 MB/s of trace fill it 200 times a second */
#define RING_MIN         HT_SHM_RING_MIN
#define RING_MAX         (1ull << 30)
#define SIDEBAND_DEFAULT (1u << 20)
#define PSB_DEFAULT      (16u << 10)
#define PSB_MIN          512u         /* a PSB+ alone takes some 40 bytes */
#define SLOTS_MAX        1024u        /* threads at one time */
#define TOTAL_MAX        (16ull << 30) /* of address space; memory is used as it is touched */
#define HEAD_SIZE        ((sizeof(struct ht_shm_header) + HT_SHM_PAGE - 1) / HT_SHM_PAGE * HT_SHM_PAGE)

static uint64_t
power_of_two(uint64_t n)
{
	uint64_t p = RING_MIN;

	while (p < n && p < RING_MAX)
		p <<= 1;
	return p;
}

static void
fill_header(struct ht_shm_header *h, const struct ht_shm_config *config, uint64_t ring, uint32_t slots,
            uint64_t sideband, uint64_t total)
{
	uint64_t psb = config->psb_period ? config->psb_period : PSB_DEFAULT;
	struct stat ns;

	/* What is left of an overwritten ring must hold several PSBs. */
	if ((config->flags & HT_SHM_F_OVERWRITE) && psb > ring / 8)
		psb = ring / 8;
	if (psb < PSB_MIN)
		psb = PSB_MIN;
	h->version = HT_SHM_VERSION;
	h->flags = config->flags;
	h->total_size = total;
	h->sideband_offset = HEAD_SIZE;
	h->sideband_size = sideband;
	h->slots_offset = h->sideband_offset + sideband;
	h->slot_stride = HT_SHM_PAGE + ring;
	h->ring_size = ring;
	h->n_slots = slots;
	h->psb_period = (uint32_t)psb;
	h->recorder_pid = (int32_t)getpid();
	if (stat("/proc/self/ns/pid", &ns) == 0)
		h->pid_ns = ns.st_ino;
	if (config->filter)
		memcpy(h->filter, config->filter, config->filter_size);
	h->magic = HT_SHM_MAGIC;
}

/*
 * The limit on the size of files counts for memory files too: it is raised for
 * the moment that ours is made.
 */
static int
set_size(int fd, uint64_t bytes)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, old;
	struct rlimit limit, more;
	int rc, err;

	if (getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur >= bytes)
		return ftruncate(fd, (off_t)bytes);
	more = (struct rlimit){ limit.rlim_max < bytes ? bytes : limit.rlim_max,
	                        limit.rlim_max < bytes ? bytes : limit.rlim_max };
	sigaction(SIGXFSZ, &ignore, &old);
	setrlimit(RLIMIT_FSIZE, &more);
	rc = ftruncate(fd, (off_t)bytes);
	err = errno;
	setrlimit(RLIMIT_FSIZE, &limit);
	sigaction(SIGXFSZ, &old, NULL);
	errno = err;
	return rc;
}

/* A memory file and its name that other processes can open; returns the descriptor or -1. */
static int
memory_file(char *path, size_t size, uint64_t bytes)
{
	int fd = memfd_create("hwtrace", MFD_CLOEXEC);

	if (fd < 0)
		return -1;
	snprintf(path, size, "/proc/%d/fd/%d", (int)getpid(), fd);
	if (fchmod(fd, 0600) < 0 || set_size(fd, bytes) < 0 || access(path, R_OK | W_OK) < 0) {
		int saved = errno;

		close(fd);
		errno = saved;
		return -1;
	}
	return fd;
}

int
ht_shm_create(const struct ht_shm_config *config, struct ht_shm *out, struct ht_diag *diag)
{
	uint64_t ring = power_of_two(config->ring_size ? config->ring_size : RING_DEFAULT);
	uint64_t sideband = config->sideband_size ? config->sideband_size : SIDEBAND_DEFAULT;
	uint32_t slots = config->n_slots ? config->n_slots : SLOTS_MAX;
	uint64_t total;
	void *map;

	memset(out, 0, sizeof(*out));
	out->fd = -1;
	if (config->filter_size > sizeof(((struct ht_shm_header *)0)->filter))
		return ht_fail(diag, HT_EINVAL, NULL, HT_NO_OFFSET, "filter",
		               "the --module and --filter options are too long together");
	if (slots > TOTAL_MAX / (HT_SHM_PAGE + ring))
		slots = (uint32_t)(TOTAL_MAX / (HT_SHM_PAGE + ring));
	total = HEAD_SIZE + sideband + slots * (HT_SHM_PAGE + ring);
	out->fd = memory_file(out->path, sizeof(out->path), total);
	if (out->fd < 0)
		return ht_fail(diag, HT_EIO, out->path, HT_NO_OFFSET, NULL,
		               "cannot create the memory shared with the traced program: %s%s",
		               strerror(errno), ht_limit_hint(errno));
	map = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_SHARED, out->fd, 0);
	if (map == MAP_FAILED) {
		int err = errno;

		close(out->fd);
		out->fd = -1;
		return ht_fail(diag, HT_ENOMEM, NULL, HT_NO_OFFSET, NULL,
		               "cannot map the memory shared with the traced program, %llu MiB of "
		               "addresses: %s; raise the limit that ulimit -v shows, or use --backend ptrace",
		               (unsigned long long)(total >> 20), strerror(err));
	}
	out->h = map;
	out->size = total;
	fill_header(out->h, config, ring, slots, sideband, total);
	return 0;
}

void
ht_shm_destroy(struct ht_shm *shm)
{
	if (!shm->h)
		return;
	munmap(shm->h, shm->size);
	close(shm->fd);
	memset(shm, 0, sizeof(*shm));
	shm->fd = -1;
}
