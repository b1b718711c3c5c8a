/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "qemu/block.h"
#include "qemu/filter.h"
#include "qemu/maps.h"
#include "qemu/sideband.h"

#define TABLE_BITS   16
#define HANDLERS_MAX 1024
#define CODE_MAX     8192
#define VSYSCALL     0xffffffffff600000ull

static struct ht_block *table[1u << TABLE_BITS];
static uint64_t handlers[HANDLERS_MAX];
static unsigned n_handlers;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static unsigned
slot_of(uint64_t addr)
{
	return (unsigned)(addr * 0x9e3779b97f4a7c15ull >> (64 - TABLE_BITS));
}

static int
is_handler(uint64_t addr)
{
	for (unsigned i = 0; i < n_handlers; i++)
		if (handlers[i] == addr)
			return 1;
	return 0;
}

int
ht_block_is_handler(uint64_t addr)
{
	int found;

	pthread_mutex_lock(&lock);
	found = is_handler(addr);
	pthread_mutex_unlock(&lock);
	return found;
}

void
ht_block_add_handler(uint64_t addr)
{
	pthread_mutex_lock(&lock);
	if (!is_handler(addr) && n_handlers < HANDLERS_MAX) {
		handlers[n_handlers++] = addr;
		for (struct ht_block *b = table[slot_of(addr)]; b; b = b->next)
			if (b->start == addr)
				atomic_fetch_or(&b->slow, HT_BLOCK_HANDLER);
	}
	pthread_mutex_unlock(&lock);
}

void
ht_block_after_fork(void)
{
	pthread_mutex_init(&lock, NULL);
}

int
ht_block_leads_to(const struct ht_block *b, uint64_t addr)
{
	switch (b->kind) {
	case HT_INSN_JMP_IND:
	case HT_INSN_CALL_IND:
	case HT_INSN_RET:
	case HT_INSN_FAR_IND:
	case HT_INSN_FAR:
		return 1;
	case HT_INSN_NEXT:
	case HT_INSN_REP:
		return addr == b->end || addr == b->last;
	default:
		return addr == b->target || (b->kind == HT_INSN_COND && addr == b->end);
	}
}

/* Fill in what the instructions say.  The last one may be there in part only: see HT_INSN_CUT. */
static void
describe(struct ht_block *b, const struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	const struct qemu_plugin_insn *first = qemu_plugin_tb_get_insn(tb, 0);
	const struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(tb, n - 1);
	size_t size = qemu_plugin_insn_size(last);

	b->start = qemu_plugin_insn_vaddr(first);
	b->last = qemu_plugin_insn_vaddr(last);
	b->end = b->last + size;
	b->n = (uint16_t)n;
	if ((b->start & ~0xfffull) == VSYSCALL) {
		b->kind = HT_INSN_VSYSCALL;
	} else {
		b->kind = ht_insn_classify(qemu_plugin_insn_data(last), size, b->last, &b->target);
	}
	if (b->kind == HT_INSN_CUT) {
		/* QEMU leaves an instruction that crosses a page to the next block, after reading a part. */
		b->kind = HT_INSN_NEXT;
		b->end = b->last;
	}
	if (b->kind != HT_INSN_COND && b->kind != HT_INSN_JMP && b->kind != HT_INSN_CALL)
		b->target = b->end;
	b->push = b->kind == HT_INSN_CALL_IND || (b->kind == HT_INSN_CALL && b->target != b->end);
	b->bits = b->kind == HT_INSN_COND;
	b->other = b->bits ? b->end : b->target;
	b->back = (b->kind == HT_INSN_JMP || b->kind == HT_INSN_CALL) && b->target <= b->last;
	b->special = b->push || b->back || (b->kind != HT_INSN_NEXT && b->kind != HT_INSN_COND && b->kind != HT_INSN_JMP) ||
	             (ht_shm->flags & HT_SHM_F_CYC);
	if (b->n == 1 && b->kind == HT_INSN_NEXT)
		b->slow |= HT_BLOCK_SINGLE;
}

static uint32_t
gather(const struct qemu_plugin_tb *tb, uint8_t *buf)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	uint32_t total = 0;

	for (size_t i = 0; i < n; i++) {
		const struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		size_t size = qemu_plugin_insn_size(insn);

		if (total + size > CODE_MAX)
			break;
		memcpy(buf + total, qemu_plugin_insn_data(insn), size);
		total += (uint32_t)size;
	}
	return total;
}

static uint32_t
hash_bytes(const uint8_t *p, uint32_t n)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (uint32_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 0x100000001b3ull;
	return (uint32_t)(h ^ h >> 32);
}

static struct ht_block *
find_or_add(const struct ht_block *want)
{
	struct ht_block **head = &table[slot_of(want->start)], *b;

	for (b = *head; b; b = b->next)
		if (b->start == want->start && b->end == want->end && b->target == want->target &&
		    b->last == want->last && b->kind == want->kind && b->n == want->n &&
		    b->hash == want->hash && !((b->slow ^ want->slow) & HT_BLOCK_OUTSIDE))
			return b;
	b = aligned_alloc(64, sizeof(*b));
	if (!b)
		return NULL;
	*b = *want;
	if (is_handler(b->start))
		b->slow |= HT_BLOCK_HANDLER;
	b->next = *head;
	*head = b;
	return b;
}

struct ht_block *
ht_block_translate(const struct qemu_plugin_tb *tb)
{
	struct ht_block want = { 0 }, *b;
	uint8_t code[CODE_MAX];
	uint32_t size = 0;

	if (!qemu_plugin_tb_n_insns(tb))
		return NULL;
	describe(&want, tb);
	if (want.start >> 47)
		want.slow |= HT_BLOCK_HIGH;
	if (!ht_filter_has(want.start, want.end)) {
		want.slow |= HT_BLOCK_OUTSIDE;
		want.special = 1;
	}
	if (want.kind != HT_INSN_VSYSCALL && !ht_maps_clean(want.start, want.end)) {
		want.slow |= HT_BLOCK_CODE;
		size = gather(tb, code);
		want.hash = hash_bytes(code, size);
	}
	pthread_mutex_lock(&lock);
	b = find_or_add(&want);
	if (b && size) {
		ht_sideband_code(want.start, code, size);
		b->generation = ht_sideband_generation();
	}
	pthread_mutex_unlock(&lock);
	return b;
}
