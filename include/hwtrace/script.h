/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples as lines of text, column for column as perf script writes them, or as JSON. */
#ifndef HWTRACE_SCRIPT_H
#define HWTRACE_SCRIPT_H

#include <stddef.h>
#include <stdint.h>

#include <hwtrace/sample.h>
#include <hwtrace/text.h>

/* Fields: bit, name. The names are perf's. */
#define HT_FIELDS(X)          \
	X(COMM, "comm")       \
	X(TID, "tid")         \
	X(PID, "pid")         \
	X(TIME, "time")       \
	X(CPU, "cpu")         \
	X(EVENT, "event")     \
	X(IP, "ip")           \
	X(SYM, "sym")         \
	X(SYMOFF, "symoff")   \
	X(DSO, "dso")         \
	X(ADDR, "addr")       \
	X(PERIOD, "period")   \
	X(FLAGS, "flags")     \
	X(INSN, "insn")       \
	X(INSNLEN, "insnlen") \
	X(DISASM, "disasm")   \
	X(BRSTACK, "brstack")

enum ht_field_index {
#define HT_FIELD_INDEX(field, name) HT_FIELD_INDEX_##field,
	HT_FIELDS(HT_FIELD_INDEX)
#undef HT_FIELD_INDEX
	HT_FIELD_COUNT
};

enum ht_field {
#define HT_FIELD_BIT(field, name) HT_FIELD_##field = 1u << HT_FIELD_INDEX_##field,
	HT_FIELDS(HT_FIELD_BIT)
#undef HT_FIELD_BIT
};

/* The bit of a field's name, 0 when there is no such field. */
uint32_t    ht_field_by_name(const char *name, size_t len);
const char *ht_field_name(unsigned index); /* NULL past the end */

enum ht_script_style { HT_SCRIPT_TEXT = 0, HT_SCRIPT_JSON, HT_SCRIPT_CALLS };

struct ht_script_config {
	size_t      size;        /* sizeof(struct ht_script_config) */
	uint32_t    fields;      /* HT_FIELD_*, the columns that a line has */
	enum ht_script_style style; /* CALLS: a line a call, indented by depth */
	int         nanoseconds; /* time with nine places instead of six */
	const char *const *dsos; /* only samples in these files (base name or path), NULL-terminated; NULL = all */
	const char *const *syms; /* only samples in these functions, by the name in the file or as shown; NULL = all */
	int         gaps;        /* a line for each gap */
	unsigned    event_width; /* of the event column */
	int         branch_addr; /* the target is shown for branches only */
	int         mangled;     /* names of symbols as they are in the file */
};

struct ht_script;

/* `s`, `out` and config->dsos are borrowed until _free(). Returns 0, -HT_EINVAL or -HT_ENOMEM. */
int  ht_script_new(struct ht_session *s, const struct ht_script_config *config, struct ht_text *out,
                   struct ht_script **script);
/* Has function number `i` of config.syms come by? */
int  ht_script_saw(const struct ht_script *s, size_t i);
void ht_script_free(struct ht_script *s);
/* Write a run as it came from ht_merge_next(); errors are out->error. */
void ht_script_show(struct ht_script *s, const struct ht_sample *run, int n, const struct ht_lane *lane);
/* Write a gap of ht_session_gap(), where gaps are shown. */
void ht_script_show_gap(struct ht_script *s, const struct ht_gap *gap);

#endif
