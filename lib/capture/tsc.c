/* SPDX-License-Identifier: BSD-2-Clause */
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "capture/tsc.h"

#define CALIBRATION_NS 5000000 /* both ends are read to some 50 ns: 20 parts in a million */

static uint64_t
raw_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Counter and clock at one moment: the tightest of a few tries. */
static void
both(uint64_t *tsc, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 8; i++) {
		uint64_t a = ht_tsc_read(), t = raw_ns(), b = ht_tsc_read();

		if (b - a < best) {
			best = b - a;
			*tsc = a + (b - a) / 2;
			*ns = t;
		}
	}
}

/* What the kernel publishes in the page of any event; 0 when it does not. */
static int
kernel_clock(struct ht_clock *out)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(attr),
	                                .config = PERF_COUNT_SW_DUMMY, .exclude_kernel = 1, .exclude_hv = 1 };
	long page = sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *p;
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC), ok = 0;

	if (fd < 0)
		return 0;
	p = mmap(NULL, (size_t)page, PROT_READ, MAP_SHARED, fd, 0);
	if (p != MAP_FAILED) {
		ok = p->cap_user_time_zero && p->time_mult;
		if (ok)
			*out = (struct ht_clock){ .valid = 1, .shift = p->time_shift,
			                          .mult = p->time_mult, .zero = p->time_zero };
		munmap(p, (size_t)page);
	}
	close(fd);
	return ok;
}

void
ht_tsc_clock_from(struct ht_clock *out, uint64_t tsc0, uint64_t ns0, uint64_t tsc1, uint64_t ns1)
{
	unsigned shift = 31;
	unsigned __int128 mult = 0;

	/* The largest shift whose multiplier fits 32 bits. */
	for (;; shift--) {
		mult = ((unsigned __int128)(ns1 - ns0) << shift) / (tsc1 - tsc0);
		if (mult <= UINT32_MAX || !shift)
			break;
	}
	*out = (struct ht_clock){ .valid = 1, .shift = (uint16_t)shift, .mult = (uint32_t)mult };
	/* Modulo 2^64, as the kernel has it. */
	out->zero = ns0 - (uint64_t)(((unsigned __int128)tsc0 * out->mult) >> shift);
}

void
ht_tsc_clock(struct ht_clock *out)
{
	struct timespec pause = { .tv_nsec = CALIBRATION_NS };
	uint64_t tsc0 = 0, ns0 = 0, tsc1 = 0, ns1 = 0;

	if (kernel_clock(out))
		return;
	both(&tsc0, &ns0);
	nanosleep(&pause, NULL);
	both(&tsc1, &ns1);
	if (tsc1 <= tsc0)
		tsc1 = tsc0 + 1;
	ht_tsc_clock_from(out, tsc0, ns0, tsc1, ns1);
}

uint64_t
ht_tsc_hz(const struct ht_clock *clock)
{
	return clock->mult ? (uint64_t)(((unsigned __int128)1000000000u << clock->shift) / clock->mult) : 0;
}
