#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Run each libFuzzer program for $1 seconds.  Its corpus grows in
# build-fuzz/corpus/NAME, seeded by tests/fuzz/NAME.seeds.sh where there is one.
set -u
seconds=$1
shift
failed=0 passed=0
for f; do
	name=$(basename "$f")
	corpus=build-fuzz/corpus/$name
	mkdir -p "$corpus" build-fuzz/found
	if [ -f "tests/fuzz/$name.seeds.sh" ] && ! sh "tests/fuzz/$name.seeds.sh" "$corpus"; then
		echo "not ok $name: no seeds"
		failed=$((failed + 1))
	fi
	dict=
	# some print a dictionary of their own
	grep -q -e --dict "tests/fuzz/$name.c" && "$f" --dict >"build-fuzz/$name.dict" && dict=-dict=build-fuzz/$name.dict
	[ -f "tests/fuzz/$name.dict" ] && dict=-dict=tests/fuzz/$name.dict
	if "$f" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=16384 -print_final_stats=1 \
	    -artifact_prefix=build-fuzz/found/"$name"- $dict "$corpus" >"build-fuzz/$name.log" 2>&1; then
		echo "ok $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "build-fuzz/$name.log") runs"
		passed=$((passed + 1))
	else
		echo "not ok $name: see build-fuzz/$name.log"
		tail -n 25 "build-fuzz/$name.log"
		failed=$((failed + 1))
	fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
