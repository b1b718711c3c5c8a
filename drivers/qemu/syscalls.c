/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "qemu/block.h"
#include "qemu/exec.h"
#include "qemu/guest.h"
#include "qemu/maps.h"
#include "qemu/sideband.h"
#include "qemu/syscalls.h"
#include "qemu/trace.h"

#define PAGE 4096

static uint64_t
page_up(uint64_t v)
{
	return (v + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

static void
see_handler(uint64_t action)
{
	uint64_t handler;

	if (action && ht_guest_read(action, &handler, 8) == 0 && handler > 1)
		ht_block_add_handler(handler);
}

/* The end of a process.  QEMU would stop tracing the other threads some time before it ends them. */
static void
leave_process(struct ht_unit *u, int status)
{
	ht_trace_end(u, 1);
	syscall(SYS_exit_group, status);
}

static void
see_name(uint64_t name)
{
	char buf[17];

	if (ht_guest_string(name, buf, sizeof(buf)) >= 0) {
		buf[15] = 0;
		ht_sideband_text(HT_SB_COMM, buf);
	}
}

/* Its children would have other numbers than the recorder knows. */
static void
see_namespace(int is_new)
{
	if (is_new)
		ht_sideband_untraced(
		    "children of process %d are not followed: they are in another PID namespace; "
		    "they run untraced",
		    (int)getpid());
}

/*
 * A child tells of itself at its first block.  Until then its parent may have ended,
 * and the recording with it.
 */
static void
see_child(int64_t pid, int is_thread)
{
	if (pid > 0 && !is_thread && ht_shm->flags & HT_SHM_F_INHERIT)
		ht_sideband_child((int)pid);
}

void
ht_syscall_enter(qemu_plugin_id_t id, unsigned vcpu, int64_t nr, uint64_t a1, uint64_t a2, uint64_t a3,
                 uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8)
{
	struct ht_unit *u = ht_unit_self;

	(void)id, (void)vcpu, (void)a6, (void)a7, (void)a8;
	if (ht_unit_refused(u) && (nr == SYS_execve || nr == SYS_execveat))
		ht_sideband_unfollowed(
		    "a program is not followed: the thread that executes it is not traced");
	if (!ht_unit_traced(u))
		return;
	ht_trace_far(u);
	u->args[0] = a1;
	u->args[1] = a2;
	u->args[2] = a3;
	switch (nr) {
	case SYS_rt_sigaction: see_handler(a2); break;
	case SYS_munmap: ht_maps_forget(a1, a1 + page_up(a2)); break;
	case SYS_mremap: ht_maps_forget(a1, a1 + page_up(a2)); break;
	case SYS_execve: ht_exec_follow(AT_FDCWD, a1, a2, a3, 0); break;
	case SYS_execveat: ht_exec_follow((int)a1, a2, a3, a4, (int)a5); break;
	case SYS_exit_group: leave_process(u, (int)a1); break;
	case SYS_exit:
		if (ht_unit_threads() == 1)
			leave_process(u, (int)a1);
		break;
	default: break;
	}
}

void
ht_syscall_leave(qemu_plugin_id_t id, unsigned vcpu, int64_t nr, int64_t ret)
{
	struct ht_unit *u = ht_unit_self;
	uint64_t at = (uint64_t)ret;

	(void)id, (void)vcpu;
	if (!ht_unit_traced(u))
		return;
	if (nr == SYS_munmap && ret < 0)
		ht_maps_update(u->args[0], u->args[0] + page_up(u->args[1]));
	if (nr == SYS_mremap)
		ht_maps_update(u->args[0], u->args[0] + page_up(u->args[1]));
	if (ret < 0 && ret > -PAGE)
		return;
	switch (nr) {
	case SYS_mmap:
		if (u->args[2] & PROT_EXEC)
			ht_maps_update(at, at + page_up(u->args[1]));
		else
			ht_maps_forget(at, at + page_up(u->args[1]));
		break;
	case SYS_mprotect:
	case SYS_pkey_mprotect:
		if (u->args[2] & PROT_EXEC)
			ht_maps_update(u->args[0], u->args[0] + page_up(u->args[1]));
		else
			ht_maps_forget(u->args[0], u->args[0] + page_up(u->args[1]));
		break;
	case SYS_mremap: ht_maps_update(at, at + page_up(u->args[2])); break;
	case SYS_shmat:
		if (u->args[2] & SHM_EXEC)
			ht_maps_update(at, at + PAGE);
		break;
	case SYS_fork:
	case SYS_vfork: see_child(ret, 0); break;
	case SYS_clone: see_child(ret, u->args[0] & CLONE_THREAD); break;
	case SYS_unshare: see_namespace(u->args[0] & CLONE_NEWPID); break;
	case SYS_setns: see_namespace(!ht_sideband_same_numbers("pid_for_children")); break;
	case SYS_prctl:
		if (u->args[0] == PR_SET_NAME)
			see_name(u->args[1]);
		break;
	default: break;
	}
}
