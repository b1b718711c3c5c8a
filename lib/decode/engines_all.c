/* SPDX-License-Identifier: BSD-2-Clause */
#include <stddef.h>

#include "decode/engines.h"

const struct ht_engine *const ht_engines[] = {
	&ht_engine_native,
	&ht_engine_libipt,
	&ht_engine_stack,
	NULL
};
