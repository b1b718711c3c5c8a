# SPDX-License-Identifier: BSD-2-Clause
# Fill the folder $1 with small files to start from.
set -eu
${CC:-cc} -std=c11 -D_GNU_SOURCE -DHT_VERSION='"seeds"' -Iinclude -Ilib -Itests/unit -o build-fuzz/seeds_perfdata \
	tests/fuzz/seeds_perfdata.c tests/unit/container/perf_build.c lib/container/*.c lib/base/*.c -lzstd -larchive -lmd -ljson-c -liberty
build-fuzz/seeds_perfdata "$1"
