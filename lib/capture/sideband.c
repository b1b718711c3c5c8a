/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/vec.h"
#include "capture/proc.h"
#include "capture/sideband.h"
#include "core/shm.h"

/* -- processes that live ------------------------------------------------- */

static size_t
find_pid(const struct ht_sideband *s, int32_t pid)
{
	size_t lo = 0, hi = s->pids.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->pids.at[mid].pid < pid)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* NULL: not known. */
static struct ht_sideband_process *
process_of(const struct ht_sideband *s, int32_t pid)
{
	size_t i = find_pid(s, pid);

	return i < s->pids.n && s->pids.at[i].pid == pid ? &s->pids.at[i] : NULL;
}

/* NULL: no memory. */
static struct ht_sideband_process *
add_pid(struct ht_sideband *s, int32_t pid)
{
	size_t i = find_pid(s, pid);

	if (process_of(s, pid))
		return &s->pids.at[i];
	if (ht_vec_reserve(&s->pids, s->pids.n + 1) < 0)
		return NULL;
	s->pids.n++;
	memmove(s->pids.at + i + 1, s->pids.at + i, (s->pids.n - 1 - i) * sizeof(*s->pids.at));
	s->pids.at[i] = (struct ht_sideband_process){ .pid = pid };
	return &s->pids.at[i];
}

static void
name_pid(struct ht_sideband *s, int32_t pid, const char *comm)
{
	struct ht_sideband_process *p = process_of(s, pid);

	if (p)
		snprintf(p->comm, sizeof(p->comm), "%.15s", comm);
}

/* A child has the name of its parent, at first. */
static struct ht_sideband_process *
add_child(struct ht_sideband *s, int32_t pid, int32_t ppid)
{
	int known = process_of(s, pid) != NULL;
	struct ht_sideband_process *p = add_pid(s, pid);
	const struct ht_sideband_process *parent = process_of(s, ppid);

	if (p && parent && !known)
		memcpy(p->comm, parent->comm, sizeof(p->comm));
	return p;
}

/* It tells of itself.  1: for the first time. */
static int
meet(struct ht_sideband *s, struct ht_sideband_process *p)
{
	if (p && p->met)
		return 0;
	if (p)
		p->met = 1;
	s->processes++;
	return 1;
}

static void
remove_pid(struct ht_sideband *s, int32_t pid)
{
	size_t i = find_pid(s, pid);

	if (!process_of(s, pid))
		return;
	s->pids.n--;
	memmove(s->pids.at + i, s->pids.at + i + 1, (s->pids.n - i) * sizeof(*s->pids.at));
}

/* -- notes ---------------------------------------------------------------- */

#define NOTES_MAX 64 /* different ones; what comes after is told each time */

/* The same sentence is told once, and how often it came at the end. */
static void
tell(struct ht_sideband *s, const char *text)
{
	char *copy;

	for (size_t i = 0; i < s->notes.n; i++)
		if (!strcmp(s->notes.at[i].text, text)) {
			s->notes.at[i].times++;
			return;
		}
	s->note(s->arg, text);
	copy = s->notes.n < NOTES_MAX ? strdup(text) : NULL;
	if (copy && ht_vec_reserve(&s->notes, s->notes.n + 1) == 0)
		s->notes.at[s->notes.n++] = (struct ht_sideband_note){ copy, 1 };
	else
		free(copy);
}

static void
count_notes(struct ht_sideband *s)
{
	for (size_t i = 0; i < s->notes.n; i++) {
		char text[4096 + 160];

		if (s->notes.at[i].times > 1) {
			snprintf(text, sizeof(text), "%u times: %s", s->notes.at[i].times, s->notes.at[i].text);
			s->note(s->arg, text);
		}
		free(s->notes.at[i].text);
	}
	s->notes.n = 0;
}

/* -- programs that were to be traced -------------------------------------- */

#define AWAITED_MAX 1024

