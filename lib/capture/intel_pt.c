/* SPDX-License-Identifier: BSD-2-Clause */
/* Intel PT through the kernel: the gates only, recording with it is not part of this version. */
#include <cpuid.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/backend.h"
#include "capture/gate.h"

#define PMU      "/sys/bus/event_source/devices/intel_pt"
#define PARANOID "/proc/sys/kernel/perf_event_paranoid"

/* [SDM vol. 2A, CPUID] leaf 07H, EBX bit 25; leaf 01H, ECX bit 31: under a hypervisor. */
static void
gate_cpu(struct ht_backend_info *info)
{
	unsigned a, b = 0, c = 0, d, guest = 0;
	int has = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & (1u << 25));

	if (__get_cpuid(1, &a, &b, &c, &d))
		guest = c >> 31;
	ht_gate_add(info, "processor", has,
	            guest ? "a virtual machine has it only when its host passes it on (KVM: pt_mode=1)"
	                  : "use a processor with Intel PT (5th generation Core and later)",
	            has ? "has Intel PT" : guest ? "no Intel PT in this virtual machine" : "no Intel PT");
}

static void
gate_pmu(struct ht_backend_info *info)
{
	int has = access(PMU "/type", R_OK) == 0;

	ht_gate_add(info, "kernel driver", has, "needs CONFIG_PERF_EVENTS_INTEL_PT=y and a processor with Intel PT",
	            has ? PMU : "no " PMU);
}

static void
gate_paranoid(struct ht_backend_info *info)
{
	FILE *f = fopen(PARANOID, "re");
	int level = 99, open;

	if (f && fscanf(f, "%d", &level) != 1)
		level = 99;
	if (f)
		fclose(f);
	open = geteuid() == 0 || level <= 2;
	if (level == 99)
		ht_gate_add(info, "perf_event_paranoid", open, "mount /proc", "not readable");
	else
		ht_gate_add(info, "perf_event_paranoid", open, "sysctl kernel.perf_event_paranoid=2, or run as root",
		            "%d%s", level, geteuid() == 0 ? ", and this is root" : "");
}

/* Containers and sandboxes filter the system call itself. */
static void
gate_syscall(struct ht_backend_info *info)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(attr),
	                                .config = PERF_COUNT_SW_DUMMY, .exclude_kernel = 1, .exclude_hv = 1 };
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC), err = errno;

	ht_gate_add(info, "perf_event_open", fd >= 0,
	            "in a container: docker run --cap-add PERFMON, or a seccomp profile that allows it",
	            fd >= 0 ? "permitted" : "refused: %s", strerror(err));
	if (fd >= 0)
		close(fd);
}

static int
intel_pt_probe(struct ht_backend_info *info)
{
	gate_cpu(info);
	gate_pmu(info);
	gate_paranoid(info);
	gate_syscall(info);
	ht_gate_add(info, "this version", 0, "record with perf record -e intel_pt//u, and decode the file here",
	            "does not record through the kernel's intel_pt driver yet");
	return 0;
}

const struct ht_backend ht_backend_intel_pt = {
	.name = "intel_pt",
	.summary = "Intel PT of the processor, through the Linux kernel",
	.timing = "hardware",
	.probe = intel_pt_probe,
};
