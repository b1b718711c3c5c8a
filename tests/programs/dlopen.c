/* SPDX-License-Identifier: BSD-2-Clause */
/* Load, call and unload a module (argv[1]), several times.
 * build: -O1 -g -ldl */
#include <dlfcn.h>
#include <stdio.h>

int
main(int argc, char **argv)
{
	int total = 0;

	for (int i = 0; i < 3 && argc > 1; i++) {
		void *module = dlopen(argv[1], RTLD_NOW);
		int (*work)(int) = module ? (int (*)(int))dlsym(module, "module_work") : NULL;

		if (!work)
			return 1;
		total += work(10 * (i + 1));
		dlclose(module);
	}
	printf("%d\n", total);
	return 0;
}
