#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Figures and ratios, printed and appended to tests/bench/results.tsv as
# commit<TAB>metric<TAB>value.  Both sides of a ratio are measured in turn in
# one run; the median of ROUNDS (default 5) counts.  Arguments choose the
# groups (files tests/bench/bench_*.sh), none means all.
set -u
: "${BUILD:=build}" "${ROUNDS:=5}"
export BUILD ROUNDS
commit=$(git rev-parse --short HEAD 2>/dev/null || echo none)
[ -z "$(git status --porcelain --untracked-files=no 2>/dev/null)" ] || commit=$commit+
[ $# -gt 0 ] || set -- $(ls tests/bench/bench_*.sh | sed 's,.*/bench_,,; s,\.sh$,,')
status=0
for group; do
	echo "== $group"
	sh "tests/bench/bench_$group.sh" >"$BUILD/bench.out" || status=1
	cat "$BUILD/bench.out"
	awk -F'\t' -v c="$commit" 'NF == 2 { print c "\t" $1 "\t" $2 }' "$BUILD/bench.out" >>tests/bench/results.tsv
done
exit $status
