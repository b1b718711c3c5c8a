/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of C++ and Rust symbols as their authors wrote them. */
#ifndef HWTRACE_DEMANGLE_H
#define HWTRACE_DEMANGLE_H

#include <stddef.h>

#define HT_DEMANGLE_MAX 16384 /* a name that would grow longer stays as it is */

enum ht_demangle_flags {
	HT_DEMANGLE_PARAMS = 1 /* with the types of the parameters */
};

/*
 * Write the name that the symbol `mangled` stands for into `buf`.  Returns its
 * length; 0, and `buf` untouched, when there is nothing to demangle or no room:
 * the symbol is then its own name.
 */
size_t ht_demangle(const char *mangled, int flags, char buf[static HT_DEMANGLE_MAX]);

#endif
