/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/filter.h"
#include "capture/symbol.h"

static int
append(char *buf, size_t size, size_t *used, const char *kind, const char *text, struct ht_diag *diag)
{
	size_t n = strlen(kind) + 1 + strlen(text) + 1;

	if (n + 1 > size - *used) /* room for the NUL that ends the list */
		return ht_fail(diag, HT_EINVAL, NULL, HT_NO_OFFSET, "filter",
		               "the --module and --filter options are too long together");
	snprintf(buf + *used, size - *used, "%s %s", kind, text);
	*used += n;
	buf[*used] = 0;
	return 0;
}

/* "A-B" with hexadecimal or decimal numbers; 0 when it is none. */
static int
parse_range(const char *text, uint64_t *start, uint64_t *end)
{
	char *dash, *rest;

	errno = 0;
	*start = strtoull(text, &dash, 0);
	if (dash == text || *dash != '-' || errno)
		return 0;
	*end = strtoull(dash + 1, &rest, 0);
	return rest != dash + 1 && !*rest && !errno;
}

/* The file that MODULE names: a path, the program itself, or a library where libraries are. */
static int
find_module(const char *module, const struct ht_program *program, char path[PATH_MAX])
{
	static const char *const dirs[] = { "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64",
	                                    "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib" };
	char try[PATH_MAX];
	const char *base;

	if (strchr(module, '/'))
		return realpath(module, path) != NULL;
	base = program ? strrchr(program->path, '/') : NULL;
	if (program && !strcmp(base ? base + 1 : program->path, module))
		return realpath(program->path, path) != NULL;
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		if (snprintf(try, sizeof(try), "%s/%s", dirs[i], module) < (int)sizeof(try) && realpath(try, path))
			return 1;
	return 0;
}

/* SYMBOL[+LENGTH]@MODULE as file offsets: wherever the file is mapped, they hold. */
static int
add_symbol(const char *text, const struct ht_program *program, char *buf, size_t size, size_t *used,
           struct ht_diag *diag)
{
	const char *at = strrchr(text, '@');
	char name[256], path[PATH_MAX], range[PATH_MAX + 64], *plus;
	uint64_t start, end, length = 0;
	int rc;

	if ((size_t)(at - text) >= sizeof(name))
		return ht_fail(diag, HT_EINVAL, NULL, HT_NO_OFFSET, "filter", "%s: the name is too long", text);
	snprintf(name, sizeof(name), "%.*s", (int)(at - text), text);
	plus = strrchr(name, '+');
	if (plus) {
		char *rest;

		length = strtoull(plus + 1, &rest, 0);
		if (rest == plus + 1 || *rest || !length)
			return ht_fail(diag, HT_EINVAL, NULL, HT_NO_OFFSET, "filter", "%s: not a length: %s", text,
			               plus + 1);
		*plus = 0;
	}
	if (!find_module(at + 1, program, path))
		return ht_fail(diag, HT_ENOTFOUND, NULL, HT_NO_OFFSET, "filter",
		               "%s: no file %s; give its path", text, at + 1);
	rc = ht_symbol_range(path, name, length, &start, &end, diag);
	if (rc < 0)
		return rc;
	snprintf(range, sizeof(range), "%llx-%llx@%s", (unsigned long long)start, (unsigned long long)end, path);
	return append(buf, size, used, "o", range, diag);
}

static int
add_filter(const char *text, const struct ht_program *program, char *buf, size_t size, size_t *used,
           struct ht_diag *diag)
{
	const char *at = strrchr(text, '@');
	uint64_t start, end;

	if (parse_range(text, &start, &end)) {
		char range[64];

		if (start >= end)
			return ht_fail(diag, HT_EINVAL, NULL, HT_NO_OFFSET, "filter", "%s: the range is empty", text);
		snprintf(range, sizeof(range), "%llx-%llx", (unsigned long long)start, (unsigned long long)end);
		return append(buf, size, used, "a", range, diag);
	}
	if (at && at != text && at[1])
		return add_symbol(text, program, buf, size, used, diag);
	return ht_fail(diag, HT_EINVAL, NULL, HT_NO_OFFSET, "filter",
	               "%s: neither START-END (as in 0x401000-0x402000) nor SYMBOL[+LENGTH]@MODULE", text);
}

