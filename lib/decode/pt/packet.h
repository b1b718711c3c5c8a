/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The packet tables, for readers that must be faster than ht_pt_packet_read().
 * All three are worked out by the compiler from HT_PT_PACKETS.
 */
#ifndef DECODE_PT_PACKET_H
#define DECODE_PT_PACKET_H

#include <hwtrace/pt_packet.h>

#define HT_PT_LEAD_EXT  0x02u /* the second byte decides */
#define HT_PT_LEAD_MODE 0x99u

/* Kind by first byte; HT_PT_BAD where the second one decides. */
extern const uint8_t ht_pt_kind_first[256];
/* Kind by second byte after a lead byte; for MNT a third byte is still to be looked at. */
extern const uint8_t ht_pt_kind_extended[256];
extern const uint8_t ht_pt_kind_mode[256];
/* Payload bytes by enum ht_pt_ipc; 0xff = reserved. */
extern const uint8_t ht_pt_ip_bytes[8];

#endif
