/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The software trace unit: a plugin for QEMU's user mode that records what a
 * program executes as Intel PT packets, into memory shared with the recorder.
 *
 *	qemu-x86_64 -plugin FILE,shm=PATH [-0 ARGV0] PROGRAM ARGS...
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "qemu/block.h"
#include "qemu/death.h"
#include "qemu/exec.h"
#include "qemu/filter.h"
#include "qemu/maps.h"
#include "qemu/qemu_api.h"
#include "qemu/sideband.h"
#include "qemu/slot.h"
#include "qemu/syscalls.h"
#include "qemu/trace.h"

int qemu_plugin_version = HT_QEMU_API;

static int fork_pid, fork_tid;
static int begun; /* this program image has been told of */

static void
before_fork(void)
{
	fork_pid = getpid();
	fork_tid = (int)syscall(SYS_gettid);
}

static void
after_fork(void)
{
	/* By another number than its own a thread could be taken for dead while it runs. */
	int traced = ht_unit_traced(ht_unit_self) && ht_sideband_same_numbers("pid");

	ht_block_after_fork();
	ht_maps_after_fork();
	if (ht_unit_refused(ht_unit_self) && ht_shm->flags & HT_SHM_F_INHERIT)
		ht_sideband_untraced("a process is not traced: the thread that made it is not");
	ht_unit_after_fork(fork_pid, fork_tid, !traced || !(ht_shm->flags & HT_SHM_F_INHERIT));
}

static void
begin_image(void)
{
	const char *path = qemu_plugin_path_to_binary ? qemu_plugin_path_to_binary() : NULL;
	char full[4096];
	const char *base;

	if (!path || !realpath(path, full))
		snprintf(full, sizeof(full), "%s", path ? path : "");
	base = strrchr(path ? path : "", '/');
	base = base ? base + 1 : path ? path : "";
	prctl(PR_SET_NAME, base);
	ht_sideband_exec(base, full);
	ht_maps_begin();
}

static void
on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	struct ht_block *b;

	(void)id;
	if (!begun) {
		begun = 1;
		begin_image();
	}
	b = ht_block_translate(tb);
	if (b)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, ht_trace_callback(), HT_QEMU_NO_REGS, b);
}

static void
on_thread_made(qemu_plugin_id_t id, unsigned vcpu)
{
	(void)id;
	ht_unit_thread_made(vcpu, (int)syscall(SYS_gettid));
}

static void
on_thread_exit(qemu_plugin_id_t id, unsigned vcpu)
{
	(void)id, (void)vcpu;
	ht_trace_end(ht_unit_self, 0);
	ht_unit_thread_gone();
}

static const char *
option(int argc, char **argv, const char *name)
{
	size_t n = strlen(name);

	for (int i = 0; i < argc; i++)
		if (!strncmp(argv[i], name, n) && argv[i][n] == '=')
			return argv[i] + n + 1;
	return NULL;
}

int
qemu_plugin_install(qemu_plugin_id_t id, const struct ht_qemu_info *info, int argc, char **argv)
{
	const char *path = option(argc, argv, "shm");

	if (info->system_emulation || strcmp(info->target_name, "x86_64")) {
		fprintf(stderr, "hwtrace: the trace unit is for qemu-x86_64, user mode, only\n");
		return -1;
	}
	if (!path || ht_sideband_open(path) < 0) {
		/* The recorder is gone: the program runs on without it. */
		return path ? 0 : -1;
	}
	ht_sideband_text(HT_SB_LOADED, "");
	ht_slot_close_stale();
	ht_filter_init(ht_shm->filter);
	ht_exec_init();
	ht_death_init();
	pthread_atfork(before_fork, NULL, after_fork);
	qemu_plugin_register_vcpu_init_cb(id, on_thread_made);
	qemu_plugin_register_vcpu_exit_cb(id, on_thread_exit);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_vcpu_syscall_cb(id, ht_syscall_enter);
	qemu_plugin_register_vcpu_syscall_ret_cb(id, ht_syscall_leave);
	return 0;
}
