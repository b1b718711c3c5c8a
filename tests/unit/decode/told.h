/* SPDX-License-Identifier: BSD-2-Clause */
/* What ran, as a list: the truth of a model, or what a decoder told. */
#ifndef TEST_TOLD_H
#define TEST_TOLD_H

#include <stddef.h>
#include <stdint.h>

#include <hwtrace/decoder.h>

enum told_kind { TOLD_INSN, TOLD_GAP, TOLD_ENABLE, TOLD_DISABLE, TOLD_ASYNC };

struct told_item {
	uint64_t a;      /* INSN: address. GAP: offset in the stream. ENABLE: address. ASYNC, DISABLE: from */
	uint64_t b;      /* INSN: where a branch went. GAP: bytes. ASYNC: to */
	uint8_t  kind;   /* enum told_kind */
	uint8_t  insn;   /* INSN: enum ht_insn_class. GAP: enum ht_gap_kind */
	uint8_t  branch; /* INSN: a BRANCH was told */
	uint8_t  taken;
	uint8_t  maybe;  /* truth: ran, but the trace need not tell */
};

struct told {
	struct told_item *at;
	size_t n, cap;
	struct ht_decoder_stats stats;
	uint64_t gap_end;    /* of the last gap, in the stream */
	uint64_t gap_bytes;  /* of all gaps */
	uint64_t first_gap;  /* index of the first gap; n = none */
	int      nonsense;   /* the list ends in front of bytes that are no instruction but were told to be one */
	const char *wrong;   /* events that contradict each other; NULL = none */
};

struct told_item *told_add(struct told *t, uint8_t kind, uint64_t a, uint64_t b);
void told_free(struct told *t);
/*
 * Decode stream 0 of `s` with `engine`, `batch` events at a time.  Blocks are
 * taken apart by the code of the batch's view in `mode`.  At most `limit` items.
 */
void told_decode(struct told *t, struct ht_session *s, const char *engine, int batch, size_t limit);
/* "insn 401000 -> 401020 taken" for messages. */
const char *told_text(const struct told *t, size_t i, char *buf, size_t size);

#endif
