/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fuzz target of both engines, bounded: inputs drawn from seeds, without a
 * fuzzer.  HT_FUZZ=N tries N more.
 */
#define FUZZ_NO_MUTATOR
#include "../../fuzz/fuzz_engines.c"

int
main(void)
{
	const char *more = getenv("HT_FUZZ"), *one = getenv("HT_FUZZ_SEED");
	uint64_t n = 20000 + (more ? strtoull(more, NULL, 0) : 0);
	static uint8_t data[4096];

	for (uint64_t seed = one ? strtoull(one, NULL, 0) : 0; seed < n; seed++) {
		if (getenv("HT_FUZZ_V"))
			fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
		LLVMFuzzerTestOneInput(data, make_input(seed, data, sizeof(data)));
		if (one)
			break;
	}
	printf("ok both engines: %llu inputs\n", (unsigned long long)n);
	return 0;
}
