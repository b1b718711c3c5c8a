# SPDX-License-Identifier: BSD-2-Clause
# For the benchmarks: `. tests/bench/lib.sh`.  A scratch folder $tmp, and rows on stdout.
set -u
tmp=$(mktemp -d "${TMPDIR:-/tmp}/hwtrace-bench.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
hwtrace=$PWD/$BUILD/bin/hwtrace
LC_ALL=C
export LC_ALL

die() {
	echo "$*" >&2
	exit 1
}
# The same text on every machine: LINES lines of numbers.
text() {
	awk -v n="$1" 'BEGIN { x = 42; for (i = 0; i < n; i++) { x = (x * 1103515245 + 12345) % 2147483648
		printf "%d %x line %d\n", x, x * 7, x % 1000 } }'
}
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
value() { printf '%s\t%s\n' "$1" "$2"; }
row() { awk -v n="$1" -v a="$2" -v b="$3" 'BEGIN { printf "%s\t%.3f\n", n, a / b }'; }
# cpu COMMAND...: its CPU seconds, output thrown away.
cpu() { "$BUILD/tests/bench/cpu" "$@" || exit 1; }
# versus A B: CPU seconds of two commands in turn, ROUNDS times; medians in $cpu_a and $cpu_b.
versus() {
	: >"$tmp/.a"
	: >"$tmp/.b"
	for _r in $(seq "$ROUNDS"); do
		# shellcheck disable=SC2086
		cpu $1 >>"$tmp/.a"
		# shellcheck disable=SC2086
		cpu $2 >>"$tmp/.b"
	done
	cpu_a=$(median <"$tmp/.a")
	cpu_b=$(median <"$tmp/.b")
}
record() { # FILE COMMAND...
	_f=$1
	shift
	"$hwtrace" record -q -o "$_f" -- "$@" >/dev/null 2>"$tmp/.err" </dev/null || die "record: $(cat "$tmp/.err")"
}
