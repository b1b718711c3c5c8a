/* SPDX-License-Identifier: BSD-2-Clause */
/* script -F brstack: samples with their branch stacks, in perf's words. */
#ifndef TOOL_STACK_H
#define TOOL_STACK_H

#include "filter.h"
#include "loss.h"

struct stack_want {
	uint32_t fields; /* HT_FIELD_*: COMM, PID, TID, CPU, TIME, PERIOD, IP, BRSTACK */
	struct filter *filter;
	int nanoseconds, fail_on_loss;
};

/* A line for each sample that has a branch stack, in the order of the file; returns the exit status. */
int stack_show(const struct input *in, const struct stack_want *want);

#endif
