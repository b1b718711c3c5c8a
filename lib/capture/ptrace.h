/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of the ptrace backend share: a recording follows threads, each
 * with its stream of packets, in processes, each with its address space.
 *
 * Every instruction is one PTRACE_SINGLESTEP, but system calls: these run from
 * PTRACE_SYSCALL to PTRACE_SYSCALL, whose stops are no signals and leave no trap
 * flag in the program's registers.
 */
#ifndef CAPTURE_PTRACE_H
#define CAPTURE_PTRACE_H

#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/user.h>

#include "capture/backend.h"
#include "container/perfdata_writer.h"
#include "encode/step.h"

#define HT_PAGE 4096u
#define HT_TRAP_FLAG 0x100u /* in EFLAGS */

/* An executable mapping. */
struct ht_pmap {
	uint64_t start, end, pgoff, ino;
	uint32_t maj, min, prot;
	int      shared;
	unsigned order;    /* rises with each mapping found: tells a new one from an old one alike */
	int      named;    /* a file that can be opened by `path` and is the one that is mapped */
	char    *path;
};

/* A page that was executed: what decoders will take for its bytes. */
struct ht_ppage {
	uint64_t         addr;
	struct ht_ppage *next;
	uint8_t          bytes[HT_PAGE];
};

/* An instruction decoded once. */
struct ht_pinsn {
	uint64_t           ip;
	struct ht_x86_insn x86;
	uint8_t            mode;  /* 32 or 64; 0: this entry is free */
	uint8_t            kind;  /* HT_PI_* */
	uint8_t            bytes[HT_X86_MAX];
};

#define HT_PI_SYSCALL 0x01u /* enters a system call: SYSCALL, SYSENTER, INT 80H */
#define HT_PI_PUSHF   0x02u /* stores the trap flag */
#define HT_PI_POPF    0x04u /* may set the trap flag */
#define HT_PI_SS      0x08u /* loads SS: the trap is held back by one instruction */
#define HT_PI_INT1    0x10u
#define HT_PI_INT3    0x20u

#define HT_PAGE_BUCKETS  256u
#define HT_INSN_ENTRIES  4096u

struct ht_pspan { uint64_t start, end; };

/* A process: an address space and what its threads share. */
struct ht_pproc {
	pid_t            pid;
	unsigned         refs;       /* threads */
	int              outlived;   /* that it goes on untraced was told */
	unsigned         generation; /* rises with each change of mappings or code */
	int              mem;        /* /proc/PID/mem */
	int              trap_ignored; /* the program ignores SIGTRAP */
	struct { struct ht_pmap *at; size_t n, cap; } maps;
	struct { struct ht_pspan *at; size_t n, cap; } wanted; /* code to record, with a filter */
	struct ht_ppage *pages[HT_PAGE_BUCKETS];
	struct ht_pinsn *insns;      /* HT_INSN_ENTRIES, by address */
};

enum ht_pstate {
	HT_PS_NEW,      /* not traced yet */
	HT_PS_USER,     /* about to run the instruction at `ip` */
	HT_PS_SYSCALL,  /* in a system call */
	HT_PS_ENDED
};

struct ht_pthread {
	pid_t              tid;
	struct ht_pproc   *proc;
	struct ht_pthread *next;       /* in the bucket */
	enum ht_pstate     state;
	struct ht_step     step;
	uint32_t           index;      /* of the stream, once it has bytes */
	int                has_index, started;
	uint64_t           ip;
	uint64_t           back;       /* where it returns to, when `ip` is in the vsyscall page */
	struct ht_pinsn    insn;       /* at `ip`; size 0: no code can be read there */
	unsigned           generation; /* of the process, as of the last TSC */
	unsigned           mode;       /* 32 or 64 */
	int                restart;    /* the call at `ip` was broken off and is made again, unless a handler comes */
	int                own_tf;     /* the program itself set the trap flag */
	int tf_unsure;                 /* the kernel does not know whose the flag is */
	int stepped;  /* the instruction has run, and the signal of its step is still to come */
	int settling; /* it goes to a stop with no instruction in between ... */
	uint64_t settling_sp;          /* ... from this stack pointer */
	int                signal;     /* to be delivered on resuming */
	int                caught;     /* ... by a handler */
	int                injected;   /* a signal went with the last resumption */
	uint64_t           mask;       /* signals that the program blocks; the kernel's ... */
	int                unblocked;  /* ... differs: SIGTRAP was taken out */
	int                late;       /* the kernel has yet to put back `mask` */
	int                held;       /* a SIGTRAP for the program waits until it may come: HT_PH_* */
	siginfo_t          held_info;
	long               call;       /* number of the system call */
	int                call32;     /* ... in the i386 table */
	uint64_t           arg[3];
	uint64_t           call_began; /* ns; 0 = before we came */
	int                broken;     /* it has just returned EINTR, for what is yet to be seen: HT_PB_* */
	int                shortened;  /* its time to wait was ... */
	uint64_t           time_to_wait; /* ... this, in ms, in the register of argument 3 */
	int                has_affinity;
	cpu_set_t          affinity;   /* what the program has set, while we have it on one CPU */
	uint64_t           dropped;    /* bytes, with HT_CAPTURE_OVERWRITE */
};

