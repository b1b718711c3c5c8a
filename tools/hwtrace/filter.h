/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which part of a capture is asked for: times, CPUs, processes, threads.  The
 * options are the same for every command that has them: put `struct filter_opts`
 * into the command's option struct and FILTER_OPTS into its table.
 *
 * A gap is never left out for the thread that may have run in it; only for a
 * time that it cannot have touched.
 */
#ifndef TOOL_FILTER_H
#define TOOL_FILTER_H

#include <hwtrace/seek.h>

#include "input.h"
#include "itrace.h"

struct filter_opts {
	const char     *tids, *pids, *cpus, *time;
	struct opt_list comms;
};

#define FILTER_OPTS(type, member)                                                                  \
	{ 0, "tid", "LIST", OPT_STRING, offsetof(type, member.tids), "only these threads" },       \
	{ 0, "pid", "LIST", OPT_STRING, offsetof(type, member.pids), "only these processes" },     \
	{ 0, "comm", "NAME", OPT_LIST, offsetof(type, member.comms),                               \
	  "only threads of this name; may be given again" },                                       \
	{ 'C', "cpu", "LIST", OPT_STRING, offsetof(type, member.cpus), "only these CPUs" },        \
	{ 0, "time", "A,B", OPT_STRING, offsetof(type, member.time),                               \
	  "only from second A to B; +A counts from the start, A% is of the whole; either may be left out" }

/* One end of --time. */
struct filter_end {
	enum { END_OPEN, END_ABSOLUTE, END_RELATIVE, END_PERCENT } kind;
	uint64_t value; /* ns; of PERCENT thousand millionths of the whole */
};

struct filter {
	const struct filter_opts *opts;
	const struct input       *in;
	struct id_list            tids, pids, cpus;
	struct filter_end         ends[2];
	int                       active;  /* something is asked for */
	int                       timed;   /* --time */
	uint64_t                  from, to; /* ns, both included; ticks where the capture has no clock */
	uint8_t                  *skip;    /* streams that are not needed at all */
	uint64_t                 *start;   /* of each stream: where decoding may begin */
	uint8_t                  *comm_seen; /* one a name asked for */
	struct ht_seek           *seek;
	uint64_t                  now;     /* filter_events(): time in the stream at hand */
	int                       pair;    /* a block's branch is treated as the block was */
	int                       pair_kept;
	int                       over;    /* nothing more of the stream is in time */
};

/* EXIT_OK, or EXIT_USAGE after saying what is wrong. */
int  filter_parse(struct filter *f, const struct filter_opts *opts);
/*
 * Once the capture is open: where the times lie, which streams are needed; with
 * `records` nothing is asked of streams.  EXIT_OK or EXIT_ERROR.
 */
int  filter_open(struct filter *f, const struct input *in, int records);
void filter_close(struct filter *f);

/*
 * A copy for another thread, which follows a stream of its own; what it saw of names is added
 * by filter_join(), which frees it.  0 or -HT_ENOMEM.
 */
int filter_fork(struct filter *copy, const struct filter *f);
void filter_join(struct filter *f, struct filter *copy);

/* Is what thread `tid` did at `ns` asked for? */
int  filter_wants(struct filter *f, int32_t pid, int32_t tid, uint64_t ns);
/* Can the gap have touched the time that is asked for? */
int  filter_wants_gap(const struct filter *f, const struct ht_gap *gap);
/* Ticks behind which nothing is asked for, for ht_merge_config.tsc_end. */
uint64_t filter_tsc_end(const struct filter *f);

/* A new stream begins. */
void filter_stream(struct filter *f);
/* Leave out of a batch of `d` the blocks, branches and gaps that are not asked for; returns how many events stay. */
int  filter_events(struct filter *f, const struct ht_decoder *d, struct ht_event *ev, int n);
/* Names that nothing bore are told: they are mistyped more often than not. */
void filter_tell_unmatched(const struct filter *f);

#endif
