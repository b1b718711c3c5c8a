/* SPDX-License-Identifier: BSD-2-Clause */
/* All mappings that there ever were, whenever: for what holds of a process's whole life. */
#include "base/vec.h"
#include "session/session.h"

typedef int each_fn(void *arg, const struct ht_mapping *m);

static int
each_of(const struct ht_process *p, each_fn *each, void *arg)
{
	for (size_t i = 0; i < p->changes.n; i++) {
		const struct ht_change *c = &p->changes.at[i];
		int rc = c->kind == HT_CHANGE_MAP || c->kind == HT_CHANGE_JIT
		             ? each(arg, &(struct ht_mapping){ .start = c->start,
		                                               .end = c->end,
		                                               .pgoff = c->off,
		                                               .module = c->u.module })
		             : 0;

		if (rc)
			return rc;
	}
	return 0;
}

struct queue {
	const struct ht_process **at;
	size_t n, cap;
};

/* Once each: the file decides who was forked from whom. */
static int
enqueue(struct queue *q, struct ht_index *seen, const struct ht_process *p)
{
	const struct ht_process **slot;

	if (!p || ht_index_get(seen, (uint32_t)p->pid) != UINT32_MAX)
		return 0;
	slot = ht_vec_push(q);
	if (!slot || ht_index_set(seen, (uint32_t)p->pid, 0) < 0)
		return -HT_ENOMEM;
	*slot = p;
	return 0;
}

static int
enqueue_parents(struct queue *q, struct ht_index *seen, const struct ht_process *p)
{
	int rc = 0;

	for (size_t i = 0; i < p->changes.n && rc == 0; i++)
		if (p->changes.at[i].kind == HT_CHANGE_FORK)
			rc = enqueue(q, seen, p->changes.at[i].u.parent);
	return rc;
}

int
ht_session_mappings(const struct ht_session *s, int32_t pid, each_fn *each, void *arg)
{
	struct queue queue = { NULL, 0, 0 };
	struct ht_index seen = { 0 };
	int rc = enqueue(&queue, &seen, &s->kernel);

	if (rc == 0 && pid != -1)
		rc = enqueue(&queue, &seen, ht_session_process(s, pid));
	for (size_t i = 0; i < s->processes.n && rc == 0 && pid == -1; i++)
		rc = enqueue(&queue, &seen, s->processes.at[i]);
	for (size_t i = 0; i < queue.n && rc == 0; i++) {
		rc = enqueue_parents(&queue, &seen, queue.at[i]);
		if (rc == 0)
			rc = each_of(queue.at[i], each, arg);
	}
	ht_vec_free(&queue);
	ht_index_fini(&seen);
	return rc;
}
