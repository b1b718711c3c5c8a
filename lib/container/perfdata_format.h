/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The perf.data file as bytes: what reader and writer share.  Kernel records
 * are in <linux/perf_event.h>; perf's own ones and the file header are stated
 * here.  All integers are little-endian, records begin with perf_event_header.
 *
 *	header 104 | ids | attrs | data: records, AUXTRACE followed by its bytes |
 *	one (offset, size) for each feature bit that is set | the features
 */
#ifndef CONTAINER_PERFDATA_FORMAT_H
#define CONTAINER_PERFDATA_FORMAT_H

#include <stdint.h>
#include <linux/perf_event.h>

#define HT_PERF_MAGIC         0x32454c4946524550ull /* "PERFILE2" */
#define HT_PERF_MAGIC_SWAPPED 0x50455246494c4532ull
#define HT_PERF_MAGIC_1       0x454c494646524550ull /* "PERFFILE", version 1 */
#define HT_PERF_HEADER_SIZE   104
#define HT_PERF_PIPE_HEADER_SIZE 16
#define HT_PERF_STRING_ALIGN  64 /* strings in features are padded to this */

/* Record types of the perf tool, above those of the kernel. */
enum ht_perf_user_record {
	HT_PERF_HEADER_ATTR = 64,
	HT_PERF_HEADER_TRACING_DATA = 66,
	HT_PERF_HEADER_BUILD_ID = 67,
	HT_PERF_FINISHED_ROUND = 68,
	HT_PERF_ID_INDEX = 69,
	HT_PERF_AUXTRACE_INFO = 70,
	HT_PERF_AUXTRACE = 71,
	HT_PERF_TIME_CONV = 79,
	HT_PERF_HEADER_FEATURE = 80,
	HT_PERF_COMPRESSED = 81,
	HT_PERF_COMPRESSED2 = 83
};

/* Feature bits.  HWTRACE is ours, far above those of perf and simpleperf, which skip it in silence. */
enum ht_perf_feature {
	HT_PERF_FEAT_BUILD_ID = 2,
	HT_PERF_FEAT_HOSTNAME = 3,
	HT_PERF_FEAT_OSRELEASE = 4,
	HT_PERF_FEAT_VERSION = 5,
	HT_PERF_FEAT_ARCH = 6,
	HT_PERF_FEAT_NRCPUS = 7,
	HT_PERF_FEAT_CPUDESC = 8,
	HT_PERF_FEAT_CPUID = 9,
	HT_PERF_FEAT_CMDLINE = 11,
	HT_PERF_FEAT_EVENT_DESC = 12,
	HT_PERF_FEAT_PMU_MAPPINGS = 16,
	HT_PERF_FEAT_AUXTRACE = 18,
	HT_PERF_FEAT_SAMPLE_TIME = 21,
	HT_PERF_FEAT_DIR_FORMAT = 24,
	HT_PERF_FEAT_COMPRESSED = 27,
	HT_PERF_FEAT_HWTRACE = 250,
	HT_PERF_FEAT_COUNT = 256
};

/* branch_sample_type of later kernels: a word of event counts behind each stack, one an entry. */
#define HT_PERF_SAMPLE_BRANCH_COUNTERS (1u << 19)

/* AUXTRACE_INFO: u32 type, u32 reserved, then u64 words whose meaning depends on the type. */
#define HT_PERF_AUXTRACE_TYPE_INTEL_PT   1
#define HT_PERF_AUXTRACE_TYPE_INTEL_BTS  2
#define HT_PERF_AUXTRACE_TYPE_CS_ETM     3
#define HT_PERF_AUXTRACE_TYPE_ARM_SPE    4
#define HT_PERF_AUXTRACE_TYPE_S390       5
#define HT_PERF_AUXTRACE_TYPE_HISI_PTT   6

enum ht_perf_pt_word {
	HT_PERF_PT_PMU_TYPE = 0,
	HT_PERF_PT_TIME_SHIFT,
	HT_PERF_PT_TIME_MULT,
	HT_PERF_PT_TIME_ZERO,
	HT_PERF_PT_CAP_TIME_ZERO,
	HT_PERF_PT_TSC_BIT,
	HT_PERF_PT_NORETCOMP_BIT,
	HT_PERF_PT_HAVE_SWITCH,
	HT_PERF_PT_SNAPSHOT,
	HT_PERF_PT_PER_CPU,
	HT_PERF_PT_MTC_BIT,
	HT_PERF_PT_MTC_FREQ_BITS,
	HT_PERF_PT_TSC_CTC_NUM,
	HT_PERF_PT_TSC_CTC_DEN,
	HT_PERF_PT_CYC_BIT,
	HT_PERF_PT_MAX_NONTURBO,
	HT_PERF_PT_FILTER_LEN,
	HT_PERF_PT_EVENT_TRACE,
	/* Ours, where perf has nothing: a file that was not completed has no features. */
	HT_PERF_PT_MARK,
	HT_PERF_PT_MARK_FLAGS, /* HT_PERF_PT_MARK_* */
	HT_PERF_PT_MARK_NAME,  /* backend: 16 bytes, NUL-terminated */
	HT_PERF_PT_MARK_NAME_2,
	HT_PERF_PT_WORDS
};

#define HT_PERF_MARK 0x0065636172747768ull /* "hwtrace" */
#define HT_PERF_PT_MARK_SOFTWARE 1u /* recorded by the software trace unit */
#define HT_PERF_PT_MARK_FILTER   2u /* behind the words: what tracing was limited to, text with a NUL */
#define HT_PERF_PT_MARK_LIMITS 4u   /* behind that text: the same as ht_limits_read() reads it */

/* Intel PT PMU: bits of perf_event_attr.config, as IA32_RTIT_CTL has them. */
#define HT_PERF_PT_CFG_PT        (1ull << 0)
#define HT_PERF_PT_CFG_CYC       (1ull << 1)
#define HT_PERF_PT_CFG_MTC       (1ull << 9)
#define HT_PERF_PT_CFG_TSC       (1ull << 10)
#define HT_PERF_PT_CFG_NORETCOMP (1ull << 11)
#define HT_PERF_PT_CFG_BRANCH    (1ull << 13)
#define HT_PERF_PT_CFG_MTC_FREQ  (0xfull << 14)

/* HEADER_BUILD_ID entry: header, i32 pid, 20 bytes, u8 size (with this misc bit), 3 unused, path. */
#define HT_PERF_MISC_BUILD_ID_SIZE (1u << 15)

/*
 * How we write what was lost and no stream tells of: PERF_RECORD_LOST, which has id
 * and count, and behind them HT_PERF_MARK, u64 enum ht_gap_kind, text with a NUL.
 * perf warns of lost chunks, and finds its sample_id at the record's end.
 */
#define HT_PERF_LOST_WHY 16 /* bytes in front of the text */

/*
 * In the flags of an AUX record of no bytes, beside PERF_AUX_FLAG_TRUNCATED: the thread
 * was killed while it ran, and of its trace at most the last block is missing.  A bit
 * that no kernel uses; perf counts the record as truncated.
 */
#define HT_PERF_AUX_FLAG_KILLED (1ull << 62)

/*
 * How we write HT_REC_MUNMAP: a MMAP2 without PROT_EXEC over the range, under
 * this name.  perf cuts the old mapping out and has nothing to show for it.
 */
#define HT_PERF_MUNMAP_NAME "[hwtrace:unmapped]"

#endif
