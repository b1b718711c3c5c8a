/* SPDX-License-Identifier: BSD-2-Clause */
/* The stream of a thread that died is completed from what it left, wherever it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/shm.h"
#include "encode/pt.h"

#define RING HT_SHM_RING_MIN

static struct ht_shm_slot *slot;
static uint8_t *ring;

static int
set_up(void **state)
{
	(void)state;
	slot = aligned_alloc(64, (sizeof(*slot) + 63) / 64 * 64);
	ring = calloc(1, RING);
	memset(slot, 0, sizeof(*slot));
	slot->state = HT_SLOT_ACTIVE;
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	free(slot);
	free(ring);
	return 0;
}

static void
leave(uint64_t head, uint64_t hole, uint64_t end, uint64_t tnt, uint64_t ip)
{
	slot->head = head;
	slot->live.tnt = tnt | end << 48;
	slot->live.block_ip = (ip & HT_LIVE_BITS) | hole << 48;
}

static void
expect(uint64_t from, const uint8_t *want, size_t n)
{
	assert_int_equal(slot->head, from + n);
	assert_int_equal(slot->state, HT_SLOT_CLOSED);
	assert_int_equal(slot->cut, 1);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(ring[(from + i) % RING], want[i]);
}

/* FUP and TIP.PGD at `p`. */
static uint8_t *
ending(uint8_t *p, uint64_t ip)
{
	return ht_pt_ip_none(ht_pt_ip(p, HT_PT_FUP, ip, HT_PT_NO_BASE), HT_PT_TIP_PGD);
}

static void
test_off(void **state)
{
	(void)state;
	leave(100, 0, 132, 0, 0);
	ht_shm_complete(slot, ring, RING);
	assert_int_equal(slot->head, 132);
	assert_int_equal(slot->cut, 0);
	assert_int_equal(slot->state, HT_SLOT_CLOSED);
}

static void
test_nothing_pending(void **state)
{
	uint8_t want[32], *end = ending(want, 0x401000);

	(void)state;
	leave(1000, 1200, 1200 + HT_TNT_ROOM, 1, 0x401000);
	ht_shm_complete(slot, ring, RING);
	expect(1200, want, (size_t)(end - want));
}

static void
test_pending(void **state)
{
	uint8_t want[64], *end = ht_pt_tnt_long(want, 0x2d);

	(void)state;
	leave(1000, 1000, 1000 + HT_TNT_ROOM, 0x2d, 0x401000);
	end = ending(end, 0x401000);
	ht_shm_complete(slot, ring, RING);
	expect(1000, want, (size_t)(end - want));
}

/* Jumps back [first, next) behind the state in `live`, with the turn bit as of `committed`. */
static void
turn(uint32_t first, uint32_t next, uint32_t committed, uint64_t tnt, uint64_t offset)
{
	slot->turns.tnt = tnt;
	slot->turns.offset = offset;
	slot->turns.first = first;
	slot->turns.next = next;
	for (uint32_t i = first; i != next; i++)
		slot->turns.at[i % HT_TURNS_MAX] =
		    (struct ht_shm_turn){ 0x401020 + i, 0x401000 + i };
	if (committed & 1)
		slot->live.tnt |= HT_TURN_BIT;
}

/* Off and on at `ip`, with its address in full, or behind one of the same upper bytes. */
static uint8_t *
off_and_on(uint8_t *p, uint64_t ip, uint64_t base)
{
	p = ht_pt_ip_none(ht_pt_ip(p, HT_PT_FUP, ip, base), HT_PT_TIP_PGD);
	return ht_pt_ip(p, HT_PT_TIP_PGE, ip, ip);
}

static void
test_turns(void **state)
{
	static const struct {
		uint32_t first, next, committed, told;
	} cases[] = {
		{ 0, 0, 0, 0 },     { 0, 1, 1, 1 },   { 0, 1, 0, 0 },
		{ 7, 9, 9, 2 },     { 7, 9, 8, 1 },   { 20, 36, 36, 16 },
		{ 20, 36, 35, 15 }, { 5, 22, 22, 0 }, { UINT32_MAX, 1, 1, 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (unsigned pending = 0; pending < 2; pending++) {
			const uint64_t tnt = pending ? 0x2d : 1, end = 60000 + HT_TNT_ROOM;
			uint8_t want[1024], *p = pending ? ht_pt_tnt_long(want, tnt) : want;

			memset(slot, 0, sizeof(*slot));
			leave(60000, 60000, end, tnt, 0x401000);
			turn(cases[i].first, cases[i].next, cases[i].committed, tnt, end);
			for (uint32_t k = cases[i].first; k != cases[i].first + cases[i].told;
			     k++) {
				p = off_and_on(p, 0x401020 + k, HT_PT_NO_BASE);
				p = off_and_on(p, 0x401000 + k, 0x401020 + k);
			}
			p = ending(p, 0x401000);
			ht_shm_complete(slot, ring, RING);
			expect(60000, want, (size_t)(p - want));
		}
}

/* Jumps of another state: outcomes or packets came since. */
static void
test_old_turns(void **state)
{
	uint8_t want[64], *end = ending(ht_pt_tnt_long(want, 5), 0x401000);

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		memset(slot, 0, sizeof(*slot));
		leave(1000, 1000, 1000 + HT_TNT_ROOM, 5, 0x401000);
		turn(0, 3, 3, i ? 5 : 2, 1000 + (i ? HT_TNT_ROOM + 1 : HT_TNT_ROOM));
		ht_shm_complete(slot, ring, RING);
		expect(1000, want, (size_t)(end - want));
	}
}

/* Deferred TIP packets stay behind the outcomes; across the ring's end and the 16 bits of the tags. */
static void
test_deferred(void **state)
{
	const uint64_t at[] = { 5000, RING - 4, RING - 20, 3 * (uint64_t)RING - 12, 0x123456789fff0ull };

	(void)state;
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		uint8_t want[64], *p = ht_pt_tnt_long(want, 0x15), *end;

		p = ht_pt_ip(p, HT_PT_TIP, 0x7f0012345678, HT_PT_NO_BASE);
		p = ht_pt_ip(p, HT_PT_TIP, 0x7f0012340000, 0x7f0012345678);
		for (uint8_t *q = want + HT_TNT_ROOM; q < p; q++)
			ring[(at[i] + (uint64_t)(q - want)) % RING] = *q;
		slot->state = HT_SLOT_ACTIVE;
		leave(at[i] - 700, at[i], at[i] + (uint64_t)(p - want), 0x15, 0xffffffffff600400ull);
		end = ending(p, 0xffffffffff600400ull);
		ht_shm_complete(slot, ring, RING);
		expect(at[i], want, (size_t)(end - want));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_off, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_nothing_pending, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_turns, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_old_turns, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_pending, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_deferred, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
