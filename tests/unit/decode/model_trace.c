/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets as a processor makes them, with all the liberties it has. */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "model.h"

#define ROOM 128

uint8_t *
model_room(struct model *m)
{
	if (ht_vec_reserve(&m->trace, m->trace.n + ROOM) < 0)
		abort();
	return m->trace.at + m->trace.n;
}

static void
done(struct model *m, const uint8_t *end)
{
	m->trace.n = (size_t)(end - m->trace.at);
}

/* What may stand between any two packets. */
static void
noise(struct model *m)
{
	uint8_t *p = model_room(m);

	if (model_one_in(m, m->o.pad))
		p = ht_pt_pad(p);
	if (!m->frozen && model_one_in(m, m->o.tsc)) {
		m->now++;
		m->last_tsc = m->now;
		p = ht_pt_tsc(p, m->now);
	}
	if (model_one_in(m, m->o.mtc))
		p = ht_pt_raw(p, 0x59 | (m->now >> 4 & 0xff) << 8, 2);
	/* libipt reads no deferred target behind a CBR packet: docs/DIFFERENCES.md. */
	if (!m->n_deferred && model_one_in(m, m->o.cbr))
		p = ht_pt_cbr(p, (uint8_t)(8 + model_rnd(m) % 32));
	if (model_one_in(m, m->o.cyc)) {
		unsigned bits = (unsigned)(model_rnd(m) % 48);

		p = ht_pt_cyc(p, model_rnd(m) & ((1ull << bits) - 1));
	}
	done(m, p);
}

void
model_put(struct model *m, const uint8_t *end)
{
	done(m, end);
	noise(m);
}

/* An address in a form that is drawn from those that can tell it. */
static uint8_t *
any_ip(struct model *m, uint8_t *p, enum ht_pt_kind kind, uint64_t ip)
{
	static const uint8_t bytes[] = {0, 2, 4, 6, 6, 0, 8};
	unsigned can[5], n = 0;
	uint64_t last = m->last_ip;

	if (last != HT_PT_NO_BASE) {
		if (!((ip ^ last) >> 16))
			can[n++] = 1;
		if (!((ip ^ last) >> 32))
			can[n++] = 2;
		if (!((ip ^ last) >> 48))
			can[n++] = 4;
	}
	if ((ip ^ 1ull << 47) - (1ull << 47) == ip || (uint64_t)((int64_t)(ip << 16) >> 16) == ip)
		can[n++] = 3;
	can[n++] = 6;
	n = can[model_rnd(m) % n];
	*p = (uint8_t)(ht_pt_ip_op(kind) | n << 5);
	return ht_pt_raw(p + 1, ip, bytes[n]);
}

static void
put_ip(struct model *m, enum ht_pt_kind kind, uint64_t ip)
{
	uint8_t *p = model_room(m);

	p = model_one_in(m, m->o.any_ip) ? any_ip(m, p, kind, ip) : ht_pt_ip(p, kind, ip, m->last_ip);
	m->last_ip = ip;
	model_put(m, p);
}

void
model_flush(struct model *m)
{
	uint64_t bits = 1ull << m->n_tnt | m->tnt;

	if (m->n_tnt > HT_PT_TNT_SHORT_MAX ||
	    (m->n_tnt && m->o.tnt_max > HT_PT_TNT_SHORT_MAX && model_one_in(m, 4)))
		model_put(m, ht_pt_tnt_long(model_room(m), bits));
	else if (m->n_tnt)
		model_put(m, ht_pt_tnt_short(model_room(m), bits));
	m->n_tnt = 0;
	m->tnt = 0;
	for (unsigned i = 0; i < m->n_deferred; i++)
		put_ip(m, HT_PT_TIP, m->deferred[i]);
	m->n_deferred = 0;
	m->certain = m->implied;
}

void
model_outcome(struct model *m, int taken)
{
	if (m->mute)
		return;
	m->tnt = m->tnt << 1 | (uint64_t)taken;
	m->n_tnt++;
	m->implied = m->truth.n;
	if (m->n_tnt >= m->o.tnt_max || model_one_in(m, 40))
		model_flush(m);
}

