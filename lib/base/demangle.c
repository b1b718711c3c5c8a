/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A short symbol can stand for a name of any length, since each part may repeat
 * all before it twice.  The text is therefore taken piece by piece and the
 * demangler left as soon as it is too much.
 */
#include <setjmp.h>
#include <string.h>

#include <libiberty/demangle.h>

#include <hwtrace/demangle.h>

struct name {
	size_t  len;
	jmp_buf full;
	char    text[HT_DEMANGLE_MAX];
};

/*
 * libiberty's callback interface keeps its state on the stack, so that leaving it
 * by longjmp() loses nothing but, of a Rust name in punycode, a few bytes.
 */
static void
append(const char *s, size_t n, void *arg)
{
	struct name *name = arg;

	if (n >= sizeof(name->text) - name->len)
		longjmp(name->full, 1);
	memcpy(name->text + name->len, s, n);
	name->len += n;
}

static int
demangle(const char *mangled, int flags, struct name *name)
{
	int options = flags & HT_DEMANGLE_PARAMS ? DMGL_PARAMS | DMGL_ANSI : DMGL_NO_OPTS;

	if (setjmp(name->full))
		return 0;
	/* Old Rust symbols are C++ symbols, too, so that Rust comes first. */
	name->len = 0;
	if (rust_demangle_callback(mangled, options, append, name))
		return 1;
	name->len = 0;
	return cplus_demangle_v3_callback(mangled, options, append, name);
}

size_t
ht_demangle(const char *mangled, int flags, char buf[static HT_DEMANGLE_MAX])
{
	struct name name;

	/* _Z and _R, and with the underscore that other systems put before. */
	if (mangled[0] != '_' || (mangled[1] != 'Z' && mangled[1] != 'R' && mangled[1] != '_') ||
	    !demangle(mangled, flags, &name) || !name.len)
		return 0;
	memcpy(buf, name.text, name.len);
	buf[name.len] = '\0';
	return name.len;
}