#define HT_PH_OURS   1 /* we have it */
#define HT_PH_QUEUED 2 /* it is in the kernel's queue, with a siginfo of ours */

#define HT_PB_EINTR 1 /* as the kernel left it */
#define HT_PB_REDO  2 /* and is to be made again: no handler, and no stop, was the cause */

#define HT_TID_BUCKETS 1024u

struct ht_ptrace {
	const struct ht_capture_config *config;
	struct ht_capture_result *result;
	struct ht_diag           *diag;
	struct ht_perf_writer    *writer;
	int                       settled;  /* the file has its name */
	int                       failed;   /* -HT_E...: writing has ended, the program runs on */
	uint64_t                  met;      /* ht_filter_meet() */
	long                      options;  /* PTRACE_O_* */
	pid_t                     main_pid;
	int                       main_ended;
	unsigned                  n_threads;
	struct ht_pthread        *threads[HT_TID_BUCKETS];
	uint32_t                  n_streams;
	uint64_t                  now;      /* last stamp, ns */
	unsigned                  order;
	char                      filter[2048];
	size_t filter_size;                          /* 0 = none */
	char                      filter_text[4096]; /* ht_filter_text() */
	int                       pin;      /* CPU that all threads are kept on; -1 = none */
	cpu_set_t                 own_cpus; /* our own mask, to be put back */
	int                       stopping; /* threads are being let go */
	int                       main_over; /* ... since the main process ended a while ago */
	unsigned                  outlived; /* processes that go on untraced */
	int                       told_lost, told_set_id;
};

