/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "base/vec.h"
#include "encode/pt.h"
#include "encode/step.h"

#define DEFAULT_PSB_PERIOD 4096
#define ROOM               128 /* more than PSB+ with all that may be pending before it */

void
ht_step_init(struct ht_step *s, const struct ht_step_config *config)
{
	memset(s, 0, sizeof(*s));
	s->config = *config;
	if (!s->config.psb_period)
		s->config.psb_period = DEFAULT_PSB_PERIOD;
	s->last_ip = HT_PT_NO_BASE;
	s->tnt = 1;
	s->mode = 64;
}

void
ht_step_fini(struct ht_step *s)
{
	ht_vec_free(&s->out);
}

/* -- packets -------------------------------------------------------------- */

/* Room for ROOM bytes, or NULL. */
static uint8_t *
room(struct ht_step *s)
{
	if (ht_vec_reserve(&s->out, s->out.n + ROOM) < 0) {
		s->nomem = 1;
		return NULL;
	}
	return s->out.at + s->out.n;
}

static void
done(struct ht_step *s, const uint8_t *end)
{
	size_t n = (size_t)(end - s->out.at);

	s->total += n - s->out.n;
	s->out.n = n;
}

/* In front of a packet that CYC packets may time. */
static uint8_t *
put_cyc(struct ht_step *s, uint8_t *p)
{
	if (!s->config.cyc)
		return p;
	p = ht_pt_cyc(p, s->insns);
	s->insns = 0;
	return p;
}

/* Decoders look at a packet now: what they walk from here on is a new run. */
static void
new_walk(struct ht_step *s)
{
	s->n_walk = 0;
}

static uint8_t *
put_tnt(struct ht_step *s, uint8_t *p)
{
	if (!s->tnt_bits)
		return p;
	p = put_cyc(s, p);
	p = s->tnt_bits <= HT_PT_TNT_SHORT_MAX ? ht_pt_tnt_short(p, s->tnt) : ht_pt_tnt_long(p, s->tnt);
	s->tnt = 1;
	s->tnt_bits = 0;
	return p;
}

static uint8_t *
put_ip(struct ht_step *s, uint8_t *p, enum ht_pt_kind op, uint64_t ip)
{
	p = ht_pt_ip(p, op, ip, s->last_ip);
	s->last_ip = ip;
	return p;
}

static uint8_t *
put_mode(struct ht_step *s, uint8_t *p)
{
	s->told_mode = s->mode;
	return ht_pt_mode_exec(p, s->mode == 64, s->mode == 32);
}

/*
 * PSB+; with the trace on it states `ip`, the instruction that comes next.  A
 * decoder that knows the way does not go there: what it walks is no new run.
 */
static uint8_t *
put_psb(struct ht_step *s, uint8_t *p, uint64_t ip, uint64_t tsc)
{
	p = ht_pt_psb(p);
	p = ht_pt_tsc(p, tsc);
	p = put_mode(s, p);
	s->last_ip = 0;
	if (s->on)
		p = put_ip(s, p, HT_PT_FUP, ip);
	p = ht_pt_psbend(p);
	s->next_psb = s->total + s->config.psb_period;
	s->n_returns = 0;
	return p;
}

static void
outcome(struct ht_step *s, int taken)
{
	uint8_t *p;

	s->tnt = s->tnt << 1 | (taken ? 1u : 0u);
	new_walk(s);
	if (++s->tnt_bits < HT_PT_TNT_LONG_MAX || !(p = room(s)))
		return;
	done(s, put_tnt(s, p));
}

static void
indirect(struct ht_step *s, uint64_t next)
{
	uint8_t *p = room(s);

	if (!p)
		return;
	p = put_tnt(s, p);
	p = put_cyc(s, p);
	done(s, put_ip(s, p, HT_PT_TIP, next));
	new_walk(s);
}

/* TIP.PGD, with `ip` when it was left by a branch that does not leave for the kernel. */
static void
stop(struct ht_step *s, const uint64_t *ip)
{
	uint8_t *p = room(s);

	s->on = 0;
	s->n_returns = 0;
	new_walk(s);
	if (!p)
		return;
	p = put_tnt(s, p);
	p = put_cyc(s, p);
	done(s, ip ? put_ip(s, p, HT_PT_TIP_PGD, *ip) : ht_pt_ip_none(p, HT_PT_TIP_PGD));
}

/* -- tracing on and off --------------------------------------------------- */

void
ht_step_mode(struct ht_step *s, unsigned mode)
{
	s->mode = mode;
}

void
ht_step_enable(struct ht_step *s, uint64_t ip, uint64_t tsc)
{
	uint8_t *p = room(s);

	s->n_returns = 0;
	new_walk(s);
	if (!p)
		return;
	if (!s->started || s->total >= s->next_psb)
		p = put_psb(s, p, ip, tsc);
	else
		p = ht_pt_tsc(p, tsc);
	s->started = 1;
	if (s->told_mode != s->mode)
		p = put_mode(s, p);
	p = put_cyc(s, p);
	done(s, put_ip(s, p, HT_PT_TIP_PGE, ip));
	s->on = 1;
}

void
ht_step_syscall(struct ht_step *s, uint64_t ip)
{
	(void)ip;
	if (!s->on)
		return;
	s->insns++;
	stop(s, NULL);
}

void
ht_step_async(struct ht_step *s, uint64_t ip)
{
	uint8_t *p;

	if (!s->on || !(p = room(s)))
		return;
	p = put_tnt(s, p);
	p = put_cyc(s, p);
	done(s, put_ip(s, p, HT_PT_FUP, ip));
	stop(s, NULL);
}

