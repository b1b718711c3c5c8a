/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzz target: the native engine against libipt, on Intel PT behind a PSB+.  Both
 * tell the same instructions and branches up to the first gap of either, and
 * either both have one or none has.  What docs/DIFFERENCES.md says that they read
 * differently is passed over, by known_difference().
 */
#include <hwtrace/insn.h>
#include <hwtrace/pt_packet.h>

#include "encode/packet.h"
#include "../unit/decode/known.h"
#include "pt_program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

#define LIMIT (1u << 15) /* instructions that are compared */

/* Instructions in order, up to the first gap. */
struct flow {
	struct { uint64_t ip, to; } at[LIMIT];
	size_t n;
	int    gap;
	struct ht_gap first;
};

static void
add_block(struct flow *f, const struct ht_event *ev, struct ht_view *view)
{
	uint64_t ip = ev->a;

	for (uint32_t i = 0; i < ev->n && f->n < LIMIT; i++) {
		uint8_t bytes[HT_INSN_MAX];
		struct ht_insn insn = { .size = 0 };

		ht_insn_decode(HT_ARCH_X86_64, bytes, ht_view_read(view, ip, bytes, sizeof(bytes)), ip, &insn);
		f->at[f->n].ip = ip;
		f->at[f->n++].to = 0;
		ip += insn.size;
	}
}

static void
decode(struct flow *f, struct ht_session *s, const char *engine)
{
	struct ht_decoder *d = open_decoder(s, engine);
	static struct ht_event ev[HT_BATCH];
	int n;

	f->n = 0;
	f->gap = 0;
	while ((n = ht_decoder_next(d, ev, HT_BATCH)) > 0)
		for (int i = 0; i < n && !f->gap; i++) {
			if (ev[i].kind == HT_EV_BLOCK)
				add_block(f, &ev[i], ht_decoder_view(d));
			if (ev[i].kind == HT_EV_BRANCH && f->n && f->n < LIMIT && f->at[f->n - 1].ip == ev[i].a)
				f->at[f->n - 1].to = ev[i].b;
			if (ev[i].kind == HT_EV_GAP) {
				f->gap = 1;
				f->first = *ht_decoder_gap(d, ev[i].n);
			}
		}
	must(n == 0, "an error");
	ht_decoder_free(d);
}

/* -- the target -------------------------------------------------------------- */

static void
show(const char *engine, const struct flow *f, size_t at)
{
	fprintf(stderr, "%s: %zu instructions", engine, f->n);
	for (size_t i = at > 4 ? at - 4 : 0; i < f->n && i < at + 4; i++)
		fprintf(stderr, "%s %llx>%llx", i == at ? " !" : "", (unsigned long long)f->at[i].ip,
		        (unsigned long long)f->at[i].to);
	if (f->gap)
		fprintf(stderr, "; gap at %#llx: %s", (unsigned long long)f->first.offset, f->first.why);
	fputc('\n', stderr);
}

static int
is_return(const struct flow *f, size_t at)
{
	return at < f->n && f->at[at].ip == BASE + 0x14;
}

/* The first gap of both lies no further; what is behind is no reason. */
static size_t
reach(const struct flow *a, const struct flow *b, const uint8_t *data, size_t size)
{
	uint64_t at = a->gap && (!b->gap || a->first.offset > b->first.offset) ? a->first.offset
	              : b->gap ? b->first.offset : size;

	return known_reach(data, size, (size_t)at);
}

/* Contradictions that libipt does not see: what our gaps say. */
static const char *const unchecked[] = {
	"the code does not lead where an event says", /* it waits for that place, over outcomes to come */
	"the code does not lead where a PSB+ says",
	"disabled by a branch that does not go where",
};

