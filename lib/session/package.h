/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A package of split debug information (.dwp): the .dwo files of many units, put
 * together.  libdw before 0.191 does not read them.  Each unit that is asked for
 * is made into debug information that stands alone, as if it had never been split.
 */
#ifndef SESSION_PACKAGE_H
#define SESSION_PACKAGE_H

#include <elfutils/libdw.h>

struct ht_package;

/* 0; -HT_ENOTFOUND when there is none, or it is none; -HT_ENOMEM. */
int ht_package_open(const char *path, struct ht_package **out);
/* Frees all units that were handed out. */
void ht_package_close(struct ht_package *p);
/*
 * The unit that `skeleton`, of the program, was split from.  Returns 1; 0 when it is
 * not there or damaged; -HT_ENOMEM.  File numbers in it are those of the skeleton.
 */
int ht_package_unit(struct ht_package *p, Dwarf_CU *skeleton, Dwarf_Die *out);

#endif
