/* SPDX-License-Identifier: BSD-2-Clause */
/* script -F brstack: samples with their branch stacks, in perf's words. */
#ifndef TOOL_STACK_H
#define TOOL_STACK_H

#include "input.h"
#include "itrace.h"
#include "loss.h"

struct stack_want {
	uint32_t fields; /* HT_FIELD_*: COMM, PID, TID, CPU, TIME, PERIOD, IP, BRSTACK */
	const struct id_list *tids, *pids, *cpus;
	const struct opt_list *comms;
	uint64_t from, to; /* ns */
	int nanoseconds, fail_on_loss;
};

/* A line for each sample that has a branch stack, in the order of the file; returns the exit status. */
int stack_show(const struct input *in, const struct stack_want *want);

#endif
