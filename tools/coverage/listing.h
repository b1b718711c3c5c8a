/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A function as it is read: its instructions with the source lines that they
 * stand for, and its parts that lie elsewhere.  One module at a time.
 */
#ifndef COVERAGE_LISTING_H
#define COVERAGE_LISTING_H

#include <hwtrace/disasm.h>
#include <hwtrace/line.h>

#include "cover.h"

/* One file of the source, cut into lines. */
struct listing_text {
	char *path; /* NULL = none */
	char *bytes;
	size_t *lines; /* where each begins; one more for the end */
	uint32_t n_lines;
};

#define LISTING_TEXTS 16u

struct listing {
	const struct ht_cov_report *report;
	struct ht_cov_code *code;
	struct ht_module *module;
	uint32_t number; /* of the module */
	struct ht_disasm *disasm;
	int quiet; /* of sources that cannot be read */
	struct listing_text texts[LISTING_TEXTS];
	unsigned next_text; /* to be replaced */
};

/* What is met on the way; members may be NULL. */
struct listing_ops {
	/* Instructions from here on stand for this line; `line`: what is known of it, or NULL. */
	void (*source)(void *arg, const char *path, uint32_t number,
	               const struct ht_cov_line *line);
	void (*insn)(void *arg, const struct ht_cov_insn *i);
	void (*part)(void *arg, uint64_t vaddr); /* another part of it begins */
};

/*
 * Turn to a module; EXIT_OK or, told, EXIT_ERROR.  Costs nothing when it is the
 * one at hand.
 */
int listing_open(struct listing *l, const struct cover *c, const struct ht_cov_report *r,
                 uint32_t module);
void listing_free(struct listing *l);

/* The function that holds `vaddr`, from its first instruction to its last part. */
void listing_walk(struct listing *l, uint64_t vaddr, const struct listing_ops *ops, void *arg);
void listing_insn(struct listing *l, const struct ht_cov_insn *i, char text[HT_DISASM_TEXT]);
/* Text of a line, without its end, and how long it is; "" and 0 when it is not to be had. */
const char *listing_source(struct listing *l, const char *path, uint32_t number, size_t *n);

#endif
