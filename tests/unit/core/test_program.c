/* SPDX-License-Identifier: BSD-2-Clause */
/* What is loaded for a path: compared with what the kernel itself runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/program.h"

static char dir[] = "/tmp/hwtrace-program.XXXXXX";
static struct ht_program p;

static int
enter(void **state)
{
	(void)state;
	return mkdtemp(dir) && chdir(dir) == 0 ? 0 : -1;
}

static int
leave(void **state)
{
	char cmd[64];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	return chdir("/") == 0 && system(cmd) == 0 ? 0 : -1;
}

static void
put(const char *name, const void *bytes, size_t n, mode_t mode)
{
	FILE *f = fopen(name, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	fclose(f);
	assert_int_equal(chmod(name, mode), 0);
}

static void
script(const char *name, const char *text)
{
	put(name, text, strlen(text), 0755);
}

/* All words in one line. */
static const char *
words(void)
{
	static char line[2048];

	line[0] = 0;
	for (unsigned i = 0; i < p.n_words; i++)
		snprintf(line + strlen(line), sizeof(line) - strlen(line), "[%s]", p.words[i]);
	return line;
}

/* The arguments that the kernel hands to the last interpreter, by running it: echo prints all but the first. */
static const char *
kernel_words(const char *path)
{
	static char line[2048];
	FILE *f = popen(path, "r");
	size_t n;

	assert_non_null(f);
	n = fread(line, 1, sizeof(line) - 1, f);
	line[n] = 0;
	pclose(f);
	return line;
}

static void
elf_files(void **state)
{
	(void)state;
	assert_int_equal(ht_program_resolve("/bin/true", &p), 0);
	assert_int_equal(p.kind, HT_PROGRAM_X86_64);
	assert_int_equal(p.n_words, 0);
	assert_string_equal(p.path, "/bin/true");
}

static void
other_machines(void **state)
{
	uint8_t head[64] = { 0x7f, 'E', 'L', 'F', 1, 1, 1 };

	(void)state;
	head[18] = 3;
	put("i386", head, sizeof(head), 0755);
	assert_int_equal(ht_program_resolve("./i386", &p), 0);
	assert_int_equal(p.kind, HT_PROGRAM_I386);
	head[18] = 183;
	head[4] = 2;
	put("arm", head, sizeof(head), 0755);
	assert_int_equal(ht_program_resolve("./arm", &p), 0);
	assert_int_equal(p.kind, HT_PROGRAM_FOREIGN);
	head[5] = 2; /* big-endian PowerPC */
	head[18] = 0;
	head[19] = 21;
	put("ppc", head, sizeof(head), 0755);
	assert_int_equal(ht_program_resolve("./ppc", &p), 0);
	assert_int_equal(p.kind, HT_PROGRAM_FOREIGN);
	/* Every prefix: an error, or known; never more than was there. */
	for (size_t n = 0; n < sizeof(head); n++) {
		put("cut", head, n, 0755);
		assert_int_equal(ht_program_resolve("./cut", &p), n < 52 ? -ENOEXEC : 0);
	}
}

static void
set_id_files(void **state)
{
	uint8_t head[64] = { 0x7f, 'E', 'L', 'F', 2, 1, 1 };

	(void)state;
	head[18] = 62;
	put("own", head, sizeof(head), 04755);
	assert_int_equal(ht_program_resolve("./own", &p), 0);
	assert_int_equal(p.set_id, 0); /* of the user who runs it: nothing changes */
	if (geteuid() == 0 && chown("own", 12345, (gid_t)-1) == 0 && chmod("own", 04755) == 0) {
		assert_int_equal(ht_program_resolve("./own", &p), 0);
		assert_int_equal(p.set_id, 1);
	}
}