void
model_target(struct model *m, uint64_t ip, int may_wait)
{
	if (m->mute)
		return;
	m->implied = m->truth.n;
	if (may_wait && m->o.defer && m->n_tnt && m->n_deferred < 64) {
		m->deferred[m->n_deferred++] = ip;
		return;
	}
	model_flush(m);
	put_ip(m, HT_PT_TIP, ip);
}

void
model_call(struct model *m, uint64_t back)
{
	if (m->mute)
		return;
	m->top = (m->top + 1) % MODEL_RING;
	m->ring[m->top] = back;
}

static void
pop(struct model *m)
{
	m->ring[m->top] = 0;
	m->top = (m->top + MODEL_RING - 1) % MODEL_RING;
}

static void
forget_calls(struct model *m)
{
	memset(m->ring, 0, sizeof(m->ring));
}

void
model_return(struct model *m, uint64_t to)
{
	if (m->mute)
		return;
	if (m->o.compress && m->ring[m->top] == to && !model_one_in(m, m->o.mispredict)) {
		pop(m);
		model_outcome(m, 1);
		return;
	}
	/* Engines do not agree on what such a return takes off the stack: docs/DIFFERENCES.md. */
	if (m->o.mispredict)
		pop(m);
	else
		forget_calls(m);
	/* An outcome that waits would be taken for the return's own. */
	m->implied = m->truth.n - 1;
	model_flush(m);
	model_target(m, to, 0);
}

/* All that ran so far is told by the place. */
void
model_fup(struct model *m, uint64_t ip)
{
	if (m->mute)
		return;
	model_flush(m);
	put_ip(m, HT_PT_FUP, ip);
	m->implied = m->certain = m->truth.n;
}

void
model_mode(struct model *m, unsigned mode)
{
	if (m->mute || m->told_mode == mode)
		return;
	m->told_mode = mode;
	model_put(m, ht_pt_mode_exec(model_room(m), mode == 64, mode == 32));
}

void
model_disable(struct model *m, const uint64_t *ip)
{
	if (m->mute)
		return;
	if (ip)
		put_ip(m, HT_PT_TIP_PGD, *ip);
	else
		model_put(m, ht_pt_ip_none(model_room(m), HT_PT_TIP_PGD));
	m->on = 0;
	m->implied = m->certain = m->truth.n;
	if (!m->o.keep)
		forget_calls(m);
}

void
model_tsc(struct model *m)
{
	m->now++;
	m->last_tsc = m->now;
	model_put(m, ht_pt_tsc(model_room(m), m->now));
}

/* PSB+, the place in it while tracing is on. */
void
model_psb(struct model *m)
{
	uint8_t *p;

	model_flush(m);
	p = ht_pt_psb(model_room(m));
	m->now++;
	m->last_tsc = m->now;
	m->last_ip = 0;
	p = ht_pt_tsc(p, m->now);
	if (m->o.pad)
		p = ht_pt_pad(p);
	if (m->o.cbr)
		p = ht_pt_cbr(p, 16);
	if (m->o.tsx)
		p = ht_pt_raw(p, 0x2099, 2);
	p = ht_pt_mode_exec(p, m->mode == 64, m->mode == 32);
	m->told_mode = m->mode;
	if (m->on) {
		p = ht_pt_ip(p, HT_PT_FUP, m->ip, model_one_in(m, 2) ? 0 : HT_PT_NO_BASE);
		m->last_ip = m->ip;
	}
	model_put(m, ht_pt_psbend(p));
	m->last_psb = m->trace.n;
	if (!m->o.beyond)
		forget_calls(m);
}

void
model_enable(struct model *m, uint64_t ip)
{
	if (m->mute)
		return;
	if (!m->trace.n || (m->o.psb_bytes && model_one_in(m, 8)))
		model_psb(m);
	else if (m->o.patch || m->o.tsc)
		model_tsc(m);
	model_mode(m, m->mode);
	put_ip(m, HT_PT_TIP_PGE, ip);
	m->on = 1;
}

/* Packets are lost from here on, those that wait maybe too. */
void
model_overflow(struct model *m)
{
	if (model_one_in(m, 2))
		model_flush(m);
	m->n_tnt = m->n_deferred = 0;
	m->tnt = 0;
	m->last_ip = HT_PT_NO_BASE;
	forget_calls(m);
	done(m, ht_pt_ovf(model_room(m)));
}
