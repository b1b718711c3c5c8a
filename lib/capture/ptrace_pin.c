/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "capture/ptrace.h"

void
ht_ppin_init(struct ht_ptrace *r)
{
	cpu_set_t one;
	int cpu = sched_getcpu();

	r->pin = -1;
	if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof(r->own_cpus), &r->own_cpus) < 0 ||
	    CPU_COUNT(&r->own_cpus) < 2)
		return;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one) == 0)
		r->pin = cpu;
}

void
ht_ppin_fini(struct ht_ptrace *r)
{
	if (r->pin >= 0)
		sched_setaffinity(0, sizeof(r->own_cpus), &r->own_cpus);
}

void
ht_ppin_hold(struct ht_ptrace *r, struct ht_pthread *t)
{
	cpu_set_t one;

	if (!t->has_affinity || !CPU_ISSET(r->pin, &t->affinity))
		return;
	CPU_ZERO(&one);
	CPU_SET(r->pin, &one);
	sched_setaffinity(t->tid, sizeof(one), &one);
}

void
ht_ppin_thread(struct ht_ptrace *r, struct ht_pthread *t, const struct ht_pthread *from)
{
	if (r->pin < 0)
		return;
	if (from && from->has_affinity)
		t->affinity = from->affinity;
	else if (t->tid == r->main_pid && !r->config->pid)
		t->affinity = r->own_cpus; /* our child has it from us */
	else if (sched_getaffinity(t->tid, sizeof(t->affinity), &t->affinity) < 0)
		return;
	t->has_affinity = 1;
	ht_ppin_hold(r, t);
}

void
ht_ppin_release(struct ht_ptrace *r, struct ht_pthread *t)
{
	if (r->pin >= 0 && t->has_affinity)
		sched_setaffinity(t->tid, sizeof(t->affinity), &t->affinity);
}

static struct ht_pthread *
subject(struct ht_ptrace *r, struct ht_pthread *t)
{
	struct ht_pthread *of = t->arg[0] ? ht_pthread_find(r, (pid_t)t->arg[0]) : t;

	return r->pin >= 0 && of && of->has_affinity ? of : NULL;
}

void
ht_ppin_get(struct ht_ptrace *r, struct ht_pthread *t, int64_t result)
{
	const struct ht_pthread *of = subject(r, t);

	if (of && result > 0 && (uint64_t)result <= sizeof(of->affinity))
		ht_pproc_write(t->proc, t->arg[2], &of->affinity, (size_t)result);
}

void
ht_ppin_set(struct ht_ptrace *r, struct ht_pthread *t, int64_t result)
{
	struct ht_pthread *of = subject(r, t);

	if (of && !result && sched_getaffinity(of->tid, sizeof(of->affinity), &of->affinity) == 0)
		ht_ppin_hold(r, of);
}
