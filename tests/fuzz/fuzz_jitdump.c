/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzz target: jitdumps, and what is none as a map of names.  Checked besides crashes:
 * all that is handed out lies in the file, and code does not overlap there.
 */
#include <stdlib.h>
#include <string.h>

#include "session/module.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(int ok)
{
	if (!ok)
		abort();
}

static void
is_inside(const char *text, const uint8_t *data, size_t size)
{
	size_t at = (size_t)((const uint8_t *)text - data);

	must(at < size && memchr(text, 0, size - at));
}

static void
check_jitdump(const struct ht_jitdump *j, const uint8_t *data, size_t size)
{
	uint64_t end = 0;

	for (size_t i = 0; i < j->codes.n; i++) {
		const struct ht_jit_code *c = &j->codes.at[i];

		must(c->offset <= size && c->size <= size - c->offset &&
		     c->addr + c->size >= c->addr);
		is_inside(c->name, data, size);
		if (c->moved)
			continue;
		must(c->offset >= end);
		end = c->offset + c->size;
	}
	for (size_t i = 0; i < j->lines.n; i++) {
		must(j->lines.at[i].offset < size &&
		     (!i || j->lines.at[i].offset >= j->lines.at[i - 1].offset));
		is_inside(j->lines.at[i].file, data, size);
	}
	must(!j->damaged == !j->diag.error);
}

static void
check_names(const uint8_t *data, size_t size)
{
	struct ht_module m = { .file = { .data = data, .size = size } };

	ht_perfmap_symbols(&m);
	for (size_t i = 0; i < m.symbols.n; i++)
		must(m.symbols.at[i].size && m.symbols.at[i].name[0] &&
		     (!i || m.symbols.at[i].start > m.symbols.at[i - 1].start));
	ht_module_symbols_free(&m);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ht_diag diag = { 0 };
	struct ht_jitdump j;

	if (ht_jitdump_read(&j, "fuzz", data, size, &diag) == 0) {
		check_jitdump(&j, data, size);
	} else {
		must(diag.error && diag.text[0]);
		check_names(data, size);
	}
	ht_jitdump_fini(&j);
	return 0;
}
