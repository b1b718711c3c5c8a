#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# `make demo`: record a sample program, show which of its lines, branches and functions ran.
set -eu
: "${BUILD:=build}"
hwtrace=$BUILD/bin/hwtrace
out=$BUILD/demo
mkdir -p "$out"
printf 'the quick brown fox\njumps over the lazy dog\nthe end\n' >"$out/input.txt"

say() { printf '\n$ %s\n' "$*"; }
say hwtrace record -o "$out/perf.data" -- "$BUILD/samples/wordcount" "$out/input.txt"
"$hwtrace" record -o "$out/perf.data" -- "$BUILD/samples/wordcount" "$out/input.txt"
say hwtrace coverage --html "$out/html" --lcov "$out/coverage.info" "$out/perf.data"
"$hwtrace" coverage --html "$out/html" --lcov "$out/coverage.info" "$out/perf.data"
echo
echo "trace:  $out/perf.data      (look into it: $hwtrace script -i $out/perf.data | head)"
echo "report: $out/html/index.html  (in a browser; $hwtrace coverage --source $out/perf.data shows the lines here)"
echo "        $out/coverage.info    (lcov format)"