static void
await_image(struct ht_sideband *s, int32_t pid, const char *path)
{
	char *copy = s->awaited.n < AWAITED_MAX ? strdup(path) : NULL;

	if (!copy || ht_vec_reserve(&s->awaited, s->awaited.n + 1) < 0) {
		free(copy);
		return;
	}
	s->awaited.at[s->awaited.n++] = (struct ht_sideband_image){ .pid = pid, .path = copy };
}

static void
keep_loss(struct ht_sideband *s, const struct ht_record *whom, enum ht_gap_kind kind,
          const char *why)
{
	struct ht_record rec = *whom;

	rec.kind = HT_REC_LOST;
	memset(&rec.u, 0, sizeof(rec.u));
	rec.u.lost.kind = (uint8_t)kind;
	rec.u.lost.why = why;
	s->record(s->arg, &rec);
}

/* Told to the user and kept in the file. */
static void
tell_loss(struct ht_sideband *s, const struct ht_record *whom, enum ht_gap_kind kind,
          const char *why)
{
	tell(s, why);
	keep_loss(s, whom, kind, why);
}

/* The program has come, or its process is gone at `missed` ns without a word of it; 0 = it came. */
static void
end_wait(struct ht_sideband *s, int32_t pid, uint64_t missed)
{
	for (size_t i = s->awaited.n; i-- > 0;) {
		struct ht_sideband_image *e = &s->awaited.at[i];
		struct ht_record rec = { .pid = pid, .tid = pid, .cpu = -1, .time = missed };
		char text[4096 + 160];

		if (e->pid != pid)
			continue;
		snprintf(text, sizeof(text), "%s (process %d) was not traced: %s", e->path, (int)pid,
		         e->loaded ? "it ended while the emulator loaded it"
		                   : "in it the trace unit could not be loaded, or could not reach "
		                     "the recorder");
		if (missed)
			tell_loss(s, &rec, HT_GAP_UNFOLLOWED, text);
		free(e->path);
		*e = s->awaited.at[--s->awaited.n];
	}
}

/* -- processes that outlive the recording ---------------------------------- */

static int
goes_on(const struct ht_sideband_process *p)
{
	return !p->unfollowed && ht_proc_runs(p->pid);
}

int
ht_sideband_lives(const struct ht_sideband *s)
{
	for (size_t i = 0; i < s->pids.n; i++)
		if (goes_on(&s->pids.at[i]))
			return 1;
	return 0;
}

void
ht_sideband_part(struct ht_sideband *s)
{
	s->parted = 1;
	for (size_t i = 0; i < s->pids.n; i++)
		s->pids.at[i].outlives = goes_on(&s->pids.at[i]);
}

static void
tell_outlived(struct ht_sideband *s, uint64_t time)
{
	unsigned n = 0;
	char text[160];

	for (size_t i = 0; i < s->pids.n; i++) {
		struct ht_sideband_process *p = &s->pids.at[i];
		struct ht_record rec = {
			.pid = p->pid, .tid = p->pid, .cpu = -1, .time = time
		};

		if (!p->outlives)
			continue;
		p->outlives = 0;
		ht_proc_outlived(p->pid, p->comm, "the command", text, sizeof(text));
		if (n++ < HT_PROC_NAMED)
			tell(s, text);
		keep_loss(s, &rec, HT_GAP_UNTRACED, text);
	}
	if (n > HT_PROC_NAMED) {
		ht_proc_outlived_rest(n - HT_PROC_NAMED, text, sizeof(text));
		tell(s, text);
	}
}

/* A program that was cut off by the end of the recording is told as its process is. */
void
ht_sideband_finish(struct ht_sideband *s, uint64_t time)
{
	while (s->awaited.n) {
		int32_t pid = s->awaited.at[0].pid;
		const struct ht_sideband_process *p = process_of(s, pid);

		end_wait(s, pid, p && p->outlives ? 0 : time);
	}
	tell_outlived(s, time);
	count_notes(s);
}

