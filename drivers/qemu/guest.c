/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "qemu/guest.h"
#include "qemu/qemu_api.h"

int
ht_guest_has_regs(void)
{
	return x86_cpu_gdb_read_register && g_byte_array_new && g_byte_array_set_size && g_byte_array_free &&
	       &thread_cpu;
}

int
ht_guest_regs(const enum ht_guest_reg *regs, uint64_t *values, unsigned n)
{
	struct ht_qemu_bytes *bytes;
	int ret = 0;

	if (!ht_guest_has_regs() || !thread_cpu)
		return -1;
	bytes = g_byte_array_new();
	for (unsigned i = 0; i < n; i++) {
		g_byte_array_set_size(bytes, 0);
		if (x86_cpu_gdb_read_register(thread_cpu, bytes, regs[i]) != 8 || bytes->len < 8) {
			ret = -1;
			break;
		}
		memcpy(&values[i], bytes->data, 8);
	}
	g_byte_array_free(bytes, 1);
	return ret;
}

uint64_t
ht_guest_base(void)
{
	return &guest_base ? guest_base : 0;
}

int
ht_guest_read(uint64_t addr, void *buf, size_t size)
{
	struct iovec to = { buf, size }, from = { (void *)(uintptr_t)(addr + ht_guest_base()), size };

	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)size ? 0 : -1;
}

long
ht_guest_string(uint64_t addr, char *buf, size_t size)
{
	size_t n = 0;

	while (n < size) {
		size_t part = 4096 - ((addr + n) & 4095);
		char *nul;

		if (part > size - n)
			part = size - n;
		if (ht_guest_read(addr + n, buf + n, part) < 0)
			return -1;
		nul = memchr(buf + n, 0, part);
		if (nul)
			return nul - buf;
		n += part;
	}
	buf[size - 1] = 0;
	return (long)size - 1;
}
