#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Run tests of the sample library, each under hwtrace, and report on all of them:
#	sh samples/csv/suite.sh plain empty
set -eu
: "${BUILD:=build}"
hwtrace=$BUILD/bin/hwtrace
out=$BUILD/demo/csv
here=$(dirname "$0")
[ $# -gt 0 ] || { echo "usage: sh samples/csv/suite.sh TEST..." >&2; exit 64; }
mkdir -p "$out"
rm -f "$out"/*.data "$out/suite.db"
for t; do
	gcc -O0 -g -Wall -Wextra -o "$out/test_$t" "$here/test_$t.c" "$here/csv.c"
	"$hwtrace" coverage -o /dev/null --append "$out/suite.db" --trace "$out/$t.data" -- "$out/test_$t"
done
"$hwtrace" coverage --files --include '*/csv.c' --html "$out/html" "$out"/*.data