void
ht_sideband_fini(struct ht_sideband *s)
{
	for (size_t i = 0; i < s->awaited.n; i++)
		free(s->awaited.at[i].path);
	for (size_t i = 0; i < s->notes.n; i++)
		free(s->notes.at[i].text);
	ht_vec_free(&s->notes);
	ht_vec_free(&s->awaited);
	ht_vec_free(&s->pids);
}

/* -- conversion ---------------------------------------------------------- */

static void
itrace_start(struct ht_sideband *s, const struct ht_record *of)
{
	struct ht_record rec = { .kind = HT_REC_ITRACE_START, .pid = of->pid, .tid = of->tid, .cpu = -1,
	                         .time = of->time };

	s->record(s->arg, &rec);
}

static void
convert_exec(struct ht_sideband *s, struct ht_record *rec, const char *text)
{
	struct ht_sideband_process *p = add_pid(s, rec->pid);
	int first = meet(s, p);

	end_wait(s, rec->pid, 0);
	s->threads += (unsigned)first;
	if (p)
		p->unfollowed = 0;
	name_pid(s, rec->pid, text);
	rec->kind = HT_REC_COMM;
	rec->u.comm.comm = text;
	rec->u.comm.exec = 1;
	s->record(s->arg, rec);
	if (first)
		itrace_start(s, rec);
}

/* A new thread, or a process that now runs. */
static void
convert_fork(struct ht_sideband *s, struct ht_record *rec, const struct ht_sb_record *sb)
{
	struct ht_sideband_process *p = NULL;

	rec->kind = HT_REC_FORK;
	rec->u.fork.ppid = (int32_t)sb->a;
	rec->u.fork.ptid = (int32_t)sb->b;
	s->threads++;
	if (rec->u.fork.ppid != rec->pid) {
		p = add_child(s, rec->pid, rec->u.fork.ppid);
		meet(s, p);
	}
	if (!p || !p->forked)
		s->record(s->arg, rec);
	if (p)
		p->forked = 1;
	itrace_start(s, rec);
}

/*
 * What a process says of a child that it has made.  One that has ended by now may have told
 * of its end before.
 */
static void
convert_child(struct ht_sideband *s, struct ht_record *rec, const struct ht_sb_record *sb)
{
	int32_t pid = (int32_t)sb->a;
	struct ht_sideband_process *p;

	p = pid > 0 && ht_proc_runs(pid) ? add_child(s, pid, rec->pid) : NULL;
	if (!p || p->forked)
		return;
	p->forked = 1;
	p->outlives = s->parted;
	rec->kind = HT_REC_FORK;
	rec->u.fork.ppid = rec->pid;
	rec->u.fork.ptid = rec->tid;
	rec->pid = rec->tid = pid;
	s->record(s->arg, rec);
}

static void
convert_exit(struct ht_sideband *s, struct ht_record *rec, const struct ht_sb_record *sb)
{
	rec->kind = HT_REC_EXIT;
	rec->u.exit.ppid = rec->pid;
	rec->u.exit.ptid = rec->pid;
	if (sb->a)
		remove_pid(s, rec->pid);
	s->record(s->arg, rec);
}

static void
convert_mmap(struct ht_sideband *s, struct ht_record *rec, const struct ht_sb_record *sb, const char *text)
{
	rec->kind = HT_REC_MMAP;
	rec->u.map.addr = sb->a;
	rec->u.map.len = sb->b;
	rec->u.map.pgoff = sb->c;
	rec->u.map.prot = sb->prot;
	rec->u.map.flags = (sb->prot & PROT_EXEC ? HT_MAP_EXEC : 0) | (sb->prot & PROT_WRITE ? HT_MAP_WRITE : 0) |
	                   ((sb->flags & MAP_TYPE) == MAP_SHARED ? HT_MAP_SHARED : 0);
	rec->u.map.maj = sb->maj;
	rec->u.map.min = sb->min;
	rec->u.map.ino = sb->ino;
	rec->u.map.build_id_size = sb->build_id_size <= HT_BUILD_ID_MAX ? sb->build_id_size : 0;
	memcpy(rec->u.map.build_id, sb->build_id, sizeof(rec->u.map.build_id));
	rec->u.map.path = text;
	s->record(s->arg, rec);
}