static void
scripts(void **state)
{
	static const struct { const char *text, *want; } rows[] = {
		{ "#!/bin/echo\n", "[/bin/echo][./s]" },
		{ "#!/bin/echo one\n", "[/bin/echo][one][./s]" },
		{ "#! \t/bin/echo  one two \t\n", "[/bin/echo][one two][./s]" },
		{ "#!/bin/echo -n", "[/bin/echo][-n][./s]" },
		{ "#!/bin/echo\r\n", NULL },
		{ "#!\n", NULL },
		{ "#!   \n", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		script("s", rows[i].text);
		if (!rows[i].want) {
			assert_true(ht_program_resolve("./s", &p) < 0);
			continue;
		}
		assert_int_equal(ht_program_resolve("./s", &p), 0);
		assert_string_equal(p.path, "/bin/echo");
		assert_string_equal(words(), rows[i].want);
	}
}

/* Lines about as long as what the kernel looks at, with and without an end: as it cuts them. */
static void
long_lines(void **state)
{
	(void)state;
	for (size_t n = 240; n < 275; n++) {
		for (int argument = 0; argument < 2; argument++) {
			char text[600], want[2048];
			int rc;

			memset(text, 'a', sizeof(text));
			memcpy(text, "#!/bin/echo", 11);
			if (argument)
				text[11] = ' ';
			snprintf(text + n, sizeof(text) - n, "\nunused\n");
			put("s", text, strlen(text), 0755);
			rc = ht_program_resolve("./s", &p);
			if (!argument) {
				/* No such program, or its name is cut. */
				assert_true(n < 256 ? rc == -ENOENT : rc == -ENOEXEC);
				continue;
			}
			assert_int_equal(rc, 0);
			snprintf(want, sizeof(want), "%s %s\n", p.words[1], p.words[2]);
			assert_string_equal(kernel_words("./s"), want);
		}
	}
}

static void
chains(void **state)
{
	char line[64], want[2048] = "";

	(void)state;
	script("c0", "#!/bin/echo a b\n");
	for (int i = 1; i <= 6; i++) {
		char name[16];
		int rc;

		snprintf(name, sizeof(name), "c%d", i);
		snprintf(line, sizeof(line), "#!./c%d x%d\n", i - 1, i);
		script(name, line);
		snprintf(name, sizeof(name), "./c%d", i);
		rc = ht_program_resolve(name, &p);
		if (i >= 5) { /* as the kernel counts: the script and four interpreters that are scripts */
			assert_int_equal(rc, -ELOOP);
			snprintf(line, sizeof(line), "%s 2>/dev/null", name);
			assert_int_not_equal(system(line), 0);
			continue;
		}
		assert_int_equal(rc, 0);
		want[0] = 0;
		for (unsigned k = 1; k < p.n_words; k++)
			snprintf(want + strlen(want), sizeof(want) - strlen(want), "%s%s", k > 1 ? " " : "", p.words[k]);
		strcat(want, "\n");
		assert_string_equal(want, kernel_words(name));
	}
}

static void
errors(void **state)
{
	(void)state;
	assert_int_equal(ht_program_resolve("", &p), -ENOENT);
	assert_int_equal(ht_program_resolve("./none", &p), -ENOENT);
	assert_int_equal(ht_program_resolve("/", &p), -EACCES);
	put("plain", "echo\n", 5, 0755);
	assert_int_equal(ht_program_resolve("./plain", &p), -ENOEXEC);
	put("locked", "#!/bin/sh\n", 10, 0644);
	assert_int_equal(ht_program_resolve("./locked", &p), -EACCES);
	assert_int_equal(ht_program_resolve("./plain/x", &p), -ENOTDIR);
	script("lost", "#!/no/such\n");
	assert_int_equal(ht_program_resolve("./lost", &p), -ENOENT);
	assert_int_equal(p.n_words, 2);
}

static void
search(void **state)
{
	char path[256];

	(void)state;
	assert_int_equal(mkdir("a", 0755), 0);
	assert_int_equal(mkdir("b", 0755), 0);
	put("a/tool", "#!/bin/sh\n", 10, 0644);
	snprintf(path, sizeof(path), "/no/such:%s/a:%s/b", dir, dir);
	assert_int_equal(ht_program_find("tool", path, &p), -EACCES);
	assert_int_equal(ht_program_find("tool2", path, &p), -ENOENT);
	script("b/tool", "#!/bin/sh\n");
	assert_int_equal(ht_program_find("tool", path, &p), 0);
	assert_true(strstr(words(), "/b/tool]") != NULL);
	/* Neither ELF nor script: the shell's. */
	put("b/words", "echo hi\n", 8, 0755);
	assert_int_equal(ht_program_find("words", path, &p), 0);
	assert_string_equal(p.path, "/bin/sh");
	snprintf(path, sizeof(path), "[/bin/sh][%s/b/words]", dir);
	assert_string_equal(words(), path);
	/* An empty folder in PATH is the current one. */
	script("here", "#!/bin/sh\n");
	assert_int_equal(ht_program_find("here", ":/no/such", &p), 0);
	assert_int_equal(ht_program_find("true", NULL, &p), 0);
	assert_int_equal(ht_program_find("", "/bin", &p), -ENOENT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(elf_files), cmocka_unit_test(other_machines), cmocka_unit_test(set_id_files),
		cmocka_unit_test(scripts),   cmocka_unit_test(chains),         cmocka_unit_test(errors),
		cmocka_unit_test(search),    cmocka_unit_test(long_lines),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
