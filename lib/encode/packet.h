/* SPDX-License-Identifier: BSD-2-Clause */
/* Any Intel PT packet from its value: what ht_pt_packet_read() reads, written. */
#ifndef ENCODE_PACKET_H
#define ENCODE_PACKET_H

#include <hwtrace/pt_packet.h>

/*
 * The bytes of `p`, whose size is not looked at.  Returns their number, or 0 when
 * no packet can hold these fields.  A BIP has p->count bytes of value: that of
 * the BBP in front of it.
 */
unsigned ht_pt_packet_write(const struct ht_pt_packet *p, uint8_t buf[HT_PT_PACKET_MAX]);

#endif