/* ptrace.c */
uint64_t ht_ptrace_stamp(struct ht_ptrace *r);  /* later than every stamp before */
void     ht_ptrace_note(struct ht_ptrace *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void     ht_ptrace_record(struct ht_ptrace *r, struct ht_record *rec);
/* The file cannot be written any more (diag says why; NULL = no memory): the program runs on, not recorded. */
void     ht_ptrace_fail(struct ht_ptrace *r, int rc, const struct ht_diag *diag);
/* The main process stopped by `sig`: so do we, where a shell waits for that. */
void     ht_ptrace_stop_along(struct ht_ptrace *r, int sig);

/* ptrace_thread.c: threads and their streams */
struct ht_pthread *ht_pthread_find(struct ht_ptrace *r, pid_t tid);
/* A thread seen for the first time; `from` is the thread that made it, NULL if not known. */
struct ht_pthread *ht_pthread_add(struct ht_ptrace *r, pid_t tid, const struct ht_pthread *from);
/* The thread is gone: EXIT, and the rest of its stream. Frees t. */
void ht_pthread_end(struct ht_ptrace *r, struct ht_pthread *t);
/* The name of a thread; 0, or -HT_ENOTFOUND and "". */
int  ht_pthread_comm(pid_t pid, pid_t tid, char comm[32]);
void ht_pthread_rename(struct ht_ptrace *r, const struct ht_pthread *t, int exec);
/* Its stream begins now. */
void ht_pthread_start(struct ht_ptrace *r, struct ht_pthread *t);
/* Hand packets to the file: all of them with `all`, else once there are many. */
void ht_pthread_flush(struct ht_ptrace *r, struct ht_pthread *t, int all);
/* Process and parent of thread `tid` by /proc; 0 or -HT_ENOTFOUND. */
int  ht_pthread_parents(pid_t tid, pid_t *pid, pid_t *ppid);

/* ptrace_space.c: mappings and code */
struct ht_pproc *ht_pproc_new(struct ht_ptrace *r, pid_t pid, const struct ht_pproc *like);
void ht_pproc_free(struct ht_pproc *p);
/* A new program was loaded: all that was known of the old one is void. */
void ht_pproc_exec(struct ht_ptrace *r, struct ht_pproc *p);
/* Read the mappings again and record what changed; `initial`: they were there before the trace. */
void ht_pproc_scan(struct ht_ptrace *r, struct ht_pproc *p, pid_t tid, int initial);
size_t ht_pproc_read(const struct ht_pproc *p, uint64_t addr, void *buf, size_t size);
int  ht_pproc_write(const struct ht_pproc *p, uint64_t addr, const void *buf, size_t size);
/* The instruction at t->ip into t->insn, with the bytes that are there now. */
void ht_pproc_fetch(struct ht_ptrace *r, struct ht_pthread *t);
const struct ht_pmap *ht_pproc_map(const struct ht_pproc *p, uint64_t addr);

/* ptrace_filter.c */
int  ht_pfilter_init(struct ht_ptrace *r, const struct ht_program *program, struct ht_diag *diag);
/* Work out anew which code of the process is wanted. */
void ht_pfilter_apply(struct ht_ptrace *r, struct ht_pproc *p);
int  ht_pfilter_wants(const struct ht_ptrace *r, const struct ht_pproc *p, uint64_t ip);

/* ptrace_stop.c: what each stop means */
void ht_pstop_handle(struct ht_ptrace *r, pid_t tid, int status);

/* ptrace_call.c: system calls */
void ht_pcall_enter(struct ht_ptrace *r, struct ht_pthread *t, const struct user_regs_struct *regs);
/* Is it one that ends with EINTR for any signal? *ms: argument 3 is a time to wait, in ms. */
int  ht_pcall_waits(const struct ht_pthread *t, int *ms);
void ht_pcall_leave(struct ht_ptrace *r, struct ht_pthread *t, const struct user_regs_struct *regs);

/*
 * ptrace_signal.c: SIGTRAP is ours and the program's.  The kernel forces the
 * signal of a single-step on the thread: were it blocked or ignored then, the
 * program's disposition would be lost.  So it is kept open while instructions
 * are stepped, and put back for system calls and handlers.
 */
void ht_psignal_begin(struct ht_pthread *t);   /* first stop of a process that runs already */
void ht_psignal_unmask(struct ht_pthread *t);  /* the mask may be new: keep SIGTRAP open */
void ht_psignal_late(struct ht_pthread *t);    /* it will be, once a signal was taken */
void ht_psignal_stepped(struct ht_pthread *t); /* the signal of a step has come */
void ht_psignal_remask(struct ht_pthread *t);  /* the kernel is to see the program's mask */
/* A signal for the program: sets t->signal and t->caught, or holds it. */
void ht_psignal_take(struct ht_pthread *t, int sig, const siginfo_t *info);
void ht_psignal_action(struct ht_pthread *t);  /* sigaction() of SIGTRAP has returned */
int  ht_psignal_step_pending(const struct ht_pthread *t); /* the signal of a step is still queued */
/* Nothing comes of the signal that was taken last, as if it had not been sent. */
int  ht_psignal_ignored(const struct ht_pthread *t, int sig);
int  ht_psignal_to_come(const struct ht_pthread *t);  /* one with a handler is queued */
int  ht_psignal_pending(pid_t pid, int sig);          /* sent to the process, and not taken yet */

/*
 * ptrace_flag.c: the trap flag is ours and the program's.  The kernel knows whose
 * it is, takes away what is ours before a handler's frame is written, and hides it
 * from PTRACE_GETREGS, but forgets it with each step of POPF or IRET (see
 * is_setting_trap_flag() in Linux, arch/x86/kernel/step.c).  It is brought to know
 * again by a stop that is not a step's: PTRACE_CONT with an interrupt that waits.
 */
uint64_t ht_preg_get(const struct ht_pthread *t, size_t offset); /* as of PTRACE_PEEKUSER */
void ht_preg_set(const struct ht_pthread *t, size_t offset, uint64_t value);

#define HT_PREG(t, name)            ht_preg_get((t), offsetof(struct user, regs.name))
#define HT_PREG_SET(t, name, value) ht_preg_set((t), offsetof(struct user, regs.name), (value))

void
ht_pflag_pushed(struct ht_pthread *t); /* PUSHF has run: what it stored is to be the program's */
/* POPF or IRET has run; `shadowed`: in one step with an instruction that loads SS. */
void ht_pflag_popped(struct ht_pthread *t, int shadowed);
/* Resume for one instruction, with a signal; or first to a stop in front of it. */
void ht_pflag_step(struct ht_pthread *t, int sig);
void ht_pflag_settle(struct ht_pthread *t); /* it will be resumed, not for a step */
/* In user mode, at a stop that is no signal: 1 when the signal it was resumed with led into a handler. */
int ht_pflag_stopped(struct ht_pthread *t);

/*
 * ptrace_pin.c: the recorder and what it traces share one CPU, since a step is
 * two switches between them; the program is told the mask that it would have.
 */
void ht_ppin_init(struct ht_ptrace *r);
void ht_ppin_fini(struct ht_ptrace *r);
void ht_ppin_thread(struct ht_ptrace *r, struct ht_pthread *t, const struct ht_pthread *from);
void ht_ppin_hold(struct ht_ptrace *r, struct ht_pthread *t);
void ht_ppin_release(struct ht_ptrace *r, struct ht_pthread *t);
void ht_ppin_get(struct ht_ptrace *r, struct ht_pthread *t, int64_t result); /* sched_getaffinity() has returned */
void ht_ppin_set(struct ht_ptrace *r, struct ht_pthread *t, int64_t result); /* sched_setaffinity() */

#endif
