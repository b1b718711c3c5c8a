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
		cmocka_unit_test_setup_teardown(test_pending, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_deferred, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
