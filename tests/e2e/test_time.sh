# SPDX-License-Identifier: BSD-2-Clause
# The time of a branch, against what the program's own clock showed in front of it and
# behind it.  A millisecond is left for tying one clock to the other; the program sleeps
# for five, so that a time of an earlier stretch would be found.
. tests/lib.sh

mark() { # mark NAME RECORD-OPTION...
	_name=$1
	shift
	"$hwtrace" record -q "$@" -o "$tmp/t.data" -- "$programs/clock" >"$tmp/clock" 2>"$tmp/err" ||
		fail "$_name" "$(cat "$tmp/err")"
	for e in $engines; do
		"$hwtrace" script -i "$tmp/t.data" --engine "$e" --itrace=b --ns -F time,flags,addr,sym 2>/dev/null |
			sed -n '/ call .*=> .* mark/s/^ *\([0-9]*\)\.\([0-9]*\):.*/\1\2/p' >"$tmp/told"
		paste -d ' ' "$tmp/clock" "$tmp/told" | awk '
			NF != 3 || $3 < $1 - 1000000 || $3 > $2 + 1000000 { print "call " NR ": " $0 }
			END { if (NR != 40) print NR " calls" }' >"$tmp/wrong"
		[ -s "$tmp/wrong" ] && fail "$_name, $e" "$(head -n 3 "$tmp/wrong")" || pass "$_name, $e"
	done
}

mark "times"
mark "times with cycles" --cyc
mark "times with a PSB every 256 bytes" --psb-period 256
