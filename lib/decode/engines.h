/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engines that were built in, in order of preference, NULL at the end.  The
 * makefile chooses one of the files that define it.
 */
#ifndef DECODE_ENGINES_H
#define DECODE_ENGINES_H

#include "decode/engine.h"

extern const struct ht_engine *const ht_engines[];

#endif
