/* SPDX-License-Identifier: BSD-2-Clause */
/* What is written is read back, every field of every kind; what no packet can hold is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "encode/packet.h"
#include "random_packet.h"

static void
round_trip(void **state)
{
	uint64_t seed = 0x9e3779b97f4a7c15ull;

	(void)state;
	for (unsigned round = 0; round < 2000; round++)
		for (unsigned kind = HT_PT_BAD + 1; kind < HT_PT_KIND_COUNT; kind++) {
			unsigned bytes = round & 1 ? 4 : 8, block = kind == HT_PT_BIP ? bytes : 0, was = block;
			struct ht_pt_packet p = random_packet(&seed, kind, bytes), got;
			uint8_t buf[HT_PT_PACKET_MAX], *exact;
			unsigned n = ht_pt_packet_write(&p, buf);

			assert_true(n > 0 && n <= HT_PT_PACKET_MAX);
			exact = malloc(n);
			memcpy(exact, buf, n);
			for (unsigned k = 0; k < n; k++) {
				assert_int_equal(ht_pt_packet_read(exact, k, &block, &got), HT_PT_NEED_MORE);
				assert_int_equal(block, was);
			}
			assert_int_equal(ht_pt_packet_read(exact, n, &block, &got), n);
			free(exact);
			p.size = (uint8_t)n;
			assert_int_equal(got.kind, p.kind);
			assert_int_equal(got.value, p.value);
			assert_int_equal(got.extra, p.extra);
			assert_int_equal(got.count, p.count);
			assert_int_equal(got.flags, p.flags);
			assert_int_equal(got.size, p.size);
		}
}

/* A whole block, with what may stand between its items, and what ends it. */
static void
blocks(void **state)
{
	static const uint8_t kinds[] = { HT_PT_BBP, HT_PT_BIP, HT_PT_CYC, HT_PT_MTC, HT_PT_TSC, HT_PT_FUP,
		                         HT_PT_PAD, HT_PT_BIP, HT_PT_BEP, HT_PT_TNT_8 };
	uint64_t seed = 77;

	(void)state;
	for (unsigned round = 0; round < 500; round++) {
		struct ht_pt_packet want[sizeof(kinds)], got;
		uint8_t stream[sizeof(kinds) * HT_PT_PACKET_MAX];
		unsigned block = 0;
		size_t n = 0, at = 0;

		for (unsigned i = 0; i < sizeof(kinds); i++) {
			want[i] = random_packet(&seed, kinds[i], round & 1 ? 4 : 8);
			want[i].size = (uint8_t)ht_pt_packet_write(&want[i], stream + n);
			n += want[i].size;
		}
		for (unsigned i = 0; i < sizeof(kinds); i++) {
			assert_int_equal(ht_pt_packet_read(stream + at, n - at, &block, &got), want[i].size);
			assert_memory_equal(&got, &want[i], offsetof(struct ht_pt_packet, size) + 1);
			at += want[i].size;
		}
		assert_int_equal(block, 0);
	}
}

static void
refused(void **state)
{
	static const struct ht_pt_packet bad[] = {
		{ .kind = HT_PT_BAD }, { .kind = HT_PT_KIND_COUNT },
		{ .kind = HT_PT_TNT_8 }, { .kind = HT_PT_TNT_8, .count = 7 },
		{ .kind = HT_PT_TNT_8, .count = 2, .value = 4 }, { .kind = HT_PT_TNT_64, .count = 48 },
		{ .kind = HT_PT_TIP, .count = 5 }, { .kind = HT_PT_TIP, .count = 7 },
		{ .kind = HT_PT_TIP, .count = 1, .value = 0x10000 }, { .kind = HT_PT_TIP, .value = 1 },
		{ .kind = HT_PT_PIP, .value = 1 }, { .kind = HT_PT_VMCS, .value = 1 },
		{ .kind = HT_PT_VMCS, .value = 1ull << 52 }, { .kind = HT_PT_MODE_EXEC, .value = 8 },
		{ .kind = HT_PT_TSC, .value = 1ull << 56 }, { .kind = HT_PT_MTC, .value = 256 },
		{ .kind = HT_PT_TMA, .extra = 512 }, { .kind = HT_PT_TMA, .value = 0x10000 },
		{ .kind = HT_PT_CYC, .value = 1ull << 61 }, { .kind = HT_PT_PTW, .count = 2 },
		{ .kind = HT_PT_PTW, .count = 4, .value = 1ull << 32 }, { .kind = HT_PT_BBP, .count = 4, .extra = 32 },
		{ .kind = HT_PT_BIP, .count = 8, .extra = 32 }, { .kind = HT_PT_BIP, .count = 3 },
		{ .kind = HT_PT_CFE, .extra = 32 }, { .kind = HT_PT_CFE, .value = 256 },
		{ .kind = HT_PT_EVD, .extra = 64 }, { .kind = HT_PT_TRIG, .value = 256 },
		{ .kind = HT_PT_TRIG, .extra = 1 }, { .kind = HT_PT_PWRX, .value = 1ull << 40 },
	};
	uint8_t buf[HT_PT_PACKET_MAX];

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(ht_pt_packet_write(&bad[i], buf), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip),
		cmocka_unit_test(blocks),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
