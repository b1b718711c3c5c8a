/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program that is recorded, as a child in our own process group: it has the
 * terminal, and what the terminal sends (Ctrl-C, Ctrl-Z) reaches it directly.
 * What others send to the recorder is passed on to it; when it stops, the
 * recorder stops too, so that the shell sees a stopped job.  One at a time.
 */
#ifndef CAPTURE_CHILD_H
#define CAPTURE_CHILD_H

#include <signal.h>
#include <sys/types.h>

#include <hwtrace/error.h>

#define HT_CHILD_SIGNALS 12

struct ht_child {
	pid_t            pid;
	int              ended;
	int              wait_status; /* once ended */
	struct sigaction old[HT_CHILD_SIGNALS];
	sigset_t         old_mask;
};

/* Start `file` with `argv`.  Errors: HT_ECHILD, HT_EIO, HT_ENOMEM. */
int  ht_child_start(struct ht_child *c, const char *file, char *const argv[], struct ht_diag *diag);
/* Take note of what happened to it, without waiting; returns c->ended. */
int  ht_child_poll(struct ht_child *c);
/* Put our own signal handling back. */
void ht_child_fini(struct ht_child *c);

#endif
