/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the plugin uses of QEMU, version 7.2 or later: its plugin interface
 * (API version 1), and, where the executable exports them, some of its internals. Those are
 * weak: each user asks whether it is there.
 */
#ifndef QEMU_QEMU_API_H
#define QEMU_QEMU_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HT_QEMU_API 1
#define HT_EXPORT   __attribute__((visibility("default")))
#define HT_WEAK     __attribute__((weak))

typedef uint64_t qemu_plugin_id_t;

struct qemu_plugin_tb;
struct qemu_plugin_insn;

struct ht_qemu_info {
	const char *target_name;
	struct {
		int min, cur;
	} version;
	bool system_emulation;
	struct {
		int smp, max;
	} system;
};

enum ht_qemu_cb_flags { HT_QEMU_NO_REGS, HT_QEMU_R_REGS, HT_QEMU_RW_REGS };

typedef void (*ht_qemu_vcpu_cb)(qemu_plugin_id_t id, unsigned vcpu);
typedef void (*ht_qemu_exec_cb)(unsigned vcpu, void *arg);
typedef void (*ht_qemu_trans_cb)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void (*ht_qemu_syscall_cb)(qemu_plugin_id_t id, unsigned vcpu, int64_t nr, uint64_t a1,
                                   uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6,
                                   uint64_t a7, uint64_t a8);
typedef void (*ht_qemu_sysret_cb)(qemu_plugin_id_t id, unsigned vcpu, int64_t nr, int64_t ret);

extern HT_EXPORT int qemu_plugin_version;
HT_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct ht_qemu_info *info, int argc,
                                  char **argv);

void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t id, ht_qemu_vcpu_cb cb);
void qemu_plugin_register_vcpu_exit_cb(qemu_plugin_id_t id, ht_qemu_vcpu_cb cb);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, ht_qemu_trans_cb cb);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, ht_qemu_exec_cb cb,
                                          enum ht_qemu_cb_flags flags, void *arg);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t id, ht_qemu_syscall_cb cb);
void qemu_plugin_register_vcpu_syscall_ret_cb(qemu_plugin_id_t id, ht_qemu_sysret_cb cb);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
const char *qemu_plugin_path_to_binary(void) HT_WEAK;

/* Internals. */
struct ht_qemu_bytes { /* the head of glib's GByteArray */
	uint8_t *data;
	unsigned len;
};

extern __thread void *thread_cpu HT_WEAK;
extern uintptr_t guest_base HT_WEAK;
int x86_cpu_gdb_read_register(void *cpu, struct ht_qemu_bytes *out, int reg) HT_WEAK;
int page_get_flags(uint64_t addr) HT_WEAK;
/* Blocks all signals; nonzero when one waits for the program.  QEMU makes the system call again then. */
int block_signals(void) HT_WEAK;
int walk_memory_regions(void *arg, int (*fn)(void *arg, uint64_t start, uint64_t end, unsigned long prot))
	HT_WEAK;
struct ht_qemu_bytes *g_byte_array_new(void) HT_WEAK;
struct ht_qemu_bytes *g_byte_array_set_size(struct ht_qemu_bytes *bytes, unsigned n) HT_WEAK;
uint8_t *g_byte_array_free(struct ht_qemu_bytes *bytes, int free_segment) HT_WEAK;

/* Bits of page_get_flags(). */
#define HT_QEMU_PAGE_WRITE     0x02
#define HT_QEMU_PAGE_EXEC      0x04
#define HT_QEMU_PAGE_WRITE_ORG 0x10

#endif
