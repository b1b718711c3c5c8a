/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "itrace.h"

#define ITRACE_LETTERS "b, c, r, i, x, w and e"

/* i, i<N>, i<N>i: instructions by count.  Returns what follows, NULL after complaining. */
static const char *
parse_instructions(const char *p, struct itrace *out)
{
	char *end = (char *)p;

	out->insn_period = 100000;
	if (isdigit((unsigned char)*p)) {
		errno = 0;
		out->insn_period = strtoull(p, &end, 10);
		if (errno || !out->insn_period || out->insn_period > UINT32_MAX) {
			tool_error("--itrace: the period of instructions must be from 1 to %u", UINT32_MAX);
			return NULL;
		}
	}
	if (!strncmp(end, "us", 2) || !strncmp(end, "ns", 2) || !strncmp(end, "ms", 2) || *end == 't') {
		tool_error("--itrace: periods of time are not supported, count instructions: i1i is every "
		           "instruction, i1000i every thousandth");
		return NULL;
	}
	return *end == 'i' ? end + 1 : end;
}

static int
refuse(char letter)
{
	static const struct { char letter; const char *what; } known[] = {
		{ 'p', "power events" }, { 'f', "timing of faults" }, { 'm', "memory events" },
		{ 'g', "call chains (see --call-trace)" }, { 'G', "call chains (see --call-trace)" },
		{ 'l', "last branch stacks" }, { 'L', "last branch stacks" },
		{ 's', "skipping initial events" }, { 'd', "debug logs" }, { 'q', "quicker decoding" },
		{ 'o', "PEBS records" }, { 'y', "cycles" }, { 'A', "approximate cycles" },
		{ 't', "remote accesses" }, { 'T', "timestamps from the trace" }, { 'a', "remote accesses" },
		{ 'Z', "timestamp preference" }, { 'M', "memory events" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].letter == letter) {
			tool_error("--itrace: '%c' (%s) is not supported; there are " ITRACE_LETTERS, letter,
			           known[i].what);
			return -1;
		}
	tool_error("--itrace: there is no '%c'; there are " ITRACE_LETTERS, letter);
	return -1;
}

int
itrace_parse(const char *text, struct itrace *out)
{
	const char *p = text && *text ? text : "be";

	memset(out, 0, sizeof(*out));
	while (*p) {
		char c = *p++;

		switch (c) {
		case 'b': out->branches = 1; break;
		case 'c': out->calls = 1; break;
		case 'r': out->returns = 1; break;
		case 'x': out->transactions = 1; break;
		case 'w': out->ptwrites = 1; break;
		case 'e': out->errors = 1; break;
		case ',': case ' ': break;
		case 'i':
			if (!(p = parse_instructions(p, out)))
				return -1;
			break;
		default:
			return refuse(c);
		}
	}
	return 0;
}

int
id_list_parse(const char *option, const char *text, struct id_list *out)
{
	const char *p = text;

	memset(out, 0, sizeof(*out));
	while (text && *p) {
		struct id_range r, *at;
		char *end;

		errno = 0;
		r.first = r.last = strtoll(p, &end, 10);
		if (end != p && *end == '-') {
			p = end + 1;
			r.last = strtoll(p, &end, 10);
		}
		if (errno || end == p || (*end && *end != ',') || r.last < r.first) {
			tool_error("%s takes numbers separated by commas, not '%s'", option, text);
			id_list_free(out);
			return -1;
		}
		at = realloc(out->at, (out->n + 1) * sizeof(*at));
		if (!at) {
			tool_error("out of memory");
			return -1;
		}
		out->at = at;
		at[out->n++] = r;
		p = *end ? end + 1 : end;
	}
	return 0;
}

int
id_list_has(const struct id_list *l, int64_t id)
{
	for (unsigned i = 0; i < l->n; i++)
		if (id >= l->at[i].first && id <= l->at[i].last)
			return 1;
	return !l->n;
}

void
id_list_free(struct id_list *l)
{
	free(l->at);
	l->at = NULL;
	l->n = 0;
}

/* Seconds with decimals, by hand: a double does not hold nanoseconds since boot. */
int
seconds_parse(const char *p, size_t len, uint64_t *ns)
{
	uint64_t whole = 0, part = 0, unit = 1000000000;
	size_t i = 0;

	for (; i < len && isdigit((unsigned char)p[i]); i++) {
		if (whole > 1000000000000u)
			return -1;
		whole = whole * 10 + (uint64_t)(p[i] - '0');
	}
	if (i < len && p[i] == '.')
		for (i++; i < len && isdigit((unsigned char)p[i]) && unit > 1; i++) {
			unit /= 10;
			part += unit * (uint64_t)(p[i] - '0');
		}
	if (i < len || !len || whole > UINT64_MAX / 1000000000 - 1)
		return -1;
	*ns = whole * 1000000000 + part;
	return 0;
}
