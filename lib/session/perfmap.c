/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf's map of names: /tmp/perf-PID.map, which programs write that make code but no
 * jitdump.  A line is the start and the size of a piece of code, in hexadecimal
 * digits, and its name [MAP "jit-interface"].  There are names, but no code.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/vec.h"
#include "session/module.h"

#define PATH_ROOM 64
#define NAMES_MAX 0x1000000u /* no program makes more functions */

/* -- finding it ---------------------------------------------------------------- */

/* Anybody may put a file into /tmp: of whom it is counts, and that it is of this machine. */
static int
may_take(const struct ht_session *s, const struct ht_file *f)
{
	const struct ht_capture_info *info = ht_container_info(s->container);
	struct utsname u;
	struct stat st;

	if (fstat(f->fd, &st) < 0 || (st.st_uid != 0 && st.st_uid != geteuid()))
		return 0;
	return !info->hostname || (uname(&u) == 0 && !strcmp(u.nodename, info->hostname));
}

/* 1 with the open file, else 0. */
static int
find(const struct ht_session *s, const char *path, struct ht_file *f)
{
	struct ht_carried carried;
	char *full;

	if (s->symfs && asprintf(&full, "%s%s", s->symfs, path) >= 0) {
		int r = ht_file_open(f, full);

		free(full);
		if (r == 0)
			return 1;
	}
	if (ht_container_file(s->container, path, NULL, 0, &carried))
		return (carried.data ? ht_file_image(f, carried.path, carried.data, carried.size)
		                     : ht_file_open(f, carried.path)) == 0;
	if (ht_file_open(f, path) < 0)
		return 0;
	if (may_take(s, f))
		return 1;
	ht_file_close(f);
	return 0;
}

struct ht_module *
ht_session_perfmap(struct ht_session *s, int32_t pid)
{
	struct ht_process *p = ht_session_process(s, pid);
	char path[PATH_ROOM];
	struct ht_module *m;
	struct ht_file f;

	if (!p || p->names_tried)
		return p ? p->names : NULL;
	p->names_tried = 1;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
	if (!find(s, path, &f))
		return NULL;
	m = ht_session_intern(s, path, NULL, 0);
	if (!m || m->info.state != HT_MODULE_UNTRIED) {
		ht_file_close(&f);
		return NULL;
	}
	ht_file_drop_elf(&f);
	m->file = f;
	m->info.is_names = 1;
	m->memory = 1;
	m->info.state = HT_MODULE_MEMORY;
	m->info.found_path = m->file.path;
	snprintf(m->why, sizeof(m->why), "[jit]: %s has names of code, but not its bytes", path);
	m->info.why = m->why;
	return p->names = m;
}

/* -- reading it ---------------------------------------------------------------- */

/* A number that a blank follows; 0 = there is none. */
static int
take_number(const char **at, const char *end, uint64_t *out)
{
	const char *s = *at;
	unsigned digits = 0;

	if (end - s > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X'))
		s += 2;
	for (*out = 0; s < end && digits <= 16; s++, digits++) {
		int c = *s, v = c >= '0' && c <= '9'   ? c - '0'
		                : c >= 'a' && c <= 'f' ? c - 'a' + 10
		                : c >= 'A' && c <= 'F' ? c - 'A' + 10
		                                       : -1;

		if (v < 0)
			break;
		*out = *out << 4 | (unsigned)v;
	}
	if (!digits || digits > 16 || s == end || *s != ' ')
		return 0;
	*at = s + 1;
	return 1;
}

/* One line; what is none is passed over, as perf does. 0 or -HT_ENOMEM. */
static int
take_line(struct ht_module *m, const char *at, const char *end)
{
	struct ht_symbol *sym;
	uint64_t start, size;
	char **name;

	if (!take_number(&at, end, &start) || !take_number(&at, end, &size) || at == end || !size ||
	    size > UINT64_MAX - start || memchr(at, 0, (size_t)(end - at)))
		return 0;
	name = ht_vec_push(&m->names);
	if (!name)
		return -HT_ENOMEM;
	*name = strndup(at, (size_t)(end - at));
	sym = *name ? ht_vec_push(&m->symbols) : NULL;
	if (!sym)
		return -HT_ENOMEM;
	*sym = (struct ht_symbol){ *name, start, size, 1 };
	return 0;
}

/* By start; what was written later stands behind. */
static int
symbol_order(const void *a, const void *b)
{
	const struct ht_symbol *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void
sort_stable(struct ht_symbol *at, size_t n, struct ht_symbol *spare)
{
	size_t half = n / 2, i = 0, k = half, out = 0;

	if (n < 2)
		return;
	sort_stable(at, half, spare);
	sort_stable(at + half, n - half, spare);
	while (i < half || k < n)
		spare[out++] =
		    k == n || (i < half && symbol_order(&at[i], &at[k]) <= 0) ? at[i++] : at[k++];
	memcpy(at, spare, n * sizeof(*at));
}

int
ht_perfmap_symbols(struct ht_module *m)
{
	const char *at = (const char *)m->file.data, *end = at ? at + m->file.size : at;
	struct ht_symbol *spare;
	size_t n = 0;

	while (at && at < end && m->symbols.n < NAMES_MAX) {
		const char *line = memchr(at, '\n', (size_t)(end - at));

		if (take_line(m, at, line ? line : end) < 0)
			break;
		at = line ? line + 1 : end;
	}
	spare = calloc(m->symbols.n + 1, sizeof(*spare));
	if (!spare)
		m->symbols.n = 0;
	else
		sort_stable(m->symbols.at, m->symbols.n, spare);
	free(spare);
	/* Of two at one address the later one is the code that is there now. */
	for (size_t i = 0; i < m->symbols.n; i++) {
		if (n && m->symbols.at[n - 1].start == m->symbols.at[i].start)
			n--;
		m->symbols.at[n++] = m->symbols.at[i];
	}
	m->symbols.n = n;
	return n != 0;
}