static void
convert_code(struct ht_sideband *s, struct ht_record *rec, const struct ht_sb_record *sb,
             const uint8_t *bytes)
{
	rec->kind = HT_REC_CODE;
	rec->u.code.addr = sb->a;
	rec->u.code.len = sb->text_size;
	rec->u.code.bytes = bytes;
	s->record(s->arg, rec);
}

/* The emulator comes up; what it is to run may be no program, after all. */
static void
see_loaded(struct ht_sideband *s, int32_t pid)
{
	s->loaded++;
	for (size_t i = 0; i < s->awaited.n; i++)
		if (s->awaited.at[i].pid == pid)
			s->awaited.at[i].loaded = 1;
}

void
ht_sideband_exit(struct ht_sideband *s, int32_t pid, int32_t tid, uint64_t time)
{
	struct ht_record rec = { .pid = pid, .tid = tid, .cpu = -1, .time = time };
	struct ht_sb_record sb = { .a = pid == tid };

	if (pid == tid)
		end_wait(s, pid, time);
	convert_exit(s, &rec, &sb);
}

void
ht_sideband_convert(struct ht_sideband *s, const void *at, size_t size)
{
	struct ht_sb_record copy, *sb = &copy; /* what is checked is what is used */
	const uint8_t *bytes = (const uint8_t *)at + sizeof(copy);
	struct ht_sideband_process *p;
	struct ht_record rec = { 0 };
	char text[4096 + 256] = "";

	if (size < sizeof(copy))
		return; /* PAD may be as small as its own first word */
	memcpy(&copy, at, sizeof(copy));
	/* Strings need not end with a NUL of their own. */
	if (sb->text_size > size - sizeof(*sb))
		return;
	if (sb->type != HT_SB_CODE) {
		size_t n = sb->text_size < sizeof(text) - 1 ? sb->text_size : sizeof(text) - 1;

		memcpy(text, bytes, n);
		text[n] = 0;
	}
	rec.pid = sb->pid;
	rec.tid = sb->tid;
	rec.cpu = -1;
	rec.time = ht_clock_tsc_to_ns(&s->clock, sb->tsc);
	switch (sb->type) {
	case HT_SB_EXEC:
		convert_exec(s, &rec, text);
		break;
	case HT_SB_FORK:
		convert_fork(s, &rec, sb);
		break;
	case HT_SB_CHILD:
		convert_child(s, &rec, sb);
		break;
	case HT_SB_EXIT:
		convert_exit(s, &rec, sb);
		break;
	case HT_SB_COMM:
		if (rec.pid == rec.tid)
			name_pid(s, rec.pid, text);
		rec.kind = HT_REC_COMM;
		rec.u.comm.comm = text;
		s->record(s->arg, &rec);
		break;
	case HT_SB_MMAP:
		convert_mmap(s, &rec, sb, text);
		break;
	case HT_SB_MUNMAP:
		rec.kind = HT_REC_MUNMAP;
		rec.u.unmap.addr = sb->a;
		rec.u.unmap.len = sb->b;
		s->record(s->arg, &rec);
		break;
	case HT_SB_CODE:
		convert_code(s, &rec, sb, bytes);
		break;
	case HT_SB_EXECUTING:
		await_image(s, rec.pid, text);
		break;
	case HT_SB_LOADED:
		see_loaded(s, rec.pid);
		break;
	case HT_SB_NOTE:
		end_wait(s, rec.pid, 0);
		tell(s, text);
		break;
	case HT_SB_LOSS:
		end_wait(s, rec.pid, 0);
		p = process_of(s, rec.pid);
		if (p && sb->a)
			p->unfollowed = 1;
		tell_loss(s, &rec, sb->a ? HT_GAP_UNFOLLOWED : HT_GAP_UNTRACED, text);
		break;
	default:
		break;
	}
}
