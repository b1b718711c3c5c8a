/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Samples: the events of all streams as one sequence of lines to be, in the
 * order and with the words that perf gives them: an instruction, or a branch
 * that was taken, with flags; trace begin and end as branches from and to 0.
 *
 *	while ((n = ht_merge_next(m, &run, &lane)) > 0)
 *		show(run, n, lane);
 */
#ifndef HWTRACE_SAMPLE_H
#define HWTRACE_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include <hwtrace/decoder.h>

enum ht_sample_kind {
	HT_SAMPLE_INSN,
	HT_SAMPLE_BRANCH,
	HT_SAMPLE_TX,  /* transaction begun, ended or aborted at ip */
	HT_SAMPLE_PTW, /* addr = payload written at ip (0 = not known) */
	HT_SAMPLE_GAP  /* addr = index for ht_decoder_gap(); always delivered */
};

/* Bits and values as in perf's tables of branch flags. */
#define HT_SF_BRANCH   0x001u
#define HT_SF_CALL     0x002u
#define HT_SF_RETURN   0x004u
#define HT_SF_COND     0x008u
#define HT_SF_SYSCALL  0x010u
#define HT_SF_ASYNC    0x020u
#define HT_SF_INT      0x040u
#define HT_SF_TX_ABORT 0x080u
#define HT_SF_BEGIN    0x100u
#define HT_SF_END      0x200u
#define HT_SF_IN_TX    0x400u
#define HT_SF_COUNT    0x800u /* all are less */

struct ht_sample {
	uint64_t ip;
	uint64_t addr;  /* where it went, 0 = not known or nowhere */
	uint64_t tsc;   /* ticks; what perf shows: the last time known when the trace confirmed the flow */
	uint16_t flags; /* HT_SF_* */
	uint8_t  kind;  /* enum ht_sample_kind */
	uint8_t  size;  /* bytes of the instruction at ip, 0 = not known */
	uint32_t period; /* INSN: instructions since the last one shown; else 1 */
};

/* "call", "tr end  syscall", ...: into `buf`, which is returned. */
#define HT_SAMPLE_FLAGS_TEXT 32
const char *ht_sample_flags_text(unsigned flags, char buf[HT_SAMPLE_FLAGS_TEXT]);

/* One stream while it is being shown. */
struct ht_lane {
	uint32_t           stream;
	int32_t            pid, tid, cpu;
	struct ht_decoder *decoder;
	struct ht_view    *view; /* holds for the run that was returned last */
};

struct ht_merge_config {
	size_t         size;         /* sizeof(struct ht_merge_config) */
	const char    *engine;       /* as in struct ht_decoder_config */
	int            branches;     /* BRANCH samples */
	unsigned       branch_flags; /* only those with one of these HT_SF_*; 0 = all */
	uint64_t       insn_period;  /* an INSN sample every so many instructions; 0 = none */
	int            transactions, ptwrites; /* TX samples; PTW samples */
	const uint8_t *skip;         /* one byte a stream: nonzero = leave it out; NULL = take all */
	const uint64_t *start;       /* one a stream: as of ht_decoder_config; NULL = from the start */
	uint64_t       tsc_end;      /* no sample later than this is wanted; 0 = all are */
};

struct ht_merge;

/* `s` is borrowed until _free(); `config` is copied. Errors as of ht_decoder_new(). */
int  ht_merge_new(struct ht_session *s, const struct ht_merge_config *config, struct ht_merge **out,
                  struct ht_diag *diag);
void ht_merge_free(struct ht_merge *m);
/*
 * The next run of samples, all of one stream and one address space.  Returns
 * their number, 0 at the end, or an error (diag by ht_merge_diag()).  *run and
 * *lane live until the next call.
 */
int  ht_merge_next(struct ht_merge *m, const struct ht_sample **run, const struct ht_lane **lane);
const struct ht_diag *ht_merge_diag(const struct ht_merge *m);
/* Bytes decoded so far, of `total`; sums over all streams taken. */
uint64_t ht_merge_done(const struct ht_merge *m, uint64_t *total);
/* Figures summed over the streams decoded so far. */
struct ht_decoder_stats ht_merge_stats(const struct ht_merge *m);

#endif
