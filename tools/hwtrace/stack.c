/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hwtrace/script.h>

#include "stack.h"

#define HEAD_MAX  512 /* in front of the stack; a longer name is cut */
#define ENTRY_MAX 128

static int
wanted(const struct stack_want *w, const struct ht_record *r)
{
	return r->kind == HT_REC_SAMPLE && r->u.sample.branches &&
	       (r->cpu < 0 || id_list_has(&w->filter->cpus, r->cpu)) &&
	       filter_wants(w->filter, r->pid, r->tid, r->time);
}

static void
put_head(struct ht_text *t, const struct input *in, const struct stack_want *w, const struct ht_record *r)
{
	unsigned long long ns = r->time;
	char buf[HEAD_MAX];

	if (w->fields & HT_FIELD_COMM) {
		const char *comm = ht_session_comm(in->session, r->tid, r->time);

		snprintf(buf, sizeof(buf), "%16s ", comm[0] ? comm : r->tid ? ":-1" : "swapper"); /* idle has no COMM record */
		ht_text_str(t, buf);
	}
	if (w->fields & HT_FIELD_PID && w->fields & HT_FIELD_TID)
		snprintf(buf, sizeof(buf), "%5d/%-5d ", r->pid, r->tid);
	else
		snprintf(buf, sizeof(buf), "%5d ", w->fields & HT_FIELD_PID ? r->pid : r->tid);
	if (w->fields & (HT_FIELD_PID | HT_FIELD_TID))
		ht_text_str(t, buf);
	if (w->fields & HT_FIELD_CPU) {
		snprintf(buf, sizeof(buf), "[%03d] ", r->cpu);
		ht_text_str(t, buf);
	}
	if (w->fields & HT_FIELD_TIME) {
		snprintf(buf, sizeof(buf), w->nanoseconds ? "%5llu.%09llu: " : "%5llu.%06llu: ", ns / 1000000000,
		         w->nanoseconds ? ns % 1000000000 : ns % 1000000000 / 1000);
		ht_text_str(t, buf);
	}
	if (w->fields & HT_FIELD_PERIOD) {
		snprintf(buf, sizeof(buf), "%10llu ", (unsigned long long)r->u.sample.period);
		ht_text_str(t, buf);
	}
	if (w->fields & HT_FIELD_IP) {
		snprintf(buf, sizeof(buf), " %16llx", (unsigned long long)r->u.sample.ip);
		ht_text_str(t, buf);
	}
}

/* FROM/TO/M or P/X/A/cycles/kind, and the speculation where it is told. */
static void
put_entry(struct ht_text *t, const uint8_t *at)
{
	struct ht_branch_entry e;
	char buf[ENTRY_MAX];
	const char *spec;

	ht_branch_entry_read(at, &e);
	spec = ht_branch_spec_name(&e);
	snprintf(buf, sizeof(buf), " 0x%llx/0x%llx/%c/%c/%c/%u/%s%s%s ", (unsigned long long)e.from,
	         (unsigned long long)e.to, e.mispred ? 'M' : e.predicted ? 'P' : '-', e.in_tx ? 'X' : '-',
	         e.abort ? 'A' : '-', e.cycles, ht_branch_type_name(&e), spec[0] ? "/" : "", spec);
	ht_text_str(t, buf);
}

int
stack_show(const struct input *in, const struct stack_want *w)
{
	struct loss loss = { .places = { 0 } };
	struct ht_record r;
	struct ht_text t;
	int rc, status;

	if (ht_text_init(&t, STDOUT_FILENO) < 0)
		return tool_error("out of memory");
	ht_container_rewind(in->container);
	while ((rc = ht_container_next(in->container, &r)) != 0 && !t.error) {
		if (rc < 0 || !wanted(w, &r))
			continue;
		put_head(&t, in, w, &r);
		for (uint32_t i = 0; i < r.u.sample.n_branches; i++)
			put_entry(&t, r.u.sample.branches + (size_t)i * HT_BRANCH_ENTRY_SIZE);
		ht_text_str(&t, "\n");
	}
	ht_text_flush(&t);
	status = t.error && t.error != EPIPE ? tool_error("standard output: %s", strerror(t.error)) : EXIT_OK;
	ht_text_fini(&t);
	loss_add_session(&loss, in->session);
	return status ? status : loss_report(&loss, w->fail_on_loss);
}
