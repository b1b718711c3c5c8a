/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preloaded into QEMU: a forked child goes on in a log of its own, log.fork.PID for log.%d,
 * and not in its parent's, where nobody could tell apart what each of the two executed.
 * What its ancestors had logged until then, the blocks that it goes on with among it, is
 * in log.before.PID.
 * build: -shared -fPIC -O1 -g -D_GNU_SOURCE
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static __thread FILE *log_file; /* of this thread, and its name */
static __thread char log_name[4096];
static char before[4096]; /* the name of log.before.PID; empty in the first process */

/* What stands before the "%d" of QEMU_LOG_FILENAME; 0 when there is none. */
static size_t
prefix(const char *pattern)
{
	const char *end = pattern ? strstr(pattern, "%d") : NULL;

	return end ? (size_t)(end - pattern) : 0;
}

static void
append(FILE *to, const char *name)
{
	char buf[65536];
	FILE *from = fopen(name, "r");
	size_t n;

	while (from && (n = fread(buf, 1, sizeof(buf), from)) > 0)
		fwrite(buf, 1, n, to);
	if (from)
		fclose(from);
}

static void
child(void)
{
	const char *pattern = getenv("QEMU_LOG_FILENAME");
	FILE *mine = log_file, *f;
	char name[4096];

	if (!mine)
		return;
	snprintf(name, sizeof(name), "%.*sbefore.%d", (int)prefix(pattern), pattern, (int)getpid());
	f = fopen(name, "w");
	if (!f)
		abort();
	if (*before)
		append(f, before);
	append(f, log_name);
	fclose(f);
	strcpy(before, name);
	snprintf(log_name, sizeof(log_name), "%.*sfork.%d", (int)prefix(pattern), pattern, (int)getpid());
	if (!freopen(log_name, "w", mine))
		abort();
	log_file = mine;
}

__attribute__((constructor)) static void
begin(void)
{
	pthread_atfork(NULL, NULL, child);
}

static FILE *
opened(const char *name, FILE *f)
{
	const char *pattern = getenv("QEMU_LOG_FILENAME");
	size_t n = prefix(pattern);

	if (f && n && !strncmp(name, pattern, n) && !log_file) {
		log_file = f;
		snprintf(log_name, sizeof(log_name), "%s", name);
	}
	return f;
}

FILE *
fopen(const char *name, const char *mode)
{
	FILE *(*real)(const char *, const char *) = (FILE * (*)(const char *, const char *))dlsym(RTLD_NEXT, "fopen");

	return opened(name, real(name, mode));
}

FILE *
fopen64(const char *name, const char *mode)
{
	FILE *(*real)(const char *, const char *) = (FILE * (*)(const char *, const char *))dlsym(RTLD_NEXT, "fopen64");

	return opened(name, real(name, mode));
}
