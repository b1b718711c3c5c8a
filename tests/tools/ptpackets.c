/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ptpackets BYTES [KIND...]: a PSB+ and packets of every kind (but KINDs) with
 * random fields, in all at most BYTES bytes, on stdout.  Items of blocks come in
 * blocks, which end; packets whose FUP must follow do not, for no one is to execute this.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/encode/random_packet.h"
#include "encode/packet.h"

static size_t room;

/* 0 when there is no room for it. */
static int
put(const struct ht_pt_packet *p)
{
	uint8_t buf[HT_PT_PACKET_MAX];
	unsigned n = ht_pt_packet_write(p, buf);

	if (n > room)
		return 0;
	room -= n;
	return fwrite(buf, 1, n, stdout) == n;
}

static int
left_out(unsigned kind, char **names)
{
	for (; *names; names++)
		if (!strcmp(*names, ht_pt_packet_name(kind)))
			return 1;
	return kind == HT_PT_PSB || kind == HT_PT_PAD || kind == HT_PT_BIP || kind == HT_PT_BBP;
}

int
main(int argc, char **argv)
{
	uint64_t seed = 4711;
	struct ht_pt_packet p = random_packet(&seed, HT_PT_PSB, 0);
	unsigned bytes = 8, kind;

	if (argc < 2)
		return 64;
	room = (size_t)strtoul(argv[1], NULL, 10);
	while (put(&p)) {
		kind = 1 + (unsigned)(rnd_next(&seed) % (HT_PT_KIND_COUNT - 1));
		if (kind == HT_PT_BIP) {
			bytes = 12 - bytes;
			if (room < 5 * HT_PT_PACKET_MAX)
				break; /* a block that does not end would make items of what follows */
			p = random_packet(&seed, HT_PT_BBP, bytes);
			put(&p);
			for (unsigned i = 0; i < 3; i++) {
				p = random_packet(&seed, HT_PT_BIP, bytes);
				put(&p);
			}
			kind = HT_PT_BEP;
		}
		while (left_out(kind, argv + 2))
			kind = 1 + (unsigned)(rnd_next(&seed) % (HT_PT_KIND_COUNT - 1));
		p = random_packet(&seed, kind, bytes);
	}
	return 0;
}
