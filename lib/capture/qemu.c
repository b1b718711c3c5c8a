/* SPDX-License-Identifier: BSD-2-Clause */
/* Software trace unit: QEMU user mode with our plugin. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/backend.h"
#include "capture/gate.h"

#define EMULATOR "qemu-x86_64"
#define PLUGIN   "hwtrace-qemu.so"

static int
find_emulator(char path[PATH_MAX])
{
	struct ht_program *p = malloc(sizeof(*p));
	int rc = p ? ht_program_find(EMULATOR, getenv("PATH"), p) : -1;

	if (!rc)
		snprintf(path, PATH_MAX, "%s", p->path);
	free(p);
	return rc;
}

/* Beside the tool (../lib/hwtrace), where it was installed, or where the user says. */
static int
find_plugin(char path[PATH_MAX])
{
	const char *env = getenv("HWTRACE_LIBDIR");
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (env) {
		snprintf(path, PATH_MAX, "%s/" PLUGIN, env);
		return access(path, R_OK);
	}
	if (n > 0) {
		char *slash;

		self[n] = 0;
		slash = strrchr(self, '/');
		if (slash)
			*slash = 0;
		if (snprintf(path, PATH_MAX, "%s/../lib/hwtrace/" PLUGIN, self) < PATH_MAX &&
		    access(path, R_OK) == 0)
			return 0;
	}
	snprintf(path, PATH_MAX, "%s/" PLUGIN, HT_LIBDIR);
	return access(path, R_OK);
}

static int
qemu_probe(struct ht_backend_info *info)
{
	char path[PATH_MAX];
	int emulator = find_emulator(path) == 0, plugin;

	ht_gate_add(info, EMULATOR, emulator, "install the package qemu-user (apt install qemu-user)",
	            emulator ? "%.150s" : "not found in PATH", path);
	plugin = find_plugin(path) == 0;
	ht_gate_add(info, PLUGIN, plugin, "run make, or set HWTRACE_LIBDIR to the folder that holds it",
	            plugin ? "%.150s" : "not found (looked for %.120s)", path);
	return emulator && plugin;
}

static int
qemu_accepts(const struct ht_program *program, struct ht_diag *diag)
{
	if (program->kind == HT_PROGRAM_I386)
		return ht_fail(diag, HT_EUNSUPPORTED, program->path, HT_NO_OFFSET, NULL,
		               "is a 32-bit x86 program, which the software trace unit does not run; "
		               "use --backend ptrace");
	if (program->kind == HT_PROGRAM_FOREIGN)
		return ht_fail(diag, HT_EUNSUPPORTED, program->path, HT_NO_OFFSET, NULL,
		               "is a program for another processor, not for x86-64");
	if (program->set_id)
		return ht_fail(diag, HT_EUNSUPPORTED, program->path, HT_NO_OFFSET, NULL,
		               "is set-user-id or set-group-id: traced, it would run without those rights; "
		               "record as its owner, or a copy without the bit");
	return 0;
}

static int
qemu_record(const struct ht_capture_config *config, const struct ht_program *program,
            struct ht_capture_result *result, struct ht_diag *diag)
{
	(void)config;
	(void)result;
	return ht_fail(diag, HT_EUNSUPPORTED, program->path, HT_NO_OFFSET, NULL, "recording is not built in");
}

const struct ht_backend ht_backend_qemu = {
	.name = "qemu",
	.summary = "software trace unit: QEMU user mode emits Intel PT packets",
	.timing = "emulated",
	.probe = qemu_probe,
	.accepts = qemu_accepts,
	.record = qemu_record,
};