static void
differ(const struct flow *a, const struct flow *b, size_t at, const uint8_t *data, size_t size)
{
	struct ht_pt_packet p;
	char text[HT_PT_TEXT_MAX];
	unsigned block = 0;

	if (known_difference(data, reach(a, b, data, size)))
		return;
	/* They do not agree on what a return that is told leaves on the stack. */
	if (at > 0 && (is_return(a, at) || is_return(a, at - 1)) && (is_return(b, at) || is_return(b, at - 1)))
		return;
	for (size_t i = 0; a->gap && i < sizeof(unchecked) / sizeof(*unchecked); i++)
		if (strstr(a->first.why, unchecked[i]))
			return;
	if (b->gap && known_disable(data, size, b->first.offset))
		return;
	if (!b->gap && at == (a->n < b->n ? a->n : b->n) && known_half(data, size))
		return;
	/* libipt does not say how a trace ends; it may tell the rest of a block. */
	if (a->gap && !b->gap && (b->n <= a->n + 4 || known_end(data, size, a->first.offset)))
		return;
	for (size_t i = 0; i < size && ht_pt_packet_read(data + i, size - i, &block, &p) > 0; i += p.size)
		fprintf(stderr, "%#zx %s\n", i, ht_pt_packet_text(&p, text, sizeof(text)));
	show("native", a, at);
	show("libipt", b, at);
	must(0, "the engines differ");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct flow native, reference;
	struct input in;
	struct ht_session *s = input_open(&in, data, size);
	size_t i, n;

	decode(&native, s, "native");
	decode(&reference, s, "libipt");
	n = native.n < reference.n ? native.n : reference.n;
	for (i = 0; i < n; i++)
		if (native.at[i].ip != reference.at[i].ip ||
		    (native.at[i].to && reference.at[i].to && native.at[i].to != reference.at[i].to))
			break;
	if (i < n || native.gap != reference.gap || (!native.gap && native.n != reference.n))
		differ(&native, &reference, i, in.trace, in.stream.bytes);
	input_close(&in, s);
	return 0;
}

/* -- inputs ------------------------------------------------------------------ */

struct maker {
	uint64_t seed;
	uint8_t *p, *end;
	uint64_t ip, stack[16];
	unsigned depth, on;
};

static unsigned
rnd(struct maker *m, unsigned n)
{
	m->seed = m->seed * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(m->seed >> 33) % n;
}

static uint64_t
any_place(struct maker *m)
{
	static const uint8_t places[] = { 0x00, 0x02, 0x03, 0x05, 0x0a, 0x10, 0x12, 0x14, 0x15, 0x17, 0x19, 0x0c, 0x1b };

	return BASE + places[rnd(m, rnd(m, 8) ? 11 : 13)];
}

static void
put(struct maker *m, struct ht_pt_packet p)
{
	m->p += ht_pt_packet_write(&p, m->p);
}

/* All places have their upper bytes in common. */
static void
put_ip(struct maker *m, enum ht_pt_kind kind, uint64_t ip)
{
	put(m, (struct ht_pt_packet){ .kind = (uint8_t)kind, .value = ip, .count = rnd(m, 4) ? 1 : 3 });
}

static void
put_tnt(struct maker *m, unsigned outcomes, unsigned count)
{
	put(m, (struct ht_pt_packet){ .kind = HT_PT_TNT_8, .value = outcomes, .count = (uint8_t)count });
}

static void
put_mode(struct maker *m, unsigned bits)
{
	put(m, (struct ht_pt_packet){ .kind = HT_PT_MODE_EXEC, .value = bits });
}

/* A packet without a payload, or an IP packet without its IP. */
static void
put_bare(struct maker *m, enum ht_pt_kind kind)
{
	put(m, (struct ht_pt_packet){ .kind = (uint8_t)kind });
}

/* Packets that a processor could make, as the program goes on at m->ip. */
static void
go_on(struct maker *m)
{
	unsigned taken = rnd(m, 2);

	switch (m->ip - BASE) {
	case 0x00: case 0x10: case 0x17:
		put_tnt(m, taken, 1);
		m->ip = m->ip == BASE ? BASE + (taken ? 5 : 2) : m->ip == BASE + 0x10 ? BASE + (taken ? 0x14 : 0x12)
		                                                                      : BASE + (taken ? 0x10 : 0x19);
		break;
	case 0x05:
		m->stack[m->depth++ % 16] = BASE + 0x0a;
		m->ip = BASE + 0x10;
		break;
	case 0x0a: case 0x19:
		m->ip = BASE;
		break;
	case 0x02: case 0x03: case 0x12:
		if (m->ip == BASE + 0x12)
			m->stack[m->depth++ % 16] = BASE + 0x14;
		m->ip = any_place(m);
		put_ip(m, HT_PT_TIP, m->ip);
		break;
	case 0x14:
		if (m->depth && m->depth < 16 && taken) {
			put_tnt(m, 1, 1);
			m->ip = m->stack[--m->depth % 16];
		} else {
			m->depth = 0;
			m->ip = any_place(m);
			put_ip(m, HT_PT_TIP, m->ip);
		}
		break;
	case 0x15:
		put_bare(m, HT_PT_TIP_PGD);
		m->ip = taken ? BASE + 0x17 : any_place(m);
		put_ip(m, HT_PT_TIP_PGE, m->ip);
		break;
	default:
		m->ip = any_place(m);
		put_ip(m, HT_PT_FUP, m->ip);
		break;
	}
}

