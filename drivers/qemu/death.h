/* SPDX-License-Identifier: BSD-2-Clause */
/* The moment when QEMU is about to die of the program's signal. */
#ifndef QEMU_DEATH_H
#define QEMU_DEATH_H

void ht_death_init(void);

#endif