/* An overflow, with no FUP behind it: trace is off when it is over. */
void
ht_step_lost(struct ht_step *s)
{
	uint8_t *p = room(s);

	if (s->on && p) {
		p = put_tnt(s, p);
		done(s, ht_pt_ovf(p));
	}
	s->on = 0;
	s->insns = 0;
	s->n_returns = 0;
	s->last_ip = HT_PT_NO_BASE;
	new_walk(s);
}

void
ht_step_resync(struct ht_step *s, uint64_t ip, uint64_t tsc)
{
	if (!s->on)
		return;
	ht_step_async(s, ip);
	ht_step_enable(s, ip, tsc);
}

/* -- flow ----------------------------------------------------------------- */

static void
push_return(struct ht_step *s, uint64_t ip)
{
	s->top = (s->top + 1) % HT_STEP_RETURNS;
	s->returns[s->top] = ip;
	if (s->n_returns < HT_STEP_RETURNS)
		s->n_returns++;
}

static void
encode_return(struct ht_step *s, uint64_t next)
{
	if (s->config.ret_compression && s->n_returns && s->returns[s->top] == next) {
		s->top = (s->top + HT_STEP_RETURNS - 1) % HT_STEP_RETURNS;
		s->n_returns--;
		outcome(s, 1);
		return;
	}
	s->n_returns = 0;
	indirect(s, next);
}

/* Addresses wrap where the mode says so. */
static uint64_t
fall_through(const struct ht_step *s, uint64_t ip, const struct ht_x86_insn *insn)
{
	uint64_t next = ip + insn->size;

	return s->mode == 64 ? next : next & 0xffffffff;
}

/* Can `insn` at `ip` lead to `next`? */
static int
leads_to(const struct ht_step *s, uint64_t ip, const struct ht_x86_insn *insn, uint64_t next)
{
	switch (insn->insn) {
	case HT_INSN_OTHER:
		return next == fall_through(s, ip, insn);
	case HT_INSN_COND:
		return next == fall_through(s, ip, insn) || next == insn->target;
	case HT_INSN_JUMP:
	case HT_INSN_CALL:
		return next == insn->target;
	default:
		return 1;
	}
}

/* Remember the straight run up to and including the instruction at `ip`. */
static void
walk_to(struct ht_step *s, uint64_t ip)
{
	if (!s->n_walk) {
		s->walk[0].from = ip;
		s->n_walk = 1;
	}
	s->walk[s->n_walk - 1].to = ip;
}

static int
walked(const struct ht_step *s, uint64_t ip)
{
	for (unsigned i = 0; i < s->n_walk; i++)
		if (ip >= s->walk[i].from && ip <= s->walk[i].to)
			return 1;
	return s->n_walk == HT_STEP_WALK;
}

/*
 * The instruction at `ip` makes no packet.  Where it leads back into the run
 * that made none either, turns could not be counted, nor the place of an
 * asynchronous event be told: trace goes off and on in front of it, so that a
 * decoder meets each address once between two packets.
 */
static void
silent(struct ht_step *s, uint64_t ip, uint64_t next, int jump, uint64_t tsc)
{
	if (walked(s, next)) {
		if (s->n_walk > 1 || s->walk[0].from != ip) {
			ht_step_resync(s, ip, tsc);
			walk_to(s, ip);
		}
		if (next == ip) { /* it goes off with this very jump, as with a filter by address */
			stop(s, &next);
			ht_step_enable(s, next, tsc);
			return;
		}
	}
	if (jump) {
		s->walk[s->n_walk].from = s->walk[s->n_walk].to = next;
		s->n_walk++;
	}
}

int
ht_step_insn(struct ht_step *s, uint64_t ip, const struct ht_x86_insn *insn, uint64_t next, uint64_t tsc)
{
	uint8_t *p;

	if (!s->on)
		return 0;
	if (!leads_to(s, ip, insn, next))
		return -1;
	walk_to(s, ip);
	s->insns++;
	switch (insn->insn) {
	case HT_INSN_COND:
		/* A jump to the next instruction: the outcome has no effect on where control is. */
		outcome(s, next != fall_through(s, ip, insn));
		break;
	case HT_INSN_CALL:
	case HT_INSN_CALL_IND:
		if (insn->insn == HT_INSN_CALL_IND)
			indirect(s, next);
		else
			silent(s, ip, next, 1, tsc);
		/* A call to the next instruction reads its own address; no return belongs to it. */
		if (insn->insn == HT_INSN_CALL_IND || next != fall_through(s, ip, insn))
			push_return(s, fall_through(s, ip, insn));
		break;
	case HT_INSN_JUMP:
		silent(s, ip, next, 1, tsc);
		break;
	case HT_INSN_RET:
		encode_return(s, next);
		break;
	case HT_INSN_OTHER:
		if (s->n_walk > 1)
			silent(s, ip, next, 0, tsc);
		break;
	default: /* indirect jumps and far transfers that stay in user mode */
		if (s->told_mode != s->mode && (p = room(s))) {
			p = put_tnt(s, p);
			done(s, put_mode(s, p));
		}
		indirect(s, next);
		break;
	}
	if (s->on && s->total >= s->next_psb && (p = room(s))) {
		p = put_tnt(s, p);
		done(s, p);
		p = s->out.at + s->out.n;
		done(s, put_psb(s, p, next, tsc));
	}
	return 0;
}

/* Written as an asynchronous event at `next`, which every decoder finds by whatever leads there. */
int
ht_step_leave(struct ht_step *s, uint64_t ip, const struct ht_x86_insn *insn, uint64_t next, uint64_t tsc)
{
	int rc = ht_step_insn(s, ip, insn, next, tsc);

	if (!rc)
		ht_step_async(s, next);
	return rc;
}
