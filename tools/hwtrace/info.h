/* SPDX-License-Identifier: BSD-2-Clause */
/* What `hwtrace info` found, for its two writers. */
#ifndef TOOL_INFO_H
#define TOOL_INFO_H

#include <hwtrace/losses.h>

#include "filter.h"
#include "json.h"
#include "loss.h"
#include "where.h"

struct stream_figures {
	struct ht_decoder_stats stats;
	const char             *engine;
	int                     left_out; /* the filter has no need of it */
};

struct info_report {
	const struct input    *in;
	struct filter         *filter;
	struct where *where;              /* NULL = no file or function is asked for */
	struct stream_figures *figures;   /* one a stream; NULL = not decoded */
	struct ht_losses      *losses;    /* NULL = not asked for */
	uint64_t               records[HT_REC_KIND_COUNT];
	uint64_t               damaged;   /* sideband records that could not be read */
	int                    with_maps;
	struct loss            loss;
};

const char *info_source_name(enum ht_trace_source source);
const char *info_arch_name(enum ht_arch arch);
const char *info_record_name(unsigned kind);
const char *info_module_state(enum ht_module_state state);
/* "3af1..." of an id into `buf` (at least 2 * HT_BUILD_ID_MAX + 1 bytes). */
const char *info_build_id(const uint8_t *id, unsigned size, char *buf);

/* Bytes that `engine` decoded; `r` has figures. */
uint64_t info_decoded_by(const struct info_report *r, const char *engine);

void info_write_text(const struct info_report *r, struct ht_text *t);
void info_write_json(const struct info_report *r, struct ht_text *t);

#endif