static void
put_psb(struct maker *m)
{
	put_bare(m, HT_PT_PSB);
	put_mode(m, 64);
	put_ip(m, HT_PT_FUP, rnd(m, 8) ? m->ip : any_place(m));
	put_bare(m, HT_PT_PSBEND);
	m->depth = 0;
}

/* What may come at any time, and what should not. */
static void
interfere(struct maker *m)
{
	static const uint8_t ops[] = { HT_PT_TIP, HT_PT_FUP, HT_PT_TIP_PGE, HT_PT_TIP_PGD };
	unsigned n;

	switch (rnd(m, 12)) {
	case 0:
		put_psb(m);
		break;
	case 1:
		put_bare(m, HT_PT_OVF);
		put_ip(m, rnd(m, 2) ? HT_PT_FUP : HT_PT_TIP_PGE, m->ip = any_place(m));
		m->depth = 0;
		break;
	case 2: case 3:
		put_ip(m, HT_PT_FUP, m->ip);
		put_ip(m, HT_PT_TIP, m->ip = any_place(m));
		break;
	case 4:
		put_ip(m, HT_PT_FUP, m->ip);
		put_bare(m, HT_PT_TIP_PGD);
		put_ip(m, HT_PT_TIP_PGE, m->ip);
		m->depth = 0;
		break;
	case 5:
		put_bare(m, HT_PT_PAD);
		break;
	case 6:
		put(m, (struct ht_pt_packet){ .kind = HT_PT_TSC, .value = rnd(m, 100000) });
		break;
	case 7:
		put_tnt(m, rnd(m, 2), 1 + rnd(m, 6));
		break;
	case 8:
		put_ip(m, (enum ht_pt_kind)ops[rnd(m, 4)], any_place(m));
		break;
	case 9:
		put_bare(m, (enum ht_pt_kind)ops[rnd(m, 4)]);
		break;
	case 10:
		put_mode(m, rnd(m, 8) ? 64 : 16);
		break;
	default:
		n = ht_pt_dictionary(rnd(m, HT_PT_KIND_COUNT - 1), m->p);
		m->p += n;
	}
}

/* An input drawn from `seed`, at most `max` bytes; its size. */
static size_t
make_input(uint64_t seed, uint8_t *data, size_t max)
{
	struct maker m = { .seed = seed * 0x9e3779b97f4a7c15ull + 1, .p = data, .ip = BASE, .on = 1 };
	unsigned steps, odd;

	rnd(&m, 1);
	steps = 1 + rnd(&m, 60);
	odd = 3 + rnd(&m, 30);
	while (steps-- > 0 && max - (size_t)(m.p - data) > 128) {
		if (rnd(&m, odd) == 0)
			interfere(&m);
		else
			go_on(&m);
	}
	return (size_t)(m.p - data);
}

#ifndef FUZZ_NO_MUTATOR
size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	uint8_t word[4096];
	size_t at = size ? seed / 4096 % (size + 1) : 0, n;

	if (seed % 4)
		return LLVMFuzzerMutate(data, size, max);
	n = seed / 4 % 4 ? ht_pt_dictionary(seed / 16 % (HT_PT_KIND_COUNT - 1), word)
	                 : make_input(seed, word, sizeof(word));
	if (!n || size + n > max)
		return LLVMFuzzerMutate(data, size, max);
	memmove(data + at + n, data + at, size - at);
	memcpy(data + at, word, n);
	return size + n;
}
#endif