int
ht_filter_build(const struct ht_capture_config *config, const struct ht_program *program, char *buf,
                size_t size, struct ht_diag *diag)
{
	size_t used = 0;
	int rc = 0;

	for (size_t i = 0; !rc && config->modules && config->modules[i]; i++)
		rc = append(buf, size, &used, "m", config->modules[i], diag);
	for (size_t i = 0; !rc && config->filters && config->filters[i]; i++)
		rc = add_filter(config->filters[i], program, buf, size, &used, diag);
	return rc ? rc : used ? (int)used + 1 : 0;
}

static size_t
add_text(char *buf, size_t size, size_t used, const char *option, const char *const *list)
{
	for (size_t i = 0; list && list[i] && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s%s %s", used ? " " : "", option, list[i]);
	return used;
}

const char *
ht_filter_text(const struct ht_capture_config *config, char *buf, size_t size)
{
	size_t used;

	buf[0] = 0;
	used = add_text(buf, size, 0, "--module", config->modules);
	add_text(buf, size, used, "--filter", config->filters);
	return buf;
}

/* Bits of `met`: the modules have the lower half, the filters the upper one. */
#define MET_EACH 32u

static int
is_path_or_base(const char *name, const char *path)
{
	const char *want = strrchr(name, '/'), *slash = strrchr(path, '/');

	return !strcmp(want ? want + 1 : name, slash ? slash + 1 : path);
}

/* Can code of the mapping lie in what the filter names? */
static int
filter_meets(const char *text, const struct ht_record *rec)
{
	const char *at = strrchr(text, '@');
	char real[PATH_MAX];
	uint64_t start, end;

	if (parse_range(text, &start, &end))
		return rec->u.map.addr < end && (start < rec->u.map.addr || start - rec->u.map.addr < rec->u.map.len);
	/* A library is mapped by the name that its links lead to. */
	return at && (is_path_or_base(at + 1, rec->u.map.path) ||
	              (find_module(at + 1, NULL, real) && is_path_or_base(real, rec->u.map.path)));
}

void
ht_filter_meet(const struct ht_capture_config *config, const struct ht_record *rec, uint64_t *met)
{
	const char *slash;

	if (rec->kind != HT_REC_MMAP || !(rec->u.map.flags & HT_MAP_EXEC))
		return;
	slash = strrchr(rec->u.map.path, '/');
	for (unsigned i = 0; i < MET_EACH && config->modules && config->modules[i]; i++)
		if (!fnmatch(config->modules[i], rec->u.map.path, 0) ||
		    (slash && !fnmatch(config->modules[i], slash + 1, 0)))
			*met |= 1ull << i;
	for (unsigned i = 0; i < MET_EACH && config->filters && config->filters[i]; i++)
		if (!(*met >> (MET_EACH + i) & 1) && filter_meets(config->filters[i], rec))
			*met |= 1ull << (MET_EACH + i);
}

static void
tell_unmet(const struct ht_capture_config *config, const char *const *list, uint64_t met, const char *fmt)
{
	for (unsigned i = 0; i < MET_EACH && list && list[i] && config->note; i++) {
		char text[512];

		if (met >> i & 1)
			continue;
		snprintf(text, sizeof(text), fmt, list[i]);
		config->note(config->note_arg, text);
	}
}

void
ht_filter_tell_unmet(const struct ht_capture_config *config, uint64_t met)
{
	tell_unmet(config, config->modules, met,
	           "--module %s: no such module was loaded; nothing of it is in the trace");
	tell_unmet(config, config->filters, met >> MET_EACH,
	           "--filter %s: no code was mapped there; nothing of it is in the trace");
}
