/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses as text, remembered: symbol, offset and file of an address are
 * looked up once a generation of its address space.
 */
#ifndef SINK_PLACE_H
#define SINK_PLACE_H

#include <hwtrace/script.h>

struct place {
	uint64_t    addr, space;
	/* What the fields ask for, ' sym+0x1 (dso)' or ',"sym":"sym","symoff":1,"dso":"dso"'; life: until the next call. */
	const char *text;
	const char *target;    /* JSON: the same for a target, ',"addr_sym":...' */
	const char *insn;      /* text of insn and disasm fields */
	const char *sym;       /* NULL = not known */
	const char *dso;       /* path; NULL = not known */
	uint64_t    offset;    /* from the symbol's start */
	uint16_t    text_len, target_len, insn_len;
	uint8_t     has_insn;
	uint8_t     wanted;    /* passes the filters of files and functions */
};

struct places;

struct places *places_new(const struct ht_script_config *config);
void places_free(struct places *p);
/* Has function number `i` of the filter come by? */
int places_saw(const struct places *p, size_t i);
/* Never NULL. `space` names address space and generation. */
const struct place *place_get(struct places *p, struct ht_view *view, uint64_t space, uint64_t addr);
/* The same with `insn` filled in for an instruction of `size` bytes (0 = not known). */
const struct place *place_insn(struct places *p, struct ht_view *view, uint64_t space, uint64_t addr,
                               unsigned size);
/* The instruction alone, disassembled; life: until the next call. */
const char *place_text(struct places *p, struct ht_view *view, uint64_t addr);

#endif
