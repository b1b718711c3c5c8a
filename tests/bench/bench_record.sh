# SPDX-License-Identifier: BSD-2-Clause
# What recording costs: run time under the software trace unit against plain
# qemu-user (ratio of wall times, in turn, median), and bytes of trace by kind.
set -u
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
hwtrace=$PWD/$BUILD/bin/hwtrace
qemu=$(command -v qemu-x86_64) || { echo "qemu-x86_64 is not installed" >&2; exit 1; }

# The same text on every machine: numbers through a linear congruence.
awk 'BEGIN { x = 42; for (i = 0; i < 150000; i++) { x = (x * 1103515245 + 12345) % 2147483648;
	printf "%d %x line %d\n", x, x * 7, x % 1000 } }' >"$tmp/text"

seconds() { # COMMAND... : wall seconds
	_a=$(date +%s.%N)
	"$@" >/dev/null 2>&1 || { echo "failed: $*" >&2; exit 1; }
	_b=$(date +%s.%N)
	echo "$_a $_b" | awk '{ printf "%.4f\n", $2 - $1 }'
}
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

ratio() { # NAME COMMAND...
	_name=$1
	shift
	_prog=$(command -v "$1")
	shift
	: >"$tmp/ratios"
	for _i in $(seq "$ROUNDS"); do
		_plain=$(seconds "$qemu" "$_prog" "$@") || exit 1
		_with=$(seconds "$hwtrace" record -o "$tmp/t.data" -- "$_prog" "$@") || exit 1
		echo "$_plain $_with" | awk '{ printf "%.3f\n", $2 / $1 }' >>"$tmp/ratios"
	done
	printf 'record.qemu.%s.vs_plain\t%s\n' "$_name" "$(median <"$tmp/ratios")"
	printf 'record.qemu.%s.bytes\t%s\n' "$_name" "$(stat -c %s "$tmp/t.data")"
}

# Bytes by kind of packet, and TNT bits per conditional branch and compressed return.
packets() { # NAME COMMAND...
	_name=$1
	shift
	_prog=$(command -v "$1")
	shift
	rm -rf "$tmp/raw"
	"$BUILD/tests/tools/shmdump" "$tmp/raw" "$PWD/$BUILD/lib/hwtrace/hwtrace-qemu.so" "$qemu" "$_prog" "$@" >/dev/null 2>&1
	"$BUILD/tests/tools/ptstat" "$tmp"/raw/*.pt | sed "s/^/record.qemu.$_name./"
}

LC_ALL=C
export LC_ALL
ratio gzip gzip -9 -k -c "$tmp/text"
packets gzip gzip -9 -k -c "$tmp/text"
ratio sort sort --parallel=1 "$tmp/text"
packets sort sort --parallel=1 "$tmp/text"
cat "$tmp/text" "$tmp/text" "$tmp/text" >"$tmp/text3"
ratio sort_threads sort --parallel=2 -S 64M "$tmp/text3"
