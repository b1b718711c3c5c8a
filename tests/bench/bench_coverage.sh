# SPDX-License-Identifier: BSD-2-Clause
# From a capture to lines: reading line tables, with functions and what was inlined
# into them, against a bare loop over libdw's line tables (ours over libdw's: the
# less the better); coverage as lcov against perf that tells the line of each branch
# (perf over ours).
. tests/bench/lib.sh
command -v perf >/dev/null || die "perf is not installed"

lines=$PWD/$BUILD/tests/bench/bench_lines
files="$hwtrace $BUILD/tests/bench/bench_pt"
versus "$lines ours $files" "$lines libdw $files"
row coverage.lines.vs_libdw "$cpu_a" "$cpu_b"

record "$tmp/t.data" "$BUILD/samples/words" <README.md
[ "$("$hwtrace" coverage -i "$tmp/t.data" --lcov - 2>/dev/null | grep -c '^DA:.*[1-9]$')" -gt 10 ] ||
	die "the sample has no lines that ran"
ROUNDS=1
versus "perf script -i $tmp/t.data --itrace=b -F +srcline" "$hwtrace coverage -j 1 -i $tmp/t.data --lcov -"
row coverage.vs_perf_srcline "$cpu_a" "$cpu_b"
